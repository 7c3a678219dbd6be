"""What predictions add up to beside what was observed, in training and by group."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, cast

import numpy as np

from fairridge._typing import Floats
from fairridge.data import Encoding, Indicators, Rows
from fairridge.data.columns import CategoricalColumn
from fairridge.engines import MemoryEngine, columns_in_threads
from fairridge.families.base import ClassFamily
from fairridge.metrics.decisions import SMALL_GROUP_ROWS
from fairridge.metrics.groups import BINS, Grouping, numeric_grouping
from fairridge.metrics.intervals import CONFIDENCE, Estimate, ratios_of_totals
from fairridge.models import Fit

EVERYONE = "all rows"


def total_ratios(
    fit: Fit,
    engine: MemoryEngine,
    groupings: Sequence[Grouping],
    classes: Any = None,
) -> dict[str, dict[str, float]]:
    """Return Σ w predicted / Σ w observed of all training rows and of each group.

    Of several classes there is one for each. Groups of fewer than 30 rows are left out.

    Parameters
    ----------
    fit : Fit
        A model with means.
    engine : MemoryEngine
        All training rows.
    groupings : sequence of Grouping
        The groups by each attribute.
    classes : ndarray or None
        Labels of classes.

    Returns
    -------
    dict of str to dict
        `ratio`, and `low` and `high` of its 95 % interval (see `ratio_of_totals`), by
        ``all rows`` and ``attribute: group``, followed by `` → class`` of several classes.
    """
    predicted, observed = _columns(fit, engine)
    weight, found = engine.weights, {}
    suffixes = [""] if predicted.shape[1] == 1 else [f" → {label}" for label in classes]
    everyone = Grouping("", (EVERYONE,), np.zeros(len(weight), dtype=np.intp))
    parts = [everyone, *groupings]

    partitions = [(part.codes, len(part.labels)) for part in parts]
    outcomes = [
        ratios_of_totals(*pair, weight, CONFIDENCE, partitions)
        for pair in zip(predicted.T, observed.T, strict=True)
    ]
    for part, *each in zip(parts, *outcomes, strict=True):
        sizes = np.bincount(part.codes, minlength=len(part.labels))
        for j in np.flatnonzero(sizes >= (SMALL_GROUP_ROWS if part.attribute else 0)).tolist():
            label = part.labels[j]
            name = f"{part.attribute}: {label}" if part.attribute else label
            for suffix, ratios in zip(suffixes, each, strict=True):
                if np.isfinite(ratios[j].value):
                    found[f"{name}{suffix}"] = _plain(ratios[j])
    return found


def _plain(ratio: Estimate) -> dict[str, float]:
    return {"ratio": ratio.value, "low": ratio.low, "high": ratio.high}


def _columns(fit: Fit, engine: MemoryEngine) -> tuple[Floats, Floats]:
    """Return predictions and observations, one column per outcome."""
    basis, family = fit.basis, fit.family
    raw = np.atleast_2d(basis.raw_coefficients(fit.alpha, fit.beta))
    eta = engine.scores(raw) + np.atleast_1d(fit.mean_intercept) - raw @ basis.center
    eta = eta if engine.offset is None else eta + engine.offset[:, None]
    response = engine.response[:, :1]
    if family.reads == "numbers":
        return family.mean(family.to_contrasts(eta.T).T), response
    probability = cast(ClassFamily, family).probabilities(eta)
    observed = (response == np.arange(probability.shape[1])).astype(np.float64)
    one = slice(1 if probability.shape[1] == 2 else 0, None)
    return probability[:, one], observed[:, one]


def encoded_groupings(rows: Rows, encoding: Encoding) -> list[Grouping]:
    """Name the groups of encoded rows by each attribute, as `groupings` does.

    Products of several columns have groups of their own, which come last.
    """
    first, own = 0, {}
    for column in encoding.columns:
        own[first] = column
        first += column.width
    place, weight = 0, np.ones(rows.n_rows) if rows.weight is None else rows.weight
    attributes: list[Callable[[], Grouping]] = []
    for piece in rows.sensitive:
        if isinstance(piece, Indicators):
            column = cast(CategoricalColumn, own[place])
            others = [level for k, level in enumerate(column.levels) if k != column.base]
            labels = tuple(map(str, [column.levels[column.base], *others]))
            attributes.append(partial(Grouping, column.name, labels, piece.codes + 1))
        else:
            for k, values in enumerate(piece.values.T, start=place):
                named = partial(numeric_grouping, encoding.names[k], values, weight, BINS)
                attributes.append(named)
        place += piece.width
    return columns_in_threads(lambda attribute: attribute(), attributes, rows.n_rows)
