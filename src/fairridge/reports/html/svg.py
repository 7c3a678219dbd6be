"""Line charts over the bound, as SVG that the page's style sheet colors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from fairridge._typing import Floats
from fairridge.reports.html.markup import Html, element, join
from fairridge.reports.html.numbers import bound

__all__ = ["Chart", "Line", "PathScale", "Plot", "nice_ticks", "tick_labels"]


LEFT, RIGHT, TOP, BOTTOM = 58.0, 30.0, 14.0, 40.0
# The last point, without any bound, stands apart from the bounds that may bind.
BOUNDED = 0.88


@dataclass(frozen=True)
class Line:
    """One line of a chart.

    Attributes
    ----------
    values : ndarray of shape (m,)
        Over the bounds.
    style : str
        CSS classes: a color ``c0`` … ``c7``, and "dashed" or "dotted".
    label : str
        Name, for a tooltip.
    low, high : ndarray of shape (m,), optional
        A band around it.
    term : int, optional
        The row of a table that it belongs to.
    view : str, optional
        The view in which it is shown; always by default.
    """

    values: Floats
    style: str
    label: str
    low: Floats | None = None
    high: Floats | None = None
    term: int | None = None
    view: str | None = None


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
        self.bounds, self.width = bounds, width
        self.end = float(bounds[-2])
        self.shares = np.append(BOUNDED * bounds[:-1] / self.end, 1.0)
        self.pixels = LEFT + self.room * self.shares

    @property
    def room(self) -> float:
        """Width of the plot itself."""
        return self.width - LEFT - RIGHT

    @property
    def right(self) -> float:
        """Where the plot ends."""
        return self.width - RIGHT

    def at(self, value: float) -> float:
        """Return where any bound stands."""
        return LEFT + self.room * BOUNDED * value / self.end

    def wider(self, width: float) -> PathScale:
        """Return the same scale for a drawing of another width."""
        return PathScale(self.bounds, width)


class Plot:
    """The vertical axis and the frame of one chart.

    Parameters
    ----------
    scale : PathScale
        The horizontal axis.
    low, high : float
        What the vertical axis must show.
    height : float
        In units of the drawing.
    """

    def __init__(self, scale: PathScale, low: float, high: float, height: float) -> None:
        self.scale, self.height = scale, height
        if not high > low:
            low, high = low - 0.5 * (abs(low) or 1.0), high + 0.5 * (abs(high) or 1.0)
        margin = 0.06 * (high - low)
        self.low, self.high = low - margin, high + margin

    def y(self, value: float) -> float:
        """Return where a value stands."""
        share = (value - self.low) / (self.high - self.low)
        return TOP + (self.height - TOP - BOTTOM) * (1.0 - share)

    def points(self, values: Floats) -> str:
        """Write a line; undefined values repeat their neighbor."""
        filled = _filled(values)
        pairs = zip(self.scale.pixels, filled, strict=True)
        return " ".join(f"{x:.1f},{self.y(float(value)):.1f}" for x, value in pairs)

    def axes(self, label: str, *, as_percent: bool = False) -> Html:
        """Draw ticks and names."""
        right, bottom = self.scale.right, self.height - BOTTOM
        parts = []
        ticks = nice_ticks(self.low, self.high)
        for tick, text in zip(ticks, tick_labels(ticks, as_percent=as_percent), strict=True):
            y = f"{self.y(tick):.1f}"
            parts.append(element("line", class_="grid", x1=LEFT, x2=right, y1=y, y2=y))
            parts.append(element("text", text, class_="tick end", x=LEFT - 8, y=y, dy="0.32em"))
        for tick in nice_ticks(0.0, self.scale.end):
            x = f"{self.scale.at(tick):.1f}"
            parts.append(element("line", class_="mark", x1=x, x2=x, y1=bottom, y2=bottom + 4))
            parts.append(element("text", bound(tick), class_="tick middle", x=x, y=bottom + 17))
        parts.append(element("line", class_="mark", x1=right, x2=right, y1=bottom, y2=bottom + 4))
        parts.append(element("text", "none", class_="tick middle", x=right, y=bottom + 17))
        parts.append(
            element("text", "bound on unfairness, r", class_="name middle",
                    x=f"{self.scale.at(self.scale.end / 2):.1f}", y=self.height - 6)
        )  # fmt: skip
        middle = f"{(TOP + bottom) / 2:.1f}"
        parts.append(
            element("text", label, class_="name middle", x=12, y=middle,
                    transform=f"rotate(-90 12 {middle})")
        )  # fmt: skip
        return join(parts)


class Chart:
    """A chart of lines over the bounds, with a cursor that the slider moves.

    Parameters
    ----------
    scale : PathScale
        The horizontal axis.
    chosen : int
        Where the cursor is at first.
    """

    def __init__(self, scale: PathScale, chosen: int) -> None:
        self.scale, self.chosen = scale, chosen

    def draw(
        self,
        lines: Sequence[Line],
        *,
        title: str,
        label: str,
        height: float = 270.0,
        as_percent: bool = False,
        low: float | None = None,
        high: float | None = None,
        extra: Sequence[Html] = (),
        first_view: str | None = None,
        dots: bool = True,
    ) -> Html:
        """Draw lines; `extra` lies on top of them."""
        plot = self.plot(lines, height, low, high)
        body: list[Html] = [plot.axes(label, as_percent=as_percent)]
        if plot.low < 0.0 < plot.high:
            y = f"{plot.y(0.0):.1f}"
            body.append(element("line", class_="zero", x1=LEFT, x2=self.scale.right, y1=y, y2=y))
        body += [_band(plot, line) for line in lines if line.low is not None]
        x = f"{self.scale.pixels[self.chosen]:.1f}"
        body.append(element("line", class_="chosen", x1=x, x2=x, y1=TOP, y2=height - BOTTOM))
        for line in lines:
            body.append(self._line(plot, line, first_view, dots))
        body += extra
        body.append(element("line", class_="cursor", x1=x, x2=x, y1=TOP - 6, y2=height - BOTTOM))
        return element(
            "svg", element("title", title), body, class_="chart", role="img",
            viewBox=f"0 0 {self.scale.width:g} {height:g}", data_left=f"{LEFT:g}",
            data_room=f"{self.scale.room:g}", style=f"--w:{self.scale.width:g}",
        )  # fmt: skip

    def plot(
        self, lines: Sequence[Line], height: float, low: float | None, high: float | None
    ) -> Plot:
        """Return axes that show all lines and bands."""
        shown = [
            np.ravel(values)
            for line in lines
            for values in (line.values, line.low, line.high)
            if values is not None
        ]
        known = np.concatenate(shown) if shown else np.zeros(1)
        known = known[np.isfinite(known)]
        known = known if known.size else np.zeros(1)
        ends = [float(known.min()), float(known.max())]
        ends[0] = ends[0] if low is None else min(low, ends[0])
        ends[1] = ends[1] if high is None else max(high, ends[1])
        return Plot(self.scale, ends[0], ends[1], height)

    def _line(self, plot: Plot, line: Line, first_view: str | None, dots: bool) -> Html:
        points = plot.points(line.values)
        x, y = points.split(" ")[self.chosen].split(",")
        return element(
            "g",
            element("title", line.label),
            element("polyline", class_=f"line {line.style}", points=points),
            element("circle", class_=f"dot {line.style}", cx=x, cy=y, r=4) if dots else None,
            data_term=line.term,
            data_view=line.view,
            hidden=line.view is not None and line.view != first_view,
        )


def nice_ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Return round numbers within an interval."""
    rough = (high - low) / about
    # Ticks have twelve digits, which must tell them apart.
    if not (math.isfinite(rough) and rough > 1e-10 * max(abs(low), abs(high))):
        return [low]
    size = 10.0 ** math.floor(math.log10(rough))
    step = size * next(k for k in (1, 2, 5, 10) if k * size >= rough * (1 - 1e-9))
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [float(f"{k * step:.12g}") for k in range(first, last + 1)]


def tick_labels(ticks: Sequence[float], *, as_percent: bool = False) -> list[str]:
    """Write ticks with as many places as tell them apart, the same for all."""
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
    nearest = np.flatnonzero(known)[
        np.abs(np.arange(len(values))[:, None] - np.flatnonzero(known)).argmin(axis=1)
    ]
    return values[nearest]
