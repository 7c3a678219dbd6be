"""F1 of ZLRM and FGRRM (section 5.2)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from fairridge import FairRidgeClassifier, ZafarClassifier
from fairridge.fairness import StatisticalParity
from reproduction.data import Data, load
from reproduction.measures import (
    Fold,
    Measured,
    acceptance_gap,
    active,
    classification_counts,
    f1,
    fairness,
    group_counts,
)
from reproduction.settings import Floats, Settings

PAPER = ("ADULT", "BANK", "COMPAS, classes")


def logistic_part(case: str, run: int, settings: Settings) -> pd.DataFrame:
    """One run of cross-validation, with the same folds for both models.

    ZLRM's bound on |COV(η, S_j)| is the largest that FGRRM reached on the same
    training rows.
    """
    data, bounds = load(case, settings), np.array(settings.bounds)
    folds = [
        measured_fold(data, Fold.of(data, train, test), bounds)
        for train, test in settings.cut(len(data), run)
    ]
    tables = []
    for name in folds[0]:
        stacked = {key: np.array([fold[name][key] for fold in folds]) for key in folds[0][name]}
        found = {
            "f1": f1(stacked.pop("counts").sum(axis=0)),
            "train_f1": f1(stacked.pop("train_counts").sum(axis=0)),
            "gap": acceptance_gap(stacked.pop("groups").sum(axis=0)),
        } | {key: values.mean(axis=0) for key, values in stacked.items()}
        tables.append(pd.DataFrame({"model": name, "r": bounds[: len(found["f1"])], **found}))
    return pd.concat(tables)


def measured_fold(data: Data, fold: Fold, bounds: Floats) -> dict[str, Measured]:
    """Fit all models to the training rows, and measure them on both parts."""
    # The frame rather than encoded columns: its indicators are never written out.
    frame, y = data.frame.iloc[fold.train], fold.y[fold.train]
    measured: dict[str, Measured] = {}

    def fit(name: str, model: Any, limits: Floats) -> None:
        path = model.set_params(sensitive=data.sensitive).path(frame, y, unfairness=limits)
        found = _measures(fold, fold.linear_predictors(path))
        measured[name] = found | {"active": active(path)}

    fit("FGRRM", FairRidgeClassifier(), bounds)
    # As fairml has it: the share of deviance depends on the origin of S.
    uncentered = StatisticalParity(center=False)
    fit("FGRRM, uncentered", FairRidgeClassifier(definition=uncentered), bounds)
    limits = np.where(bounds > 0.0, measured["FGRRM"]["covariance"], 0.0)
    fit("ZLRM", ZafarClassifier(bound="covariance"), limits)
    # As fairml has it at r = 0: predictors with any covariance are dropped.
    dropping = ZafarClassifier(bound="covariance", at_zero="drop")
    fit("ZLRM, dropping", dropping, limits[bounds == 0.0])
    return measured


def _measures(fold: Fold, eta: Floats) -> Measured:
    train, test = fold.train, fold.test
    return {
        "counts": classification_counts(eta[test], fold.y[test]),
        "groups": group_counts(eta[test], fold.S[test]),
        "train_counts": classification_counts(eta[train], fold.y[train]),
    } | fairness(fold, eta)
