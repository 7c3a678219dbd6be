"""Whether rows that were held out are rows that a model was fitted to."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairridge.data import Levels, Table
from fairridge.data.table import one_per_row
from fairridge.estimators._responses import Inputs

Hashes = NDArray[np.uint64]

# Multipliers that mix bits (Steele, Lea and Flood 2014).
FIRST, SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
# Part of the held-out rows that must be among the training rows, which are mostly distinct.
MAX_SHARED_ROWS = 0.5


def refuse_training_rows(training: Inputs, y: Any, held: Inputs, y_held: Any) -> None:
    """Raise if most held-out rows are training rows, response included.

    Rows of few categorical columns often agree by chance. Then only the same
    rows in the same number are recognized.
    """
    tables = (training.table, training.attributes), (held.table, held.attributes)
    if any(table is not None and table.on_device for pair in tables for table in pair):
        return  # rows on devices stay there
    ours, theirs = _row_hashes(training, y), _row_hashes(held, y_held, like=training)
    if ours is None or theirs is None:
        return
    known, counts = np.unique(ours, return_counts=True)
    distinct = float(counts[counts == 1].sum()) > MAX_SHARED_ROWS * len(ours)
    shared = int(np.isin(theirs, known).sum())
    same = len(ours) == len(theirs) and bool((np.sort(ours) == np.sort(theirs)).all())
    if same or (distinct and shared > MAX_SHARED_ROWS * len(theirs)):
        raise ValueError(
            f"{shared:,} of {len(theirs):,} held-out rows are training rows. A rule that is tested "
            "on rows that models were fitted to has no confidence; hold other rows out."
        )


def _row_hashes(inputs: Inputs, y: Any, like: Inputs | None = None) -> Hashes | None:
    """Return a number for every row; columns are in the order of other rows, found by name."""
    found = np.zeros(inputs.table.shape[0], dtype=np.uint64)
    model = inputs if like is None else like
    for table, other in ((inputs.table, model.table), (inputs.attributes, model.attributes)):
        if table is None or other is None:
            continue
        places = list(range(other.shape[1]))
        if table.names is not None and other.names is not None:
            if not set(other.names) <= set(table.names):
                return None
            places = [table.names.index(name) for name in other.names]
        for k in places:
            found = _mixed(found, _column_hashes(table, k))
    shape: tuple[int, ...] = getattr(y, "shape", ())
    if len(shape) > 1 and shape[1] > 1:  # times and events: the columns are enough
        return found
    response = one_per_row(y, inputs.n_given, "y")[inputs.keep]
    values, codes = np.unique(response.astype(str), return_inverse=True)
    return _mixed(found, _text_hashes(values.tolist())[codes.reshape(-1)])


def _column_hashes(table: Table, k: int) -> Hashes:
    column = table.column(k)
    if isinstance(column, Levels):
        return _text_hashes([*map(str, column.levels), ""])[column.codes]
    # Zero has two signs.
    return (np.asarray(column, dtype=np.float64) + 0.0).view(np.uint64)


def _text_hashes(texts: list[str]) -> Hashes:
    digests = (hashlib.blake2b(text.encode(), digest_size=8).digest() for text in texts)
    return np.array([int.from_bytes(digest, "little") for digest in digests], dtype=np.uint64)


def _mixed(hashes: Hashes, column: Hashes) -> Hashes:
    """Add a column to the numbers of rows, so that its place matters."""
    mixed = (hashes ^ (hashes >> np.uint64(30))) * FIRST + column
    mixed = (mixed ^ (mixed >> np.uint64(27))) * SECOND
    found: Hashes = mixed ^ (mixed >> np.uint64(31))
    return found
