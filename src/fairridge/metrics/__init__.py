"""Measures of accuracy and fairness."""

from fairridge.metrics.concordance import concordance_index

__all__ = ["concordance_index"]
