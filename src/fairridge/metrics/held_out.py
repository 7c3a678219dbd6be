"""Fairness on rows the model was not fitted to.

There S and U = X − SB are no longer orthogonal, so the share of S cannot be
read off α and β: predictions are regressed on S in those rows instead. How a
definition is measured there it says itself, `Definition.held_out`.
"""

from __future__ import annotations

import numpy as np

from fairridge._typing import Floats
from fairridge.solvers.shares import explained_by_sensitive, sequential_share

__all__ = ["explained_by_sensitive", "scatter_of", "sequential_share"]


def scatter_of(columns: Floats, weight: Floats | None = None) -> Floats:
    """Return Σ w (z − z̄)(z − z̄)ᵀ over rows z."""
    centered = columns - np.average(columns, axis=0, weights=weight)
    weighted = centered if weight is None else centered * weight[:, None]
    return weighted.T @ centered
