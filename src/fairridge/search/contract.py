"""Which data are answered: limits on inputs, each with one error that names what to change.

Within these limits every number of an answer has digits; beyond them rounding would decide,
and a fit refuses before it searches. All of the rows are looked at once, when they are read:
parts of them, such as folds and resamples, are not refused by themselves.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

import numpy as np

from fairridge._typing import Floats
from fairridge.data import Slab
from fairridge.engines import Engine, binary_columns, has_many_sparse, in_memory, is_wide
from fairridge.families import Family
from fairridge.models.basis import deviation_of
from fairridge.models.spaces import plain_space
from fairridge.models.spaces.column_statistics import column_statistics
from fairridge.search.penalized_glm import LITTLE_CURVATURE, SEPARATION_RIDGE

# Ratio of two scales, or of two weights in one column: that of their squares, which a penalty is
# added to, is then 10¹⁶, and products of both still have digits of the smaller one.
SCALE_RATIO = 1e8
# Standard deviation over mean: below, fewer than four of the sixteen digits of a response vary.
VARIATION_COEFFICIENT = 1e-12
# Largest response under the log link: beyond, the next count is a matter of the last four digits.
COUNT_LIMIT = 1e12
# Weight over the largest weight: coefficients that depend on lighter rows have as little curvature
# as directions that have lost it, and the ridge of separated models outweighs them.
WEIGHT_RATIO = 1e-4
# Range of the offset: means that differ by more than e⁵⁰ ≈ 10²² do not add up in sixteen digits.
OFFSET_RANGE = 50.0

SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

_refuses: ContextVar[bool] = ContextVar("refuses", default=True)


@dataclass(frozen=True)
class Usage:
    """What a model does with its columns, as far as the limits depend on it."""

    penalized: bool = False  # whether a penalty holds the coefficients of X
    uses_sensitive: bool = True  # whether S has coefficients
    # Whether a penalty holds those of S, and not what S explains, which has no units.
    holds_sensitive: bool = True
    has_penalty: bool = False  # whether the model has a `predictor_penalty` to set


@contextmanager
def of_parts() -> Iterator[None]:
    """Fit to parts of rows, which are not refused: what they lack is no defect of the data."""
    token = _refuses.set(False)
    try:
        yield
    finally:
        _refuses.reset(token)


def require_inputs(
    engine: Engine,
    family: Family,
    usage: Callable[[], Usage],
    *,
    offsets: tuple[str, ...] = (),
    standardize: bool = True,
    n_controls: int = 0,
) -> None:
    """Raise for rows beyond the limits."""
    # `usage` says what the model does with the columns; it is asked if a limit depends on it.
    if not _refuses.get():
        return
    if n_controls:
        _require_rows(engine, n_controls)
    if family.reads == "numbers":
        _require_variation(engine)
        _require_counts(engine, family)
    _require_offset(engine, family, offsets)
    _require_weights(engine, usage)
    if not standardize:
        _require_units(engine, usage)


def _require_variation(engine: Engine) -> None:
    """Raise for a response that is neither constant nor has digits that vary."""
    mean, deviation = _statistics(engine, of_response=True)
    center, spread = float(mean[-1]), float(deviation[-1])
    if 0.0 < spread < VARIATION_COEFFICIENT * abs(center):
        raise ValueError(
            f"the response varies by {_power(spread / abs(center))} of its mean: subtract a "
            "constant from it, or round it."
        )


def _require_counts(engine: Engine, family: Family) -> None:
    """Raise for counts and amounts that are too large."""
    if family.link != "log" or engine.extent is None:
        return
    largest = float(engine.extent.high[0])
    if largest > COUNT_LIMIT:
        raise ValueError(
            f"the response goes up to {largest:.3g}, and a {family.name} model takes numbers up to "
            f"{_power(COUNT_LIMIT)}: use a larger unit."
        )


def _require_offset(engine: Engine, family: Family, given: tuple[str, ...]) -> None:
    """Raise for offsets that make rows beyond comparison."""
    if not given or engine.extent is None:
        return
    low, high = engine.extent.offset
    reach = high - low
    if reach <= OFFSET_RANGE:
        return
    remedy = "correct these rows, or leave them out."
    if given == ("exposure",):
        raise ValueError(f"exposures differ by a factor of {_power(1.0, reach)}: {remedy}")
    name = "offset and log(exposure) go" if "exposure" in given else "offset goes"
    if given == ("offset",) and family.link == "log":
        remedy = f"pass exposures as exposure=…, {remedy}"
    raise ValueError(
        f"{name} over {reach:.3g} units of the linear predictor, more than {OFFSET_RANGE:g}: "
        f"{remedy}"
    )


def _require_rows(engine: Engine, n_controls: int) -> None:
    """Raise if controls leave no row to S, of which nothing is left then."""
    q, rows = engine.n_sensitive, engine.n_rows
    if rows <= n_controls + q:
        raise ValueError(
            f"{n_controls} columns of controls and {q} of S need at least {n_controls + q + 1} "
            f"rows, and there are {rows}: use fewer controls."
        )


def _require_weights(engine: Engine, usage: Callable[[], Usage]) -> None:
    """Raise if fewer rows have weight than there are coefficients that no penalty holds."""
    unweighted = in_memory(engine) and engine.rows.weight is None
    if unweighted or engine.extent is None:
        return
    # Rows that weigh less than the ridge of separated models leave what they decide to it, and
    # beside them rows of little curvature are taken for rows that separate.
    has_weightless = engine.extent.rows_above(SEPARATION_RIDGE) < engine.n_rows
    least = LITTLE_CURVATURE if has_weightless else WEIGHT_RATIO
    rows = engine.extent.rows_above(least)
    if rows >= engine.n_rows:
        return
    model, q, width = usage(), engine.n_sensitive, len(engine.names)
    free = 1 + q * model.uses_sensitive + (width - q) * (not model.penalized)
    if rows >= free:
        _require_values(engine)
        return
    settable = model.has_penalty and not model.penalized
    remedy = "set predictor_penalty" if settable else "leave columns out"
    raise ValueError(
        f"these weights leave {rows:,} row{'s'[: rows > 1]} for {free:,} coefficients: the other "
        f"{engine.n_rows - rows:,} have less than {_power(least)} of the largest weight; "
        f"{remedy}, or correct the weights."
    )


def _require_values(engine: Engine) -> None:
    """Raise if only rows of next to no weight have one of the two values of a column of S."""
    q = engine.n_sensitive
    mean, deviation = (numbers[:q] for numbers in _statistics(engine))
    shares = np.minimum(mean, 1.0 - mean)
    shares[~binary_columns(mean, deviation**2) | (shares <= 0.0)] = 1.0
    if (SCALE_RATIO * shares < 1.0).any():
        raise ValueError(
            f"the rows that differ in {engine.names[int(np.argmin(shares))]!r} of S have less than "
            f"{_power(1.0 / SCALE_RATIO)} of the weight: leave them out, or correct the weights."
        )


def _require_units(engine: Engine, usage: Callable[[], Usage]) -> None:
    """Raise for columns under one penalty whose units differ too much."""
    deviation = _statistics(engine)[1][: len(engine.names)].copy()
    if _extremes(deviation)[2] <= SCALE_RATIO:
        return
    if not usage().holds_sensitive:
        deviation[: engine.n_sensitive] = 0.0
    if not (usage().penalized or _takes_shortest(engine)):
        deviation[engine.n_sensitive :] = 0.0
    large, small, ratio = _extremes(deviation)
    if ratio > SCALE_RATIO:
        raise ValueError(
            f"columns {_named(engine, large, small)} differ by {_power(ratio)} in scale; change a "
            "unit, or use standardize=True."
        )


def _extremes(deviation: Floats) -> tuple[int, int, float]:
    """Return which columns vary most and least, apart from constants, and the ratio of both."""
    varies = np.flatnonzero((deviation > 0.0) & np.isfinite(deviation))
    if not varies.size:
        return 0, 0, 1.0
    large, small = (int(varies[find(deviation[varies])]) for find in (np.argmax, np.argmin))
    return large, small, float(deviation[large] / deviation[small])


def _takes_shortest(engine: Engine) -> bool:
    """Whether several β fit X alike, so that the shortest is taken, as under a penalty."""
    if is_wide(engine):
        return True
    n_targets = len(engine.moments().mean) - len(engine.names)
    predictors = plain_space(engine, standardize=True, n_targets=n_targets).basis.predictors
    return predictors.rank < int(np.count_nonzero(predictors.squares()))


def _statistics(engine: Engine, *, of_response: bool = False) -> tuple[Floats, Floats]:
    """Return means and standard deviations of [S, X] and y, or some; 0 for constants."""
    if is_wide(engine) or has_many_sparse(engine):  # no matrix of the columns is formed
        pieces = (Slab(engine.rows.targets),) if of_response else engine.rows.columns
        mean, squares = column_statistics(pieces, engine.weights)
        return mean, deviation_of(squares, mean, float(engine.weights.sum()))
    moments = engine.moments()  # which a fit asks for in any case
    deviation = deviation_of(np.diag(moments.scatter), moments.mean, moments.weight)
    return moments.mean, deviation


def _named(engine: Engine, first: int, second: int) -> str:
    """Name two columns, and whether they are of S or of X."""
    roles = ["S" if k < engine.n_sensitive else "X" for k in (first, second)]
    one, other = (repr(engine.names[k]) for k in (first, second))
    if roles[0] == roles[1]:
        return f"{one} and {other} of {roles[0]}"
    return f"{one} of {roles[0]} and {other} of {roles[1]}"


def _power(number: float, log: float = 0.0) -> str:
    """Write the power of ten that is nearest to number·e^log."""
    exponent = round(math.log10(number) + log / math.log(10.0))
    return "10" + str(exponent).translate(SUPERSCRIPTS)
