"""How figures of the experiments are drawn: colors, axes, curves with intervals, legends."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from reproduction.settings import Floats
from reproduction.statistics import TIE

BLUE, ORANGE, GREEN, VIOLET = "#0072B2", "#E69F00", "#009E73", "#CC79A7"
SKY, VERMILION, BLACK = "#56B4E9", "#D55E00", "#000000"
DPI = 150
# One color for one thing, in all figures.
PALETTE = {
    "FRRM": BLUE, "FGRRM": BLUE, "NCLM": ORANGE, "ZLM": GREEN, "ZLRM": GREEN,
    "ZLM, |COR|": VIOLET, "ZLRM, |COR|": VIOLET,
    "Steinberg": VIOLET, "fairlearn": VERMILION,
    "S1": BLUE, "S2": SKY, "S3": BLACK, "X1": ORANGE, "X2": VERMILION, "X3": VIOLET,
}  # fmt: skip
INK, FAINT, PAPER = "#222222", "#9A9A9A", "#7A3E9D"

mpl.use("Agg")
mpl.rcParams.update(
    {"font.size": 10, "axes.edgecolor": FAINT, "axes.labelcolor": INK, "text.color": INK,
     "xtick.color": INK, "ytick.color": INK, "axes.linewidth": 0.8, "svg.hashsalt": "fairridge",
     "mathtext.fontset": "dejavusans", "axes.spines.top": False, "axes.spines.right": False,
     "axes.grid": True, "axes.grid.axis": "y", "grid.alpha": 0.3, "grid.linewidth": 0.6,
     "axes.titlesize": 10.5, "axes.titlelocation": "left", "axes.titleweight": "bold"}
)  # fmt: skip


def axes(
    rows: int, columns: int, *, width: float, height: float, share: str = "row", **options: Any
) -> tuple[Figure, Any]:
    """Return a figure with a grid of axes that share y, and x within columns."""
    figure, grid = plt.subplots(
        rows, columns, figsize=(width, height), layout="constrained", squeeze=False,
        sharey=share, sharex="col", **options,
    )  # fmt: skip
    return figure, grid


def band(ax: Axes, rows: pd.DataFrame, x: str, color: str, **style: Any) -> None:
    """Draw a curve with the band of its intervals, if it has any."""
    ax.plot(rows[x], rows["value"], color=color, lw=1.7, **style)
    ax.fill_between(rows[x], rows["low"], rows["high"], color=color, alpha=0.13, linewidth=0)


def marked(
    ax: Axes, rows: pd.DataFrame, ticks: Floats, color: str, shift: float, **style: Any
) -> None:
    """Draw points with bars at evenly spaced bounds, shifted so that none hides another."""
    x = np.searchsorted(ticks, rows["r"]).astype(np.float64) + shift
    options: dict[str, Any] = {"marker": "o", "ms": 3.2, "lw": 1.2, "elinewidth": 1.0} | style
    half = rows["half"] if "half" in rows else (rows["high"] - rows["low"]) / 2
    ax.errorbar(x, rows["mean"], yerr=half, color=color, **options)


def bound_ticks(ax: Axes, ticks: Floats, label: str = "bound $r$ (not to scale)") -> None:
    """Name every other of evenly spaced bounds, so that letters can be large in narrow panels."""
    names = [f"{tick:g}".replace("0.", ".") if k % 2 == 0 else "" for k, tick in enumerate(ticks)]
    ax.set_xticks(range(len(ticks)), names)
    ax.set_xlabel(label)
    ax.set_xlim(-0.4, len(ticks) - 0.6)


def tie_band(ax: Axes) -> None:
    """Shade the differences that are called equal."""
    ax.axhspan(-100 * TIE, 100 * TIE, color="#E6E6E6", linewidth=0, zorder=0)
    ax.axhline(0.0, color=FAINT, lw=0.8, zorder=1)


def legend(figure: Figure, handles: dict[str, Any], columns: int | None = None) -> None:
    """Put a legend above all axes."""
    figure.legend(
        list(handles.values()), list(handles), loc="outside upper center", frameon=False,
        ncols=columns or len(handles), fontsize=9.5, handlelength=2.4, columnspacing=1.4,
    )  # fmt: skip


def key(color: str, style: str = "-", marker: str = "", label: str = "") -> Any:
    """Return a line for a legend."""
    return mpl.lines.Line2D([], [], color=color, ls=style, marker=marker, ms=4, lw=1.6, label=label)


def patch(color: str, alpha: float = 1.0) -> Any:
    """Return a colored patch for a legend."""
    return mpl.patches.Patch(color=color, alpha=alpha, linewidth=0)


def names_at_ends(ax: Axes, ends: dict[str, tuple[float, str]]) -> None:
    """Write the names of curves at their right ends, in their colors, without overlaps."""
    low, high = ax.get_ylim()
    figure: Any = ax.figure
    pixels = ax.get_position().height * figure.get_figheight() * 72.0
    apart = (high - low) * 10.5 / pixels
    places: list[float] = []
    order = sorted(ends.items(), key=lambda item: item[1][0])
    for _, (wanted, _) in order:
        places.append(max(wanted, places[-1] + apart) if places else wanted)
    for (name, (_, color)), place in zip(order, places, strict=True):
        ax.annotate(
            name, (1.0, place), xycoords=("axes fraction", "data"), fontsize=8.5,
            xytext=(4, 0), textcoords="offset points", va="center", color=color,
            annotation_clip=False,
        )  # fmt: skip


def quantile_rows(
    table: pd.DataFrame, keys: Sequence[str], value: str = "value", line: str = "vu.test"
) -> pd.DataFrame:
    """Return the values of fairml's sample, or else medians, with the range of 90 % of ours."""
    own = table["case"] == line
    ours = table[own if own.all() else ~own].groupby(list(keys))[value]
    found = ours.quantile([0.05, 0.5, 0.95]).unstack()
    found.columns = ["low", "value", "high"]
    shown = table[own].groupby(list(keys))[value].first()
    found["value"] = shown.reindex(found.index).fillna(found["value"])
    return found.reset_index()


def render(figure: Figure) -> dict[str, bytes]:
    """Return a figure as PNG and as SVG, the same bytes each time, and forget it."""
    files = {}
    figure.set_dpi(DPI)
    figure.draw_without_rendering()
    figure.set_layout_engine("none")  # it has been laid out, once for both
    for kind, metadata in (("png", {"Software": None}), ("svg", {"Date": None})):
        buffer = io.BytesIO()
        figure.savefig(buffer, format=kind, dpi=DPI, metadata=metadata)
        files[kind] = buffer.getvalue()
    plt.close(figure)
    return files


Draw = Callable[[pd.DataFrame], Figure]
