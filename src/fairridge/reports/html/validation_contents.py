"""What a report on new rows shows, gathered before anything is drawn."""

from __future__ import annotations

import math
from dataclasses import dataclass

from fairridge.inference import Certificate
from fairridge.metrics.measure import Measure
from fairridge.reports.html.contents import Audited


@dataclass(frozen=True)
class NewRowsMeasure:
    """One number on the new rows, beside what it was in training."""

    # What is measured, for programs and for readers.
    key: str
    name: str
    training: float  # in training; NaN if the model does not know it
    value: float  # on the new rows
    # Ends of the interval of the value; NaN if there is none.
    low: float
    high: float
    is_share: bool  # whether it is a share, such as those of the variance
    adjusted: float = math.nan  # the value less what chance alone explains; NaN if there is none

    def verdict(self, r: float) -> str:
        """Compare the interval with a bound: "within" it, "above" it, "undecided" or "unknown"."""
        if not math.isfinite(self.high):
            return "unknown"
        if self.high <= r:
            return "within"
        return "above" if self.low > r else "undecided"


@dataclass(frozen=True)
class BoundOnRows:
    """What a bound is on: of all of S, or of an attribute with a bound of its own."""

    measure: Measure
    r: float  # NaN of a model without a bound
    found: NewRowsMeasure


@dataclass(frozen=True)
class Drift:
    """How the distribution of one column has changed since the fit."""

    name: str  # the input column
    sensitive: bool  # whether it is a sensitive attribute
    # Population stability index, and its mean if nothing has changed.
    psi: float
    by_chance: float
    part: str  # the level, or the tenth of the training rows, that has changed most
    # The share of rows there, in training and now.
    before: float
    now: float


@dataclass(frozen=True, kw_only=True)
class NewRowsContents(Audited):
    """Everything that a report on new rows shows, beside its groups."""

    bounds: tuple[BoundOnRows, ...]  # what each bound is on, on these rows
    # Dependence on S, with that first, and measures of accuracy.
    measures: tuple[NewRowsMeasure, ...]
    accuracy: tuple[NewRowsMeasure, ...]
    drift: tuple[Drift, ...] = ()  # columns, those that changed most first
    no_drift: str = ""  # why columns are missing there; "" if none is
    certificate: Certificate | None = None  # what the bound promised
    called: str = "new rows"  # what the rows are; those of a model without a memory are "rows"
    left_out: str = ""  # what the page lacks, and why; "" if nothing

    @property
    def bounded(self) -> tuple[Measure, ...]:
        """What is bounded: of all of S, or of each attribute with a bound of its own."""
        return tuple(one.measure for one in self.bounds)

    @property
    def bound_on(self) -> NewRowsMeasure:
        """What is bounded first, or of a model without a bound compared, on these rows."""
        return self.bounds[0].found
