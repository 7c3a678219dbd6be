"""Which problems the library promises to solve, by the facts of their data."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tools.fuzz.columns import centered, digits_of, over, residual, weighted_mean
from tools.fuzz.problems import CLASSES, LOG_LINKS, Problem

Floats = NDArray[np.float64]
# Largest ratio of the deviations of columns that a penalty holds in the user's units, and of a
# column's variance to what the others leave of it.
UNITS = 1e8
# Least deviation of a response, of its mean, and the largest count.
DEVIATION, COUNT = 1e-12, 1e12
# Least weight, of the largest, of a row that counts; of one beside rows without any weight to
# speak of; and of these.
WEIGHT, WEIGHT_BESIDE, NO_WEIGHT = 1e-4, 1e-3, 1e-6
# Largest range of an offset: exposures that differ by a factor of e⁵⁰.
OFFSET = 50.0
COUNTS = ("poisson", "quasi-poisson", "negative-binomial")


def outside(problem: Problem) -> str:
    """Return which limit of the contract the data exceed, or "" if they are inside it."""
    if not _kept(problem).any():
        return ""
    limits = {
        "units": _mixes_units(problem),
        "collinearity": _is_nearly_collinear(problem),
        "response": _hardly_varies(problem),
        "weights": _has_few_rows(problem),
        "offset": problem.offset is not None and np.ptp(problem.offset) > OFFSET,
        "controls": problem.controls > 0 and _leaves_nothing(problem),
    }
    return ", ".join(name for name, exceeded in limits.items() if exceeded)


def has_no_model(problem: Problem) -> bool:
    """Whether nothing can be fitted: a response without events, one class, hardly any rows."""
    y, kept = problem.y[_kept(problem)], int(_kept(problem).sum())
    if kept < 2 or has_no_response(problem.family, y):
        return True
    if problem.family == "cox" and (y[:, 0] >= y[y[:, 1] == 1.0, 0].min()).sum() < 2:
        return True  # nobody else is at risk at any event
    if problem.definition == "same-outcome" and len(np.unique(y)) == len(y):
        return True
    # Features of maps that explain every predictor, or fit any response.
    q, p = (Z.shape[1] for Z in problem.features)
    if problem.maps == "sensitive":
        return 2 * q > kept
    return problem.maps == "predictors" and problem.predictor_penalty == 0.0 and 1 + q + p >= kept


def has_no_response(family: str, y: NDArray[Any]) -> bool:
    """Whether there is one class only, no event, or no number above zero."""
    if family in CLASSES:
        return len(np.unique(y)) < 2
    if family == "cox":
        return not y[:, 1].any()
    return family in (*LOG_LINKS, *COUNTS) and not y.any()


def _kept(problem: Problem) -> NDArray[np.bool_]:
    return np.ones(len(problem.X), bool) if problem.weight is None else problem.weight > 0.0


def _mixes_units(problem: Problem) -> bool:
    """Whether a penalty in the user's units holds columns of very different sizes.

    What S explains, of η or of means, is the same in all units. Of predictors that are
    combinations of others, or of S, the shortest coefficients are the answer, in these units.
    """
    if problem.standardize:
        return False
    kept = _kept(problem)
    w = np.ones(int(kept.sum())) if problem.weight is None else problem.weight[kept]
    S, X = (centered(Z[kept], w)[0] for Z in problem.features)
    both = np.hstack([S, X])
    unit = over(both, np.linalg.norm(both, axis=0))
    dependent = bool(np.linalg.matrix_rank(unit, 1e-7) < np.count_nonzero(both.any(axis=0)))
    held = [S] * (not (problem.bounds_means or problem.blind))
    held += [X] * (problem.predictor_penalty > 0.0 or dependent)
    sizes = np.concatenate([np.zeros(0), *(np.sqrt(weighted_mean(Z**2, w)) for Z in held)])
    sizes = sizes[sizes > 0.0]
    return bool(sizes.size and sizes.max() > UNITS * sizes.min())


def _is_nearly_collinear(problem: Problem) -> bool:
    """Whether columns of a model that is iterated are nearly combinations of the others."""
    if problem.model != "ridge" or problem.family == "gaussian" or problem.blind:
        return False
    kept = _kept(problem)
    w = np.ones(int(kept.sum())) if problem.weight is None else problem.weight[kept]
    digits = digits_of(np.hstack(problem.features)[kept], w)
    S, X = (centered(Z[kept], w)[0] for Z in problem.features)
    blocks = [(S, S)]
    if problem.predictor_penalty == 0.0:
        blocks.append((X, residual(S, X, w, digits, 0.0)))
    return any(_inflation(Z, rest, w, 10.0 * digits).max(initial=0.0) > UNITS for Z, rest in blocks)


def _inflation(Z: Floats, rest: Floats, w: Floats, rounding: float) -> Floats:
    """Return variances over what the other columns leave of them; `rest` is without S."""
    whole, left = (np.sqrt(w @ columns**2) for columns in (Z, rest))
    _, values, V = np.linalg.svd(np.sqrt(w)[:, None] * over(rest, left), full_matrices=False)
    there = values > rounding
    share = (V[there] ** 2 / values[there, None] ** 2).sum(axis=0)
    return np.where(left > rounding * whole, share * over(whole, left) ** 2, 0.0)


def _hardly_varies(problem: Problem) -> bool:
    """Whether the response varies by next to nothing, or has counts that are too large."""
    if problem.family in (*CLASSES, "cox"):
        return False
    y = problem.y[_kept(problem)].astype(float)
    if problem.family in (*COUNTS, *LOG_LINKS) and y.max(initial=0.0) > COUNT:
        return True
    if problem.family == "gaussian" and problem.offset is not None:
        y = y - problem.offset[_kept(problem)]
    return bool(np.ptp(y) > 0.0 and y.std() <= DEVIATION * abs(y.mean()))


def _leaves_nothing(problem: Problem) -> bool:
    """Whether controls leave no row to S."""
    return int(_kept(problem).sum()) <= problem.controls + problem.S.shape[1]


def _has_few_rows(problem: Problem) -> bool:
    """Whether weights leave fewer rows than coefficients that no penalty holds.

    Or fewer than show both values of a column of S.
    """
    if problem.weight is None or not problem.weight.any():
        return False
    weight = problem.weight[problem.weight > 0.0]
    S, X = problem.features
    light = int((weight <= WEIGHT * weight.max()).sum())
    for column in S[_kept(problem)].T if light else ():
        if set(np.unique(column)) == {0.0, 1.0}:
            share = np.average(column, weights=weight)
            if min(share, 1.0 - share) * UNITS < 1.0:
                return True
    free = 1 + S.shape[1] + (X.shape[1] if problem.predictor_penalty == 0.0 else 0)
    least = WEIGHT if weight.min() > NO_WEIGHT * weight.max() else WEIGHT_BESIDE
    return int((weight > least * weight.max()).sum()) < min(free, len(weight))
