"""Levels whose rows all have the same outcome, taken out of a model and put back at its end.

Such a level has no finite coefficient of maximum likelihood. Its residual on S is
not zero in other rows, so that a coefficient that costs nothing in its own rows
brings S back into the predictions of all others, unseen by the bound.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import logsumexp, softmax

from fairridge._typing import Booleans, Floats, Integers
from fairridge.data import Indicators, RowLevel, Rows, Slab, SparseSlab
from fairridge.engines import Engine, MemoryEngine, in_memory
from fairridge.engines.blocks import block_slices
from fairridge.families import Family
from fairridge.families.cox_sweep import BaselineHazard
from fairridge.models.basis import FairBasis
from fairridge.models.fit import DevianceOfRows, Fit

# Share of the weight that may leave a model.
MAX_WEIGHT_SHARE = 0.01
# Share of a sum that may be rounding: levels that seem decided by it are counted.
SUM_TOLERANCE = 1e-9
# Rows of every outcome that are looked at first: two outcomes among them clear a level.
SAMPLED_ROWS = 512


@dataclass(frozen=True)
class SeparatedLevel:
    """A level, and the outcome that all of its rows have."""

    level: RowLevel  # the rows
    outcome: int  # code of the class, or 0 for no events


@dataclass(frozen=True)
class Isolation:
    """Rows that a model is fitted without, and how their levels get coefficients."""

    # All rows, and those that the model is fitted to.
    all_rows: Engine
    kept: Engine
    levels: tuple[SeparatedLevel, ...]  # in the order in which they were found
    family: Family  # the family of the response
    # Whether few rows leave, and every outcome stays. If not, all rows are kept.
    is_small: bool

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
        return float(self._rows.weights.sum())

    def with_levels(self, fit: Fit) -> Fit:
        """Return the model with finite coefficients for the levels.

        A level's coefficient is the one at which its rows have the mean
        prediction (k + ½)/(m + 1), with k events in m rows; in a model of
        counts or hazards they expect half an event. Of several classes the others
        share what is left as they share the rows kept. The columns of these
        levels are constant among those, and U is centered, so nothing else
        changes there.
        """
        eta, beta = self._eta(fit), np.atleast_2d(fit.beta).copy()
        step_of = self._solver(fit)
        # A row counts for the first level it has, and later ones move it, which come first here.
        for decided, (mine, members) in reversed(
            list(zip(self.levels, self._memberships, strict=True))
        ):
            if mine.any():
                step, level = step_of(eta[mine], mine, decided.outcome), decided.level
                eta[members] += step
                beta[:, list(level.columns)] += (2 * level.value - 1) * step[:, None]
        whole = replace(fit, beta=beta.reshape(fit.beta.shape))
        return replace(whole, deviance=self._deviance(whole, eta))

    def on_all_rows(self, fit: Fit) -> Fit:
        """Return a model that has coefficients for the levels on all rows."""
        if fit.features is not None or not self.family.separable:
            return fit.on(self.all_rows)
        return fit.with_rows(self._rows, self.all_rows)

    def null_deviance(self, family: Family) -> float | None:
        """Return the deviance of all rows in the model with an intercept only.

        None if that takes more than counts: with an offset, without an intercept, or of rows
        elsewhere, whose moments tell it.
        """
        all_rows = self.all_rows
        if not in_memory(all_rows) or all_rows.offset is not None or not family.has_intercept:
            return None
        level = all_rows.initial_intercepts(family)  # of the mean response, whatever the link
        center = np.zeros(len(all_rows.names))
        none = np.zeros((len(level), len(center)))
        return float(all_rows.sum_over_rows(DevianceOfRows(family), center, level, none)[0])

    def excess(self, basis: FairBasis, class_weights: Floats) -> Floats:
        """Return by how much totals of the rows that left will exceed those observed there.

        They follow from what `with_levels` gives these rows, whatever the model.

        Parameters
        ----------
        basis : FairBasis
            Of the rows kept.
        class_weights : ndarray
            Weights of rows of each class in totals.
        """
        several, means = self.family.n_predictors > 1, basis.center_targets
        total = np.zeros(len(means))
        for decided, (mine, _) in zip(self.levels, self._memberships, strict=True):
            if not mine.any():
                continue
            if self.family.link == "log":
                total += 0.5 * _unit(self.family, basis)
                continue
            size, outcome = float(self._rows.weights[mine].sum()), decided.outcome
            rest = 0.5 * size / (size + 1.0) * float(class_weights[outcome])
            others = _others(means, outcome) if several else np.array([1.0 - 2.0 * outcome])
            total += rest * others
        return total

    def _deviance(self, fit: Fit, eta: Floats) -> float:
        """Return the deviance of all rows."""
        if not self.family.separable:
            return self.all_rows.derivatives(fit.family, *fit.place, 1).deviance
        rows, contrasts = self._rows, fit.family.to_contrasts(eta.T).T
        terms = fit.family.deviance_terms(rows.response, contrasts, rows.weights, 0)
        return float(fit.deviance + terms.deviance)

    @cached_property
    def _rows(self) -> MemoryEngine:
        """The rows that left; they are few."""
        levels = tuple(decided.level for decided in self.levels)
        gathered: _Gathered = self.all_rows.sum_of(partial(_gather, levels=levels))
        return MemoryEngine(gathered.rows, separable=self.family.separable)

    @cached_property
    def _memberships(self) -> tuple[tuple[Booleans, Booleans], ...]:
        """Rows that are a level's first, and all that have it."""
        taken = np.zeros(self._rows.n_rows, dtype=bool)
        memberships = []
        for decided in self.levels:
            members = self._rows.rows.members(decided.level)
            memberships.append((members & ~taken, members))
            taken = taken | members
        return tuple(memberships)

    def _eta(self, fit: Fit) -> Floats:
        basis, rows = fit.basis, self._rows
        raw = np.atleast_2d(basis.raw_coefficients(fit.alpha, fit.beta))
        coefficients = np.column_stack([np.atleast_1d(fit.mean_intercept), raw])
        eta: Floats = rows.centered(basis.center) @ coefficients.T
        return eta if rows.offset is None else eta + rows.offset[:, None]

    def _solver(self, fit: Fit) -> Callable[[Floats, Booleans, int], Floats]:
        """Return a function from rows of one level to the step of their linear predictors."""
        family, rows = fit.family, self._rows
        if family.reads == "times":
            times, hazards = fit.sum_over_rows(
                BaselineHazard(family), sensitive=True, predictors=True, center=True
            )
            steps = np.searchsorted(times, rows.response[:, 0], side="right")
            log_hazard = np.append(-np.inf, hazards)[steps]
            return lambda eta, mine, _: _to_half_event(
                eta[:, 0] + log_hazard[mine], rows.weights[mine], 1.0
            )
        if family.link == "log":
            unit = _unit(family, fit.basis)
            return lambda eta, mine, _: _to_half_event(eta[:, 0], rows.weights[mine], unit)
        means = fit.basis.center_targets

        def to_likely(eta: Floats, mine: Booleans, outcome: int) -> Floats:
            step = _to_likely(family, eta, rows.weights[mine], outcome)
            if len(step) == 1:
                return step
            return _shared(eta, rows.weights[mine], outcome, _others(means, outcome), step)

        return to_likely


def drop_separated(engine: Engine, family: Family) -> Isolation | None:
    """Find the levels of predictors that decide the outcome, until none is left.

    Without the rows of some levels others may decide it, too. Levels of S stay:
    the bound is about them.

    Parameters
    ----------
    engine : Engine
        Where the rows are.
    family : Family
        The family of the response.

    Returns
    -------
    Isolation or None
        None if there are no such levels.
    """
    isolated: tuple[SeparatedLevel, ...] = ()
    kept, removed = engine, 0.0
    total = float(engine.weights.sum()) if in_memory(engine) else engine.moments().weight
    while new := separated_levels(kept, family):
        isolated += new
        levels = tuple(decided.level for decided in new)
        removed += kept.sum_of(partial(_weight_in, levels=levels))
        if removed > MAX_WEIGHT_SHARE * total:
            return Isolation(engine, engine, isolated, family, is_small=False)
        if in_memory(kept):
            _require_numbers(kept.rows.take(np.flatnonzero(kept.rows.in_any(levels))))
        kept = kept.outside(levels)
    if not isolated:
        return None
    before, after = (_tally(rows, family, ())[-1] > 0.0 for rows in (engine, kept))
    # Every class must stay, or some response that is not extreme, such as a count above 0.
    stays = after[0] or (before == after).all()
    return Isolation(engine, kept, isolated, family, is_small=bool(stays))


def _require_numbers(rows: Rows) -> None:
    """Raise if rows that leave, which no other sum sees, have numbers that cannot be squared."""
    with np.errstate(over="ignore", invalid="ignore"):
        usual = all(
            isinstance(piece, Indicators)
            or (isinstance(piece, Slab) and np.isfinite(np.square(piece.values, dtype=float).sum()))
            for piece in rows.columns
        )
    if not usual:
        MemoryEngine(rows).moments()


def separated_levels(engine: Engine, family: Family) -> tuple[SeparatedLevel, ...]:
    """Return the levels whose rows all have one outcome."""
    if in_memory(engine):
        return _counted_in_memory(engine, family)
    levels = _candidates(engine, family)
    if not levels:
        return ()
    *counts, all_rows = _tally(engine, family, levels)
    sizes = {level: count.sum() for level, count in zip(levels, counts, strict=True)}
    decided = []
    for level, count in zip(levels, counts, strict=True):
        other = sizes.get(replace(level, value=1 - level.value))
        # A column of numbers may have values besides 0 and 1 that its moments do not show.
        whole = len(level.columns) > 1 or other is None or count.sum() + other == all_rows.sum()
        if whole and _is_decided(count):
            decided.append(SeparatedLevel(level, int(np.argmax(count)) - 1))
    return tuple(decided)


def _is_decided(counts: Floats | Integers) -> Any:
    """Whether rows, counted by outcome with -1 first, all have one outcome other than -1."""
    return (counts[..., 0] == 0) & (np.count_nonzero(counts, axis=-1) == 1)


# ------------------------------------------------------------------------- rows in memory


def _counted_in_memory(engine: MemoryEngine, family: Family) -> tuple[SeparatedLevel, ...]:
    """Return decided levels of categoricals, own columns first, then values of 0/1 columns.

    To count takes less time than to sum moments, which rows that leave then never need.
    """
    outcomes, size = _outcomes(family, engine.response)
    sample = _sample_by_outcome(outcomes, size)
    coded: list[SeparatedLevel] = []
    binary: list[SeparatedLevel] = []
    start = 0
    for piece in engine.rows.predictors:
        if isinstance(piece, Indicators):
            coded += _decided_categories(piece, start, outcomes, size)
        else:
            suspects = _suspects(piece, sample, outcomes, size)
            binary += _decided_columns(piece, start, suspects, outcomes, size)
        start += piece.width
    return (*sorted(coded, key=lambda decided: -decided.level.value), *binary)


def _decided_categories(
    piece: Indicators, start: int, outcomes: Integers, size: int
) -> list[SeparatedLevel]:
    """Return the decided levels of one categorical, whose columns begin at `start`."""
    # Code -1 and outcome -1 come first.
    cells = piece.codes.astype(np.intp, copy=False) * (size + 1) + (outcomes + size + 2)
    counts = np.bincount(cells, minlength=(piece.width + 1) * (size + 1)).reshape(-1, size + 1)
    columns = range(start, start + piece.width)
    levels = (RowLevel(tuple(columns), 0), *(RowLevel((j,), 1) for j in columns))
    return [
        SeparatedLevel(levels[k], int(np.argmax(counts[k])) - 1)
        for k in np.flatnonzero(_is_decided(counts))
    ]


def _sample_by_outcome(outcomes: Integers, size: int) -> Integers:
    """Return positions of some rows of every outcome, spread over all that have it."""
    samples = []
    for code in range(-1, size):
        rows = np.flatnonzero(outcomes == code)
        spread = np.linspace(0, len(rows) - 1, min(len(rows), SAMPLED_ROWS))
        samples.append(rows[spread.astype(np.intp)])
    return np.concatenate(samples)


def _indicators(outcomes: Integers, size: int) -> Floats:
    """Return 0/1 rows of every outcome, -1 first, of shape (size + 1, n)."""
    return (np.arange(-1, size)[:, None] == outcomes).astype(np.float64)


def _suspects(piece: Slab | SparseSlab, sample: Integers, outcomes: Integers, size: int) -> Any:
    """Return columns that are 0 or 1 in some rows, where one of the values has one outcome.

    That excludes numbers, and most of the others, before all rows are looked at.
    """
    some = piece.take(sample)
    values = some.values if isinstance(some, Slab) else some.dense()
    by_outcome = _indicators(outcomes[sample], size)
    ones, zeros = values == 1, values == 0
    mixed = [np.count_nonzero(by_outcome @ each, axis=0) > 1 for each in (ones, zeros)]
    return np.flatnonzero((ones | zeros).all(axis=0) & ~(mixed[0] & mixed[1]))


def _decided_columns(
    piece: Slab | SparseSlab, start: int, suspects: Any, outcomes: Integers, size: int
) -> list[SeparatedLevel]:
    """Return the decided values of 0/1 columns, which begin at `start`, among those suspected."""
    if not len(suspects):
        return []
    # Sums of 0/1 columns over the rows of an outcome count them, without rounding.
    ones = np.zeros((size + 1, len(suspects)))
    with np.errstate(over="ignore", invalid="ignore"):
        for rows in block_slices(len(outcomes), len(suspects)):
            ones += _indicators(outcomes[rows], size) @ piece.values[rows][:, suspects]
    all_rows = np.bincount(outcomes + 1, minlength=size + 1)
    counts = np.stack([all_rows - ones.T, ones.T], axis=1)
    found = []
    for k in np.flatnonzero(_is_decided(counts).any(axis=1)):
        part = piece.columns(suspects[k], suspects[k] + 1)
        values = part.values if isinstance(part, Slab) else part.dense()
        if ((values == 0) | (values == 1)).all():  # other numbers may have such sums, too
            column = (start + int(suspects[k]),)
            found += [
                SeparatedLevel(RowLevel(column, value), int(np.argmax(counts[k, value])) - 1)
                for value in (1, 0)
                if _is_decided(counts[k, value])
            ]
    return found


# ------------------------------------------------------------------------ rows elsewhere


def _candidates(engine: Engine, family: Family) -> tuple[RowLevel, ...]:
    """Return levels that may be decided, as far as the moments of [S, X, y] show."""
    coded = {j for columns in engine.categories for j in columns}
    levels = [RowLevel((j,), 1) for j in sorted(coded)]
    levels += [RowLevel(tuple(columns), 0) for columns in engine.categories]
    moments, q, k = engine.moments(), engine.n_sensitive, len(engine.names)
    mean, y = moments.mean[q:k], moments.mean[k:]
    joint = moments.scatter[q:k, k:] / moments.weight + np.outer(mean, y)
    possible = partial(_may_be_decided, family=family, mean=mean, joint=joint, y=y)
    candidates = [level for level in levels if possible(level)]
    for j in sorted(set(np.flatnonzero(moments.binary[q:k]).tolist()) - coded):
        both = (RowLevel((j,), 1), RowLevel((j,), 0))
        if any(map(possible, both)):
            candidates += both  # counted together, they show whether there is a third value
    return tuple(candidates)


def _may_be_decided(
    level: RowLevel, *, family: Family, mean: Floats, joint: Floats, y: Floats
) -> bool:
    """Whether means of a level's column, and of its products with y, allow for one outcome."""
    columns = list(level.columns)
    share, products = mean[columns].sum(), joint[columns].sum(axis=0)
    if level.value == 0:
        share, products = 1.0 - share, y - products
    if family.reads == "times":  # the moments have no events
        return bool(share > 0.0)
    if family.link == "log":
        return bool(share > 0.0 and products[0] <= SUM_TOLERANCE * y[0])
    others = np.append(share - products, products if len(y) == 1 else [])
    return bool(share > 0.0 and others.min() <= SUM_TOLERANCE * (share + 1e-4))


def _outcomes(family: Family, y: Floats) -> tuple[Integers, int]:
    """Return codes of outcomes that may decide a level, -1 for others; and how many there are."""
    if family.reads == "times":
        return np.where(y[:, 1] == 0.0, 0, -1), 1
    if family.link == "log":
        return np.where(y[:, 0] == 0.0, 0, -1), 1
    size, values = family.n_predictors + 1, y[:, 0]
    codes = values.astype(np.intp)
    return np.where((codes == values) & (codes >= 0) & (codes < size), codes, -1), size


def _tally(engine: Engine, family: Family, levels: tuple[RowLevel, ...]) -> Floats:
    """Count rows by outcome, -1 first, in every level and at last in all rows."""
    counts: Floats = engine.sum_of(partial(_counted, family=family, levels=levels))
    return counts


def _counted(engine: MemoryEngine, family: Family, levels: tuple[RowLevel, ...]) -> Floats:
    codes, size = _outcomes(family, engine.response)
    parts = [codes[engine.rows.members(level)] for level in levels]
    counts = [np.bincount(part + 1, minlength=size + 1) for part in (*parts, codes)]
    return np.array(counts, dtype=np.float64)


def _weight_in(engine: MemoryEngine, levels: tuple[RowLevel, ...]) -> float:
    return float(engine.weights[engine.rows.in_any(levels)].sum())


@dataclass(frozen=True)
class _Gathered:
    """Some rows, written out; with others they are one table."""

    rows: Rows

    def __add__(self, other: _Gathered) -> _Gathered:
        return _Gathered(self.rows.followed_by(other.rows))


def _gather(engine: MemoryEngine, levels: tuple[RowLevel, ...]) -> _Gathered:
    rows = engine.rows.take(np.flatnonzero(engine.rows.in_any(levels)))
    S, X, _, _ = MemoryEngine(rows).dense_columns()
    return _Gathered(rows.with_columns((Slab(S),), (Slab(X),), rows.names))


def _unit(family: Any, basis: FairBasis) -> float:
    """Return one event: the mean of amounts."""
    return float(basis.center_targets[0]) if getattr(family, "amounts", False) else 1.0


def _others(means: Floats, outcome: int) -> Floats:
    """Return how classes share a probability that one of them loses: −1 for that one."""
    shares = means / (means.sum() - means[outcome])
    shares[outcome] = -1.0
    return shares


def _to_half_event(eta: Floats, weight: Floats, unit: float) -> Floats:
    """Return the step of η after which rows expect half an event: Σ w e^η = ½."""
    expected = logsumexp(eta, b=weight)
    # Rows that leave before the first event expect none, whatever their coefficient.
    return np.array([np.log(0.5 * unit) - expected if np.isfinite(expected) else 0.0])


def _to_likely(family: Any, eta: Floats, weight: Floats, outcome: int) -> Floats:
    """Return the step of η after which an outcome has the mean probability (m + ½)/(m + 1)."""
    size, m = weight.sum(), eta.shape[1]
    direction = np.array([2.0 * outcome - 1.0]) if m == 1 else np.eye(m)[outcome] - 1.0 / m

    def excess(step: float) -> float:
        others = np.delete(family.probabilities(eta + step * direction), outcome, axis=1)
        return float(np.log(max(weight @ others.sum(axis=1), np.finfo(np.float64).tiny)) - target)

    target = np.log(0.5 * size / (size + 1.0))
    low, high = -1.0, 1.0
    while excess(low) < 0.0:
        low *= 2.0
    while excess(high) > 0.0:
        high *= 2.0
    return float(brentq(excess, low, high, xtol=1e-12)) * direction


def _shared(eta: Floats, weight: Floats, outcome: int, others: Floats, start: Floats) -> Floats:
    """Return the step of η after which all classes have given totals.

    The outcome has the total that `_to_likely` gives it, and others share the rest.
    That minimizes Σ w log Σ exp(η + step) − step·totals, which is convex.
    """
    size = float(weight.sum())
    totals = 0.5 * size / (size + 1.0) * others
    totals[outcome] += size
    step = start - start.mean()

    def value(step: Floats) -> float:
        return float(weight @ logsumexp(eta + step, axis=1) - step @ totals)

    for _ in range(100):
        P = softmax(eta + step, axis=1)
        gradient = weight @ P - totals
        if np.abs(gradient).max() <= 1e-13 * size:
            break
        hessian = np.diag(weight @ P) - P.T @ (weight[:, None] * P)
        move, length = np.linalg.pinv(hessian, hermitian=True) @ gradient, 1.0
        move = move - move.mean()  # a constant changes no probability, and may be all rounding
        before = value(step)
        while length > 1e-6 and not value(step - length * move) <= before:
            length *= 0.5
        step = step - length * move
    return step
