"""How often, and how soon, monitors raise an alarm."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.stats import ncx2

from fairridge import FairRidgeClassifier, FairRidgeRegressor, Monitor
from fairridge._typing import Floats
from simulations.certificates import held_out_odds
from simulations.populations import GAUSSIAN, SENSITIVE, draw, population_rows

TITLE = "Monitors"
BOUND, FALSE_ALARM = 0.05, 0.05
ROWS, BATCH = 12_000, 500
QUIET = 10_000
MANY = 300_000
SETTINGS: list[dict[str, Any]] = [
    *({"stream": "skewed", "reached": r} for r in (0.03, 0.05, 0.08, 0.12)),
    {"stream": "lognormal", "reached": 0.03, "rows": 40_000},
    *({"stream": "lognormal", "reached": r, "rows": 20_000} for r in (0.05, 0.12)),
    {"stream": "change", "reached": 0.12, "rows": QUIET + ROWS},
    {"stream": "opportunity", "reached": 0.03},
    {"stream": "controls", "reached": 0.03},
]
REPEATS, QUICK = 100, 2
WORDS = {
    "skewed": "skewed scores",
    "lognormal": "lognormal scores",
    "change": f"0.03 for {QUIET:,} rows, then",
    "opportunity": "mean opportunity",
    "controls": "given controls",
}


@cache
def model_of(reached: float, many: int) -> Any:
    """Return a model whose R² on S in the population is as asked for."""
    rows = population_rows("gaussian", many)
    bound = reached
    for _ in range(5):  # the population differs a little from its rows
        model = FairRidgeRegressor(bound, sensitive=SENSITIVE).fit(rows.Z, rows.y)
        bound *= reached / GAUSSIAN.share(model.coef_)
    return model


# ---------------------------------------------------------------------- other streams


@cache
def lognormal_gap(reached: float) -> float:
    """Return g for which R² of exp(z + gs) on s is as asked for, with z normal and s a coin."""

    def excess(gap: float) -> float:
        part = np.array([0.6, 0.4])
        means = np.exp(0.5 + gap * np.array([0.0, 1.0]))
        mean = float(part @ means)
        squares = float(part @ np.exp(2.0 + 2.0 * gap * np.array([0.0, 1.0])))
        return float(part @ (means - mean) ** 2) / (squares - mean**2) - reached

    return float(brentq(excess, 0.0, 1.5))


@cache
def identity() -> Any:
    """Return a model that predicts its second column."""
    Z = np.random.default_rng(0).normal(size=(1000, 2))
    return FairRidgeRegressor(1.0, sensitive=[0]).fit(Z, Z[:, 1])


def people(n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Draw [s, c, x] and classes: S goes with c, and both c and x with the class."""
    c = rng.normal(size=n)
    s = (rng.random(n) < 1.0 / (1.0 + np.exp(-1.5 * c))).astype(float)
    x = rng.normal(size=n) + 0.5 * s
    y = rng.random(n) < 1.0 / (1.0 + np.exp(0.5 - 0.8 * c - x))
    return np.column_stack([s, c, x]), y.astype(float)


@cache
def classifier(stream: str, reached: float, many: int) -> Any:
    """Return a model whose own bound on probabilities is met exactly in its many rows."""
    own = {
        "opportunity": {"definition": "mean-opportunity"},
        "controls": {"definition": "mean-parity", "controls": [1]},
    }[stream]
    model = FairRidgeClassifier(reached, sensitive=[0], **own)  # type: ignore[arg-type]
    return model.fit(*people(many, np.random.default_rng(4321)))


def batches(
    stream: str, reached: float, rows: int, many: int, rng: np.random.Generator
) -> tuple[Any, Iterator[dict[str, Any]]]:
    """Return a model, and what comes in one batch after the other."""
    if stream in ("opportunity", "controls"):
        Z, y = people(rows, rng)
        model = classifier(stream, reached, many)
    elif stream == "lognormal":
        s = (rng.random(rows) < 0.4).astype(float)
        Z = np.column_stack([s, np.exp(rng.normal(size=rows) + lognormal_gap(reached) * s)])
        y, model = None, identity()
    else:
        Z, y, model = draw("gaussian", rows, rng).Z, None, model_of(reached, many)
    starts = range(0, rows, BATCH)
    parts = ({"X": Z[k : k + BATCH], "y": None if y is None else y[k : k + BATCH]} for k in starts)
    return model, parts


# ---------------------------------------------------------------------- samples


def sample(
    seed: int, *, stream: str, reached: float, rows: int = ROWS, many: int = MANY
) -> list[dict[str, Any]]:
    """Watch one stream; skewed scores also with a test that is repeated at every look."""
    rng = np.random.default_rng([seed, round(1000 * reached), *map(ord, stream)])
    if stream == "change":
        return [_change(reached, rows, many, rng)]
    model, parts = batches(stream, reached, rows, many, rng)
    monitor = Monitor(model, BOUND, FALSE_ALARM, shuffle=False)
    first: dict[str, float] = {"monitor": np.nan}
    if stream == "skewed":
        first["repeated test"] = np.nan
    seen: list[Floats] = []
    for part in parts:
        seen.append(part["X"])
        n = BATCH * len(seen)
        if np.isnan(first["monitor"]) and monitor.update(**part).alarm:
            first["monitor"] = n
        if np.isnan(first.get("repeated test", 0.0)) and exceeds(model, np.vstack(seen)):
            first["repeated test"] = n
        if all(map(np.isfinite, first.values())):
            break
    return [
        {"way": way, "alarm": bool(np.isfinite(when)), "rows": when} for way, when in first.items()
    ]


def _change(reached: float, rows: int, many: int, rng: np.random.Generator) -> dict[str, Any]:
    """Watch a stream under the bound, until another model takes over, which is not."""
    Z = draw("gaussian", rows, rng).Z
    quiet, after = model_of(0.03, many), model_of(reached, many)
    # One score for both: a column that the watched model predicts as it is.
    scores = np.append(quiet.predict(Z[:QUIET]), after.predict(Z[QUIET:]))
    monitor = Monitor(_of_score(), BOUND, FALSE_ALARM, shuffle=False)
    stream = np.column_stack([Z[:, SENSITIVE], scores])
    before = monitor.update(stream[:QUIET]).alarm
    for k in range(QUIET, rows, BATCH):
        if before or monitor.update(stream[k : k + BATCH]).alarm:
            return {"way": "monitor", "alarm": True, "rows": 0 if before else k + BATCH - QUIET}
    return {"way": "monitor", "alarm": False, "rows": np.nan}


@cache
def _of_score() -> Any:
    """Return a model that predicts its fourth column, with S as in the population."""
    rows = draw("gaussian", 2000, np.random.default_rng(1))
    score = model_of(0.03, 50_000).predict(rows.Z)
    Z = np.column_stack([rows.Z[:, SENSITIVE], score])
    return FairRidgeRegressor(1.0, sensitive=SENSITIVE).fit(Z, score)


def exceeds(model: Any, Z: Any) -> bool:
    """Test once, at the level of the false alarm, whether R² on S exceeds the bound."""
    odds, c, q = held_out_odds("gaussian", model, Z)
    limit = BOUND / (1.0 - BOUND)
    return bool(ncx2.sf(odds / c, q, limit / c) <= FALSE_ALARM)


def table(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the share of streams with an alarm, and the median of rows before it."""
    groups = frame.groupby(["stream", "reached", "way"], sort=False)
    found = groups.agg(
        alarm=("alarm", "mean"), rows=("rows", "median"), seeds=("seed", "nunique")
    ).reset_index()
    found["error"] = np.sqrt(found["alarm"] * (1.0 - found["alarm"]) / found["seeds"])
    return found
