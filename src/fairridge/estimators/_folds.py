"""One fold of a cross-validation: fit on the training rows, measure on both parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray
from sklearn import metrics

from fairridge.engines import KnownMoments, MemoryEngine, Moments
from fairridge.families import Family
from fairridge.families.base import ClassFamily
from fairridge.metrics import concordance_index, scatter_of
from fairridge.search import Problem, Solution
from fairridge.solvers import FairBasis
from fairridge.solvers.factor import WELL_CONDITIONED

if TYPE_CHECKING:
    from fairridge.estimators._bounded import BoundedModel
    from fairridge.estimators._training import Training

__all__ = [
    "FoldScores",
    "RowsNeededError",
    "general_fold",
    "moment_folds",
    "moment_scores",
    "no_rows",
    "require_independent",
    "uses_moments",
]

Floats = NDArray[np.float64]
Integers = NDArray[np.intp]
Fold = tuple[Integers, Integers]


@dataclass(frozen=True)
class FoldScores:
    """What one bound reached in one fold, by name of the measure."""

    unfairness: float
    measures: dict[str, Any]


def uses_moments(model: BoundedModel, training: Training) -> bool:
    """Whether everything a model needs is in the moments of [S, X, y]."""
    closed = training.response.family.least_squares
    small = training.unmapped is None and not model._compresses(training.engine)
    return closed and model._only_moments and small


# ---------------------------------------------------------- gaussian: moments

# A column that keeps less of its scatter in the training rows has lost digits to the subtraction.
LEAST_LEFT = 0.1
# A quadratic form this much smaller than its terms has lost digits to cancellation.
CANCELLED = 1e4


class RowsNeededError(Exception):
    """Moments alone do not carry the digits."""


def no_rows() -> MemoryEngine:
    raise RowsNeededError


def moment_folds(
    model: BoundedModel, training: Training, repeated: list[list[Fold]], bounds: Floats
) -> Iterator[list[FoldScores]]:
    """Yield the scores of every fold, from moments where they carry the digits."""
    whole = training.engine.moments()
    for folds in repeated:
        for fold in folds:
            try:
                yield _moment_fold(model, training, whole, fold, bounds)
            except RowsNeededError:
                yield general_fold(model, training, fold, bounds, None)


def _moment_fold(
    model: BoundedModel, training: Training, whole: Moments, fold: Fold, bounds: Floats
) -> list[FoldScores]:
    # Positions that do not divide the rows (hold-out, custom folds) have no complement.
    if not _divides(fold, training.n_rows):
        raise RowsNeededError
    part = training.engine_on(fold[1]).moments()
    rest = whole - part
    _require_digits(whole, rest)
    require_independent(part, training.engine.n_sensitive)
    engine = training.engine
    known = KnownMoments(rest, engine.names, engine.n_sensitive, no_rows)
    problem = model._problem_on(known, training.response)
    solutions = model._solve(problem, bounds)
    return [moment_scores(model, problem, solution, part) for solution in solutions]


def _divides(fold: Fold, n: int) -> bool:
    """Whether every row is in one of the two parts, once."""
    seen = np.zeros(n, dtype=bool)
    for part in fold:
        seen[part] = True
    return len(fold[0]) + len(fold[1]) == n and bool(seen.all())


def _require_digits(whole: Moments, rest: Moments) -> None:
    """Raise where a column hardly varies in the training rows.

    A level that only the fold has would be left with a scatter of rounding
    errors, and an outlier in the fold covers all digits of the other rows.
    """
    left, total = np.diag(rest.scatter), np.diag(whole.scatter)
    if (left < LEAST_LEFT * total).any():
        raise RowsNeededError


def require_independent(part: Moments, q: int) -> None:
    """Raise where S is collinear in the fold."""
    varies = np.flatnonzero(np.diag(part.scatter)[:q] > 0.0)
    S = part.scatter[np.ix_(varies, varies)]
    S = S / np.sqrt(np.outer(np.diag(S), np.diag(S)))
    if S.size and np.linalg.eigvalsh(S)[0] * WELL_CONDITIONED < 1.0:
        raise RowsNeededError


def moment_scores(
    model: BoundedModel,
    problem: Problem,
    solution: Solution,
    fold: Moments,
    root: Floats | None = None,
) -> FoldScores:
    """Measure on validation rows, of which only the moments are known, or also their root."""
    fit, basis, k = solution.fit, problem.basis, len(fold.mean) - 1
    raw = basis.raw_coefficients(fit.alpha, fit.beta)
    level = fit.intercept + fit.alpha @ basis.center_sensitive
    bias = float(fold.mean[k] - level - (fold.mean[:k] - basis.center) @ raw)
    squares = _form(np.append(-raw, 1.0), fold.scatter, root) + fold.weight * bias**2
    total = float(fold.scatter[k, k])
    span = np.eye(len(fit.alpha)) if root is None else _orthonormal(root[:, : len(fit.alpha)])
    q = span.shape[1]
    columns = np.zeros((k + 1, q + 2))  # [S, η, y] as combinations of [S, X, y]
    columns[: len(span), :q] = span
    columns[:k, q] = raw
    columns[k, q + 1] = 1.0
    if root is None:
        joint = columns.T @ fold.scatter @ columns
    else:
        joint = (root @ columns).T @ (root @ columns)

    def variance(raw: Floats) -> float:
        return _form(np.append(raw, 0.0), fold.scatter, root)

    joint[q, q] = variance(raw)
    definition = model._definition
    rows = KnownMoments(fold, problem.engine.names, problem.engine.n_sensitive, no_rows)
    rmse = float(np.sqrt(squares / fold.weight))
    return FoldScores(
        solution.unfairness,
        {
            "n": fold.n_rows,
            "train_loss": float(np.sqrt(fit.deviance / basis.weight)),
            "loss": rmse,
            "train_unfairness": solution.achieved,
            "achieved_unfairness": definition.held_out(fit, rows, joint, q, 1),
            "variance_share": _variance_share(basis, fit.alpha, fit.beta, variance),
            "status": solution.choice.status,
            "lambda_": fit.lambda_,
            "rmse": rmse,
            "r_squared": _r_squared(squares, total, fold.n_rows),
        },
    )


def _form(vector: Floats, scatter: Floats, root: Floats | None = None) -> float:
    """Return vᵀMv = ‖Rv‖²; without the root R only where the terms of the first do not cancel."""
    if root is not None:
        return float(((root @ vector) ** 2).sum())
    value, size = float(vector @ scatter @ vector), np.abs(vector)
    if float(size @ np.abs(scatter) @ size) > CANCELLED * value:
        raise RowsNeededError
    return value


def _orthonormal(root: Floats) -> Floats:
    """Return combinations of the columns of R that are orthonormal, as many as its rank."""
    scale = np.linalg.norm(root, axis=0)
    scale = np.where(scale > 0.0, scale, 1.0)
    _, values, rotation = np.linalg.svd(root / scale, full_matrices=False)
    used = values > root.shape[1] * 1e-12 * max(values.max(initial=0.0), 1.0)
    return rotation[used].T / values[used] / scale[:, None]


def _r_squared(squares: float, total: float, n: int) -> float:
    """R²; missing for a single row, and 0 where the response does not vary."""
    if n < 2:
        return float("nan")
    return 1.0 - squares / total if total > 0.0 else 0.0


def _variance_share(
    basis: FairBasis, alpha: Floats, beta: Floats, variance: Callable[[Floats], float]
) -> float:
    """VAR(Sα)/(VAR(Sα) + VAR(Uβ)) with the training B, from variances of [S, X]·raw."""
    of_sensitive = variance(basis.raw_coefficients(alpha, np.zeros_like(beta)))
    total = of_sensitive + variance(basis.raw_coefficients(np.zeros_like(alpha), beta))
    return of_sensitive / total if total > 0.0 else 0.0


# ---------------------------------------------------------------- general way


def general_fold(
    model: BoundedModel, training: Training, fold: Fold, bounds: Floats, seed: Any
) -> list[FoldScores]:
    """Fit on the training rows, and measure on the validation rows."""
    train, test = training.fold(*fold)
    _require_response(training, train)
    problem = model._problem_on(train, training.response)
    if seed is not None:
        problem.plant(seed)
    solutions = model._solve(problem, bounds)
    held_out = _HeldOut.of(test)
    return [_row_scores(model, problem, solution, held_out) for solution in solutions]


def _require_response(training: Training, train: MemoryEngine) -> None:
    """Raise where no model can be fitted to the training rows of a fold."""
    family, classes = training.response.family, training.response.classes
    if family.reads == "times" and not train.response[:, 1].any():
        raise ValueError("the training rows of a fold have no events; use other or fewer folds.")
    if classes is not None:
        present = np.unique(train.response[:, 0]).astype(np.intp)
        if len(present) < len(classes):
            missing = np.delete(classes, present)[0]
            raise ValueError(
                f"the training rows of a fold have no row of class {str(missing)!r}; use "
                "stratified or fewer folds."
            )
    elif hasattr(family, "check"):
        family.check(train.response[:, 0])


@dataclass(frozen=True)
class _HeldOut:
    """Validation rows, written out once for all bounds.

    Attributes
    ----------
    engine : MemoryEngine
        Where the rows are.
    center : ndarray of shape (q+p,)
        Means of [S, X].
    columns : ndarray of shape (n, q+p)
        [S, X] less those.
    span : ndarray of shape (n, rank)
        Orthonormal columns with the span of S, so that no digits are lost where S is collinear.
    """

    engine: MemoryEngine
    center: Floats
    columns: Floats
    span: Floats

    @classmethod
    def of(cls, engine: MemoryEngine) -> _HeldOut:
        S, X, _, weight = engine.columns()
        columns = np.hstack([S, X])
        center = np.average(columns, axis=0, weights=weight)
        columns -= center
        return cls(engine, center, columns, _span(S, weight))

    def variance(self, raw: Floats) -> float:
        """VAR of [S, X] times coefficients, times n, over classes where there are several."""
        scores = self.columns @ np.atleast_2d(raw).T
        return float(np.trace(scatter_of(scores, self.engine.weights)))


def _span(S: Floats, weight: Floats) -> Floats:
    """Orthonormal columns, under the weights, with the span of centered S."""
    centered = S - np.average(S, axis=0, weights=weight)
    constant = S.min(axis=0) == S.max(axis=0)
    root = np.sqrt(weight)[:, None]
    weighted = np.where(constant, 0.0, centered) * root
    size = np.linalg.norm(weighted, axis=0)
    left, values, _ = np.linalg.svd(weighted / np.where(size > 0, size, 1.0), full_matrices=False)
    used = values > max(S.shape) * np.finfo(np.float64).eps * max(values.max(initial=0.0), 1.0)
    return left[:, used] / root


def _row_scores(
    model: BoundedModel, problem: Problem, solution: Solution, held_out: _HeldOut
) -> FoldScores:
    fit, family, test = solution.fit, problem.family, held_out.engine
    response, weight = test.response, test.weights
    raw = np.atleast_2d(problem.basis.raw_coefficients(fit.alpha, fit.beta))
    level = np.atleast_1d(fit.intercept + fit.alpha @ problem.basis.center_sensitive)
    eta = level + raw @ (held_out.center - problem.basis.center) + held_out.columns @ raw.T
    if test.offset is not None:
        eta = eta + test.offset[:, None]
    by_predictor = family.by_predictor(eta.T).T
    joint = scatter_of(np.hstack([held_out.span, eta, test.rows.targets]), weight)
    definition = model._definition
    deviance = family.rows(response, by_predictor, weight, 0).deviance
    size = _size(family, response, weight)
    train_size = _size(family, problem.engine.response, problem.engine.weights)
    return FoldScores(
        solution.unfairness,
        {
            "n": len(response),
            "train_loss": _loss(family, fit.deviance, train_size),
            "loss": _loss(family, deviance, size),
            "train_unfairness": solution.achieved,
            "achieved_unfairness": definition.held_out(
                fit, test, joint, held_out.span.shape[1], eta.shape[1]
            ),
            "variance_share": _variance_share(
                problem.basis, fit.alpha, fit.beta, held_out.variance
            ),
            "status": solution.choice.status,
            "lambda_": fit.lambda_,
        }
        | _accuracy(family, response, eta, by_predictor, weight),
    )


def _loss(family: Family, deviance: float, size: float) -> float:
    """RMSE for gaussian models, mean deviance for others; missing without any events."""
    mean = deviance / size if size > 0.0 else float("nan")
    return float(np.sqrt(mean)) if family.least_squares else float(mean)


def _size(family: Family, response: Floats, weight: Floats) -> float:
    """Return what a mean deviance is divided by: rows, or events for Cox models."""
    return float(weight @ response[:, 1]) if family.reads == "times" else float(weight.sum())


def _accuracy(
    family: Family, response: Floats, eta: Floats, by_predictor: Floats, weight: Floats
) -> dict[str, float]:
    """Further scores: of classes, of survival, or of numbers."""
    if family.reads == "classes":
        codes = response[:, 0].astype(np.intp)
        return _classification(codes, eta, cast(ClassFamily, family), weight)
    if family.reads == "times":
        return _concordance(response, eta[:, 0], weight)
    y, mean = response[:, 0], family.mean(by_predictor)[:, 0]
    squares = float(weight @ (y - mean) ** 2)
    total = float(weight @ (y - np.average(y, weights=weight)) ** 2) if np.ptp(y) > 0.0 else 0.0
    rmse = float(np.sqrt(squares / weight.sum()))
    return {"rmse": rmse, "r_squared": _r_squared(squares, total, len(y))}


def _concordance(response: Floats, eta: Floats, weight: Floats) -> dict[str, float]:
    """Return the concordance index; nothing where no two rows are comparable."""
    try:
        return {"concordance": concordance_index(response[:, 0], response[:, 1], eta, weight)}
    except ValueError:
        return {}


def _classification(
    y: Integers, eta: Floats, family: ClassFamily, weight: Floats
) -> dict[str, float]:
    binary, predicted = eta.shape[1] == 1, family.likeliest(eta)
    options: dict[str, Any] = {
        "average": "binary" if binary else "macro", "zero_division": 0.0, "sample_weight": weight,
    }  # fmt: skip
    scores = {
        "accuracy": metrics.accuracy_score(y, predicted, sample_weight=weight),
        "f1": metrics.f1_score(y, predicted, **options),
        "precision": metrics.precision_score(y, predicted, **options),
        "recall": metrics.recall_score(y, predicted, **options),
    }
    present = len(np.unique(y))
    if binary and present == 2:
        scores["auc"] = metrics.roc_auc_score(y, eta[:, 0], sample_weight=weight)
    elif not binary and present == eta.shape[1]:
        scores["auc"] = metrics.roc_auc_score(
            y, family.probabilities(eta), multi_class="ovr", sample_weight=weight
        )
    return {name: float(value) for name, value in scores.items()}
