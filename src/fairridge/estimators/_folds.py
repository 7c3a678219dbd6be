"""One fold of a cross-validation: fit on the training rows, measure on both parts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn import metrics

from fairridge.data import Rows
from fairridge.engines import KnownMoments, MemoryEngine, Moments
from fairridge.fairness import EqualityOfOpportunity, StatisticalParity, resolve_definition
from fairridge.families import Family, Gaussian
from fairridge.metrics import concordance_index, held_out_unfairness
from fairridge.search import Problem, Solution
from fairridge.solvers import FairBasis

if TYPE_CHECKING:
    from fairridge.estimators._fair_ridge import FairRidge
    from fairridge.estimators._training import Training

__all__ = ["FoldScores", "general_fold", "moment_folds", "uses_moments"]

Floats = NDArray[np.float64]
Integers = NDArray[np.intp]
Fold = tuple[Integers, Integers]


@dataclass(frozen=True)
class FoldScores:
    """What one bound reached in one fold, by name of the measure."""

    unfairness: float
    measures: dict[str, Any]


def uses_moments(model: FairRidge, training: Training) -> bool:
    """Whether everything a model needs is in the moments of [S, X, y]."""
    definition = resolve_definition(model.definition)
    return isinstance(training.response.family, Gaussian) and isinstance(
        definition, StatisticalParity | EqualityOfOpportunity
    )


def _rows_of(training: Training) -> Rows:
    if not isinstance(training.engine, MemoryEngine):
        raise TypeError("cross-validation needs the rows in memory.")
    return training.engine.rows


def _engine_of(training: Training, rows: Integers) -> MemoryEngine:
    family = training.response.family
    gaussian = isinstance(family, Gaussian)
    taken = _rows_of(training).take(rows)
    return MemoryEngine(taken, separable=family.separable, many_passes=not gaussian)


# ---------------------------------------------------------- gaussian: moments


def moment_folds(
    model: FairRidge, training: Training, repeated: list[list[Fold]], bounds: Floats
) -> Iterator[list[FoldScores]]:
    """Yield the scores of every fold, from moments alone."""
    whole, engine = training.engine.moments(), training.engine
    for folds in repeated:
        for train, test in folds:
            fold = _engine_of(training, test).moments()
            # Positions that do not cover all rows (hold-out, custom folds) have no complement.
            rest = (
                whole - fold
                if len(train) + len(test) == training.n_rows
                else _engine_of(training, train).moments()
            )
            known = KnownMoments(
                rest,
                engine.names,
                engine.n_sensitive,
                lambda train=train: _engine_of(training, train),  # type: ignore[misc]
            )
            problem = model._problem_on(known, training.response)
            solutions = model._solve(problem, bounds)
            yield [_moment_scores(model, problem, solution, fold) for solution in solutions]


def _moment_scores(
    model: FairRidge, problem: Problem, solution: Solution, fold: Moments
) -> FoldScores:
    """Measure on validation rows, of which only the moments are known."""
    fit, basis, k = solution.fit, problem.basis, len(fold.mean) - 1
    raw = basis.raw_coefficients(fit.alpha, fit.beta)
    residual = np.append(-raw, 1.0)
    level = fit.intercept + fit.alpha @ basis.center_sensitive
    bias = float(fold.mean[k] - level - (fold.mean[:k] - basis.center) @ raw)
    squares = max(float(residual @ fold.scatter @ residual), 0.0) + fold.weight * bias**2
    total = float(fold.scatter[k, k])
    q = len(fit.alpha)
    columns = np.zeros((k + 1, q + 2))  # [S, η, y] as combinations of [S, X, y]
    columns[:q, :q] = np.eye(q)
    columns[:k, q] = raw
    columns[k, q + 1] = 1.0
    joint = columns.T @ fold.scatter @ columns
    definition = resolve_definition(model.definition)
    rmse = float(np.sqrt(squares / fold.weight))
    return FoldScores(
        solution.unfairness,
        {
            "n": fold.n_rows,
            "train_loss": float(np.sqrt(fit.deviance / basis.weight)),
            "loss": rmse,
            "train_unfairness": solution.achieved,
            "achieved_unfairness": held_out_unfairness(
                definition, fit, problem.engine, joint, q, 1
            ),
            "variance_share": _variance_share(basis, fit.alpha, fit.beta, fold.scatter[:k, :k]),
            "status": solution.choice.status,
            "lambda_": fit.lambda_,
            "rmse": rmse,
            "r_squared": 1.0 - squares / total if total > 0.0 else 0.0,
        },
    )


def _variance_share(basis: FairBasis, alpha: Floats, beta: Floats, scatter: Floats) -> float:
    """VAR(Sα)/(VAR(Sα) + VAR(Uβ)) with the training B, over classes where there are several."""
    zero_a, zero_b = np.zeros_like(alpha), np.zeros_like(beta)
    parts = []
    for a, b in ((alpha, zero_b), (zero_a, beta)):
        raw = np.atleast_2d(basis.raw_coefficients(a, b))
        parts.append(float(np.einsum("ki,ij,kj->", raw, scatter, raw)))
    return parts[0] / sum(parts) if sum(parts) > 0.0 else 0.0


# ---------------------------------------------------------------- general way


def general_fold(
    model: FairRidge, training: Training, fold: Fold, bounds: Floats, seed: Any
) -> list[FoldScores]:
    """Fit on the training rows, and measure on the validation rows."""
    train, test = (_engine_of(training, rows) for rows in fold)
    problem = model._problem_on(train, training.response)
    problem.plant(seed)
    solutions = model._solve(problem, bounds)
    return [_row_scores(model, problem, solution, test) for solution in solutions]


def _row_scores(
    model: FairRidge, problem: Problem, solution: Solution, test: MemoryEngine
) -> FoldScores:
    fit, family = solution.fit, problem.family
    S, X, response, weight = test.columns()
    raw = np.atleast_2d(problem.basis.raw_coefficients(fit.alpha, fit.beta))
    level = np.atleast_1d(fit.intercept + fit.alpha @ problem.basis.center_sensitive)
    eta = level + (np.hstack([S, X]) - problem.basis.center) @ raw.T
    if test.offset is not None:
        eta = eta + test.offset[:, None]
    by_predictor = family.by_predictor(eta.T).T
    targets = test.rows.targets
    joint = _scatter(np.hstack([S, eta, targets]), weight)
    definition = resolve_definition(model.definition)
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
            "achieved_unfairness": held_out_unfairness(
                definition, fit, test, joint, S.shape[1], eta.shape[1]
            ),
            "variance_share": _variance_share(
                problem.basis, fit.alpha, fit.beta, _scatter(np.hstack([S, X]), weight)
            ),
            "status": solution.choice.status,
            "lambda_": fit.lambda_,
        }
        | _accuracy(family, response, eta, by_predictor, weight),
    )


def _loss(family: Family, deviance: float, size: float) -> float:
    """RMSE for gaussian models, mean deviance for others."""
    mean = deviance / size
    return float(np.sqrt(mean)) if isinstance(family, Gaussian) else float(mean)


def _size(family: Family, response: Floats, weight: Floats) -> float:
    """Return what a mean deviance is divided by: rows, or events for Cox models."""
    return float(weight @ response[:, 1]) if family.name == "cox" else float(weight.sum())


def _scatter(columns: Floats, weight: Floats) -> Floats:
    centered = columns - np.average(columns, axis=0, weights=weight)
    return (centered * weight[:, None]).T @ centered


def _accuracy(
    family: Family, response: Floats, eta: Floats, by_predictor: Floats, weight: Floats
) -> dict[str, float]:
    """Further scores: of classes, of survival, or of numbers."""
    if family.name in ("binomial", "multinomial"):
        return _classification(response[:, 0].astype(np.intp), eta, family, by_predictor, weight)
    if family.name == "cox":
        c = concordance_index(response[:, 0], response[:, 1], eta[:, 0], weight)
        return {"concordance": c}
    y, mean = response[:, 0], family.mean(by_predictor)[:, 0]
    rmse = float(np.sqrt(np.average((y - mean) ** 2, weights=weight)))
    return {"rmse": rmse, "r_squared": float(metrics.r2_score(y, mean, sample_weight=weight))}


def _classification(
    y: Integers, eta: Floats, family: Family, by_predictor: Floats, weight: Floats
) -> dict[str, float]:
    binary = eta.shape[1] == 1
    predicted = (eta[:, 0] > 0).astype(np.intp) if binary else eta.argmax(axis=1)
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
        probability = family.mean(by_predictor)
        scores["auc"] = metrics.roc_auc_score(
            y, probability, multi_class="ovr", sample_weight=weight
        )
    return {name: float(value) for name, value in scores.items()}
