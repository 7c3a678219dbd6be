"""How well a model predicts rows that are not in memory, from sums over their batches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fairridge._typing import Floats
from fairridge.families import Family
from fairridge.families.base import with_class_weights
from fairridge.metrics.batches import Batches, Sums
from fairridge.metrics.scored_rows import ScoredRows
from fairridge.validation import evaluate


@dataclass(frozen=True)
class _Logs:
    """Logarithms of sums, which those of other rows add to."""

    values: Floats

    def __add__(self, other: _Logs) -> _Logs:
        return _Logs(np.logaddexp(self.values, other.values))


def accuracy_in(batches: Batches, family: Family) -> dict[str, float]:
    """Return measures of accuracy as `accuracy_of` does, but the AUC, which bins have."""
    plain = with_class_weights(family, None)
    sums = batches.sum(_AccuracySums(plain))
    found = evaluate.accuracy_of_sums(plain, sums)
    if plain.reads == "classes" or plain.least_squares:
        return found
    level = _null_level(plain, sums)
    if level is None or not sums["response"].scatter[0, 0] > 0.0:
        return found
    null = float(batches.sum(_NullDeviance(plain, level)))
    return found | {"d_squared": 1.0 - float(sums["deviance"]) / null} if null > 0.0 else found


def _null_level(family: Any, sums: Sums) -> float | None:
    """Return the intercept of the null model; None if an offset hides it."""
    if sums["logs"] is not None:
        above, below = sums["logs"].values
        return float(above - below)
    mean = np.asarray(sums["response"].mean[0])
    return None if sums["offset"] else float(family.to_eta(mean))


@dataclass(frozen=True)
class _AccuracySums:
    """Sums of batches; it travels."""

    family: Family

    def __call__(self, rows: ScoredRows) -> Sums:
        """Sum rows, and what tells the null model."""
        sums, logs = (
            evaluate.accuracy_sums(self.family, rows),
            getattr(self.family, "log_sums", None),
        )
        known = None if logs is None else _Logs(logs(rows.response, rows.weight, rows.added))
        return Sums(sums.parts | {"logs": known, "offset": int(rows.added is not None)})


@dataclass(frozen=True)
class _NullDeviance:
    """The deviance of the model of an intercept, which keeps the offset."""

    family: Family
    level: float

    def __call__(self, rows: ScoredRows) -> float:
        """Sum rows."""
        shift = np.zeros(len(rows.weight)) if rows.added is None else rows.added
        eta = (self.level + shift)[:, None]
        return float(self.family.deviance_terms(rows.response, eta, rows.weight, 0).deviance)
