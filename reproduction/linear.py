"""Predictive and training RMSE of NCLM, FRRM and ZLM (section 5.1)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from fairridge import FairRidgeRegressor, KomiyamaRegressor, ZafarRegressor
from reproduction.data import load
from reproduction.measures import Fold, Measured, active, errors, pooled
from reproduction.settings import Floats, Settings

PAPER = ("C&C", "COMPAS", "NLSY", "LSAC", "GCR")
CORRECTED = ("C&C, all rows", "GCR, gender corrected", "GCR, credit risk", "LSAC, race only")
SCALE_BOUND = 0.05


def linear_part(case: str, run: int, settings: Settings) -> pd.DataFrame:
    """One run of cross-validation, with the same folds for all models.

    NCLM and FRRM have the bound r. ZLM's bound on |COV(ŷ, S_j)| is the largest
    that either of them reached on the same training rows.
    """
    data, bounds = load(case, settings), np.array(settings.bounds)
    folds = [
        measured_fold(Fold.of(data, train, test), bounds)
        for train, test in settings.cut(len(data), run)
    ]
    return pd.concat(
        pd.DataFrame({"model": name, "r": bounds[: len(found["rmse"])], **found})
        for name, found in ((name, pooled([fold[name] for fold in folds])) for name in folds[0])
    )


def measured_fold(fold: Fold, bounds: Floats) -> dict[str, Measured]:
    """Fit all models to the training rows, and measure them on both parts."""
    Z, y = fold.training
    measured: dict[str, Measured] = {}

    def fit(name: str, model: Any, limits: Floats) -> None:
        path = model.set_params(sensitive=fold.sensitive).path(Z, y, unfairness=limits)
        found = errors(fold, fold.linear_predictors(path))
        measured[name] = found | {"active": active(path)}

    fit("FRRM", FairRidgeRegressor(), bounds)
    fit("NCLM", KomiyamaRegressor(), bounds)
    reached = np.maximum(*(measured[name]["covariance"] for name in ("FRRM", "NCLM")))
    limits = np.where(bounds > 0.0, reached, 0.0)
    fit("ZLM", ZafarRegressor(bound="covariance"), limits)
    # As fairml has it at r = 0: predictors with any covariance are dropped.
    fit("ZLM, dropping", ZafarRegressor(bound="covariance", at_zero="drop"), limits[bounds == 0.0])
    constant = np.full((len(fold.y), len(bounds)), y.mean())
    measured["intercept only"] = errors(fold, constant) | {"active": np.ones(len(bounds))}
    return measured


def scale_part(case: str, run: int, settings: Settings) -> pd.DataFrame:
    """Training RMSE on all rows: FRRM in both units of S, and NCLM, which has none."""
    data = load(case, settings)
    models = {
        "FRRM": FairRidgeRegressor(SCALE_BOUND, standardize=True),
        "FRRM, raw S": FairRidgeRegressor(SCALE_BOUND, standardize=False),
        "NCLM": KomiyamaRegressor(SCALE_BOUND),
    }
    rows = []
    for name, model in models.items():
        model.set_params(sensitive=data.sensitive).fit(data.frame, data.labels)
        residual = data.y - model.predict(data.frame)
        rmse = float(np.sqrt(np.mean(residual**2)))
        rows.append({"model": name, "r": SCALE_BOUND, "train_rmse": rmse})
    return pd.DataFrame(rows)
