"""Predicted means μ of rows, with their derivatives in the linear predictors."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from fairridge._arrays import as_float64, namespace, taken, to_device
from fairridge._typing import Floats
from fairridge.families.links import bounded_exp
from fairridge.families.sums import weighted_outer

# Maps η and μ to dμ/dη and d²μ/dη².
Slopes = Callable[[Floats, Floats], tuple[Floats, Floats]]


@dataclass(frozen=True)
class RowMeans:
    """Means of some rows, and their derivatives in the m linear predictors."""

    values: Floats  # μ, less a reference, of shape (n, K)
    first: Floats | None = None  # their first derivatives, of shape (n, K, m)
    # Maps multipliers ρ of shape (n, K) to Σ_k ρ_k ∂²μ_k, of shape (n, m, m).
    bend: Callable[[Floats], Floats] | None = None
    # 1 for rows that a mean is asked of, 0 for others; None if all are, of shape (n, K).
    counted: Floats | None = None

    def among(self, counted: Floats, which: list[int]) -> RowMeans:
        """Keep some of the means, each among some of the rows."""
        bend, width = self.bend, self.values.shape[1]

        def bend_kept(multipliers: Floats) -> Floats:
            assert bend is not None
            spread = to_device(np.eye(width)[which], multipliers)
            return bend(multipliers @ spread)

        return RowMeans(
            taken(self.values, which, axis=1),
            None if self.first is None else taken(self.first, which, axis=1),
            None if bend is None else bend_kept,
            counted,
        )


class MeansOfRows(Protocol):
    """What the means of rows are; see `PredictedMeans`."""

    def __call__(self, y: Floats, eta: Floats, order: int) -> RowMeans:
        """Return the means of some rows; order 2 includes their derivatives."""


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

    family: Any  # the family of the response (Family)
    # Classes whose mean is asked for among their own rows, one mean per code; None for all
    # means among all rows.
    codes: tuple[int, ...] | None = None
    # Subtracted from every mean, so that means far from zero keep the digits of their
    # differences.
    reference: float = 0.0

    def __call__(self, y: Floats, eta: Floats, order: int) -> RowMeans:
        """Return the means of some rows; order 2 includes their derivatives."""
        several = self.family.n_predictors > 1
        means = (self._of_classes if several else self._single)(eta, order)
        if self.codes is None:
            return means
        counted = as_float64(y == to_device(np.array(self.codes, dtype=np.float64), y))
        return means.among(counted, list(self.codes) if several else [0])

    def _single(self, eta: Floats, order: int) -> RowMeans:
        mu = self.family.mean(eta)
        if order == 0:
            return RowMeans(mu - self.reference)
        first, second = SLOPES[self.family.link](eta, mu)

        def bend(multipliers: Floats) -> Floats:
            return (multipliers * second)[:, :, None]

        return RowMeans(mu - self.reference, first[:, :, None], bend)

    def _of_classes(self, eta: Floats, order: int) -> RowMeans:
        """Softmax of η = φCᵀ: dμ_k/dφ = μ_k(C_k − Σ_c μ_c C_c)."""
        P = self.family.mean(eta)
        C = to_device(self.family.contrasts, P)
        if order == 0:
            return RowMeans(P - self.reference)
        first = P[:, :, None] * (C - (P @ C)[:, None, :])

        def bend(multipliers: Floats) -> Floats:
            # With v = Σ ρ_k μ_k and d_c = μ_c(ρ_c − v): diag(d) − dμᵀ − μdᵀ in η.
            xp = namespace(P)
            d = P * (multipliers - xp.sum(P * multipliers, axis=1, keepdims=True))
            cross = (d @ C)[:, :, None] * (P @ C)[:, None, :]
            turned = cross.transpose(0, 2, 1) if xp is np else xp.permute_dims(cross, (0, 2, 1))
            return weighted_outer(d, C) - cross - turned

        return RowMeans(P - self.reference, first, bend)
