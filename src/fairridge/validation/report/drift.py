"""How the columns of new rows differ from those at fit."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from fairridge._typing import Floats
from fairridge.data.columns import CategoricalColumn
from fairridge.data.design import ColumnProfile, NumberSample, level_shares, share_between
from fairridge.data.rows import Indicators
from fairridge.metrics.batches import Batches
from fairridge.reports.html.contents import Drift
from fairridge.sources.batch import Sums
from fairridge.validation.report.rows import Read

# Shares below this count as this: an empty level would be infinitely far away.
MIN_SHARE = 1e-4
# Unknown levels are encoded as averages, which have no shares.
UNKNOWN_LEVELS = "Columns are not compared: some rows have levels unknown to the model."
NOTHING_KEPT = (
    "The model remembers nothing of {} that new rows could be compared with: its file was written "
    "by an earlier version of fairridge, or it was fitted to moments or on a GPU. Fit it again to "
    "see how columns change."
)


def drift_of(model: Any, batches: Batches) -> tuple[tuple[Drift, ...], str]:
    """Compare the encoded columns of new rows with those at fit, those that changed most first."""
    # Also says which columns cannot be compared, and why; "" if all can.
    sums = batches.sum(partial(_drift_sums, model))
    if sums["unknown"]:
        return (), UNKNOWN_LEVELS
    facts = model._fitted
    known = {profile.name: profile for profile in facts.profiles}
    n_sensitive = len(facts.design.sensitive.inner.columns)
    changes, unknown = [], []
    for k, column in enumerate(facts.design.columns):
        profile = known.get(column.name)
        if profile is None:
            unknown.append(column.name)
        else:
            shares = sums["columns"][column.name] / sums["weight"]
            changes.append(_drift(profile, shares, sums["rows"], k < n_sensitive))
    changes.sort(key=lambda each: -each.psi)
    what = "its columns" if not changes else f"some columns ({', '.join(unknown[:6])})"
    return tuple(changes), NOTHING_KEPT.format(what) if unknown else ""


def _drift_sums(model: Any, read: Read) -> Sums:
    """Sum the weights of rows by level, or tenth at fit, of every column; those of batches add."""
    facts, inputs = model._fitted, read[0]
    # Columns as they came are compared, and not what maps or intersections make of them.
    given = replace(
        facts.design,
        sensitive=replace(facts.design.sensitive.inner, products=()),
        predictors=facts.design.predictors.inner,
    )
    design, name, weight = facts.design, type(model).__name__, inputs.weight
    S, X = given.encode(inputs.table, inputs.attributes, model.unknown, estimator_name=name)
    pieces, n_rows = (*S, *X), inputs.table.shape[0]
    total, columns = float(inputs.weights.sum()), design.columns
    coded = sum(isinstance(piece, Indicators) for piece in pieces)
    if coded < sum(isinstance(column, CategoricalColumn) for column in columns):
        return Sums({"rows": n_rows, "weight": total, "unknown": 1, "columns": None})
    known = {profile.name: profile for profile in facts.profiles}
    levels, found = iter(level_shares(columns, pieces, weight)), {}
    numbers, at = NumberSample.of(pieces, n_rows, weight, most=max(n_rows, 1)), 0
    for column in columns:
        profile = known.get(column.name)
        if isinstance(column, CategoricalColumn):
            found[column.name] = total * next(levels)
        else:
            values, at = numbers.values[:, at], at + column.width
            if profile is not None:
                shares = share_between(profile.edges, values, numbers.weight)
                found[column.name] = total * shares
    return Sums({"rows": n_rows, "weight": total, "unknown": 0, "columns": Sums(found)})


def stability_index(before: Floats, now: Floats) -> float:
    """Return the population stability index, Σ (now − before) log(now/before)."""
    old, new = np.maximum(before, MIN_SHARE), np.maximum(now, MIN_SHARE)
    return float(((new - old) * np.log(new / old)).sum())


def _drift(profile: ColumnProfile, shares: Floats, n_rows: int, sensitive: bool) -> Drift:
    before = profile.shares
    k = int(np.argmax(np.abs(shares - before)))
    occupied = int(((before > 0.0) | (shares > 0.0)).sum())
    # To first order the index is a χ² statistic over the numbers of rows.
    by_chance = (occupied - 1) * (1.0 / n_rows + 1.0 / profile.n_rows)
    part = profile.levels[k] if profile.levels else _tenth(profile.edges, k)
    return Drift(
        profile.name,
        sensitive,
        stability_index(before, shares),
        by_chance,
        part,
        float(before[k]),
        float(shares[k]),
    )


def _tenth(edges: Floats, k: int) -> str:
    if k == 0:
        return f"up to {edges[0]:.4g}"
    if k == len(edges):
        return f"above {edges[-1]:.4g}"
    return f"{edges[k - 1]:.4g} to {edges[k]:.4g}"
