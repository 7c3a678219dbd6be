"""From a definition of fairness to its first-order behavior at a model."""

from __future__ import annotations

from dataclasses import dataclass
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
    is_variance_share,
)
from fairridge.families.distances import ChangedColumns
from fairridge.inference.measures import (
    Deviance,
    Measure,
    OutcomePairs,
    Sum,
    VarianceShareOf,
    deviance_slopes,
)
from fairridge.inference.pairs import partners_of
from fairridge.inference.rows import Stack
from fairridge.inference.state import State, sums_without
from fairridge.models import FairBasis

__all__ = ["linearize", "mean_deviance"]


def linearize(definition: Definition, at: State, free: State | None) -> Measure:
    """Return a definition's value at a model, with its derivatives.

    Parameters
    ----------
    definition : Definition
        What is bounded.
    at : State
        The model.
    free : State or None
        The unconstrained model; None if it has no limit.
    """
    family = at.fit.family
    if definition.maximum_of:
        # Where the bound binds it is met by the largest; the others do not matter nearby.
        largest = max(definition.maximum_of, key=lambda part: part.value(at.fit))
        return linearize(largest, at, free)
    if isinstance(definition, Combined):
        parts = definition.definitions
        weights = np.ones(len(parts)) if definition.weights is None else definition.weights
        shares = np.asarray(weights, dtype=np.float64) / np.sum(weights)
        found = [linearize(part, at, free) for part in parts]
        value = float(shares @ [part.value for part in found])
        return Sum(value, tuple(zip(shares.tolist(), found, strict=True)))
    if isinstance(definition, StatisticalParity | MeanParity):
        if is_variance_share(definition, family):
            return _share_of_predictors(at)
        if isinstance(definition, StatisticalParity):
            return _share_of_deviance(definition, at)
    if isinstance(definition, EqualityOfOpportunity):
        return _share_of_response(at)
    if isinstance(definition, IndividualFairness) and free is not None:
        return _outcome_pairs(definition, at, free)
    raise ValueError(
        f"there are no standard errors for definition={definition.name!r}: how it depends on each "
        "row is not known. Use statistical parity, equality of opportunity or individual fairness."
    )


def mean_deviance(at: State) -> Deviance:
    """Return the mean deviance of a model."""
    return Deviance(at.fit.deviance / at.fit.basis.weight, at.gradient, at.q)


# ------------------------------------------------------------------ variances


def _share_of_predictors(at: State) -> VarianceShareOf:
    U = at.fit.basis.predictors.scatter() / at.fit.basis.weight
    slope = at.beta @ U
    return _variance_share(at, float((slope * at.beta).sum()), 2.0 * slope)


def _share_of_response(at: State) -> VarianceShareOf:
    basis = at.fit.basis
    cross = basis.predictors.products(basis.on_predictors) / basis.weight  # E[u y⊥ᵀ]
    scatter = basis.on_predictors.T @ basis.on_predictors + basis.residual
    inverse = np.linalg.pinv(scatter / basis.weight, rcond=1e-12, hermitian=True)
    explained = at.beta @ cross @ inverse
    other = float((explained * (at.beta @ cross)).sum())
    on_sensitive = basis.sensitive.original(basis.sensitive.ridge(basis.on_sensitive.T, 0.0)).T
    return _variance_share(
        at,
        other,
        2.0 * explained @ cross.T,
        explained=explained,
        response=(basis.center_targets, on_sensitive),
    )


def _variance_share(at: State, other: float, slope: Floats, **more: Any) -> VarianceShareOf:
    S = _sensitive_covariance(at.fit.basis)
    on_alpha = at.alpha @ S
    own = float((on_alpha * at.alpha).sum())
    total = own + other
    value = own / total if total > 0.0 else 0.0
    level = np.zeros((len(at.theta), 1))
    gradient = np.hstack([level, 2.0 * (1.0 - value) * on_alpha, -value * slope])
    return VarianceShareOf(value, total, gradient / total, **more)


def _sensitive_covariance(basis: FairBasis) -> Floats:
    return basis.sensitive.scatter() / basis.weight


# ------------------------------------------------------------------ deviances


def _share_of_deviance(definition: StatisticalParity, at: State) -> Sum:
    measure = definition.measure or at.fit.family.share
    if measure == "tjur" or not at.fit.family.separable:
        raise ValueError(
            f"there are no standard errors for {definition.name} of a {at.fit.family.name} model; "
            "use measure='variance' or 'deviance', and 'variance' for Cox models."
        )
    full, without, null = mean_deviance(at), *(_reduced(definition, at, k) for k in (True, False))
    value, slopes = deviance_slopes(measure, full.value, without.value, null.value)
    return Sum(value, tuple(zip(slopes, (full, without, null), strict=True)))


def _reduced(definition: StatisticalParity, at: State, predictors: bool) -> Deviance:
    value, score = sums_without(at.fit, predictors=predictors, center=definition.center)
    shift = None if definition.center else at.fit.basis.center_sensitive
    return Deviance(value, score, at.q, False, predictors, shift)


# ---------------------------------------------------------------------- pairs


@dataclass(frozen=True)
class _Collect:
    """The weights, the response and S·coefficients of rows."""

    coefficients: Floats

    def __call__(self, y: Floats, Z: Floats, weight: Floats, offset: Floats | None) -> Stack:
        fitted = Z[:, : len(self.coefficients)] @ self.coefficients
        return Stack((np.column_stack([weight, fitted, y]),))


def _outcome_pairs(definition: IndividualFairness, at: State, free: State) -> OutcomePairs:
    fit, m, weight = at.fit, len(at.theta), at.fit.basis.weight
    distance = definition.resolved(fit)
    columns = ChangedColumns(fit.basis.center_sensitive, np.eye(at.alpha.shape[1]))
    M = fit.engine.pairwise(distance, columns) / weight**2
    theirs = float(np.einsum("ki,ij,kj->", free.alpha, M, free.alpha))
    ours = float(np.einsum("ki,ij,kj->", at.alpha, M, at.alpha))
    level, rest = np.zeros((m, 1)), np.zeros_like(at.beta)
    own, other = (
        np.hstack([level, 2.0 * alpha @ M / theirs, rest]) for alpha in (at.alpha, free.alpha)
    )
    collect = _Collect(np.vstack([at.alpha, free.alpha]).T)
    rows: Stack = fit.engine.sum_over_columns(collect, fit.basis.center)
    v, h, h0, y = np.split(rows.array(), [1, 1 + m, 1 + 2 * m], axis=1)
    squares = [(part**2).sum(axis=1, keepdims=True) for part in (h, h0)]
    shown = np.hstack([np.ones_like(v), h, squares[0], h0, squares[1]]) * v / weight
    partners = partners_of(distance, y, shown)
    value = ours / theirs
    return OutcomePairs(value, theirs, own, -value * other, partners, free.theta)
