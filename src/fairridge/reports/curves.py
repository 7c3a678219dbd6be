"""Figures of models over unfairness: a cross-validation, and a comparison."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fairridge._typing import Floats
from fairridge.reports.paths import COLORS, finish, new_axes

MARKERS = "osD^vP*X<>"


@dataclass(frozen=True)
class ValidationCurve:
    """One measure of one model over r."""

    # Their names.
    model: str
    measure: str
    # Bounds, mean over folds and its standard error.
    unfairness: Floats
    mean: Floats
    standard_error: Floats


def plot_validation(curves: Sequence[ValidationCurve], ax: Any = None) -> Any:
    """Draw curves with 95 % confidence intervals (extra ``plot``)."""
    ax = new_axes() if ax is None else ax
    for k, curve in enumerate(curves):
        ax.errorbar(
            curve.unfairness, curve.mean, yerr=1.96 * curve.standard_error,
            color=COLORS[k % len(COLORS)], marker="o", markersize=4, linewidth=1.8, capsize=3,
            label=curve.model,
        )  # fmt: skip
    ax.legend(frameon=False)
    measures = ", ".join(sorted({curve.measure for curve in curves}))
    title = "Cross-validation, mean and 95 % interval over folds"
    return finish(ax, "bound on unfairness, r", measures, title)


@dataclass(frozen=True)
class TradeOff:
    """One model at several bounds."""

    model: str  # its name
    # What it reached, sorted by unfairness, of shape (k,).
    unfairness: Floats
    score: Floats
    # Their standard errors; NaN or 0 if there are none, of shape (k,).
    score_error: Floats
    unfairness_error: Floats


def plot_trade_off(
    curves: Sequence[TradeOff],
    unfairness_name: str,
    score_name: str,
    ax: Any = None,
    *,
    high: bool = False,
) -> Any:
    """Draw accuracy over unfairness, one line per model, with 95 % intervals (extra ``plot``).

    Parameters
    ----------
    curves : sequence of TradeOff
        The models.
    unfairness_name, score_name : str
        What the axes are called.
    ax : matplotlib Axes, optional
        Where to draw; by default on a new figure.
    high : bool, default=False
        Whether a high score is better.
    """
    ax = new_axes() if ax is None else ax
    for k, curve in enumerate(curves):
        ax.errorbar(
            curve.unfairness, curve.score,
            yerr=1.96 * curve.score_error, xerr=1.96 * curve.unfairness_error,
            color=COLORS[k % len(COLORS)], marker=MARKERS[k % len(MARKERS)],
            markersize=6, linewidth=1.6, capsize=3, label=curve.model,
        )  # fmt: skip
    ax.legend(frameon=False)
    better = "high" if high else "low"
    title = f"Accuracy against fairness: {better} and left is better"
    return finish(ax, unfairness_name, score_name, title)
