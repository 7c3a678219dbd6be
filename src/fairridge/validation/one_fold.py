"""Models in one fold: fitted to the training rows, and measured on the validation rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from sklearn.base import clone, is_classifier

from fairridge._typing import Floats
from fairridge.data import exposure_of, index_of
from fairridge.data.pipelines import at_bound, predicted, with_columns_of
from fairridge.engines import (
    Engine,
    MemoryEngine,
    Moments,
    PrecomputedMoments,
    has_many_sparse,
    is_wide,
)
from fairridge.estimators._choosing import with_chosen_penalty
from fairridge.estimators._each import measures_with_bounds
from fairridge.estimators._fair_ridge import LinearModel
from fairridge.estimators._training import Training
from fairridge.metrics.dependence_shares import scatter_of
from fairridge.metrics.groups import SensitiveColumns
from fairridge.metrics.measure import Measure, dependence_of, measure_of, measured_on_rows
from fairridge.metrics.scored_rows import ScoredRows
from fairridge.models import FairBasis, Fit
from fairridge.search import Solution, of_parts
from fairridge.validation import evaluate
from fairridge.validation.evaluate import Decisions
from fairridge.validation.folds import Fold
from fairridge.validation.scored_model import (
    PassedRows,
    ScoredModel,
    read_rows,
    scored_model,
    written,
)

# What one bound reached in one fold, by name of the measure.
Scores = dict[str, Any]


@dataclass(frozen=True)
class WholeModel:
    """A model of all rows, and what helps to fit it to some of them."""

    model: LinearModel
    training: Training
    warm_start: Any = None  # what helps a problem on some of the rows; None for closed forms
    moments: Moments | None = None  # those of all rows, if moments are enough

    @classmethod
    def of(cls, model: LinearModel, training: Training) -> WholeModel:
        """Fit the model to all rows, so far as that helps folds to start."""
        if training.unmapped is not None:
            # Features that are fitted to each training set have no coefficients in common.
            return cls(model, training)
        if uses_moments(model, training):
            return cls(model, training, moments=training.engine.moments())
        model, problem = model._set_up(training)
        return cls(model, training, problem.warm_start())

    def problem(self, train: Engine) -> Any:
        """Set the model up on some rows, and start it."""
        problem: Any = self.model._problem_on(train, self.training.response.on(train))
        if self.warm_start is not None:
            problem.start_from(self.warm_start)
        return problem

    def solved(self, train: Engine, bounds: Floats) -> Solved:
        """Fit to some rows."""
        problem = self.problem(train)
        return Solved(self, problem, self.model._solve(problem, bounds))

    def solved_fold(
        self, fold: Fold, bounds: Floats
    ) -> tuple[Solved, MemoryEngine | None, MemoryEngine]:
        """Fit to the training rows of a fold; also return both parts of the rows."""
        # Training rows are not read if moments carry the digits.
        # Positions that do not divide the rows (hold-out, custom folds) have no complement.
        if self.moments is not None and divides(fold, self.training.n_rows):
            test = self.training.engine_on(fold[1])
            with suppress(RowsNeededError):
                return self.solved(moments_without(self.moments, test), bounds), None, test
        train, test = self.training.fold(*fold)
        require_response(self.training, train)
        return self.solved(train, bounds), train, test


@dataclass(frozen=True)
class Solved:
    """A model for every bound, fitted to some of the rows."""

    whole: WholeModel
    problem: Any
    solutions: list[Solution]

    def scored(self, engine: MemoryEngine) -> list[ScoredRows]:
        """Return the rows of an engine with the scores of every fit."""
        rows = written(engine, replace(self.whole.training.response, family=self.problem.family))
        fits, basis = [solution.fit for solution in self.solutions], self.problem.basis
        raw = np.array([np.atleast_2d(basis.raw_coefficients(f.alpha, f.beta)) for f in fits])
        levels = np.array([np.atleast_1d(fit.mean_intercept) for fit in fits]) - raw @ basis.center
        scores = engine.scores(raw.reshape(-1, raw.shape[2])) + levels.ravel()
        return [rows.with_scores(eta) for eta in np.split(scores, len(fits), axis=1)]

    def achieved(
        self, engine: MemoryEngine, scored: Sequence[ScoredRows], *, adjusted: bool = True
    ) -> list[float]:
        """Return how unfair fits are on rows, by their own definition, without the offset."""
        definition, found = self.whole.model._traits.definition, []
        for solution, rows in zip(self.solutions, scored, strict=True):
            joint = scatter_of(
                np.hstack([rows.span, rows.scores, engine.rows.targets]), rows.weight
            )
            q, m = rows.span.shape[1], rows.scores.shape[1]
            fit = solution.fit
            found.append(definition.held_out(fit, engine, joint, q, m, adjusted=adjusted))
        return found


def row_fold(
    whole: WholeModel, fold: Fold, bounds: Floats, decisions: Decisions | None = None
) -> list[Scores]:
    """Fit to the training rows, and measure on the validation rows."""
    solved, train, test = whole.solved_fold(fold, bounds)
    problem, scored = solved.problem, solved.scored(test)
    if decisions is not None:
        decisions = _decided_in(decisions, whole.training, fold)
    trained = None
    # The deviance of a fit has the weights of classes in it, and losses do not.
    if train is not None and getattr(problem.family, "class_weights", None) is not None:
        trained = solved.scored(train)
    scores, measures = [], _measures(whole)
    found = zip(solved.solutions, scored, solved.achieved(test, scored), strict=True)
    for k, (solution, rows, achieved) in enumerate(found):
        measured = {
            "achieved": achieved,
            **dependence_of(rows),
            **({} if decisions is None else decisions.of(rows)),
            **achieved_each(measures, rows),
            "variance_share": _variance_share(test, problem.basis, solution.fit),
        }
        accuracy = evaluate.accuracy(rows)
        if trained is not None:
            accuracy["train_loss"] = evaluate.accuracy(trained[k])["loss"]
        scores.append(fold_scores(problem, solution, test.n_rows, measured, accuracy))
    return scores


def _decided_in(decisions: Decisions, training: Training, fold: Fold) -> Decisions:
    """Return how validation rows are decided, by what the training rows say."""
    (train, test), engine = fold, cast(MemoryEngine, training.engine)
    exposure = exposure_of(training.response.family.link, engine.offset)
    exposure = None if exposure is None else exposure[train]
    given = engine.response[train, 0], engine.weights[train], exposure
    return decisions.take(test).decided_in(*given)


def _measures(whole: WholeModel) -> tuple[tuple[Measure, float], ...]:
    """Return what attributes with bounds of their own explain; nothing with one bound."""
    model, training = whole.model, whole.training
    if not isinstance(model.unfairness, Mapping):
        return ()
    family, design = training.response.family, training.design
    measure = measure_of(model._traits.definition, family, design, model.controls)
    return measures_with_bounds(measure, model.unfairness, design)


def achieved_each(bounds: Sequence[tuple[Measure, float]], rows: ScoredRows) -> dict[str, float]:
    """Return how much each attribute with a bound of its own explains in other rows."""
    return {
        f"achieved[{measure.attributes[0]}]": measure.adjusted(rows)
        for measure, _ in bounds
        if measure.columns is not None
    }


def chosen_fold(
    model: LinearModel,
    training: Training,
    fold: Fold,
    bounds: Floats,
    decisions: Decisions | None = None,
) -> list[Scores]:
    """Measure a model that chooses its λ₂: from the training rows alone, at each bound anew."""
    require_response(training, training.engine_on(fold[0]))
    rows, scores = training.part(fold[0]), []
    for r in bounds:
        chosen = with_chosen_penalty(at_bound(model, float(r)), rows)
        scores += row_fold(WholeModel(chosen, training), fold, np.array([r]), decisions)
    return scores


def require_response(training: Training, train: MemoryEngine) -> None:
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
    elif family.reads == "numbers" and not family.least_squares and not train.response.any():
        raise ValueError(
            "the training rows of a fold have no response other than 0; use other or fewer folds."
        )


def fold_scores(
    problem: Any, solution: Solution, n_rows: int, measured: Scores, accuracy: Scores
) -> Scores:
    """Put together what one bound reached in one fold: in training, and on validation rows."""
    basis, family, isolation = problem.basis, problem.family, problem.isolation
    train_size = basis.weight + (0.0 if isolation is None else isolation.weight)
    if family.reads == "times":
        train_size = evaluate.size(family, problem.engine.response, problem.engine.weights)
    return {
        "n": n_rows,
        "train_loss": evaluate.loss(family, solution.fit.deviance, train_size),
        "loss": accuracy["loss"],
        "train_achieved": solution.achieved,
        **{f"train_achieved[{name}]": one.achieved for name, one in solution.each.items()},
        **measured,
        "status": solution.choice.status,
        "lambda_": solution.fit.lambda_,
        **accuracy,
    }


def _variance_share(engine: MemoryEngine, basis: FairBasis, fit: Fit) -> float:
    """Return the share of what S adds to the scores, over that and what U adds."""

    def variance(alpha: Floats, beta: Floats) -> float:
        raw = np.atleast_2d(basis.raw_coefficients(alpha, beta))
        return float(np.trace(scatter_of(engine.scores(raw), engine.weights)))

    of_sensitive = variance(fit.alpha, np.zeros_like(fit.beta))
    return share_of(of_sensitive, variance(np.zeros_like(fit.alpha), fit.beta))


def share_of(part: float, other: float) -> float:
    """Return the share of one of two parts; 0 of nothing."""
    return part / (part + other) if part + other > 0.0 else 0.0


# ------------------------------------------------------------------------ training rows by moments


# Where moments are enough, those of the training rows are those of all rows less the fold's: then
# a fold costs no pass over them. If the subtraction would lose digits the rows are read.
# A column that keeps less of its scatter in the training rows has lost digits to the subtraction.
MIN_SCATTER_LEFT = 0.1


class RowsNeededError(Exception):
    """Moments alone do not carry the digits."""


def no_rows() -> MemoryEngine:
    """Stand for rows that are not to be read."""
    raise RowsNeededError


def uses_moments(model: LinearModel, training: Training) -> bool:
    """Whether everything a model needs is in the moments of [S, X, y]."""
    traits, closed = model._traits, training.response.family.least_squares
    wide = is_wide(training.engine) or has_many_sparse(training.engine)
    compressed = traits.compresses and wide
    return closed and traits.moments_suffice and training.unmapped is None and not compressed


def divides(fold: Fold, n: int) -> bool:
    """Whether every row is in one of the two parts, once."""
    seen = np.zeros(n, dtype=bool)
    for part in fold:
        seen[part] = True
    return len(fold[0]) + len(fold[1]) == n and bool(seen.all())


def moments_without(whole: Moments, test: MemoryEngine) -> PrecomputedMoments:
    """Return the moments of all rows but some; raise if a column hardly varies in what is left."""
    # A level that only the fold has would be left with a scatter of rounding errors, and an outlier
    # in the fold covers all digits of the other rows.
    rest = whole - test.moments()
    if (np.diag(rest.scatter) < MIN_SCATTER_LEFT * np.diag(whole.scatter)).any():
        raise RowsNeededError
    return PrecomputedMoments(rest, test.names, test.n_sensitive, no_rows)


# ------------------------------------------------------------------------ models of any kind


# Rows that show whether a model uses S, and the relative change of a prediction that does.
SHUFFLED_ROWS, PREDICTION_TOLERANCE = 1000, 1e-9


@of_parts()
def any_fold(
    model: Any,
    rows: PassedRows,
    fold: Fold,
    bounds: Floats,
    decisions: Decisions,
    on: SensitiveColumns | None = None,
) -> list[Scores]:
    """Fit to the training rows for every bound, and measure on the validation rows."""
    train, test = (rows.take(part) for part in fold)
    train_on, test_on = (None if on is None else on.take(part) for part in fold)
    if is_classifier(model):
        _require_classes(train.y, test.y)
    scores = []
    for known in _fitted_each(scored_model(model), train, bounds):
        _, of_train = read_rows(known, known.inner_rows(train), train_on)
        _, of_test = read_rows(known, known.inner_rows(test), test_on)
        in_training = dependence_of(of_train, adjusted=False) | evaluate.accuracy(of_train)
        held_out = dependence_of(of_test) | evaluate.accuracy(of_test)
        decided = decisions.take(fold[1]).decided_in(
            of_train.response[:, 0], of_train.weight, of_train.exposure
        )
        share = "share_of_means" if "share_of_means" in held_out else "share_of_eta"
        of_model = {
            "n": len(of_test.weight),
            "train_loss": in_training["loss"],
            "loss": held_out["loss"],
            **_in_training(known, of_train, in_training[share]),
            "achieved": _achieved(known, of_test) if known.fair else held_out[share],
            **achieved_each(known.bounds, of_test),
            **decided.of(of_test),
            "status": known.status,
        }
        scores.append(of_model | held_out)
    return scores


def _require_classes(train: Any, test: Any) -> None:
    """Raise if training rows lack a class of the validation rows."""
    lost = np.setdiff1d(np.asarray(test), np.asarray(train))
    if lost.size:
        raise ValueError(
            f"the training rows of a fold have no row of class {str(lost[0])!r}; use stratified "
            "or fewer folds."
        )


def _fitted_each(model: ScoredModel, train: PassedRows, bounds: Floats) -> Iterator[ScoredModel]:
    """Yield models for some bounds; those of a stacked model share one cross-fit."""
    if model.kind != "stacked" or not model.bare or model.last.learns_map:
        yield from (model.fitted(train, float(r)) for r in bounds)
        return
    path = clone(model.last).path(train.X, train.y, unfairness=bounds, **model.beside(train))
    yield from (scored_model(path.at(float(r))) for r in bounds)


def _in_training(model: ScoredModel, rows: ScoredRows, share: float) -> dict[str, float]:
    """Return what a model bounds in training, also by attribute; a share of one without a bound."""
    if model.measure is None:
        return {"train_achieved": share}
    reached = model.last.unfairness_
    if not isinstance(reached, Mapping):
        return {"train_achieved": reached}
    each = {f"train_achieved[{name}]": value for name, value in reached.items()}
    return {"train_achieved": model.measure.interval(rows, 0.5).value} | each


def _achieved(model: ScoredModel, rows: ScoredRows) -> float:
    """Return what a fair model bounds, on rows that it was not fitted to."""
    assert model.measure is not None
    measure = measured_on_rows(model.measure, rows.family)
    return measure.adjusted(rows) if measure.of_variance else measure.interval(rows, 0.5).value


def uses_sensitive(model: Any, rows: PassedRows, places: Sequence[int]) -> bool:
    """Whether predictions of a fitted model change with the attributes of a person."""
    # These are at some places in X, unless they are passed beside it.
    rng = np.random.default_rng(0)
    some = rng.permutation(len(rows.y))[:SHUFFLED_ROWS]
    here, others = rows.take(some), rows.take(rng.permutation(some))
    if here.sensitive_features is None:
        changed = replace(here, X=with_columns_of(here.X, others.X, places))
    else:
        S, index = others.sensitive_features, index_of(here.sensitive_features)
        changed = replace(here, sensitive_features=S if index is None else S.set_axis(index))
    before, after = (predicted(model, each.X, each.sensitive_features) for each in (here, changed))
    return bool(np.abs(after - before).max() > PREDICTION_TOLERANCE * np.abs(before).max())
