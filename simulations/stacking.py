"""How often certified stacked models exceed their bound in the population, by how they are made."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtri
from scipy.stats.qmc import Sobol
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from fairridge._typing import Floats
from fairridge.stacking import FairStackingClassifier
from simulations.populations import share

TITLE = "Certified boosted trees"
SETTINGS: list[dict[str, Any]] = [{"n": 3000, "blind": blind} for blind in (False, True)]
REPEATS, QUICK = 400, 2
BOUND, LEVEL = 0.05, 0.95
# Rows that stand for the population: points of a Sobol sequence, so that few are close to it.
MANY = 2**14
SMALL_TREES: dict[str, Any] = {"max_iter": 25, "max_leaf_nodes": 8, "early_stopping": False}
LEARNER = HistGradientBoostingClassifier(**SMALL_TREES)
PROXY = HistGradientBoostingRegressor(**SMALL_TREES)


def draw(n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Draw [S, X] and a response."""
    Z, eta = people(rng.random((n, 5)))
    return Z, (rng.random(n) < 1.0 / (1.0 + np.exp(-1.5 * eta))).astype(float)


def people(uniform: Floats) -> tuple[Floats, Floats]:
    """Return [S, X], S binary, and an η that bends and interacts, from points of a cube."""
    s = (uniform[:, 0] < 0.4).astype(float)
    X = ndtri(uniform[:, 1:])
    X[:, 0] += 0.9 * s
    X[:, 1] += 0.5 * s * (X[:, 2] > 0)
    eta = np.abs(X[:, 0]) + X[:, 1] * X[:, 2] - np.maximum(X[:, 3], 0.0) + 0.8 * s - 0.5
    return np.column_stack([s, X]), eta


@cache
def many_rows(many: int) -> Floats:
    return people(Sobol(5, rng=np.random.default_rng(987654321)).random(many))[0]


def sample(seed: int, *, n: int, blind: bool, many: int = MANY) -> list[dict[str, Any]]:
    """Draw one sample; say of every way whether its model exceeds the bound in the population."""
    rng = np.random.default_rng([seed, n, blind])
    Z, y = draw(n, rng)
    models = dict(made(Z, y, blind, rng))
    new = many_rows(many)
    out = []
    for way, (model, granted) in models.items():
        reached = share(model.predict_proba(new)[:, 1], new[:, :1])
        out.append(
            {"way": way, "granted": granted, "exceeds": granted and reached > BOUND}
            | {"reached": reached, "training_bound": model.unfairness_}
        )
    return out


def made(Z: Floats, y: Floats, blind: bool, rng: np.random.Generator) -> Any:
    """Fit a model in every way; yield its name, the model, and whether it was granted."""
    options: dict[str, Any] = {
        "sensitive": [0], "blind": blind, "proxy": PROXY,
        "random_state": int(rng.integers(2**31)),
    }  # fmt: skip

    def certified(learner: Any, **way: Any) -> tuple[Any, Any]:
        model: Any = FairStackingClassifier(learner, BOUND, confidence=LEVEL, **options, **way)
        return model.fit(Z, y), model.certificate_.granted

    if not blind:  # proxies are learned on the rows of the layer, so that nothing is fixed
        other = clone(LEARNER).fit(*draw(len(y), rng))
        yield "learners of other rows", certified(other, prefit=True)
    yield "split", certified(LEARNER)
    refit, granted = certified(LEARNER, certification="out-of-fold")
    yield "out-of-fold", (refit, granted)
    # It is refused a certificate: the same layer, by hand.
    bound = refit.certificate_.training_bound if granted else 0.0
    average = FairStackingClassifier(LEARNER, bound, deploy="average", **options).fit(Z, y)
    yield "average", (average, granted)
    if not blind:
        own = clone(LEARNER).fit(Z, y)
        yield "learners of the same rows, called prefit", certified(own, prefit=True)


def table(frame: pd.DataFrame) -> pd.DataFrame:
    """Return violation rates, shares not granted, and what was reached."""
    groups = frame.groupby(["blind", "n", "way"], sort=False)
    found = groups.agg(
        violated=("exceeds", "mean"),
        granted=("granted", "mean"),
        training_bound=("training_bound", "mean"),
        reached=("reached", "mean"),
        seeds=("seed", "nunique"),
    ).reset_index()
    found["error"] = np.sqrt(found["violated"] * (1.0 - found["violated"]) / found["seeds"])
    return found
