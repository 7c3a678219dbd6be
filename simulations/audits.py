"""How often audits' intervals of the worst of all groups hold the truth, in small groups."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from fairridge._typing import Floats
from fairridge.metrics.contrasts import (
    largest_difference,
    mean_limits,
    rate_difference_limits,
    rate_ratio_limits,
    smallest_ratio,
)
from fairridge.metrics.group_table import GroupTable
from fairridge.metrics.groups import Grouping
from fairridge.metrics.intervals import Estimate

TITLE = "Worst of all groups in audits"
LEVEL = 0.95
# Selection rates of the first and of the last group; those between are spaced evenly.
RATES = {"alike": (0.3, 0.3), "apart": (0.5, 0.1), "rare": (0.03, 0.03)}
SETTINGS: list[dict[str, Any]] = [
    {"rates": rates, "groups": groups, "rows": rows}
    for rates in RATES
    for groups in (2, 5)
    for rows in (15, 40)
]
REPEATS, QUICK = 100, 2
# Audits for every seed.
DRAWS = 10
MEASURES = ("ratio of rates", "difference of rates", "difference of means")


def sample(seed: int, *, rates: str, groups: int, rows: int) -> list[dict[str, Any]]:
    """Audit some samples of all groups."""
    rng = np.random.default_rng([seed, groups, rows, *map(ord, rates)])
    share = np.linspace(*RATES[rates], groups)
    return [
        {"measure": measure, "interval": found.low == found.low, "holds": _holds(found, truth)}
        for _ in range(DRAWS)
        for measure, found, truth in audited(share, rows, rng)
    ]


def audited(
    share: Floats, rows: int, rng: np.random.Generator
) -> list[tuple[str, Estimate, float]]:
    """Return what an audit says of the worst groups, and the truth; scores are exponential."""
    chosen = rng.random((len(share), rows)) < share[:, None]
    scores = rng.exponential(size=(len(share), rows)) * (0.5 + share[:, None])
    groups = Grouping("", ("",) * len(share), np.repeat(np.arange(len(share)), rows))
    table = GroupTable.of([groups], np.ones(chosen.size), chosen.ravel(), scores.ravel())
    of_rates, of_means = table.estimates(0, LEVEL), table.estimates(1, LEVEL)
    ratio = smallest_ratio(rate_ratio_limits, of_rates, LEVEL)
    difference = largest_difference(rate_difference_limits, [of_rates], LEVEL)
    of_scores = largest_difference(mean_limits, [of_means], LEVEL)
    return [
        (MEASURES[0], ratio, float(share.min() / share.max())),
        (MEASURES[1], difference, float(np.ptp(share))),
        (MEASURES[2], of_scores, float(np.ptp(share))),
    ]


def _holds(found: Estimate, truth: float) -> bool:
    return bool(found.low <= truth + 1e-12 and truth <= found.high + 1e-12)


def table(frame: pd.DataFrame) -> pd.DataFrame:
    """Return coverage among audits that have an interval, and the share of those without."""
    keys = ["rates", "groups", "rows", "measure"]
    groups = frame.groupby(keys, sort=False)
    found = groups.agg(interval=("interval", "mean"), audits=("seed", "size")).reset_index()
    held = frame[frame["interval"]].groupby(keys, sort=False)["holds"].mean().rename("coverage")
    found = found.merge(held.reset_index(), on=keys)
    count = found["audits"] * found["interval"]
    found["error"] = np.sqrt(found["coverage"] * (1.0 - found["coverage"]) / count)
    return found
