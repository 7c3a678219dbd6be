"""How often intervals of coefficients hold what they are for."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import norm

from fairridge import FairRidgeClassifier, FairRidgeRegressor
from fairridge._typing import Floats
from simulations.populations import SENSITIVE, Sample, draw, population_rows

TITLE = "Coverage of intervals"
FAMILIES = ("gaussian", "binomial", "counts")
SETTINGS: list[dict[str, Any]] = [{"family": family, "n": 1000} for family in FAMILIES]
REPEATS, QUICK = 500, 8
RESAMPLES = 50
# Samples that are resampled, the first of all: each takes as long as fifty others.
RESAMPLED = 100
# Rows that stand for the population: their own error is 2 % of that of a sample.
MANY = 2_000_000
BOUND = 0.05


def model_of(family: str) -> Any:
    if family == "binomial":
        return FairRidgeClassifier(BOUND, sensitive=SENSITIVE)
    return FairRidgeRegressor(
        BOUND, sensitive=SENSITIVE, family="gaussian" if family == "gaussian" else "poisson"
    )


def numbers(model: Any, n: int) -> dict[str, float]:
    """Return what intervals are for, λ per row."""
    values = {f"raw {k}": float(value) for k, value in enumerate(np.ravel(model.coef_))}
    values |= {f"alpha {k}": float(value) for k, value in enumerate(model.alpha_)}
    return values | {"log lambda": float(np.log(model.lambda_ / n))}


@cache
def target(family: str, many: int = MANY) -> dict[str, float]:
    rows = population_rows(family, many)
    return numbers(model_of(family).fit(rows.Z, rows.y), many)


def sample(seed: int, *, family: str, n: int, many: int = MANY) -> list[dict[str, Any]]:
    """Draw one sample; say of every number and method whether its interval holds the target."""
    rng = np.random.default_rng([seed, n, FAMILIES.index(family)])
    rows, true = draw(family, n, rng), target(family, many)
    model = model_of(family).fit(rows.Z, rows.y)
    own = numbers(model, n)
    found = {
        "HC1": sandwich(model, rows, "HC1"),
        "HC3": sandwich(model, rows, "HC3"),
        "λ and U as given": naive(model, rows, family),
        "bootstrap": bootstrap(family, rows, rng) if seed < RESAMPLED else {},
    }
    out = []
    for method, errors in found.items():
        for name, error in errors.items():
            z = (own[name] - true[name]) / error
            out.append(
                {
                    "method": method,
                    "what": kind_of(name),
                    "covered": bool(abs(z) <= norm.ppf(0.975)),
                    "width": float(error),
                }
            )
    return out


def kind_of(name: str) -> str:
    """Return which kind of number a name stands for; the first three columns are S."""
    kind, _, place = name.partition(" ")
    return kind if kind != "raw" else "raw S" if int(place) < 3 else "raw X"


def sandwich(model: Any, rows: Sample, covariance: str) -> dict[str, float]:
    """Return the library's standard errors."""
    inference = model.inference(rows.Z, rows.y, covariance=covariance)
    fair = inference.to_frame(kind="fair")["standard_error"].to_numpy()
    out = {f"raw {k}": float(value) for k, value in enumerate(inference.standard_errors[1:])}
    out |= {f"alpha {k}": float(value) for k, value in enumerate(fair[1:4])}
    return out | {"log lambda": float(fair[-1] / model.lambda_)}


def naive(model: Any, rows: Sample, family: str) -> dict[str, float]:
    """Return sandwich errors of a ridge regression on U with a given penalty."""
    S, X = rows.Z[:, :3], rows.Z[:, 3:]
    s, x = S - S.mean(axis=0), X - X.mean(axis=0)
    fitted = np.linalg.lstsq(s, x, rcond=None)[0]
    z = np.column_stack([np.ones(len(s)), s, x - s @ fitted])
    eta = np.ravel(model.intercept_) + rows.Z @ np.ravel(model.coef_)
    mean, curvature = _mean(family, eta)
    penalty = np.zeros(z.shape[1])
    penalty[1:4] = model.lambda_ * s.var(axis=0)
    J = (z * curvature[:, None]).T @ z + np.diag(penalty)
    phi = np.linalg.solve(J, (z * (rows.y - mean)[:, None]).T)
    V = phi @ phi.T
    raw = np.zeros((7, 8))
    raw[:3, 1:4], raw[:3, 4:], raw[3:, 4:] = np.eye(3), -fitted, np.eye(4)
    out = {f"raw {k}": float(v) for k, v in enumerate(np.sqrt(np.diag(raw @ V @ raw.T)))}
    return out | {f"alpha {k}": float(v) for k, v in enumerate(np.sqrt(np.diag(V)[1:4]))}


def _mean(family: str, eta: Floats) -> tuple[Floats, Floats]:
    if family == "gaussian":
        return eta, np.ones(len(eta))
    if family == "binomial":
        mean = 1.0 / (1.0 + np.exp(-eta))
        return mean, mean * (1.0 - mean)
    mean = np.exp(eta)
    return mean, mean


def bootstrap(family: str, rows: Sample, rng: np.random.Generator) -> dict[str, float]:
    """Return standard deviations over fits to resampled rows."""
    n, drawn = len(rows.y), []
    for _ in range(RESAMPLES):
        chosen = rng.integers(0, n, n)
        drawn.append(numbers(model_of(family).fit(rows.Z[chosen], rows.y[chosen]), n))
    frame = pd.DataFrame(drawn).replace([np.inf, -np.inf], np.nan)
    return {str(name): float(value) for name, value in frame.std().items()}


def table(frame: pd.DataFrame) -> pd.DataFrame:
    """Return coverage in percent by family, method and kind of number."""
    groups = frame.groupby(["family", "method", "what"], sort=False)
    found = groups.agg(coverage=("covered", "mean"), seeds=("seed", "nunique")).reset_index()
    # Numbers of one sample depend on each other; this is the error of one of them.
    found["error"] = np.sqrt(found["coverage"] * (1.0 - found["coverage"]) / found["seeds"])
    return found
