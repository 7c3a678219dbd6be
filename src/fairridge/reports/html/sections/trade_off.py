"""The price of fairness: accuracy and unfairness over the bound."""

from __future__ import annotations

import numpy as np

from fairridge.reports.html.contents import Curve, ReportContents
from fairridge.reports.html.markup import Html, element
from fairridge.reports.html.sections.parts import amount, figure, legend, section
from fairridge.reports.html.svg import Chart, Line, PathScale

__all__ = ["trade_off_section"]

HEIGHT = 270.0


def trade_off_section(contents: ReportContents, scale: PathScale) -> Html:
    """Return the trade-off."""
    return section(
        "trade-off",
        "Fairness against accuracy",
        element(
            "p",
            "Every point of these lines is a fitted model. The vertical line follows the "
            "slider; click a chart to move it. The dashed vertical line is the bound that was "
            "chosen.",
        ),
        element("div", _figures(contents, scale), class_="figures"),
    )


def _figures(contents: ReportContents, scale: PathScale) -> list[Html]:
    first, *others = contents.accuracy
    return [
        _accuracy(contents, scale, first),
        _unfairness(contents, scale),
        *(_accuracy(contents, scale, curve) for curve in others),
    ]


def _accuracy(contents: ReportContents, scale: PathScale, curve: Curve) -> Html:
    better = "higher" if curve.larger_is_better else "lower"
    lines, entries = [], []
    if curve.held_out is not None:
        low = high = None
        label = "held-out rows, mean over folds"
        if curve.error is not None and curve.error.any():
            low, high = curve.held_out - curve.error, curve.held_out + curve.error
            label += " ± standard error"
        lines.append(Line(curve.held_out, "c0", "held-out rows", low, high))
        entries.append(("c0", label))
    lines.append(Line(curve.training, "c1 dashed", "training rows"))
    entries.append(("c1 dashed", "training rows"))
    chart = Chart(scale, contents.chosen).draw(
        lines,
        title=f"{curve.name} over the bound on unfairness",
        label=curve.name,
        as_percent=curve.name == "Accuracy",
    )
    return figure(f"{curve.name} ({better} is better)", chart, legend(entries))


def _unfairness(contents: ReportContents, scale: PathScale) -> Html:
    lines, entries = _unfairness_lines(contents)
    refits = contents.refits
    chart, extra, most = Chart(scale, contents.chosen), [], 0.0
    if refits is not None and refits.count:
        most = refits.high
        plot = chart.plot(lines, HEIGHT, 0.0, most)
        # Beside the cursor, which stands at the chosen bound at first.
        x = float(scale.pixels[contents.chosen]) - 9.0
        extra = [_whisker(x, plot.y(refits.low), plot.y(refits.high))]
        span = f"{amount(contents, refits.low)} to {amount(contents, refits.high)}"
        entries.append(("whisker", f"95 % of {refits.count} refits to resampled rows: {span}"))
    drawing = chart.draw(
        lines,
        title="Unfairness over the bound",
        label="unfairness",
        height=HEIGHT,
        as_percent=contents.unfairness[-1] == 1.0,
        low=0.0,
        high=most,
        extra=extra,
    )
    return figure("Unfairness (lower is fairer)", drawing, legend(entries))


def _unfairness_lines(contents: ReportContents) -> tuple[list[Line], list[tuple[str, str]]]:
    curve, definition = contents.dependence, contents.subject.definition
    lines = [Line(contents.achieved, "c2", f"{definition}, in training")]
    entries = [("c2", f"{definition}, what the bound is on, in training")]
    if not np.allclose(curve.training, contents.achieved, atol=1e-4):
        lines.append(Line(curve.training, "c1 dashed", "dependence on S, training rows"))
        entries.append(("c1 dashed", f"{contents.dependence_name}: training rows"))
    if curve.held_out is not None:
        low = high = None
        if curve.error is not None and curve.error.any():
            low = np.maximum(curve.held_out - curve.error, 0.0)
            high = curve.held_out + curve.error
        lines.append(Line(curve.held_out, "c0", "dependence on S, held-out rows", low, high))
        entries.append(("c0", f"{contents.dependence_name}: held-out rows ± standard error"))
    predictions = contents.on_predictions
    if predictions is not None:
        lines.append(Line(predictions, "c3 dotted", "of predicted means"))
        where = f"share of predicted means explained by S: {contents.main.rows} rows"
        entries.append(("c3 dotted", where))
    return lines, entries


def _whisker(x: float, low: float, high: float) -> Html:
    ends = "".join(f"M{x - 6:.1f},{y:.1f}h12" for y in (low, high))
    return element("path", class_="whisker", d=f"M{x:.1f},{low:.1f}V{high:.1f}{ends}")
