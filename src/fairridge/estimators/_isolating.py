"""What estimators do about levels that decide the response: isolate them, warn, or refuse."""

from __future__ import annotations

from typing import Any

from fairridge._warnings import warn_user
from fairridge.arguments import listed
from fairridge.data import Design, MappedEncoding, RowLevel
from fairridge.data.columns import CategoricalColumn
from fairridge.engines import MemoryEngine
from fairridge.estimators._training import Training
from fairridge.exceptions import DataWarning
from fairridge.fairness import resolve_definition
from fairridge.models import Isolation
from fairridge.search import Problem, Solution

SEPARATION = ("isolate", "warn", "error")


def isolated_levels(problem: Problem, design: Design) -> dict[str, int]:
    """Return the number of isolated rows by level."""
    isolation = problem.isolation
    if isolation is None:
        return {}
    names = [_level_name(one.level, design) for one in isolation.levels]
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
    if isinstance(isolation.everyone, MemoryEngine):
        value = model._bounded.on_all_rows(solution.fit, isolation.everyone)
        model.unfairness_components_ = {**solution.components, "all_rows": float(value)}


def refuse_decided(isolation: Isolation | None, design: Design) -> None:
    """Raise if there are levels that decide the response."""
    if isolation is not None:
        names = [_level_name(one.level, design) for one in isolation.levels]
        raise ValueError(
            f"all rows of {listed(names)} have the same outcome. Merge rare levels "
            "(min_frequency=…), set a predictor_penalty, or use separation='isolate'."
        )


def warn_of_separation(
    solutions: list[Solution], predictors: tuple[str, ...], definition: Any
) -> None:
    """Name columns that decide the response, and what helps.

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
    for one in solutions:
        new = one.separating.items()
        columns |= {k: b for k, b in new if abs(b) >= abs(columns.get(k, 0.0))}
    if not columns:
        return
    separations = [solution.fit.separation for solution in solutions]
    infinite = any(found is not None and found.columns for found in separations)
    values = ", ".join(f"{value:.3g}" for value in columns.values())
    growth = "grow without bound; the deviance has converged." if infinite else "are extreme."
    predicted = bool(set(columns) & set(predictors))
    voided = predicted and not sees_means and any(one.unfairness < 1.0 for one in solutions)
    loophole = " Through them S returns to predictions of other rows, unseen by the bound."
    remedy = "Merge rare levels"
    if predicted:
        remedy += " (min_frequency=…), or set a larger predictor_penalty"
        remedy += ", or use definition='mean-parity'" if voided else ""
    warn_user(
        f"column(s) {', '.join(map(repr, columns))} separate the responses: their coefficients "
        f"({values}) {growth}{loophole if voided else ''} {remedy}.",
        DataWarning,
    )
