"""Bounds on rates under exposures, and blind bounds given controls: certificates and intervals.

Rates: exposure depends on S, so that a bound on expected counts would be another. Totals are
held at those observed, in samples and in the population.

Given controls: S depends on a control, three predictors on both. Given these two the linear
predictor of a model is normal, so that what S explains of its probabilities in the population
is known by quadrature.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from fairridge import FairRidgeClassifier, FairRidgeRegressor
from fairridge._typing import Floats

TITLE = "Certified rates, and blind models given controls"
RATES, CONTROLS, BLIND = "rates", "mean parity, controls", "blind mean parity, controls"
SETTINGS: list[dict[str, Any]] = [
    {"model": RATES, "n": 2000},
    {"model": CONTROLS, "n": 1000},
    {"model": BLIND, "n": 400},
    {"model": BLIND, "n": 1000},
]
REPEATS, QUICK = 2000, 2
BOUND = 0.05
LEVELS = {RATES: 0.95, CONTROLS: 0.9, BLIND: 0.9}
MANY = 400_000
COEFFICIENTS = ("intercept", "s", "x1", "x2")
ON_S, ON_CONTROL = np.array([0.8, 0.3, 0.0]), np.array([0.5, 0.0, 0.2])
NODES, CHANCES = np.polynomial.hermite_e.hermegauss(64)
CHANCES = CHANCES / CHANCES.sum()


def sample(seed: int, *, model: str, n: int, many: int = MANY) -> list[dict[str, Any]]:
    """Draw one sample; say whether its certificate and its intervals hold in the population."""
    rng = np.random.default_rng([seed, n])
    if model == RATES:
        return [_of_rates(*draw(n, rng), many)]
    Z, y = draw_controlled(n, rng)
    found = FairRidgeClassifier(
        BOUND, sensitive=[0], controls=[1], blind=model == BLIND, definition="mean-parity",
        confidence=LEVELS[model],
    ).fit(Z, y)  # fmt: skip
    own = np.append(0.0, found.coef_) if found.blind else np.ravel(found.coef_)
    reached = controlled_share(float(found.intercept_[0]), own)
    return [_judged(found, reached)]


def _judged(model: Any, reached: float) -> dict[str, Any]:
    granted = model.certificate_ is not None and model.certificate_.granted
    return {
        "granted": granted,
        "exceeds": bool(granted and reached > BOUND),
        "reached": reached,
        "training_bound": model.unfairness_,
    }


# ---------------------------------------------------------------------- rates


def draw(n: int, rng: np.random.Generator) -> tuple[Floats, Floats, Floats]:
    """Return [S, X], counts and exposures of rows."""
    s = (rng.random(n) < 0.4).astype(np.float64)
    x = rng.normal(size=(n, 2)) + s[:, None] * [0.5, 0.2]
    exposure = rng.uniform(0.2, 1.0, n) * (1.0 - 0.4 * s)
    rate = np.exp(-0.5 + 0.3 * s + x @ [0.3, -0.2])
    return np.column_stack([s, x]), rng.poisson(exposure * rate).astype(np.float64), exposure


def model_of(**options: Any) -> FairRidgeRegressor:
    """Return a model with a bound on rates."""
    options = {"sensitive": [0], "family": "poisson", "definition": "mean-parity"} | options
    return FairRidgeRegressor(BOUND, **options)


def share(rates: Floats, s: Floats, exposure: Floats) -> float:
    """R² of rates on S, weighted by exposure."""
    own, other = (v - np.average(v, weights=exposure) for v in (rates, s))
    explained = np.average(own * other, weights=exposure) ** 2
    variances = [np.average(v**2, weights=exposure) for v in (own, other)]
    return float(explained / np.prod(variances))


@cache
def population(many: int) -> tuple[Floats, Floats, Floats, Floats]:
    """Return many rows, their exposures, and the coefficients of the model at the bound there."""
    Z, y, exposure = draw(many, np.random.default_rng(10**6))
    model = model_of().fit(Z, y, exposure=exposure)
    return Z, y, exposure, np.append(model.intercept_, model.coef_)


def _of_rates(Z: Floats, y: Floats, exposure: Floats, many: int) -> dict[str, Any]:
    everyone, _, exposures, truth = population(many)
    certified = model_of(confidence=LEVELS[RATES]).fit(Z, y, exposure=exposure)
    reached = share(certified.predict(everyone), everyone[:, 0], exposures)
    plain = model_of().fit(Z, y, exposure=exposure)
    ends = plain.inference(Z, y, exposure=exposure).confidence_interval()
    inside = (ends[:, 0] <= truth) & (truth <= ends[:, 1])
    return _judged(certified, reached) | {
        "plain exceeds": bool(share(plain.predict(everyone), everyone[:, 0], exposures) > BOUND),
        "total": float(plain.predict(Z, exposure=exposure).sum() / y.sum()),
        **dict(zip(COEFFICIENTS, inside.tolist(), strict=True)),
    }


# ---------------------------------------------------------------------- given controls


def draw_controlled(n: int, rng: np.random.Generator) -> tuple[Floats, Any]:
    """Return [S, C, X] and events of rows."""
    c = rng.normal(size=n)
    s = (rng.random(n) < _logistic(0.8 * c)).astype(np.float64)
    x = rng.normal(size=(n, 3)) + s[:, None] * ON_S + c[:, None] * ON_CONTROL
    eta = -0.5 + 0.5 * s + 0.6 * c + x @ [0.8, 0.5, 0.5]
    return np.column_stack([s, c, x]), rng.random(n) < _logistic(eta)


def controlled_share(intercept: float, coefficients: Floats) -> float:
    """Partial R² on S of the probabilities of a model of [S, C, X] given C, by quadrature."""
    c, s = np.repeat(NODES, 2), np.tile([0.0, 1.0], len(NODES))
    one = _logistic(0.8 * c)
    chance = np.repeat(CHANCES, 2) * np.where(s == 1.0, one, 1.0 - one)
    on_x = coefficients[2:]
    center = intercept + (coefficients[0] + on_x @ ON_S) * s
    center = center + (coefficients[1] + on_x @ ON_CONTROL) * c
    mu = _logistic(center[:, None] + np.linalg.norm(on_x) * NODES)
    mean, square = mu @ CHANCES, mu**2 @ CHANCES

    columns = np.column_stack([np.ones_like(c), c])
    weighted = (columns * chance[:, None]).T

    def left(values: Floats) -> Floats:
        on_control = np.linalg.solve(weighted @ columns, weighted @ values)
        return np.asarray(values - columns @ on_control)

    of_s, of_mean = left(s), left(mean)
    variance = float(chance @ (square - mean**2 + of_mean**2))
    return float((chance @ (of_s * of_mean)) ** 2 / (chance @ of_s**2) / variance)


def _logistic(eta: Floats) -> Floats:
    return np.asarray(1.0 / (1.0 + np.exp(-eta)))


def table(frame: pd.DataFrame) -> pd.DataFrame:
    """Return violation rates, and coverage of the coefficients of rates."""
    covered = frame.reindex(columns=list(COEFFICIENTS)).astype(float)
    groups = frame.assign(**covered).groupby(["model", "n"], sort=False)
    found = groups.agg(
        violated=("exceeds", "mean"),
        granted=("granted", "mean"),
        training_bound=("training_bound", "mean"),
        reached=("reached", "mean"),
        seeds=("seed", "nunique"),
        **{name: (name, "mean") for name in COEFFICIENTS},
    ).reset_index()
    found["error"] = np.sqrt(found["violated"] * (1.0 - found["violated"]) / found["seeds"])
    return found
