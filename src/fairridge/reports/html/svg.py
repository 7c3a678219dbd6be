"""Line charts over the bound, as SVG that the page's style sheet colors."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from fairridge._typing import Floats
from fairridge.reports.html.markup import Html, element, join
from fairridge.reports.html.numbers import bound

# The last point, without any bound, stands apart from the bounds that may bind.
BOUNDED_SHARE = 0.88


@dataclass(frozen=True)
class Margins:
    """Room around a plot for ticks and names, in units of the drawing."""

    left: float
    right: float
    top: float
    bottom: float


MARGINS = Margins(left=58.0, right=30.0, top=14.0, bottom=40.0)


@dataclass(frozen=True)
class Line:
    """One line of a chart."""

    values: Floats  # over the bounds, of shape (m,)
    style: str  # CSS classes: a color ``c0`` … ``c7``, and "dashed" or "dotted"
    label: str  # name, for a tooltip
    # A band around it, of shape (m,).
    low: Floats | None = None
    high: Floats | None = None
    term: int | None = None  # the row of a table that it belongs to
    view: str | None = None  # the view in which it is shown; always by default


class PathScale:
    """Where bounds stand on the horizontal axis, the same in all charts of a width.

    Parameters
    ----------
    bounds : ndarray of shape (m,)
        Increasing; the last one bounds nothing.
    width : float
        Of the drawing.
    """

    def __init__(self, bounds: Floats, width: float = 560.0) -> None:
        self.bounds, self.width, self.end = bounds, width, float(bounds[-2])
        # Where the plot ends, and how wide it is.
        self.right, self.room = width - MARGINS.right, width - MARGINS.left - MARGINS.right
        self.shares = np.append(BOUNDED_SHARE * bounds[:-1] / self.end, 1.0)
        self.pixels = MARGINS.left + self.room * self.shares

    def at(self, value: float) -> float:
        """Return where any bound stands."""
        return MARGINS.left + self.room * BOUNDED_SHARE * value / self.end

    def wider(self, width: float) -> PathScale:
        """Return the same scale for a drawing of another width."""
        return PathScale(self.bounds, width)


class Plot:
    """The vertical axis and the frame of one chart.

    Parameters
    ----------
    scale : PathScale
        The horizontal axis.
    lines : sequence of Line
        Lines, with bands, that the vertical axis must show.
    include : sequence of float
        Other values that it must show.
    height : float
        In units of the drawing.
    """

    def __init__(
        self, scale: PathScale, lines: Sequence[Line], include: Sequence[float], height: float
    ) -> None:
        self.scale, self.height = scale, height
        known = [*include]
        for line in lines:
            for values in (line.values, line.low, line.high):
                known += [] if values is None else values[np.isfinite(values)].tolist()
        low, high = min(known, default=0.0), max(known, default=0.0)
        if not high > low:
            low, high = low - 0.5 * (abs(low) or 1.0), high + 0.5 * (abs(high) or 1.0)
        margin = 0.06 * (high - low)
        self.low, self.high = low - margin, high + margin

    def y(self, value: float) -> float:
        """Return where a value stands."""
        share = (value - self.low) / (self.high - self.low)
        return MARGINS.top + (self.height - MARGINS.top - MARGINS.bottom) * (1.0 - share)

    def points(self, values: Floats) -> str:
        """Write a line; undefined values repeat their neighbor."""
        pairs = zip(self.scale.pixels, _filled(values), strict=True)
        return " ".join(f"{x:.1f},{self.y(value):.1f}" for x, value in pairs)

    def axes(self, label: str, *, as_percent: bool = False) -> Html:
        """Draw ticks and names."""
        right, bottom = self.scale.right, self.height - MARGINS.bottom
        parts = []
        ticks = nice_ticks(self.low, self.high)
        for tick, text in zip(ticks, tick_labels(ticks, as_percent=as_percent), strict=True):
            y = f"{self.y(tick):.1f}"
            parts.append(straight("grid", MARGINS.left, y, right, y))
            parts.append(
                element("text", text, class_="tick end", x=MARGINS.left - 8, y=y, dy="0.32em")
            )
        bounds: list[tuple[Any, str]] = [
            (f"{self.scale.at(tick):.1f}", bound(tick)) for tick in nice_ticks(0.0, self.scale.end)
        ]
        for x, text in (*bounds, (right, "none")):
            parts.append(straight("mark", x, bottom, x, bottom + 4))
            parts.append(element("text", text, class_="tick middle", x=x, y=bottom + 17))
        middle, name = f"{self.scale.at(self.scale.end / 2):.1f}", "bound on unfairness, r"
        parts.append(element("text", name, class_="name middle", x=middle, y=self.height - 6))
        return join([*parts, upright(label, (MARGINS.top + bottom) / 2)])


def chart(
    scale: PathScale,
    chosen: int,
    lines: Sequence[Line],
    *,
    title: str,
    label: str,
    height: float = 270.0,
    as_percent: bool = False,
    include: Sequence[float] = (),
    mark: Callable[[Plot], Html] | None = None,
    first_view: str | None = None,
) -> Html:
    """Draw lines over the bounds, with a cursor that the slider moves.

    `include` are values that the vertical axis shows in any case, `mark` draws
    on top of the lines, and `first_view` is the view that is shown at first.
    """
    plot = Plot(scale, lines, include, height)
    body = [plot.axes(label, as_percent=as_percent)]
    if plot.low < 0.0 < plot.high:
        y = f"{plot.y(0.0):.1f}"
        body.append(straight("zero", MARGINS.left, y, scale.right, y))
    x = f"{scale.pixels[chosen]:.1f}"
    return element(
        "svg",
        element("title", title),
        body,
        [_band(plot, line) for line in lines if line.low is not None],
        straight("chosen", x, MARGINS.top, x, height - MARGINS.bottom),
        [_line(plot, line, chosen, first_view) for line in lines],
        None if mark is None else mark(plot),
        straight("cursor", x, MARGINS.top - 6, x, height - MARGINS.bottom),
        class_="chart",
        role="img",
        viewBox=f"0 0 {scale.width:g} {height:g}",
        data_left=f"{MARGINS.left:g}",
        data_room=f"{scale.room:g}",
        style=f"--w:{scale.width:g}",
    )


def _line(plot: Plot, line: Line, chosen: int, first_view: str | None) -> Html:
    points = plot.points(line.values)
    x, y = points.split(" ")[chosen].split(",")
    return element(
        "g",
        element("title", line.label),
        element("polyline", class_=f"line {line.style}", points=points),
        element("circle", class_=f"dot {line.style}", cx=x, cy=y, r=4),
        data_term=line.term,
        data_view=line.view,
        hidden=line.view is not None and line.view != first_view,
    )


def straight(style: str, x1: Any, y1: Any, x2: Any, y2: Any) -> Html:
    """Draw a straight line."""
    return element("line", class_=style, x1=x1, x2=x2, y1=y1, y2=y2)


def upright(label: str, middle: float) -> Html:
    """Write the name of a vertical axis."""
    y = f"{middle:.1f}"
    turn = f"rotate(-90 12 {y})"
    return element("text", label, class_="name middle", x=12, y=y, transform=turn)


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


def _band(plot: Plot, line: Line) -> Html:
    assert line.low is not None
    assert line.high is not None
    back = " ".join(reversed(plot.points(line.low).split(" ")))
    color = line.style.split(" ")[0]
    return element("polygon", class_=f"band {color}", points=f"{plot.points(line.high)} {back}")


def _filled(values: Floats) -> Floats:
    known = np.isfinite(values)
    if known.all():
        return values
    if not known.any():
        return np.zeros(len(values))
    places = np.flatnonzero(known)
    nearest = np.abs(np.arange(len(values))[:, None] - places).argmin(axis=1)
    return values[places[nearest]]
