"""Names of types: arrays, and what users may pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from narwhals.typing import IntoDataFrame, IntoSeries
    from scipy.sparse import sparray, spmatrix

    # A frame of any library, or an array of shape (n, k), which may be sparse.
    TableLike = IntoDataFrame | ArrayLike | sparray | spmatrix
    # A column of any library, or an array of shape (n,).
    VectorLike = IntoSeries | IntoDataFrame | ArrayLike
else:
    TableLike = VectorLike = Any

Floats = NDArray[np.float64]
Integers = NDArray[np.intp]
Booleans = NDArray[np.bool_]
# Columns of X, by name or position.
ColumnNames = str | int | Sequence[str | int | tuple[str | int, ...]]
# One bound for all of S, or one for each of several attributes by name.
Unfairness = float | Mapping[str, float]
# How to handle a category at prediction time that was absent when fitting.
UnknownLevels = Literal["error", "base", "mean"]
# How to handle missing values of S and X.
MissingValues = Literal["error", "level"]
