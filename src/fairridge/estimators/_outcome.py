"""What a fit says of its data and its bound, and what it keeps: errors, warnings, attributes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from fairridge._warnings import warn_user
from fairridge.arguments import check_bound, listed
from fairridge.data import Design, Encoding, MappedEncoding, RowLevel
from fairridge.data.classes import labels_by_code
from fairridge.data.columns import CategoricalColumn
from fairridge.data.design import (
    ColumnProfile,
    NumberSample,
    column_profiles,
    level_shares,
    shares_of_means,
)
from fairridge.data.pipelines import at_bound
from fairridge.engines import Moments, in_memory
from fairridge.estimators._means import null_deviance
from fairridge.estimators._model import Traits
from fairridge.estimators._training import Training
from fairridge.exceptions import BoundWarning, DataWarning
from fairridge.export import LinearForm, fingerprint
from fairridge.export.model_file import FROM_GROUPS
from fairridge.export.training import ControlledColumns, TrainingColumns
from fairridge.fairness import MeanParity
from fairridge.families.base import modeled_class
from fairridge.inference import MAX_KEPT_COLUMNS
from fairridge.metrics.group_table import GroupTable, training_table
from fairridge.metrics.groups import Grouping, encoded_groupings
from fairridge.metrics.training_groups import (
    EVERYONE,
    MeansWithS,
    ScoresWithS,
    TrainingGroups,
)
from fairridge.models import FairBasis, Fit, SeparatedLevel
from fairridge.search import SEPARATION_RIDGE, Problem, Solution
from fairridge.search.setup import resolve_definition
from fairridge.sources.stream import StreamEngine

# Variance inflation factors beyond which a number is almost a combination of other columns.
VIF_WARNING = 10_000.0


def check_columns(
    basis: FairBasis,
    training: Training,
    traits: Traits,
    ignored: frozenset[int] = frozenset(),
) -> None:
    """Raise if features explain anything; warn of columns that add nothing, or of an odd offset."""
    # Columns that are `ignored` are constant or collinear without isolated rows.
    _check_ranks(basis, training.design, training.n_rows, advice=traits.advice)
    _warn_of_unlogged(training)
    parts = []
    S, X = training.design.sensitive, training.design.predictors
    empty = [*S.single, *(S.names[k] for k in basis.sensitive.dependent if k not in S.empty)]
    # Features of one map, such as splines, are collinear by their nature.
    if empty and not isinstance(S, MappedEncoding):
        parts.append(
            f"sensitive column(s) {listed(empty)} are constant or linear combinations of the others"
        )
    # With a penalty collinear predictors have one answer, so there is nothing to warn of.
    skip = traits.regularized or isinstance(X, MappedEncoding)
    known = X.empty | ignored
    empty = [] if skip else [X.names[k] for k in basis.predictors.dependent if k not in known]
    if empty:
        parts.append(
            f"predictor column(s) {listed(empty)} are constant or linear combinations of the "
            "sensitive attributes and the other predictors"
        )
    if not np.diag(basis.target_scatter).any():
        parts.append("the response is constant")
    if parts:
        warn_user("; ".join(parts) + ". The minimum-norm coefficients are used.", DataWarning)
    if not skip:
        _warn_of_twins(basis, X)


def _warn_of_twins(basis: FairBasis, X: Encoding | MappedEncoding) -> None:
    """Warn of numbers that are almost linear combinations of other columns."""
    inflation = basis.variance_inflation
    if inflation is None:
        return
    numbers = [k for k, given in enumerate(X.as_given) if given]
    twins = [k for k in numbers if VIF_WARNING < inflation[k] < np.inf]
    if twins:
        largest = max(float(inflation[k]) for k in twins)
        warn_user(
            f"Predictor column(s) {listed(X.names[k] for k in twins)} are almost linear "
            f"combinations of the others (variance inflation factor up to {largest:.3g}), and "
            "their coefficients are large and uncertain. Leave one of them out, or set a "
            "predictor_penalty.",
            DataWarning,
        )


def _check_ranks(basis: FairBasis, design: Design, n_rows: int, *, advice: str | None) -> None:
    q, p = basis.sensitive.rank, basis.predictors.rank
    if isinstance(design.sensitive, MappedEncoding) and 2 * q > n_rows:
        raise ValueError(
            f"sensitive_map makes {q} independent features of S for {n_rows} rows: they would "
            "explain every predictor. Use a map with far fewer features than rows."
        )
    if isinstance(design.predictors, MappedEncoding) and advice and 1 + q + p >= n_rows:
        _refuse_features(p, n_rows, advice)


def check_features(Z: NDArray[np.float64], design: Design, advice: str) -> None:
    """Raise if the features of a matrix are so many that they fit any response."""
    if not isinstance(design.predictors, MappedEncoding) or Z.shape[1] + 1 < len(Z):
        return
    rank = int(np.linalg.matrix_rank(Z - Z.mean(axis=0)))
    if 1 + rank >= len(Z):
        _refuse_features(rank, len(Z), advice)


def _refuse_features(features: int, n_rows: int, advice: str) -> None:
    raise ValueError(
        f"predictor_map makes {features} independent features of X for {n_rows} rows: without a "
        f"penalty they fit any response. {advice}"
    )


def warn_of_predictors(dependent: Iterable[int], X: Encoding | MappedEncoding) -> None:
    """Warn of predictors that add nothing to the others, in models that predict from X alone."""
    empty = [X.names[k] for k in dependent if k not in X.empty]
    # Features of one map, such as splines, are collinear by their nature.
    if empty and not isinstance(X, MappedEncoding):
        warn_user(
            f"predictor column(s) {listed(empty)} are constant or linear combinations of the "
            "others. The minimum-norm coefficients are used.",
            DataWarning,
        )


def warn_of_bound(solution: Solution, remedy: str) -> None:
    """Warn if a bound is not met, or is crossed several times; `remedy` helps a failed search."""
    choice, r = solution.choice, solution.unfairness
    failed = {k: bound for k, bound in solution.each.items() if bound.status == "not-converged"}
    if failed:
        bounds = {k: bound.bound for k, bound in failed.items()}
        shares = ", ".join(f"{bound.achieved:.4g} for {k!r}" for k, bound in failed.items())
        warn_user(
            f"no best model was found for unfairness={bounds} (achieved: {shares}); {remedy}, or "
            "raise these bounds.",
            ConvergenceWarning,
        )
    elif choice.status == "not-converged":
        warn_user(
            f"the fit for unfairness={r:g} did not converge (achieved "
            f"{solution.achieved:.10g}); {remedy}.",
            ConvergenceWarning,
        )
    else:
        text = _about_bound(solution)
        if text:
            warn_user(text, BoundWarning)


def _about_bound(solution: Solution) -> str:
    """Say what is unusual about how a bound is met, or that it is not; "" if nothing is."""
    choice, fit, r = solution.choice, solution.fit, solution.unfairness
    if choice.status == "infeasible" and not np.delete(fit.beta, fit.controls, axis=-1).any():
        only, what = "the same prediction for everyone meets", "The fitted model gives that"
        if fit.beta.any():
            only, what = "predictions from the controls alone meet", "The fitted model makes these"
        return (
            f"Only {only} unfairness={r:g}: S explains more of every mix of the other "
            f"columns that was tried. {what}. Raise the bound, or add predictors."
        )
    if choice.status == "infeasible":
        return (
            f"no penalty meets unfairness={r:g}: the definition stays at "
            f"{solution.achieved:.4g} even without the sensitive attributes (alpha = 0)."
        )
    if choice.status == "jumped":
        return (
            f"unfairness={r:g} is met with room to spare ({solution.achieved:.4g}): as the penalty "
            "grows, minima jump over the bound."
        )
    if _all_or_nothing(solution):
        return (
            "All predictors are controls, and S explains all or nothing of what is left: "
            f"unfairness={r:g} means 0, as every bound below 1 does. Leave a predictor out of the "
            "controls, or set unfairness=0 or 1."
        )
    if choice.crossings > 1:
        return (
            f"{choice.crossings} penalties give unfairness={r:g} exactly. The largest is used, "
            "beyond which the bound always holds; there is nothing to do."
        )
    return ""


def _all_or_nothing(solution: Solution) -> bool:
    """Whether only an infinite penalty meets a bound, as nothing but S is left of controls."""
    fit = solution.fit
    if solution.each:
        return False
    only_controls = 0 < len(fit.controls) == fit.beta.shape[-1]
    bounded = 0.0 < solution.unfairness < 1.0 and solution.choice.status == "converged"
    return only_controls and bounded and fit.lambda_ == np.inf


SEPARATION = ("isolate", "warn", "error")


# An offset this large would multiply means by 5·10⁸: days, and not their logarithm.
MAX_LOG_EXPOSURE = 20.0
# Of exposures that are all above 1, such as months, the smallest has a logarithm of log 2, about;
# that of the largest tells logarithms of days from years.
MIN_LOG_EXPOSURE, MAX_YEARS = 0.5, 5.0


def _warn_of_unlogged(training: Training) -> None:
    """Warn of an offset that looks like an exposure whose logarithm was not taken."""
    # Its values are all positive and differ, and they are too large or too near 0 for logarithms
    # of exposures above 1; or they could be years, and the responses are closer to multiples of
    # them than of their exponentials, by the deviance of the model with an intercept alone.
    engine, family = training.engine, training.response.family
    if family.link != "log" or training.offsets != ("offset",) or not in_memory(engine):
        return
    offset = engine.offset
    assert offset is not None
    low, high = float(offset.min()), float(offset.max())
    if not 0.0 < low < high:
        return
    unlikely = low < MIN_LOG_EXPOSURE or high > MAX_LOG_EXPOSURE
    if not unlikely and high < MAX_YEARS:
        logged, given = (
            null_deviance(family, engine.response, engine.weights, shift)
            for shift in (np.log(offset), offset)
        )
        unlikely = logged < given
    if unlikely:
        warn_user(
            f"The offset has positive values only, from {low:g} to {high:g}, and looks like an "
            "exposure. Pass exposures as exposure=…, or take their logarithm.",
            DataWarning,
        )


def isolated_levels(problem: Problem, design: Design) -> dict[str, int]:
    """Return the number of isolated rows by level."""
    isolation = problem.isolation
    if isolation is None:
        return {}
    names = [_level_name(decided.level, design) for decided in isolation.levels]
    pairs = zip(names, isolation.counts, strict=True)
    return {name: count for name, count in pairs if count}


def _level_name(level: RowLevel, design: Design) -> str:
    """Return ``column[level]``, or ``column[1]`` and ``column[0]`` of a 0/1 column."""
    encoding, place = design.predictors, level.columns[0]
    given = () if isinstance(encoding, MappedEncoding) else encoding.columns
    for column, span in zip(given, encoding.inner.spans, strict=False):
        if place in span and isinstance(column, CategoricalColumn):
            base = f"{column.name}[{column.levels[column.base]}]"
            return encoding.names[place] if level.value else base
    return f"{encoding.names[place]}[{level.value}]"


def store_isolated(model: Any, training: Training, problem: Problem, solution: Solution) -> None:
    """Keep which levels were isolated, and how unfair the model is with their rows."""
    isolation: Any = problem.isolation
    model.isolated_ = isolated_levels(problem, training.design)
    if in_memory(isolation.all_rows):
        value = model._bounded.on_all_rows(solution.fit, isolation)
        model.unfairness_components_ = {**solution.components, "all_rows": float(value)}


def refuse_decided(levels: tuple[SeparatedLevel, ...], design: Design) -> None:
    """Raise if there are levels that decide the response."""
    if levels:
        names = [_level_name(decided.level, design) for decided in levels]
        raise ValueError(
            f"all rows of {listed(names)} have the same outcome. Merge rare levels "
            "(min_frequency=…), set a predictor_penalty, or use separation='isolate'."
        )


def warn_of_separation(
    solutions: list[Solution], predictors: tuple[str, ...], definition: Any
) -> None:
    """Warn of columns that decide the response, with what helps."""
    sees_means = resolve_definition(definition).penalizes_means
    columns: dict[str, float] = {}
    for solution in solutions:
        separating = solution.separating.items()
        columns |= {k: b for k, b in separating if abs(b) >= abs(columns.get(k, 0.0))}
    if not columns:
        return
    separations = [solution.fit.separation for solution in solutions]
    infinite = any(separation and separation.columns for separation in separations)
    values = ", ".join(f"{value:.3g}" for value in columns.values())
    growth = "are extreme."
    if infinite:
        growth = (
            f"have no finite value without the ridge of {SEPARATION_RIDGE:g} per row, on all "
            "standardized columns, that holds them."
        )
    predicted = bool(set(columns) & set(predictors))
    unseen = (
        predicted and not sees_means and any(solution.unfairness < 1.0 for solution in solutions)
    )
    loophole = " This lets S back into predictions of other rows without violating the bound."
    remedy = "Merge rare levels"
    if predicted:
        remedy += " (min_frequency=20), or set a larger predictor_penalty"
        remedy += ", or use definition='mean-parity'" if unseen else ""
    warn_user(
        f"Column(s) {', '.join(map(repr, columns))} separate the responses: their coefficients "
        f"({values}) {growth}{loophole if unseen else ''} {remedy}.",
        DataWarning,
    )


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
        classes = training.response.classes
        model.classes_, model.positive_ = np.sort(classes), modeled_class(classes)
    model._design = design
    model._offsets = training.offsets
    model._backend = training.backend


def store_solution(
    model: Any, training: Training, problem: Problem, solution: Solution, *, blind: bool = False
) -> None:
    """Keep the coefficients, the fit, and how fair it is."""
    store_columns(model, training)
    basis, fit = problem.basis, solution.fit
    model.alpha_, model.beta_, model.fair_intercept_ = fit.alpha, fit.beta, fit.intercept
    _store_linear_form(model, training, basis, fit, blind)
    model.lambda_ = fit.lambda_
    model.unfairness_ = solution.achieved
    model.unfairness_components_ = solution.components
    model.status_ = solution.choice.status
    model.bound_active_ = model.status_ != "inactive" and fit.lambda_ > 0.0
    model.converged_ = solution.choice.met
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
    if basis.variance_inflation is not None:
        model.variance_inflation_ = basis.variance_inflation
    model._training = _training_columns(basis, fit)
    model._moments = _moments(training, problem)
    model._profiles = _profiles_of(training)
    model._text_styles = ()  # the styles of an earlier file do not apply
    model._groups = _groups_of(training, fit)
    for name in FROM_GROUPS:  # those of an earlier fit
        vars(model).pop(name, None)
    model.n_iter_ = problem.engine.passes


def _training_columns(basis: FairBasis, fit: Fit) -> TrainingColumns:
    """Return moments of the training data from the small matrices of a fit."""
    S, U, B, n = basis.sensitive, basis.predictors, basis.B, basis.weight
    S_y, U_y = S.products(basis.on_sensitive), U.products(basis.on_predictors)
    return TrainingColumns(
        n,
        np.concatenate([basis.center, basis.center_targets]),
        np.append(basis.deviations, np.sqrt(np.diag(basis.target_scatter) / n)),
        S.scatter() / n,
        B,
        np.concatenate([S_y, B.T @ S_y + U_y]) / n,
        fit.predictor_variance,
        None if fit.given is None else _controlled_columns(fit.given),
    )


def _controlled_columns(fit: Fit) -> ControlledColumns:
    """Return the same of residuals on controls."""
    basis: Any = fit.basis
    nothing = np.zeros_like(fit.alpha), np.zeros_like(fit.beta)
    zeta = nothing[1].copy()
    zeta[..., basis.controls] = fit.beta[..., basis.controls]
    return ControlledColumns(
        tuple(basis.others.tolist()),
        np.atleast_2d(fit.alpha),
        np.atleast_2d(fit.beta)[:, basis.others],
        basis.sensitive.scatter() / basis.weight,
        basis.B,
        basis.predictor_deviations,
        fit.predictor_variance,
        np.atleast_2d(basis.raw_coefficients(fit.alpha, nothing[1])),
        np.atleast_2d(basis.raw_coefficients(nothing[0], zeta)),
    )


def _moments(training: Training, problem: Problem) -> Moments | None:
    """Return the moments of a least-squares model of rows in memory, for its inference."""
    engine = training.engine
    few = len(engine.names) <= MAX_KEPT_COLUMNS and not problem.space.compressed
    summed = few and problem.family.least_squares and in_memory(engine)
    return engine.moments() if summed else None


def _profiles_of(training: Training) -> tuple[ColumnProfile, ...]:
    """Describe the columns of S, then of X, without another pass over rows elsewhere."""
    # Moments alone have no deciles, and rows on other devices are not read again.
    design, engine = training.design, training.engine
    columns = design.columns
    if len(columns) > MAX_KEPT_COLUMNS:  # too many to display
        return ()
    if in_memory(engine):
        rows = engine.rows if training.unmapped is None else training.unmapped
        shares = level_shares(columns, rows.columns, rows.weight)
        sample = NumberSample.of(rows.columns, rows.n_rows, rows.weight)
        return column_profiles(design, shares, sample, rows.n_rows)
    some = engine.first.sample if isinstance(engine, StreamEngine) else None
    shares = []
    if any(isinstance(column, CategoricalColumn) for column in columns):
        shares = shares_of_means(design, engine.moments().mean)
    return column_profiles(design, shares, some, training.n_rows)


def _groups_of(training: Training, fit: Fit) -> TrainingGroups:
    """Return sums of what a fit shows between groups; those that are not made yet are made."""
    engine, groupings = training.engine, _groupings(training)
    classes, sensitive = training.response.classes, training.design.sensitive
    # Decisions are counted in main memory, where rows on a device would have to be brought first.
    labels = () if classes is None or engine.on_device else tuple(classes)
    of_scores = fit.family.least_squares or fit.family.reads == "times"
    means: Any = None if of_scores else MeanParity().means(fit, totals=True)
    table: GroupTable | None = None
    if labels or groupings is not None:
        table = training_table(fit, engine, len(labels), sensitive.inner, groupings, means)
    total = fit.sensitive_variance + fit.predictor_variance
    share = fit.sensitive_variance / total if total > 0.0 else 0.0
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        sums = _with_sensitive(fit, share, means)
    return TrainingGroups(share, sums, sensitive, training.n_rows, table, labels)


def _with_sensitive(fit: Fit, share: float, means: Any) -> MeansWithS | ScoresWithS:
    """Sum predicted means with S over the rows of a fit; small matrices tell the same of scores."""
    basis = fit.basis
    if means is None:
        return ScoresWithS(
            share if fit.family.least_squares else None,
            fit.alpha,
            fit.intercept,
            fit.sensitive_variance + fit.predictor_variance,
            basis.center_sensitive,
            basis.sensitive.scatter() / basis.weight,
        )
    return MeansWithS(
        fit.mean_sums(means),
        means.n_bounded,
        means.references,
        basis.weight,
        basis.center_sensitive,
        basis.center_targets,
        basis.given_columns,
    )


def kept_groups(model: Any) -> TrainingGroups:
    """Return the sums that a fit has kept."""
    check_is_fitted(model)
    groups: TrainingGroups = model._groups
    return groups


def _groupings(training: Training) -> list[Grouping] | None:
    """Group the rows by none and each attribute, where that costs little; None elsewhere."""
    # A least-squares fit needs no pass over the rows once they are summed, and passes over rows
    # in files or on devices are expensive. Cox models predict no totals.
    engine, family = training.engine, training.response.family
    if not in_memory(engine) or family.least_squares or family.reads == "times":
        return None
    pieces = (training.unmapped or engine.rows).sensitive
    weight = engine.weights
    if engine.offset is not None and family.link == "log":
        # Rates are compared, and so numbers are cut at quantiles of the exposure.
        weight = weight * np.exp(engine.offset - engine.offset.max())
    of_attributes = encoded_groupings(pieces, training.design.sensitive.inner, weight)
    return [Grouping.everyone(engine.n_rows, EVERYONE), *of_attributes]


def _store_linear_form(
    model: Any, training: Training, basis: FairBasis, fit: Fit, blind: bool
) -> None:
    """Keep η = intercept_ + Z·coef_, Z the encoded columns in the order of the input."""
    # Models that do not use S to predict have X in Z alone.
    design = training.design.without_sensitive() if blind else training.design
    raw, center = basis.raw_coefficients(fit.alpha, fit.beta), basis.center
    if blind:  # coefficients of S are zero, but for rounding
        raw, center = fit.beta, basis.center_predictors
    intercept = fit.mean_intercept - raw @ center
    order = design.input_order
    # In the order of memory that a loaded model has, so that sums agree to the last bit.
    coefficients = np.ascontiguousarray(raw[..., order])
    if training.response.classes is not None:  # as scikit-learn's classifiers have them
        coefficients, intercept = np.atleast_2d(coefficients), np.atleast_1d(intercept)
    model.coef_, model.intercept_ = coefficients, intercept
    model.coef_names_ = np.array(design.encoded_names, dtype=object)[order]


def describe(model: Any) -> LinearForm:
    """Return the fitted model as `export.linear_form` hands it to functions on models."""
    return LinearForm(
        type(model).__name__,
        model._design,
        model._fitted.by_column(model.coef_),
        np.atleast_1d(np.asarray(model.intercept_, dtype=np.float64)),
        model._training,
        model.family_,
        model.unknown,
        labels_by_code(model) if hasattr(model, "classes_") else None,
        model._backend,
        getattr(model, "_offsets", ()),
        getattr(model, "_text_styles", ()),
    )


def training_fingerprint(model: Any) -> str:
    """SHA-256 digest of the training data: names, rows, weights and moments."""
    check_is_fitted(model)
    return fingerprint(model._training, model._design, model.n_rows_)


def refit_at(model: Any, training: Training, problem: Problem, unfairness: float) -> Any:
    """Return a fitted model for another bound on the same data."""
    bounds = check_bound(unfairness, model._traits.largest_bound)
    other = at_bound(model, float(bounds[0]))
    return other._store(training, problem, other._solve(problem, bounds, training.held_out)[0])
