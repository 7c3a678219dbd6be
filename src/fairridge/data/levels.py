"""Categorical columns: integer codes into ordered levels.

narwhals has no call for the declared order of a categorical column that holds
for every frame library, so the three libraries are asked in their own words;
any other goes through plain Python values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np

from fairridge._typing import Integers


@dataclass(frozen=True)
class Levels:
    """A categorical column."""

    codes: Integers  # position of each row's level; -1 if the value is missing
    # The levels in order: the declared order of a categorical column, sorted for strings. Declared
    # but empty levels are included.
    levels: tuple[Any, ...]

    def recode(self, levels: Sequence[Any]) -> Levels:
        """Code the same values by other levels; -2 if a value is not among them."""
        if tuple(levels) == self.levels:
            return self
        lookup = {level: code for code, level in enumerate(levels)}
        # The last entry serves code -1: a missing value stays missing.
        table = np.array([*(lookup.get(level, -2) for level in self.levels), -1], dtype=np.intp)
        return Levels(table[self.codes], tuple(levels))


def is_missing(value: Any) -> bool:
    """Whether a Python value is None, NaN, NaT or pandas.NA."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:  # pandas.NA does not know whether it equals itself
        return True


def levels_of_values(values: Sequence[Any]) -> Levels:
    """Code plain values by their sorted levels, as R's factor() does."""
    missing = [is_missing(value) for value in values]
    levels = sorted({value for value, gone in zip(values, missing, strict=True) if not gone})
    lookup = {level: code for code, level in enumerate(levels)}
    codes = (-1 if gone else lookup[value] for value, gone in zip(values, missing, strict=True))
    return Levels(np.fromiter(codes, np.intp, len(values)), tuple(levels))


def levels_of_series(series: nw.Series[Any]) -> Levels:
    """Code a string or categorical series."""
    native = series.to_native()
    if series.implementation.is_pandas():
        return _from_pandas(native)
    if series.implementation.is_polars():
        return _from_polars(native)
    if series.implementation.is_pyarrow():
        return _from_pyarrow(native)
    return levels_of_values(series.to_list())


def _from_pandas(native: Any) -> Levels:
    if hasattr(native, "cat"):
        return Levels(native.cat.codes.to_numpy().astype(np.intp), tuple(native.cat.categories))
    codes, levels = native.factorize(sort=True)
    return Levels(np.asarray(codes, dtype=np.intp), tuple(levels))


def _from_polars(native: Any) -> Levels:
    declared: Any = getattr(native.dtype, "categories", None)
    if hasattr(declared, "to_list"):  # an Enum; a Categorical declares no order of its own
        levels = tuple(declared.to_list())
        codes = native.to_physical().cast(int)
    else:
        text = native.cast(str)
        levels = tuple(text.drop_nulls().unique().sort().to_list())
        codes = text.replace_strict(list(levels), list(range(len(levels))), default=None).cast(int)
    return Levels(codes.fill_null(-1).to_numpy().astype(np.intp), levels)


def _from_pyarrow(native: Any) -> Levels:
    chunk = native.combine_chunks()
    declared = hasattr(chunk, "dictionary")
    if not declared:
        chunk = chunk.dictionary_encode()
    indices = chunk.indices.cast("int64").fill_null(-1).to_numpy(zero_copy_only=False)
    # A dictionary may hold a missing value, or a value twice.
    values = chunk.dictionary.to_pylist()
    levels = tuple(dict.fromkeys(value for value in values if not is_missing(value)))
    lookup = {level: code for code, level in enumerate(levels)}
    codes = np.array([*(lookup.get(value, -1) for value in values), -1], dtype=np.intp)
    found = Levels(codes[indices], levels)
    return found if declared else found.recode(sorted(found.levels))
