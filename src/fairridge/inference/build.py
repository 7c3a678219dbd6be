"""The entry point: from a problem and its solution to an `Inference`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from fairridge._typing import Booleans, Floats, Integers
from fairridge.arguments import check_option
from fairridge.data.table import labels
from fairridge.inference.analysis import Analysis, Scheme
from fairridge.inference.estimates import Estimates
from fairridge.inference.federated import RowProducts
from fairridge.inference.few_rows import notes_on_few_rows, with_few_rows
from fairridge.inference.influence import Branch
from fairridge.inference.kinds import penalty_unit
from fairridge.inference.passes import Pass, Quantity, row_terms
from fairridge.inference.population import Population, fair_spread
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


# `order` is that of raw coefficients, and `coefficients` are those of the model, isolated levels
# included. Moments are `known` from the fit, and not summed over these rows: sums of influences
# then show whether the rows are the same. `rows` says which rows of the input the problem has, and
# how many there are, for `influence()`.
def inference_of(
    problem: PenalizedProblem,
    solution: Solution,
    *,
    covariance: str = "HC1",
    clusters: Any = None,
    frequency: bool = False,
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
    """Estimate the covariance of a fair model, in one more pass over its rows."""
    scheme = scheme_of(covariance, clusters, frequency, problem.engine.n_rows)
    analysis = Analysis(problem, solution, scheme)
    branch, named = analysis.branch, analysis.quantities() | analysis.of_population()
    quantities, count = tuple(named.values()), branch.width
    sums = analysis.sums(branch, quantities) if products is None else products.own
    if products is not None or known:
        require_zero_mean(analysis, sums)
    factor, _ = analysis.finite_sample
    optimism = analysis.optimism(list(named), sums)
    factor /= analysis.basis.weight**2
    sums = factor * sums
    estimated = _quantities(named, sums[count:-1, count:-1])
    near = analysis.near_kink(analysis.unconstrained, estimated.get("unconstrained", (0.0, 0.0))[1])
    of_raw, of_fair = _coefficients(analysis, sums, factor, near, products, labels)
    notes = (*_notes(analysis, near), *notes_on_few_rows(of_raw))
    facts = _facts(analysis, near, title=title, notes=notes, optimism=optimism)
    population = _population(analysis, named, sums, factor)
    of_raw = _with_isolated(of_raw, analysis, coefficients)
    if order is not None:
        of_raw = of_raw.take(_places(order, analysis))
    classes = () if _classes(analysis) == 1 or labels is None else tuple(map(str, labels))
    predictor = None if read is None else Predictor(read, analysis.family, classes)
    each = None
    if rows is not None:
        each = partial(_influence_of_rows, analysis, *rows, order, of_raw.isolated)
    return Inference(of_raw, of_fair, estimated, population, facts, backend, predictor, each)


def _coefficients(
    analysis: Analysis,
    sums: Floats,
    factor: float,
    near: bool,
    products: RowProducts | None,
    labels: Sequence[str] | None,
) -> tuple[Estimates, Estimates]:
    """Return raw and fair coefficients, with the larger of both errors if the bound may bind."""
    branch, other = analysis.branch, analysis.other_branch if near else None
    raw, fair = _covariances(analysis, branch, sums[: branch.width, : branch.width])
    if other is not None:
        sums_there = analysis.sums(other) if products is None else products.other
        there = _covariances(analysis, other, factor * sums_there[:-1, :-1])
        raw, fair = _larger(raw, there[0]), _larger(fair, there[1])
    found = _estimates(analysis, labels, raw, fair)
    return found if products is not None else with_few_rows(analysis, branch, found)


def _influence_of_rows(
    analysis: Analysis,
    places: Integers,
    n_rows: int,
    order: Integers | None,
    isolated: Booleans | None,
) -> Floats:
    """Return what each of the rows adds to each raw coefficient, as reported."""
    # The model was fitted to those at some places; isolated coefficients have no standard error.
    engine = analysis.fit.engine
    terms = row_terms(engine, analysis.family, Pass(analysis.branch))
    raw = (terms @ analysis.maps(analysis.branch)[0])[:, _reported(analysis)]
    if order is not None:
        raw = raw[:, _places(order, analysis)]
    out = np.zeros((n_rows, raw.shape[1]))
    out[places] = engine.weights[:, None] / analysis.basis.weight * raw
    if isolated is not None:
        out[:, isolated] = np.nan
    return out


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


def _terms(labels: Sequence[str] | None, analysis: Analysis) -> tuple[str, ...]:
    each = ("(intercept)",) * analysis.family.has_intercept + analysis.problem.engine.names
    count = _classes(analysis)
    if count == 1:
        return each
    labels = [str(k) for k in range(count)] if labels is None else labels
    return tuple(f"{name} → {label}" for label in labels for name in each)


def _estimates(
    analysis: Analysis, labels: Sequence[str] | None, raw: Floats, fair: Floats
) -> tuple[Estimates, Estimates]:
    """Put names to raw and fair coefficients, with λ beside the latter if the bound binds."""
    fit, basis, kept = analysis.fit, analysis.basis, _reported(analysis)
    coefficients = np.atleast_2d(basis.raw_coefficients(fit.alpha, fit.beta))
    intercepts = np.atleast_1d(fit.mean_intercept) - coefficients @ basis.center
    values = np.hstack([intercepts[:, None], coefficients]).ravel()
    terms = _terms(labels, analysis)
    first = Estimates(terms, values[kept], raw[np.ix_(kept, kept)])
    binds = analysis.regime == "bound"
    kept = np.append(kept, binds)
    terms = (*terms, "(lambda)") if binds else terms
    values = np.append(analysis.fair_values(), fit.lambda_)
    return first, Estimates(terms, values[kept], fair[np.ix_(kept, kept)])


def _reported(analysis: Analysis) -> Booleans:
    """Return which coefficients are reported, class by class: an intercept that cancels is not."""
    kept = np.ones(analysis.state.theta.shape[1], dtype=bool)
    kept[0] = analysis.family.has_intercept
    return np.tile(kept, _classes(analysis))


def _covariances(analysis: Analysis, branch: Branch, products: Floats) -> tuple[Floats, Floats]:
    """Return covariances of raw coefficients, and of fair ones with λ, by class."""
    raw, fair, lambda_ = analysis.maps(branch)
    fair = np.column_stack([fair, penalty_unit(analysis.problem) * lambda_])
    return raw.T @ products @ raw, fair.T @ products @ fair


def _larger(covariance: Floats, other: Floats) -> Floats:
    """Scale a covariance up to the larger of two variances of each coefficient."""
    variance = np.diag(covariance)
    ratio = np.divide(np.diag(other), variance, out=np.ones(len(covariance)), where=variance > 0.0)
    scale = np.sqrt(np.maximum(ratio, 1.0))
    return covariance * np.outer(scale, scale)


def _quantities(named: dict[str, Quantity], covariance: Floats) -> dict[str, tuple[float, float]]:
    """Return values and errors of what `Inference` shows."""
    errors = dict(zip(named, np.sqrt(np.maximum(np.diag(covariance), 0.0)).tolist(), strict=True))
    return {
        name: (sum(factor * measure.value for factor, *_, measure in named[name]), errors[name])
        for name in ("unconstrained", "price")
        if name in named
    }


def _population(
    analysis: Analysis,
    named: dict[str, Any],
    sums: Floats,
    factor: float,
) -> Population | str:
    """Read the odds in the population off sums of products that were scaled by a factor."""
    # Or say why the definition has no such interval.
    share, odds = analysis.share_on_sensitive, analysis.odds
    if share is None:
        return (
            "population_unfairness is for R² of the linear predictor on S, which "
            f"{analysis.problem.definition.name} does not bound here; use "
            "StatisticalParity(measure='variance')."
        )
    basis, width, count = analysis.basis, analysis.branch.width, len(share.given.alpha)
    columns, df = float(count * basis.sensitive.rank), analysis.finite_sample[1]
    degrees = np.inf if df is None else df
    binds, other = analysis.regime != "free", share.total * (1.0 - share.value)
    if not np.isfinite(odds) or other <= 0.0:
        return Population(odds, 0.0, columns, degrees, binds)
    if odds > 0.0:
        place, explaining = (width + list(named).index(name) for name in ("spread", "explaining"))
        if analysis.scheme.clusters is None:
            total, squares = (float(sums[k, explaining] / factor) for k in (-1, explaining))
            if squares > 0.0:  # else S explains nothing
                degrees = min(degrees, max(total * total / squares - 1.0, 1.0))
        return Population(odds, float(sums[place, place]), columns, degrees, binds)
    if analysis.fit.given is not None:  # sums of a branch have α of S itself
        if analysis.scheme.clusters is not None:
            return "population_unfairness at r = 0 given controls is not known for clusters."
        (scores,) = explained_scores([analysis.fit], analysis.fit.engine)
        variances = scores.covariance[:-2, :-2] / other
    else:
        moved = slice(width - count * (1 + len(basis.B)), width - count)
        metric = np.kron(np.eye(count), basis.sensitive.scatter() / basis.weight)
        variances = sums[moved, moved] @ metric / other
    spread, columns = fair_spread(variances)
    return Population(odds, spread, columns, degrees, binds)


def _facts(analysis: Analysis, near: bool, **more: Any) -> Facts:
    problem, fit, family = analysis.problem, analysis.fit, analysis.family
    gaussian = family.least_squares
    return Facts(
        family=family.name,
        definition=analysis.problem.definition.name,
        covariance=analysis.scheme.covariance,
        n_rows=problem.engine.n_rows,
        df=analysis.finite_sample[1],
        unfairness=analysis.solution.unfairness,
        binding=analysis.regime != "free",
        near_kink=near,
        loglik=analysis.loglik(),
        parameters=analysis.state.effective_parameters() + float(gaussian),
        dispersion=problem.dispersion(fit) if gaussian else None,
        weight=analysis.basis.weight,
        ratio=family.ratio,
        **more,
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
    if analysis.problem.settings.predictor_penalty > 0.0:
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
