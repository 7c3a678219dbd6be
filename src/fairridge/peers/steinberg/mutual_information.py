"""Mutual information between a discrete attribute and scores, by logistic regression.

MI is the mean over rows of log ρ(s | score)/P(s), with ρ the fitted logistic
(for more than two levels, multinomial) regression of the attribute on the
scores. That fit is a maximum, so the first derivative of MI in the scores
holds the parameters of ρ fixed (envelope theorem); in the second they move.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import helmert

from fairridge._typing import Floats, Integers
from fairridge.peers.steinberg.descent import descend


@dataclass(frozen=True)
class Information:
    """Mutual information between an attribute and scores, with derivatives in the scores."""

    value: float  # MI, in nats
    gradient: Floats  # its derivative in each score, of shape (n,)
    curvature: Floats  # second derivatives at fixed parameters of ρ, of shape (n,)
    # What moving parameters add to those: ∂²MI = diag(curvature) + cross·crossᵀ, of shape
    # (n, d).
    cross: Floats


def mutual_information(scores: Floats, codes: Integers, weight: Floats) -> Information:
    """Fit ρ and return MI with its derivatives in the scores."""
    # Levels are coded 0 to K − 1, each with rows; weights are positive.
    share = weight / weight.sum()
    frequency: Floats = np.bincount(codes, weights=share).astype(np.float64)
    center = float(share @ scores)
    spread = float(np.sqrt(share @ (scores - center) ** 2))
    K = len(frequency)
    if K < 2 or spread <= 1e-14 * abs(center) or spread == 0.0:
        nothing = np.zeros(len(scores))
        return Information(0.0, nothing, nothing, np.zeros((len(scores), 0)))
    t = (scores - center) / spread
    auxiliary = _Auxiliary(t, codes, share, np.asarray(helmert(K).T, dtype=np.float64))
    intercept, slope = auxiliary.fitted(frequency)
    log_rho, rho = auxiliary.probabilities(intercept, slope)
    rows, C = np.arange(len(t)), auxiliary.contrasts
    value = float(share @ log_rho[codes, rows] - frequency @ np.log(frequency))

    apart = slope[:, None] - slope @ rho
    # ∂²/∂t∂(intercept, slope) of log ρ, in the contrasts that carry the parameters.
    in_intercept = -rho * apart
    in_slope = in_intercept * t - rho
    in_slope[codes, rows] += 1.0
    # R with RRᵀ = information⁻¹, which leaves out directions without information.
    values, vectors = np.linalg.eigh(auxiliary.information(rho))
    kept = values > 1e-12 * max(float(values[-1]), 1e-300)
    root = vectors[:, kept] / np.sqrt(values[kept])
    cross = root.T @ np.vstack([C.T @ in_intercept, C.T @ in_slope])
    return Information(
        max(value, 0.0),
        share * apart[codes, rows] / spread,
        share * (in_intercept * apart).sum(axis=0) / spread**2,
        (share * cross / spread).T,
    )


@dataclass(frozen=True)
class _Auxiliary:
    """Logistic regression of K classes on one standardized variable t."""

    # log ρ_k = intercept_k + slope_k·t + …, intercepts and slopes summing to zero over classes:
    # orthonormal contrasts of shape (K, K − 1) carry them.

    t: Floats
    codes: Integers
    share: Floats
    contrasts: Floats

    def probabilities(self, intercept: Floats, slope: Floats) -> tuple[Floats, Floats]:
        """Return log ρ and ρ, one row per class: rows are long, and summed over quickly."""
        scores = slope[:, None] * self.t
        scores += intercept[:, None]
        scores -= scores.max(axis=0)
        rho = np.exp(scores)
        total = rho.sum(axis=0)
        scores -= np.log(total)
        rho /= total
        return scores, rho

    def information(self, rho: Floats) -> Floats:
        """Fisher information of (intercepts, slopes) in contrasts."""
        C, weighted, blocks = self.contrasts, rho * self.share, []
        for _ in range(3):  # moments of order 0, 1 and 2 in t
            blocks.append(C.T @ (np.diag(weighted.sum(axis=1)) - weighted @ rho.T) @ C)
            weighted *= self.t
        return np.block([[blocks[0], blocks[1]], [blocks[1], blocks[2]]])

    def evaluate(self, theta: Floats) -> tuple[float, Floats, Floats]:
        """Return −log-likelihood and its derivatives."""
        log_rho, rho = self.probabilities(*self._by_class(theta))
        rows = np.arange(len(self.t))
        value = -float(self.share @ log_rho[self.codes, rows])
        residual = rho * self.share
        residual[self.codes, rows] -= self.share
        gradient = np.concatenate([residual.sum(axis=1), residual @ self.t])
        return value, (gradient.reshape(2, -1) @ self.contrasts).ravel(), self.information(rho)

    def fitted(self, frequency: Floats) -> tuple[Floats, Floats]:
        """Return the intercept and the slope of every class."""
        # Normal classes of variance 1 have these parameters, and weak dependence is like that.
        mean = np.bincount(self.codes, weights=self.share * self.t) / frequency
        start = np.vstack([np.log(frequency) - 0.5 * mean**2, mean]) @ self.contrasts
        # If t separates the classes, the likelihood has only a limit; 100 steps come near it.
        return self._by_class(descend(self.evaluate, start.ravel(), 100).x)

    def _by_class(self, theta: Floats) -> tuple[Floats, Floats]:
        intercept, slope = theta.reshape(2, -1) @ self.contrasts.T
        return intercept, slope
