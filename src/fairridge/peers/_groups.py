"""Sensitive attributes that divide the rows into groups."""

from __future__ import annotations

from fairridge._typing import Floats, Integers
from fairridge._warnings import warn_user
from fairridge.data import Encoding, Rows
from fairridge.data.groups import Groups, attribute_values, learn_groups, require_discrete
from fairridge.engines import Engine, in_memory
from fairridge.estimators._training import Training
from fairridge.exceptions import DataWarning


def rows_of(engine: Engine, name: str) -> Rows:
    """Return the rows themselves, which models of groups need."""
    if not in_memory(engine):
        raise TypeError(f"{name} needs the rows in memory.")
    return engine.rows


def discrete_values(engine: Engine, name: str) -> Floats:
    """Return the values of the attributes, one column each; raise if one has more than 20."""
    rows = rows_of(engine, name)
    values = attribute_values(rows.sensitive)
    require_discrete(values, rows.sensitive, rows.names)
    return values


def groups_of(training: Training, name: str) -> tuple[Groups, Integers]:
    """Return the groups of training rows, and which row is in which."""
    values, encoding = discrete_values(training.engine, name), training.design.sensitive
    assert isinstance(encoding, Encoding)
    groups = learn_groups(values, encoding)
    if len(groups.labels) == 1:
        warn_user(
            f"all rows are in one group ({groups.labels[0]}): there is nothing to make fair.",
            DataWarning,
        )
    return groups, groups.codes(values)


def require_predictors(training: Training, name: str) -> None:
    """Raise if a model that predicts from X alone has no X."""
    if not training.design.positions_predictors:
        raise ValueError(
            f"{name} predicts from X without S, but X has {training.design.n_columns} feature(s) "
            "and all of them are sensitive."
        )
