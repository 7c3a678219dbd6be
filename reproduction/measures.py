"""What is measured on the training and validation rows of a fold, for all bounds of a path.

Scores and dependence on S come from the library's own evaluator.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from fairridge.families import Binomial
from fairridge.metrics import BINS, Decided, GroupCodes, sensitive_span, share_explained
from fairridge.validation import evaluate
from reproduction.data import Data
from reproduction.settings import Floats, Positions

Measured = dict[str, Floats]


@dataclass(frozen=True, eq=False)
class Fold:
    """The rows of a data set, in a training and a validation part.

    U is centered and decorrelated from S in the training rows, as in the models.
    """

    S: Floats
    X: Floats
    U: Floats
    y: Floats
    train: Positions
    test: Positions

    @classmethod
    def of(cls, data: Data, train: Positions, test: Positions) -> Fold:
        """Decorrelate the predictors in the training rows."""
        S, X = data.S - data.S[train].mean(axis=0), data.X - data.X[train].mean(axis=0)
        B = np.linalg.lstsq(S[train], X[train], rcond=None)[0]
        return cls(data.S, data.X, X - S @ B, data.y, train, test)

    @property
    def sensitive(self) -> list[int]:
        """Which columns of `training` are sensitive."""
        return list(range(self.S.shape[1]))

    @property
    def training(self) -> tuple[Floats, Floats]:
        """[S, X] and y of the training rows."""
        return np.hstack([self.S[self.train], self.X[self.train]]), self.y[self.train]

    @cached_property
    def span(self) -> Floats:
        """Orthonormal columns with the span of S in the validation rows."""
        return sensitive_span(self.S[self.test], np.ones(len(self.test)))

    @cached_property
    def variances(self) -> tuple[Floats, Floats]:
        """VAR(S) and VAR(U) in the training rows."""
        S, U = self.S[self.train] - self.S[self.train].mean(axis=0), self.U[self.train]
        return S.T @ S / len(S), U.T @ U / len(U)

    def linear_predictors(self, path: Any) -> Floats:
        """Return η = intercept + Sα + Uβ of all rows, one column per bound."""
        return path.intercept + self.S @ path.alpha.T + self.U @ path.beta.T

    def training_shares(self, path: Any) -> Floats:
        """Return R² of η on S in the training rows, where S and U are orthogonal."""
        of_S, of_U = (
            np.einsum("ki,ij,kj->k", b, V, b)
            for b, V in zip((path.alpha, path.beta), self.variances, strict=True)
        )
        return np.divide(of_S, of_S + of_U, out=np.zeros_like(of_S), where=of_S + of_U > 0.0)

    def training_covariances(self, path: Any) -> Floats:
        """Return the largest |COV(η, S_j)| in the training rows, with divisor n − 1."""
        n = len(self.train)
        return np.abs(path.alpha @ self.variances[0]).max(axis=1) * n / (n - 1.0)


@dataclass(frozen=True, eq=False)
class Coefficients:
    """Models by their coefficients, one row per model, like those of a path."""

    intercept: Floats
    alpha: Floats
    beta: Floats

    @property
    def status(self) -> list[str]:
        """As in a path, for models that have no bound of their own."""
        return ["converged"] * len(self.intercept)


def constant_path(fold: Fold) -> Coefficients:
    """Return the model that is an intercept only."""
    alpha, beta = (np.zeros((1, columns.shape[1])) for columns in (fold.S, fold.U))
    return Coefficients(np.array([fold.y[fold.train].mean()]), alpha, beta)


def active(path: Any) -> Floats:
    """Return 1 where a bound changes the model, else 0."""
    return np.array([status != "inactive" for status in path.status], dtype=np.float64)


def largest_covariance(eta: Floats, S: Floats) -> Floats:
    """Largest |COV(η, S_j)| over the columns of S, with divisor n − 1."""
    cross = (S - S.mean(axis=0)).T @ (eta - eta.mean(axis=0))
    return np.abs(cross).max(axis=0) / (len(S) - 1.0)


def fairness(fold: Fold, path: Any, eta: Floats) -> Measured:
    """Measure how far S explains η: R² in training, R² adjusted for chance in validation."""
    rows, weight = fold.test, np.ones(len(fold.test))
    adjusted = [share_explained(one[:, None], fold.span, weight) for one in eta[rows].T]
    return {
        "train_dependence": fold.training_shares(path),
        "dependence": np.array(adjusted),
        "covariance": fold.training_covariances(path),
        "test_covariance": largest_covariance(eta[rows], fold.S[rows]),
        "active": active(path),
    }


def fairml_share(fold: Fold, path: Any) -> Floats:
    """VAR(Sα)/(VAR(Sα) + VAR(Uβ)) of the validation rows, as fairml measures it.

    S and U are taken for orthogonal, which they are in the training rows only.
    """
    of_S = (fold.S[fold.test] @ path.alpha.T).var(axis=0)
    total = of_S + (fold.U[fold.test] @ path.beta.T).var(axis=0)
    return np.divide(of_S, total, out=np.zeros_like(of_S), where=total > 0.0)


def errors(fold: Fold, path: Any) -> Measured:
    """Measure linear models on both parts: RMSE and dependence."""
    eta = fold.linear_predictors(path)
    found = {"share": fairml_share(fold, path)} | fairness(fold, path, eta)
    for prefix, rows in (("train_", fold.train), ("", fold.test)):
        y, weight = fold.y[rows], np.ones(len(rows))
        scores = [evaluate.regression_scores(y, one[rows], weight) for one in eta.T]
        found[f"{prefix}rmse"] = np.array([score["rmse"] for score in scores])
    return found


def class_scores(fold: Fold, path: Any) -> Measured:
    """Measure logistic models on both parts: F1, mean deviance and dependence."""
    eta = fold.linear_predictors(path)
    found = fairness(fold, path, eta)
    for prefix, rows in (("train_", fold.train), ("", fold.test)):
        response, weight = fold.y[rows, None], np.ones(len(rows))
        scores = [evaluate.accuracy(Binomial(), response, one[rows, None], weight) for one in eta.T]
        for name, score in (("f1", "f1"), ("deviance", "loss")):
            found[prefix + name] = np.array([one[score] for one in scores])
    return found


def attribute_groups(data: Data) -> list[GroupCodes]:
    """Return the group of each row for every sensitive attribute; numbers are cut in quarters."""
    columns = [data.frame[name] for name in data.sensitive]
    codes = [
        pd.qcut(column, BINS, labels=False, duplicates="drop").to_numpy()
        if pd.api.types.is_numeric_dtype(column)
        else pd.factorize(column.astype(str))[0]
        for column in columns
    ]
    return [GroupCodes(one, int(one.max()) + 1) for one in codes]


def gaps(fold: Fold, eta: Floats, groups: Sequence[GroupCodes]) -> Floats:
    """Return the largest difference in acceptance rates between groups of the validation rows."""
    rows, here = fold.test, [group.take(fold.test) for group in groups]
    decided, weight = (eta[rows] > 0.0).astype(np.intp), np.ones(len(fold.test))
    return np.array([Decided.of(one, here, weight, 2).gap for one in decided.T])


def over_folds(folds: Sequence[dict[str, Measured]], r: Floats) -> pd.DataFrame:
    """Average all measures over folds: one row per model and bound."""
    tables = []
    for name in folds[0]:
        found = {
            key: np.mean([fold[name][key] for fold in folds], axis=0) for key in folds[0][name]
        }
        size = len(next(iter(found.values())))
        tables.append(pd.DataFrame({"model": name, "r": r[:size], **found}))
    return pd.concat(tables)
