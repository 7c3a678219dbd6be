"""What a fit leaves on its model: the columns, the coefficients, how fair they are."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from fairridge.arguments import check_bound
from fairridge.data.columns import CategoricalColumn
from fairridge.data.profiles import (
    ColumnProfile,
    NumberSample,
    column_profiles,
    level_shares,
    shares_of_means,
)
from fairridge.engines import Moments, in_memory
from fairridge.estimators._training import Training
from fairridge.export import LinearForm, fingerprint
from fairridge.metrics import decided_by, group_differences, shares_of_fit
from fairridge.models import FairBasis, Fit, TrainingColumns
from fairridge.search import Problem, Solution
from fairridge.sources.stream import sample_of

# Moments of more columns are too large to keep.
MOST_COLUMNS = 512


def store_columns(model: Any, training: Training) -> None:
    """Keep the parameters of the fit, and what describes the input columns and their rows."""
    # A copy, since users may change values in place.
    model._settings = clone(model)
    design = training.design
    model.n_features_in_ = design.n_columns
    if design.names is not None:
        model.feature_names_in_ = np.array(design.names, dtype=object)
    elif hasattr(model, "feature_names_in_"):
        del model.feature_names_in_
    model.sensitive_names_ = np.array(design.sensitive.names, dtype=object)
    model.predictor_names_ = np.array(design.predictors.names, dtype=object)
    model.sensitive_dropped_ = getattr(design.sensitive, "dropped", 0.0)
    model.n_rows_ = training.n_rows
    model.n_iter_ = training.engine.passes
    if training.response.classes is not None:
        model.classes_ = training.response.classes
    model._design = design
    model._backend = training.backend


def store_solution(
    model: Any, training: Training, problem: Problem, solution: Solution, *, blind: bool = False
) -> None:
    """Keep the coefficients, the fit, and how fair it is.

    Parameters
    ----------
    model : estimator
        Where to keep them.
    training : Training
        The training data.
    problem : Problem
        The model on them, for every bound.
    solution : Solution
        The model for one bound.
    blind : bool
        Whether it predicts from X alone.
    """
    store_columns(model, training)
    basis, fit = problem.basis, solution.fit
    model.alpha_, model.beta_, model.fair_intercept_ = fit.alpha, fit.beta, fit.intercept
    _store_linear_form(model, training, basis, fit, blind)
    model.lambda_ = fit.lambda_
    model.unfairness_ = solution.achieved
    model.unfairness_components_ = solution.components
    model.status_ = solution.choice.status
    model.bound_active_ = model.status_ != "inactive" and fit.lambda_ > 0.0
    model.converged_ = model.status_ in ("inactive", "converged")
    if solution.each:
        each = solution.each.items()
        model.lambda_ = {name: part.lambda_ for name, part in each}
        model.unfairness_ = {name: part.achieved for name, part in each}
        model.status_ = {name: part.status for name, part in each}
    model.family_ = problem.family
    model.deviance_ = fit.deviance
    model.dispersion_ = problem.dispersion(fit)
    model.loglik_ = problem.loglik(fit)
    null = problem.null_deviance
    model.explained_deviance_ = 1.0 - fit.deviance / null if null > 0.0 else 1.0
    model.explained_by_sensitive_ = basis.explained
    if basis.inflation is not None:
        model.variance_inflation_ = basis.inflation
    model._training = TrainingColumns.of(basis, fit)
    model._moments = _moments(training, problem)
    model._profiles = _profiles_of(training)
    model._text_styles = ()  # the styles of an earlier file do not apply
    _store_dependence(model, training, fit)
    model.n_iter_ = problem.engine.passes


def _moments(training: Training, problem: Problem) -> Moments | None:
    """Return the moments of a least-squares model of rows in memory, for its inference."""
    engine = training.engine
    few = len(engine.names) <= MOST_COLUMNS and not problem.space.compressed
    summed = few and problem.family.least_squares and in_memory(engine)
    return engine.moments() if summed else None


def _profiles_of(training: Training) -> tuple[ColumnProfile, ...]:
    """Describe the columns of S, then of X, without another pass over rows elsewhere.

    Moments alone have no deciles, and rows on other devices are not read again.
    """
    design, engine = training.design, training.engine
    columns = design.columns
    if len(columns) > MOST_COLUMNS:  # too many to display
        return ()
    if in_memory(engine):
        rows = engine.rows if training.unmapped is None else training.unmapped
        shares = level_shares(columns, rows.columns, rows.weight)
        sample = NumberSample.of(rows.columns, rows.n_rows, rows.weight)
        return column_profiles(columns, shares, sample, rows.n_rows)
    some = sample_of(engine)
    shares = []
    if any(isinstance(column, CategoricalColumn) for column in columns):
        shares = shares_of_means(columns, engine.moments().mean)
    return column_profiles(columns, shares, some, training.n_rows)


def _store_dependence(model: Any, training: Training, fit: Fit) -> None:
    """Keep the numbers that every model is described by, and what they mean between groups."""
    shares = shares_of_fit(fit)
    differences = group_differences(fit, training.design.sensitive, training.n_rows)
    classes = training.response.classes
    # Decisions are counted in main memory, where rows on a device would have to be brought first.
    if classes is not None and not training.engine.on_device:
        decided = decided_by(fit, training.engine, len(classes), training.unmapped)
        shares["decision_gap"] = decided.gap
        for label, ratio in zip(classes, decided.impact_ratios, strict=True):
            differences[f"adverse_impact_ratio[{label}]"] = float(ratio)
    model.dependence_ = _finite(shares)
    model.group_differences_ = _finite(differences)


def _finite(numbers: dict[str, float]) -> dict[str, float]:
    return {name: value for name, value in numbers.items() if np.isfinite(value)}


def _store_linear_form(
    model: Any, training: Training, basis: FairBasis, fit: Fit, blind: bool
) -> None:
    """Keep η = intercept_ + Z·coef_, Z the encoded columns in the order of the input.

    Models that do not use S to predict have X in Z alone.
    """
    design = training.design.without_sensitive() if blind else training.design
    raw, center = basis.raw_coefficients(fit.alpha, fit.beta), basis.center
    if blind:  # coefficients of S are zero, but for rounding
        raw, center = fit.beta, basis.center_predictors
    intercept = fit.mean_intercept - raw @ center
    # In the order of memory that a loaded model has, so that sums agree to the last bit.
    coefficients = np.ascontiguousarray(raw[..., design.input_order])
    if training.response.classes is not None:  # as scikit-learn's classifiers have them
        coefficients, intercept = np.atleast_2d(coefficients), np.atleast_1d(intercept)
    model.coef_, model.intercept_ = coefficients, intercept
    model.coef_names_ = np.array(design.encoded_names, dtype=object)[design.input_order]


def describe(model: Any) -> LinearForm:
    """Return the fitted model as `export.linear_form` hands it to functions on models."""
    return LinearForm(
        type(model).__name__,
        model._design,
        model._raw_coefficients,
        np.atleast_1d(np.asarray(model.intercept_, dtype=np.float64)),
        model._training,
        model.family_,
        model.unknown,
        getattr(model, "classes_", None),
        model._backend,
    )


def training_fingerprint(model: Any) -> str:
    """SHA-256 digest of the training data: names, rows, weights and moments."""
    check_is_fitted(model)
    return fingerprint(model._training, model._design, model.n_rows_)


def refit_at(model: Any, training: Training, problem: Problem, unfairness: float) -> Any:
    """Return a fitted model for another bound on the same data."""
    other = clone(model).set_params(unfairness=unfairness)
    bounds = check_bound(unfairness, other._traits.largest_bound)
    return other._store(training, problem, other._solve(problem, bounds, training.held_out)[0])
