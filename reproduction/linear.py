"""Predictive and training RMSE of NCLM, FRRM and ZLM (section 5.1)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from fairridge import FairRidgeRegressor, KomiyamaRegressor, ZafarRegressor
from fairridge.estimators._training import unread_response
from reproduction.data import load
from reproduction.matching import matched_path
from reproduction.measures import (
    Coefficients,
    Fold,
    Measured,
    constant_path,
    errors,
    folds_of,
    over_folds,
)
from reproduction.settings import Floats, Settings

PAPER = ("C&C", "COMPAS", "NLSY", "LSAC", "GCR")
CORRECTED = ("C&C, all rows", "GCR, credit risk", "LSAC, race only")
SCALE_BOUND = 0.05
# Runs that have ZLM as fairml solves it at r = 0: an intercept, nearly always.
DROPPING_RUNS = 5


def linear_part(case: str, run: int, settings: Settings) -> pd.DataFrame:
    """One run of cross-validation, with the same folds for all models.

    NCLM and FRRM have the bound r. ZLM's bound on |COV(ŷ, S_j)| is the largest
    that either of them reached on the same training rows.
    """
    measured = partial(measured_fold, dropping=run < DROPPING_RUNS)
    return _over_folds(case, run, settings, measured)


def matched_part(case: str, run: int, settings: Settings) -> pd.DataFrame:
    """The same with ZLM at the R²_S of FRRM in the same training rows."""
    return _over_folds(case, run, settings, matched_fold)


def _over_folds(
    case: str, run: int, settings: Settings, measured: Callable[..., dict[str, Measured]]
) -> pd.DataFrame:
    data, bounds = load(case, settings), np.array(settings.bounds)
    folds = folds_of(data, settings.cut(len(data), run))
    return over_folds([measured(fold, bounds) for fold in folds], bounds)


def measured_fold(fold: Fold, bounds: Floats, dropping: bool = True) -> dict[str, Measured]:
    """Fit all models to the training rows, and measure them on both parts."""
    # The models' own problems on what is known of the rows, which there is nothing to read of.
    engine = fold.training.engine(len(fold.sensitive))
    measured: dict[str, Measured] = {}

    def fit(name: str, model: Any, limits: Floats) -> None:
        problem = model._problem_on(engine, unread_response(model))
        measured[name] = errors(fold, Coefficients.of(model._solve(problem, limits)))

    fit("FRRM", FairRidgeRegressor(), bounds)
    fit("NCLM", KomiyamaRegressor(), bounds)
    reached = np.maximum(*(measured[name]["covariance"] for name in ("FRRM", "NCLM")))
    limits = np.where(bounds > 0.0, reached, 0.0)
    fit("ZLM", ZafarRegressor(bound="covariance"), limits)
    if dropping:  # predictors with any covariance at r = 0, as fairml does
        zafar = ZafarRegressor(bound="covariance", at_zero="drop")
        fit("ZLM, dropping", zafar, limits[bounds == 0.0])
    measured["intercept only"] = errors(fold, constant_path(fold))
    return measured


def matched_fold(fold: Fold, bounds: Floats) -> dict[str, Measured]:
    """Fit FRRM, and ZLM with either of its bounds at the same R²_S."""
    Z, y, weight = fold.training.standing()
    model = FairRidgeRegressor(sensitive=fold.sensitive)
    ridge = model.path(Z, y, unfairness=bounds, sample_weight=weight)
    shares = fold.training_shares(ridge)
    measured = {"FRRM": errors(fold, ridge)}
    for bound in ("covariance", "correlation"):
        zafar = ZafarRegressor(bound=bound, sensitive=fold.sensitive)
        path = matched_path(fold, zafar, Z, y, shares, weight)
        measured[f"ZLM, {bound}"] = errors(fold, path)
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
