"""Sparse matrices of SciPy, as one form that the rest reads."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

__all__ = ["as_csr", "is_sparse", "refuse_sparse"]


def is_sparse(data: Any) -> bool:
    """Whether data are a sparse matrix or array of SciPy."""
    return bool(sparse.issparse(data))


def as_csr(data: Any) -> sparse.csr_array:
    """Return a sparse matrix by rows, in float64, without a copy of what has that form.

    Entries given twice are added up, as SciPy reads them.
    """
    if data.ndim != 2:
        raise ValueError(f"Expected 2D array, got {data.ndim}D sparse array instead for X.")
    if data.dtype.kind not in "biuf":
        word = "Complex data not supported: " if data.dtype.kind == "c" else ""
        raise ValueError(f"{word}a sparse X must hold real numbers, not {data.dtype}.")
    found = sparse.csr_array(data, dtype=np.float64)
    if not found.has_canonical_format:
        if np.shares_memory(found.indices, getattr(data, "indices", ())):
            found = found.copy()  # the user's matrix stays as it is
        found.sum_duplicates()
    return found


def refuse_sparse(data: Any, argument: str) -> None:
    """Raise for sparse data that dense ones are needed of."""
    if is_sparse(data) or (hasattr(data, "nnz") and hasattr(data, "toarray")):
        raise TypeError(
            f"Sparse data was passed for {argument}, but dense data is required. "
            "Use '.toarray()' to convert to a dense numpy array."
        )
