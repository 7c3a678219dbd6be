"""What S explains of scores, from scatter matrices alone."""

from __future__ import annotations

import numpy as np

from fairridge._typing import Floats
from fairridge.solvers.spectrum import whitening


def explained_by_sensitive(scatter: Floats, q: int, m: int, n_rows: int | None = None) -> float:
    """R² of scores regressed on S; adjusted if the number of rows is given."""
    # `scatter` is that of q columns of S, m of η and t of y. R² is 0 for constant scores, and NaN
    # if rows are too few to adjust.
    inverse, rank = _inverse(scatter[:q, :q])
    cross = scatter[:q, q : q + m]
    total = float(np.trace(scatter[q : q + m, q : q + m]))
    share = float(np.sum(cross * (inverse @ cross))) / total if total > 0.0 else 0.0
    if n_rows is None:
        return share
    adjusted = adjusted_share(share, n_rows, rank)
    return 0.0 if total <= 0.0 and not np.isnan(adjusted) else adjusted


def adjusted_share(share: float, n_rows: int, rank: int) -> float:
    """Adjust R² for chance: 1 − (1 − R²)(n − 1)/(n − q − 1)."""
    # In n rows that have nothing to do with S, R² on S is q/(n − 1) on average; its adjusted value
    # is 0 on average, and can be negative.
    # NaN if n ≤ q + 1: then S explains any scores.
    degrees = n_rows - rank - 1
    return 1.0 - (1.0 - share) * (n_rows - 1) / degrees if degrees > 0 else float("nan")


def sequential_share(scatter: Floats, q: int, m: int) -> float:
    """Share of S in what S and then y explain of η (equality of opportunity)."""
    if float(np.trace(scatter[q : q + m, q : q + m])) <= 0.0:
        return 0.0
    cross = scatter[:q, q:]
    explained = cross.T @ _inverse(scatter[:q, :q])[0] @ cross
    residual = scatter[q:, q:] - explained
    first = float(np.trace(explained[:m, :m]))
    of_y = residual[:m, m:] @ _inverse(residual[m:, m:])[0] @ residual[m:, :m]
    both = first + float(np.trace(of_y))
    return first / both if both > 0.0 else 0.0


def _inverse(scatter: Floats) -> tuple[Floats, int]:
    """Return the pseudo-inverse, and the rank, in units in which every column has variance one."""
    root = whitening(scatter)
    return root.T @ root, len(root)
