"""Generalized linear models: ADULT against scikit-learn and fairlearn, Cox and multinomial."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

from benchmarks.measure import seconds
from fairridge import FairRidgeClassifier, FairRidgeSurvival, ZafarClassifier
from fairridge.datasets import load_adult
from fairridge.estimators._training import read_training

SENSITIVE = ["sex", "race"]
# CPU seconds of R fairml 0.8 on the same task, from its own timings.
FAIRML = {"fit": "36.7 s", "cox": "3.7 s (flchain, 1962 rows)"}


@cache
def adult() -> tuple[Any, np.ndarray, np.ndarray]:
    """Return the frame, the response as 0/1 and the encoded columns all libraries get."""
    data = load_adult()
    X = data.X.apply(lambda c: c.cat.remove_unused_categories() if hasattr(c, "cat") else c)
    y = np.asarray(data.y.cat.codes if hasattr(data.y, "cat") else data.y)
    model = FairRidgeClassifier(sensitive=SENSITIVE)
    engine = read_training(model, X, y, None, None, None).engine
    return X, y, np.hstack(engine.dense_columns()[:2])


def fit(_: object) -> object:
    X, y, _ = adult()
    return FairRidgeClassifier(0.05, sensitive=SENSITIVE).fit(X, y)


def path(_: object) -> object:
    X, y, _ = adult()
    model = FairRidgeClassifier(sensitive=SENSITIVE)
    return model.path(X, y, unfairness=np.linspace(0, 1, 51))


def unconstrained(_: object) -> object:
    _, y, Z = adult()
    return LogisticRegression(C=np.inf, solver="newton-cholesky").fit(Z, y)


def covariances(_: object) -> object:
    X, y, _ = adult()
    return ZafarClassifier(0.01, sensitive=SENSITIVE, bound="covariance").fit(X, y)


def correlations(_: object) -> object:
    X, y, _ = adult()
    return ZafarClassifier(0.05, sensitive=SENSITIVE, bound="correlation").fit(X, y)


def reductions(_: object) -> object:
    from fairlearn.reductions import DemographicParity, ExponentiatedGradient

    X, y, Z = adult()
    model = ExponentiatedGradient(
        # The fastest of its solvers on these columns, and one that converges.
        LogisticRegression(solver="newton-cholesky"),
        DemographicParity(),
    )
    groups = X["sex"].astype(str) + X["race"].astype(str)
    return model.fit(Z, y, sensitive_features=groups)


def cox(_: object) -> object:
    rng = np.random.default_rng(0)
    S, X = rng.normal(size=(30_000, 2)), rng.normal(size=(30_000, 88))
    X += 0.3 * S[:, :1]
    time = rng.exponential(np.exp(-(X @ rng.normal(size=88) * 0.1 + S @ [0.3, -0.2])))
    censored = rng.exponential(2.0, size=30_000)
    y = np.column_stack([np.minimum(time, censored), time <= censored])
    return FairRidgeSurvival(0.05, sensitive=[0, 1]).fit(np.hstack([S, X]), y)


def multinomial(_: object) -> object:
    rng = np.random.default_rng(0)
    S, X = rng.normal(size=(2111, 2)), rng.normal(size=(2111, 20))
    X += 0.3 * S[:, :1]
    scores = X @ rng.normal(size=(20, 7)) * 0.7 + S @ rng.normal(size=(2, 7)) * 0.5
    y = (scores + rng.gumbel(size=(2111, 7))).argmax(1)
    return FairRidgeClassifier(0.05, sensitive=[0, 1]).fit(np.hstack([S, X]), y)


CASES: dict[str, tuple[Callable[[object], object], str]] = {
    "scikit-learn LogisticRegression, unconstrained, one fit": (unconstrained, ""),
    "fairridge, r = 0.05, one fit": (fit, FAIRML["fit"]),
    "fairridge, 51-point path": (path, ""),
    "fairridge ZafarClassifier, covariances ≤ 0.01, one fit": (covariances, ""),
    "fairridge ZafarClassifier, correlations ≤ 0.05, one fit": (correlations, ""),
    "fairlearn ExponentiatedGradient, defaults, one fit": (reductions, ""),
    "fairridge Cox, n = 30,000, p = 90, r = 0.05": (cox, FAIRML["cox"]),
    "fairridge multinomial, n = 2,111, p = 22, K = 7, r = 0.05": (multinomial, ""),
}


def logistic_table() -> list[str]:
    """Seconds, the multiple of scikit-learn's unconstrained fit, and fairml's CPU seconds."""
    table = ["| | seconds | × scikit-learn | R fairml, CPU |", "|---|---:|---:|---:|"]
    floor = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ADULT has a level without events, and all say so
        for name, (case, fairml) in CASES.items():
            taken = seconds(case, None, budget=4.0)
            floor = floor or taken
            on_adult = case not in (cox, multinomial)
            ratio = f"{taken / floor:.2f}" if on_adult else ""
            table.append(f"| {name} | {taken:.3f} | {ratio} | {fairml} |")
            print(table[-1], flush=True)
    return table
