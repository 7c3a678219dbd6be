"""A model as lines of a table: one for every level, number, band and missing number.

Scorecards and tariffs are this table, on two scales.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairridge._typing import Floats
from fairridge.data.columns import MISSING, FilledColumn
from fairridge.export.form import InputColumn, LinearForm

NAN = float("nan")


@dataclass(frozen=True)
class Band:
    """Numbers from `low` to `high`, without `high`, and the number that stands for them."""

    low: float
    high: float
    typical: float
    members: Floats | None = None  # which rows are in it, if there are any

    @property
    def words(self) -> str:
        """A name that no spreadsheet takes for a date."""
        if not np.isfinite(self.low):
            return f"below {self.high:g}"
        if not np.isfinite(self.high):
            return f"from {self.low:g}"
        return f"{self.low:g} to {self.high:g}"


@dataclass(frozen=True)
class Line:
    """What a level, a band or one unit of a number adds to η, and to which rows."""

    # Weights are by place: 0 is the intercept, and k the k-th encoded column, from 1.

    attribute: str
    role: str
    level: str  # "" of a number without bands
    reference: float  # the number that the line stands for; NaN for levels
    adds: dict[int, float]  # weights of coefficients
    members: Any  # weights of columns in the share of a row that belongs here; or its shares

    @property
    def is_number(self) -> bool:
        """Whether this is a number without bands, which adds its coefficient per unit."""
        return self.reference == self.reference and not self.level


def weighted(weights: Mapping[int, float], values: Any) -> Any:
    """Return the sum of values by place, times their weights."""
    return sum((weight * values[place] for place, weight in weights.items()), 0.0 * values[0])


def lines_of(form: LinearForm, bands: Mapping[str, Sequence[Band]] | None = None) -> list[Line]:
    """Return the lines of a model, the base first: η of a row at all references."""
    # A number's reference is its training mean or, with bands, the number that stands for the band
    # of that mean; other bands add their distance from it.
    base = {0: 1.0}
    lines = [Line("(base)", "", "", NAN, base, {0: 1.0})]
    for column in form.columns:
        if column.levels:
            lines += _levels(column)
            continue
        mean = float(form.center[column.encoded.start])
        own = (bands or {}).get(column.name, ())
        inside = [band.typical for band in own if band.low <= mean < band.high]
        near = min(
            inside or [band.typical for band in own], key=lambda x: abs(x - mean), default=mean
        )
        base[1 + column.encoded.start] = near
        lines += _number(column, own, near)
    return lines


def _levels(column: InputColumn) -> Iterator[Line]:
    """Return the levels, the base level where it stands."""
    assert column.levels is not None
    places = range(1 + column.encoded.start, 1 + column.encoded.stop)
    each = [{place: 1.0} for place in places]
    adds, members = list(each), list(each)
    adds.insert(column.levels.base, {})
    members.insert(column.levels.base, {0: 1.0} | dict.fromkeys(places, -1.0))
    for level, *weights in zip(column.levels.levels, adds, members, strict=True):
        yield Line(column.name, column.role, str(level), NAN, *weights)


def _number(column: InputColumn, bands: Sequence[Band], reference: float) -> Iterator[Line]:
    """Return the bands of a number, or its unit; and the line of rows without it."""
    name, role, place = column.name, column.role, 1 + column.encoded.start
    if not bands:
        yield Line(name, role, "", reference, {place: 1.0}, {0: 1.0})
    for band in bands:
        adds = {place: band.typical - reference}
        yield Line(name, role, band.words, band.typical, adds, band.members)
    if isinstance(column.encoding, FilledColumn):
        adds = {place: column.encoding.mean - reference, place + 1: 1.0}
        yield Line(name, role, MISSING, NAN, adds, {place + 1: 1.0})
