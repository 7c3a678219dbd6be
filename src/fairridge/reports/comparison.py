"""The figure of a comparison: accuracy against unfairness."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fairridge._typing import Floats
from fairridge.reports.paths import COLORS, new_axes

__all__ = ["TradeOff", "plot_trade_off"]

MARKERS = "osD^vP*X<>"


@dataclass(frozen=True)
class TradeOff:
    """One model at several bounds.

    Attributes
    ----------
    model : str
        Its name.
    unfairness, score : ndarray of shape (k,)
        What it reached, sorted by unfairness.
    score_error, unfairness_error : ndarray of shape (k,)
        Their standard errors; NaN or 0 if there are none.
    """

    model: str
    unfairness: Floats
    score: Floats
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
    ax.set_xlabel(unfairness_name)
    ax.set_ylabel(score_name)
    better = "high" if high else "low"
    ax.set_title(f"Accuracy against fairness: {better} and left is better", loc="left", fontsize=11)
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(alpha=0.25, linewidth=0.6)
    ax.legend(frameon=False)
    return ax
