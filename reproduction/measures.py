"""What is measured on the training and validation rows of a fold, for all bounds of a path.

What is a quadratic form in coefficients comes from small matrices, and only
classes are counted row by row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from fairridge.engines import Moments, PrecomputedMoments, triangular_factor
from fairridge.fairness.scatter_shares import adjusted_share
from fairridge.families import Binomial
from fairridge.metrics.group_table import decision_gap, decision_table
from fairridge.metrics.groups import BINS, Grouping
from fairridge.search import Solution
from fairridge.solvers.spectrum import whitening
from fairridge.validation.one_fold import no_rows
from reproduction.data import Data
from reproduction.settings import Floats, Positions

Measured = dict[str, Floats]


@dataclass(frozen=True, eq=False)
class Part:
    """All that linear models see of rows [S, X, y].

    That is their number, their means, and a triangular root R of their scatter
    RᵀR, from orthogonal steps: collinear columns do not reduce precision.
    """

    n: int
    mean: Floats
    root: Floats

    @classmethod
    def of(cls, rows: Floats) -> Part:
        """Factor the rows."""
        mean = rows.mean(axis=0)
        return cls(len(rows), mean, triangular_factor(rows - mean))

    @classmethod
    def joined(cls, parts: Sequence[Part]) -> Part:
        """Join disjoint parts: their roots, and what their means add, factored again."""
        n = sum(part.n for part in parts)
        mean = np.average([part.mean for part in parts], axis=0, weights=[p.n for p in parts])
        means = [np.sqrt(part.n) * (part.mean - mean) for part in parts]
        return cls(n, mean, triangular_factor(np.vstack([*(part.root for part in parts), *means])))

    def engine(self, n_sensitive: int) -> PrecomputedMoments:
        """Return an engine that knows means and scatter, and has no rows."""
        names = tuple(map(str, range(len(self.mean) - 1)))
        moments = Moments(self.n, float(self.n), self.mean, self.root.T @ self.root)
        return PrecomputedMoments(moments, names, n_sensitive, no_rows, self.root)

    def standing(self) -> tuple[Floats, Floats, Floats]:
        """Return a few rows, [S, X] and y, with weights, that stand for all of them.

        They lie at mean ± R√(k/n), one pair for each of the k rows of R, and have
        weight n/2k each. So weight, means and scatter are the same, and so is
        every least-squares model.
        """
        k = len(self.root)
        move = self.root * np.sqrt(k / self.n)
        rows = np.vstack([self.mean + move, self.mean - move])
        return rows[:, :-1], rows[:, -1], np.full(2 * k, self.n / (2.0 * k))


@dataclass(frozen=True, eq=False)
class Fold:
    """The rows of a data set, in a training and a validation part.

    U = X − SB is centered and decorrelated from S in the training rows, as in
    the models.
    """

    S: Floats
    X: Floats
    y: Floats
    train: Positions
    test: Positions
    training: Part
    validation: Part

    @classmethod
    def of(cls, data: Data, train: Positions, test: Positions) -> Fold:
        """Factor both parts of the rows."""
        parts = (Part.of(data.columns[rows]) for rows in (train, test))
        return cls(data.S, data.X, data.y, train, test, *parts)

    @property
    def sensitive(self) -> list[int]:
        """Which columns of the rows are sensitive."""
        return list(range(self.S.shape[1]))

    @cached_property
    def B(self) -> Floats:
        """Coefficients of S in the predictors, in the training rows."""
        S, X, _ = self._roots(self.training)
        return np.linalg.lstsq(S, X, rcond=None)[0].astype(np.float64)

    def _roots(self, part: Part) -> tuple[Floats, Floats, Floats]:
        """Return the columns of S, X and y of a root."""
        q = self.S.shape[1]
        return part.root[:, :q], part.root[:, q:-1], part.root[:, -1:]

    def scores(self, path: Any, part: Part) -> tuple[Floats, Floats]:
        """Return Sα and Uβ as a root has them, one column per bound."""
        S, X, _ = self._roots(part)
        return S @ path.alpha.T, (X - S @ self.B) @ path.beta.T

    def level(self, path: Any) -> Floats:
        """Return what is left of η = intercept + Sα + Uβ where S and X are zero."""
        q, mean = self.S.shape[1], self.training.mean
        center: Floats = mean[q:-1] - mean[:q] @ self.B
        level: Floats = path.intercept - path.beta @ center
        return level

    def linear_predictors(self, path: Any) -> Floats:
        """Return η = intercept + Sα + Uβ of all rows, one column per bound."""
        of_S = path.alpha - path.beta @ self.B.T
        eta: Floats = self.level(path) + self.S @ of_S.T + self.X @ path.beta.T
        return eta

    def rmse(self, path: Any, part: Part) -> Floats:
        """Return the RMSE of linear models on a part: the spread of residuals, and their mean."""
        q, (of_S, of_U) = self.S.shape[1], self.scores(path, part)
        squares = ((self._roots(part)[-1] - of_S - of_U) ** 2).sum(axis=0) / part.n
        S, X, y = part.mean[:q], part.mean[q:-1], part.mean[-1]
        bias = y - self.level(path) - path.alpha @ S - path.beta @ (X - S @ self.B)
        return np.sqrt(squares + bias**2)

    def training_shares(self, path: Any) -> Floats:
        """Return R² of η on S in the training rows, where S and U are orthogonal."""
        return share_of_first(*self.scores(path, self.training))

    def validation_shares(self, path: Any) -> Floats:
        """Return R² of η on S in the validation rows, adjusted for chance."""
        S, (of_S, of_U) = self._roots(self.validation)[0], self.scores(path, self.validation)
        white, total = whitening(S.T @ S), ((of_S + of_U) ** 2).sum(axis=0)
        explained = ((white @ (S.T @ (of_S + of_U))) ** 2).sum(axis=0)
        share = np.divide(explained, total, out=np.zeros_like(total), where=total > 0.0)
        adjusted = adjusted_share(share, self.validation.n, len(white))
        return np.where(total > 0.0, adjusted, 0.0)

    def covariances(self, path: Any, part: Part) -> Floats:
        """Return the largest |COV(η, S_j)| in a part, with divisor n − 1."""
        S = self._roots(part)[0]
        return np.abs(S.T @ np.add(*self.scores(path, part))).max(axis=0) / (part.n - 1.0)

    def correlations(self, path: Any, part: Part) -> Floats:
        """Return the largest |COR(η, S_j)| in a part; 0 where η does not vary."""
        S, eta = self._roots(part)[0], np.add(*self.scores(path, part))
        lengths = np.outer(np.linalg.norm(S, axis=0), np.linalg.norm(eta, axis=0))
        products = np.abs(S.T @ eta)
        found = np.divide(products, lengths, out=np.zeros_like(lengths), where=lengths > 0.0)
        return np.minimum(found.max(axis=0), 1.0)


def folds_of(data: Data, cuts: Sequence[tuple[Positions, Positions]]) -> list[Fold]:
    """Divide the rows. Each is factored once: a training part is all validation parts but one."""
    tests = [Part.of(data.columns[test]) for _, test in cuts]
    return [
        Fold(data.S, data.X, data.y, *cut, Part.joined(tests[:k] + tests[k + 1 :]), tests[k])
        for k, cut in enumerate(cuts)
    ]


@dataclass(frozen=True, eq=False)
class Coefficients:
    """Models by their coefficients, one row per model, like those of a path."""

    intercept: Floats
    alpha: Floats
    beta: Floats
    lambda_: Floats
    status: tuple[str, ...]

    @classmethod
    def of(cls, solutions: Sequence[Solution]) -> Coefficients:
        """Take them from what a search found."""
        fits = [solution.fit for solution in solutions]
        alpha, beta = (np.array([getattr(fit, name) for fit in fits]) for name in ("alpha", "beta"))
        intercept, lambda_ = (
            np.array([getattr(fit, name) for fit in fits]) for name in ("intercept", "lambda_")
        )
        status = tuple(one.choice.status for one in solutions)
        return cls(intercept, alpha, beta, lambda_, status)


def constant_path(fold: Fold) -> Coefficients:
    """Return the model that is an intercept only."""
    alpha, beta = (np.zeros((1, columns.shape[1])) for columns in (fold.S, fold.X))
    return Coefficients(fold.training.mean[-1:], alpha, beta, np.full(1, np.inf), ("converged",))


def active(path: Any) -> Floats:
    """Return 1 where a bound changes the model, else 0: its λ is positive.

    A model that is held by nothing but the ridge for separated data is not bounded by it.
    """
    bounded = np.array([status != "inactive" for status in path.status])
    return (bounded & (np.asarray(path.lambda_) > 0.0)).astype(np.float64)


def share_of_first(first: Floats, second: Floats) -> Floats:
    """Return the share of the first in the sum of squares of both, by column."""
    of_first = (first**2).sum(axis=0)
    total = of_first + (second**2).sum(axis=0)
    return np.divide(of_first, total, out=np.zeros_like(total), where=total > 0.0)


def fairness(fold: Fold, path: Any) -> Measured:
    """Measure how far S explains η: R² in training, R² adjusted for chance in validation."""
    return {
        "train_dependence": fold.training_shares(path),
        "dependence": fold.validation_shares(path),
        "covariance": fold.covariances(path, fold.training),
        "correlation": fold.correlations(path, fold.training),
        "active": active(path),
    }


def errors(fold: Fold, path: Any) -> Measured:
    """Measure linear models on both parts: RMSE and dependence.

    `share` is VAR(Sα)/(VAR(Sα) + VAR(Uβ)) of the validation rows, as fairml
    measures it: S and U are taken for orthogonal, which they are in the
    training rows only.
    """
    return {
        "share": share_of_first(*fold.scores(path, fold.validation)),
        **fairness(fold, path),
        "train_rmse": fold.rmse(path, fold.training),
        "rmse": fold.rmse(path, fold.validation),
    }


def class_scores(fold: Fold, path: Any, eta: Floats) -> Measured:
    """Measure logistic models on both parts: F1, mean deviance and dependence."""
    found = fairness(fold, path)
    for prefix, rows in (("train_", fold.train), ("", fold.test)):
        y, here, weight = fold.y[rows], eta[rows], np.ones(len(rows))
        decided = (here > 0.0).astype(np.float64)
        found[f"{prefix}f1"] = 2.0 * (y @ decided) / (y.sum() + decided.sum(axis=0))
        deviances = [
            Binomial().deviance_terms(y[:, None], one[:, None], weight, 0).deviance
            for one in here.T
        ]
        found[f"{prefix}deviance"] = np.array(deviances) / len(rows)
    return found


def attribute_groups(data: Data) -> list[Grouping]:
    """Return the group of each row for every sensitive attribute; numbers are cut in quarters."""
    columns = [data.frame[name] for name in data.sensitive]
    codes = [
        pd.qcut(column, BINS, labels=False, duplicates="drop").to_numpy()
        if pd.api.types.is_numeric_dtype(column)
        else pd.factorize(column.astype(str))[0]
        for column in columns
    ]
    return [
        Grouping(name, tuple(map(str, range(int(one.max()) + 1))), one)
        for name, one in zip(data.sensitive, codes, strict=True)
    ]


def gaps(fold: Fold, eta: Floats, groups: Sequence[Grouping]) -> Floats:
    """Return the largest difference in acceptance rates between groups of the validation rows."""
    rows, here = fold.test, [group.take(fold.test) for group in groups]
    decided, weight = (eta[rows] > 0.0).astype(np.intp), np.ones(len(fold.test))
    return np.array([decision_gap(decision_table(here, weight, one, 2)) for one in decided.T])


def by_fold(folds: Sequence[dict[str, Measured]], r: Floats) -> pd.DataFrame:
    """Put all measures in one frame: a row for each model, bound and fold."""
    tables = []
    for number, fold in enumerate(folds):
        for name, found in fold.items():
            size = len(next(iter(found.values())))
            tables.append(pd.DataFrame({"model": name, "fold": number, "r": r[:size], **found}))
    return pd.concat(tables)
