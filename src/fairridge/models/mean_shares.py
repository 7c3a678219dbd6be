"""R² of predicted means on S, from sums over the rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from fairridge._typing import Floats, Integers
from fairridge.engines import MeanSums
from fairridge.models.basis import FairBasis
from fairridge.solvers.shares import whitening

# Variance of means, relative to the square of their size, that is nothing but rounding.
NOTHING = 1e-26
# R² that is nothing but rounding: correlations below 10⁻¹².
NO_SHARE = 1e-24
# Share of a variance that controls leave, which is nothing but rounding.
NOTHING_LEFT = 1e-12


@dataclass(frozen=True)
class MeanForm:
    """What S explains of K means, and what they vary, as forms in their sums.

    With p_k the weights of the means, m_k and Σ_k mean and variance of S in the
    rows that mean k is asked of,

        a_k = √p_k Σ_k^(−1/2) COV(S, μ_k),   R² = Σ_k‖a_k‖² / Σ_k p_k VAR(μ_k).

    Given controls C, S stands for its residuals on [1, C], and VAR(μ_k) for what C
    leaves of it, VAR(μ_k) − ‖b_k‖²/p_k, with b_k the same as a_k for C: R² is partial.

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
    of_controls : ndarray of shape (K·rank, K·(1+q))
        Maps the same sums to b; without rows if there are no controls.
    """

    weights: Floats
    shares: Floats
    map: Floats
    counts: Floats
    of_controls: Floats

    def explained(self, products: Floats) -> Floats:
        """Return a, for Σ w μ[1, s] of shape (K, 1+q)."""
        return self.map @ products.ravel()

    def variance(self, sums: MeanSums) -> float:
        """Return Σ p VAR(μ), or what controls leave of it; 0 if that is rounding.

        NaN if μ² overflows.
        """
        level = sums.products[:, 0] / self.weights
        squares = sums.squares / self.weights
        size = float(self.shares @ squares)
        if not np.isfinite(size):
            return float("nan")
        total = float(self.shares @ (squares - level**2))
        b = self.of_controls @ sums.products.ravel()
        value, least = total - float(b @ b), NOTHING_LEFT * total if len(b) else 0.0
        return value if value > max(NOTHING * size, least) else 0.0

    def variance_slope(self, sums: MeanSums, squares: Floats, jacobian: Floats) -> Floats:
        """Return the derivative of `variance`.

        Parameters
        ----------
        sums : MeanSums
            Where it is asked for.
        squares : ndarray of shape (K, N)
            Derivatives of ½Σ w μ².
        jacobian : ndarray of shape (K·(1+q), N)
            Derivatives of Σ w μ[1, s].
        """
        levels = jacobian.reshape(len(sums.squares), -1, jacobian.shape[1])[:, 0]
        weights = (2.0 * self.shares / self.weights)[:, None]
        mean = (sums.products[:, 0] / self.weights)[:, None]
        b = self.of_controls @ sums.products.ravel()
        slope: Floats = (weights * (squares - mean * levels)).sum(axis=0)
        return slope - 2.0 * b @ (self.of_controls @ jacobian)

    def share(self, sums: MeanSums) -> float:
        """Return R²; 0 for means that do not vary, NaN for means whose squares overflow."""
        a, total = self.explained(sums.products), self.variance(sums)
        share = float(a @ a) / total if total != 0.0 else 0.0
        return 0.0 if share <= NO_SHARE else share

    def adjusted(self, share: float) -> float:
        """Adjust R² for chance; NaN if the rows are too few."""
        total = float(np.sum(self.counts - 1.0)) - len(self.of_controls)
        left = total - len(self.map)
        return 1.0 - (1.0 - share) * total / left if left > 0 else np.nan


def mean_form(sums: MeanSums, basis: FairBasis, columns: Integers | None = None) -> MeanForm:
    """Set the forms up.

    Parameters
    ----------
    sums : MeanSums
        With [1, S][1, S]ᵀ; given controls, with [1, S, X][1, S, X]ᵀ.
    basis : FairBasis
        Says what the weight of all rows is, and which columns of X are controls.
    columns : ndarray of int, optional
        Columns of S that are to explain the means; all by default.
    """
    gram, q = sums.gram, len(basis.center_sensitive)
    assert gram is not None
    columns = np.arange(q) if columns is None else columns
    weights = gram[:, 0, 0]
    shares = weights / basis.weight
    maps = [
        _maps(G, columns, q + basis.given_columns, np.sqrt(p) / w if w > 0.0 else 0.0)
        for G, w, p in zip(gram, weights, shares, strict=True)
    ]
    safe = np.where(weights > 0.0, weights, 1.0)
    own, controls = (scipy.linalg.block_diag(*parts) for parts in zip(*maps, strict=True))
    return MeanForm(safe, shares, own, sums.counts, controls)


def _maps(
    gram: Floats, columns: Integers, controls: Integers, size: float
) -> tuple[Floats, Floats]:
    """Return the maps from Σ w μ[1, z] of one mean to a and to b, z the columns of the sums."""
    width, w = len(gram), gram[0, 0]
    if w <= 0.0:
        return np.zeros((0, width)), np.zeros((0, width))
    mean = gram[0, 1:] / w
    scatter = gram[1:, 1:] / w - np.outer(mean, mean)
    of_controls = np.zeros((0, width - 1))
    residuals = np.eye(width - 1)[columns]
    if controls.size:
        of_controls = _whitened(scatter, np.eye(width - 1)[controls])
        residuals = residuals - (residuals @ scatter @ of_controls.T) @ of_controls
    own = _whitened(scatter, residuals, np.diag(scatter)[columns])
    a, b = (size * np.column_stack([-full @ mean, full]) for full in (own, of_controls))
    return a, b


def _whitened(scatter: Floats, columns: Floats, before: Floats | None = None) -> Floats:
    """Return combinations of columns whose scatter is one.

    Parameters
    ----------
    scatter : ndarray of shape (k, k)
        Of all columns.
    columns : ndarray of shape (c, k)
        Combinations of them.
    before : ndarray of shape (c,), optional
        What the variances were before controls took their part; what is left of one may be
        nothing but rounding.
    """
    if not len(columns):
        return columns
    own = columns @ scatter @ columns.T
    if before is not None:
        gone = np.diag(own) <= NOTHING_LEFT * before
        own[gone], own[:, gone] = 0.0, 0.0
    return whitening(own) @ columns
