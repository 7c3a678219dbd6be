"""How well a model predicts rows that are not in memory, from sums over their batches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from fairridge._typing import Floats
from fairridge.families import Family
from fairridge.families.base import ClassFamily, with_class_weights
from fairridge.metrics.batches import Batches, Sums
from fairridge.metrics.scored_rows import ScoredRows
from fairridge.metrics.share_interval import moments_of_columns
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
    sums = batches.sum(_Deviance(plain))
    found = {"loss": evaluate.loss(plain, float(sums["deviance"]), sums["weight"])}
    if plain.reads == "classes":
        table = sums["confusion"]
        return found | {"accuracy": float(np.diag(table).sum() / table.sum())}
    y = sums["response"]
    squares, total = float(sums["squares"]), float(y.scatter[0, 0])
    if plain.least_squares:
        r_squared = evaluate.r_squared(squares, total, y.n_rows)
        return found | {"rmse": float(np.sqrt(squares / y.weight)), "r_squared": r_squared}
    level = _null_level(plain, sums)
    if level is None or not total > 0.0:
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
class _Deviance:
    """Sums of deviances, squares and classes."""

    family: Family

    def __call__(self, rows: ScoredRows) -> Sums:
        """Sum rows."""
        family, y, weight = self.family, rows.response, rows.weight
        eta = family.to_contrasts(rows.eta.T).T
        sums: dict[str, Any] = {
            "deviance": float(family.deviance_terms(y, eta, weight, 0).deviance),
            "weight": evaluate.size(family, y, weight),
        }
        if family.reads == "classes":
            classes = cast(ClassFamily, family)
            k = max(rows.eta.shape[1], 2)
            places = k * rows.codes + classes.likeliest(rows.eta)
            return Sums(sums | {"confusion": np.bincount(places, weight, k * k).reshape(k, k)})
        mean, logs = family.mean(eta)[:, 0], getattr(family, "log_sums", None)
        return Sums(
            sums
            | {
                "squares": float(weight @ (y[:, 0] - mean) ** 2),
                "response": moments_of_columns(y[:, :1], weight),
                "logs": None if logs is None else _Logs(logs(y, weight, rows.added)),
                "offset": int(rows.added is not None),
            }
        )


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
