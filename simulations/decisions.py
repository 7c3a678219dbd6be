"""How often bounds that a rule chose break the rule in the population."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from fairridge import FairRidgeClassifier, choose_bound
from fairridge._typing import Floats
from fairridge.rules import AdverseImpact, OpportunityGap, Rule

TITLE = "Bounds from rules on decisions"
RULES: dict[str, Rule] = {
    "impact ratio ≥ 0.8": AdverseImpact(0.8, favorable="yes"),
    "opportunity gap ≤ 0.1": OpportunityGap(0.1, favorable="yes"),
}
SETTINGS: list[dict[str, Any]] = [
    *(
        {"rule": rule, "n": n, "held": held}
        for rule in RULES
        for n, held in ((1000, 1000), (2000, 4000))
    ),
    # A third group of 2 %, who are selected two fifths as often.
    {"rule": "impact ratio ≥ 0.8", "n": 1000, "held": 1000, "third": 0.02},
]
REPEATS, QUICK = 150, 2
BOUNDS = np.array([0.0, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.08, 0.12, 0.2, 1.0])
LEVEL = 0.9
MANY = 200_000
# Of the third group, relative to others.
SPREAD = 0.25
# By which log odds are lower if there is a third group.
LOWER = 0.2


def draw(n: int, rng: np.random.Generator, third: float = 0.0) -> tuple[pd.DataFrame, Any]:
    """Draw rows of two groups, and of a third one whose people differ little from each other.

    Their mean is that of all, below the threshold, and so are nearly all of their scores.
    """
    group = rng.random(n) < 0.35
    few = rng.random(n) < third if third else np.zeros(n, dtype=bool)
    x = np.column_stack(
        [
            0.4 * group + rng.normal(size=n),
            rng.normal(size=n),
            rng.exponential(size=n) - 0.3 * group,
        ]
    )
    x = np.where(few[:, None], SPREAD * x, x)
    eta = 0.5 * group + x @ [0.7, 0.5, -0.4] - (LOWER if third else 0.0)
    frame = pd.DataFrame(x, columns=["x1", "x2", "x3"])
    frame.insert(0, "group", np.where(few, "c", np.where(group, "a", "b")))
    return frame, np.where(rng.random(n) < 1.0 / (1.0 + np.exp(-eta)), "yes", "no")


@cache
def many_rows(many: int, third: float) -> tuple[pd.DataFrame, Any]:
    return draw(many, np.random.default_rng(123456789), third)


def sample(
    seed: int, *, rule: str, n: int, held: int, third: float = 0.0, many: int = MANY
) -> list[dict[str, Any]]:
    """Choose a bound in sequence with tests, and by the held-out value alone."""
    rng = np.random.default_rng([seed, n, held, list(RULES).index(rule)])
    (X, y), (X_held, y_held) = draw(n, rng, third), draw(held, rng, third)
    model = FairRidgeClassifier(sensitive=["group"], definition="mean-parity", positive="yes")

    def chosen(untested: Any) -> tuple[Any, Any]:
        found = choose_bound(
            model,
            X,
            y,
            X_held,
            y_held,
            rule=RULES[rule],
            confidence=LEVEL,
            unfairness=BOUNDS.tolist(),
            untested=untested,
        )
        return found.model, found.unfairness

    path = model.path(X, y, unfairness=BOUNDS)
    models = [path.at(float(r)) for r in BOUNDS]
    met = [k for k, one in enumerate(models) if meets(rule, one, X_held, y_held)]
    found = {
        "tested in sequence": chosen("refuse"),
        **({"small groups ignored": chosen("ignore")} if third else {}),
        "held-out value alone": (models[met[-1]], BOUNDS[met[-1]]) if met else (None, None),
    }
    return [
        {
            "way": way,
            "granted": one is not None,
            "breaks": one is not None and not meets(rule, one, *many_rows(many, third)),
            "chosen": np.nan if bound is None else float(bound),
            "third": third,
        }
        for way, (one, bound) in found.items()
    ]


def meets(rule: str, model: Any, X: pd.DataFrame, y: Any) -> bool:
    """Say whether decisions meet a rule on some rows, by the rates themselves."""
    selected: Floats = (model.predict_proba(X)[:, 1] >= 0.5).astype(float)
    asked = np.ones(len(y), dtype=bool) if rule.startswith("impact") else y == "yes"
    group = X["group"].to_numpy()
    rates = [selected[asked & (group == name)].mean() for name in np.unique(group)]
    if rule.startswith("impact"):
        return bool(min(rates) >= 0.8 * max(rates))
    return bool(np.ptp(rates) <= 0.1)


def table(frame: pd.DataFrame) -> pd.DataFrame:
    """Return how often the rule is broken, and how often no bound was found."""
    groups = frame.groupby(["rule", "third", "n", "held", "way"], sort=False)
    found = groups.agg(
        broken=("breaks", "mean"),
        granted=("granted", "mean"),
        chosen=("chosen", "mean"),
        seeds=("seed", "nunique"),
    ).reset_index()
    found["error"] = np.sqrt(found["broken"] * (1.0 - found["broken"]) / found["seeds"])
    return found
