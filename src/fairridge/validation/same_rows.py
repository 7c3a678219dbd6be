"""Whether rows that were held out are rows that a model was fitted to."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairridge.data import Levels, Table
from fairridge.data.table import one_per_row
from fairridge.estimators._responses import Inputs
from fairridge.validation.scored_model import PassedRows

# Part of the held-out rows that must be among the training rows, which are mostly distinct.
MAX_SHARED_ROWS = 0.5


def refuse_training_rows(own: PassedRows, held_out: PassedRows) -> None:
    """Raise if most held-out rows are training rows, response included."""
    # Rows of few categorical columns often agree by chance. Then only the same rows in the same
    # number are recognized.
    training, held = own.read(), held_out.read()
    pairs = (training.table, held.table), (training.attributes, held.attributes)
    if any(table is not None and table.on_device for pair in pairs for table in pair):
        return  # rows on devices stay there
    columns: list[list[NDArray[Any]]] = []
    for pair in pairs:
        known = _column_pairs(*pair)
        if known is None:
            return
        columns += known
    n, n_held = training.table.shape[0], held.table.shape[0]
    cells = np.zeros(n + n_held, dtype=np.intp)
    responses = _responses((training, own.y), (held, held_out.y))
    for values in map(np.concatenate, (*columns, *responses)):
        codes = np.unique(values, return_inverse=True)[1]
        cells = np.unique(cells * (codes.max() + 1) + codes, return_inverse=True)[1]
        counts, counts_held = (
            np.bincount(part, minlength=len(cells)) for part in (cells[:n], cells[n:])
        )
        shared, same = int(counts_held[counts > 0].sum()), bool((counts == counts_held).all())
        if not same and shared <= MAX_SHARED_ROWS * n_held:
            return  # more columns only tell more rows apart
    if same or np.count_nonzero(counts == 1) > MAX_SHARED_ROWS * n:
        raise ValueError(
            f"{shared:,} of {n_held:,} held-out rows are training rows. Hold out rows that models "
            "have not seen, or the confidence means nothing."
        )


def _column_pairs(ours: Table | None, theirs: Table | None) -> list[list[NDArray[Any]]] | None:
    """Return the columns of some rows, each with that of others; None if these have others."""
    if ours is None or theirs is None:
        return []
    places = list(range(ours.shape[1]))
    if ours.names is None or theirs.names is None:
        if theirs.shape[1] != len(places):
            return None
    elif set(ours.names) <= set(theirs.names):
        places = [theirs.names.index(name) for name in ours.names]
    else:
        return None
    pairs = ((ours.column(k), theirs.column(place)) for k, place in enumerate(places))
    return [list(map(_values, pair)) for pair in pairs]


def _values(column: NDArray[Any] | Levels) -> NDArray[Any]:
    """Return numbers, or the names of levels; the code of a missing one, -1, picks the last."""
    if not isinstance(column, Levels):
        return np.asarray(column, dtype=np.float64)
    return np.array([*map(str, column.levels), ""])[column.codes]


def _responses(*sides: tuple[Inputs, Any]) -> list[list[NDArray[Any]]]:
    """Return the responses of both; of times and events the columns are enough."""
    _, y = sides[0]
    if len(getattr(y, "shape", ())) > 1 and y.shape[1] > 1:
        return []
    return [[one_per_row(v, rows.n_given, "y")[rows.keep].astype(str) for rows, v in sides]]
