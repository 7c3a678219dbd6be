"""How often intervals of R² on S in the population hold it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from fairridge import FairRidgeClassifier, FairRidgeRegressor
from fairridge._typing import Floats
from fairridge.fairness import StatisticalParity

TITLE = "Intervals of unfairness in the population"
SETTINGS: list[dict[str, Any]] = [
    *({"model": "gaussian", "noise": noise, "bound": 1.0} for noise in (0.1, 1.0, 5.0)),
    *({"model": "blind", "noise": noise, "bound": 1.0} for noise in (0.1, 1.0)),
    {"model": "blind", "noise": 1.0, "bound": 0.9},
    *({"model": model, "noise": 0.0, "bound": 1.0} for model in ("binomial", "blind binomial")),
    *({"model": model, "noise": 1.0, "bound": 0.05} for model in ("gaussian", "blind")),
    {"model": "binomial", "noise": 0.0, "bound": 0.05},
    {"model": "gaussian", "noise": 1.0, "bound": 0.0},
    {"model": "fair by itself", "noise": 1.0, "bound": 1.0},
]
REPEATS, QUICK = 2000, 4
ROWS, LEVEL = 500, 0.95
ON_S = np.array([0.4, 0.2])  # coefficients of X on S


def share(coefficients: Floats) -> float:
    """R² on S of a linear predictor of [S, X], exactly."""
    own = coefficients[0] + ON_S @ coefficients[1:]
    return float(own**2 / (own**2 + coefficients[1:] @ coefficients[1:]))


def sample(seed: int, *, model: str, noise: float, bound: float) -> list[dict[str, Any]]:
    """Draw one sample; say whether the interval of its model holds the value in the population."""
    rng = np.random.default_rng([seed, 7])
    s = rng.normal(size=ROWS)
    X = np.outer(s, ON_S) + rng.normal(size=(ROWS, 2))
    # With the effect of the last kind, what S explains of the response is zero.
    eta = X.sum(axis=1) + (-ON_S.sum() if model == "fair by itself" else 0.5) * s
    binary = "binomial" in model
    y = rng.random(ROWS) < 1 / (1 + np.exp(-eta)) if binary else eta + noise * rng.normal(size=ROWS)
    Z, blind = np.column_stack([s, X]), "blind" in model
    options: dict[str, Any] = {"sensitive": [0], "blind": blind}
    if binary and not blind:
        options["definition"] = StatisticalParity(measure="variance")
    found = (FairRidgeClassifier if binary else FairRidgeRegressor)(bound, **options).fit(Z, y)
    interval = found.inference(Z, y).population_unfairness(LEVEL)
    own = np.ravel(found.coef_)
    true = share(np.append(0.0, own) if blind else own)
    return [
        {
            "below": true < interval.lower,
            "above": true > interval.upper,
            "width": interval.upper - interval.lower,
            "true": true,
        }
    ]


def table(frame: pd.DataFrame) -> pd.DataFrame:
    """Return coverage, how often the value lies on either side, and widths."""
    found = (
        frame.groupby(["model", "noise", "bound"], sort=False)
        .agg(
            below=("below", "mean"),
            above=("above", "mean"),
            width=("width", "mean"),
            true=("true", "mean"),
            seeds=("seed", "nunique"),
        )
        .reset_index()
    )
    found["coverage"] = 1.0 - found["below"] - found["above"]
    found["error"] = np.sqrt(found["coverage"] * (1.0 - found["coverage"]) / found["seeds"])
    return found
