"""Figures of a fairness path, of a cross-validation and of a comparison."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from fairridge._typing import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PathPlot = Literal["coefficients", "constraints", "accuracy"]

# Okabe and Ito's colors, which color-blind readers can distinguish, too.
COLORS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#000000", "#F0E442")


@dataclass(frozen=True)
class PathCurves:
    """What a figure of a path shows, over the bounds r."""

    # Bounds, and what the models achieve, of shape (m,).
    unfairness: Floats
    achieved: Floats
    # Coefficients times their column's standard deviation, so that they compare, of shape
    # (m, q) and (m, p).
    alpha: Floats
    beta: Floats
    components: dict[str, Floats]  # the components of the definition
    accuracy: Floats  # goodness of fit in training, of shape (m,)
    # Names of the coefficients.
    sensitive_names: Sequence[str]
    predictor_names: Sequence[str]
    # Names for labels.
    definition: str
    accuracy_name: str
    note: str = ""  # stands below the figure
    # Lower, then upper ends of bands around α and β; empty without bands.
    bands: tuple[tuple[Floats, Floats], ...] = ()


def plot_path(curves: PathCurves, kind: PathPlot, ax: Axes | None = None) -> Axes:
    """Draw one figure of a path with matplotlib (extra ``plot``)."""
    drawers = {"coefficients": _coefficients, "constraints": _constraints, "accuracy": _accuracy}
    if kind not in drawers:
        raise ValueError(f"kind={kind!r} is not known; use one of {', '.join(map(repr, drawers))}.")
    ax = new_axes() if ax is None else ax
    label, title = drawers[kind](curves, ax)
    ax.set_xlim(float(curves.unfairness.min()), float(curves.unfairness.max()))
    below = "bound on unfairness, r" + (f"\n{curves.note}" if curves.note else "")
    return finish(ax, below, label, title)


def new_axes() -> Axes:
    """Return axes on a new figure."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("plots need matplotlib: pip install 'fairridge[plot]'") from error
    _, ax = plt.subplots(figsize=(7.2, 4.4), layout="constrained")
    return ax


def finish(ax: Axes, below: str, label: str, title: str) -> Axes:
    """Name the axes and the figure, and take off what is not needed."""
    ax.set_xlabel(below)
    ax.set_ylabel(label)
    ax.set_title(title, loc="left", fontsize=11)
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(alpha=0.25, linewidth=0.6)
    return ax


def _coefficients(curves: PathCurves, ax: Axes) -> tuple[str, str]:
    """Profile plot: sensitive attributes solid, predictors dashed, the largest in color."""
    values = np.concatenate([curves.alpha, curves.beta], axis=1)
    names = [*curves.sensitive_names, *curves.predictor_names]
    # The sensitive attributes matter here, then whatever is largest anywhere on the path.
    size = np.abs(values).max(axis=0, initial=0.0)
    size[: curves.alpha.shape[1]] += size.max(initial=0.0)
    named = np.sort(np.argsort(-size, kind="stable")[: len(COLORS)])
    for k in np.setdiff1d(np.arange(len(names)), named):
        ax.plot(curves.unfairness, values[:, k], "--", color="0.8", linewidth=0.8, zorder=1)
    for color, k in zip(COLORS, named, strict=False):
        sensitive = k < curves.alpha.shape[1]
        style, width = ("-", 2.2) if sensitive else ("--", 1.4)
        if curves.bands:
            lower, upper = (np.concatenate(ends, axis=1)[:, k] for ends in curves.bands)
            ax.fill_between(curves.unfairness, lower, upper, color=color, alpha=0.15, lw=0.0)
        ax.plot(
            curves.unfairness, values[:, k], style, linewidth=width, color=color, label=names[k]
        )
    ax.axhline(0.0, color="0.6", linewidth=0.8)
    others = len(names) - len(named)
    title = f"{others} smaller ones in gray" if others else None
    ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, title=title)
    return (
        "coefficient × standard deviation",
        "Coefficients: sensitive (solid), predictors (dashed)",
    )


def _constraints(curves: PathCurves, ax: Axes) -> tuple[str, str]:
    """Achieved value against the bound, with the components of the definition."""
    ends = [float(curves.unfairness.min()), float(curves.unfairness.max())]
    ax.plot(ends, ends, color="0.6", linewidth=0.8, label="bound")
    name = f"achieved {curves.definition}"
    ax.plot(curves.unfairness, curves.achieved, color=COLORS[0], linewidth=2.2, label=name)
    shown = {
        name: values
        for name, values in curves.components.items()
        if values.max(initial=0.0) <= 1.0 and not np.allclose(values, curves.achieved)
    }
    for color, (name, values) in zip(COLORS[1:], shown.items(), strict=False):
        ax.plot(curves.unfairness, values, color=color, label=name.replace("_", " "))
    ax.legend(frameon=False)
    return "share", "What the bound achieves"


def _accuracy(curves: PathCurves, ax: Axes) -> tuple[str, str]:
    ax.plot(curves.unfairness, curves.accuracy, color=COLORS[0], linewidth=2.2)
    name = {"r_squared": "R²", "d_squared": "D²"}.get(curves.accuracy_name, curves.accuracy_name)
    return f"{name} in training", "The price of fairness"


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
