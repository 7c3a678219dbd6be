"""Deviances of every family with gradient and Hessian, written from their formulas.

Nothing here is imported from the library. η is a vector, or a matrix with one
column per class for several classes; y holds numbers, codes of classes, or
(time, event).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, softmax, xlogy

Floats = NDArray[np.float64]
EPS = float(np.finfo(float).eps)
POWER = 1.5  # Tweedie's, by default


@dataclass(frozen=True)
class Likelihood:
    """The deviance of some weighted rows in their linear predictors.

    Attributes
    ----------
    family : str
        Its name.
    y : ndarray
        Responses.
    weight : ndarray of shape (n,)
        Positive weights.
    ties : str
        How a Cox model treats events at the same time.
    """

    family: str
    y: NDArray[Any]
    weight: Floats
    ties: str = "breslow"

    @property
    def has_intercept(self) -> bool:
        """Whether the deviance depends on the level of η."""
        return self.family != "cox"

    def deviance(self, eta: Floats) -> tuple[float, float]:
        """Return D(η), and the sum of the sizes of what was added up for it."""
        if self.family == "cox":
            parts = [self._cox_terms(eta)]
        else:
            parts = [self.weight * part for part in self._parts(eta)]
        return float(sum(parts).sum()), float(sum(np.abs(part).sum() for part in parts))

    def _parts(self, eta: Floats) -> list[Floats]:
        """Return the summands of the deviance of every row."""
        y = self.y
        if self.family == "gaussian":
            return [(y - eta) ** 2]
        if self.family in ("binomial", "quasi-binomial"):
            missed = y * np.logaddexp(0.0, -eta) + (1.0 - y) * np.logaddexp(0.0, eta)
            # The saturated model, which is 0 for classes.
            return [2.0 * missed, 2.0 * (xlogy(y, y) + xlogy(1.0 - y, 1.0 - y))]
        if self.family == "poisson":
            return [2.0 * xlogy(y, y), -2.0 * y * eta, -2.0 * y, 2.0 * np.exp(eta)]
        if self.family == "gamma":
            return [2.0 * eta, -2.0 * np.log(y), 2.0 * y * np.exp(-eta), np.full(len(y), -2.0)]
        if self.family == "tweedie":
            a, b = 1.0 - POWER, 2.0 - POWER
            # Where y = 0 it is 0 times what may be infinite.
            inverse = np.exp(a * np.where(y > 0.0, eta, 0.0))
            scaled = [y**b / (a * b), -y * inverse / a, np.exp(b * eta) / b]
            return [2.0 * part for part in scaled]
        chosen = eta[np.arange(len(y)), y]
        highest = eta.max(axis=1)
        rest = np.log(np.exp(eta - highest[:, None]).sum(axis=1))
        return [2.0 * rest, 2.0 * (highest - chosen)]

    def gradient(self, eta: Floats) -> Floats:
        """Return dD/dη, of the shape of η."""
        y, w = self.y, self.weight
        if self.family == "gaussian":
            return 2.0 * w * (eta - y)
        if self.family in ("binomial", "quasi-binomial"):
            # Without a difference, so that it keeps its digits where y is almost certain.
            return 2.0 * w * ((1.0 - y) * expit(eta) - y * expit(-eta))
        if self.family == "poisson":
            return 2.0 * w * (np.exp(eta) - y)
        if self.family == "gamma":
            return 2.0 * w * (1.0 - y * np.exp(-eta))
        if self.family == "tweedie":
            inverse = np.exp((1.0 - POWER) * np.where(y > 0.0, eta, 0.0))
            return 2.0 * w * (np.exp((2.0 - POWER) * eta) - y * inverse)
        if self.family == "multinomial":
            return 2.0 * w[:, None] * (softmax(eta, axis=1) - np.eye(eta.shape[1])[y])
        out = -2.0 * w * (y[:, 1] == 1.0)
        for mass, share in self._risk_shares(eta):
            out += 2.0 * mass * share
        return out

    def hessian(self, eta: Floats, Z: Floats) -> Floats:
        """Return the Hessian of D in the coefficients of Z, classes in the outer order."""
        w = self.weight
        if self.family == "multinomial":
            P = softmax(eta, axis=1)
            K = P.shape[1]
            blocks = [
                [Z.T @ ((2.0 * w * P[:, a] * ((a == b) - P[:, b]))[:, None] * Z) for b in range(K)]
                for a in range(K)
            ]
            return np.block(blocks)
        if self.family != "cox":
            return Z.T @ (self._curvature(eta)[:, None] * Z)
        out = np.zeros((Z.shape[1], Z.shape[1]))
        for mass, share in self._risk_shares(eta):
            mean = share @ Z
            out += 2.0 * mass * (Z.T @ (share[:, None] * Z) - np.outer(mean, mean))
        return out

    def row_curvature(self, eta: Floats) -> Floats:
        """Return d²D/dη² of every row and linear predictor, of the shape of η; for Cox a bound."""
        if self.family == "cox":
            return 2.0 * self.weight
        if self.family == "multinomial":
            P = softmax(eta, axis=1)
            return 2.0 * self.weight[:, None] * P * (1.0 - P)
        return self._curvature(eta)

    def null_level(self) -> Floats:
        """Return η of the model with an intercept only, without offsets."""
        y, w = self.y, self.weight
        if self.family == "multinomial":
            return np.log(np.maximum(np.bincount(y, weights=w), EPS * w.sum()) / w.sum())
        if self.family == "cox":
            return np.zeros(1)
        mean = np.average(y, weights=w)
        if self.family == "gaussian":
            return np.array([mean])
        if self.family in ("binomial", "quasi-binomial"):
            return np.array([logit(np.clip(mean, EPS, 1.0 - EPS))])
        return np.array([np.log(max(mean, EPS))])

    def _curvature(self, eta: Floats) -> Floats:
        y, w = self.y, self.weight
        if self.family == "gaussian":
            return 2.0 * w
        if self.family in ("binomial", "quasi-binomial"):
            return 2.0 * w * expit(eta) * expit(-eta)
        if self.family == "poisson":
            return 2.0 * w * np.exp(eta)
        if self.family == "gamma":
            return 2.0 * w * y * np.exp(-eta)
        a, b = 1.0 - POWER, 2.0 - POWER
        return 2.0 * w * (b * np.exp(b * eta) - a * y * np.exp(a * np.where(y > 0.0, eta, 0.0)))

    # ---------------------------------------------------------------- Cox

    def _cox_terms(self, eta: Floats) -> Floats:
        """−2 log partial likelihood: one term per event, one per denominator."""
        event = self.y[:, 1] == 1.0
        numerators = -2.0 * self.weight[event] * eta[event]
        denominators = [2.0 * mass * log for mass, log, _ in self._denominators(eta)]
        return np.concatenate([numerators, denominators])

    def _risk_shares(self, eta: Floats) -> Iterator[tuple[float, Floats]]:
        for mass, _, share in self._denominators(eta):
            yield mass, share

    def _denominators(self, eta: Floats) -> Iterator[tuple[float, float, Floats]]:
        """Weight, logarithm and shares of rows of every denominator of the likelihood.

        Breslow has one per event time; Efron one per tied event, which takes
        a growing fraction of the tied events out of the risk set.
        """
        time, event, w = self.y[:, 0], self.y[:, 1] == 1.0, self.weight
        for t in np.unique(time[event]):
            at_risk, tied = time >= t, (time == t) & event
            highest = eta[at_risk].max()
            risk = np.where(at_risk, w * np.exp(np.where(at_risk, eta - highest, 0.0)), 0.0)
            count = int(tied.sum()) if self.ties == "efron" else 1
            for k in range(count):
                rest = risk - (k / count) * np.where(tied, risk, 0.0)
                total = rest.sum()
                yield w[tied].sum() / count, highest + float(np.log(total)), rest / total
