"""Levels whose rows all have the same outcome, taken out of a model and put back at its end.

Such a level has no finite coefficient of maximum likelihood. Its residual on S is
not zero in other rows, so that a coefficient that costs nothing in its own rows
brings S back into the predictions of all others, unseen by the bound.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial, reduce
from typing import Any

import numpy as np
from scipy.optimize import brentq, root
from scipy.special import log_softmax, logsumexp

from fairridge._arrays import SUM_TOLERANCE
from fairridge._typing import Booleans, Floats, Integers
from fairridge.data import Indicators, Piece, RowLevel, Rows, Slab, SparseSlab
from fairridge.engines import Engine, MemoryEngine, in_memory
from fairridge.families import Family
from fairridge.families.cox_sweep import BaselineHazard
from fairridge.models.basis import FairBasis
from fairridge.models.fit import DevianceOfRows, Fit

# Share of the weight that may leave a model.
MAX_WEIGHT_SHARE = 0.01


@dataclass(frozen=True)
class SeparatedLevel:
    """A level, and the outcome that all of its rows have."""

    level: RowLevel  # the rows
    outcome: int  # code of the class, or 0 for no events


@dataclass(frozen=True)
class Isolation:
    """Rows that a model is fitted without, and how their levels get coefficients."""

    # All rows, those that the model is fitted to, and the few that left.
    all_rows: Engine
    kept: Engine
    rows: MemoryEngine
    levels: tuple[SeparatedLevel, ...]  # in the order in which they were found
    family: Family  # the family of the response

    @cached_property
    def columns(self) -> frozenset[int]:
        """Encoded columns of X that are constant, or collinear, without these levels."""
        return frozenset(k for decided in self.levels for k in decided.level.columns)

    @cached_property
    def counts(self) -> tuple[int, ...]:
        """Rows of each level that no earlier one has."""
        return tuple(int(mine.sum()) for mine, _ in self._memberships)

    @cached_property
    def weight(self) -> float:
        """Weight of the rows that left."""
        return float(self.rows.weights.sum())

    def with_levels(self, fit: Fit) -> Fit:
        """Return the model with finite coefficients for the levels."""
        # A level's coefficient is the one at which its rows have the mean prediction (k + ½)/(m +
        # 1), with k events in m rows; in a model of counts or hazards they expect half an event. Of
        # several classes the others share what is left as they share the rows kept. The columns of
        # these levels are constant among those, and U is centered, so nothing else changes there.
        eta, beta = self._eta(fit), np.atleast_2d(fit.beta).copy()
        # A row counts for the first level it has, and later ones move it, which come first here.
        for decided, (mine, members) in reversed(
            list(zip(self.levels, self._memberships, strict=True))
        ):
            if mine.any():
                weight, level = self.rows.weights[mine], decided.level
                surplus = self._surplus(fit.basis, decided.outcome, weight)
                step = _step(self.family, eta[mine], weight, decided.outcome, surplus)
                eta[members] += step
                beta[:, list(level.columns)] += (2 * level.value - 1) * step[:, None]
        whole = replace(fit, beta=beta.reshape(fit.beta.shape))
        return replace(whole, deviance=self._deviance(whole, eta))

    def on_all_rows(self, fit: Fit) -> Fit:
        """Return a model that has coefficients for the levels on all rows."""
        if fit.features is not None or not self.family.separable:
            return fit.on(self.all_rows)
        return fit.with_rows(self.rows, self.all_rows)

    def null_deviance(self, family: Family) -> float | None:
        """Return the deviance of all rows in the model with an intercept only."""
        # None if that takes more than counts: with an offset, without an intercept, or of rows
        # elsewhere, whose moments tell it.
        all_rows = self.all_rows
        if not in_memory(all_rows) or all_rows.offset is not None or not family.has_intercept:
            return None
        level = all_rows.initial_intercepts(family)  # of the mean response, whatever the link
        center = np.zeros(len(all_rows.names))
        none = np.zeros((len(level), len(center)))
        return float(all_rows.sum_over_rows(DevianceOfRows(family), center, level, none)[0])

    def excess(self, basis: FairBasis, class_weights: Floats) -> Floats:
        """Return by how much totals of the rows that left will exceed those observed there."""
        # They follow from what `with_levels` gives these rows, whatever the model.
        total = np.zeros(len(basis.center_targets))
        for decided, (mine, _) in zip(self.levels, self._memberships, strict=True):
            if mine.any():
                surplus = self._surplus(basis, decided.outcome, self.rows.weights[mine])
                total += class_weights[decided.outcome] * surplus
        return total

    def _surplus(self, basis: FairBasis, outcome: int, weight: Floats) -> Floats:
        """Return by how much expected totals of rows of a level exceed those observed."""
        # By half an event, or by ½m/(m + 1) of m rows, which their own outcome loses.
        means, size = basis.center_targets, float(weight.sum())
        if _has_events(self.family):
            return 0.5 * means if getattr(self.family, "amounts", False) else np.array([0.5])
        if self.family.n_predictors == 1:
            shares = np.array([1.0 - 2.0 * outcome])
        else:
            shares = means / (means.sum() - means[outcome])
            shares[outcome] = -1.0
        return 0.5 * size / (size + 1.0) * shares

    def _deviance(self, fit: Fit, eta: Floats) -> float:
        """Return the deviance of all rows."""
        if not self.family.separable:
            return self.all_rows.derivatives(fit.family, *fit.place, 1).deviance
        rows, contrasts = self.rows, fit.family.to_contrasts(eta.T).T
        terms = fit.family.deviance_terms(rows.response, contrasts, rows.weights, 0)
        return float(fit.deviance + terms.deviance)

    @cached_property
    def _memberships(self) -> tuple[tuple[Booleans, Booleans], ...]:
        """Rows that are a level's first, and all that have it."""
        taken = np.zeros(self.rows.n_rows, dtype=bool)
        memberships = []
        for decided in self.levels:
            members = self.rows.rows.members(decided.level)
            memberships.append((members & ~taken, members))
            taken = taken | members
        return tuple(memberships)

    def _eta(self, fit: Fit) -> Floats:
        basis, rows = fit.basis, self.rows
        raw = np.atleast_2d(basis.raw_coefficients(fit.alpha, fit.beta))
        coefficients = np.column_stack([np.atleast_1d(fit.mean_intercept), raw])
        eta: Floats = rows.centered(basis.center) @ coefficients.T
        if rows.offset is not None:
            eta += rows.offset[:, None]
        if fit.family.reads == "times":  # the hazard until a row leaves is an offset, too
            times, log_hazards = fit.sum_over_rows(
                BaselineHazard(fit.family), sensitive=True, predictors=True, center=True
            )
            steps = np.searchsorted(times, rows.response[:, 0], side="right")
            eta += np.append(-np.inf, log_hazards)[steps, None]
        return eta


def drop_separated(engine: Engine, family: Family) -> Isolation | None:
    """Leave out the levels of predictors that decide the outcome, until none is left."""
    # Without the rows of some levels others may decide it, too. Levels of S stay: the bound is
    # about them.
    counts = all_counts = _look(engine, family)
    total = float(engine.weights.sum()) if in_memory(engine) else engine.moments().weight
    found: tuple[SeparatedLevel, ...] = ()
    while new := _decided(counts, engine.categories):
        found += new
        levels = tuple(decided.level for decided in found)
        if _sum(engine, partial(_weight_in, levels=levels)) > MAX_WEIGHT_SHARE * total:
            return None
        gathered: list[Rows] = _sum(engine, partial(_gather, levels=levels))
        left = MemoryEngine(reduce(Rows.followed_by, gathered), separable=family.separable)
        counts = all_counts - _count(left, family)
    if not found:
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        if not all(np.isfinite(np.square(part).sum()) for part in left.dense_columns()[:2]):
            left.moments()  # raises for numbers that no other sum sees
    # Every class must stay, or some response that is not extreme, such as a count above 0.
    before, after = all_counts[0], counts[0]
    stays = after[0] > 0 or ((before > 0) == (after > 0)).all()
    return Isolation(engine, engine.outside(levels), left, found, family) if stays else None


def separated_levels(engine: Engine, family: Family) -> tuple[SeparatedLevel, ...]:
    """Return the levels of predictors all of whose rows have the same outcome."""
    return _decided(_look(engine, family), engine.categories)


def _has_events(family: Family) -> bool:
    """Whether responses are events or amounts, so that none at all is the outcome that decides."""
    return family.reads == "times" or family.link == "log"


def _outcomes(family: Family, y: Floats) -> tuple[Integers, int]:
    """Return outcomes from 1, with 0 for those that decide nothing; and how many that makes."""
    if _has_events(family):
        return (y[:, -1] == 0.0).astype(np.intp), 2
    size, values = family.n_predictors + 1, y[:, 0]
    codes = values.astype(np.intp)
    return np.where((codes == values) & (codes >= 0) & (codes < size), codes + 1, 0), size + 1


def _sum(engine: Engine, function: Callable[[MemoryEngine], Any]) -> Any:
    """Return a function of all rows; in memory that costs little beside a pass."""
    return function(engine) if in_memory(engine) else engine.sum_of(function)


def _look(engine: Engine, family: Family) -> Floats:
    """Count the rows of every level by outcome, or say that moments show two for each."""
    if in_memory(engine) or _may_be_decided(engine, family):
        return np.asarray(_sum(engine, partial(_count, family=family)))
    return np.full((1 + len(engine.names) - engine.n_sensitive, 2), np.nan)


def _count(engine: MemoryEngine, family: Family) -> Floats:
    """Count by outcome all rows, then those in which a column of X is 1, of shape (1 + p, size)."""
    # Columns that have other numbers than 0 and 1 have NaN.
    outcomes, size = _outcomes(family, engine.response)
    parts = [_count_ones(piece, outcomes, size) for piece in engine.coded_predictors]
    return np.vstack([np.bincount(outcomes, minlength=size), *parts]).astype(np.float64)


def _count_ones(piece: Piece, outcomes: Integers, size: int) -> Any:
    if isinstance(piece, Indicators):
        cells = (piece.codes.astype(np.intp, copy=False) + 1) * size + outcomes
        return np.bincount(cells, minlength=(piece.width + 1) * size).reshape(-1, size)[1:]
    counts = np.full((piece.width, size), np.nan)
    if isinstance(piece, SparseSlab):
        numbers = piece.values
        is_binary = (numbers.data == 0) | (numbers.data == 1)
        with np.errstate(over="ignore", invalid="ignore"):
            counts = ((np.arange(size)[:, None] == outcomes).astype(np.float64) @ numbers).T
        counts[numbers.indices[~is_binary]] = np.nan
    return counts


def _by_value(counts: Floats, categories: Sequence[range]) -> Floats:
    """Return the rows in which a column of X is 0, or 1, of shape (p, 2, size)."""
    # With the first column of a categorical 0 stands for the base level, and with others for
    # nothing.
    everyone, ones = counts[0], counts[1:]
    zeros = everyone - ones
    for columns in filter(len, categories):  # merged levels may leave none
        zeros[columns] = 0.0
        zeros[columns[0]] = everyone - ones[columns].sum(axis=0)
    return np.stack([zeros, ones], axis=1)


def _decided(counts: Floats, categories: Sequence[range]) -> tuple[SeparatedLevel, ...]:
    """Return decided levels of categoricals, own columns first, then values of 0/1 columns."""
    seen = _by_value(counts, categories) != 0.0
    base_levels = {columns[0]: tuple(columns) for columns in categories if columns}
    coded = {j for columns in categories for j in columns}
    decided = np.argwhere(~seen[..., 0] & (seen.sum(axis=-1) == 1)).tolist()
    decided.sort(key=lambda one: (1 - one[1], one[0]) if one[0] in coded else (2, one[0], -one[1]))
    return tuple(
        SeparatedLevel(
            RowLevel((j,) if value else base_levels.get(j, (j,)), value),
            int(np.argmax(seen[j, value])) - 1,
        )
        for j, value in decided
    )


def _may_be_decided(engine: Engine, family: Family) -> bool:
    """Whether means of columns, and of products with y, allow for a level with one outcome."""
    moments, q, k = engine.moments(), engine.n_sensitive, len(engine.names)
    mean, y = moments.mean[q:k], moments.mean[k:]
    ones = np.column_stack([mean, moments.scatter[q:k, k:] / moments.weight + np.outer(mean, y)])
    binary = moments.binary[q:k]
    for columns in engine.categories:
        binary[columns] = True
    ones[~binary] = np.nan
    rows = _by_value(np.vstack([np.append(1.0, y), ones]), engine.categories)
    shares, products = rows[..., 0], rows[..., 1:]
    if family.reads == "times":  # the moments have no events
        decided = np.ones_like(shares, dtype=bool)
    elif family.link == "log":
        # What may be rounding seems decided: rows are looked at.
        decided = products[..., 0] <= SUM_TOLERANCE * y[0]
    else:  # what rows have of outcomes but one, for each; of two outcomes y is the second
        others = np.concatenate(
            [shares[..., None] - products, products[..., : len(y) == 1]], axis=-1
        )
        decided = others.min(axis=-1) <= SUM_TOLERANCE * (shares + 1e-4)
    return bool((decided & (shares > 0.0)).any())


def _weight_in(engine: MemoryEngine, levels: tuple[RowLevel, ...]) -> float:
    return float(engine.weights[engine.rows.in_any(levels)].sum())


def _gather(engine: MemoryEngine, levels: tuple[RowLevel, ...]) -> list[Rows]:
    """Return the rows of some levels, written out, in a list, since lists add."""
    rows = engine.rows.take(np.flatnonzero(engine.rows.in_any(levels)))
    S, X, _, _ = MemoryEngine(rows).dense_columns()
    return [rows.with_columns((Slab(S),), (Slab(X),), rows.names)]


def _step(family: Any, eta: Floats, weight: Floats, outcome: int, totals: Floats) -> Floats:
    """Return the step of η after which rows of one outcome have given totals of the others."""
    if family.n_predictors > 1:
        return _step_of_classes(eta, weight, outcome, totals)

    def mean(eta: Floats) -> Any:
        if _has_events(family):
            return np.exp(eta)
        return family.probabilities(eta[:, None])[:, 1 - outcome]

    return np.array([_step_to(mean, eta[:, 0], weight, abs(float(totals[0])))])


def _step_of_classes(eta: Floats, weight: Floats, outcome: int, totals: Floats) -> Floats:
    others = np.delete(np.arange(eta.shape[1]), outcome)
    log_odds, log_totals = eta[:, others] - eta[:, [outcome]], np.log(totals[others])
    log_weight = np.log(weight)[:, None]

    def excess(step: Floats) -> Floats:
        scores = np.insert(log_odds + step, 0, 0.0, axis=1)
        log_means = log_softmax(scores, axis=1)[:, 1:]
        return np.asarray(logsumexp(log_means + log_weight, axis=0) - log_totals)

    # At the start no row has more than the mean. From there the logarithms are nearly linear.
    start = log_totals - np.log(weight.sum()) - log_odds.max(axis=0)
    found = root(excess, start, tol=1e-12).x
    step = np.insert(found, outcome, 0.0)
    return step - step.mean()


def _step_to(mean: Callable[[Floats], Floats], eta: Floats, weight: Floats, total: float) -> float:
    """Return the step of η after which rows have a total: Σ w μ(η + step)."""
    expects = np.isfinite(eta)  # rows that leave before the first event expect none
    if not expects.any():
        return 0.0
    eta, weight = eta[expects], weight[expects]
    tiny = sys.float_info.min

    def excess(step: float) -> float:
        return math.log(max(float(weight @ mean(eta + step)), tiny) / total)

    # Under every link |η| is at most this where a row has the mean of all.
    reach = 1.0 + abs(math.log(total / weight.sum()))
    with np.errstate(over="ignore"):
        ends = -eta.max() - reach, reach - eta.min()
        return float(brentq(excess, *ends))
