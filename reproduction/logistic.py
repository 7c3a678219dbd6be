"""F1 of ZLRM and FGRRM (section 5.2)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from fairridge import FairRidgeClassifier, ZafarClassifier
from fairridge.estimators._training import read_training
from fairridge.fairness import StatisticalParity
from fairridge.metrics.groups import Grouping
from fairridge.validation.one_fold import WholeModel
from reproduction.data import Data, load
from reproduction.matching import Solve, correlated, matched_path
from reproduction.measures import (
    Coefficients,
    Fold,
    Measured,
    active,
    attribute_groups,
    by_fold,
    class_scores,
    folds_of,
    gaps,
)
from reproduction.settings import Floats, Settings

PAPER = ("ADULT", "ADULT, isolated", "BANK", "COMPAS, classes")
MATCHED = ("ADULT, isolated", "COMPAS, classes")
CENTERED = ("ADULT", "COMPAS, classes")

Groups = list[Grouping]


def logistic_part(case: str, run: int, settings: Settings) -> pd.DataFrame:
    """One run of cross-validation, with the same folds for both models.

    ZLRM's bound is the largest |COV(η, S_j)| that FGRRM reached on the same
    training rows, as printed, and likewise the largest |COR(η, S_j)|.
    """
    models, groups = _models(case, settings), attribute_groups(load(case, settings))
    folds = folds_of(models.data, settings.cut(len(models.data), run))
    return by_fold([models.measured(fold, groups) for fold in folds], models.bounds)


def matched_part(case: str, run: int, settings: Settings) -> pd.DataFrame:
    """The same with ZLRM at the R² of η on S of FGRRM in the same training rows."""
    data, bounds = load(case, settings), np.array(settings.bounds)
    groups, folds = attribute_groups(data), folds_of(data, settings.cut(len(data), run))
    return by_fold([matched_fold(data, fold, bounds, groups) for fold in folds], bounds)


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
    return by_fold(folds, np.array(settings.bounds))


@lru_cache(maxsize=1)
def _models(case: str, settings: Settings) -> Models:
    return Models.of(load(case, settings), np.array(settings.bounds))


@dataclass(frozen=True, eq=False)
class Models:
    """FGRRM, and ZLRM with either model at r = 0, of all rows: those of all folds start there."""

    data: Data
    bounds: Floats
    fgrrm: WholeModel
    zlrm: WholeModel
    dropping: WholeModel

    @classmethod
    def of(cls, data: Data, bounds: Floats) -> Models:
        """Fit all rows."""
        # Levels that decide the response are in the fit and in the bound, as in the paper.
        ridge = _fgrrm(data, separation="warn")
        training = read_training(ridge, data.frame, data.y, None, None, None)
        zafar = ZafarClassifier(bound="covariance", sensitive=data.sensitive)
        # As fairml has it at r = 0: predictors with any covariance are dropped.
        dropping = clone(zafar).set_params(at_zero="drop")
        return cls(
            data,
            bounds,
            WholeModel.of(ridge, training),
            WholeModel.of(zafar, training),
            WholeModel(dropping, training),
        )

    def measured(self, fold: Fold, groups: Groups) -> dict[str, Measured]:
        """Fit all models to the training rows, and measure them on both parts."""
        train, _ = self.fgrrm.training.fold(fold.train, fold.test)

        def solver(whole: WholeModel) -> Solve:
            problem = whole.problem(train)
            return lambda limits: Coefficients.of(whole.model._solve(problem, limits))

        ridge, zafar = solver(self.fgrrm)(self.bounds), solver(self.zlrm)
        limits = _largest(fold.covariances, fold, ridge, self.bounds)
        correlations = _largest(fold.correlations, fold, ridge, self.bounds)
        models = {
            "FGRRM": ridge,
            "ZLRM": zafar(limits),
            "ZLRM, |COR|": correlated(fold, zafar, limits, correlations),
            "ZLRM, dropping": solver(self.dropping)(limits[self.bounds == 0.0]),
        }
        return {name: _measures(fold, path, groups) for name, path in models.items()}


def _largest(measure: Any, fold: Fold, ridge: Any, bounds: Floats) -> Floats:
    """Return the largest covariances or correlations that FGRRM reaches; 0 for r = 0."""
    return np.where(bounds > 0.0, measure(ridge, fold.training), 0.0)


def _fgrrm(data: Data, **options: Any) -> Any:
    return FairRidgeClassifier(sensitive=data.sensitive, **options)


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
    eta = fold.linear_predictors(path)
    return class_scores(fold, path, eta) | {"gap": gaps(fold, eta, groups)}
