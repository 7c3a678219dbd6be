"""Less discriminatory alternatives along the path."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairridge.reports.html.contents import Curve, ReportContents

__all__ = ["Alternative", "alternatives", "lowest_ratio"]

TOLERANCES = (0.0, 0.005, 0.01, 0.02, 0.05)


@dataclass(frozen=True)
class Alternative:
    """The fairest model that gives up no more accuracy than some amount.

    Attributes
    ----------
    words : str
        The amount.
    position : int
        Which of the bounds.
    """

    words: str
    position: int


def alternatives(contents: ReportContents) -> tuple[Alternative, ...]:
    """Find the smallest bounds at which accuracy is still within tolerances.

    Accuracy is the first measure, on held-out rows where there are any,
    compared with the unconstrained model's.
    """
    curve = contents.accuracy[0]
    values, free = curve.best_known, float(curve.best_known[contents.free])
    found = []
    for tolerance in TOLERANCES:
        amount = "no accuracy" if tolerance == 0.0 else f"at most {100 * tolerance:g} %"
        found.append(Alternative(amount, _first(curve, free, tolerance * abs(free))))
    if curve.error is not None and np.isfinite(curve.error[contents.free]):
        error = float(curve.error[contents.free])
        found.append(Alternative("at most one standard error", _first(curve, free, error)))
    found = [one for one in found if np.isfinite(values[one.position])]
    return tuple(sorted(found, key=lambda one: -one.position))


def _first(curve: Curve, free: float, allowed: float) -> int:
    values = curve.best_known
    worse = free - values if curve.larger_is_better else values - free
    # Differences that no reader can see are none.
    kept = worse <= allowed + 1e-9 * max(abs(free), 1.0)
    return int(np.argmax(kept))


def lowest_ratio(contents: ReportContents, sample: int, position: int) -> float:
    """Lowest adverse impact ratio of any group that is not small; NaN without decisions."""
    audit = contents.samples[sample].audits[position]
    ratios = [
        group.adverse_impact_ratio
        for part in audit.attributes
        for group in part.groups
        if not group.small and np.isfinite(group.adverse_impact_ratio)
    ]
    return min(ratios, default=float("nan"))
