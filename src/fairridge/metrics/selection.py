"""Who is selected: by a threshold, or by capacity, so many of the best."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairridge._typing import Booleans, Floats

# Scores that differ by less, relative to their size, are the same: a rate that was multiplied by
# an exposure and divided by it is the rate but for rounding.
ROUNDING = 16 * np.finfo(np.float64).eps


def check_top(top: Any, threshold: float | None = None) -> float | int | None:
    """Return a share between 0 and 1, or a count of at least 1; None if a threshold may select."""
    if top is None:
        return None
    if threshold is not None:
        raise ValueError(
            f"threshold={threshold!r} and top={top!r} are two ways to select; give one of them."
        )
    whole = isinstance(top, int | np.integer) and not isinstance(top, bool)
    if whole and top >= 1:
        return int(top)
    if isinstance(top, float | np.floating) and 0.0 < top < 1.0:
        return float(top)
    raise ValueError(
        f"top={top!r} must be a share between 0 and 1, such as 0.2, or a count, such as 500."
    )


def select(
    score: Floats,
    weight: Floats,
    threshold: float | None,
    top: float | int | None,
    *,
    high: bool = True,
) -> Booleans | None:
    """Return who is selected, where high or low scores are favorable; None if nothing says so."""
    # Low scores are selected if they are not above the threshold.
    if top is not None:
        return select_top(score if high else -score, weight, top)
    return None if threshold is None else (score > threshold) == high


def select_top(score: Floats, weight: Floats, top: float | int) -> Booleans:
    """Select the rows with the highest scores, and at most so many."""
    # Rows with the same score are decided alike: if there is no room for all of them, none is
    # selected. Rows count with their weights, of rates with their exposure: a share is one of the
    # sum of weights, and a count is compared with it.
    room = top * float(weight.sum()) if isinstance(top, float) else float(top)
    order = np.argsort(-score, kind="stable")  # from the highest score on
    ordered = score[order]
    lower = ordered[:-1] - ordered[1:] > ROUNDING * np.abs(ordered[:-1])
    places = np.empty(len(score), dtype=np.intp)
    places[order] = np.concatenate([[0], np.cumsum(lower)])
    taken = np.cumsum(np.bincount(places, weights=weight))
    chosen: Booleans = (taken <= room * (1.0 + 1e-12))[places]
    return chosen
