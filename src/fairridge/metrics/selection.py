"""Decisions by capacity: so many of the best are selected."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairridge._typing import Booleans, Floats


def check_top(top: Any) -> float | int | None:
    """Return a share between 0 and 1, or a count of at least 1; None if none is given."""
    if top is None:
        return None
    whole = isinstance(top, int | np.integer) and not isinstance(top, bool)
    if whole and top >= 1:
        return int(top)
    if isinstance(top, float | np.floating) and 0.0 < top < 1.0:
        return float(top)
    raise ValueError(
        f"top={top!r} must be a share between 0 and 1, such as 0.2, or a count, such as 500."
    )


def select_top(score: Floats, weight: Floats, top: float | int) -> Booleans:
    """Select the rows with the highest scores, and at most so many.

    Rows with the same score are decided alike: if there is no room for all of
    them, none is selected. A share is one of the weight, and a count is
    compared with the sum of weights, which is the number of rows if there are none.
    """
    room = top * float(weight.sum()) if isinstance(top, float) else float(top)
    values, places = np.unique(-score, return_inverse=True)  # from the highest score on
    taken = np.cumsum(np.bincount(places, weights=weight, minlength=len(values)))
    chosen: Booleans = (taken <= room * (1.0 + 1e-12))[places]
    return chosen
