"""The price of fairness: accuracy and unfairness over the bound."""

from __future__ import annotations

from functools import partial

import numpy as np

from fairridge._typing import Floats
from fairridge.reports.html.contents import Curve, Refits, ReportContents
from fairridge.reports.html.markup import Html, element
from fairridge.reports.html.sections.parts import amount, figure, legend, line_style, section
from fairridge.reports.html.svg import Line, PathScale, Plot, chart


def trade_off_section(contents: ReportContents, scale: PathScale) -> Html:
    """Return the trade-off."""
    first, *others = contents.accuracy
    return section(
        "trade-off",
        "Fairness against accuracy",
        element(
            "p",
            "Every point of these lines is a fitted model. The vertical line follows the "
            "slider; click a chart to move it. The dashed vertical line is the bound that was "
            "chosen.",
        ),
        element(
            "div",
            _accuracy(contents, scale, first),
            _unfairness(contents, scale),
            (_accuracy(contents, scale, curve) for curve in others),
            class_="figures",
        ),
    )


def _accuracy(contents: ReportContents, scale: PathScale, curve: Curve) -> Html:
    better = "higher" if curve.larger_is_better else "lower"
    lines, entries = [], []
    if curve.held_out is not None:
        low, high = _band(curve)
        error = "" if low is None else " ± standard error"
        lines.append(Line(curve.held_out, "c0", "held-out rows", low, high))
        entries.append(("c0", f"held-out rows, mean over folds{error}"))
    lines.append(Line(curve.training, "c1 dashed", "training rows"))
    entries.append(("c1 dashed", "training rows"))
    drawing = chart(
        scale,
        contents.chosen,
        lines,
        title=f"{curve.name} over the bound on unfairness",
        label=curve.name,
        as_percent=curve.name == "Accuracy",
    )
    return figure(f"{curve.name} ({better} is better)", drawing, legend(entries))


def _unfairness(contents: ReportContents, scale: PathScale) -> Html:
    lines, entries = _unfairness_lines(contents)
    refits, whisker, include = contents.refits, None, [0.0]
    if refits is not None and refits.count:
        include.append(refits.high)
        # Beside the cursor, which stands at the chosen bound at first.
        whisker = partial(_whisker, scale.pixels[contents.chosen] - 9.0, refits)
        span = f"{amount(contents, refits.low)} to {amount(contents, refits.high)}"
        entries.append(("whisker", f"95 % of {refits.count} refits to resampled rows: {span}"))
    drawing = chart(
        scale,
        contents.chosen,
        lines,
        title="Unfairness over the bound",
        label="unfairness",
        as_percent=contents.unfairness[-1] == 1.0,
        include=include,
        mark=whisker,
    )
    return figure("Unfairness (lower is fairer)", drawing, legend(entries))


def _unfairness_lines(contents: ReportContents) -> tuple[list[Line], list[tuple[str, str]]]:
    curve, definition = contents.dependence, contents.subject.definition
    lines = [Line(contents.achieved, "c2", f"{definition}, in training")]
    what = "of all attributes together" if contents.each else "what the bound is on"
    entries = [("c2", f"{definition}, {what}, in training")]
    for k, one in enumerate(contents.each, start=4):
        lines.append(Line(one.achieved, line_style(k), f"{one.attribute} alone, in training"))
        entries.append((line_style(k), f"{one.attribute} alone, in training"))
    if not np.allclose(curve.training, contents.achieved, atol=1e-4):
        lines.append(Line(curve.training, "c1 dashed", "dependence on S, training rows"))
        entries.append(("c1 dashed", f"{contents.dependence_name}: training rows"))
    if curve.held_out is not None:
        low, high = _band(curve)
        low = None if low is None else np.maximum(low, 0.0)
        lines.append(Line(curve.held_out, "c0", "dependence on S, held-out rows", low, high))
        entries.append(("c0", f"{contents.dependence_name}: held-out rows ± standard error"))
    predictions = contents.on_predictions
    if predictions is not None:
        lines.append(Line(predictions, "c3 dotted", "of predicted means"))
        where = f"share of predicted means explained by S: {contents.main.rows} rows"
        entries.append(("c3 dotted", where))
    return lines, entries


def _band(curve: Curve) -> tuple[Floats | None, Floats | None]:
    """Return the ends of one standard error around held-out values, if there is one."""
    if curve.held_out is None or curve.error is None or not curve.error.any():
        return None, None
    return curve.held_out - curve.error, curve.held_out + curve.error


def _whisker(x: float, refits: Refits, plot: Plot) -> Html:
    low, high = plot.y(refits.low), plot.y(refits.high)
    ends = "".join(f"M{x - 6:.1f},{y:.1f}h12" for y in (low, high))
    return element("path", class_="whisker", d=f"M{x:.1f},{low:.1f}V{high:.1f}{ends}")
