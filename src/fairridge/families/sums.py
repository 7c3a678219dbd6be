"""What families sum over rows: deviances, predicted means μ, and their derivatives in η."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from fairridge._arrays import as_float64, bounded_exp, joined, namespace, taken, to_device
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
    """Say that a `RowFunction` computes in the namespace of its arguments."""
    # Rows on another device are passed to it there; other functions get NumPy arrays.
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

    See Also
    --------
    Family : Its methods return it.

    References
    ----------
    .. [1] "Other families" in docs/algorithms.md.

    Examples
    --------
    >>> from fairridge.families import RowSums
    >>> print(RowSums(deviance=3.5).gradient is None)
    True
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
        known = self.hessian is not None and other.hessian is not None
        hessian: Any = self.hessian
        return GLMSums(
            self.deviance + other.deviance,
            self.gradient + other.gradient,
            hessian + other.hessian if known else None,
            tuple(a + b for a, b in zip(self.others, other.others, strict=True)),
        )

    def recentered(self, gap: Floats) -> GLMSums:
        """Return the sums for columns [1, z + gap] instead of [1, z]."""
        move = np.append(0.0, gap)
        hessian = self.hessian
        if hessian is not None:
            moved = move[:, None, None] * hessian[:, :1]
            moved += hessian
            moved += moved[..., :1] * move
            hessian = moved
        others = tuple([sums.recentered(gap) for sums in self.others])
        return GLMSums(self.deviance, self.gradient + self.gradient[:, :1] * move, hessian, others)


# Maps η and μ to dμ/dη and d²μ/dη².
Slopes = Callable[[Floats, Floats], tuple[Floats, Floats]]


@dataclass(frozen=True)
class RowMeans:
    """Means of some rows, and their derivatives in the m linear predictors."""

    values: Floats  # μ, less a reference, of shape (n, K)
    first: Any = None  # their first derivatives, of shape (n, K, m)
    # Maps multipliers ρ of shape (n, K) to Σ_k ρ_k ∂²μ_k, of shape (n, m, m).
    bend: Any = None
    # What weights of rows are multiplied by: 1 for rows that a mean is asked of, or their
    # exposure, and 0 for others; None for 1 everywhere, of shape (n, K).
    counted: Floats | None = None

    def among(self, counted: Floats, which: list[int]) -> RowMeans:
        """Repeat some of the means, each among some of the rows."""
        bend, spread = self.bend, np.eye(self.values.shape[1])[which]
        return RowMeans(
            taken(self.values, which, axis=1),
            None if self.first is None else taken(self.first, which, axis=1),
            None if bend is None else lambda each: bend(each @ to_device(spread, each)),
            counted,
        )


def _logit(eta: Floats, mu: Floats) -> tuple[Floats, Floats]:
    """μ(1 − μ) and μ(1 − μ)(1 − 2μ)."""
    first = mu * (1.0 - mu)
    return first, first * (1.0 - 2.0 * mu)


def _probit(eta: Floats, mu: Floats) -> tuple[Floats, Floats]:
    """φ(η) and −ηφ(η)."""
    first = namespace(eta).exp(-0.5 * eta * eta) / math.sqrt(2.0 * math.pi)
    return first, -eta * first


def _cloglog(eta: Floats, mu: Floats) -> tuple[Floats, Floats]:
    """t·e^−t and t(1 − t)e^−t, with t = e^η."""
    t = bounded_exp(eta)
    first = t * namespace(eta).exp(-t)
    return first, (1.0 - t) * first


SLOPES: dict[str, Slopes] = {
    "identity": lambda eta, mu: (0.0 * eta + 1.0, 0.0 * eta),
    "log": lambda eta, mu: (mu, mu),
    "logit": _logit,
    "probit": _probit,
    "cloglog": _cloglog,
}


@dataclass(frozen=True)
class PredictedMeans:
    """The means that a model predicts: one per row, or one per row and class."""

    # Under a log link with an offset log e they are rates μ/e, and rows have the weights we: those
    # of a model of y/e with these weights.

    family: Any  # the family of the response (Family)
    # Pairs of a mean and the class among whose rows it is asked for; None for all means among
    # all rows.
    among: tuple[tuple[int, int], ...] | None = None
    # Subtracted from each mean, so that means far from zero keep the digits of their
    # differences; None for zeros.
    reference: tuple[float, ...] | None = None
    # Whether all means among all rows follow, for their totals, unless they are the same;
    # weights of classes count in these.
    totals: bool = False

    @property
    def n_means(self) -> int:
        """Means of a row: one, or one per class."""
        return self.family.n_predictors + int(self.family.n_predictors > 1)

    @property
    def references(self) -> Floats:
        """What is subtracted from each mean, of shape (n_means,)."""
        return np.zeros(self.n_means) if self.reference is None else np.array(self.reference)

    @property
    def n_bounded(self) -> int:
        """How many of the means S must not explain; totals follow them."""
        return self.n_means if self.among is None else len(self.among)

    def __call__(
        self, y: Floats, eta: Floats, order: int, offset: Floats | None = None
    ) -> RowMeans:
        """Return the means of some rows; order 2 includes their derivatives."""
        means, every = self._all(eta, order, offset), range(self.n_means)
        weights = self.class_weights
        if self.among is None and (weights is None or not self.totals):
            return means
        counted = 0.0 * y + to_device(np.ones((1, self.n_means)), y)
        which = list(every)
        if self.among is not None:
            classes = np.array([code for _, code in self.among], dtype=np.float64)
            counted, which = as_float64(y == to_device(classes, y)), [k for k, _ in self.among]
        if self.totals:
            counted = joined([counted, *(self.in_totals(y) for _ in every)], axis=1)
            which = [*which, *every]
        return means.among(counted, which)

    def in_totals(self, y: Floats) -> Floats:
        """Return what rows count in totals, of shape (n, 1)."""
        if self.class_weights is None:
            return 0.0 * y + 1.0
        weights = np.array(self.class_weights)[:, None]
        known = to_device(np.arange(len(weights), dtype=np.float64), y)
        return as_float64(y == known) @ to_device(weights, y)

    @property
    def class_weights(self) -> tuple[float, ...] | None:
        """What rows of each class count in totals; None for the same."""
        weights: tuple[float, ...] | None = getattr(self.family, "class_weights", None)
        return weights

    def _all(self, eta: Floats, order: int, offset: Floats | None) -> RowMeans:
        """Return all means; as rates, if there is an exposure."""
        if self.family.n_predictors > 1:
            return self._of_classes(eta, order)
        if offset is None or self.family.link != "log":
            return self._single(eta, order, float(self.references[0]))
        means, exposure = self._single(eta, order, 0.0), namespace(offset).exp(offset)[:, None]
        each, bend = 1.0 / exposure, means.bend
        return RowMeans(
            means.values * each - float(self.references[0]),
            None if means.first is None else means.first * each[:, :, None],
            None if bend is None else lambda multipliers: bend(multipliers * each),
            exposure,
        )

    def _single(self, eta: Floats, order: int, reference: float) -> RowMeans:
        mu = self.family.mean(eta)
        if order == 0:
            return RowMeans(mu - reference)
        first, second = SLOPES[self.family.link](eta, mu)

        def bend(multipliers: Floats) -> Floats:
            return (multipliers * second)[:, :, None]

        return RowMeans(mu - reference, first[:, :, None], bend)

    def _of_classes(self, eta: Floats, order: int) -> RowMeans:
        """Softmax of η = φCᵀ: dμ_k/dφ = μ_k(C_k − Σ_c μ_c C_c)."""
        P = self.family.mean(eta)
        C = to_device(self.family.contrasts, P)
        if order == 0:
            return RowMeans(P - to_device(self.references, P))
        first = P[:, :, None] * (C - (P @ C)[:, None, :])

        def bend(multipliers: Floats) -> Floats:
            # With v = Σ ρ_k μ_k and d_c = μ_c(ρ_c − v): diag(d) − dμᵀ − μdᵀ in η.
            xp = namespace(P)
            d = P * (multipliers - xp.sum(P * multipliers, axis=1, keepdims=True))
            cross = (d @ C)[:, :, None] * (P @ C)[:, None, :]
            turned = cross.transpose(0, 2, 1) if xp is np else xp.permute_dims(cross, (0, 2, 1))
            return weighted_outer(d, C) - cross - turned

        return RowMeans(P - to_device(self.references, P), first, bend)
