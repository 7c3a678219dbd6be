"""The price of fairness: accuracy and unfairness over the bound."""

from __future__ import annotations

import numpy as np

from fairridge._typing import Floats
from fairridge.markup import Html, element, section
from fairridge.reports.html.contents import Curve, ReportContents
from fairridge.reports.html.sections.measures import amount
from fairridge.reports.html.svg import Line, chart, line_style


def trade_off_section(contents: ReportContents) -> Html:
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
            _accuracy(contents, first),
            _unfairness(contents),
            (_accuracy(contents, curve) for curve in others),
            class_="figures",
        ),
    )


def _accuracy(contents: ReportContents, curve: Curve) -> Html:
    better = "higher" if curve.larger_is_better else "lower"
    lines = [Line(curve.training, "c1 dashed", "training rows")]
    if curve.held_out is not None:
        low, high = _band(curve)
        error = "" if low is None else " ± standard error"
        label = f"held-out rows, mean over folds{error}"
        lines.insert(0, Line(curve.held_out, "c0", label, low, high))
    caption, as_percent = f"{curve.name} ({better} is better)", curve.key == "accuracy"
    return chart(caption, contents, lines, label=curve.name, as_percent=as_percent)


def _unfairness(contents: ReportContents) -> Html:
    refits, whisker = contents.refits, None
    if refits is not None and refits.count:
        span = f"{amount(contents, refits.low)} to {amount(contents, refits.high)}"
        label = f"95 % of {refits.count} refits to resampled rows: {span}"
        whisker = refits.low, refits.high, label
    return chart(
        "Unfairness (lower is fairer)",
        contents,
        _unfairness_lines(contents),
        label="unfairness",
        as_percent=contents.unfairness[-1] == 1.0,
        include=[0.0],
        whisker=whisker,
    )


def _unfairness_lines(contents: ReportContents) -> list[Line]:
    curve, definition = contents.dependence, contents.subject.definition
    what = "of all attributes together" if contents.each else "what the bound is on"
    lines = [Line(contents.achieved, "c2", f"{definition}, {what}, in training")]
    for k, one in enumerate(contents.each, start=4):
        lines.append(Line(one.achieved, line_style(k), f"{one.attribute} alone, in training"))
    if not np.allclose(curve.training, contents.achieved, atol=1e-4):
        label = f"{curve.name}: training rows"
        lines.append(Line(curve.training, "c1 dashed", label))
    if curve.held_out is not None:
        low, high = _band(curve)
        low = None if low is None else np.maximum(low, 0.0)
        label = f"{curve.name}: held-out rows ± standard error"
        lines.append(Line(curve.held_out, "c0", label, low, high))
    if contents.on_predictions is not None:
        label = f"share of predicted means explained by S: {contents.main.rows} rows"
        lines.append(Line(contents.on_predictions, "c3 dotted", label))
    return lines


def _band(curve: Curve) -> tuple[Floats | None, Floats | None]:
    """Return the ends of one standard error around held-out values, if there is one."""
    if curve.held_out is None or curve.error is None or not curve.error.any():
        return None, None
    return curve.held_out - curve.error, curve.held_out + curve.error
