"""Mean parity on ADULT (sex, age, race): time against scikit-learn, and log-loss at each bound."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks.figures import Figure, Part, measured
from benchmarks.logistic import adult, unconstrained
from fairridge import FairRidgeClassifier

SENSITIVE = ["sex", "age", "race"]
BOUNDS = (0.05, 0.01, 0.0)


def fit(r: float, definition: str) -> Any:
    X, y, _ = adult()
    return FairRidgeClassifier(r, sensitive=SENSITIVE, definition=definition).fit(X, y)


def path() -> Any:
    X, y, _ = adult()
    model = FairRidgeClassifier(sensitive=SENSITIVE, definition="mean-parity")
    return model.path(X, y, unfairness=np.linspace(0, 1, 51))


def measure(quick: bool) -> Iterator[Figure]:
    cases: dict[str, Callable[[], Any]] = {"scikit-learn LogisticRegression": unconstrained}
    for definition in ("mean-parity",) if quick else ("mean-parity", "mean-opportunity"):
        for r in BOUNDS:
            cases[f"fairridge, {definition}, fit, r = {r:g}"] = partial(fit, r, definition)
    cases["fairridge, mean-parity, 51-point path"] = path
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ADULT has a level without events, and all say so
        adult()
        yield from measured("ADULT, sex, age and race", cases, 0.1 if quick else 2.0, _notes)


def _notes(name: str, result: Any) -> dict[str, str]:
    if not isinstance(result, FairRidgeClassifier):
        return {}
    loss = result.deviance_ / (2 * result.n_rows_)
    return {"passes": str(result.n_iter_), "log-loss": f"{loss:.4f}"}


PART = Part("Bounds on predicted means", "scikit-learn", measure)
