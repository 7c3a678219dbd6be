"""The figure of a comparison: accuracy against fairness."""

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
    unfairness, loss, standard_error : ndarray of shape (k,)
        What it reached, sorted by unfairness.
    """

    model: str
    unfairness: Floats
    loss: Floats
    standard_error: Floats


def plot_trade_off(
    curves: Sequence[TradeOff], unfairness_name: str, loss_name: str, ax: Any = None
) -> Any:
    """Draw loss over unfairness, one line per model (extra ``plot``); low and left is better."""
    ax = new_axes() if ax is None else ax
    for k, curve in enumerate(curves):
        ax.errorbar(
            curve.unfairness, curve.loss, yerr=1.96 * curve.standard_error,
            color=COLORS[k % len(COLORS)], marker=MARKERS[k % len(MARKERS)],
            markersize=6, linewidth=1.6, capsize=3, label=curve.model,
        )  # fmt: skip
    ax.set_xlabel(unfairness_name)
    ax.set_ylabel(loss_name)
    ax.set_title("Accuracy against fairness: low and left is better", loc="left", fontsize=11)
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(alpha=0.25, linewidth=0.6)
    ax.legend(frameon=False)
    return ax
