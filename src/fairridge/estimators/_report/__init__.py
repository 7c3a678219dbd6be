"""What an audit report says about a model, gathered from its estimator and its data."""

from fairridge.estimators._report.case import ReportOptions
from fairridge.estimators._report.gather import gather

__all__ = ["ReportOptions", "gather"]
