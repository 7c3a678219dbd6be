"""Models judged on rows: cross-validation, comparison, and what the audit report shows."""

from fairridge.validation.comparison import Comparison, compare
from fairridge.validation.cross_validation import CrossValidation, cross_validate

__all__ = ["Comparison", "CrossValidation", "compare", "cross_validate"]
