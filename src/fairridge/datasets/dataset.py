"""What every loader returns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Literal

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

Backend = Literal["pandas", "polars", "pyarrow"]
BACKENDS: tuple[Backend, ...] = ("pandas", "polars", "pyarrow")


@dataclass(frozen=True)
class Column:
    """One column, independent of any frame library."""

    values: NDArray[Any]  # numbers; for a categorical column, codes into `levels`, of shape (n,)
    levels: tuple[str, ...] | None = None  # the levels in their order; None for a numeric column
    ordered: bool = False  # whether the order of the levels is a ranking


def choose_backend(backend: str | None) -> Backend:
    """Return the frame library to use."""
    # None takes the first of the three that is installed.
    if backend is not None and backend not in BACKENDS:
        raise ValueError(f"backend must be one of {', '.join(BACKENDS)} or None, not {backend!r}.")
    for candidate in BACKENDS:
        if backend in (None, candidate) and find_spec(candidate) is not None:
            return candidate
    missing = "none of pandas, polars and pyarrow" if backend is None else f"no {backend}"
    raise ImportError(
        f"A data set is returned as a frame, and there is {missing} to hold it. "
        "Install one of these libraries; pip install 'fairridge[data]' brings pandas."
    )


def _native(column: Column, backend: Backend, library: Any) -> Any:
    """Return what the frame constructor of the library takes for one column."""
    if column.levels is None:
        return column.values
    # narwhals makes an ordered categorical out of an Enum in pandas and none in
    # pyarrow, so each library gets its own call.
    codes, levels = column.values.astype(np.int32), list(column.levels)
    if backend == "pandas":
        return library.Categorical.from_codes(codes, categories=levels, ordered=column.ordered)
    if backend == "polars":
        return library.Series(levels, dtype=library.Enum(levels)).gather(codes)
    return library.DictionaryArray.from_arrays(codes, levels, ordered=column.ordered)


@dataclass(frozen=True, eq=False, repr=False)
class Dataset(Mapping[str, Any]):
    """A data set with its roles: response, sensitive attributes, family.

    The fields are attributes and, as in scikit-learn's Bunch, keys:
    ``data.frame`` is ``data["frame"]``.

    Attributes
    ----------
    name : str
        What the loader calls it.
    frame : pandas, polars or pyarrow frame
        All columns.
    X : frame of the same library
        All columns but the response.
    y : series or frame of the same library
        The response. For survival data a frame with the columns ``time`` and
        ``event``, whatever their names in `frame`.
    response : str or tuple of str
        The name of the response in `frame`; for survival data the names of the
        time and of the event.
    sensitive : list of str
        The sensitive attributes, all of them columns of `X`.
    family : {"gaussian", "binomial", "poisson", "multinomial", "cox"}
        The family of models for the response.
    description : str
        Source, license, citation, and what was changed.

    See Also
    --------
    load : Loads one.

    References
    ----------
    .. [1] docs/datasets.md.

    Examples
    --------
    >>> from fairridge.datasets import load_rossi
    >>> rossi = load_rossi()
    >>> print(rossi.sensitive, rossi["response"])
    ['race', 'age'] ('week', 'arrest')
    """

    name: str
    frame: Any
    X: Any
    y: Any
    response: str | tuple[str, ...]
    sensitive: list[str]
    family: str
    description: str

    # Frames do not compare to one truth value, so neither can data sets.
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def __getitem__(self, key: str) -> Any:
        if key not in list(self):
            raise KeyError(key)
        return getattr(self, key)

    def __iter__(self) -> Iterator[str]:
        return (field.name for field in fields(self))

    def __len__(self) -> int:
        return len(fields(self))

    def __repr__(self) -> str:
        rows, columns = nw.from_native(self.frame, eager_only=True).shape
        return (
            f"Dataset({self.name!r}, family={self.family!r}, rows={rows}, columns={columns}, "
            f"response={self.response!r}, sensitive={self.sensitive!r})"
        )


def build_dataset(
    columns: Mapping[str, Column],
    *,
    name: str,
    response: tuple[str, ...],
    sensitive: tuple[str, ...],
    family: str,
    description: str,
    backend: str | None,
) -> Dataset:
    """Give columns their roles and the user's kind of frame."""
    chosen = choose_backend(backend)
    library = import_module(chosen)
    native = {key: _native(column, chosen, library) for key, column in columns.items()}
    frame = nw.from_dict(native, backend=chosen)
    if family == "cox":
        time, event = response
        y: Any = frame.select(nw.col(time).alias("time"), nw.col(event).alias("event"))
    else:
        y = frame.get_column(response[0])
    return Dataset(
        name=name,
        frame=frame.to_native(),
        X=frame.drop(*response).to_native(),
        y=y.to_native(),
        response=response if family == "cox" else response[0],
        sensitive=list(sensitive),
        family=family,
        description=description,
    )
