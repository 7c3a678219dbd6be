"""Responses, weights and offsets: one number per row, checked."""

from __future__ import annotations

from numbers import Real
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import column_or_1d

from fairridge._arrays import in_place, to_host
from fairridge._typing import Floats, Integers
from fairridge.data.levels import is_missing, levels_of_series
from fairridge.data.table import as_native

# The largest weight lies between these, so that weighted sums of squares remain numbers.
LEAST_WEIGHT, MOST_WEIGHT = 1e-250, 1e250
# A row with less than this part of the largest weight adds nothing to any sum, nor does its square;
# a search that has to tell such rows apart overflows.
LEAST_PART = 1e-60


def one_per_row(values: Any, n_rows: int, argument: str) -> NDArray[Any]:
    """Read a vector with one entry per row of X."""
    if in_place(values):
        values = to_host(values)
    series = nw.from_native(
        as_native(values), eager_only=True, allow_series=True, pass_through=True
    )
    if isinstance(series, nw.DataFrame) and series.shape[1] == 1:
        series = series.get_column(series.columns[0])
    values = values_of(series) if isinstance(series, nw.Series) else np.asarray(series)
    if values.ndim == 0:
        raise ValueError(f"{argument} is a single value; pass one value per row of X.")
    if argument != "y" and values.ndim == 2 and values.shape[1] > 1:  # of y scikit-learn says so
        raise ValueError(f"{argument} has {values.shape[1]} columns; pass one value per row of X.")
    vector = column_or_1d(values, warn=True)
    if len(vector) != n_rows:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: X has {n_rows} rows "
            f"but {argument} has {len(vector)}."
        )
    return np.asarray(vector)


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


def name_of(values: Any) -> str:
    """Return the name of a series, or of the first column of a frame; "" if it has none."""
    frame = nw.from_native(as_native(values), eager_only=True, allow_series=True, pass_through=True)
    if isinstance(frame, nw.Series):
        return "" if frame.name is None else str(frame.name)
    return str(frame.columns[0]) if isinstance(frame, nw.DataFrame) else ""


def labels(values: Any, n_rows: int, argument: str, rows: Any = slice(None)) -> NDArray[Any]:
    """Read class labels: all text, all numbers or all truth values, none of them missing."""
    if isinstance(values, list | tuple):
        values = np.array(values, dtype=object)  # else 1 beside "a" would become "1"
    vector = one_per_row(values, n_rows, argument)[rows]
    if vector.dtype.kind == "S":
        raise ValueError(f"{argument} holds bytes; turn them into text with astype(str).")
    missing = np.zeros(len(vector), dtype=bool)
    if vector.dtype.kind in "fMmO":
        missing = np.array([is_missing(value) for value in vector.tolist()], dtype=bool)
    if vector.dtype.kind == "f":
        missing |= np.isinf(vector)
    if missing.any():
        found = listed_rows(np.arange(n_rows)[rows][missing])
        raise ValueError(
            f"Input {argument} contains NaN, missing values or infinity in {found}; "
            "drop those rows first."
        )
    return vector if vector.dtype.kind != "O" else _one_kind(vector.tolist(), argument)


def _one_kind(values: list[Any], argument: str) -> NDArray[Any]:
    """Make an array of labels held as objects."""
    examples = {_kind(value): value for value in reversed(values)}
    if len(examples) > 1:
        (one, a), (other, b) = ((k, np.asarray(v).item()) for k, v in list(examples.items())[:2])
        raise ValueError(
            f"{argument} mixes labels such as {a!r} ({one}) and {b!r} ({other}); "
            "give all of them one type."
        )
    if "other objects" in examples:
        raise ValueError(
            f"{argument} holds labels such as {values[0]!r}; use text, numbers or truth values."
        )
    return np.array(values)


def _kind(value: Any) -> str:
    if isinstance(value, bool | np.bool_):
        return "a truth value"
    if isinstance(value, str):
        return "text"
    return "a number" if isinstance(value, Real) else "other objects"


def numeric_vector(values: Any, n_rows: int, argument: str, rows: Any = slice(None)) -> Floats:
    """Read a vector of finite numbers."""
    vector = one_per_row(values, n_rows, argument)[rows]
    if vector.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {argument} must hold real numbers.")
    if vector.dtype.kind in "USTMm":
        raise ValueError(
            f"{argument} must hold numbers, not values such as {np.asarray(vector[0]).item()!r}."
        )
    if vector.dtype.kind == "O":
        vector = _numbers_of_objects(vector, argument)
    vector = np.asarray(vector, dtype=np.float64)
    finite = np.isfinite(vector)
    if not finite.all():
        found = "NaN or missing values" if np.isnan(vector).any() else "infinity"
        bad = listed_rows(np.arange(n_rows)[rows][~finite])
        raise ValueError(f"Input {argument} contains {found} in {bad}; drop those rows first.")
    return vector


def listed_rows(rows: Integers, most: int = 5) -> str:
    """Name rows by their positions, which count from 0."""
    shown = ", ".join(map(str, rows[:most].tolist()))
    more = f" and {len(rows) - most:,} more" if len(rows) > most else ""
    return f"row{'s'[: len(rows) > 1]} {shown}{more} (counted from 0)"


def weights(sample_weight: Any, n_rows: int) -> Floats | None:
    """Read sample weights: non-negative, not all zero. None stays None."""
    if sample_weight is None:
        return None
    if isinstance(sample_weight, Real):
        sample_weight = np.full(n_rows, sample_weight, dtype=np.float64)
    vector = numeric_vector(sample_weight, n_rows, "sample_weight")
    if (vector < 0).any():
        row = int(np.argmax(vector < 0))
        raise ValueError(
            f"sample_weight has the negative value {vector[row]:g} at row {row}; "
            "weights must be zero or positive."
        )
    if not (vector > 0).any():
        raise ValueError("sample_weight is zero in every row; at least one must be positive.")
    require_usual_size(vector, "sample_weight")
    return vector


def require_usual_size(weight: Floats, argument: str) -> None:
    """Raise for weights so large or so small that weighted sums of squares overflow or vanish."""
    largest = float(weight.max(initial=0.0))
    if largest > 0.0 and not LEAST_WEIGHT <= largest <= MOST_WEIGHT:
        size = "large" if largest > 1.0 else "small"
        raise ValueError(
            f"{argument} is too {size} to compute with (its largest value is {largest:g}); "
            "divide the weights by their mean."
        )
    light = (weight > 0.0) & (weight < LEAST_PART * largest)
    if light.any():
        raise ValueError(
            f"{argument} goes from {float(weight[light].min()):g} to {largest:g}: rows of less "
            f"than {LEAST_PART:g} of the largest weight add nothing; give them the weight 0."
        )


def _numbers_of_objects(vector: NDArray[Any], argument: str) -> Floats:
    values = [np.nan if is_missing(value) else value for value in vector.tolist()]
    if any(isinstance(value, str) for value in values):
        raise ValueError(f"Unknown label type: {argument} must hold numbers, not strings.")
    return np.asarray(values, dtype=np.float64)
