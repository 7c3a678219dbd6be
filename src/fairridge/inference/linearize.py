"""From a definition of fairness to its first-order behavior at a model."""

from __future__ import annotations

from functools import partial, singledispatch
from typing import Any

import numpy as np

from fairridge._typing import Floats
from fairridge.fairness import (
    Combined,
    Definition,
    EqualityOfOpportunity,
    IndividualFairness,
    MeanParity,
    StatisticalParity,
)
from fairridge.families.distances import ChangedColumns
from fairridge.inference.explained import Explained, ExplainedShare
from fairridge.inference.given import Given, SensitiveRidge, basis_given
from fairridge.inference.measures import (
    MeanDeviance,
    Measure,
    PairRatio,
    Sum,
    VarianceShareOf,
    WithoutSensitive,
    deviance_slopes,
)
from fairridge.inference.pairs import partners_of
from fairridge.inference.rows import RowsOfModel, Stack
from fairridge.inference.state import State


def linearize(definition: Definition, at: State, free: State | None) -> Measure:
    """Return a definition's value at a model, with its derivatives."""
    # `free` is the unconstrained model; None if it has no limit.
    if isinstance(at.ridge, Explained):
        return ExplainedShare(at.ridge)
    if definition.maximum_of:
        # If the bound binds, the largest definition meets it; the others do not matter nearby.
        largest = max(definition.maximum_of, key=lambda part: part.value(at.fit))
        return linearize(largest, at, free)
    return _linearized(definition.within_space, at, free)


@singledispatch
def _linearized(definition: Definition, at: State, free: State | None) -> Measure:
    raise ValueError(
        f"there are no standard errors for definition={definition.name!r}: how it depends on each "
        "row is not known. Use statistical parity, equality of opportunity or individual fairness."
    )


@_linearized.register
def _(definition: Combined, at: State, free: State | None) -> Measure:
    parts = definition.definitions
    weights = np.ones(len(parts)) if definition.weights is None else definition.weights
    shares = np.asarray(weights, dtype=np.float64) / np.sum(weights)
    measures = [linearize(part, at, free) for part in parts]
    value = float(shares @ [measure.value for measure in measures])
    return Sum(value, tuple(zip(shares.tolist(), measures, strict=True)))


@_linearized.register(MeanParity)
@_linearized.register(StatisticalParity)
def _(definition: Any, at: State, free: State | None) -> Measure:
    if definition.applies_to(at.fit.family):
        return share_of_predictors(at, _given(at))
    measure = definition.measure or at.fit.family.share
    if measure == "tjur" or not at.fit.family.separable:
        raise ValueError(
            f"there are no standard errors for {definition.name} of a {at.fit.family.name} model; "
            "use measure='variance' or 'deviance', and 'variance' for Cox models."
        )
    given, full = _given(at), MeanDeviance.of(at)
    shift = None if definition.center else basis_given(at.fit).center_sensitive
    without, null = (
        WithoutSensitive.of(at, given, predictors=kept, shift=shift) for kept in (True, False)
    )
    value, slopes = deviance_slopes(measure, full.value, without.value, null.value)
    return Sum(value, tuple(zip(slopes, (full, without, null), strict=True)))


def _given(at: State) -> Given:
    assert isinstance(at.ridge, SensitiveRidge)
    return at.ridge.given


def share_of_predictors(at: State, given: Given) -> VarianceShareOf:
    """Return R² of the linear predictors on S, given the controls."""
    basis, beta = basis_given(at.fit), given.beta
    slope = beta @ (basis.predictors.scatter() / basis.weight)
    return _variance_share(at, given, float((slope * beta).sum()), 2.0 * slope)


@_linearized.register
def _(definition: EqualityOfOpportunity, at: State, free: State | None) -> Measure:
    basis = at.fit.basis
    cross = basis.predictors.products(basis.on_predictors) / basis.weight  # E[u y⊥ᵀ]
    scatter = basis.on_predictors.T @ basis.on_predictors + basis.residual
    inverse = np.linalg.pinv(scatter / basis.weight, rcond=1e-12, hermitian=True)
    explained = at.beta @ cross @ inverse
    other = float((explained * (at.beta @ cross)).sum())
    on_sensitive = basis.sensitive.original(basis.sensitive.ridge(basis.on_sensitive.T, 0.0)).T
    return _variance_share(
        at,
        _given(at),
        other,
        2.0 * explained @ cross.T,
        explained=explained,
        response=(basis.center_targets, on_sensitive),
    )


def _variance_share(
    at: State, given: Given, other: float, slope: Floats, **more: Any
) -> VarianceShareOf:
    basis = basis_given(at.fit)
    on_alpha = given.alpha @ (basis.sensitive.scatter() / basis.weight)
    explained = float((on_alpha * given.alpha).sum())
    total = explained + other
    value = explained / total if total > 0.0 else 0.0
    gradient = 2.0 * (1.0 - value) * on_alpha @ given.to_alpha
    gradient[:, given.others] -= value * slope
    return VarianceShareOf(value, total, gradient, given, **more)


# ---------------------------------------------------------------------- pairs


@_linearized.register
def _(definition: IndividualFairness, at: State, free: State | None) -> Measure:
    if free is None:
        raise ValueError(
            "there are no standard errors for individual fairness if the model without a bound "
            "has no limit: it is what the others are compared with."
        )
    fit, m, weight = at.fit, len(at.theta), at.fit.basis.weight
    distance = definition.resolved(fit)
    columns = ChangedColumns(fit.basis.center_sensitive, np.eye(at.q))
    M = fit.engine.pairwise(distance, columns) / weight**2
    unit = float(np.einsum("ki,ij,kj->", free.alpha, M, free.alpha))
    total = float(np.einsum("ki,ij,kj->", at.alpha, M, at.alpha))
    intercept, rest = np.zeros((m, 1)), np.zeros_like(at.beta)
    slope, free_slope = (
        np.hstack([intercept, 2.0 * alpha @ M / unit, rest]) for alpha in (at.alpha, free.alpha)
    )
    rows: Stack = at.sum_over_rows(partial(_fitted_by, np.vstack([at.alpha, free.alpha])))
    v, h, h0, y = np.split(rows.array(), [1, 1 + m, 1 + 2 * m], axis=1)
    squares = [(part**2).sum(axis=1, keepdims=True) for part in (h, h0)]
    shown = np.hstack([np.ones_like(v), h, squares[0], h0, squares[1]]) * v / weight
    partners = partners_of(distance, y, shown)
    value = total / unit
    return PairRatio(value, unit, slope, -value * free_slope, partners, free.theta)


def _fitted_by(alpha: Floats, at: RowsOfModel) -> Stack:
    """Return the weights, Sα for several α and the response of rows."""
    return Stack((np.column_stack([at.rows.weight, at.rows.s @ alpha.T, at.rows.y]),))
