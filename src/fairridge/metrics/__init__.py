"""Measures of accuracy and fairness."""

from fairridge.fairness.scatter_shares import explained_by_sensitive, sequential_share
from fairridge.metrics.attribute_leakage import AttributeLeakage, attribute_leakage
from fairridge.metrics.attribution import Attribution, Proxies, lmg, proxy_terms
from fairridge.metrics.audit import audit
from fairridge.metrics.audit_tables import Audit
from fairridge.metrics.concordance import area_under_curve, concordance_index
from fairridge.metrics.dependence import Dependence, dependence
from fairridge.metrics.dependence_shares import (
    WORDS,
    scatter_of,
    sensitive_span,
    share_explained,
)
from fairridge.metrics.distances import Distances, SortedScores
from fairridge.metrics.favorable import Favorable, favorable_outcome, find_label
from fairridge.metrics.group_measures import (
    AttributeAudit,
    CalibrationBin,
    Correlation,
    GroupMeasures,
)
from fairridge.metrics.group_table import (
    GroupTable,
    compared_shares,
    decision_gap,
    decision_table,
    impact_ratios,
)
from fairridge.metrics.groups import (
    BINS,
    Grouping,
    encoded_groupings,
    groupings,
    sensitive_table,
    weighted_quantiles,
)
from fairridge.metrics.intervals import Estimate
from fairridge.metrics.learned_share import learned_share
from fairridge.metrics.measure import (
    Measure,
    attribute_owners,
    control_names,
    dependence_of,
    measure_of,
    measured_on_rows,
    of_predictions,
    share_of_means,
)
from fairridge.metrics.scored_rows import ScoredRows, predicted_means
from fairridge.metrics.scorers import FairnessScorer, make_fairness_scorer, refit_within
from fairridge.metrics.training_groups import (
    DIFFERENCES,
    EVERYONE,
    TrainingGroups,
    decided_by,
    total_table,
)

__all__ = [
    "BINS",
    "DIFFERENCES",
    "EVERYONE",
    "WORDS",
    "AttributeAudit",
    "AttributeLeakage",
    "Attribution",
    "Audit",
    "CalibrationBin",
    "Correlation",
    "Dependence",
    "Distances",
    "Estimate",
    "FairnessScorer",
    "Favorable",
    "GroupMeasures",
    "GroupTable",
    "Grouping",
    "Measure",
    "Proxies",
    "ScoredRows",
    "SortedScores",
    "TrainingGroups",
    "area_under_curve",
    "attribute_leakage",
    "attribute_owners",
    "audit",
    "compared_shares",
    "concordance_index",
    "control_names",
    "decided_by",
    "decision_gap",
    "decision_table",
    "dependence",
    "dependence_of",
    "encoded_groupings",
    "explained_by_sensitive",
    "favorable_outcome",
    "find_label",
    "groupings",
    "impact_ratios",
    "learned_share",
    "lmg",
    "make_fairness_scorer",
    "measure_of",
    "measured_on_rows",
    "of_predictions",
    "predicted_means",
    "proxy_terms",
    "refit_within",
    "scatter_of",
    "sensitive_span",
    "sensitive_table",
    "sequential_share",
    "share_explained",
    "share_of_means",
    "total_table",
    "weighted_quantiles",
]
