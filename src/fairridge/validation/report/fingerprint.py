"""A fingerprint of training data, the same for every frame library."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairridge._typing import Floats
from fairridge.data import Levels, Table

__all__ = ["fingerprint"]


def fingerprint(tables: tuple[Table | None, ...], vectors: tuple[Floats | None, ...]) -> str:
    """Return a SHA-256 over names, levels and values.

    Parameters
    ----------
    tables : tuple of Table or None
        X, and S where it came separately.
    vectors : tuple of ndarray or None
        Response, weights and offset as numbers.
    """
    digest = sha256()
    for table in tables:
        for position in range(0 if table is None else table.shape[1]):
            assert table is not None
            digest.update(_header(table.label(position)))
            digest.update(_column(table.column(position)))
        digest.update(b"|")
    for vector in vectors:
        digest.update(b"" if vector is None else _numbers(vector))
        digest.update(b"|")
    return digest.hexdigest()


def _column(column: NDArray[Any] | Levels) -> bytes:
    if not isinstance(column, Levels):
        return _numbers(column)
    # Only levels that occur: text and categorical columns with the same values are the same data.
    present, codes = np.unique(column.codes, return_inverse=True)
    levels = [str(column.levels[code]) for code in present]
    order = np.argsort(levels, kind="stable")
    rank = np.empty(len(order), dtype="<i8")
    rank[order] = np.arange(len(order))
    return _header([levels[k] for k in order]) + rank[codes].tobytes()


def _numbers(values: NDArray[Any]) -> bytes:
    return np.ascontiguousarray(values, dtype="<f8").tobytes()


def _header(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=True).encode() + b"\n"
