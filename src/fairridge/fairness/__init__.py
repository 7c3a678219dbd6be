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

from fairridge.fairness.base import (
    CallableDefinition,
    Definition,
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
]
