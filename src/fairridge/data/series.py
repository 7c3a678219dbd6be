"""One column of an array or a frame: numbers, or codes into levels."""

from __future__ import annotations

from datetime import date
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from fairridge._typing import Floats
from fairridge.data.levels import Levels, is_missing, levels_of_series, levels_of_values


def array_column(values: NDArray[Any], name: str) -> NDArray[Any] | Levels:
    """Read a column of an array."""
    if values.dtype.kind in "biuf":
        return values
    if values.dtype.kind == "T":
        return levels_of_values(values.tolist())
    if values.dtype.kind in "US":
        return levels_of_values(values.astype(str).tolist())
    if values.dtype.kind == "M":
        raise ValueError(_date_message(name, None))
    if values.dtype.kind != "O":
        raise ValueError(
            f"column {name!r} has type {values.dtype}; convert it to numbers, booleans or strings."
        )
    return _mixed_column(values.tolist(), name)


def series_column(series: Any, name: str) -> NDArray[Any] | Levels:
    """Read a series of narwhals or of pandas."""
    # Numbers that pandas keeps in NumPy's types have no nulls. Most columns are such, and to ask
    # for their nulls takes longer than to fit them.
    if isinstance(series.dtype, np.dtype) and series.dtype.kind in "biuf":
        return np.asarray(series.to_numpy())
    series = nw.from_native(series, series_only=True)
    dtype = series.dtype
    if isinstance(dtype, nw.Categorical | nw.Enum | nw.String):
        return levels_of_series(series)
    if dtype.is_numeric() or isinstance(dtype, nw.Boolean):
        # A null has no place in an integer array; as a float it is NaN, and found later.
        # NumPy has neither decimals nor integers of 128 bits.
        as_float = series.null_count() or isinstance(dtype, nw.Decimal | nw.Int128 | nw.UInt128)
        return (series.cast(nw.Float64) if as_float else series).to_numpy()
    if isinstance(dtype, nw.Object):
        return _mixed_column(series.to_list(), name)
    if isinstance(dtype, nw.Date | nw.Datetime):
        raise ValueError(_date_message(name, series))
    raise ValueError(
        f"column {name!r} has type {dtype}; convert it to numbers, booleans or strings."
    )


def _mixed_column(values: list[Any], name: str) -> NDArray[Any] | Levels:
    """Read Python objects: all strings, or all numbers."""
    missing = [is_missing(value) for value in values]
    textual = [isinstance(value, str) for value in values]
    if any(textual):
        if all(text or gone for text, gone in zip(textual, missing, strict=True)):
            return levels_of_values(values)
        raise ValueError(f"column {name!r} mixes strings and other values; make it one type.")
    filled = [np.nan if gone else value for value, gone in zip(values, missing, strict=True)]
    if any(isinstance(value, date) for value in filled):
        raise ValueError(_date_message(name, None))
    return as_numbers(filled, f"column {name!r}")


def as_numbers(values: list[Any], what: str) -> Floats:
    """Make an array of numbers; raise with the first value that is none, such as a date."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, OverflowError) as error:
        value = next(value for value in values if not _has_float(value))
        text = repr(value)
        text = text if len(text) <= 60 else f"{text[:60]}…"
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(
            f"{what} holds {text}: {error}. Convert it to numbers, booleans or strings."
        ) from error


def _has_float(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, OverflowError):
        return False
    return True


def _date_message(name: str, series: nw.Series[Any] | None) -> str:
    """Say what to make of dates."""
    days = days_since_1970(name, series)
    return f"Column {name!r} holds dates. Make numbers of them, such as days since 1970: {days}."


def days_since_1970(name: str, series: nw.Series[Any] | None) -> str:
    """Return the code that makes numbers of dates, those that the command line makes of them."""
    library = None if series is None else series.implementation
    days = f"(pandas.to_datetime(X[{name!r}]) - pandas.Timestamp('1970-01-01')).dt.days"
    if library is nw.Implementation.POLARS:
        text = series is not None and isinstance(series.dtype, nw.String)
        days = f"X[{name!r}]{'.str.to_date()' if text else ''}.dt.epoch('d')"
    elif library is nw.Implementation.PYARROW:
        days = f"X[{name!r}].cast('date32').cast('int32')"
    elif series is not None and getattr(series.dtype, "time_zone", None):
        local = f"X[{name!r}].dt.tz_localize(None)"
        days = f"({local} - pandas.Timestamp('1970-01-01')).dt.days"
    return days


def values_of(series: nw.Series[Any]) -> NDArray[Any]:
    """Return the values of a series; what is missing among categories is None."""
    if isinstance(series.dtype, nw.Int128 | nw.UInt128):  # NumPy has no such integers
        return np.array(series.to_list(), dtype=object)
    if isinstance(series.dtype, nw.Categorical | nw.Enum):
        found = levels_of_series(series)
        if (found.codes < 0).any():  # pyarrow would write one of the others in its place
            known = np.array([*found.levels, None], dtype=object)
            return np.asarray(known[found.codes])
    return np.asarray(series.to_numpy())
