"""Mean parity on ADULT (sex, age, race): time against scikit-learn, and log-loss at each bound."""

from __future__ import annotations

import os
import warnings

import numpy as np

from benchmarks.logistic import adult, unconstrained
from benchmarks.measure import seconds
from fairridge import FairRidgeClassifier

SENSITIVE = ["sex", "age", "race"]
BOUNDS = (0.05, 0.01, 0.0)


def _model(r: float = 0.05, definition: str = "mean-parity") -> FairRidgeClassifier:
    return FairRidgeClassifier(r, sensitive=SENSITIVE, definition=definition)


def path(_: object) -> object:
    X, y, _ = adult()
    return _model().path(X, y, unfairness=np.linspace(0, 1, 51))


def mean_parity_table() -> list[str]:
    """Seconds, multiples of scikit-learn's unconstrained fit, and training log-loss."""
    table = ["| | seconds | × scikit-learn | passes | log-loss |", "|---|---:|---:|---:|---:|"]
    X, y, _ = adult()

    def add(name: str, taken: float, passes: object = "", loss: str = "") -> None:
        table.append(f"| {name} | {taken:.3f} | {taken / floor:.2f} | {passes} | {loss} |")
        print(table[-1], flush=True)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ADULT has a level without events, and all say so
        floor = seconds(unconstrained, None, budget=4.0)
        add("scikit-learn LogisticRegression, unconstrained, one fit", floor)
        for definition in ("mean-parity", "mean-opportunity"):
            for r in BOUNDS:
                model = _model(r, definition)
                fitted = model.fit(X, y)
                taken = seconds(lambda _, model=model: model.fit(X, y), None, budget=3.0)
                loss = f"{fitted.deviance_ / (2 * len(y)):.5f}"
                add(f"fairridge, {definition}, r = {r:g}, one fit", taken, fitted.n_iter_, loss)
        add("fairridge, mean-parity, 51-point path", seconds(path, None, budget=4.0))
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    return [*table, "", f"Load of the machine at the end: {load} on {os.cpu_count()} cores."]
