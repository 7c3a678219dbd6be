"""How often, and how soon, monitors raise an alarm."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import ncx2

from fairridge import FairRidgeRegressor, Monitor
from simulations.certificates import held_out_odds
from simulations.populations import GAUSSIAN, SENSITIVE, draw, population_rows

TITLE = "Monitors"
SETTINGS: list[dict[str, Any]] = [{"reached": r} for r in (0.03, 0.05, 0.08, 0.12)]
REPEATS, QUICK = 150, 2
BOUND, FALSE_ALARM = 0.05, 0.05
ROWS, BATCH = 12_000, 500
MANY = 300_000


@cache
def model_of(reached: float, many: int) -> Any:
    """Return a model whose R² on S in the population is as asked for."""
    rows = population_rows("gaussian", many)
    bound = reached
    for _ in range(5):  # the population differs a little from its rows
        model = FairRidgeRegressor(bound, sensitive=SENSITIVE).fit(rows.Z, rows.y)
        bound *= reached / GAUSSIAN.share(model.coef_)
    return model


def sample(
    seed: int, *, reached: float, rows: int = ROWS, many: int = MANY
) -> list[dict[str, Any]]:
    """Watch one stream with the monitor, and with a test that is repeated at every look."""
    rng = np.random.default_rng([seed, round(1000 * reached)])
    model = model_of(reached, many)
    monitor = Monitor(model, BOUND, FALSE_ALARM)
    stream = draw("gaussian", rows, rng).Z
    first: dict[str, float] = {"monitor": np.nan, "repeated test": np.nan}
    for seen in range(BATCH, rows + 1, BATCH):
        alarms = {
            "monitor": monitor.update(stream[seen - BATCH : seen]).alarm,
            "repeated test": exceeds(model, stream[:seen]),
        }
        for name, alarm in alarms.items():
            if alarm and np.isnan(first[name]):
                first[name] = seen
    return [
        {"way": way, "alarm": bool(np.isfinite(seen)), "rows": seen} for way, seen in first.items()
    ]


def exceeds(model: Any, Z: Any) -> bool:
    """Test once, at the level of the false alarm, whether R² on S exceeds the bound."""
    odds, c, q = held_out_odds("gaussian", model, Z)
    limit = BOUND / (1.0 - BOUND)
    return bool(ncx2.sf(odds / c, q, limit / c) <= FALSE_ALARM)


def table(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the share of streams with an alarm, and the median of rows before it."""
    groups = frame.groupby(["reached", "way"], sort=False)
    found = groups.agg(
        alarm=("alarm", "mean"), rows=("rows", "median"), seeds=("seed", "nunique")
    ).reset_index()
    found["error"] = np.sqrt(found["alarm"] * (1.0 - found["alarm"]) / found["seeds"])
    return found
