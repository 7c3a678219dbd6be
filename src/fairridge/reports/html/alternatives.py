"""Less discriminatory alternatives along the path."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from fairridge.metrics.audit_tables import Audit
from fairridge.metrics.group_measures import GroupMeasures
from fairridge.reports.html.contents import ReportContents

TOLERANCES = (0.0, 0.005, 0.01, 0.02, 0.05)


class Alternative(NamedTuple):
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

    Accuracy is the first measure, on held-out rows if there are any,
    compared with the unconstrained model's.
    """
    curve = contents.accuracy[0]
    values, free = curve.best_known, curve.best_known[contents.free]
    allowed = {
        f"at most {100 * share:g} %" if share else "no accuracy": share * abs(free)
        for share in TOLERANCES
    }
    if curve.error is not None and np.isfinite(curve.error[contents.free]):
        allowed["at most one standard error"] = curve.error[contents.free]
    worse = free - values if curve.larger_is_better else values - free
    # Differences that no reader can see are none.
    invisible = 1e-9 * max(abs(free), 1.0)
    fairest = [
        Alternative(words, int(np.argmax(worse <= amount + invisible)))
        for words, amount in allowed.items()
    ]
    fairest = [model for model in fairest if np.isfinite(values[model.position])]
    return tuple(sorted(fairest, key=lambda model: -model.position))


def worst_group(audit: Audit) -> GroupMeasures | None:
    """Return the group with the lowest adverse impact ratio; None without decisions."""
    known = [g for g in audit._compared_groups if math.isfinite(g.adverse_impact_ratio)]
    return min(known, key=lambda group: group.adverse_impact_ratio, default=None)


def lowest_ratio(audit: Audit) -> float:
    """Return the lowest adverse impact ratio of any group that is not small; NaN without any."""
    worst = worst_group(audit)
    return math.nan if worst is None else worst.adverse_impact_ratio
