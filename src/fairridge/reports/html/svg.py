"""Charts as SVG that the page's style sheet colors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from fairridge._typing import Floats
from fairridge.markup import Html, element
from fairridge.reports.html.contents import Audited
from fairridge.reports.html.numbers import bound
from fairridge.reports.sketch import Scale, points_of

# Colors of the style sheet, and dashes that follow when all have been used.
COLORS, DASHES = 8, ("", " dashed", " dotted")
# The last point, without any bound, stands apart from the bounds that may bind.
BOUNDED_SHARE = 0.88
# Room around a plot for ticks and names, in units of the drawing.
LEFT, RIGHT, TOP, BOTTOM = 70.0, 30.0, 14.0, 42.0


class PathScale:
    """Where bounds stand on the horizontal axis, the same in all charts of a width."""

    # Bounds increase, and the last one bounds nothing.

    def __init__(self, bounds: Floats, width: float = 560.0) -> None:
        self.width, self.room = width, width - LEFT - RIGHT
        self.bounded = Scale(0.0, float(bounds[-2]), LEFT, LEFT + BOUNDED_SHARE * self.room)
        self.pixels = np.append(self.bounded.at(bounds[:-1]), width - RIGHT)
        self.shares = (self.pixels - LEFT) / self.room


@dataclass(frozen=True)
class Line:
    """One line of a chart over the bounds."""

    values: Floats  # of shape (m,)
    style: str  # CSS classes: a color ``c0`` … ``c7``, and "dashed" or "dotted"
    label: str  # name, for a tooltip and the legend
    # A band around it, of shape (m,).
    low: Floats | None = None
    high: Floats | None = None
    term: int | None = None  # the row of a table that it belongs to
    view: str | None = None  # the view in which it is shown; always by default
    kind: str = ""  # what all lines of the style are, for the legend


def line_style(color: int) -> str:
    """Return the style of a line: eight colors, then the same ones dashed, then dotted."""
    return f"c{color % COLORS}{DASHES[color // COLORS % len(DASHES)]}"


def figure(caption: str, drawing: Any, legend: dict[str, str], *remarks: Any) -> Html:
    """Make a figure with its caption above it, and a legend: styles of lines, and what they are."""
    entries = [
        element("li", element("i", class_=f"swatch {style}", aria_hidden="true"), " ", label)
        for style, label in legend.items()
    ]
    shown = element("ul", entries, class_="legend")
    return element("figure", element("figcaption", caption), drawing, shown, remarks)


def chart(
    caption: str,
    contents: Audited,
    lines: Sequence[Line],
    *,
    label: str,
    width: float = 560.0,
    height: float = 270.0,
    as_percent: bool = False,
    include: Sequence[float] = (),
    whisker: tuple[float, float, str] | None = None,
    first_view: str | None = None,
) -> Html:
    """Draw lines over the bounds, the first ones on top, with a cursor that the slider moves."""
    # `include` are values that the vertical axis shows in any case, and `first_view` is the view
    # that is shown at first; `whisker` is an interval at the chosen bound, and what it is.
    scale, chosen = PathScale(contents.unfairness, width), contents.chosen
    ends = [*include] if whisker is None else [*include, whisker[1]]
    drawn = [v for line in lines for v in (line.values, line.low, line.high) if v is not None]
    known = [*ends, *(v for values in drawn for v in values[np.isfinite(values)].tolist())]
    bottom, right, x = height - BOTTOM, scale.width - RIGHT, scale.pixels[chosen]
    y = Scale.around(known, bottom, TOP)
    bounds = [(scale.bounded.at(r), bound(r)) for r in nice_ticks(0.0, scale.bounded.high)]
    middle = scale.bounded.at(scale.bounded.high / 2)
    body = [
        vertical_axis(y, right, label, as_percent=as_percent),
        horizontal_axis([*bounds, (right, "none")], bottom, "bound on unfairness, r", middle),
        straight("zero", LEFT, y.at(0.0), right, y.at(0.0)) if y.low < 0.0 < y.high else None,
        [_band(line, scale, y) for line in lines],
        straight("chosen", x, TOP, x, bottom),
        [_line(line, scale, y, chosen, first_view) for line in lines[::-1]],
        None if whisker is None else _whisker(x - 9.0, *map(y.at, whisker[:2])),
        straight("cursor", x, TOP - 6, x, bottom),
    ]
    cursor = {"data_left": f"{LEFT:g}", "data_room": f"{scale.room:g}"}
    legend: dict[str, str] = {}
    for line in lines:
        legend.setdefault(line.style, line.kind or line.label)
    if whisker is not None:
        legend["whisker"] = whisker[2]
    return figure(caption, drawing(caption, scale.width, height, body, **cursor), legend)


def drawing(title: str, width: float, height: float, *body: Any, **attributes: Any) -> Html:
    """Make a drawing."""
    box = f"0 0 {width:g} {height:g}"
    attributes = {"class_": "chart", "viewBox": box, "style": f"--w:{width:g}"} | attributes
    return element("svg", element("title", title), body, role="img", **attributes)


def vertical_axis(y: Scale, right: float, label: str, *, as_percent: bool) -> list[Html]:
    """Draw ticks and a grid, and write the name upright."""
    ticks, middle = nice_ticks(y.low, y.high), f"{(y.start + y.end) / 2:.1f}"
    parts = [straight("grid", LEFT, y.at(tick), right, y.at(tick)) for tick in ticks]
    for tick, text in zip(ticks, tick_labels(ticks, as_percent=as_percent), strict=True):
        at = f"{y.at(tick):.1f}"
        parts.append(element("text", text, class_="tick end", x=LEFT - 8, y=at, dy="0.32em"))
    turn = f"rotate(-90 10 {middle})"
    return [*parts, element("text", label, class_="name middle", x=10, y=middle, transform=turn)]


def horizontal_axis(
    ticks: Sequence[tuple[float, str]], bottom: float, label: str, middle: float
) -> list[Html]:
    """Draw ticks, and write the name below them."""
    parts = [straight("mark", x, bottom, x, bottom + 4) for x, _ in ticks]
    texts = [*((x, 17, text, "tick") for x, text in ticks), (middle, 36, label, "name")]
    return parts + [
        element("text", text, class_=f"{style} middle", x=f"{x:.1f}", y=bottom + below)
        for x, below, text, style in texts
    ]


def straight(style: str, x1: float, y1: float, x2: float, y2: float) -> Html:
    """Draw a straight line."""
    places = {"x1": x1, "x2": x2, "y1": y1, "y2": y2}
    return element("line", class_=style, **{name: f"{at:.1f}" for name, at in places.items()})


def polyline(label: str, style: str, points: str, *dots: Html, **attributes: Any) -> Html:
    """Draw a line through points, with dots, and a tooltip."""
    line = element("polyline", class_=f"line {style}", points=points)
    return element("g", element("title", label), line, dots, **attributes)


def dot(style: str, point: str, r: float) -> Html:
    """Draw a dot at a point."""
    x, y = point.split(",")
    return element("circle", class_=f"dot {style}", cx=x, cy=y, r=r)


def nice_ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Return round numbers within an interval."""
    rough = (high - low) / about
    # Ticks have twelve digits, in which they must differ.
    if not (math.isfinite(rough) and rough > 1e-10 * max(abs(low), abs(high))):
        return [low]
    size = 10.0 ** math.floor(math.log10(rough))
    step = size * next(k for k in (1, 2, 5, 10) if k * size >= rough * (1 - 1e-9))
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [float(f"{k * step:.12g}") for k in range(first, last + 1)]


def tick_labels(ticks: Sequence[float], *, as_percent: bool = False) -> list[str]:
    """Write ticks with as many places as keep them distinct, the same for all."""
    scaled = [100.0 * tick if as_percent else tick for tick in ticks]
    unit = " %" if as_percent else ""
    largest = max((abs(tick) for tick in scaled), default=0.0)
    if largest >= 1e6 or 0.0 < largest < 1e-4:
        return [f"{tick:.2g}{unit}".replace("-", "−") for tick in scaled]
    step = min((b - a for a, b in pairwise(scaled)), default=1.0)
    places = max(0, -math.floor(math.log10(step) + 1e-9))
    return [f"{tick:,.{places}f}{unit}".replace("-", "−") for tick in scaled]


def _line(line: Line, scale: PathScale, y: Scale, chosen: int, first_view: str | None) -> Html:
    points = points_of(scale.pixels, y.at(_filled(line.values)))
    here = dot(line.style, points.split(" ")[chosen], 4)
    hidden = line.view is not None and line.view != first_view
    attributes = {"data_term": line.term, "data_view": line.view, "hidden": hidden}
    return polyline(line.label, line.style, points, here, **attributes)


def _band(line: Line, scale: PathScale, y: Scale) -> Html | None:
    if line.low is None or line.high is None:
        return None
    high, low = (points_of(scale.pixels, y.at(_filled(end))) for end in (line.high, line.low))
    back = " ".join(reversed(low.split(" ")))
    return element("polygon", class_=f"band {line.style.split(' ')[0]}", points=f"{high} {back}")


def _whisker(x: float, low: float, high: float) -> Html:
    ends = "".join(f"M{x - 6:.1f},{y:.1f}h12" for y in (low, high))
    return element("path", class_="whisker", d=f"M{x:.1f},{low:.1f}V{high:.1f}{ends}")


def _filled(values: Floats) -> Floats:
    """Give undefined values those of their neighbors."""
    known = np.isfinite(values)
    if known.all():
        return values
    if not known.any():
        return np.zeros(len(values))
    places = np.flatnonzero(known)
    nearest = np.abs(np.arange(len(values))[:, None] - places).argmin(axis=1)
    return values[places[nearest]]
