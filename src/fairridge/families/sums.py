"""Sums over rows of a deviance and of its derivatives, and functions that are summed over rows."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from fairridge._arrays import namespace
from fairridge._typing import Floats

# Maps response (n, c), linear predictors (n, m) and weights (n,) to sums over the rows; linear
# in the weights, so that rows that agree in the others may come as one.
RowFunction = Callable[[Floats, Floats, Floats], Floats]
# Maps response (n, c), columns (n, q+p), weights and offset (n,) to anything that adds up.
ColumnFunction = Callable[[Floats, Floats, Floats, Floats | None], Any]
# Intercepts (m,) and raw coefficients (m, q+p) of the linear predictors.
Place = tuple[Floats, Floats]


Function = TypeVar("Function", bound=Callable[..., Any])


def any_arrays(function: Function) -> Function:
    """Say that a `RowFunction` computes in the namespace of its arguments.

    Rows on another device are passed to it there; other functions get NumPy arrays.
    """
    function.any_arrays = True  # type: ignore[attr-defined]
    return function


@dataclass(frozen=True)
class FamilyFunction(ABC):
    """A `RowFunction` of a family; an engine replaces the family by that of its own rows."""

    family: Any  # the family (Family)
    any_arrays = True

    @abstractmethod
    def __call__(self, y: Floats, eta: Floats, weight: Floats) -> Floats:
        """Return sums over the rows."""


def weighted_outer(weight: Floats, C: Floats) -> Floats:
    """Return Σ_k weight_k C_k C_kᵀ of each row, of shape (n, m, m)."""
    K, m = C.shape
    products = namespace(weight).reshape(C[:, :, None] * C[:, None, :], (K, m * m))
    return namespace(weight).reshape(weight @ products, (weight.shape[0], m, m))


@dataclass(frozen=True)
class RowSums:
    """Deviance of some rows, and its derivatives in their linear predictors.

    Attributes
    ----------
    deviance : float
        Σ over the rows, weighted; of rows on another device it is an array there, because
        to turn it into a number is to wait for the device.
    gradient : ndarray of shape (n, m) or None
        Derivative of the deviance in each linear predictor of each row.
    curvature : ndarray of shape (n, m, m) or None
        Second derivatives within each row.
    coupling : callable or None
        For families whose rows are not independent (Cox): maps the columns Z
        of shape (n, k) to the (k, k) matrix to be subtracted from Zᵀdiag(curvature)Z.
    """

    deviance: float
    gradient: Floats | None = None
    curvature: Floats | None = None
    coupling: Callable[[Floats], Floats] | None = None


@dataclass(frozen=True)
class GLMSums:
    """The deviance and its derivatives in intercept and coefficients."""

    deviance: float  # Σ over all rows
    # Derivatives in the intercept and the k coefficients of each linear predictor, of shape
    # (m, 1+k).
    gradient: Floats
    hessian: Floats | None  # second derivatives, of shape (m, 1+k, m, 1+k)
    # The same, without second derivatives, at other coefficients met in the same pass.
    others: tuple[GLMSums, ...] = ()

    def __add__(self, other: GLMSums) -> GLMSums:
        others = tuple(a + b for a, b in zip(self.others, other.others, strict=True))
        return self._combined(other, operator.add, others)

    def __sub__(self, other: GLMSums) -> GLMSums:
        return self._combined(other, operator.sub, ())

    def _combined(self, other: GLMSums, join: Any, others: tuple[GLMSums, ...]) -> GLMSums:
        missing = self.hessian is None or other.hessian is None
        return GLMSums(
            join(self.deviance, other.deviance),
            join(self.gradient, other.gradient),
            None if missing else join(self.hessian, other.hessian),
            others,
        )

    def recentered(self, gap: Floats) -> GLMSums:
        """Return the sums for columns [1, z + gap] instead of [1, z]."""
        move = np.append(0.0, gap)
        hessian = self.hessian
        if hessian is not None:
            hessian = hessian + move[:, None, None] * hessian[:, :1]
            hessian = hessian + hessian[..., :1] * move
        others = tuple(sums.recentered(gap) for sums in self.others)
        return GLMSums(self.deviance, self.gradient + self.gradient[:, :1] * move, hessian, others)
