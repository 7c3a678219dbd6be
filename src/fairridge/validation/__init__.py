"""Models judged on rows: cross-validation, comparison, and what the audit report shows."""

from fairridge.validation.choice import ChosenBound, choose_bound
from fairridge.validation.comparison import compare
from fairridge.validation.comparison_result import Comparison
from fairridge.validation.cross_validation import CrossValidation, cross_validate
from fairridge.validation.monitor import Monitor, MonitorState

__all__ = [
    "ChosenBound",
    "Comparison",
    "CrossValidation",
    "Monitor",
    "MonitorState",
    "choose_bound",
    "compare",
    "cross_validate",
]
