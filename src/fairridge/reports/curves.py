"""Figures of models over unfairness: a cross-validation, and a comparison."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fairridge._typing import Floats
from fairridge.reports.paths import COLORS, finish, new_axes

MARKERS = "osD^vP*X<>"
# Half the length of a 95 % interval, in standard errors.
HALF = 1.96


@dataclass(frozen=True)
class ModelCurve:
    """One measure of one model over its bounds, or over what it reached."""

    # Their names.
    model: str
    measure: str
    # Unfairness, increasing; the measure, and its standard error: NaN or 0 if there is none.
    unfairness: Floats
    mean: Floats
    standard_error: Floats
    unfairness_error: Floats | None = None  # that of unfairness; None of bounds


def plot_curves(
    curves: Sequence[ModelCurve], below: str, label: str, title: str, ax: Any = None
) -> Any:
    """Draw one line per model, with 95 % confidence intervals (extra ``plot``)."""
    ax = new_axes() if ax is None else ax
    for k, curve in enumerate(curves):
        across = None if curve.unfairness_error is None else HALF * curve.unfairness_error
        ax.errorbar(
            curve.unfairness, curve.mean, yerr=HALF * curve.standard_error, xerr=across,
            color=COLORS[k % len(COLORS)], marker=MARKERS[k % len(MARKERS)], markersize=5,
            linewidth=1.7, capsize=3, label=curve.model,
        )  # fmt: skip
    ax.legend(frameon=False)
    return finish(ax, below, label, title)
