"""Figures of a cross-validation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fairridge._typing import Floats
from fairridge.reports.paths import COLORS, new_axes

__all__ = ["ValidationCurve", "plot_validation"]


@dataclass(frozen=True)
class ValidationCurve:
    """One measure of one model over r.

    Attributes
    ----------
    model, measure : str
        Their names.
    unfairness, mean, standard_error : ndarray
        Bounds, mean over folds and its standard error.
    """

    model: str
    measure: str
    unfairness: Floats
    mean: Floats
    standard_error: Floats


def plot_validation(curves: Sequence[ValidationCurve], ax: Any = None) -> Any:
    """Draw curves with 95 % confidence intervals (extra ``plot``)."""
    ax = new_axes() if ax is None else ax
    for color, curve in zip(COLORS * (1 + len(curves) // len(COLORS)), curves, strict=False):
        ax.errorbar(
            curve.unfairness, curve.mean, yerr=1.96 * curve.standard_error, color=color,
            marker="o", markersize=4, linewidth=1.8, capsize=3, label=curve.model,
        )  # fmt: skip
    ax.set_xlabel("bound on unfairness, r")
    ax.set_ylabel(", ".join(sorted({curve.measure for curve in curves})))
    ax.set_title("Cross-validation, mean and 95 % interval over folds", loc="left", fontsize=11)
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(alpha=0.25, linewidth=0.6)
    ax.legend(frameon=False)
    return ax
