"""The audit report: what it says about a model, gathered from the model and its data."""

from fairridge.validation.report.write import report

__all__ = ["report"]
