"""An engine whose moments are known already."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fairridge.engines.base import Engine, GLMSums, RowFunction, RowwiseFamily
from fairridge.engines.moments import Moments
from fairridge.engines.pairwise import Distance

__all__ = ["KnownMoments", "KnownRoot"]

Floats = NDArray[np.float64]


class KnownMoments:
    """Rows of which the moments came from elsewhere; they are read only where they must be.

    Parameters
    ----------
    moments : Moments
        Of [S, X, y].
    names : tuple of str
        Encoded names of S, then of X.
    n_sensitive : int
        q.
    rows : callable
        Makes an engine for the rows themselves.
    """

    def __init__(
        self,
        moments: Moments,
        names: tuple[str, ...],
        n_sensitive: int,
        rows: Callable[[], Engine],
    ) -> None:
        self.names = names
        self.n_sensitive = n_sensitive
        self._moments = moments
        self._make = rows

    @cached_property
    def _engine(self) -> Engine:
        return self._make()

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self._moments.n_rows

    @property
    def passes(self) -> int:
        """How often the rows have been read so far."""
        return self._engine.passes if "_engine" in self.__dict__ else 0

    def moments(self) -> Moments:
        """Return the moments that are known."""
        return self._moments

    def triangle(self, center: Floats, scale: Floats) -> Floats:
        """Ask the rows."""
        return self._engine.triangle(center, scale)

    def residual_products(self, coefficients: Floats, center: Floats, level: float) -> Floats:
        """Ask the rows."""
        return self._engine.residual_products(coefficients, center, level)

    def pairwise(self, distance: Distance) -> Floats:
        """Ask the rows."""
        return self._engine.pairwise(distance)

    def total(self, function: RowFunction, center: Floats, level: Floats, raw: Floats) -> Floats:
        """Ask the rows."""
        return self._engine.total(function, center, level, raw)

    def derivatives(
        self, family: RowwiseFamily, center: Floats, level: Floats, raw: Floats, order: int
    ) -> GLMSums:
        """Ask the rows."""
        return self._engine.derivatives(family, center, level, raw, order)

    def start(self, family: RowwiseFamily) -> Floats:
        """Ask the rows."""
        return self._engine.start(family)

    def loglik(self, family: RowwiseFamily, deviance: float, dispersion: float) -> float:
        """Ask the rows."""
        return self._engine.loglik(family, deviance, dispersion)

    def columns(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Ask the rows."""
        return self._engine.columns()

    @property
    def response(self) -> Floats:
        """What the family reads."""
        return self._engine.response

    @property
    def weights(self) -> Floats:
        """Sample weights."""
        return self._engine.weights

    @property
    def offset(self) -> Floats | None:
        """Added to the linear predictor."""
        return self._engine.offset


class KnownRoot(KnownMoments):
    """Rows of which a triangular root of the scatter is known as well.

    Parameters
    ----------
    moments : Moments
        Of [S, X, y].
    names : tuple of str
        Encoded names of S, then of X.
    n_sensitive : int
        q.
    root : ndarray of shape (≤ k, k)
        R with RᵀR the scatter, from orthogonal steps.
    rows : callable
        Makes an engine for the rows themselves.
    """

    def __init__(
        self,
        moments: Moments,
        names: tuple[str, ...],
        n_sensitive: int,
        root: Floats,
        rows: Callable[[], Engine],
    ) -> None:
        super().__init__(moments, names, n_sensitive, rows)
        self._root = root

    def triangle(self, center: Floats, scale: Floats) -> Floats:
        """Return the root in units of `scale`; the center is that of the moments."""
        square = np.zeros((len(scale), len(scale)))
        square[: len(self._root)] = self._root / scale
        return square

    def residual_products(self, coefficients: Floats, center: Floats, level: float) -> Floats:
        """Return Σ w z(y − level − zᵀb) = R_zᵀ(r_y − R_z b), at the means."""
        k = len(coefficients)
        Z, y = self._root[:, :k], self._root[:, k]
        return (y - Z @ coefficients) @ Z
