"""What is measured on the training and validation rows of a fold, for all bounds of a path."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairridge.metrics import sensitive_span, share_explained
from reproduction.data import Data
from reproduction.settings import Floats, Positions

Measured = dict[str, Floats]


@dataclass(frozen=True)
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
        return np.hstack([self.S, self.X])[self.train], self.y[self.train]

    def linear_predictors(self, path: Any) -> Floats:
        """Return η = intercept + Sα + Uβ of all rows, one column per bound."""
        return path.intercept + self.S @ path.alpha.T + self.U @ path.beta.T


def active(path: Any) -> Floats:
    """Return 1 where a bound changes the model, else 0."""
    return np.array([status != "inactive" for status in path.status], dtype=np.float64)


def explained_share(eta: Floats, S: Floats) -> Floats:
    """R² of each column of η regressed on S, as the paper has it; 0 for a constant."""
    weight = np.ones(len(S))
    span = sensitive_span(np.asarray(S, dtype=np.float64), weight)
    shares = [share_explained(one[:, None], span, weight, adjusted=False) for one in eta.T]
    return np.array(shares)


def largest_covariance(eta: Floats, S: Floats) -> Floats:
    """Largest |COV(η, S_j)| over the columns of S, with divisor n − 1."""
    cross = (S - S.mean(axis=0)).T @ (eta - eta.mean(axis=0))
    return np.abs(cross).max(axis=0) / (len(S) - 1.0)


def fairness(fold: Fold, eta: Floats) -> Measured:
    """Measure how far S explains η in both parts."""
    train, test = fold.train, fold.test
    return {
        "train_unfairness": explained_share(eta[train], fold.S[train]),
        "unfairness": explained_share(eta[test], fold.S[test]),
        "covariance": largest_covariance(eta[train], fold.S[train]),
    }


def errors(fold: Fold, eta: Floats) -> Measured:
    """Measure linear models on the two parts of a fold."""
    squares = (fold.y[:, None] - eta) ** 2
    return {
        "train_squares": squares[fold.train].sum(axis=0),
        "squares": squares[fold.test].sum(axis=0),
        "train_n": np.array([len(fold.train)]),
        "n": np.array([len(fold.test)]),
    } | fairness(fold, eta)


def pooled(folds: Sequence[Measured]) -> Measured:
    """Pool squared errors over the rows of all folds, and average the rest over folds."""
    stacked = {key: np.array([fold[key] for fold in folds]) for key in folds[0]}

    def rmse(squares: str, n: str) -> Floats:
        return np.sqrt(stacked.pop(squares).sum(axis=0) / stacked.pop(n).sum())

    found = {"rmse": rmse("squares", "n"), "train_rmse": rmse("train_squares", "train_n")}
    return found | {key: values.mean(axis=0) for key, values in stacked.items()}


def classification_counts(eta: Floats, y: Floats) -> Floats:
    """Return true positives, false positives and false negatives, one row per model."""
    predicted, positive = eta > 0.0, y[:, None] > 0.5
    counts = (predicted & positive, predicted & ~positive, ~predicted & positive)
    return np.column_stack([count.sum(axis=0) for count in counts]).astype(np.float64)


def f1(counts: Floats) -> Floats:
    """Harmonic mean of precision and recall; 0 if nothing is predicted positive."""
    hit, false, missed = counts.T
    both = 2.0 * hit + false + missed
    return np.divide(2.0 * hit, both, out=np.zeros_like(both), where=both > 0.0)


def group_counts(eta: Floats, S: Floats) -> Floats:
    """Return rows and predicted positives with S_j = 0 and S_j = 1, shape (models, 4, q).

    Columns of S that are not indicators have no rows.
    """
    predicted = (eta > 0.0).astype(np.float64)
    indicators = ((S == 0.0) | (S == 1.0)).all(axis=0)
    counts = []
    for value in (0.0, 1.0):
        member = ((value == S) & indicators).astype(np.float64)
        sizes = np.broadcast_to(member.sum(axis=0), (eta.shape[1], S.shape[1]))
        counts += [sizes, predicted.T @ member]
    return np.stack(counts, axis=1)


def acceptance_gap(counts: Floats, minimum: float = 0.01) -> Floats:
    """Return the largest difference of acceptance rates between S_j = 0 and 1; NaN without any.

    Groups with less than a share `minimum` of the rows are left out: their rates are noise.
    """
    n0, hits0, n1, hits1 = (counts[:, k] for k in range(4))
    large = np.minimum(n0, n1) > minimum * (n0 + n1)
    with np.errstate(invalid="ignore", divide="ignore"):
        gaps = np.where(large, np.abs(hits1 / n1 - hits0 / n0), -np.inf)
    largest = gaps.max(axis=1, initial=-np.inf)
    return np.where(np.isfinite(largest), largest, np.nan)
