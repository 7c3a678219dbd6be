"""F1 of ZLRM and FGRRM (section 5.2)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from fairridge import FairRidgeClassifier, ZafarClassifier
from fairridge.fairness import StatisticalParity
from fairridge.metrics import GroupCodes
from reproduction.data import Data, load
from reproduction.matching import matched_path
from reproduction.measures import (
    Fold,
    Measured,
    active,
    attribute_groups,
    class_scores,
    gaps,
    over_folds,
)
from reproduction.settings import Floats, Settings

PAPER = ("ADULT", "ADULT, isolated", "BANK", "COMPAS, classes")
MATCHED = ("ADULT, isolated", "COMPAS, classes")
CENTERED = ("ADULT", "COMPAS, classes")

Groups = list[GroupCodes]


def logistic_part(case: str, run: int, settings: Settings) -> pd.DataFrame:
    """One run of cross-validation, with the same folds for both models.

    ZLRM's bound on |COV(η, S_j)| is the largest that FGRRM reached on the same
    training rows.
    """
    return _over_folds(case, run, settings, measured_fold)


def matched_part(case: str, run: int, settings: Settings) -> pd.DataFrame:
    """The same with ZLRM at the R² of η on S of FGRRM in the same training rows."""
    return _over_folds(case, run, settings, matched_fold)


def uncentered_part(case: str, run: int, settings: Settings) -> pd.DataFrame:
    """In how many folds the bound is active: of centered S, and as fairml has it.

    fairml's share of deviance depends on the origin of S.
    """
    data, folds = load(case, settings), []
    for train, _ in settings.cut(len(data), run):
        frame, y = data.frame.iloc[train], data.y[train]
        fold = {}
        for name, center in (("centered", True), ("uncentered", False)):
            parity = StatisticalParity(center=center)
            model = _fgrrm(data, separation="warn", definition=parity)
            path = model.path(frame, y, unfairness=settings.bounds)
            fold[name] = {"active": active(path)}
        folds.append(fold)
    return over_folds(folds, np.array(settings.bounds))


def _over_folds(
    case: str, run: int, settings: Settings, measured: Callable[..., dict[str, Measured]]
) -> pd.DataFrame:
    data, bounds = load(case, settings), np.array(settings.bounds)
    groups = attribute_groups(data)
    folds = [
        measured(data, Fold.of(data, train, test), bounds, groups)
        for train, test in settings.cut(len(data), run)
    ]
    return over_folds(folds, bounds)


def _fgrrm(data: Data, **options: Any) -> Any:
    return FairRidgeClassifier(sensitive=data.sensitive, **options)


def measured_fold(data: Data, fold: Fold, bounds: Floats, groups: Groups) -> dict[str, Measured]:
    """Fit all models to the training rows, and measure them on both parts."""
    # The frame rather than encoded columns: its indicators are never written out.
    frame, y = data.frame.iloc[fold.train], fold.y[fold.train]
    measured: dict[str, Measured] = {}

    def fit(name: str, model: Any, limits: Floats) -> None:
        path = model.path(frame, y, unfairness=limits)
        measured[name] = _measures(fold, path, groups)

    # Levels that decide the response are in the fit and in the bound, as in the paper.
    fit("FGRRM", _fgrrm(data, separation="warn"), bounds)
    limits = np.where(bounds > 0.0, measured["FGRRM"]["covariance"], 0.0)
    zafar = ZafarClassifier(bound="covariance", sensitive=data.sensitive)
    fit("ZLRM", zafar, limits)
    # As fairml has it at r = 0: predictors with any covariance are dropped.
    fit("ZLRM, dropping", zafar.set_params(at_zero="drop"), limits[bounds == 0.0])
    return measured


def matched_fold(data: Data, fold: Fold, bounds: Floats, groups: Groups) -> dict[str, Measured]:
    """Fit FGRRM, and ZLRM at the same R² of η on S."""
    frame, y = data.frame.iloc[fold.train], fold.y[fold.train]
    ridge = _fgrrm(data, separation="warn").path(frame, y, unfairness=bounds)
    zafar = ZafarClassifier(bound="covariance", sensitive=data.sensitive)
    path = matched_path(fold, zafar, frame, y, fold.training_shares(ridge))
    return {
        "FGRRM": _measures(fold, ridge, groups),
        "ZLRM, matched": _measures(fold, path, groups),
    }


def _measures(fold: Fold, path: Any, groups: Groups) -> Measured:
    gap = gaps(fold, fold.linear_predictors(path), groups)
    return class_scores(fold, path) | {"gap": gap}
