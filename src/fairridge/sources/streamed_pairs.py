"""Quadratic forms over pairs of rows that are not in memory.

M of `pairwise` needs differences between all responses, and a stream shows
each row once. Classes and squared differences are sums anyway. For
d = |g(yᵢ) − g(yⱼ)| the responses are cut into K groups of neighboring values:

- Between groups the sign of gᵢ − gⱼ is known, so that pairs of different
  groups enter exactly, through Σv, Σvg, Σvs, Σvgs, Σvssᵀ and Σvgssᵀ of each.
- Within group b of width h_b = max g − min g distances lie in [0, h_b]. They
  are taken as h_b/3, the mean of an even spread, so the error of M is at most

      E = Σ_b ⅔h_b · 2(W_b Σvssᵀ − ΣvsΣvsᵀ),

  which the same sums give. Groups of equal weight make it of order K⁻².

The cuts are quantiles of a sample of rows: those with the smallest random
keys. Such samples merge exactly, whatever the order, and by the inequality of
Dvoretzky, Kiefer and Wolfowitz (Massart 1990) the rank of a cut is off by more
than 0.7 % with probability of at most 0.004. Cuts decide about E, never about
whether it holds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from fairridge._typing import Floats, Integers
from fairridge._warnings import warn_user
from fairridge.data import Rows, dense_columns
from fairridge.engines import Moments
from fairridge.engines.samples import BATCH_BYTES
from fairridge.exceptions import DataWarning
from fairridge.families.distances import (
    AbsoluteDifference,
    ChangedColumns,
    ClassDifference,
    Distance,
    SameOutcome,
    SquaredDifference,
    Vectorized,
    require_ties,
    squared_form,
    squared_sums,
)
from fairridge.sources.batch import merged, row_keys
from fairridge.sources.encoder import BatchEncoder, EncodedBatch
from fairridge.sources.level_counts import MAX_COUNTED_LEVELS

SumOverRows = Callable[[Callable[[EncodedBatch], Any], BatchEncoder], Any]

# Responses from which groups are made, and the largest count of these.
RESPONSE_SAMPLE_ROWS = 1 << 16
MAX_RESPONSE_GROUPS = 4096


def streamed_form(
    distance: Distance,
    encode: BatchEncoder,
    sum_over: SumOverRows,
    columns: ChangedColumns,
    mean: float,
) -> Floats:
    """Return M with cᵀMc = Σᵢⱼ vᵢvⱼ d(yᵢ, yⱼ)(zᵢc − zⱼc)² for columns z made of S."""
    width = columns.change.shape[1]
    if isinstance(distance, ClassDifference | SameOutcome):
        classes: _ByClass = sum_over(partial(_by_class, columns=columns), encode)
        return classes.form(same=isinstance(distance, SameOutcome))
    if isinstance(distance, SquaredDifference):
        return squared_form(sum_over(partial(_squares, columns=columns, mean=mean), encode), width)
    if isinstance(distance, AbsoluteDifference):
        transform, response = distance.transform, encode.only(sensitive=False)
        sample: _ResponseSample = sum_over(partial(_sample, transform=transform), response)
        cuts = sample.cuts(
            int(np.clip(BATCH_BYTES // (8 * width * width), 64, MAX_RESPONSE_GROUPS))
        )
        group = partial(_grouped, transform=transform, columns=columns, cuts=cuts)
        groups: _GroupSums = sum_over(group, encode)
        error = groups.error
        if error > 1e-12:
            warn_user(
                "individual fairness of rows that are not in memory is computed from "
                f"{len(cuts) + 1:,} groups of responses: differences of treatment are off by a "
                f"share of {error:.1e} at most.",
                DataWarning,
            )
        return groups.form
    raise ValueError(
        f"individual fairness with {type(distance).__name__} looks at pairs of rows, which are "
        "not in memory here; use AbsoluteDifference, SquaredDifference, ClassDifference or "
        "SameOutcome."
    )


def _squares(placed: EncodedBatch, columns: ChangedColumns, mean: float) -> Floats:
    S, v = _changed(placed.rows, columns)
    return squared_sums(S, placed.rows.response[:, 0] - mean, v)


def _changed(rows: Rows, columns: ChangedColumns) -> tuple[Floats, Floats]:
    """Return the columns z, and the weights."""
    S = dense_columns(rows.sensitive, rows.names[: rows.n_sensitive])
    return columns.of(S), _weights(rows)


def _weights(rows: Rows) -> Floats:
    return np.ones(rows.n_rows) if rows.weight is None else rows.weight


# ------------------------------------------------------------------- classes


@dataclass(frozen=True)
class _ByClass:
    """Moments of S within each class of the response."""

    moments: dict[tuple[float, ...], Moments]

    def __add__(self, other: _ByClass) -> _ByClass:
        return _ByClass(_few(merged(self.moments, other.moments)))

    def form(self, *, same: bool) -> Floats:
        """2Σ_c W_c·scatter_c(S); of pairs that differ 2W·scatter(S) less that."""
        parts = [self.moments[key] for key in sorted(self.moments)]
        within = np.sum([part.weight * part.scatter for part in parts], axis=0)
        if same:
            require_ties(sum(part.n_rows for part in parts), len(parts))
            return 2.0 * within
        total = sum(parts[1:], start=parts[0])
        return 2.0 * (total.weight * total.scatter - within)


def _by_class(placed: EncodedBatch, columns: ChangedColumns) -> _ByClass:
    S, v = _changed(placed.rows, columns)
    values, codes = np.unique(placed.rows.response, axis=0, return_inverse=True)
    chosen = [codes.ravel() == code for code in range(len(values))]
    sums = {
        tuple(value.tolist()): _moments(S[rows], v[rows])
        for value, rows in zip(values, chosen, strict=True)
    }
    return _ByClass(_few(sums))


def _moments(S: Floats, v: Floats) -> Moments:
    mean = np.average(S, axis=0, weights=v)
    centered = S - mean
    return Moments(len(S), float(v.sum()), mean, (centered * v[:, None]).T @ centered)


def _few(by_class: dict[Any, Any]) -> dict[Any, Any]:
    if len(by_class) > MAX_COUNTED_LEVELS:
        raise ValueError(
            f"individual fairness by class found more than {MAX_COUNTED_LEVELS:,} different "
            "responses; use distance 'absolute' or 'squared' for numbers."
        )
    return by_class


# ------------------------------------------------------ absolute differences


def _values(rows: Rows, transform: Vectorized | None) -> Floats:
    y = rows.response[:, 0]
    return y if transform is None else np.asarray(transform(y), dtype=np.float64)


@dataclass(frozen=True)
class _ResponseSample:
    """Responses and weights of the rows with the smallest keys."""

    keys: NDArray[np.uint64]
    values: Floats
    weights: Floats

    def __add__(self, other: _ResponseSample) -> _ResponseSample:
        return _ResponseSample(
            np.concatenate([self.keys, other.keys]),
            np.concatenate([self.values, other.values]),
            np.concatenate([self.weights, other.weights]),
        ).smallest()

    def smallest(self) -> _ResponseSample:
        """Keep at most `RESPONSE_SAMPLE_ROWS` rows."""
        if len(self.keys) <= RESPONSE_SAMPLE_ROWS:
            return self
        kept = np.argpartition(self.keys, RESPONSE_SAMPLE_ROWS)[:RESPONSE_SAMPLE_ROWS]
        return _ResponseSample(self.keys[kept], self.values[kept], self.weights[kept])

    def cuts(self, n_groups: int) -> Floats:
        """Return increasing cuts between groups: between all values if they are few."""
        values, inverse = np.unique(self.values, return_inverse=True)
        middles = values[:-1] + 0.5 * np.diff(values)
        if len(values) <= n_groups:
            return middles
        weight = np.bincount(inverse, weights=self.weights)
        # A value of large weight ends up alone: cuts before and after it.
        group = np.floor((np.cumsum(weight) - 0.5 * weight) / weight.sum() * n_groups)
        heavy = weight > weight.sum() / n_groups
        ends = (np.diff(group) > 0) | heavy[1:] | heavy[:-1]
        return middles[ends]


def _sample(placed: EncodedBatch, transform: Vectorized | None) -> _ResponseSample:
    keys = row_keys(0, placed.part, placed.positions)
    return _ResponseSample(keys, _values(placed.rows, transform), _weights(placed.rows)).smallest()


@dataclass(frozen=True)
class _GroupSums:
    """Sums within groups of neighboring responses."""

    # Smallest and largest g; ∞ and −∞ in empty groups, of shape (K,).
    low: Floats
    high: Floats
    sums: Floats  # Σv(1, g) × (1, s, ssᵀ), of shape (K, 2, 1 + q + q²)

    def __add__(self, other: _GroupSums) -> _GroupSums:
        return _GroupSums(
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
            self.sums + other.sums,
        )

    def _split(self, sums: Floats) -> tuple[Floats, Floats, Floats]:
        q = int(np.sqrt(sums.shape[-1]))
        return (
            sums[..., 0],
            sums[..., 1 : 1 + q],
            sums[..., 1 + q :].reshape(*sums.shape[:-1], q, q),
        )

    @cached_property
    def _within(self) -> Floats:
        """h_b times the scatter of all pairs within group b, for every group."""
        weight, first, second = self._split(self.sums[:, 0])
        pairs = 2.0 * (weight[:, None, None] * second - first[:, :, None] * first[:, None, :])
        width = np.where(weight > 0, self.high - self.low, 0.0)
        return np.einsum("k,kij->ij", width, pairs)

    @property
    def form(self) -> Floats:
        """Return M: exact between groups, a third of their width within them."""
        # Sums over the groups below.
        below = np.cumsum(self.sums, axis=0) - self.sums
        W, m, A = self._split(self.sums[:, 0])
        G, P, C = self._split(self.sums[:, 1])
        WL, mL, AL = self._split(below[:, 0])
        GL, PL, CL = self._split(below[:, 1])
        # Σ over i below and j in a group of (gⱼ − gᵢ)(sᵢ − sⱼ)(sᵢ − sⱼ)ᵀ.
        cross = np.einsum("ki,kj->ij", mL, P) - np.einsum("ki,kj->ij", m, PL)
        between = (
            np.einsum("k,kij->ij", G, AL)
            + np.einsum("k,kij->ij", WL, C)
            - np.einsum("k,kij->ij", W, CL)
            - np.einsum("k,kij->ij", GL, A)
            - cross
            - cross.T
        )
        return 2.0 * between + self._within / 3.0

    @property
    def error(self) -> float:
        """Return the largest relative error of αᵀMα, over all α."""
        M, E = self.form, 2.0 / 3.0 * self._within
        scale = np.sqrt(np.maximum(np.diag(M), 0.0))
        scale = np.where(scale > 0.0, scale, 1.0)
        values, vectors = scipy.linalg.eigh(M / np.outer(scale, scale))
        kept = values > 1e-10 * max(float(values[-1]), 0.0)
        root = vectors[:, kept] / np.sqrt(values[kept]) / scale[:, None]
        return float(np.linalg.eigvalsh(root.T @ E @ root).max(initial=0.0))


def _grouped(
    placed: EncodedBatch, transform: Vectorized | None, columns: ChangedColumns, cuts: Floats
) -> _GroupSums:
    S, v = _changed(placed.rows, columns)
    g = _values(placed.rows, transform)
    # A common origin costs nothing in differences, and saves digits.
    origin = cuts[len(cuts) // 2] if len(cuts) else 0.0
    groups = np.searchsorted(cuts, g)
    order = np.argsort(groups, kind="stable")
    return _grouped_sums(groups[order], g[order] - origin, S[order], v[order], len(cuts))


def _grouped_sums(groups: Integers, g: Floats, S: Floats, v: Floats, n_cuts: int) -> _GroupSums:
    """Sum over rows that are sorted by group, some at a time."""
    q = S.shape[1]
    low, high = np.full(n_cuts + 1, np.inf), np.full(n_cuts + 1, -np.inf)
    sums = np.zeros((n_cuts + 1, 2, 1 + q + q * q))
    step = max(1, (1 << 20) // (1 + q + q * q))
    for start in range(0, len(g), step):
        rows = slice(start, start + step)
        present, first = np.unique(groups[rows], return_index=True)
        low[present] = np.minimum(low[present], np.minimum.reduceat(g[rows], first))
        high[present] = np.maximum(high[present], np.maximum.reduceat(g[rows], first))
        outer = (S[rows, :, None] * S[rows, None, :]).reshape(-1, q * q)
        columns = np.column_stack([v[rows], S[rows] * v[rows, None], outer * v[rows, None]])
        sums[present, 0] += np.add.reduceat(columns, first, axis=0)
        sums[present, 1] += np.add.reduceat(columns * g[rows, None], first, axis=0)
    return _GroupSums(low, high, sums)
