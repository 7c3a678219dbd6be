"""Predictive and training RMSE of NCLM, FRRM and ZLM (section 5.1)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairridge import FairRidgeRegressor, KomiyamaRegressor, ZafarRegressor
from fairridge.engines import Engine, KnownMoments, Moments
from fairridge.estimators._training import Training
from fairridge.experiments.measures import Lines, errors, pooled
from fairridge.experiments.settings import Fold, Settings
from fairridge.experiments.sources import load
from fairridge.experiments.table import Row

__all__ = ["CORRECTED", "PAPER", "linear_part"]

Floats = NDArray[np.float64]

PAPER = ("C&C", "COMPAS", "NLSY", "LSAC", "GCR")
CORRECTED = ("C&C, all rows", "GCR, gender corrected", "GCR, credit risk", "LSAC, race only")
# A column that keeps less of its scatter in the training rows has lost digits to the subtraction.
LEAST_LEFT = 0.1


@dataclass(frozen=True)
class Task:
    """A data set, read once.

    Attributes
    ----------
    training : Training
        Encoded rows.
    whole : Moments
        Of all rows.
    """

    training: Training
    whole: Moments

    def split(self, fold: Fold) -> tuple[Engine, Moments]:
        """Return the training rows by their moments, all rows less the fold, and the fold's."""
        train, test = fold
        part = self.training.engine_on(test).moments()
        rest = self.whole - part
        if (np.diag(rest.scatter) < LEAST_LEFT * np.diag(self.whole.scatter)).any():
            return self.training.engine_on(train), part
        engine = self.training.engine
        known = KnownMoments(
            rest, engine.names, engine.n_sensitive, lambda: self.training.engine_on(train)
        )
        return known, part


@lru_cache(maxsize=1)
def _task(case: str, settings: Settings) -> Task:
    data = load(case, settings)
    training = FairRidgeRegressor(sensitive=data.sensitive)._read(data.X, data.y, None, None, None)
    return Task(training, training.engine.moments())


def linear_part(case: str, run: int, settings: Settings) -> list[Row]:
    """One run of cross-validation, with the same folds for all models.

    NCLM and FRRM have the bound r. ZLM's bound on |COV(ŷ, S_j)| is the largest
    that either of them reached on the same training rows.
    """
    task = _task(case, settings)
    folds = [
        _fold(task, fold, np.array(settings.bounds))
        for fold in settings.cut(task.training.n_rows, run)
    ]
    results = {name: pooled([fold[name] for fold in folds]) for name in folds[0]}
    return [
        {"model": name, "r": r} | {key: values[k] for key, values in measured.items()}
        for name, measured in results.items()
        for k, r in enumerate(settings.bounds[: len(measured["rmse"])])
    ]


def _fold(task: Task, fold: Fold, bounds: Floats) -> dict[str, dict[str, Floats]]:
    """Fit all models to the training rows, and measure them on both parts."""
    engine, part = task.split(fold)
    response = task.training.response
    measured: dict[str, dict[str, Floats]] = {}

    def fit(name: str, model: Any, limits: Floats) -> None:
        problem = model._problem_on(engine, response)
        solutions = model._solve(problem, limits)
        active = [float(solution.choice.status != "inactive") for solution in solutions]
        lines = Lines.of(problem.basis, solutions)
        measured[name] = errors(lines, engine.moments(), part) | {"active": np.array(active)}

    fit("FRRM", FairRidgeRegressor(), bounds)
    fit("NCLM", KomiyamaRegressor(), bounds)
    reached = np.maximum(*(measured[name]["covariance"] for name in ("FRRM", "NCLM")))
    limits = np.where(bounds > 0.0, reached, 0.0)
    fit("ZLM", ZafarRegressor(bound="covariance"), limits)
    # As fairml has it at r = 0: predictors with any covariance are dropped.
    fit("ZLM, dropping", ZafarRegressor(bound="covariance", at_zero="drop"), limits[bounds == 0.0])
    measured["intercept only"] = _intercept_only(engine.moments(), part, len(bounds))
    return measured


def _intercept_only(train: Moments, test: Moments, m: int) -> dict[str, Floats]:
    k = len(train.mean) - 1
    nothing = Lines(np.zeros((m, k)), np.full(m, train.mean[k]), train.mean[:k], 1)
    return errors(nothing, train, test) | {"active": np.ones(m)}
