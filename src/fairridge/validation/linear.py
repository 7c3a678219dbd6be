"""Linear models in one fold: fit to the training rows, measure on the validation rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from sklearn.base import clone

from fairridge._typing import Floats
from fairridge.data import exposure_of
from fairridge.engines import MemoryEngine
from fairridge.estimators._choosing import with_chosen_penalty
from fairridge.estimators._fair_ridge import LinearModel
from fairridge.estimators._means import explained_deviance
from fairridge.estimators._training import Training
from fairridge.fairness import Definition
from fairridge.families import Family
from fairridge.families.base import ClassFamily
from fairridge.metrics import predicted_means, scatter_of, sensitive_span, share_explained
from fairridge.metrics.brier import integrated_brier_score
from fairridge.models import FairBasis, Fit
from fairridge.search import Problem, Solution
from fairridge.validation import evaluate
from fairridge.validation.decision_rates import DecisionRates
from fairridge.validation.folds import Fold
from fairridge.validation.whole import WholeModel

# What one bound reached in one fold, by name of the measure.
Scores = dict[str, Any]


@dataclass(frozen=True)
class DenseRows:
    """Rows in memory, written out once for all bounds."""

    engine: MemoryEngine  # where the rows are
    center: Floats  # means of [S, X], of shape (q+p,)
    columns: Floats  # [S, X] less those, of shape (n, q+p)
    span: Floats  # orthonormal columns with the span of S, of shape (n, rank)

    @classmethod
    def of(cls, engine: MemoryEngine) -> DenseRows:
        """Write the rows of an engine out."""
        S, X, _, weight = engine.dense_columns()
        columns = np.hstack([S, X])
        center = np.average(columns, axis=0, weights=weight)
        columns -= center
        return cls(engine, center, columns, sensitive_span(S, weight))

    def eta(self, basis: FairBasis, fit: Fit) -> Floats:
        """Return linear predictors of shape (n, K), without the offset."""
        raw = np.atleast_2d(basis.raw_coefficients(fit.alpha, fit.beta))
        intercept = np.atleast_1d(fit.mean_intercept)
        return intercept + raw @ (self.center - basis.center) + self.columns @ raw.T

    def with_offset(self, eta: Floats) -> Floats:
        """Add the offset of the rows."""
        offset = self.engine.offset
        return eta if offset is None else eta + offset[:, None]

    def judged(self, family: Family, eta: Floats) -> tuple[Floats, Floats]:
        """Return predictions that are compared between people, and the weights of the rows.

        With the log link these are rates μ/e, weighted by w·e; otherwise the offset is a part
        of the score of a row.
        """
        engine = self.engine
        exposure = exposure_of(family.link, engine.offset)
        if exposure is None:
            return predicted_means(family, self.with_offset(eta)), engine.weights
        return predicted_means(family, eta), engine.weights * exposure

    def accuracy(self, family: Family, eta: Floats) -> dict[str, float]:
        """Return loss and scores of linear predictors, which the offset is added to."""
        engine = self.engine
        return evaluate.accuracy(family, engine.response, self.with_offset(eta), engine.weights)

    def explained(
        self, family: Family, eta: Floats, baseline: tuple[Floats, Floats] | None = None
    ) -> dict[str, float]:
        """Return D² of counts and amounts, and the Brier score of times, given H₀ there."""
        if family.reads == "times" and baseline is not None:
            (time, event), weight = self.engine.response.T, self.engine.weights
            shifted = self.with_offset(eta)[:, 0]
            return {"brier": integrated_brier_score(time, event, shifted, weight, baseline)}
        if family.reads != "numbers" or family.least_squares:
            return {}
        engine, shifted = self.engine, self.with_offset(eta)
        value = explained_deviance(family, engine.response, shifted, engine.weights, engine.offset)
        return {"d_squared": value}

    def achieved(
        self, definition: Definition, fit: Fit, eta: Floats, *, adjusted: bool = True
    ) -> float:
        """Return how unfair a fit is here, by its own definition; the offset has no part in it."""
        columns = [self.span, eta, self.engine.rows.targets]
        joint = scatter_of(np.hstack(columns), self.engine.weights)
        q, m = self.span.shape[1], eta.shape[1]
        return definition.held_out(fit, self.engine, joint, q, m, adjusted=adjusted)

    def predicted(self, family: Family, eta: Floats) -> dict[str, tuple[Floats, Floats]]:
        """Return what S may explain, and weights: η without offset, and means or rates."""
        of_eta = {"share_of_eta": (eta, self.engine.weights)}
        return (
            of_eta
            if family.reads == "times"
            else of_eta | {"share_of_means": self.judged(family, eta)}
        )

    def yardstick(self, family: Family, eta: Floats, *, adjusted: bool = True) -> dict[str, float]:
        """Return the shares that every model is described by; see `metrics.dependence_shares`."""
        return {
            name: share_explained(values, self.span, weight, adjusted=adjusted)
            for name, (values, weight) in self.predicted(family, eta).items()
        }

    def decided(
        self, family: Family, eta: Floats, rates: DecisionRates, threshold: float | None
    ) -> dict[str, float]:
        """Compare decisions between groups: the likeliest class, or numbers above a threshold."""
        engine, shifted = self.engine, self.with_offset(eta)
        if family.reads == "numbers":
            means, weight = self.judged(family, eta)
            return rates.of_numbers(means[:, 0], threshold, weight)
        decided, truth = cast(ClassFamily, family).likeliest(shifted), engine.response[:, 0]
        n_classes = family.n_predictors + 1
        return rates.of_classes(decided, truth.astype(np.intp), engine.weights, n_classes)

    def variance(self, raw: Floats) -> float:
        """VAR of [S, X] times coefficients, times n; over classes if there are several."""
        scores = self.columns @ np.atleast_2d(raw).T
        return float(np.trace(scatter_of(scores, self.engine.weights)))


def row_fold(
    whole: WholeModel, fold: Fold, bounds: Floats, rates: DecisionRates | None = None
) -> list[Scores]:
    """Fit to the training rows, and measure on the validation rows.

    `rates` say how decisions are compared between groups of all rows.
    """
    model, training = whole.model, whole.training
    train, test = training.fold(*fold)
    _require_response(training, train)
    problem = whole.problem(train)
    rows, test_rates = DenseRows.of(test), None if rates is None else rates.take(fold[1])
    threshold = None if rates is None else _threshold(rates, train, training.response.family)
    # The deviance of a fit has the weights of classes in it, and losses do not.
    weighted = getattr(problem.family, "class_weights", None) is not None
    trained = DenseRows.of(train) if weighted else None
    return [
        _row_scores(model, problem, solution, rows, test_rates, threshold)
        | _training_loss(problem, solution, trained)
        for solution in model._solve(problem, bounds)
    ]


def _threshold(rates: DecisionRates, train: MemoryEngine, family: Family) -> float | None:
    """Return what numbers, or their rates, are decided by; None for classes and times."""
    if family.reads != "numbers":
        return None
    exposure = exposure_of(family.link, train.offset)
    if exposure is None:
        return rates.threshold_of(train.response[:, 0], train.weights)
    return rates.threshold_of(train.response[:, 0] / exposure, train.weights * exposure)


def _training_loss(
    problem: Problem, solution: Solution, trained: DenseRows | None
) -> dict[str, float]:
    """Measure the loss on training rows; nothing if the deviance of the fit tells it."""
    if trained is None:
        return {}
    eta = trained.eta(problem.basis, solution.fit)
    return {"train_loss": trained.accuracy(problem.family, eta)["loss"]}


def chosen_fold(
    model: LinearModel,
    training: Training,
    fold: Fold,
    bounds: Floats,
    rates: DecisionRates | None = None,
) -> list[Scores]:
    """Measure a model that chooses its λ₂: from the training rows alone, at each bound anew."""
    _require_response(training, training.engine_on(fold[0]))
    rows, scores = training.part(fold[0]), []
    for r in bounds:
        chosen = with_chosen_penalty(clone(model).set_params(unfairness=float(r)), rows)
        scores += row_fold(WholeModel(chosen, training), fold, np.array([r]), rates)
    return scores


def _row_scores(
    model: LinearModel,
    problem: Problem,
    solution: Solution,
    rows: DenseRows,
    rates: DecisionRates | None,
    threshold: float | None,
) -> Scores:
    fit, family = solution.fit, problem.family
    eta = rows.eta(problem.basis, fit)
    decided = {} if rates is None else rows.decided(family, eta, rates, threshold)
    return fold_scores(
        problem,
        solution,
        rows.engine.n_rows,
        rows.accuracy(family, eta),
        rows.achieved(model._traits.definition, fit, eta),
        rows.yardstick(family, eta) | decided,
        rows.variance,
    )


def _require_response(training: Training, train: MemoryEngine) -> None:
    """Raise if no model can be fitted to the training rows of a fold."""
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


def fold_scores(
    problem: Problem,
    solution: Solution,
    n_rows: int,
    accuracy: dict[str, float],
    achieved: float,
    yardstick: dict[str, float],
    variance: Callable[[Floats], float],
) -> Scores:
    """Put together what one bound reached in one fold."""
    fit, basis, family = solution.fit, problem.basis, problem.family
    isolation = problem.isolation
    train_size = basis.weight + (0.0 if isolation is None else isolation.weight)
    if family.reads == "times":
        train_size = evaluate.size(family, problem.engine.response, problem.engine.weights)
    return {
        "n": n_rows,
        "train_loss": evaluate.loss(family, fit.deviance, train_size),
        "loss": accuracy["loss"],
        "train_achieved": solution.achieved,
        "achieved": achieved,
        **yardstick,
        "variance_share": _variance_share(basis, fit, variance),
        "status": solution.choice.status,
        "lambda_": fit.lambda_,
    } | accuracy


def _variance_share(basis: FairBasis, fit: Fit, variance: Callable[[Floats], float]) -> float:
    """VAR(Sα)/(VAR(Sα) + VAR(Uβ)) with the training B, from variances of [S, X]·raw."""
    of_sensitive = variance(basis.raw_coefficients(fit.alpha, np.zeros_like(fit.beta)))
    total = of_sensitive + variance(basis.raw_coefficients(np.zeros_like(fit.alpha), fit.beta))
    return of_sensitive / total if total > 0.0 else 0.0
