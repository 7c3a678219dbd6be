"""Bounds on rates under exposures: certificates, and coverage of intervals of coefficients.

Exposure depends on S, so that a bound on expected counts would be another. Totals are
held at those observed, in samples and in the population. ``python -m simulations.rates``
prints the figures: of 150 samples of 2000 rows, 5 % exceed a certificate of 95 %, and
intervals of 95 % hold coefficients in 93 to 99 %.
"""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from fairridge import FairRidgeRegressor
from fairridge._typing import Floats

BOUND, LEVEL = 0.05, 0.95
MANY = 400_000


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
    model = model_of().fit(Z, y, offset=np.log(exposure))
    return Z, y, exposure, np.append(model.intercept_, model.coef_)


def sample(seed: int, *, n: int = 2000, many: int = MANY) -> dict[str, Any]:
    """Draw one sample; say whether its certificate and its intervals hold in the population."""
    Z, y, exposure = draw(n, np.random.default_rng([seed, n]))
    everyone, _, exposures, truth = population(many)
    offset = np.log(exposure)
    certified = model_of(confidence=LEVEL).fit(Z, y, offset=offset)
    granted = certified.certificate_ is not None and certified.certificate_.granted
    reached = share(certified.predict(everyone), everyone[:, 0], exposures)
    plain = model_of().fit(Z, y, offset=offset)
    ends = plain.inference(Z, y, offset=offset).confidence_interval()
    inside = (ends[:, 0] <= truth) & (truth <= ends[:, 1])
    own = share(plain.predict(everyone), everyone[:, 0], exposures)
    return {
        "granted": granted,
        "exceeds": bool(granted and reached > BOUND),
        "plain exceeds": bool(own > BOUND),
        "covered": inside.tolist(),
        "total": float(plain.predict(Z, offset=offset).sum() / y.sum()),
    }


def summary(samples: int, **options: Any) -> pd.Series:
    """Return shares of samples; of each coefficient, the share of intervals that hold it."""
    found = pd.DataFrame([sample(seed, **options) for seed in range(samples)])
    covered = np.mean(found.pop("covered").tolist(), axis=0)
    names = ["covers intercept", "covers s", "covers x1", "covers x2"]
    return pd.concat([found.mean(), pd.Series(covered, names)])


if __name__ == "__main__":
    sys.stdout.write(f"{summary(150)}\n")
