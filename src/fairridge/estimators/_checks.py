"""Errors and warnings of a fit about its data and its bound."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from fairridge._warnings import warn_user
from fairridge.arguments import listed
from fairridge.data import Design, Encoding, MappedEncoding, RowLevel
from fairridge.data.columns import CategoricalColumn
from fairridge.engines import in_memory
from fairridge.estimators._model import Traits
from fairridge.estimators._training import Training
from fairridge.exceptions import BoundWarning, DataWarning
from fairridge.fairness import resolve_definition
from fairridge.models import FairBasis, Isolation
from fairridge.search import Problem, Solution

# Variance inflation factors beyond which a number is almost a combination of other columns.
TWINS = 10_000.0


def check_columns(
    basis: FairBasis,
    training: Training,
    traits: Traits,
    ignored: frozenset[int] = frozenset(),
) -> None:
    """Raise if features explain anything; warn of columns that add nothing.

    Parameters
    ----------
    basis : FairBasis
        S and U in small matrices.
    training : Training
        The rows, and how columns become features.
    traits : Traits
        Whether collinear predictors have one answer, and what to advise.
    ignored : frozenset of int
        Predictor columns that are constant or collinear without isolated rows.
    """
    _check_ranks(basis, training.design, training.n_rows, advice=traits.advice)
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
    inflation = basis.inflation
    if inflation is None:
        return
    numbers = [k for k, given in enumerate(X.as_given) if given]
    twins = [k for k in numbers if TWINS < inflation[k] < np.inf]
    if twins:
        largest = max(float(inflation[k]) for k in twins)
        warn_user(
            f"predictor column(s) {listed(X.names[k] for k in twins)} are almost linear "
            f"combinations of the others (variance inflation factor up to {largest:.3g}), so that "
            "their coefficients are large and uncertain; leave one of them out, or set a "
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
    """Warn if a bound is not met, or is crossed several times.

    Parameters
    ----------
    solution : Solution
        A model for one bound.
    remedy : str
        What helps a search that did not converge.
    """
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
    elif choice.status == "infeasible" and not solution.fit.beta.any():
        warn_user(
            f"only the intercept meets unfairness={r:g}: S explains more of every combination of "
            "the predictors that the penalty leads to. Predictions are constant; raise the bound, "
            "or add predictors.",
            BoundWarning,
        )
    elif choice.status == "infeasible":
        warn_user(
            f"no penalty meets unfairness={r:g}: the definition stays at "
            f"{solution.achieved:.4g} even without the sensitive attributes (alpha = 0).",
            BoundWarning,
        )
    elif choice.crossings > 1:
        warn_user(
            f"unfairness is not monotone in the penalty and crosses {r:g} {choice.crossings} "
            "times; using the smallest penalty beyond which the bound always holds.",
            BoundWarning,
        )


SEPARATION = ("isolate", "warn", "error")


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
    encoding, start = design.predictors, 0
    inner = encoding.inner if isinstance(encoding, MappedEncoding) else encoding
    columns = () if inner is not encoding else inner.columns
    for column in columns:
        width = len(column.encoded_names)
        if start <= level.columns[0] < start + width and isinstance(column, CategoricalColumn):
            if level.value == 0:
                return f"{column.name}[{column.levels[column.base]}]"
            return encoding.names[level.columns[0]]
        start += width
    return f"{encoding.names[level.columns[0]]}[{level.value}]"


def store_isolated(model: Any, training: Training, problem: Problem, solution: Solution) -> None:
    """Keep which levels were isolated, and how unfair the model is with their rows."""
    isolation = problem.isolation
    if isolation is None:
        return
    model.isolated_ = isolated_levels(problem, training.design)
    if in_memory(isolation.everyone):
        value = model._bounded.on_all_rows(solution.fit, isolation.everyone)
        model.unfairness_components_ = {**solution.components, "all_rows": float(value)}


def refuse_decided(isolation: Isolation | None, design: Design) -> None:
    """Raise if there are levels that decide the response."""
    if isolation is not None:
        names = [_level_name(decided.level, design) for decided in isolation.levels]
        raise ValueError(
            f"all rows of {listed(names)} have the same outcome. Merge rare levels "
            "(min_frequency=…), set a predictor_penalty, or use separation='isolate'."
        )


def warn_of_separation(
    solutions: list[Solution], predictors: tuple[str, ...], definition: Any
) -> None:
    """Warn of columns that decide the response, with what helps.

    Parameters
    ----------
    solutions : list of Solution
        Models for some bounds.
    predictors : tuple of str
        Encoded names of X.
    definition : object
        What is bounded.
    """
    sees_means = resolve_definition(definition).own_ridge
    columns: dict[str, float] = {}
    for solution in solutions:
        separating = solution.separating.items()
        columns |= {k: b for k, b in separating if abs(b) >= abs(columns.get(k, 0.0))}
    if not columns:
        return
    separations = [solution.fit.separation for solution in solutions]
    infinite = any(separation and separation.columns for separation in separations)
    values = ", ".join(f"{value:.3g}" for value in columns.values())
    growth = "grow without bound; the deviance has converged." if infinite else "are extreme."
    predicted = bool(set(columns) & set(predictors))
    unseen = (
        predicted and not sees_means and any(solution.unfairness < 1.0 for solution in solutions)
    )
    loophole = " Through them S returns to predictions of other rows, unseen by the bound."
    remedy = "Merge rare levels"
    if predicted:
        remedy += " (min_frequency=…), or set a larger predictor_penalty"
        remedy += ", or use definition='mean-parity'" if unseen else ""
    warn_user(
        f"column(s) {', '.join(map(repr, columns))} separate the responses: their coefficients "
        f"({values}) {growth}{loophole if unseen else ''} {remedy}.",
        DataWarning,
    )
