"""Frames and arrays in, one read-only view out.

A `Table` hides where the columns come from: pandas, polars, pyarrow (through
narwhals), NumPy or a sparse matrix. It copies nothing that is already numeric.
Responses, weights and offsets are vectors: one number per row, checked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Real
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from sklearn import get_config
from sklearn.utils.validation import column_or_1d

from fairridge._arrays import compat, detached, device_of, taken, to_host
from fairridge._typing import Floats, Integers
from fairridge._warnings import warn_user
from fairridge.arguments import listed, meant
from fairridge.data.levels import Levels, is_missing
from fairridge.data.series import array_column, as_numbers, series_column, values_of
from fairridge.exceptions import DataWarning

Column = NDArray[Any] | Levels
# Numbers of a frame up to which a copy of it costs nothing.
SMALL_FRAME_NUMBERS = 1 << 20


@dataclass(frozen=True)
class Table:
    """Columns of one input, looked up by position."""

    names: tuple[str, ...] | None  # column names; None for input that has none (arrays)
    shape: tuple[int, int]  # rows and columns
    source: Any  # where the columns are (ndarray, narwhals DataFrame or csr_array)
    prefix: str = "x"
    _columns: dict[int, Column] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def is_numeric_array(self) -> bool:
        """Whether the table is one 2-D array of numbers, which slices without a copy."""
        if isinstance(self.source, np.ndarray):
            return self.source.dtype.kind in "biuf"
        return self.on_device or self.is_sparse

    @cached_property
    def is_sparse(self) -> bool:
        """Whether the table is a sparse matrix."""
        return is_sparse(self.source)

    @cached_property
    def on_device(self) -> bool:
        """Whether the table is an array of another library, whose rows stay where they are."""
        return not (isinstance(self.source, np.ndarray | nw.DataFrame) or self.is_sparse)

    @property
    def backend(self) -> nw.Implementation | None:
        """The library that made the frame; None for arrays."""
        return self.source.implementation if isinstance(self.source, nw.DataFrame) else None

    def label(self, position: int) -> str:
        """Return how to call a column in messages and results."""
        return f"{self.prefix}{position}" if self.names is None else self.names[position]

    @property
    def labels(self) -> tuple[str, ...]:
        """What all columns are called."""
        return tuple(map(self.label, range(self.shape[1])))

    def column(self, position: int) -> Column:
        """Return one column: numbers, or codes into levels."""
        # Levels are learned from a column and then applied to it: read it once.
        if position not in self._columns:
            self._columns[position] = self._read(position)
        return self._columns[position]

    def _read(self, position: int) -> Column:
        if self.on_device:
            return self.source[:, position]
        if self.is_sparse:
            return np.asarray(self.source[:, [position]].toarray()[:, 0])
        if isinstance(self.source, np.ndarray):
            return array_column(self.source[:, position], self.label(position))
        if self._numbers is not None:
            return self._numbers[:, position]
        return series_column(self._series[position], self.label(position))

    @cached_property
    def _numbers(self) -> NDArray[Any] | None:
        """A small pandas frame of one type of numbers as an array; None for others."""
        # To take such a frame apart takes longer than to fit it.
        native = self.source.to_native()
        small = self.shape[0] * self.shape[1] <= SMALL_FRAME_NUMBERS
        if not small or not nw.dependencies.is_pandas_dataframe(native):
            return None
        types = set(native.dtypes.to_numpy())
        dtype = types.pop() if len(types) == 1 else None
        plain = isinstance(dtype, np.dtype) and dtype.kind in "biuf"
        return np.asarray(native.to_numpy()) if plain else None

    @cached_property
    def _series(self) -> tuple[Any, ...]:
        """All columns at once: to look up one, a frame may list the names of all of them."""
        native = self.source.to_native()
        if nw.dependencies.is_pandas_dataframe(native):
            return tuple(series for _, series in native.items())
        return tuple(self.source.iter_columns())

    def take(self, rows: Integers) -> Table:
        """Return the table with these rows only."""
        source = taken(self.source, rows, axis=0) if self.on_device else self.source[rows, :]
        return Table(self.names, (len(rows), self.shape[1]), source, self.prefix)

    def select(self, positions: Sequence[int]) -> Table:
        """Return the table with these columns only."""
        positions, at = list(positions), self.on_device
        if positions == list(range(self.shape[1])):
            return self
        source = taken(self.source, positions, axis=1) if at else self.source[:, positions]
        names = None if self.names is None else tuple(self.names[k] for k in positions)
        return Table(names, (self.shape[0], len(positions)), source, self.prefix)


def as_table(
    data: Any, *, argument: str = "X", devices: bool = False, sparse: bool = False
) -> Table:
    """Read a frame, a series or an array-like, without a copy if that is possible."""
    # `devices` and `sparse` say what else the caller computes on as it is.
    if isinstance(data, Table):
        return data
    names: tuple[str, ...] | None = None
    if sparse and is_sparse(data):
        source: Any = _as_csr(data)
    elif is_sparse(data) or (hasattr(data, "nnz") and hasattr(data, "toarray")):
        raise TypeError(
            f"Sparse data was passed for {argument}, but dense data is required. "
            "Use '.toarray()' to convert to a dense numpy array."
        )
    elif in_place(data):
        if not devices:
            raise ValueError(
                f"{argument} is {type(data).__name__} on {device_of(data)}, and rows are needed in "
                "main memory: pass NumPy arrays or a frame."
            )
        source = _as_columns(detached(data), argument)
    else:
        source = _as_frame(data, argument)
        if source is None:
            source = _as_array(data, argument)
    for size, what in zip(source.shape, ("sample(s)", "feature(s)"), strict=True):
        if size == 0:
            raise ValueError(
                f"Found array with 0 {what} (shape={tuple(source.shape)}) while a minimum of 1 is "
                f"required for {argument}."
            )
    if isinstance(source, nw.DataFrame):
        names = _names(source, argument)
    return Table(names, tuple(source.shape), source, "x" if argument == "X" else "s")


def in_place(array: Any) -> bool:
    """Whether rows in this array are summed where they are, by the library it belongs to."""
    # Arrays on a GPU are. Arrays in main memory of another library than NumPy
    # follow scikit-learn: they are if `array_api_dispatch` is on, and otherwise
    # become NumPy arrays.
    if isinstance(array, np.ndarray | np.generic | list | tuple | int | float | None):
        return False
    library = compat()
    if library is None or not library.is_array_api_obj(array) or library.is_numpy_array(array):
        return False
    if library.is_dask_array(array) or library.is_pydata_sparse_array(array):
        return False
    on_host = "cpu" in str(library.device(array)).lower()
    return not on_host or bool(get_config()["array_api_dispatch"])


def as_native(data: Any) -> Any:
    """Turn frames that narwhals does not read into ones that it reads; the rest stays as it is."""
    # A pyarrow RecordBatch becomes a Table, an Array a ChunkedArray, and sparse columns of pandas
    # become dense. Masked entries of a NumPy array are missing.
    if isinstance(data, np.ma.MaskedArray):
        if not np.ma.is_masked(data):
            return np.asarray(data)
        kind, gone = (np.float64, np.nan) if data.dtype.kind in "biuf" else (object, None)
        return np.asarray(np.ma.filled(data.astype(kind), gone))
    arrow, pandas = nw.dependencies.get_pyarrow(), nw.dependencies.get_pandas()
    if arrow is not None and isinstance(data, arrow.RecordBatch):
        return arrow.Table.from_batches([data])
    if arrow is not None and isinstance(data, arrow.Array):
        return arrow.chunked_array([data])
    if pandas is not None and isinstance(data, pandas.DataFrame) and data.columns.is_unique:
        kinds = data.dtypes.items()
        sparse = {name: t.subtype for name, t in kinds if isinstance(t, pandas.SparseDtype)}
        return data.astype(sparse) if sparse else data
    if pandas is not None and isinstance(data, pandas.Series):
        return data.sparse.to_dense() if isinstance(data.dtype, pandas.SparseDtype) else data
    return data


def _as_frame(data: Any, argument: str) -> nw.DataFrame[Any] | None:
    if isinstance(data, np.ndarray):  # narwhals tries every kind of frame first
        return None
    try:
        frame = nw.from_native(
            as_native(data), eager_only=True, allow_series=True, pass_through=True
        )
    except nw.exceptions.DuplicateError as error:
        names = list(data.column_names if nw.dependencies.is_pyarrow_table(data) else data.columns)
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(
            f"{argument} has more than one column named {twice!r}; rename them."
        ) from error
    if isinstance(frame, nw.Series):
        # A series without a name would make a frame without names.
        given: Any = frame.name
        name = "_".join(map(str, given)) if isinstance(given, tuple) else given
        frame = frame.alias(name or argument).to_frame()
    return frame if isinstance(frame, nw.DataFrame) else None


def _names(frame: nw.DataFrame[Any], argument: str) -> tuple[str, ...] | None:
    """Names, or None for a pandas frame whose columns are numbered only."""
    columns = frame.columns
    textual = [isinstance(name, str) for name in columns]
    if all(textual):
        return tuple(columns)
    if any(isinstance(name, tuple) for name in columns):
        raise TypeError(
            f"{argument} has column names of several levels, such as {columns[0]!r}; join them: "
            f"{argument}.columns = ['_'.join(map(str, name)) for name in {argument}.columns]."
        )
    if not any(textual):
        return None
    raise TypeError(
        f"Feature names are only supported if all input features have string names, but "
        f"{argument} mixes types. Convert them: {argument}.columns = "
        f"{argument}.columns.astype(str)."
    )


def _as_array(data: Any, argument: str) -> NDArray[Any]:
    if hasattr(data, "collect") and hasattr(data, "collect_schema"):
        raise TypeError(f"{argument} is a lazy frame; pass {argument}.collect().")
    array = np.asarray(as_native(data))
    if array.ndim == 0:
        _refuse_containers(data, argument)
    if array.dtype.kind in "US" and isinstance(data, list | tuple):
        array = np.asarray(data, dtype=object)
    return _as_columns(array, argument)


def _refuse_containers(data: Any, argument: str) -> None:
    """Raise for what holds values and is no array: a dict, a generator or another iterator."""
    if isinstance(data, Mapping):
        raise TypeError(
            f"{argument} is a dict; pass a frame, such as pandas.DataFrame({argument})."
        )
    if isinstance(data, Iterable) and not isinstance(data, str | bytes | np.ndarray):
        raise TypeError(f"{argument} is a {type(data).__name__}; pass a list, an array or a frame.")


def _as_columns(array: Any, argument: str) -> Any:
    """Return an array of two dimensions, of any library."""
    if "complex" in str(array.dtype):
        raise ValueError(f"Complex data not supported: {argument} must hold real numbers.")
    if array.ndim == 1 and argument != "X":
        array = array[:, None]
    if array.ndim != 2:
        shape = "scalar" if array.ndim == 0 else f"{array.ndim}D"
        raise ValueError(
            f"Expected 2D array, got {shape} array instead for {argument}. Reshape your data "
            "either using array.reshape(-1, 1) if it has a single feature or "
            "array.reshape(1, -1) if it contains a single sample."
        )
    return array


def is_sparse(data: Any) -> bool:
    """Whether data are a sparse matrix or array of SciPy."""
    return bool(issparse(data))


def _as_csr(data: Any) -> csr_array:
    """Return a sparse matrix by rows, in float64, without a copy of what has that form."""
    # Entries given twice are added up, as SciPy reads them.
    if data.ndim != 2:
        raise ValueError(f"Expected 2D array, got {data.ndim}D sparse array instead for X.")
    if data.dtype.kind not in "biuf":
        word = "Complex data not supported: " if data.dtype.kind == "c" else ""
        raise ValueError(f"{word}a sparse X must hold real numbers, not {data.dtype}.")
    matrix = csr_array(data, dtype=np.float64)
    if not matrix.has_canonical_format:
        if np.shares_memory(matrix.indices, getattr(data, "indices", ())):
            matrix = matrix.copy()  # the user's matrix stays as it is
        matrix.sum_duplicates()
    return matrix


def column_positions(
    columns: Any, names: tuple[str, ...] | None, n_columns: int, argument: str
) -> tuple[int, ...]:
    """Return positions of some columns of X, in the order in which an argument names them."""
    single = isinstance(columns, str) or np.ndim(columns) == 0
    wanted: Sequence[Any] = [columns] if single else list(columns)
    if not wanted:
        raise ValueError(f"{argument}=[] names no column; name at least one column of X.")
    positions = tuple(_position(item, names, n_columns, argument) for item in wanted)
    for k, position in enumerate(positions):
        if position in positions[:k]:
            label = f"x{position}" if names is None else names[position]
            raise ValueError(f"{argument} names column {label!r} more than once.")
    return positions


def _position(item: Any, names: tuple[str, ...] | None, n_columns: int, argument: str) -> int:
    if isinstance(item, str):
        if names is None:
            raise ValueError(
                f"{argument} names the column {item!r}, but X has no column names; pass a frame "
                "(the steps of a pipeline return frames after set_output(transform='pandas')), "
                f"or positions such as {argument}=[0]."
            )
        if item not in names:
            hint = meant(item, names)
            if any(name.endswith(f"__{item}") for name in names):
                hint = (
                    "A ColumnTransformer keeps names with verbose_feature_names_out=False and "
                    "set_output(transform='pandas')."
                )
            raise ValueError(f"{argument}: X has no column {item!r}. {hint}")
        return names.index(item)
    if isinstance(item, bool | np.bool_) or not isinstance(item, int | np.integer):
        raise TypeError(f"{argument} holds {item!r}; use column names or integer positions.")
    if not -n_columns <= item < n_columns:
        raise ValueError(
            f"{argument} names column {item}, but X has {n_columns} column(s), "
            f"0 to {n_columns - 1}."
        )
    return int(item) % n_columns


def located(
    table: Table,
    names: tuple[str, ...] | None,
    n_columns: int,
    argument: str,
    estimator_name: str,
    sensitive: Sequence[str] = (),
) -> list[int]:
    """Return the position of each column of the fit in a new table: by name if both have names."""
    # `sensitive` are the columns of X, by name, that only a model with S needs to predict.
    if names is not None and table.names is not None:
        places = {name: k for k, name in enumerate(table.names)}
        if set(places) != set(names):
            index = index_of(table) if table.shape[1] == 1 else None
            if index is not None and set(names).intersection(index):  # one row of a frame
                raise ValueError(
                    f"{argument} is a series with one value per column. Pass a frame of one row, "
                    f"such as {argument}.to_frame().T.infer_objects()."
                )
            raise ValueError(_other_columns(table.names, names, argument, sensitive))
        return [places[name] for name in names]
    if table.shape[1] != n_columns:
        raise ValueError(
            f"{argument} has {table.shape[1]} features, but {estimator_name} is expecting "
            f"{n_columns} features as input."
        )
    if names is not None:
        warn_user(
            f"{argument} does not have valid feature names, but {estimator_name} was fitted with "
            "feature names: columns are taken by position.",
            UserWarning,
        )
    return list(range(n_columns))


def _other_columns(
    found: tuple[str, ...], names: tuple[str, ...], argument: str, sensitive: Sequence[str]
) -> str:
    """Say which columns of the fit a frame lacks, and which it has beside them."""
    missing = [name for name in names if name not in found]
    extra = [name for name in found if name not in names]
    faults = []
    for columns, has, there in ((missing, "has no", "there"), (extra, "has", "not there")):
        if columns:
            plural, were = ("s", "were") if len(columns) > 1 else ("", "was")
            faults.append(
                f"{argument} {has} column{plural} {listed(columns)}, which {were} {there} at fit"
            )
    advice = "Pass the columns of the fit, in any order."
    if set(missing).intersection(sensitive):
        advice = (
            f"This model needs its sensitive columns ({listed(sensitive, write=str)}) to predict: "
            "add them, or use a model with blind=True, which needs them in fit only."
        )
    return f"{'; '.join(faults)}. {advice}"


def warn_of_order(**inputs: Any) -> None:
    """Warn of pandas indexes with the same labels in another order; rows go by position."""
    # `inputs` are what is read together, by the name of the argument.
    found = [(name, index_of(data)) for name, data in inputs.items() if data is not None]
    (first, index), *others = [pair for pair in found if pair[1] is not None] or [("", None)]
    names = [name for name, other in others if _reordered(index, other)]
    if names:
        other = names[-1]
        warn_user(
            f"{' and '.join(names)} {'have' if len(names) > 1 else 'has'} the index labels of "
            f"{first} in another order. Rows are paired by position, as in scikit-learn, and "
            f"labels are ignored: to pair them by label, pass {other}.loc[{first}.index]; if the "
            f"positions are right, pass {other}.reset_index(drop=True), and {first} likewise.",
            DataWarning,
        )


def index_of(data: Any) -> Any:
    """Return the index of a pandas frame or series; None for anything else."""
    source = data.source if isinstance(data, Table) else data
    if isinstance(source, np.ndarray):  # asked first, as most fits are of arrays or of small frames
        return None
    native = source.to_native() if isinstance(source, nw.DataFrame) else source
    pandas = nw.dependencies.is_pandas_dataframe(native) or nw.dependencies.is_pandas_series(native)
    return native.index if pandas else None


def _reordered(index: Any, other: Any) -> bool:
    """Whether two indexes have the same labels, and not in the same order."""
    if index is other or len(index) != len(other) or index.nlevels != other.nlevels:
        return False
    if index.equals(other):
        return False
    # Labels are hashed, as those of mixed types have no order. Most unequal indexes have
    # nothing in common, which their ends show.
    ends = index[[0, -1]].isin(other)
    return bool(ends.all() and index.isin(other).all() and other.isin(index).all())


# The largest weight, and its inverse, so that weighted sums of squares remain numbers.
MAX_WEIGHT = 1e250
# A row with less than this part of the largest weight adds nothing to any sum, nor does its square;
# a search that has to tell such rows apart overflows.
MIN_WEIGHT_RATIO = 1e-60


def one_per_row(values: Any, n_rows: int, argument: str) -> NDArray[Any]:
    """Read a vector with one entry per row of X."""
    if in_place(values):
        values = to_host(values)
    given, values = values, _values(values)
    if values.ndim == 0:
        _refuse_containers(given, argument)
        raise ValueError(f"{argument} is a single value; pass one value per row of X.")
    if argument != "y" and values.ndim == 2 and values.shape[1] > 1:  # of y scikit-learn says so
        raise ValueError(f"{argument} has {values.shape[1]} columns; pass one value per row of X.")
    # Of real numbers in one dimension scikit-learn says nothing, in a tenth of the time of a fit.
    plain = values.ndim == 1 and values.dtype.kind in "biuf"
    vector = values if plain else column_or_1d(values, warn=True)
    if len(vector) != n_rows:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: X has {n_rows} rows "
            f"but {argument} has {len(vector)}."
        )
    return np.asarray(vector)


def _values(data: Any) -> NDArray[Any]:
    """Return the values of a series, of a frame of one column, or of an array-like."""
    kind = getattr(data, "dtype", None)
    if isinstance(kind, np.dtype) and kind.kind in "biuf" and not np.ma.isMaskedArray(data):
        return np.asarray(data)  # in a tenth of the time, which shows in small models
    series = nw.from_native(as_native(data), eager_only=True, allow_series=True, pass_through=True)
    if isinstance(series, nw.DataFrame) and series.shape[1] == 1:
        series = series.get_column(series.columns[0])
    return values_of(series) if isinstance(series, nw.Series) else np.asarray(series)


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
    if vector.dtype.kind == "O":
        missing = np.array([is_missing(value) for value in vector.tolist()], dtype=bool)
    elif vector.dtype.kind in "Mm":
        missing = np.isnat(vector)
    elif vector.dtype.kind == "f":
        missing = ~np.isfinite(vector)
    if missing.any():
        found = listed_rows(np.arange(n_rows)[rows][missing])
        raise ValueError(
            f"Input {argument} contains NaN, missing values or infinity in {found}; "
            "drop those rows first."
        )
    return vector if vector.dtype.kind != "O" else _one_kind(vector.tolist(), argument)


def known_codes(truth: NDArray[Any], classes: Sequence[Any]) -> NDArray[np.intp]:
    """Return the codes of labels; raise unless they are classes of the model that sees the rows."""
    strange = [label for label in np.unique(truth).tolist() if label not in classes]
    if strange:
        raise ValueError(
            f"y has the label {strange[0]!r}, which is not a class of the model: these are "
            f"{', '.join(map(repr, classes))}."
        )
    places = {label: k for k, label in enumerate(classes)}
    return np.array([places[label] for label in truth.tolist()], dtype=np.intp)


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
        raise ValueError(_not_numbers(argument, np.asarray(vector[0]).item()))
    if vector.dtype.kind == "O":
        values = [np.nan if is_missing(value) else value for value in vector.tolist()]
        text = next((value for value in values if isinstance(value, str)), None)
        if text is not None:
            raise ValueError(_not_numbers(argument, text))
        vector = as_numbers(values, argument)
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
    if largest > 0.0 and not 1.0 / MAX_WEIGHT <= largest <= MAX_WEIGHT:
        size = "large" if largest > 1.0 else "small"
        raise ValueError(
            f"{argument} is too {size} to compute with (its largest value is {largest:g}); "
            "divide the weights by their mean."
        )
    light = (weight > 0.0) & (weight < MIN_WEIGHT_RATIO * largest)
    if light.any():
        raise ValueError(
            f"{argument} goes from {float(weight[light].min()):g} to {largest:g}: rows of less "
            f"than {MIN_WEIGHT_RATIO:g} of the largest weight add nothing; give them the weight 0."
        )


def _not_numbers(argument: str, value: Any) -> str:
    """Say that a vector holds text or dates; text in a response is classes."""
    if argument == "y" and isinstance(value, str):
        return (
            f"y holds text such as {value!r}, and this model predicts numbers. For classes use "
            "FairRidgeClassifier or FairStackingClassifier."
        )
    return f"{argument} must hold numbers, not values such as {value!r}."
