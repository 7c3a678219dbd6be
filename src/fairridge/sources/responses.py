"""How the response of a batch is read.

Each reader is a small object that travels to where the rows are, and turns
columns into what the family reads and into the targets whose moments are taken.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from fairridge._typing import Floats
from fairridge.data import log_exposure, numeric_vector
from fairridge.data.table import labels

# What the family reads, of shape (n, c), and the targets, of shape (n, m).
ValuesAndTargets = tuple[Floats, Floats]


@dataclass(frozen=True)
class Numbers:
    """A numeric response."""

    # Whether the offset is subtracted, which is all it means in a gaussian model.
    less_offset: bool = False

    def __call__(
        self, frame: nw.DataFrame[Any], names: tuple[str, ...], keep: Any, offset: Floats | None
    ) -> ValuesAndTargets:
        """Read one column of numbers."""
        if len(names) != 1:
            raise ValueError(f"response names {len(names)} columns; this model takes one.")
        values = numbers_of(frame, names[0], keep)
        if self.less_offset and offset is not None:
            values = values - offset
        return values[:, None], values[:, None]


@dataclass(frozen=True)
class Labels:
    """A response with known classes."""

    classes: NDArray[Any]  # the labels by code: of two the modeled one is last
    less_offset = False

    def __call__(
        self, frame: nw.DataFrame[Any], names: tuple[str, ...], keep: Any, offset: Floats | None
    ) -> ValuesAndTargets:
        """Read codes of classes, and 0/1 columns of them if there are more than two."""
        found = labels_of(frame, names[0], keep)
        order = np.argsort(self.classes)
        codes = order[np.searchsorted(self.classes[order], found)]
        values = codes.astype(np.float64)[:, None]
        if len(self.classes) == 2:
            return values, values
        return values, (codes[:, None] == np.arange(len(self.classes))).astype(np.float64)


@dataclass(frozen=True)
class Times:
    """Right-censored times: a column of times and one of events."""

    less_offset = False

    def __call__(
        self, frame: nw.DataFrame[Any], names: tuple[str, ...], keep: Any, offset: Floats | None
    ) -> ValuesAndTargets:
        """Read (time, event), with −log time as target."""
        if len(names) != 2:
            raise ValueError("a survival model takes response=[time, event]: two columns.")
        time, event = (numbers_of(frame, name, keep) for name in names)
        places = tuple(f"column {name!r}" for name in names)
        return times_and_events(time, event, places), -np.log(time)[:, None]


# `less_offset` says whether the offset is subtracted from the response.
ResponseReader = Numbers | Labels | Times


def times_and_events(time: Floats, event: Floats, places: tuple[str, ...]) -> Floats:
    """Return both as columns; a message says which of two places holds a wrong number."""
    if (time <= 0).any():
        raise ValueError(f"times must be positive; {places[0]} has {time[np.argmax(time <= 0)]:g}.")
    known = np.isin(event, (0.0, 1.0))
    if not known.all():
        raise ValueError(
            f"events must be 0 (censored) or 1 (event); {places[1]} has "
            f"{event[np.argmin(known)]:g}."
        )
    return np.column_stack([time, event])


def numbers_of(frame: nw.DataFrame[Any], name: str, keep: Any = slice(None)) -> Floats:
    """Read finite numbers of the rows that are kept."""
    return numeric_vector(frame.get_column(name), frame.shape[0], f"column {name!r}", keep)


def offset_of(frame: nw.DataFrame[Any], roles: Any, keep: Any = slice(None)) -> Floats | None:
    """Read what is added to η in the rows that are kept: the offset, and the log exposure."""
    offset = None if roles.offset is None else numbers_of(frame, roles.offset, keep)
    if roles.exposure is None:
        return offset
    column = frame.get_column(roles.exposure)
    shift = log_exposure(column, frame.shape[0], f"exposure column {roles.exposure!r}", keep)
    return shift if offset is None else shift + offset


def labels_of(frame: nw.DataFrame[Any], name: str, keep: Any = slice(None)) -> NDArray[Any]:
    """Read labels of the rows that are kept."""
    return labels(frame.get_column(name), frame.shape[0], f"column {name!r}", keep)
