"""Measures of accuracy and fairness."""

from fairridge.metrics.concordance import concordance_index
from fairridge.metrics.held_out import (
    explained_by_sensitive,
    held_out_unfairness,
    scatter_of,
    sequential_share,
)

__all__ = [
    "concordance_index",
    "explained_by_sensitive",
    "held_out_unfairness",
    "scatter_of",
    "sequential_share",
]
