"""The entry point: from a problem and its solution to an `Inference`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fairridge._typing import Booleans, Floats, Integers
from fairridge.arguments import check_option
from fairridge.data.table import labels
from fairridge.inference.analysis import NEAR_KINK, Analysis, Scheme
from fairridge.inference.description import Description
from fairridge.inference.estimates import Estimates
from fairridge.inference.federated import RowProducts
from fairridge.inference.few_rows import notes_on_few_rows, with_few_rows
from fairridge.inference.influence import Branch
from fairridge.inference.passes import row_terms
from fairridge.inference.population import (
    Population,
    bounds_predictors,
    degrees_of_freedom,
    fair_spread,
)
from fairridge.inference.predictions import Predictor
from fairridge.inference.restore import require_zero_mean
from fairridge.inference.result import Facts, Inference
from fairridge.inference.scores import explained_scores
from fairridge.search import PenalizedProblem, Solution

COVARIANCES = ("HC0", "HC1", "HC3", "cluster")
# Rows per coefficient below which normal approximations are doubtful.
MIN_NORMAL_ROWS, MIN_ROWS_PER_COEFFICIENT = 200, 20
# n·r/(1−r) per sensitive column, below which the bound binds by noise alone.
NOISE_BOUND = 4.0


def inference_of(
    problem: PenalizedProblem,
    solution: Solution,
    description: Description,
    *,
    covariance: str = "HC1",
    clusters: Any = None,
    frequency: bool = False,
    names: Sequence[str] | None = None,
    order: Integers | None = None,
    labels: Sequence[str] | None = None,
    title: str = "Inference",
    backend: Any = None,
    coefficients: Floats | None = None,
    products: RowProducts | None = None,
    known: bool = False,
    read: Any = None,
    rows: tuple[Integers, int] | None = None,
) -> Inference:
    """Estimate the covariance of a fair model, in one more pass over its rows.

    Parameters
    ----------
    problem : PenalizedProblem
        The model on its rows, for every λ.
    solution : Solution
        The model at its bound.
    description : Description
        Its settings.
    covariance : {"HC0", "HC1", "HC3", "cluster"}, default="HC1"
        The estimator; "cluster" needs `clusters`, and `clusters` imply it.
    clusters : array-like of shape (n,), optional
        Labels of clusters, for rows in memory; rows of different clusters are independent.
    frequency : bool, default=False
        Whether a row of weight w stands for w identical rows. Otherwise weights are
        sampling weights.
    names : sequence of str, optional
        Names of the encoded columns of S, then of X.
    order : ndarray of int, optional
        In which order of these to report raw coefficients; that of the input columns.
    labels : sequence of str, optional
        Names of the classes of a multinomial model.
    title : str
        The model's name.
    backend : object, optional
        The frame library of the input.
    coefficients : ndarray of shape (K, 1+q+p), optional
        Intercepts and raw coefficients as the model has them, those of isolated levels included.
    products : RowProducts, optional
        Sums over the rows, if they are with several parties.
    known : bool, default=False
        Whether the moments were not summed over these rows, but at the fit; the sums of their
        influences then show whether the rows are the same.
    read : callable, optional
        How new rows are read; see `Predictor`.
    rows : tuple of ndarray of int and int, optional
        Which rows of the input the problem has, and how many there are, for `influence()`.
    """
    analysis = Analysis(problem, solution, description)
    scheme = scheme_of(covariance, clusters, frequency, problem.engine.n_rows)
    branch, named = analysis.branch, analysis.quantities() | analysis.of_population(scheme)
    quantities = tuple(named.values())
    sums = analysis.sums(branch, scheme, quantities) if products is None else products.own
    if products is not None or known:
        require_zero_mean(analysis, sums)
    factor, df = analysis.finite_sample(scheme)
    optimism = analysis.optimism(list(named), sums, scheme)
    factor /= analysis.basis.weight**2
    sums = factor * sums
    estimated = _quantities(analysis, named, sums[branch.width : -1, branch.width : -1])
    raw, fair = _covariances(analysis, branch, sums[: branch.width, : branch.width])
    near = _near_kink(analysis, estimated)
    if near and analysis.other_branch is not None:
        other = analysis.other_branch
        sums_there = analysis.sums(other, scheme) if products is None else products.other
        there = _covariances(analysis, other, factor * sums_there[:-1, :-1])
        raw, fair = _larger(raw, there[0]), _larger(fair, there[1])
    terms = _terms(names or problem.engine.names, labels, analysis)
    of_raw, of_fair = _estimates(analysis, terms, raw, fair)
    if products is None:
        of_raw, of_fair = with_few_rows(analysis, branch, scheme, (of_raw, of_fair))
    facts = _facts(analysis, scheme, df, near, title)
    notes = (*facts.notes, *notes_on_few_rows(of_raw))
    facts = replace(facts, notes=notes, optimism=optimism)
    population = _population(analysis, scheme, named, sums, factor, df)
    of_raw = _with_isolated(of_raw, analysis, coefficients)
    if order is not None:
        of_raw = of_raw.take(_places(order, analysis))
    predictor = None if read is None else _predictor(read, analysis, labels)
    each = None if rows is None else _InfluenceOfRows(analysis, *rows, order, of_raw.isolated)
    return Inference(of_raw, of_fair, estimated, population, facts, backend, predictor, each)


@dataclass(frozen=True)
class _InfluenceOfRows:
    """What each row adds to each raw coefficient."""

    analysis: Analysis
    places: Integers  # which of the rows of the input the model was fitted to
    n_rows: int  # number of rows of the input
    order: Integers | None  # of the columns, as reported
    isolated: Booleans | None  # coefficients without a standard error, as reported

    def __call__(self) -> Floats:
        analysis, engine = self.analysis, self.analysis.fit.engine
        terms = row_terms(engine, analysis.family, analysis.rows_of(analysis.branch))
        raw = (terms @ analysis.maps(analysis.branch)[0])[:, _reported(analysis)]
        if self.order is not None:
            raw = raw[:, _places(self.order, analysis)]
        out = np.zeros((self.n_rows, raw.shape[1]))
        out[self.places] = engine.weights[:, None] / analysis.basis.weight * raw
        if self.isolated is not None:
            out[:, self.isolated] = np.nan
        return out


def _predictor(read: Any, analysis: Analysis, labels: Sequence[str] | None) -> Predictor:
    classes = () if _classes(analysis) == 1 or labels is None else tuple(map(str, labels))
    return Predictor(read, analysis.family, classes)


def _places(order: Integers, analysis: Analysis) -> Integers:
    """Return where raw coefficients stand in another order of the columns, class by class."""
    shift, width = int(analysis.family.has_intercept), len(analysis.basis.center)
    each = np.concatenate([np.arange(shift), order + shift])
    return np.concatenate([each + k * (shift + width) for k in range(_classes(analysis))])


def _with_isolated(raw: Estimates, analysis: Analysis, coefficients: Floats | None) -> Estimates:
    """Insert the coefficients of isolated levels, on which the other rows have no information."""
    columns = analysis.isolated
    if not columns.size or coefficients is None:
        return raw
    each = np.zeros(coefficients.shape, dtype=bool)
    each[:, 1 + columns] = True
    kept = slice(0 if analysis.family.has_intercept else 1, None)
    return replace(
        raw,
        estimate=np.where(each[:, kept].ravel(), coefficients[:, kept].ravel(), raw.estimate),
        isolated=each[:, kept].ravel() | (False if raw.isolated is None else raw.isolated),
    )


def scheme_of(covariance: str, clusters: Any, frequency: bool, n_rows: int) -> Scheme:
    """Return how a covariance is estimated, from arguments of a user."""
    check_option("covariance", covariance, COVARIANCES)
    if clusters is None:
        if covariance == "cluster":
            raise ValueError("covariance='cluster' needs clusters=, one label per row.")
        return Scheme(covariance, None, frequency)
    if covariance == "HC3":
        raise ValueError("covariance='HC3' has no version for clusters; use 'cluster'.")
    if len(clusters) != n_rows:
        raise ValueError(f"clusters has {len(clusters)} labels for {n_rows} rows.")
    values, codes = np.unique(labels(clusters, n_rows, "clusters"), return_inverse=True)
    if len(values) < 2:
        raise ValueError("clusters has one value only; standard errors need two clusters or more.")
    return Scheme("cluster", codes.ravel().astype(np.intp), frequency)


def _classes(analysis: Analysis) -> int:
    return len(np.atleast_2d(analysis.fit.alpha))


def _terms(
    names: Sequence[str], labels: Sequence[str] | None, analysis: Analysis
) -> tuple[str, ...]:
    each = [*(["(intercept)"] if analysis.family.has_intercept else []), *names]
    count = _classes(analysis)
    if count == 1:
        return tuple(each)
    labels = [str(k) for k in range(count)] if labels is None else labels
    return tuple(f"{name} → {label}" for label in labels for name in each)


def _estimates(
    analysis: Analysis, terms: tuple[str, ...], raw: Floats, fair: Floats
) -> tuple[Estimates, Estimates]:
    """Put names to raw and fair coefficients, with λ beside the latter if the bound binds."""
    values, kept = _values(analysis), _reported(analysis)
    first = Estimates(terms, values[0][kept], raw[np.ix_(kept, kept)])
    binds = analysis.regime == "bound"
    kept = np.append(kept, binds)
    terms = (*terms, "(lambda)") if binds else terms
    return first, Estimates(terms, values[1][kept], fair[np.ix_(kept, kept)])


def _reported(analysis: Analysis) -> Booleans:
    """Return which coefficients are reported, class by class: an intercept that cancels is not."""
    kept = np.ones(analysis.state.theta.shape[1], dtype=bool)
    kept[0] = analysis.family.has_intercept
    return np.tile(kept, _classes(analysis))


def _values(analysis: Analysis) -> tuple[Floats, Floats]:
    """Return raw and fair coefficients, intercepts first, class by class, the latter with λ."""
    fit, basis = analysis.fit, analysis.basis
    coefficients = np.atleast_2d(basis.raw_coefficients(fit.alpha, fit.beta))
    intercepts = np.atleast_1d(fit.mean_intercept) - coefficients @ basis.center
    raw = np.hstack([intercepts[:, None], coefficients])
    return raw.ravel(), np.append(analysis.fair_values(), fit.lambda_)


def _covariances(analysis: Analysis, branch: Branch, products: Floats) -> tuple[Floats, Floats]:
    """Return covariances of raw coefficients, and of fair ones with λ, by class."""
    raw, fair, lambda_ = analysis.maps(branch)
    unit = analysis.description.penalty_unit(analysis.basis.weight)
    fair = np.column_stack([fair, unit * lambda_])
    return raw.T @ products @ raw, fair.T @ products @ fair


def _larger(covariance: Floats, other: Floats) -> Floats:
    """Scale a covariance up to the larger of two variances of each coefficient."""
    variance = np.diag(covariance)
    ratio = np.divide(np.diag(other), variance, out=np.ones(len(covariance)), where=variance > 0.0)
    scale = np.sqrt(np.maximum(ratio, 1.0))
    return covariance * np.outer(scale, scale)


def _quantities(
    analysis: Analysis, named: dict[str, Any], covariance: Floats
) -> dict[str, tuple[float, float]]:
    values = {}
    if analysis.unconstrained is not None:
        values["unconstrained"] = analysis.unconstrained.value
    if analysis.free_state is not None:
        free = analysis.free_state.fit.deviance
        values["price"] = (analysis.fit.deviance - free) / analysis.basis.weight
    errors = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    each = dict(zip(named, errors.tolist(), strict=True))
    return {name: (float(value), each[name]) for name, value in values.items() if name in each}


def _near_kink(analysis: Analysis, quantities: dict[str, tuple[float, float]]) -> bool:
    if not analysis.bounded or "unconstrained" not in quantities:
        return False
    value, error = quantities["unconstrained"]
    # A value that is the same in every sample, as that of individual fairness, has no kink.
    return error > 1e-8 and abs(value - analysis.solution.unfairness) <= NEAR_KINK * error


# Odds, spread, columns, degrees of freedom and binding of a model that has no interval.
NO_INTERVAL = (0.0, 0.0, 1.0, 1.0, False)


def _population(
    analysis: Analysis,
    scheme: Scheme,
    named: dict[str, Any],
    sums: Floats,
    factor: float,
    df: float | None,
) -> Population:
    """Read the odds in the population off sums of products that were scaled by a factor."""
    basis, definition, width = (
        analysis.basis,
        analysis.description.definition,
        analysis.branch.width,
    )
    if not bounds_predictors(definition, analysis.family):
        refusal = (
            "population_unfairness is for R² of the linear predictor on S, which "
            f"{definition.name} does not bound here; use StatisticalParity(measure='variance')."
        )
        return Population(*NO_INTERVAL, refusal)
    odds, degrees, count = analysis.odds, np.inf if df is None else df, len(analysis.state.theta)
    binds, columns = analysis.regime != "free", float(count * basis.sensitive.rank)
    if "spread" in named:
        places = [width + list(named).index(name) for name in ("spread", "explaining")]
        spread = float(sums[places[0], places[0]])
        if scheme.clusters is None:
            total, squares = sums[-1, places[1]] / factor, sums[places[1], places[1]] / factor
            degrees = min(degrees, degrees_of_freedom(float(total), float(squares)))
        return Population(odds, spread, columns, degrees, binds)
    other = analysis.other_variance
    if not np.isfinite(odds) or other <= 0.0:
        return Population(odds, 0.0, columns, degrees, binds)
    given = analysis.fit.given is not None
    if given and scheme.clusters is not None:
        refusal = "population_unfairness at r = 0 given controls is not known for clusters."
        return Population(*NO_INTERVAL, refusal)
    if given:  # sums of a branch have α of S itself
        (scores,) = explained_scores([analysis.fit], analysis.fit.engine)
        size = len(scores.coefficients)
        spread, columns = fair_spread(scores.covariance[:size, :size] / other)
        return Population(odds, spread, columns, degrees, binds)
    moved = slice(width - count * (1 + len(basis.B)), width - count)
    metric = np.kron(np.eye(count), basis.sensitive.scatter() / basis.weight) / other
    spread, columns = fair_spread(sums[moved, moved] @ metric)
    return Population(odds, spread, columns, degrees, binds)


def _facts(analysis: Analysis, scheme: Scheme, df: float | None, near: bool, title: str) -> Facts:
    problem, fit, family = analysis.problem, analysis.fit, analysis.family
    gaussian = family.least_squares
    return Facts(
        title=title,
        family=family.name,
        definition=analysis.description.definition.name,
        covariance=scheme.covariance,
        n_rows=problem.engine.n_rows,
        df=df,
        unfairness=analysis.solution.unfairness,
        binding=analysis.regime != "free",
        near_kink=near,
        loglik=analysis.loglik(),
        parameters=analysis.state.effective_parameters() + float(gaussian),
        dispersion=problem.dispersion(fit) if gaussian else None,
        weight=analysis.basis.weight,
        ratio=family.ratio,
        notes=tuple(_notes(analysis, near)),
    )


def _notes(analysis: Analysis, near: bool) -> list[str]:
    notes, n, r = [], analysis.problem.engine.n_rows, analysis.solution.unfairness
    if near:
        notes.append(
            "The rows do not show whether the bound binds in the population: each standard error "
            "is the larger of the two cases."
        )
    if analysis.regime == "bound" and n * r / (1.0 - r) < NOISE_BOUND * analysis.state.q:
        notes.append(
            "The bound is so small for this number of rows that it would bind by chance alone; "
            "the direction of α is noise."
        )
    if analysis.description.predictor_penalty > 0.0:
        notes.append("predictor_penalty is taken as given, however it was chosen.")
    isolated = analysis.isolated
    if isolated.size:
        notes.append(
            f"Column(s) {_named(analysis, isolated)} are isolated: all rows of a level have the "
            "same outcome, and their coefficients have no standard errors. Everything else is of "
            "the other rows."
        )
    constant = np.setdiff1d(np.flatnonzero(analysis.basis.deviations == 0.0), isolated)
    if constant.size:
        columns = _named(analysis, constant)
        notes.append(f"Column(s) {columns} are constant; their coefficients are 0 by definition.")
    if n < max(MIN_NORMAL_ROWS, MIN_ROWS_PER_COEFFICIENT * analysis.parameters()):
        notes.append(
            "There are few rows for the number of coefficients: standard errors are approximate."
        )
    return notes


def _named(analysis: Analysis, columns: Integers) -> str:
    return ", ".join(repr(analysis.problem.engine.names[k]) for k in columns)
