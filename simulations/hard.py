"""How often certified bounds are exceeded where few people decide what S explains."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from fairridge import FairRidgeClassifier, FairRidgeRegressor
from fairridge._typing import Floats

TITLE = "Certified bounds of rare groups, heavy tails and weights"
SETTINGS: list[dict[str, Any]] = [
    {"population": "normal", "model": "gaussian", "n": 200},
    *({"population": "2 % group", "model": "gaussian", "n": n} for n in (200, 1000, 5000)),
    {"population": "t₅ S", "model": "gaussian", "n": 200},
    *({"population": "lognormal S", "model": "gaussian", "n": n} for n in (200, 1000)),
    {"population": "curved", "model": "gaussian", "n": 200},
    *({"population": "10 % group", "model": "weighted", "n": n} for n in (2000, 10_000)),
    {"population": "10 % group", "model": "gaussian", "n": 2000},
    {"population": "exponential S", "model": "weighted", "n": 2000},
    {"population": "normal", "model": "blind", "n": 200},
    {"population": "normal", "model": "blind binomial", "n": 400},
    {"population": "normal", "model": "mean parity", "n": 400},
    {"population": "2 % group", "model": "mean parity", "n": 1000},
    {"population": "lognormal S", "model": "mean parity", "n": 400},
    {"population": "3 % events", "model": "mean parity", "n": 2000},
]
REPEATS, QUICK = 2000, 4
BOUND = 0.05
# Gaussian models are cheap, and have two confidences.
CHEAP = ("gaussian", "weighted", "blind")
LEVELS = (0.9, 0.95)
# Rows that stand for the population of probabilities.
MANY = 200_000
ON_X = np.array([1.0, 0.5, 0.5])


@dataclass(frozen=True)
class Population:
    """S of some distribution, three predictors, two of which depend on it, and a response.

    Attributes
    ----------
    draw_sensitive : callable
        Draws S of n rows.
    variances : tuple of float
        Of the columns of S, which are independent.
    on_sensitive : ndarray of shape (q, 3)
        Coefficients of X on S.
    effects : ndarray of shape (q,)
        Of S on the response, beside those of X.
    curve : float
        Coefficient of the first X on the square of a standard normal first S.
    level : float
        Of the log odds of an event.
    seen : tuple of float
        Log odds that a person is in a sample with weights: level, and coefficients of S and of
        the first X.
    """

    draw_sensitive: Callable[[int, np.random.Generator], Floats]
    variances: tuple[float, ...]
    on_sensitive: Floats
    effects: Floats
    curve: float = 0.0
    level: float = 0.0
    seen: tuple[float, ...] = ()

    def draw(self, n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Draw [S, X], and the linear predictor."""
        S = self.draw_sensitive(n, rng)
        X = S @ self.on_sensitive + rng.normal(size=(n, 3))
        X[:, 0] += self.curve * (S[:, 0] ** 2 - 1.0)
        return np.hstack([S, X]), self.level + S @ self.effects + X @ ON_X

    def share(self, coefficients: Floats) -> float:
        """R² on S of a linear predictor of [S, X], exactly."""
        q = len(self.variances)
        own = coefficients[:q] + self.on_sensitive @ coefficients[q:]
        explained = float(own**2 @ self.variances)
        others = np.array([1.0 + 2.0 * self.curve**2, 1.0, 1.0])
        return explained / (explained + float(coefficients[q:] ** 2 @ others))


def _group(share: float) -> Callable[[int, np.random.Generator], Floats]:
    return lambda n, rng: np.column_stack([rng.random(n) < share, rng.normal(size=n)]).astype(float)


TWO = np.array([[0.4, 0.2, 0.0], [0.1, 0.3, 0.0]])
STRONG = np.array([[0.8, 0.2, 0.0], [0.1, 0.3, 0.0]])
HALF = np.array([0.5, 0.5])
POPULATIONS = {
    "normal": Population(lambda n, rng: rng.normal(size=(n, 2)), (1.0, 1.0), TWO, HALF),
    "2 % group": Population(_group(0.02), (0.0196, 1.0), STRONG, np.array([3.0, 0.1])),
    "10 % group": Population(
        _group(0.1), (0.09, 1.0), STRONG, np.array([1.5, 0.3]), seen=(-1.5, 0.0, 0.5, -1.0)
    ),
    "t₅ S": Population(lambda n, rng: rng.standard_t(5, (n, 2)), (5 / 3, 5 / 3), TWO, HALF),
    "lognormal S": Population(
        lambda n, rng: np.exp(rng.normal(size=(n, 1))), ((np.e - 1) * np.e,), TWO[:1], HALF[:1]
    ),
    "curved": Population(
        lambda n, rng: rng.normal(size=(n, 1)), (1.0,), TWO[:1], HALF[:1], curve=0.5
    ),
    "3 % events": Population(
        lambda n, rng: rng.normal(size=(n, 2)), (1.0, 1.0), TWO, HALF, level=-5.0
    ),
    "exponential S": Population(
        lambda n, rng: rng.exponential(size=(n, 1)),
        (1.0,),
        TWO[:1],
        HALF[:1],
        seen=(1.0, -1.5, 0.0),
    ),
}


@cache
def many_rows(population: str, many: int) -> tuple[Floats, Floats]:
    """Return rows that stand for a population, and the span of [1, S] in them."""
    known = POPULATIONS[population]
    Z, _ = known.draw(many, np.random.default_rng(987654321))
    S = Z[:, : len(known.variances)]
    return Z, np.linalg.qr(np.column_stack([np.ones(many), S]))[0]


def share_of_means(population: str, intercept: float, coefficients: Floats, many: int) -> float:
    """R² on S of the probabilities of a model in the population."""
    Z, span = many_rows(population, many)
    mu = 1.0 / (1.0 + np.exp(-intercept - Z @ coefficients))
    center = len(mu) * float(mu.mean()) ** 2
    return (float(np.sum((span.T @ mu) ** 2)) - center) / (float(mu @ mu) - center)


def selected(known: Population, n: int, rng: np.random.Generator) -> tuple[Floats, Floats, Floats]:
    """Draw rows that are not all as likely to be seen, and their inverse chances."""
    Z, eta = known.draw(8 * n, rng)
    level, *slopes = known.seen
    log_odds = level + Z[:, : len(slopes)] @ np.array(slopes)
    seen = np.clip(1.0 / (1.0 + np.exp(-log_odds)), 0.02, 0.95)
    kept = np.flatnonzero(rng.random(8 * n) < seen)[:n]
    return Z[kept], eta[kept], 1.0 / seen[kept]


def sample(
    seed: int, *, population: str, model: str, n: int, many: int = MANY
) -> list[dict[str, Any]]:
    """Draw one sample; say of each confidence whether the model exceeds the bound."""
    known = POPULATIONS[population]
    rng = np.random.default_rng([seed, n, list(POPULATIONS).index(population), model == "weighted"])
    weight: Floats | None = None
    if model == "weighted":
        Z, eta, weight = selected(known, n, rng)
    else:
        Z, eta = known.draw(n, rng)
    gaussian = model in CHEAP
    chance = 1.0 / (1.0 + np.exp(-eta))
    y = eta + rng.normal(size=n) if gaussian else rng.random(n) < chance
    q, out = len(known.variances), []
    for level in LEVELS if gaussian else LEVELS[:1]:
        row: dict[str, Any] = {"confidence": level, "granted": False, "exceeds": False}
        try:
            found = model_of(model, q, level).fit(Z, y, sample_weight=weight)
        except ValueError as error:  # a group of fewer than ten rows
            if "fewer than 10 rows" not in str(error):
                raise
            out.append(row | {"refused": True, "training_bound": np.nan})
            continue
        own = np.concatenate([np.zeros(q), found.coef_.ravel()]) if found.blind else found.coef_
        if model == "mean parity":
            intercept = float(np.ravel(found.intercept_)[0])
            reached = share_of_means(population, intercept, np.ravel(own), many)
        else:
            reached = known.share(np.ravel(own))
        granted = found.certificate_.granted
        row |= {"granted": granted, "exceeds": granted and reached > BOUND}
        out.append(row | {"refused": False, "training_bound": found.unfairness_})
    return out


def model_of(model: str, q: int, level: float) -> Any:
    options: dict[str, Any] = {"sensitive": list(range(q)), "confidence": level}
    if model == "mean parity":
        return FairRidgeClassifier(BOUND, definition="mean-parity", **options)
    if model == "blind binomial":
        return FairRidgeClassifier(BOUND, blind=True, **options)
    return FairRidgeRegressor(BOUND, blind=model == "blind", **options)


def table(frame: pd.DataFrame) -> pd.DataFrame:
    """Return violation rates, and shares of samples refused and not granted."""
    groups = frame.groupby(["population", "model", "n", "confidence"], sort=False)
    found = groups.agg(
        violated=("exceeds", "mean"),
        granted=("granted", "mean"),
        refused=("refused", "mean"),
        training_bound=("training_bound", "mean"),
        seeds=("seed", "nunique"),
    ).reset_index()
    found["error"] = np.sqrt(found["violated"] * (1.0 - found["violated"]) / found["seeds"])
    return found
