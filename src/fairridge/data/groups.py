"""Groups of rows: what discrete sensitive attributes, one or several together, divide them into."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fairridge._typing import Floats, Integers
from fairridge.data.columns import (
    MISSING,
    CategoricalColumn,
    Encoding,
    FilledColumn,
    Unknown,
    missing_message,
)
from fairridge.data.rows import Indicators, Piece

# Distinct values beyond which a column names no groups or classes: numbers measure something, and
# text is a name, a date or a comment.
MAX_CATEGORIES = 20


def attribute_values(pieces: Sequence[Piece]) -> Floats:
    """Return one column per attribute: its numbers, or the codes of its levels."""
    # Numbers that are missing in some rows have a second one, which marks them.
    columns = [
        piece.codes[:, None] if isinstance(piece, Indicators) else piece.values for piece in pieces
    ]
    return np.hstack(columns).astype(np.float64, copy=False)


def require_discrete(values: Floats, pieces: Sequence[Piece], names: Sequence[str]) -> None:
    """Raise if an attribute is a number that is missing, or that has many values."""
    column = start = 0
    for piece in pieces:
        coded = isinstance(piece, Indicators)
        for k in range(0 if coded else piece.width):
            gone = int(np.count_nonzero(~np.isfinite(values[:, column + k])))
            if gone:
                raise ValueError(missing_message({names[start + k]: gone}))
            distinct = len(np.unique(values[:, column + k]))
            if distinct > MAX_CATEGORIES:
                raise ValueError(
                    f"sensitive column {names[start + k]!r} has {distinct} distinct numbers, but "
                    "this model needs groups: cut it into intervals first, or pass it as text "
                    "where every value is a group of its own."
                )
        column += 1 if coded else piece.width
        start += piece.width


def group_codes(values: Floats) -> Integers:
    """Return the number of every row by the combination of their attributes' values."""
    _, codes = np.unique(values, axis=0, return_inverse=True)
    return codes.ravel().astype(np.intp, copy=False)


@dataclass(frozen=True)
class Groups:
    """The groups of the training rows."""

    # Values of the attributes in each group, in the order of `group_codes`, of shape (G, k).
    keys: Floats
    labels: tuple[str, ...]  # ``sex=f, race=white`` and the like
    encoding: Encoding  # how the attributes are encoded, for labels of new combinations

    def codes(self, values: Floats, unknown: Unknown = "error") -> Integers:
        """Return which of the training groups each new row is in."""
        # With unknown="base" a row of a new group counts to the first, that of the base levels if
        # it is there.
        distinct, inverse = np.unique(values, axis=0, return_inverse=True)
        known = {tuple(key): code for code, key in enumerate(self.keys)}
        codes = np.array([known.get(tuple(key), -1) for key in distinct], dtype=np.intp)
        if unknown == "base":
            codes = np.maximum(codes, 0)
        if (codes < 0).any():
            unseen = _label(self.encoding, distinct[np.argmin(codes)])
            raise ValueError(
                f"the group {unseen} was not there at fit, so nothing is known of its "
                f"predictions (groups: {'; '.join(self.labels)}). Use unknown='base' to treat "
                f"such rows as {self.labels[0]}."
            )
        return codes[inverse.ravel()]


def learn_groups(values: Floats, encoding: Encoding) -> Groups:
    """Learn the groups of the training rows."""
    keys = np.unique(values, axis=0)
    return Groups(keys, tuple(_label(encoding, key) for key in keys), encoding)


def _label(encoding: Encoding, key: Floats) -> str:
    parts, values = [], iter(key)
    for column in encoding.columns:
        value = next(values)
        if isinstance(column, FilledColumn):  # its mean, and whether the number is missing
            shown = MISSING if next(values) else f"{value:g}"
            parts.append(f"{column.name}={shown}")
        elif isinstance(column, CategoricalColumn):
            # Codes leave the base level out: it is -1.
            code = int(value)
            shifted = column.base if code < 0 else code + (code >= column.base)
            parts.append(f"{column.name}={column.levels[shifted]}")
        else:
            parts.append(f"{column.name}={value:g}")
    return ", ".join(parts)
