"""Groups of people too small for a certificate.

The certificate is about averages over people like those in the sample. A group
of a few rows has no such average: how unfair the model is to it, and how often
it occurs, are a matter of single people.
"""

from __future__ import annotations

import numpy as np

from fairridge._typing import Floats
from fairridge.engines import Engine

FEWEST = 10
# Levels that are named to describe the base level.
MOST_NAMED = 5


def small_groups(engine: Engine) -> dict[str, int]:
    """Return the groups with fewer than ten rows, and how many rows they have.

    Groups are the two values of a 0-1 column of S and the levels of a categorical
    one, the base level included; levels without rows do not count.

    Parameters
    ----------
    engine : Engine
        Where the rows are.
    """
    q = engine.n_sensitive
    columns = np.flatnonzero(engine.moments().binary[:q])
    if not columns.size:
        return {}
    names = [engine.names[k] for k in columns]
    attribute_of = {name: _attribute(name) for name in names}
    attributes = [name for name in dict.fromkeys(attribute_of.values()) if name is not None]

    def counts(y: Floats, Z: Floats, weight: Floats, offset: Floats | None) -> Floats:
        ones = Z[:, columns] > 0.5
        base = [
            ~ones[:, [attribute_of[name] == attribute for name in names]].any(axis=1)
            for attribute in attributes
        ]
        return np.column_stack([ones, *base]).sum(axis=0).astype(np.float64)

    rows = engine.sum_over_columns(counts, np.zeros(len(engine.names)))
    groups = [*names, *(_base_level(attribute, names) for attribute in attributes)]
    each = dict(zip(groups, rows.astype(int).tolist(), strict=True))
    each |= {
        f"{name} = 0": engine.n_rows - each[name]
        for name, attribute in attribute_of.items()
        if attribute is None
    }
    return {name: count for name, count in each.items() if 0 < count < FEWEST}


def _attribute(name: str) -> str | None:
    """Return the categorical column that an encoded column is a level of, if it is one."""
    column, bracket, _ = name.partition("[")
    return column if bracket and name.endswith("]") else None


def _base_level(attribute: str, names: list[str]) -> str:
    """Describe the base level of an attribute by the other levels, which have columns."""
    start = f"{attribute}["
    others = [name[len(start) : -1] for name in names if name.startswith(start)]
    if len(others) > MOST_NAMED:
        return f"the base level of {attribute}"
    return f"{attribute} other than {', '.join(others)}"


def require_rows_of_groups(engine: Engine) -> None:
    """Refuse to certify a bound for groups of fewer than ten rows, with their names."""
    small = small_groups(engine)
    if not small:
        return
    names = ", ".join(f"{name} ({count})" for name, count in small.items())
    raise ValueError(
        f"a bound cannot be certified for groups of fewer than {FEWEST} rows: {names}. Merge "
        "these groups with others in the data, collect more of their rows, or leave confidence out."
    )
