"""What is measured on training and validation rows, for many models at once.

Every model here is linear in the encoded columns: η = level + (z − center)·raw.
So errors and fairness of linear models are quadratic forms in the moments of
[S, X, y], for all bounds together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairridge.engines import MemoryEngine, Moments
from fairridge.search import Solution
from fairridge.solvers import FairBasis, Fit

__all__ = [
    "Lines",
    "Side",
    "acceptance_gap",
    "classification_counts",
    "errors",
    "f1",
    "group_counts",
    "pooled",
]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Lines:
    """Several linear models on the same columns.

    Attributes
    ----------
    raw : ndarray of shape (m, q+p)
        Coefficients of [S, X].
    level : ndarray of shape (m,)
        η at the center.
    center : ndarray of shape (q+p,)
        Where the level is.
    q : int
        Columns of S.
    """

    raw: Floats
    level: Floats
    center: Floats
    q: int

    @classmethod
    def of(cls, basis: FairBasis, solutions: Sequence[Solution]) -> Lines:
        """Take the coefficients of solutions to the raw columns."""
        return cls.of_fits(basis, [solution.fit for solution in solutions])

    @classmethod
    def of_fits(cls, basis: FairBasis, fits: Sequence[Fit]) -> Lines:
        """Take the coefficients of fits to the raw columns."""
        return cls(
            np.array([basis.raw_coefficients(fit.alpha, fit.beta) for fit in fits]),
            np.array([fit.intercept + fit.alpha @ basis.center_sensitive for fit in fits]),
            basis.center,
            len(basis.center_sensitive),
        )

    def squares(self, rows: Moments) -> Floats:
        """Return sums of squared errors, from the moments of [S, X, y]."""
        k = self.raw.shape[1]
        joint = np.column_stack([-self.raw, np.ones(len(self.raw))])
        shift = rows.mean[k] - self.level - self.raw @ (rows.mean[:k] - self.center)
        return np.einsum("mi,ij,mj->m", joint, rows.scatter, joint) + rows.weight * shift**2

    def covariances(self, rows: Moments) -> Floats:
        """Largest |COV(η, S_j)| over the columns of S, with divisor n − 1."""
        cross = self.raw @ rows.scatter[: self.raw.shape[1], : self.q]
        return np.abs(cross).max(axis=1) / (rows.weight - 1.0)

    def shares(self, rows: Moments) -> Floats:
        """R² of η regressed on S."""
        k, q = self.raw.shape[1], self.q
        cross = self.raw @ rows.scatter[:k, :q]
        total = np.einsum("mi,ij,mj->m", self.raw, rows.scatter[:k, :k], self.raw)
        size = np.sqrt(np.diag(rows.scatter)[:q])
        size = np.where(size > 0.0, size, 1.0)
        scaled = np.linalg.pinv(
            rows.scatter[:q, :q] / np.outer(size, size), rcond=1e-10, hermitian=True
        )
        explained = np.einsum("mi,ij,mj->m", cross / size, scaled, cross / size)
        return np.divide(explained, total, out=np.zeros_like(total), where=total > 0.0)

    def predictors(self, columns: Floats) -> Floats:
        """Return η for rows of [S, X], one column per model."""
        return self.level - self.raw @ self.center + columns @ self.raw.T


@dataclass(frozen=True)
class Side:
    """Training or validation rows, written out once for all models.

    Attributes
    ----------
    columns : ndarray of shape (n, q+p)
        [S, X].
    y : ndarray of shape (n,)
        The response, as 0 and 1 for classes.
    moments : Moments
        Of [S, X, y].
    """

    columns: Floats
    y: Floats
    moments: Moments

    @classmethod
    def of(cls, engine: MemoryEngine) -> Side:
        """Write the rows of an engine out."""
        S, X, y, _ = engine.columns()
        return cls(np.hstack([S, X]), y[:, 0], engine.moments())


def classification_counts(eta: Floats, y: Floats) -> Floats:
    """Return true positives, false positives and false negatives, one row per model."""
    predicted, positive = eta > 0.0, y[:, None] > 0.5
    return np.column_stack(
        [
            (predicted & positive).sum(axis=0),
            (predicted & ~positive).sum(axis=0),
            (~predicted & positive).sum(axis=0),
        ]
    ).astype(np.float64)


def f1(counts: Floats) -> Floats:
    """Harmonic mean of precision and recall; 0 where nothing is predicted positive."""
    hit, false, missed = counts.T
    both = 2.0 * hit + false + missed
    return np.divide(2.0 * hit, both, out=np.zeros_like(both), where=both > 0.0)


def group_counts(eta: Floats, S: Floats) -> Floats:
    """Return rows and predicted positives with S_j = 0 and S_j = 1, shape (models, 4, q).

    Columns of S that are no indicators have no rows.
    """
    predicted = (eta > 0.0).astype(np.float64)
    indicators = ((S == 0.0) | (S == 1.0)).all(axis=0)
    counts = []
    for value in (0.0, 1.0):
        member = ((value == S) & indicators).astype(np.float64)
        sizes = np.broadcast_to(member.sum(axis=0), (eta.shape[1], S.shape[1]))
        counts += [sizes, predicted.T @ member]
    return np.stack(counts, axis=1)


def acceptance_gap(counts: Floats, least: float = 0.01) -> Floats:
    """Return the largest difference of acceptance rates between S_j = 0 and 1; NaN without any.

    Groups with less than a share `least` of the rows are left out: their rates are noise.
    """
    n0, hits0, n1, hits1 = (counts[:, k] for k in range(4))
    large = np.minimum(n0, n1) > least * (n0 + n1)
    with np.errstate(invalid="ignore", divide="ignore"):
        gaps = np.where(large, np.abs(hits1 / n1 - hits0 / n0), -np.inf)
    largest = gaps.max(axis=1, initial=-np.inf)
    return np.where(np.isfinite(largest), largest, np.nan)


def errors(lines: Lines, train: Moments, test: Moments) -> dict[str, Floats]:
    """Measure linear models on the two parts of a fold."""
    return {
        "train_squares": lines.squares(train),
        "squares": lines.squares(test),
        "train_n": np.array([train.weight]),
        "n": np.array([test.weight]),
        "train_unfairness": lines.shares(train),
        "unfairness": lines.shares(test),
        "covariance": lines.covariances(train),
        "test_covariance": lines.covariances(test),
    }


def pooled(folds: Sequence[dict[str, Floats]]) -> dict[str, Floats]:
    """Pool squared errors over the rows of all folds, and average the rest over folds."""
    stacked = {key: np.array([fold[key] for fold in folds]) for key in folds[0]}

    def rmse(squares: str, n: str) -> Floats:
        return np.sqrt(stacked.pop(squares).sum(axis=0) / stacked.pop(n).sum())

    found = {"rmse": rmse("squares", "n"), "train_rmse": rmse("train_squares", "train_n")}
    return found | {key: values.mean(axis=0) for key, values in stacked.items()}
