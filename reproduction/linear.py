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
from reproduction.matching import Solve, correlated, matched_path
from reproduction.measures import (
    Coefficients,
    Fold,
    Measured,
    by_fold,
    constant_path,
    errors,
    folds_of,
)
from reproduction.settings import Floats, Settings

PAPER = ("C&C", "COMPAS", "NLSY", "LSAC", "GCR")
CORRECTED = ("C&C, all rows", "GCR, credit risk", "LSAC, race only")
SCALE_BOUND = 0.05
# Runs that have ZLM as fairml solves it at r = 0: an intercept, nearly always.
DROPPING_RUNS = 5


def linear_part(case: str, run: int, settings: Settings) -> pd.DataFrame:
    """One run of cross-validation, with the same folds for all models.

    NCLM and FRRM have the bound r. ZLM's bound is the largest |COV(ŷ, S_j)| that
    either of them reached on the same training rows, as printed, and likewise
    the largest |COR(ŷ, S_j)|, as in fairml until 0.7.
    """
    measured = partial(measured_fold, dropping=run < DROPPING_RUNS)
    return _by_fold(case, run, settings, measured)


def matched_part(case: str, run: int, settings: Settings) -> pd.DataFrame:
    """The same with ZLM at the R²_S of FRRM in the same training rows."""
    return _by_fold(case, run, settings, matched_fold)


def _by_fold(
    case: str, run: int, settings: Settings, measured: Callable[..., dict[str, Measured]]
) -> pd.DataFrame:
    data, bounds = load(case, settings), np.array(settings.bounds)
    folds = folds_of(data, settings.cut(len(data), run))
    return by_fold([measured(fold, bounds) for fold in folds], bounds)


def measured_fold(fold: Fold, bounds: Floats, dropping: bool = True) -> dict[str, Measured]:
    """Fit all models to the training rows, and measure them on both parts."""
    # The models' own problems on what is known of the rows, which there is nothing to read of.
    engine = fold.training.engine(len(fold.sensitive))
    measured: dict[str, Measured] = {}

    def solver(model: Any) -> Solve:
        problem = model._problem_on(engine, unread_response(model))
        return lambda limits: Coefficients.of(model._solve(problem, limits))

    def largest(measure: str) -> Floats:
        reached = [measured[name][measure] for name in ("FRRM", "NCLM")]
        return np.where(bounds > 0.0, np.maximum(*reached), 0.0)

    measured["FRRM"] = errors(fold, solver(FairRidgeRegressor())(bounds))
    measured["NCLM"] = errors(fold, solver(KomiyamaRegressor())(bounds))
    limits, zafar = largest("covariance"), solver(ZafarRegressor(bound="covariance"))
    measured["ZLM"] = errors(fold, zafar(limits))
    measured["ZLM, |COR|"] = errors(fold, correlated(fold, zafar, limits, largest("correlation")))
    if dropping:  # predictors with any covariance at r = 0, as fairml does
        zafar = solver(ZafarRegressor(bound="covariance", at_zero="drop"))
        measured["ZLM, dropping"] = errors(fold, zafar(limits[bounds == 0.0]))
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
