"""Definitions of fairness, one per file.

Statistical parity, equality of opportunity, individual fairness and maximal
correlations or covariances all choose a point on one path of models, α(λ): a
definition decides which λ belongs to a bound, and nothing else. At r = 0 all of
them are α = 0. In gaussian models equality of opportunity is statistical parity
with another r. Mean parity and mean opportunity have paths of their own.

A definition is an object with `value(fit)` and `components(fit)`, best a
`Definition`; a plain function of the fit works too.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fairridge.fairness.base import (
    CallableDefinition,
    Definition,
    OtherDefinition,
    VarianceShare,
    is_variance_share,
)
from fairridge.fairness.combined import Combined
from fairridge.fairness.equality_of_opportunity import EqualityOfOpportunity
from fairridge.fairness.individual import IndividualFairness
from fairridge.fairness.maximal import MaximalCorrelation, MaximalCovariance
from fairridge.fairness.means import MeanOdds, MeanOpportunity, MeanParity
from fairridge.fairness.statistical_parity import StatisticalParity
from fairridge.families.distances import (
    AbsoluteDifference,
    ClassDifference,
    Closeness,
    PairwiseDistance,
    SameOutcome,
    SquaredDifference,
)

__all__ = [
    "AbsoluteDifference",
    "CallableDefinition",
    "ClassDifference",
    "Closeness",
    "Combined",
    "Definition",
    "EqualityOfOpportunity",
    "IndividualFairness",
    "MaximalCorrelation",
    "MaximalCovariance",
    "MeanOdds",
    "MeanOpportunity",
    "MeanParity",
    "PairwiseDistance",
    "SameOutcome",
    "SquaredDifference",
    "StatisticalParity",
    "VarianceShare",
    "is_variance_share",
    "resolve_definition",
]

_NAMED = {
    "statistical-parity": StatisticalParity,
    "equality-of-opportunity": EqualityOfOpportunity,
    "individual": IndividualFairness,
    "mean-parity": MeanParity,
    "mean-opportunity": MeanOpportunity,
    "mean-odds": MeanOdds,
}


def resolve_definition(definition: Any) -> Definition:
    """Return the definition meant by a short name, an object or a function."""
    if isinstance(definition, str):
        if definition not in _NAMED:
            raise ValueError(
                f"definition={definition!r} is not known; use one of "
                f"{', '.join(map(repr, _NAMED))}, an object from fairridge.fairness or a callable."
            )
        return _NAMED[definition]()
    if isinstance(definition, Combined):
        return replace(
            definition, definitions=[resolve_definition(d) for d in definition.definitions]
        )
    if isinstance(definition, Definition):
        return definition
    if hasattr(definition, "value") and not isinstance(definition, type):
        return OtherDefinition(definition)
    if callable(definition) and not isinstance(definition, type):
        return CallableDefinition(definition)
    raise TypeError(
        f"definition={definition!r}: use a short name, an object from fairridge.fairness "
        "or a function of the fit."
    )
