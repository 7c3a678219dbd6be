"""Less discriminatory alternatives along the path."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

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
