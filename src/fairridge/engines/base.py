"""What an engine must be able to do: sums over rows, and nothing else."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from fairridge.engines.moments import Moments
from fairridge.engines.pairwise import Distance

__all__ = ["Engine", "FamilyFunction", "GLMSums", "RowFunction", "RowwiseFamily", "SweptFamily"]

Floats = NDArray[np.float64]
# Maps response (n, c), linear predictors (n, m) and weights (n,) to sums over the rows; linear
# in the weights, so that rows alike in the others may come as one.
RowFunction = Callable[[Floats, Floats, Floats], Floats]


@dataclass(frozen=True)
class FamilyFunction(ABC):
    """A `RowFunction` of a family; an engine replaces the family by that of its own rows.

    Attributes
    ----------
    family : Family
        The family.
    """

    family: Any

    @abstractmethod
    def __call__(self, y: Floats, eta: Floats, weight: Floats) -> Floats:
        """Return sums over the rows."""


class RowwiseFamily(Protocol):
    """What an engine needs of a family; see `fairridge.families.base.Family`."""

    @property
    def separable(self) -> bool:
        """Whether the deviance is a sum over independent rows."""
        ...

    def rows(self, y: Floats, eta: Floats, weight: Floats, order: int) -> Any:
        """Return the deviance of rows and its derivatives in their linear predictors."""
        ...

    def start(self, y: Floats, weight: Floats, offset: Floats | None) -> Floats:
        """Return the intercepts from which to start."""
        ...

    def loglik(self, deviance: float, y: Floats, weight: Floats, dispersion: float) -> float:
        """Return the log-likelihood of a model with this deviance."""
        ...


class SweptFamily(RowwiseFamily, Protocol):
    """A family whose rows are not independent, but can be summed in their order."""

    def on(self, y: Floats) -> RowwiseFamily:
        """Return the family for these responses alone, with what only they decide."""
        ...

    def sweep(self, order: int) -> Any:
        """Start a sweep: an object with `add(y, Z, eta, weight)` and `finish()`."""
        ...


@dataclass(frozen=True)
class GLMSums:
    """The deviance and its derivatives in level and coefficients.

    Attributes
    ----------
    deviance : float
        Σ over all rows.
    gradient : ndarray of shape (m, 1+k)
        Derivatives in the level and the k coefficients of each linear predictor.
    hessian : ndarray of shape (m, 1+k, m, 1+k) or None
        Second derivatives.
    """

    deviance: float
    gradient: Floats
    hessian: Floats | None

    def __add__(self, other: GLMSums) -> GLMSums:
        both = self.hessian is not None and other.hessian is not None
        return GLMSums(
            self.deviance + other.deviance,
            self.gradient + other.gradient,
            self.hessian + other.hessian if both else None,  # type: ignore[operator]
        )

    def recentered(self, gap: Floats) -> GLMSums:
        """Return the sums for columns [1, z + gap] instead of [1, z]."""
        move = np.append(0.0, gap)
        hessian = self.hessian
        if hessian is not None:
            hessian = hessian + move[:, None, None] * hessian[:, :1]
            hessian = hessian + hessian[..., :1] * move
        return GLMSums(self.deviance, self.gradient + self.gradient[:, :1] * move, hessian)


class Engine(Protocol):
    """Rows [S, X, y] somewhere, known only through sums over them."""

    @property
    def names(self) -> tuple[str, ...]:
        """Encoded names of S, then of X."""
        ...

    @property
    def n_sensitive(self) -> int:
        """Number of encoded sensitive columns, q."""
        ...

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        ...

    @property
    def passes(self) -> int:
        """How often the rows have been read so far."""
        ...

    def moments(self) -> Moments:
        """Return the weighted moments of [S, X, y]."""
        ...

    def triangle(self, center: Floats, scale: Floats) -> Floats:
        """Return R with RᵀR = Σ w zzᵀ for z = ([S, X, y] − center) / scale, by orthogonal steps."""
        ...

    def residual_products(self, coefficients: Floats, center: Floats, level: float) -> Floats:
        """Return Σ w z(y − level − zᵀb) for z = [S, X] − center."""
        ...

    def pairwise(self, distance: Distance) -> Floats:
        """Return M with αᵀMα = Σᵢⱼ vᵢvⱼ d(yᵢ, yⱼ)(sᵢα − sⱼα)²."""
        ...

    def total(self, function: RowFunction, center: Floats, level: Floats, raw: Floats) -> Floats:
        """Return Σ function over blocks of rows, at η = level + ([S, X] − center)rawᵀ + offset."""
        ...

    def derivatives(
        self, family: RowwiseFamily, center: Floats, level: Floats, raw: Floats, order: int
    ) -> GLMSums:
        """Return the deviance and its derivatives at the same η; order 2 includes the Hessian."""
        ...

    def start(self, family: RowwiseFamily) -> Floats:
        """Return the intercepts from which a family starts."""
        ...

    def loglik(self, family: RowwiseFamily, deviance: float, dispersion: float) -> float:
        """Return the log-likelihood of a model with this deviance."""
        ...

    @property
    def response(self) -> Floats:
        """What the family reads, of shape (n, c)."""
        ...

    @property
    def weights(self) -> Floats:
        """Sample weights, ones where none were given."""
        ...

    @property
    def offset(self) -> Floats | None:
        """Added to the linear predictor."""
        ...

    def columns(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Return S, X, y and the weights as dense arrays, for a definition that needs rows."""
        ...
