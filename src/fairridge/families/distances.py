"""Quadratic forms over pairs of rows, without the pairs.

Individual fairness weighs how differently two people are treated by how
different their outcomes are,

    f(α) = Σᵢⱼ vᵢvⱼ d(yᵢ, yⱼ) (sᵢα − sⱼα)² = αᵀMα,

with sample weights v. M depends on differences of S alone, so S may be
centered first. Then, with W = Σv and every sum weighted:

- d = |g(yᵢ) − g(yⱼ)|: sort by g. With F(t) the sum of vᵢsᵢ over gᵢ ≤ t,
  |a − b| = ∫ 1[a ≤ t < b] + 1[b ≤ t < a] dt gives
  M = 2 Sᵀdiag(v∘Dv)S + 4 ∫ F(t)F(t)ᵀ dt: two positive terms, no cancellation.
- d = (yᵢ − yⱼ)²: M = 2W Σy²ssᵀ + 2(Σy²)(Σssᵀ) + 4bbᵀ, b = Σys, y centered.
- d = 1[yᵢ ≠ yⱼ]: M = 2(W·scatter(S) − Σ_c W_c·scatter_c(S)) over classes c.

Where columns of S are nearly collinear, α consists of large numbers that
cancel in Sα, and in αᵀMα their squares would. So callers may ask for M of other
columns with the same span (`ChangedColumns`), best orthonormal ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from fairridge._typing import Floats
from fairridge._warnings import warn_user
from fairridge.exceptions import DataWarning

__all__ = [
    "AbsoluteDifference",
    "ChangedColumns",
    "ClassDifference",
    "Distance",
    "PairwiseDistance",
    "SquaredDifference",
]

Vectorized = Callable[[Any], Any]

# Above this many rows a general distance takes minutes: 4e8 pairs.
MANY_ROWS = 20_000


@dataclass(frozen=True)
class ChangedColumns:
    """Columns (S − center)·change.

    Attributes
    ----------
    center : ndarray of shape (q,)
        What to subtract.
    change : ndarray of shape (q, k)
        What to multiply with.
    """

    center: Floats
    change: Floats

    def of(self, S: Floats) -> Floats:
        """Return the columns for S of shape (n, q)."""
        return (S - self.center) @ self.change

    @property
    def key(self) -> bytes:
        """The numbers, to remember answers by."""
        return self.center.tobytes() + self.change.tobytes()


class Distance(Protocol):
    """How different two responses are."""

    def form(self, S: Floats, y: Floats, v: Floats) -> Floats:
        """Return M for S of shape (n, q), responses of shape (n, m) and weights v."""
        ...


@dataclass(frozen=True)
class AbsoluteDifference:
    """d = |g(yᵢ) − g(yⱼ)| in O(n log n + nq²).

    Parameters
    ----------
    transform : callable, optional
        g, applied to the vector of responses; the identity if None.
    """

    transform: Vectorized | None = None

    def form(self, S: Floats, y: Floats, v: Floats) -> Floats:
        """Return M; the module docstring derives it."""
        g = y[:, 0] if self.transform is None else np.asarray(self.transform(y[:, 0]), float)
        order = np.argsort(g)
        g, v, S = g[order], v[order], S[order]
        g -= np.average(g, weights=v)
        S -= np.average(S, axis=0, weights=v)
        below = np.cumsum(v)
        moment = np.cumsum(v * g)
        # Σⱼ vⱼ|gᵢ − gⱼ|, from the sums below and above row i.
        spread = g * (2 * below - below[-1]) + moment[-1] - 2 * moment
        near = (S * (v * spread)[:, None]).T @ S
        S *= v[:, None]
        cumulated = np.cumsum(S, axis=0, out=S)[:-1]
        tails = (cumulated * np.diff(g)[:, None]).T @ cumulated
        return 2.0 * near + 4.0 * tails


@dataclass(frozen=True)
class SquaredDifference:
    """d = (yᵢ − yⱼ)² in O(nq²)."""

    def form(self, S: Floats, y: Floats, v: Floats) -> Floats:
        """Return M; the module docstring derives it."""
        g = y[:, 0] - np.average(y[:, 0], weights=v)
        S = S - np.average(S, axis=0, weights=v)
        weighted = S * v[:, None]
        square = v @ (g * g)
        b = g @ weighted
        fourth = (weighted * (g * g)[:, None]).T @ S
        return 2.0 * v.sum() * fourth + 2.0 * square * (weighted.T @ S) + 4.0 * np.outer(b, b)


@dataclass(frozen=True)
class ClassDifference:
    """d = 1[yᵢ ≠ yⱼ] in O(nq²)."""

    def form(self, S: Floats, y: Floats, v: Floats) -> Floats:
        """Return M; the module docstring derives it."""
        total = v.sum() * _scatter(S, v)
        _, codes = np.unique(y, axis=0, return_inverse=True)
        for code in range(int(codes.max()) + 1):
            rows = codes.ravel() == code
            total -= v[rows].sum() * _scatter(S[rows], v[rows])
        return 2.0 * total


@dataclass(frozen=True)
class PairwiseDistance:
    """Any other d(yᵢ, yⱼ), in O(n²q) by blocks of rows.

    Parameters
    ----------
    distance : callable
        ``distance(a, b)`` with `a` of shape (k, 1) and `b` of shape (1, n),
        returning distances of shape (k, n).
    """

    distance: Callable[[Any, Any], Any]

    def form(self, S: Floats, y: Floats, v: Floats) -> Floats:
        """Return M = 2 Sᵀ(diag(v∘Dv) − VDV)S."""
        n, q = S.shape
        if n > MANY_ROWS:
            warn_user(
                f"individual fairness with a general distance looks at all {n:,}² pairs of rows; "
                "AbsoluteDifference, SquaredDifference and ClassDifference do not.",
                DataWarning,
            )
        S = S - np.average(S, axis=0, weights=v)
        g = y[:, 0]
        total = np.zeros((q, q))
        step = max(1, 4_000_000 // n)
        for lo in range(0, n, step):
            rows = slice(lo, lo + step)
            d = np.asarray(self.distance(g[rows, None], g[None, :]), dtype=np.float64) * v
            weighted = S[rows] * v[rows, None]
            total += (weighted * d.sum(axis=1)[:, None]).T @ S[rows] - weighted.T @ (d @ S)
        return total + total.T


def _scatter(S: Floats, v: Floats) -> Floats:
    centered = S - np.average(S, axis=0, weights=v)
    return (centered * v[:, None]).T @ centered
