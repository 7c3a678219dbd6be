"""R² of predicted means on S, from sums over the rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from fairridge._typing import Floats
from fairridge.engines import MeanSums
from fairridge.solvers.shares import whitening

__all__ = ["MeanForm", "mean_form"]

# Variance of means, relative to the square of their size, that is nothing but rounding.
NOTHING = 1e-26
# R² that is nothing but rounding: correlations below 10⁻¹².
NO_SHARE = 1e-24


@dataclass(frozen=True)
class MeanForm:
    """What S explains of K means, and what they vary, as forms in their sums.

    With p_k the weights of the means, m_k and Σ_k mean and variance of S in the
    rows that mean k is asked of,

        a_k = √p_k Σ_k^(−1/2) COV(S, μ_k),   R² = Σ_k‖a_k‖² / Σ_k p_k VAR(μ_k).

    Attributes
    ----------
    weights : ndarray of shape (K,)
        Weights of the rows that each mean is asked of.
    shares : ndarray of shape (K,)
        p, the weights of those rows relative to all; any factor cancels in R².
    map : ndarray of shape (K·rank, K·(1+q))
        Maps Σ w μ[1, s] of all means to a.
    counts : ndarray of shape (K,)
        Number of rows.
    """

    weights: Floats
    shares: Floats
    map: Floats
    counts: Floats

    def explained(self, products: Floats) -> Floats:
        """Return a, for Σ w μ[1, s] of shape (K, 1+q)."""
        return self.map @ products.ravel()

    def variance(self, sums: MeanSums) -> float:
        """Return Σ p VAR(μ); 0 if that is rounding, NaN if μ² overflows."""
        level = sums.products[:, 0] / self.weights
        squares = sums.squares / self.weights
        size = float(self.shares @ squares)
        if not np.isfinite(size):
            return float("nan")
        value = float(self.shares @ (squares - level**2))
        return value if value > NOTHING * size else 0.0

    def share(self, sums: MeanSums) -> float:
        """Return R²; 0 for means that do not vary, NaN for means whose squares overflow."""
        a, total = self.explained(sums.products), self.variance(sums)
        share = float(a @ a) / total if total != 0.0 else 0.0
        return 0.0 if share <= NO_SHARE else share

    def adjusted(self, share: float) -> float:
        """Adjust R² for chance; NaN where the rows are too few."""
        rank = len(self.map) / len(self.weights)
        left = float(np.sum(self.counts - 1.0 - rank))
        return 1.0 - (1.0 - share) * float(np.sum(self.counts - 1.0)) / left if left > 0 else np.nan


def mean_form(sums: MeanSums, weight: float, columns: Floats | slice = slice(None)) -> MeanForm:
    """Set the forms up.

    Parameters
    ----------
    sums : MeanSums
        With [1, S][1, S]ᵀ.
    weight : float
        Weight of all rows.
    columns : ndarray of int or slice
        Columns of S that are to explain the means; all by default.
    """
    gram = sums.gram
    assert gram is not None
    weights = gram[:, 0, 0]
    shares = weights / weight
    maps = []
    for G, w, p in zip(gram, weights, shares, strict=True):
        if w <= 0.0:
            maps.append(np.zeros((0, len(G))))
            continue
        mean = G[0, 1:] / w
        scatter = (G[1:, 1:] / w - np.outer(mean, mean))[columns][:, columns]
        root = np.zeros((0, 0)) if not scatter.size else whitening(scatter)
        full = np.zeros((len(root), len(mean)))
        full[:, columns] = root
        maps.append(np.sqrt(p) / w * np.column_stack([-full @ mean, full]))
    safe = np.where(weights > 0.0, weights, 1.0)
    return MeanForm(safe, shares, scipy.linalg.block_diag(*maps), sums.counts)
