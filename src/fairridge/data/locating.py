"""Where columns stand: those that an argument names, and those of the fit in new rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fairridge._warnings import warn_user
from fairridge.data.table import Table

__all__ = ["column_positions", "located"]


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
                f"{argument} names the column {item!r}, but X has no column names; "
                f"pass a frame, or positions such as {argument}=[0]."
            )
        if item not in names:
            raise ValueError(f"X has no column {item!r}; it has {', '.join(names)}.")
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
    table: Table, names: tuple[str, ...] | None, n_columns: int, argument: str, estimator_name: str
) -> list[int]:
    """Return where each column of the fit stands in a new table: by name if both have names."""
    if names is not None and table.names is not None:
        places = {name: k for k, name in enumerate(table.names)}
        known = set(names)
        missing = [name for name in names if name not in places]
        extra = [name for name in table.names if name not in known]
        if missing or extra:
            raise ValueError(
                "; ".join(
                    [
                        f"{argument} lacks column {name!r}, which was there at fit"
                        for name in missing
                    ]
                    + [
                        f"{argument} has column {name!r}, which was not there at fit"
                        for name in extra
                    ]
                )
                + ". Pass the columns of the fit; their order does not matter."
            )
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
