"""What a report on new rows shows, gathered before anything is drawn."""

from __future__ import annotations

from dataclasses import dataclass

from fairridge.inference import Certificate
from fairridge.reports.html.contents import Audited


@dataclass(frozen=True)
class NewRowsMeasure:
    """One number on the new rows, beside what it was in training.

    Attributes
    ----------
    key, name : str
        What is measured, for programs and for readers.
    training : float
        In training; NaN if the model does not know it.
    value : float
        On the new rows.
    low, high : float
        Ends of the interval of the value; NaN if there is none.
    is_share : bool
        Whether it is a share, such as those of the variance.
    """

    key: str
    name: str
    training: float
    value: float
    low: float
    high: float
    is_share: bool


@dataclass(frozen=True)
class Drift:
    """How the distribution of one column has changed since the fit.

    Attributes
    ----------
    name : str
        The input column.
    sensitive : bool
        Whether it is a sensitive attribute.
    psi, by_chance : float
        Population stability index, and its mean if nothing has changed.
    part : str
        The level, or the tenth of the training rows, that has changed most.
    before, now : float
        The share of rows there, in training and now.
    """

    name: str
    sensitive: bool
    psi: float
    by_chance: float
    part: str
    before: float
    now: float


@dataclass(frozen=True, kw_only=True)
class NewRowsContents(Audited):
    """Everything that a report on new rows shows, beside its groups.

    Attributes
    ----------
    bounded : str
        Key of the measure that the bound is on; "" if none of them is.
    measures, accuracy : tuple of NewRowsMeasure
        Dependence on S, and measures of accuracy.
    refits : int
        Resamplings of the rows that the intervals rest on.
    drift : tuple of Drift
        Columns, those that changed most first.
    no_drift : str
        Why columns are missing there; "" if none is.
    certificate : Certificate or None
        What the bound promised.
    """

    bounded: str
    measures: tuple[NewRowsMeasure, ...]
    accuracy: tuple[NewRowsMeasure, ...]
    refits: int
    drift: tuple[Drift, ...]
    no_drift: str = ""
    certificate: Certificate | None = None
