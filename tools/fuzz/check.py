"""Judges an answer of the library by the recomputed mathematics.

Inside the contract (`contract.py`) every problem has an answer, which must be right. Beyond
it a refusal that names a column or a number is right, and so is a right answer.

Tolerances are relative, and say what they are relative to:

- the bound: `BOUND`, plus the rounding error of the recomputed value, which
  for shares of deviance is ε times the deviances that cancel;
- stationarity: `GAIN`, the part of the deviance that another Newton step
  would take off (answers are at 1e-14, or rounding);
- predictions: `ETA`, relative to the sizes of the terms that are added up;
- two fits of the same problem: `AGREE` in the deviance (of a nearly perfect
  fit, 1e-3 of that of the null model's) and in the unfairness.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from threadpoolctl import threadpool_limits

from tools.fuzz.columns import (
    EPS,
    Coefficients,
    Columns,
    centered,
    coefficients_of,
    columns_of,
    over,
    weighted_mean,
)
from tools.fuzz.contract import WEIGHT, has_no_model, has_no_response, outside
from tools.fuzz.fitting import Answer, answer, second_answer
from tools.fuzz.limits import limited
from tools.fuzz.other_bounds import other_bound
from tools.fuzz.peers import komiyama, zafar
from tools.fuzz.problems import BEYOND, Problem, draw
from tools.fuzz.reference import INDIVIDUAL, Unconstrained, unfairness
from tools.fuzz.separation import endless_change, is_separated
from tools.fuzz.stationarity import ELSEWHERE, RIDGE, deviance_scale, remaining_gain, undetermined
from tools.fuzz.uses import USES, draw_use, examine_use
from tools.fuzz.verdict import SLOW, STOP, Verdict

Floats = NDArray[np.float64]
BOUND, GAIN, ETA, AGREE = 1e-8, 1e-10, 1e-9, 1e-6
# By which a bound may be met too well.
LOOSE = 1e-6
# Range of a linear predictor beyond which probabilities hardly change.
FAR = 30.0
# How far linear predictors go along a direction without end.
FURTHER = (1.0, 3.0, 10.0, 30.0)
# What the library says of large coefficients of levels, which a minimum may have.
EXTREME = "are extreme"
# What the library says where moments, or rows that are not in memory, cannot do.
REFUSALS = ("do not carry enough digits", "not in memory")
REFUSED = (ValueError, TypeError)
# A refusal names a column or a number, in one line.
NAMED = re.compile(r"^[^\n]*('[^'\n]+'|\d)[^\n]*$")
# Warnings that say that the answer is not the usual one.
EXPECTED = ("DataWarning", "BoundWarning", "ConvergenceWarning", "UserWarning")


def verdict_of(seed: int) -> Verdict:
    """Draw and examine one problem, on one thread."""
    with threadpool_limits(1):
        return examine_use(draw_use(seed)) if USES <= seed < BEYOND else examine(draw(seed))


def examine(problem: Problem) -> Verdict:
    """Fit a problem and judge the answer."""
    beyond, start = outside(problem), time.process_time()
    try:
        with limited(STOP):
            first = answer(problem)
    except TimeoutError:
        return Verdict(problem, "failed", (f"hangs: more than {STOP:g} s",), STOP, beyond=beyond)
    except Exception as error:
        found = wrong_refusal(problem, error)
        status = "refused" if isinstance(error, REFUSED) else "failed"
        return Verdict(problem, status, tuple(found), beyond=beyond, note=str(error))
    seconds = time.process_time() - start
    found = [f"slow: {seconds:.1f} s"] if seconds > SLOW and not beyond else []
    found += judge(problem, first)
    try:
        with limited(STOP):
            others = second_answer(problem, first)
        with np.errstate(all="ignore"):
            found += _compared(problem, first, others)
    except Exception as error:
        if not any(words in str(error) for words in REFUSALS):
            found.append(f"{problem.source}, {problem.twin}: {type(error).__name__}: {error}")
    found = list(dict.fromkeys(found))
    return Verdict(problem, first.model.status_, tuple(found), seconds, _separated(first), beyond)


def wrong_refusal(problem: Problem, error: Exception) -> list[str]:
    """Return what is wrong with an error instead of an answer.

    Parameters
    ----------
    problem : Problem
        The problem.
    error : Exception
        What its fit raised.
    """
    # NumPy's error of singular matrices is a ValueError, too.
    if not isinstance(error, REFUSED) or isinstance(error, np.linalg.LinAlgError):
        return [f"{type(error).__name__}: {error}"]
    if has_no_model(problem):
        return []
    if not outside(problem):
        return [f"refused inside the contract: {error}"]
    if not (isinstance(error, ValueError) and NAMED.match(str(error))):
        return [f"refused without a column or a number: {type(error).__name__}: {error}"]
    return []


def judge(problem: Problem, first: Answer) -> list[str]:
    """Return what is wrong with an answer.

    Parameters
    ----------
    problem : Problem
        The problem.
    first : Answer
        The model fitted to it, in memory.
    """
    found = [f"warns {kind}: {text}" for kind, text in first.warnings if kind not in EXPECTED]
    unsound = list(_not_finite(first.model))
    if unsound:
        return [*found, *unsound]
    found += _inconsistent_status(problem, first)
    with np.errstate(all="ignore"):
        found += _wrong_numbers(problem, first)
    return found


def _wrong_numbers(problem: Problem, first: Answer) -> Iterator[str]:
    model = first.model
    columns = columns_of(problem, getattr(model, "classes_", None))
    fair = coefficients_of(model, columns)
    yield from _wrong_predictions(problem, model, columns, fair)
    yield from _wrong_separation(problem, first, columns, fair)
    # A search that gives up where rounding hides whether the bound is met has an answer, too.
    gave_up = model.status_ == "not-converged"
    if not (model.converged_ or (gave_up and _meets_the_bound(problem, model, columns, fair))):
        right = model.status_ == "separated" or (model.status_, problem.blind) == (
            "infeasible",
            True,
        )
        # Minima under bounds on means are many, and a search among them may say that it failed.
        right = right or (model.status_ == "not-converged" and problem.bounds_means)
        if not outside(problem) and not right:
            yield f"{model.status_} inside the contract"
        return
    small = _small(problem, first, columns)
    if problem.has_other_bound:
        yield from _wrong_other_bound(problem, first, columns, small)
    elif problem.model == "ridge":
        yield from _wrong_bound(problem, first, columns, fair)
        gain = remaining_gain(problem, columns, fair, float(model.lambda_), small)
        if not gain <= GAIN:
            yield f"not stationary: another step gains {gain:.2g} of the deviance"
    elif problem.model == "komiyama":
        yield from _not_komiyama(problem, columns, fair)
    else:
        yield from _not_zafar(problem, model, columns, small)


def _meets_the_bound(problem: Problem, model: Any, columns: Columns, fair: Coefficients) -> bool:
    """Whether a share is that of the bound as far as rounding lets anybody tell."""
    judged = problem.model == "ridge" and not problem.bounds_means
    if problem.definition in INDIVIDUAL or problem.unfairness == 1.0 or not judged:
        return False
    found = (
        other_bound(problem, columns, _raw(model, columns)).value()
        if problem.has_other_bound
        else unfairness(problem.definition, columns, fair, None)
    )
    return found is not None and abs(found.value - problem.unfairness) <= BOUND + 2.0 * found.error


def _small(problem: Problem, found: Answer, columns: Columns) -> float:
    """Return the ridge that the library adds where no minimum exists, or none alone."""
    ridged = _separated(found) or _is_undetermined(problem, columns)
    return RIDGE * float(columns.weight.sum()) if ridged else 0.0


def _is_undetermined(problem: Problem, columns: Columns) -> bool:
    """Whether a partial likelihood does not depend on a direction that no penalty holds.

    Only rows that leave before the first event, and are in no risk set, tell it apart.
    """
    if problem.family != "cox":
        return False
    time, event = columns.likelihood.y.T
    at_risk = time >= time[event == 1.0].min(initial=np.inf)
    q = columns.S.shape[1]
    free = np.arange(columns.raw.shape[1])
    held = (free >= q + problem.controls) & (problem.predictor_penalty > 0.0)
    Z = columns.raw[:, ~held & ((free >= q) | (not problem.blind))]
    # Under absolute values each column of S has a coefficient, combinations of others, too.
    whole = q if problem.penalty in ("lasso", "elastic-net") else 0
    return _rank(Z[at_risk]) < _rank(Z) or _rank(columns.S[at_risk]) < whole


def _rank(Z: Floats) -> int:
    """Return how many directions the columns have beside a constant."""
    Z = Z - Z.mean(axis=0)
    return int(np.linalg.matrix_rank(over(Z, np.linalg.norm(Z, axis=0)), tol=1e-7)) if Z.size else 0


# -------------------------------------------------------------------- checks


def _not_finite(model: Any) -> Iterator[str]:
    """NaN or infinity; λ may be infinite, and the log-likelihood of a perfect fit.

    So may variance inflation, of columns that are combinations of others.
    """
    allowed = {"lambda_"} | ({"loglik_"} if model.deviance_ <= 1e-12 * model.n_rows_ else set())
    for name, value in vars(model).items():
        if not name.endswith("_") or name.startswith("_") or name in allowed:
            continue
        values = np.asarray(list(value.values()) if isinstance(value, dict) else value)
        if name == "variance_inflation_":
            values = np.nan_to_num(values, nan=np.nan, posinf=1.0)
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            yield f"{name} is not finite"
    if np.isnan(model.lambda_):
        yield "lambda_ is NaN"


def _inconsistent_status(problem: Problem, first: Answer) -> Iterator[str]:
    model, r = first.model, problem.unfairness
    if not model.converged_ and not first.warnings:
        yield f"{model.status_} without a warning"
    if model.status_ == "inactive" and model.lambda_ != 0.0:
        yield f"inactive at λ = {model.lambda_:g}"
    if r == 1.0 and model.converged_ and model.status_ != "inactive":
        yield f"r = 1 is {model.status_}"
    other = problem.has_other_bound or problem.model == "zafar"  # has no S to begin with
    if r == 0.0 and model.status_ == "converged" and not other and np.any(model.alpha_):
        yield "r = 0, but α is not 0"


def _all_coefficients(model: Any, columns: Columns) -> Floats:
    """Return `coef_`, with zeros for S in models that predict without it."""
    known = np.atleast_2d(model.coef_)
    return np.pad(known, ((0, 0), (columns.raw.shape[1] - known.shape[1], 0)))


def _raw(model: Any, columns: Columns) -> Floats:
    """Return levels and coefficients of [S, X]."""
    return np.column_stack([np.atleast_1d(model.intercept_), _all_coefficients(model, columns)])


def _wrong_predictions(
    problem: Problem, model: Any, columns: Columns, fair: Coefficients
) -> Iterator[str]:
    """Compare predict, the raw coefficients and the fair basis; then the deviance."""
    raw, level = _all_coefficients(model, columns), np.atleast_1d(model.intercept_)
    eta = columns.raw @ raw.T + level
    size = np.abs(columns.raw) @ np.abs(raw.T) + np.abs(level)
    called, means = _predicted(problem, model)[columns.keep], _means(problem.family, eta)
    if not np.isfinite(called).all():
        yield "predictions are not finite"
    if (np.abs(called - means) > ETA * size * _means_per_eta(problem.family, means)).any():
        yield "predictions are not those of coef_"
    basis = fair.eta(columns).reshape(eta.shape) - columns.offset[:, None]
    # Centers and B have rounding errors of their own, and the offset was added before; links
    # other than the identity see no difference of ε.
    slack = 1e3 * columns.digits * size.max(axis=0) + ETA * size
    slack += 4.0 * EPS * (np.abs(columns.offset)[:, None] + float(problem.family != "gaussian"))
    if problem.model != "zafar" and (np.abs(basis - eta) > slack).any():
        yield "coef_ and (alpha_, beta_) predict differently"
    likelihood = columns.likelihood
    ours, terms = likelihood.deviance(_flat(eta) + _offsets(columns, eta))
    slope = np.abs(likelihood.gradient(_flat(eta) + _offsets(columns, eta)))
    rounding = 1e-8 * abs(ours) + 1e-13 * terms
    moved = ETA * size
    rounding += float((slope.reshape(eta.shape) * moved).sum() + columns.weight @ (moved**2).sum(1))
    if not abs(ours - model.deviance_) <= rounding:
        yield f"deviance_ is {model.deviance_:.10g}, recomputed {ours:.10g}"


def _wrong_separation(
    problem: Problem, first: Answer, columns: Columns, fair: Coefficients
) -> Iterator[str]:
    """Compare warnings of separation with linear programs."""
    family, y, w = columns.likelihood.family, columns.likelihood.y, columns.weight
    q, said = columns.S.shape[1], _separated(first)
    S, U = columns.S, columns.U
    if problem.blind or problem.model == "zafar":
        S, U = S[:, :0], centered(columns.raw[:, q:], w)[0]
    S, U = (over(Z, np.sqrt(weighted_mean(Z**2, w))) for Z in (S, U))
    # A minimum that is far away cannot be told from none, nor a share of 10⁻¹² from zero.
    near = np.ptp(fair.eta(columns) - _offsets(columns, fair.eta(columns))) <= FAR
    rounded = np.round(y, 6) if family == "quasi-binomial" else y
    heavy = w > WEIGHT * w.max()  # the ridge of separated models outweighs lighter rows
    decided = has_no_response(family, y[heavy])  # by the lighter rows
    if (
        said
        and near
        and not decided
        and not is_separated(family, np.hstack([S, U])[heavy], rounded[heavy])
    ):
        yield "warns of separation, but the deviance has a minimum"
    held = problem.predictor_penalty > 0.0 or (problem.has_other_bound and first.model.lambda_ > 0)
    held = held or _is_undetermined(problem, columns)
    if held or problem.model != "ridge" or any(_is_of_separation(x) for _, x in first.warnings):
        return
    # A penalty on α leaves directions of U only.
    free = U if first.model.lambda_ > 0.0 else np.hstack([S, U])
    change = endless_change(family, free, y)
    if change is not None and _gains(columns, fair.eta(columns), change) > GAIN:
        yield "separated without a warning"


def _gains(columns: Columns, eta: Floats, change: Floats) -> float:
    """Return the part of the deviance that a long way along a direction takes off.

    Rows of next to no weight have hardly any of it, and decide nothing.
    """
    largest = np.abs(change).max()
    here, scale = columns.likelihood.deviance(eta)[0], deviance_scale(columns, eta, columns.null)
    further = (columns.likelihood.deviance(eta + t / largest * change)[0] for t in FURTHER)
    return (here - min(further)) / scale


def _wrong_bound(
    problem: Problem, first: Answer, columns: Columns, fair: Coefficients
) -> Iterator[str]:
    model, r = first.model, problem.unfairness
    free = None
    if problem.definition in INDIVIDUAL:
        other = answer(replace(problem, unfairness=1.0))
        if not other.model.converged_:
            return  # what it compares with is a problem of its own
        alone = coefficients_of(other.model, columns)
        small = _small(problem, other, columns)
        free = Unconstrained(alone, undetermined(problem, columns, alone, small))
    value = unfairness(problem.definition, columns, fair, free)
    if value is None or r == 1.0:
        return
    slack = BOUND + 2.0 * value.error  # of the library's number, and of ours
    if not value.value <= r + slack:
        yield f"bound {r:g} exceeded silently: {value.value:.10g}"
    elif (
        model.status_ == "converged"
        and value.value < r - slack - LOOSE - _coarse(problem)
        and not (_explains_itself(first) or _is_ambiguous(problem, columns))
        and _costs_something(problem, model, columns, fair)
    ):
        yield f"bound {r:g} is said to bind, but the value is {value.value:.10g}"
    if abs(value.value - model.unfairness_) > slack:
        yield f"unfairness_ is {model.unfairness_:.10g}, recomputed {value.value:.10g}"


def _costs_something(problem: Problem, model: Any, columns: Columns, fair: Coefficients) -> bool:
    """Whether a model without a bound has less deviance, by more than its digits.

    Otherwise α that vanishes, or not, is a matter of the last digit of λ.
    """
    free = answer(replace(problem, unfairness=1.0)).model
    lost = model.deviance_ - free.deviance_
    eta = fair.eta(columns)
    return bool(lost > GAIN * deviance_scale(columns, eta, columns.null))


def _wrong_other_bound(
    problem: Problem, first: Answer, columns: Columns, small: float
) -> Iterator[str]:
    """Judge a bound on means, of a model without S, or given controls."""
    model, r = first.model, problem.unfairness
    found = other_bound(problem, columns, _raw(model, columns), small)
    value = found.value()
    if value is not None and r < 1.0:
        slack = BOUND + 2.0 * value.error
        if not value.value <= r + slack:
            yield f"bound {r:g} exceeded silently: {value.value:.10g}"
        binds = model.status_ == "converged" and not _explains_itself(first)
        if binds and value.value < r - slack - LOOSE:
            yield f"bound {r:g} is said to bind, but the value is {value.value:.10g}"
        if abs(value.value - model.unfairness_) > slack:
            yield f"unfairness_ is {model.unfairness_:.10g}, recomputed {value.value:.10g}"
    gain = found.gain(float(model.lambda_))
    if not gain <= GAIN:
        yield f"not stationary: another step gains {gain:.2g} of the deviance"


def _coarse(problem: Problem) -> float:
    """Return how closely λ itself can meet a bound.

    Under absolute values α vanishes at a finite λ, and next to it neighboring
    numbers λ differ in α by more than the tolerance of the search.
    """
    return 1e-4 * problem.unfairness if problem.penalty in ("lasso", "elastic-net") else 0.0


def _not_komiyama(problem: Problem, columns: Columns, fair: Coefficients) -> Iterator[str]:
    expected = komiyama(problem, columns)
    if expected is None:
        return
    w = columns.weight
    scale = _deviation(columns.likelihood.y, w)
    gap = float(np.sqrt(np.average((fair.eta(columns) - expected) ** 2, weights=w)))
    if not gap <= (1e-6 + 1e4 * columns.digits) * scale:
        yield f"not the closed form: η differs by {gap / scale:.2g} of the deviation of y"


def _not_zafar(problem: Problem, model: Any, columns: Columns, small: float) -> Iterator[str]:
    eta = (columns.raw @ _all_coefficients(model, columns).T)[:, 0] + model.intercept_
    spread = _deviation(eta, columns.weight)
    if spread <= 1e-6 * float(np.abs(eta).max()):
        return  # constant predictions correlate with nothing
    value, distance = zafar(problem, columns, eta, small)
    if not value.value <= problem.unfairness + BOUND * 10.0 + value.error:
        yield f"bound {problem.unfairness:g} exceeded silently: {value.value:.10g}"
    if not distance <= 1e-4:
        yield f"not stationary: {distance:.2g} of the gradient is left"


def _compared(problem: Problem, first: Answer, others: dict[str, Answer]) -> Iterator[str]:
    """Compare with fits that must agree, and with the model as it was saved."""
    model = first.model
    if has_no_model(problem):
        return
    for name, other in others.items():
        for kind, text in other.warnings:
            if kind not in EXPECTED:
                yield f"{name} warns {kind}: {text}"
        if name == "saved":
            if not np.array_equal(_predicted(problem, model), _predicted(problem, other.model)):
                yield "the saved model predicts differently"
            continue
        columns = columns_of(problem, getattr(model, "classes_", None))
        if not (model.converged_ and other.model.converged_) or _is_ambiguous(problem, columns):
            continue
        several = name == "path" or (_fits_any_rows(columns) and name != "scaled")
        # A path warns of separation at any of its bounds.
        ridges = {_small(problem, other, columns), _small(problem, first, columns)}
        if (problem.bounds_means and several) or _has_light_rows(columns, ridges, name):
            # Bounds on means have several minima (docs/algorithms.md), and whether rows of next
            # to no weight are separated is a matter of the last digits: each is judged by itself.
            there = replace(problem, source=ELSEWHERE) if name == problem.source else problem
            judged = [list(_wrong_again(there, other, columns, x)) for x in ridges]
            yield from (f"{name}: {violation}" for violation in min(judged, key=len))
            continue
        agree = AGREE + 1e3 * columns.digits + _coarse(problem)
        null = columns.likelihood.deviance(columns.null)[0]
        slack = agree * (abs(model.deviance_) + 1e-3 * abs(null)) + EPS * len(columns.S)
        of_value = agree + _rounding_of_value(problem, columns, model)

        def objective(fitted: Any, columns: Columns = columns, name: str = name) -> float:
            if not problem.has_other_bound or name == "scaled":  # coefficients in other units
                return float(fitted.deviance_)
            penalty = other_bound(problem, columns, _raw(fitted, columns)).penalty()
            return float(fitted.deviance_) + penalty

        yield from _different(problem, model, other.model, name, of_value, slack, objective)


def _has_light_rows(columns: Columns, ridges: set[float], name: str) -> bool:
    """Whether rows of next to no weight have made one of two fits of the same rows separated."""
    light = columns.weight.min() <= WEIGHT * columns.weight.max()
    return bool(light and len(ridges) > 1 and name != "scaled")


def _wrong_again(problem: Problem, other: Answer, columns: Columns, small: float) -> Iterator[str]:
    """Judge another fit of the same problem by itself."""
    if problem.has_other_bound:
        yield from _wrong_other_bound(problem, other, columns, small)
        return
    fair = coefficients_of(other.model, columns)
    yield from _wrong_bound(problem, other, columns, fair)
    gain = remaining_gain(problem, columns, fair, float(other.model.lambda_), small)
    if not gain <= GAIN:
        yield f"not stationary: another step gains {gain:.2g} of the deviance"


def _rounding_of_value(problem: Problem, columns: Columns, model: Any) -> float:
    """Return how far rounding may move the value in each of two computations.

    A model that explains 1e-13 of the deviance has a share with three digits, and one that
    explains nothing but rounding has none.
    """
    if problem.model != "ridge" or problem.definition in INDIVIDUAL:
        return 0.0
    if problem.has_other_bound:
        value = other_bound(problem, columns, _raw(model, columns)).value()
        return np.inf if value is None else 2.0 * value.error
    value = unfairness(problem.definition, columns, coefficients_of(model, columns), None)
    return np.inf if value is None else 2.0 * value.error


def _is_ambiguous(problem: Problem, columns: Columns) -> bool:
    """Whether the value is not determined by the model.

    A lasso leaves open which of collinear columns of S has the coefficient. They
    are collinear once centered, so the shares of uncentered S differ by it.
    """
    rank = np.linalg.matrix_rank(over(columns.S, columns.S.std(axis=0)), tol=1e-8)
    return (
        problem.penalty == "lasso"
        and problem.definition == "uncentered"
        and rank < len(columns.S.T)
    )


def _fits_any_rows(columns: Columns) -> bool:
    """Whether there are as many independent columns as rows that count: it fits them perfectly."""
    Z, w = np.hstack([columns.S, columns.U]), columns.weight
    rows = w.sum() ** 2 / (w @ w)  # Kish's effective number; all of them if weights are equal
    return bool(np.linalg.matrix_rank(over(Z, Z.std(axis=0)), tol=1e-8) >= rows - 1.0)


def _different(
    problem: Problem,
    model: Any,
    other: Any,
    name: str,
    agree: float,
    slack: float,
    objective: Callable[[Any], float],
) -> Iterator[str]:
    if abs(objective(model) - objective(other)) > slack:
        yield f"{name}: deviance {other.deviance_:.8g} instead of {model.deviance_:.8g}"
    if abs(model.unfairness_ - other.unfairness_) > agree:
        yield f"{name}: unfairness {other.unfairness_:.8g} instead of {model.unfairness_:.8g}"
    if model.status_ != other.status_ and abs(model.unfairness_ - problem.unfairness) > agree:
        yield f"{name}: {other.status_} instead of {model.status_}"


# --------------------------------------------------------------------- parts


def _predicted(problem: Problem, model: Any) -> Floats:
    """Return what a user gets for all rows without offset: linear predictors if possible."""
    call = getattr(model, "decision_function", model.predict)
    found = np.asarray(call(problem.X, sensitive_features=problem.S), dtype=float)
    return found.reshape(len(problem.X), -1)


def _means(family: str, eta: Floats) -> Floats:
    """Return what `_predicted` returns at a linear predictor."""
    if family in ("poisson", "gamma", "tweedie"):
        return np.exp(np.minimum(eta, 700.0))
    return expit(eta) if family == "quasi-binomial" else eta


def _means_per_eta(family: str, means: Floats) -> Floats:
    """Return the derivative of `_means`, or more."""
    return means + np.finfo(float).tiny if family in ("poisson", "gamma", "tweedie") else 1.0


def _deviation(values: Floats, weight: Floats) -> float:
    mean = np.average(values, weights=weight)
    return float(np.sqrt(np.average((values - mean) ** 2, weights=weight)))


def _flat(eta: Floats) -> Floats:
    return eta[:, 0] if eta.shape[1] == 1 else eta


def _offsets(columns: Columns, eta: Floats) -> Floats:
    return columns.offset if eta.ndim == 1 or eta.shape[1] == 1 else columns.offset[:, None]


def _explains_itself(found: Answer) -> bool:
    """Whether there is a warning besides that of separation, such as of several crossings."""
    return any(not _is_of_separation(text) for _, text in found.warnings)


def _separated(found: Answer) -> bool:
    """Whether a model says that it has the ridge of separated data.

    Coefficients of levels may be extreme without it.
    """
    return any(_is_of_separation(text) and EXTREME not in text for _, text in found.warnings)


def _is_of_separation(text: str) -> bool:
    said = "separate the responses", "separate the classes", "decide the response alone"
    return any(part in text for part in said)
