"""What we would use today: mean parity, blind and certified models on the paper's data.

All through the library's `cross_validate`, on the folds of the other experiments.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from fairridge import BlindExactRegressor, FairRidgeClassifier, FairRidgeRegressor, cross_validate
from reproduction.data import Data, load
from reproduction.linear import PAPER
from reproduction.settings import Settings

LINEAR = PAPER
CLASSES = ("COMPAS, classes", "ADULT, isolated", "BANK")
BOUNDS = (0.0, 0.01, 0.05)
CERTIFIED, CONFIDENCE = 0.05, 0.95
RARE = 0.01


def linear_part(case: str, run: int, settings: Settings) -> pd.DataFrame:
    """FRRM, with an elastic net or LASSO instead of the ridge, blind, and certified."""
    data = load(case, settings)
    models = {
        "FRRM": FairRidgeRegressor(sensitive=data.sensitive),
        "elastic net": FairRidgeRegressor(sensitive=data.sensitive, penalty="elastic-net"),
        "lasso": FairRidgeRegressor(sensitive=data.sensitive, penalty="lasso"),
        "blind": FairRidgeRegressor(sensitive=data.sensitive, blind=True),
        "blind, exact": BlindExactRegressor(sensitive=data.sensitive),
    }
    certified = FairRidgeRegressor(sensitive=data.sensitive, confidence=CONFIDENCE)
    merged = replace(data, frame=merged_groups(data.frame, data.sensitive))
    return pd.concat(
        [
            _validated(models, data, run, settings, settings.bounds),
            _validated({"certified": certified}, merged, run, settings, (CERTIFIED,)),
        ]
    )


def merged_groups(frame: pd.DataFrame, sensitive: Sequence[str]) -> pd.DataFrame:
    """Merge groups of fewer than 1 % of the rows into one.

    Certificates are refused for groups of fewer than ten rows, as Native Americans are in folds
    of COMPAS.
    """
    out = frame.copy()
    for name in sensitive:
        if not pd.api.types.is_numeric_dtype(frame[name]):
            labels = frame[name].astype(object)
            shares = labels.map(labels.value_counts(normalize=True))
            out[name] = labels.where(shares >= RARE, "rare").astype("category")
    return out


def classes_part(case: str, run: int, settings: Settings) -> pd.DataFrame:
    """FGRRM, with a bound on the means instead of the deviance, and blind."""
    data = load(case, settings)
    models = {
        "FGRRM": FairRidgeClassifier(sensitive=data.sensitive),
        "mean parity": FairRidgeClassifier(sensitive=data.sensitive, definition="mean-parity"),
        "mean parity, blind": FairRidgeClassifier(
            sensitive=data.sensitive, definition="mean-parity", blind=True
        ),
    }
    return _validated(models, data, run, settings, BOUNDS)


def _validated(
    models: dict[str, Any], data: Data, run: int, settings: Settings, bounds: tuple[float, ...]
) -> pd.DataFrame:
    found = cross_validate(
        models, data.frame, data.y, unfairness=bounds, folds=settings.cut(len(data), run)
    )
    table = found.to_frame().rename(columns={"unfairness": "r"})
    wanted = ("rmse", "f1", "share_of_means", "decision_gap", "train_achieved")
    kept = [name for name in wanted if name in table]
    return table[["model", "r", "fold", *kept]]
