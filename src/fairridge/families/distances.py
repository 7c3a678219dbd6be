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
- d = 1[yᵢ = yⱼ]: the second of these terms, M = 2Σ_c W_c·scatter_c(S).
- d = e^(−|yᵢ − yⱼ|/h): sort by y. Row j is compared with all rows below it by
  their decayed weight w_j = Σ_{i<j} vᵢ e^((yᵢ − yⱼ)/h), their mean m_j under
  these weights, and their scatter A_j around it. With e_j = s_j − m_j and
  A_{j+1} = e^((y_j − y_{j+1})/h) (A_j + v_j w_j/(v_j + w_j) e_j e_jᵀ),
  M = 2 Σ_j (v_j w_j + v_j w_j/(v_j + w_j)·u_j) e_j e_jᵀ, where u_j is the
  decayed weight of the rows above j. All terms are positive: no cancellation.

The last two weigh pairs with similar outcomes, the others pairs with different
ones.

Where columns of S are nearly collinear, α consists of large numbers that
cancel in Sα, and in αᵀMα their squares would. So callers may ask for M of other
columns with the same span (`ChangedColumns`), best orthonormal ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from fairridge._typing import Floats, Integers
from fairridge._warnings import warn_user
from fairridge.arguments import check_number
from fairridge.exceptions import DataWarning
from fairridge.families.risk_sets import EXPONENT_SPAN

Vectorized = Callable[[Any], Any]

# Above this many rows a general distance takes minutes: 4e8 pairs.
MAX_PAIRED_ROWS = 20_000
# Differences from a mean, relative to it, that are rounding.
ROUNDING_OF_MEANS = 1e-15


@dataclass(frozen=True)
class ChangedColumns:
    """Columns (S − center)·change."""

    center: Floats  # what to subtract, of shape (q,)
    change: Floats  # what to multiply with, of shape (q, k)

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


@dataclass(frozen=True)
class AbsoluteDifference:
    """d = |g(yᵢ) − g(yⱼ)| in O(n log n + nq²).

    Parameters
    ----------
    transform : callable, optional
        g, applied to the vector of responses; the identity if None.

    See Also
    --------
    IndividualFairness : Takes it.
    SquaredDifference : The square of it.

    References
    ----------
    .. [1] Scutari, Panero and Proissl (2022), section 4.3.

    Examples
    --------
    >>> import numpy as np
    >>> from fairridge import FairRidgeRegressor
    >>> rng = np.random.default_rng(0)
    >>> S, X, noise = rng.normal(size=(3, 100, 1))
    >>> y = (S + X + noise)[:, 0]
    >>> from fairridge.fairness import AbsoluteDifference, IndividualFairness
    >>> model = FairRidgeRegressor(0.1, definition=IndividualFairness(AbsoluteDifference()))
    >>> print(f"{model.fit(X, y, sensitive_features=S).unfairness_:.4f}")
    0.1000
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
    """d = (yᵢ − yⱼ)² in O(nq²).

    See Also
    --------
    IndividualFairness : Takes it.
    AbsoluteDifference : The root of it.

    References
    ----------
    .. [1] Scutari, Panero and Proissl (2022), section 4.3.

    Examples
    --------
    >>> import numpy as np
    >>> from fairridge import FairRidgeRegressor
    >>> rng = np.random.default_rng(0)
    >>> S, X, noise = rng.normal(size=(3, 100, 1))
    >>> y = (S + X + noise)[:, 0]
    >>> from fairridge.fairness import IndividualFairness, SquaredDifference
    >>> model = FairRidgeRegressor(0.1, definition=IndividualFairness(SquaredDifference()))
    >>> print(f"{model.fit(X, y, sensitive_features=S).unfairness_:.4f}")
    0.1000
    """

    def form(self, S: Floats, y: Floats, v: Floats) -> Floats:
        """Return M; the module docstring derives it."""
        g = y[:, 0] - np.average(y[:, 0], weights=v)
        return squared_form(squared_sums(S - np.average(S, axis=0, weights=v), g, v), S.shape[1])


@dataclass(frozen=True)
class ClassDifference:
    """d = 1[yᵢ ≠ yⱼ] in O(nq²).

    See Also
    --------
    IndividualFairness : Takes it.
    SameOutcome : Pairs of the same class instead.

    References
    ----------
    .. [1] Scutari, Panero and Proissl (2022), section 4.3.

    Examples
    --------
    >>> from fairridge import FairRidgeClassifier
    >>> from fairridge.datasets import load_german_credit
    >>> credit = load_german_credit()
    >>> X, y = credit.X[["Age", "Gender", "Duration"]], credit.y
    >>> from fairridge.fairness import ClassDifference, IndividualFairness
    >>> individual = IndividualFairness(ClassDifference())
    >>> model = FairRidgeClassifier(0.1, sensitive="Gender", definition=individual).fit(X, y)
    >>> print(f"{model.unfairness_:.4f}")
    0.1000
    """

    def form(self, S: Floats, y: Floats, v: Floats) -> Floats:
        """Return M; the module docstring derives it."""
        centered = S - np.average(S, axis=0, weights=v)
        everywhere = (centered * (v * v.sum())[:, None]).T @ centered
        return 2.0 * (everywhere - _within_outcomes(S, v, _outcomes(y)))


@dataclass(frozen=True)
class SameOutcome:
    """d = 1[yᵢ = yⱼ] in O(n log n + nq²): pairs with the same outcome are compared.

    These are the weights of Berk et al. (2017). The response must have ties, as classes and
    counts do.

    See Also
    --------
    IndividualFairness : Takes it.
    Closeness : For responses without ties.

    References
    ----------
    .. [1] Berk et al. (2017), A convex framework for fair regression.

    Examples
    --------
    >>> from fairridge import FairRidgeClassifier
    >>> from fairridge.datasets import load_german_credit
    >>> credit = load_german_credit()
    >>> X, y = credit.X[["Age", "Gender", "Duration"]], credit.y
    >>> from fairridge.fairness import IndividualFairness, SameOutcome
    >>> individual = IndividualFairness(SameOutcome())
    >>> model = FairRidgeClassifier(0.1, sensitive="Gender", definition=individual).fit(X, y)
    >>> print(f"{model.unfairness_:.4f}")
    0.1000
    """

    def form(self, S: Floats, y: Floats, v: Floats) -> Floats:
        """Return M; the module docstring derives it."""
        codes = _outcomes(y)
        require_ties(len(y), int(codes.max()) + 1)
        return 2.0 * _within_outcomes(S, v, codes)


@dataclass(frozen=True)
class Closeness:
    """d = e^(−|yᵢ − yⱼ|/scale) in O(n log n + nq²): pairs with similar outcomes weigh more.

    Of the kernels of |yᵢ − yⱼ| this one is exact without looking at pairs, by
    sums that decay from row to row. A large scale compares all pairs, a small
    one only those with the same outcome.

    Parameters
    ----------
    scale : float, optional
        Distance at which the weight of a pair has fallen to 1/e; by default the
        standard deviation of y in the rows that are compared.

    See Also
    --------
    IndividualFairness : Takes it.
    SameOutcome : For classes and counts.

    References
    ----------
    .. [1] Berk et al. (2017), A convex framework for fair regression.

    Examples
    --------
    >>> import numpy as np
    >>> from fairridge import FairRidgeRegressor
    >>> rng = np.random.default_rng(0)
    >>> S, X, noise = rng.normal(size=(3, 100, 1))
    >>> y = (S + X + noise)[:, 0]
    >>> from fairridge.fairness import Closeness, IndividualFairness
    >>> model = FairRidgeRegressor(0.1, definition=IndividualFairness(Closeness(scale=0.5)))
    >>> print(f"{model.fit(X, y, sensitive_features=S).unfairness_:.4f}")
    0.1000
    """

    scale: float | None = None

    def __post_init__(self) -> None:
        if self.scale is not None:
            check_number("scale", self.scale, minimum=0.0, strict=True)

    def form(self, S: Floats, y: Floats, v: Floats) -> Floats:
        """Return M; the module docstring derives it."""
        order = np.argsort(y[:, 0])
        g, v, S = y[order, 0], v[order], S[order]
        S -= np.average(S, axis=0, weights=v)
        place = (g - g[0]) / (_deviation(g, v) if self.scale is None else self.scale)
        below = _decayed(place, np.column_stack([v, S * v[:, None]]))
        above = _decayed(-place[::-1], v[::-1, None])[::-1, 0]
        weight = below[:, 0]
        mean = below[:, 1:] / np.where(weight > 0.0, weight, 1.0)[:, None]
        gap = S - mean
        shrunk = v * (weight / (v + weight))
        return 2.0 * (gap * (v * weight + shrunk * above)[:, None]).T @ gap


@dataclass(frozen=True)
class PairwiseDistance:
    """Any other d(yᵢ, yⱼ), in O(n²q) by blocks of rows.

    Parameters
    ----------
    distance : callable
        ``distance(a, b)`` with `a` of shape (k, 1) and `b` of shape (1, n),
        returning distances of shape (k, n).

    See Also
    --------
    AbsoluteDifference : Exact without looking at pairs.
    IndividualFairness : Takes it.

    References
    ----------
    .. [1] Scutari, Panero and Proissl (2022), section 4.3.

    Examples
    --------
    >>> import numpy as np
    >>> from fairridge import FairRidgeRegressor
    >>> rng = np.random.default_rng(0)
    >>> S, X, noise = rng.normal(size=(3, 100, 1))
    >>> y = (S + X + noise)[:, 0]
    >>> from fairridge.fairness import IndividualFairness, PairwiseDistance
    >>> cubes = PairwiseDistance(lambda a, b: abs(a - b) ** 3)
    >>> model = FairRidgeRegressor(0.1, definition=IndividualFairness(cubes))
    >>> print(f"{model.fit(X, y, sensitive_features=S).unfairness_:.4f}")
    0.1000
    """

    distance: Callable[[Any, Any], Any]

    def form(self, S: Floats, y: Floats, v: Floats) -> Floats:
        """Return M = 2 Sᵀ(diag(v∘Dv) − VDV)S."""
        n, q = S.shape
        if n > MAX_PAIRED_ROWS:
            warn_user(
                f"individual fairness with a general distance looks at all {n:,}² pairs of rows; "
                "AbsoluteDifference, SquaredDifference, ClassDifference, SameOutcome and Closeness "
                "do not.",
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


def squared_sums(S: Floats, g: Floats, v: Floats) -> Floats:
    """Return Σv, Σvg², Σvgs, Σvssᵀ and Σvg²ssᵀ in one vector, which adds up over rows."""
    weighted = S * v[:, None]
    second, fourth = weighted.T @ S, (weighted * (g * g)[:, None]).T @ S
    return np.concatenate([[v.sum(), v @ (g * g)], g @ weighted, second.ravel(), fourth.ravel()])


def squared_form(sums: Floats, q: int) -> Floats:
    """Return M = 2W Σg²ssᵀ + 2(Σg²)(Σssᵀ) + 4bbᵀ, b = Σgs, for g and s less their means."""
    total, square, b = sums[0], sums[1], sums[2 : 2 + q]
    second, fourth = sums[2 + q :].reshape(2, q, q)
    return 2.0 * total * fourth + 2.0 * square * second + 4.0 * np.outer(b, b)


def require_ties(n_rows: int, n_outcomes: int) -> None:
    """Refuse responses that are all different."""
    if n_rows == n_outcomes:
        raise ValueError(
            "SameOutcome compares rows with the same outcome, and no two rows have the same y; "
            "use Closeness, which compares rows with similar outcomes."
        )


def _outcomes(y: Floats) -> Integers:
    # Rows of one column sort much faster as numbers.
    values = y[:, 0] if y.shape[1] == 1 else y
    _, codes = np.unique(values, axis=0, return_inverse=True)
    return codes.ravel()


def _within_outcomes(S: Floats, v: Floats, codes: Integers) -> Floats:
    """Σ_c W_c·scatter_c(S)."""
    weight = np.bincount(codes, weights=v)
    S = S - np.average(S, axis=0, weights=v)
    means = np.column_stack([np.bincount(codes, weights=v * column) / weight for column in S.T])
    centered = S - means[codes]
    # Rows that are all alike differ from their mean by its rounding.
    centered[np.abs(centered) <= ROUNDING_OF_MEANS * np.abs(means[codes])] = 0.0
    return (centered * (v * weight[codes])[:, None]).T @ centered


def _deviation(g: Floats, v: Floats) -> float:
    """Return the standard deviation; 1 for a constant, all of whose distances are 0 in any unit."""
    size = float(np.abs(g - g[0]).max())
    if size == 0.0:
        return 1.0
    centered = (g - np.average(g, weights=v)) / size
    return size * float(np.sqrt(np.average(centered**2, weights=v)))


def _decayed(place: Floats, columns: Floats) -> Floats:
    """Return Σ_{i<j} e^(placeᵢ − placeⱼ) columnsᵢ for every row j; places increase."""
    # Sums run from the first place of a span of them, and one span hands its sum to the next, so
    # that no power leaves the range of numbers.
    decayed = np.empty_like(columns)
    carried, first = np.zeros(columns.shape[1]), 0
    while first < len(place):
        stop = int(np.searchsorted(place, place[first] + EXPONENT_SPAN, side="right"))
        power = np.exp(place[first:stop] - place[first])[:, None]
        sums = np.cumsum(np.vstack([carried, columns[first:stop] * power]), axis=0)
        decayed[first:stop] = sums[:-1] / power
        if stop < len(place):
            carried = sums[-1] * np.exp(place[first] - place[stop])
        first = stop
    return decayed
