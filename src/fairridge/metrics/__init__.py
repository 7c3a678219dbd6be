"""Measures of accuracy and fairness: the names that users import."""

from fairridge.metrics.attribution import AttributeLeakage, Attribution, Proxies
from fairridge.metrics.audit import audit
from fairridge.metrics.audit_tables import Audit
from fairridge.metrics.favorable import Favorable
from fairridge.metrics.group_measures import (
    AttributeAudit,
    CalibrationBin,
    Correlation,
    GroupMeasures,
)
from fairridge.metrics.intervals import Estimate
from fairridge.metrics.scorers import FairnessScorer, make_fairness_scorer, refit_within
from fairridge.metrics.sorted_scores import Distances, area_under_curve, concordance_index

__all__ = [
    "AttributeAudit",
    "AttributeLeakage",
    "Attribution",
    "Audit",
    "CalibrationBin",
    "Correlation",
    "Distances",
    "Estimate",
    "FairnessScorer",
    "Favorable",
    "GroupMeasures",
    "Proxies",
    "area_under_curve",
    "audit",
    "concordance_index",
    "make_fairness_scorer",
    "refit_within",
]
