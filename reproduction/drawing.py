"""Figures of the experiments: small multiples of curves with intervals."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from reproduction.settings import Floats

BLUE, ORANGE, GREEN, VIOLET = "#0072B2", "#E69F00", "#009E73", "#CC79A7"
SKY, VERMILION, BLACK = "#56B4E9", "#D55E00", "#000000"
# One color for one thing, in all figures.
PALETTE = {
    "FRRM": BLUE, "FGRRM": BLUE, "NCLM": ORANGE, "ZLM": GREEN, "ZLRM": GREEN,
    "Steinberg": VIOLET, "fairlearn": VERMILION,
    "S1": BLUE, "S2": SKY, "S3": BLACK, "X1": ORANGE, "X2": VERMILION, "X3": VIOLET,
    "holds": BLUE, "holds in part": SKY, "does not hold": VERMILION, "cannot be checked": "#BBBBBB",
}  # fmt: skip
INK, FAINT = "#222222", "#9A9A9A"

mpl.use("Agg")
mpl.rcParams.update(
    {"font.size": 9.5, "axes.edgecolor": FAINT, "axes.labelcolor": INK, "text.color": INK,
     "xtick.color": INK, "ytick.color": INK, "axes.linewidth": 0.8, "svg.hashsalt": "fairridge"}
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Curve:
    """One line with the intervals of y, in a color or that of a name in the palette.

    With `marker`, points are marked, and intervals are bars instead of a band.
    """

    label: str
    x: Floats
    y: Floats
    low: Floats | None = None
    high: Floats | None = None
    color: str = "FRRM"
    style: str = "-"
    marker: bool = False


@dataclass(frozen=True)
class Panel:
    """One pair of axes, with a range of x to shade and a horizontal line at `level`."""

    title: str
    curves: tuple[Curve, ...]
    shade: tuple[float, float] | None = None
    level: float | None = None


@dataclass(frozen=True)
class Sheet:
    """A figure of several panels.

    The scale "even" puts the values of x at equal distances. The legend is
    above, or names are at the ends of lines.
    """

    panels: tuple[Panel, ...]
    x_label: str
    y_label: str
    scale: Literal["linear", "log", "even"] = "linear"
    columns: int = 3
    share_y: bool = False
    legend: Literal["outside", "ends"] = "outside"


def draw_sheet(sheet: Sheet) -> Figure:
    """Draw small multiples."""
    columns = min(sheet.columns, len(sheet.panels))
    rows = -(-len(sheet.panels) // columns)
    figure, grid = _subplots(rows, columns, sheet)
    for k, ax in enumerate(grid):
        if k >= len(sheet.panels):
            ax.set_visible(False)
            continue
        _panel(ax, sheet.panels[k], sheet)
        if k % columns == 0:
            ax.set_ylabel(sheet.y_label)
        if k + columns >= len(sheet.panels):
            ax.set_xlabel(sheet.x_label)
    if sheet.legend == "outside":
        names = dict.fromkeys(c.label for panel in sheet.panels for c in panel.curves if c.label)
        _legend(figure, grid[: len(sheet.panels)], list(names))
    return figure


def _subplots(rows: int, columns: int, sheet: Sheet) -> tuple[Figure, list[Axes]]:
    width = 5.6 if columns == 1 else 3.35 * columns
    height = (3.7 if columns == 1 else 2.75) * rows + 0.35
    figure, grid = plt.subplots(
        rows, columns, figsize=(width, height), layout="constrained", squeeze=False,
        sharey=sheet.share_y,
    )  # fmt: skip
    return figure, list(grid.ravel())


def _panel(ax: Axes, panel: Panel, sheet: Sheet) -> None:
    ticks = np.unique(np.concatenate([curve.x for curve in panel.curves]))
    if panel.shade is not None:
        ax.axvspan(*panel.shade, color="#E8E8E8", linewidth=0)
    if panel.level is not None:
        ax.axhline(panel.level, color=FAINT, linewidth=0.8)
    marked = [curve for curve in panel.curves if curve.marker]
    for curve in panel.curves:
        x: Floats = curve.x
        if sheet.scale == "even":
            x = np.searchsorted(ticks, curve.x).astype(np.float64)
            if curve.marker:  # bars of several models at the same r would hide each other
                x += 0.09 * (marked.index(curve) - (len(marked) - 1) / 2)
        _curve(ax, curve, x)
    if sheet.scale == "even":
        ax.set_xticks(range(len(ticks)), [f"{tick:g}".replace("0.", ".") for tick in ticks])
    elif sheet.scale == "log":
        ax.set_xscale("log")
    if sheet.legend == "ends":
        _names_at_ends(ax, panel.curves)
    ax.set_title(panel.title, loc="left", fontsize=10.5, fontweight="bold")
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis="y", alpha=0.3, linewidth=0.6)
    ax.margins(x=0.03)


def _curve(ax: Axes, curve: Curve, x: Floats) -> None:
    color = PALETTE.get(curve.color, curve.color)
    width = 1.9 if curve.style == "-" else 1.4
    if curve.marker:
        bars = None
        if curve.low is not None and curve.high is not None:
            bars = np.vstack([curve.y - curve.low, curve.high - curve.y]).clip(min=0.0)
        ax.errorbar(
            x, curve.y, yerr=bars, color=color, linestyle=curve.style, linewidth=1.6,
            marker="o", markersize=4.2, capsize=2.5, elinewidth=1.1, label=curve.label or None,
        )  # fmt: skip
        return
    if curve.low is not None and curve.high is not None:
        ax.fill_between(x, curve.low, curve.high, color=color, alpha=0.13, linewidth=0)
    ax.plot(x, curve.y, curve.style, color=color, linewidth=width, label=curve.label or None)


def _names_at_ends(ax: Axes, curves: Sequence[Curve]) -> None:
    """Write names to the right of lines, apart from each other."""
    named = sorted((c for c in curves if c.label), key=lambda curve: float(curve.y[-1]))
    low, high = ax.get_ylim()
    apart = 0.062 * (high - low)
    places: list[float] = []
    for curve in named:
        wanted = float(curve.y[-1])
        places.append(max(wanted, places[-1] + apart) if places else wanted)
    overshoot = max(0.0, (places[-1] if places else low) - high)
    for curve, place in zip(named, places, strict=True):
        ax.annotate(
            curve.label, (1.0, place - overshoot), xycoords=("axes fraction", "data"), fontsize=9,
            xytext=(5, 0), textcoords="offset points", va="center",
            color=PALETTE.get(curve.color, curve.color), annotation_clip=False,
        )  # fmt: skip


def _legend(figure: Figure, grid: Sequence[Axes], names: Sequence[str]) -> None:
    handles: dict[str, Any] = {}
    for ax in grid:
        found, labels = ax.get_legend_handles_labels()
        handles |= dict(zip(labels, found, strict=True))
    if names:
        # A legend is as wide as its longest name, times its columns.
        room = int(figure.get_figwidth() / (0.7 + 0.085 * max(map(len, names))))
        figure.legend(
            [handles[name] for name in names], names, loc="outside upper left", frameon=False,
            ncols=max(1, min(len(names), room)), fontsize=9.5, handlelength=1.8,
            columnspacing=1.6,
        )  # fmt: skip


def draw_verdicts(counts: pd.DataFrame) -> Figure:
    """Draw stacked bars of counts: one bar per row, one color per column."""
    figure, ax = plt.subplots(figsize=(8.0, 0.42 * len(counts) + 1.0), layout="constrained")
    start = np.zeros(len(counts))
    for kind, values in counts.items():
        color = PALETTE[str(kind)]
        ax.barh(counts.index, values, left=start, color=color, label=kind, height=0.66)
        for k, count in enumerate(values):
            if count:
                light = kind in ("holds", "does not hold")
                ax.text(
                    start[k] + count / 2, k, str(count), ha="center", va="center", fontsize=9,
                    color="white" if light else INK,
                )  # fmt: skip
        start += values.to_numpy()
    ax.invert_yaxis()
    ax.spines[["top", "right", "bottom"]].set_visible(False)
    ax.set_xticks([])
    ax.tick_params(axis="y", length=0)
    _legend(figure, [ax], [str(kind) for kind in counts])
    return figure


def render(figure: Figure) -> dict[str, bytes]:
    """Return a figure as PNG and as SVG, the same bytes each time, and forget it."""
    files = {}
    for kind, metadata in (("png", {"Software": None}), ("svg", {"Date": None})):
        buffer = io.BytesIO()
        figure.savefig(buffer, format=kind, dpi=150, metadata=metadata)
        files[kind] = buffer.getvalue()
    plt.close(figure)
    return files
