"""Generalized linear models: ADULT against scikit-learn and fairlearn, Cox and multinomial."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

from benchmarks.figures import Figure, Part, measured
from benchmarks.rivals import fairml, glum_glm, statsmodels_ols
from fairridge import FairRidgeClassifier, FairRidgeSurvival, ZafarClassifier
from fairridge.datasets import load_adult
from fairridge.estimators._training import read_training

SENSITIVE = ["sex", "race"]


@cache
def adult() -> tuple[Any, np.ndarray, np.ndarray]:
    """Return the frame, the response as 0/1 and the encoded columns all libraries get."""
    data = load_adult()
    X = data.X.apply(lambda c: c.cat.remove_unused_categories() if hasattr(c, "cat") else c)
    y = np.asarray(data.y.cat.codes if hasattr(data.y, "cat") else data.y)
    model = FairRidgeClassifier(sensitive=SENSITIVE)
    engine = read_training(model, X, y, None, None, None).engine
    return X, y, np.hstack(engine.dense_columns()[:2])


def fit() -> object:
    X, y, _ = adult()
    return FairRidgeClassifier(0.05, sensitive=SENSITIVE).fit(X, y)


def path() -> object:
    X, y, _ = adult()
    model = FairRidgeClassifier(sensitive=SENSITIVE)
    return model.path(X, y, unfairness=np.linspace(0, 1, 51))


def unconstrained() -> object:
    _, y, Z = adult()
    return LogisticRegression(C=np.inf, solver="newton-cholesky").fit(Z, y)


def covariances() -> object:
    X, y, _ = adult()
    return ZafarClassifier(0.01, sensitive=SENSITIVE, bound="covariance").fit(X, y)


def correlations() -> object:
    X, y, _ = adult()
    return ZafarClassifier(0.05, sensitive=SENSITIVE, bound="correlation").fit(X, y)


def reductions() -> object:
    from fairlearn.reductions import DemographicParity, ExponentiatedGradient

    X, y, Z = adult()
    model = ExponentiatedGradient(
        # The fastest of its solvers on these columns, and one that converges.
        LogisticRegression(solver="newton-cholesky"),
        DemographicParity(),
    )
    groups = X["sex"].astype(str) + X["race"].astype(str)
    return model.fit(Z, y, sensitive_features=groups)


def cox() -> object:
    rng = np.random.default_rng(0)
    S, X = rng.normal(size=(30_000, 2)), rng.normal(size=(30_000, 88))
    X += 0.3 * S[:, :1]
    time = rng.exponential(np.exp(-(X @ rng.normal(size=88) * 0.1 + S @ [0.3, -0.2])))
    censored = rng.exponential(2.0, size=30_000)
    y = np.column_stack([np.minimum(time, censored), time <= censored])
    return FairRidgeSurvival(0.05, sensitive=[0, 1]).fit(np.hstack([S, X]), y)


def multinomial() -> object:
    rng = np.random.default_rng(0)
    S, X = rng.normal(size=(2111, 2)), rng.normal(size=(2111, 20))
    X += 0.3 * S[:, :1]
    scores = X @ rng.normal(size=(20, 7)) * 0.7 + S @ rng.normal(size=(2, 7)) * 0.5
    y = (scores + rng.gumbel(size=(2111, 7))).argmax(1)
    return FairRidgeClassifier(0.05, sensitive=[0, 1]).fit(np.hstack([S, X]), y)


CASES: dict[str, Callable[[], object]] = {
    "scikit-learn LogisticRegression(newton-cholesky), unconstrained": unconstrained,
    "fairridge, fit, r = 0.05 (frame)": fit,
    "fairridge, 51-point path": path,
    "fairridge ZafarClassifier, covariances ≤ 0.01": covariances,
    "fairridge ZafarClassifier, correlations ≤ 0.05": correlations,
    "fairlearn ExponentiatedGradient, demographic parity": reductions,
    "statsmodels Logit, unconstrained": lambda: statsmodels_ols.logistic(adult()[2], adult()[1]),
    "glum, binomial, unconstrained": lambda: glum_glm.fit(adult()[2], adult()[1], "binomial"),
}
OTHERS = {"fairridge, fit, r = 0.05": cox}, {"fairridge, fit, r = 0.05": multinomial}
OTHER_PROBLEMS = "Cox, n = 30,000, p = 88, q = 2", "7 classes, n = 2,111, p = 20, q = 2"


def measure(quick: bool) -> Iterator[Figure]:
    budget = 0.1 if quick else 3.0
    cases = {k: v for k, v in CASES.items() if not (quick and v is reductions)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ADULT has a level without events, and all say so
        adult()
        yield from measured("ADULT, sex and race", cases, budget, _notes)
        for problem, case in zip(OTHER_PROBLEMS, OTHERS, strict=True):
            for figure in measured(problem, case, budget):
                yield replace(figure, ratio=None)


def _notes(name: str, result: Any) -> dict[str, str]:
    passes = getattr(result, "n_iter_", "") if name.startswith("fairridge") else ""
    fairml_too = {"R fairml, CPU": f"{fairml.FGRRM_ADULT} s"} if "fit, r" in name else {}
    return ({"passes": str(passes)} if passes else {}) | fairml_too


PART = Part("Logistic, Cox and multinomial models", "scikit-learn", measure)
