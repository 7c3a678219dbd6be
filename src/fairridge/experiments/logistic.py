"""F1 of ZLRM and FGRRM (section 5.2)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairridge import FairRidgeClassifier, ZafarClassifier
from fairridge.estimators._training import Training
from fairridge.experiments.measures import (
    Lines,
    Side,
    acceptance_gap,
    classification_counts,
    f1,
    group_counts,
)
from fairridge.experiments.settings import Fold, Settings
from fairridge.experiments.sources import load
from fairridge.experiments.table import Row
from fairridge.fairness import StatisticalParity

__all__ = ["PAPER", "logistic_part"]

Floats = NDArray[np.float64]

PAPER = ("ADULT", "BANK", "COMPAS, classes")


@dataclass(frozen=True)
class Task:
    """A data set, read once.

    Attributes
    ----------
    training : Training
        Encoded rows.
    seeds : dict of str to object
        Where each model starts in every fold.
    """

    training: Training
    seeds: dict[str, Any]


MODELS: dict[str, Any] = {
    "FGRRM": FairRidgeClassifier(),
    # As fairml has it: the share of deviance depends on the origin of S.
    "FGRRM, uncentered": FairRidgeClassifier(definition=StatisticalParity(center=False)),
    "ZLRM": ZafarClassifier(bound="covariance"),
    # As fairml has it at r = 0: predictors with any covariance are dropped.
    "ZLRM, dropping": ZafarClassifier(bound="covariance", at_zero="drop"),
}


@lru_cache(maxsize=1)
def _task(case: str, settings: Settings) -> Task:
    data = load(case, settings)
    training = FairRidgeClassifier(sensitive=data.sensitive)._read(data.X, data.y, None, None, None)
    seeds = {name: model._problem(training).seed() for name, model in MODELS.items()}
    return Task(training, seeds)


def logistic_part(case: str, run: int, settings: Settings) -> list[Row]:
    """One run of cross-validation, with the same folds for both models.

    ZLRM's bound on |COV(η, S_j)| is the largest that FGRRM reached on the same
    training rows.
    """
    task = _task(case, settings)
    folds = [
        _fold(task, fold, np.array(settings.bounds))
        for fold in settings.cut(task.training.n_rows, run)
    ]
    rows: list[Row] = []
    for name in MODELS:
        stacked = {key: np.array([fold[name][key] for fold in folds]) for key in folds[0][name]}
        measured = {
            "f1": f1(stacked.pop("counts").sum(axis=0)),
            "train_f1": f1(stacked.pop("train_counts").sum(axis=0)),
            "gap": acceptance_gap(stacked.pop("groups").sum(axis=0)),
        } | {key: values.mean(axis=0) for key, values in stacked.items()}
        rows += [
            {"model": name, "r": r} | {key: values[k] for key, values in measured.items()}
            for k, r in enumerate(settings.bounds[: len(measured["f1"])])
        ]
    return rows


def _fold(task: Task, fold: Fold, bounds: Floats) -> dict[str, dict[str, Floats]]:
    engines = task.training.fold(*fold)
    train, test = (Side.of(engine) for engine in engines)
    measured: dict[str, dict[str, Floats]] = {}

    def fit(name: str, limits: Floats) -> None:
        model = MODELS[name]
        problem = model._problem_on(engines[0], task.training.response)
        problem.plant(task.seeds[name])
        solutions = model._solve(problem, limits)
        states = [solution.choice.status for solution in solutions]
        measured[name] = _measures(Lines.of(problem.basis, solutions), train, test) | {
            "active": np.array([state != "inactive" for state in states], dtype=float),
            "failed": np.array([state == "not-converged" for state in states], dtype=float),
        }

    fit("FGRRM", bounds)
    fit("FGRRM, uncentered", bounds)
    limits = np.where(bounds > 0.0, measured["FGRRM"]["covariance"], 0.0)
    fit("ZLRM", limits)
    fit("ZLRM, dropping", limits[bounds == 0.0])
    return measured


def _measures(lines: Lines, train: Side, test: Side) -> dict[str, Floats]:
    eta = lines.predictors(test.columns)
    return {
        "counts": classification_counts(eta, test.y),
        "groups": group_counts(eta, test.columns[:, : lines.q]),
        "train_counts": classification_counts(lines.predictors(train.columns), train.y),
        "train_unfairness": lines.shares(train.moments),
        "unfairness": lines.shares(test.moments),
        "covariance": lines.covariances(train.moments),
        "test_covariance": lines.covariances(test.moments),
    }
