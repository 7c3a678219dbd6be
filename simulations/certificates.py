"""How often certified bounds are exceeded in the population, and what certificates cost."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import ncx2

from fairridge import FairRidgeClassifier, FairRidgeRegressor
from fairridge._typing import Floats
from simulations.populations import (
    GAUSSIAN,
    SENSITIVE,
    LogisticPopulation,
    Sample,
    draw,
    population_rows,
)

TITLE = "Certified bounds"
FAMILIES = ("gaussian", "binomial")
SETTINGS: list[dict[str, Any]] = [
    {"family": family, "n": n, "bound": bound}
    for family in FAMILIES
    for n in (200, 1000, 5000)
    for bound in (0.01, 0.05)
]
REPEATS, QUICK = 2000, 4
# Samples that are given to the ways which certificates are compared with, too; the price is theirs.
COMPARED = 300
LEVEL = 0.95
# Rows that stand for the binomial population: all samples share their error, and R² of 0.05 on
# S has one of 0.0007 there, a ninth of what it varies by between samples of 5000 rows.
MANY = 400_000
# Ways to a model: options of the estimator, and the share of the rows that it is given.
WAYS: dict[str, dict[str, Any]] = {
    "plain": {},
    "certified": {"confidence": LEVEL},
    "held out, in sequence": {"confidence": LEVEL, "certification": "held-out"},
    "split and test": {},
}


@cache
def many_rows(family: str, many: int) -> LogisticPopulation:
    return LogisticPopulation.of(population_rows(family, many))


def sample(
    seed: int, *, family: str, n: int, bound: float, many: int = MANY
) -> list[dict[str, Any]]:
    """Draw one sample; say of every way whether its model exceeds the bound in the population."""
    rng = np.random.default_rng([seed, n, FAMILIES.index(family), round(1000 * bound)])
    rows, out = draw(family, n, rng), []
    for way, options in WAYS.items():
        if seed >= COMPARED and way != "certified":
            continue
        if way == "split and test":
            model, granted = split_and_test(family, rows, bound)
        else:
            model, granted = fitted(family, bound, rows.Z, rows.y, **options)
        reached, loss = in_population(family, model, many)
        out.append(
            {
                "way": way,
                "granted": granted,
                "exceeds": granted and reached > bound,
                "reached": reached,
                "training_bound": model.unfairness_,
                "loss": loss,
            }
        )
    return out


def model_of(family: str, bound: float, **options: Any) -> Any:
    if family == "gaussian":
        return FairRidgeRegressor(bound, sensitive=SENSITIVE, **options)
    return FairRidgeClassifier(bound, sensitive=SENSITIVE, definition="mean-parity", **options)


def fitted(family: str, bound: float, Z: Floats, y: Any, **options: Any) -> tuple[Any, bool]:
    """Return a model, and whether its bound is granted; fair and not granted if it is refused."""
    try:
        model = model_of(family, bound, **options).fit(Z, y)
    except ValueError as error:
        if "groups of fewer than" not in str(error):
            raise
        return model_of(family, 0.0).fit(Z, y), False
    return model, model.certificate_ is None or model.certificate_.granted


def split_and_test(family: str, rows: Sample, bound: float) -> tuple[Any, bool]:
    """Choose one candidate on half of the rows, and test it once on the other half.

    As in Seldonian algorithms (Thomas et al. 2019): the candidate is the one that is expected
    to pass, here the certified model of its half; the test is that of a noncentral χ².
    """
    half = len(rows.y) // 2
    model, _ = fitted(family, bound, rows.Z[:half], rows.y[:half], confidence=LEVEL)
    odds, c, q = held_out_odds(family, model, rows.Z[half:])
    return model, bool(ncx2.cdf(odds / c, q, bound / (1.0 - bound) / c) <= 1.0 - LEVEL)


def held_out_odds(family: str, model: Any, Z: Floats) -> tuple[float, float, int]:
    """Return ω̂ of a model on some rows, c there, and the number of sensitive columns."""
    f = model.predict(Z) if family == "gaussian" else model.predict_proba(Z)[:, 1]
    s = Z[:, SENSITIVE] - Z[:, SENSITIVE].mean(axis=0)
    h = s @ np.linalg.lstsq(s, f - f.mean(), rcond=None)[0]
    t = f - f.mean() - h
    odds = float(h @ h / (t @ t))
    moved = (h * h + 2.0 * h * t - odds * t * t) / np.mean(t * t)
    return odds, float(np.mean(moved**2)) / len(f) / (4.0 * odds), len(SENSITIVE)


def in_population(family: str, model: Any, many: int) -> tuple[float, float]:
    """Return R² on S and the loss of a model in the population."""
    if family == "gaussian":
        return GAUSSIAN.share(model.coef_), GAUSSIAN.loss(model.coef_)
    return many_rows(family, many).judged(float(model.intercept_[0]), model.coef_[0])


def table(frame: pd.DataFrame) -> pd.DataFrame:
    """Return violation rates, shares not granted, and the price beside the plain model."""
    plain = frame[frame["way"] == "plain"].set_index(["family", "n", "bound", "seed"])["loss"]
    keys = pd.MultiIndex.from_frame(frame[["family", "n", "bound", "seed"]])
    frame = frame.assign(price=frame["loss"].to_numpy() / plain.reindex(keys).to_numpy() - 1.0)
    groups = frame.groupby(["family", "n", "bound", "way"], sort=False)
    found = groups.agg(
        violated=("exceeds", "mean"),
        granted=("granted", "mean"),
        training_bound=("training_bound", "mean"),
        price=("price", "mean"),
        seeds=("seed", "nunique"),
    ).reset_index()
    found["error"] = np.sqrt(found["violated"] * (1.0 - found["violated"]) / found["seeds"])
    return found
