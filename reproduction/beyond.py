"""What sections 2.2 and 4 offer in a sentence: each extension fitted, and checked by a number."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.decomposition import PCA
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import DotProduct

from fairridge import FairRidgeClassifier, FairRidgeRegressor, FairRidgeSurvival
from fairridge.datasets import load_german_credit, load_health_insurance, load_rossi
from fairridge.fairness import StatisticalParity
from fairridge.inference import pool
from reproduction.examples import SENSITIVE, Example, decorrelated, sample_example
from reproduction.settings import Floats, Settings

BOUNDS = (0.0, 0.01, 0.05, 0.2)
CASES = (
    "principal components", "Gaussian process", "Poisson", "Cox", "elastic net, Binomial",
    "elastic net, Poisson", "Nagelkerke", "Tjur", "intervals", "meta-analysis",
)  # fmt: skip
BOUNDED = CASES[2:8]
# The fair model of so many rows stands for that of the population.
MANY = 200
PARTIES = 4


def beyond_part(case: str, run: int, settings: Settings) -> pd.DataFrame:
    """Check one extension: rows with a quantity and its value."""
    if case in BOUNDED:
        return _bounded(case)
    sample = sample_example(settings, run)
    checks = {
        "principal components": _components,
        "Gaussian process": _process,
        "intervals": _coverage,
        "meta-analysis": _pooled,
    }
    return pd.DataFrame(list(checks[case](sample, settings).items()), columns=["quantity", "value"])


def _bounded(case: str) -> pd.DataFrame:
    """How far models exceed their bounds on data that ship with the library."""
    net: Any = {"penalty": "elastic-net"}
    models: dict[str, tuple[Any, Any]] = {
        "Poisson": (FairRidgeRegressor(family="poisson"), load_health_insurance),
        "Cox": (FairRidgeSurvival(), load_rossi),
        "elastic net, Binomial": (FairRidgeClassifier(**net), load_german_credit),
        "elastic net, Poisson": (
            FairRidgeRegressor(family="poisson", **net),
            load_health_insurance,
        ),
        "Nagelkerke": (
            FairRidgeClassifier(definition=StatisticalParity(measure="nagelkerke")),
            load_german_credit,
        ),
        "Tjur": (
            FairRidgeClassifier(definition=StatisticalParity(measure="tjur")),
            load_german_credit,
        ),
    }
    model, loader = models[case]
    data = loader()
    path = model.set_params(sensitive=data.sensitive).path(data.X, data.y, unfairness=BOUNDS)
    excess = np.maximum(np.asarray(path.achieved) - np.asarray(BOUNDS), 0.0)
    active = [float(status != "inactive") for status in path.status]
    return pd.DataFrame({"quantity": "excess", "r": BOUNDS, "value": excess, "active": active})


def _components(sample: Example, settings: Settings) -> dict[str, float]:
    """S with one column twice, but for noise: its condition, and that of two components."""
    twice = sample.S[:, :1] + 1e-9 * sample.S[:, 1:2]
    S = np.column_stack([sample.S, twice])
    Z = np.column_stack([S, sample.X])
    model = FairRidgeRegressor(0.05, sensitive=[0, 1, 2, 3], sensitive_map=PCA(3))
    model.fit(Z, sample.y)
    return {
        "condition": float(np.linalg.cond(np.cov(S.T))),
        "of components": float(np.linalg.cond(np.cov(PCA(3).fit_transform(S).T))),
        "excess": max(0.0, model.unfairness_ - 0.05),
        "distance": _relative(model.predict(Z), _three(sample)),
    }


def _three(sample: Example) -> Floats:
    """Predictions with the three columns of S as they are, in the units of their components."""
    model = FairRidgeRegressor(0.05, sensitive=SENSITIVE, sensitive_map=PCA(3))
    fitted: Floats = model.fit(sample.Z, sample.y).predict(sample.Z)
    return fitted


def _process(sample: Example, settings: Settings) -> dict[str, float]:
    """FRRM with a ridge on β against a Gaussian process with a linear kernel.

    Columns as penalized, divided by the roots of λ(r) and λ₂, and noise of
    variance 1 in units of σ²; the mean of the response is known but for σ²/n.
    """
    model = FairRidgeRegressor(0.05, sensitive=SENSITIVE, predictor_penalty=10.0)
    mean, deviation = model.fit(sample.Z, sample.y).predict(sample.Z, return_std=True)
    S, X, y = sample.centered()
    U = decorrelated(X, S)
    columns = np.column_stack([
        S / S.std(axis=0) / np.sqrt(model.lambda_), U / U.std(axis=0) / np.sqrt(10.0)
    ])  # fmt: skip
    process = GaussianProcessRegressor(DotProduct(1e-9, "fixed"), alpha=1.0, optimizer=None)
    theirs, unit = process.fit(columns, y).predict(columns, return_std=True)
    variance = np.mean((sample.y - mean) ** 2)
    expected = np.sqrt(variance * (unit**2 + 1.0 / len(y)))
    return {
        "distance": _relative(mean, theirs),
        "of deviations": float(np.abs(deviation / expected - 1.0).max()),
    }


def _coverage(sample: Example, settings: Settings) -> dict[str, float]:
    """How many 95 % intervals of coefficients cover those of the fair model of many rows."""
    model = FairRidgeRegressor(0.05, sensitive=SENSITIVE)
    found = model.fit(sample.Z, sample.y).inference(sample.Z, sample.y)
    low, high = found.confidence_interval().T
    truth = _population(settings)
    return {
        "coefficients": float(len(truth)),
        "covered": float(((low < truth) & (truth < high)).sum()),
    }


def _population(settings: Settings) -> Floats:
    """Coefficients of the fair model of many samples together."""
    rows = [sample_example(settings, 1000 + k) for k in range(MANY)]
    Z, y = np.vstack([one.Z for one in rows]), np.concatenate([one.y for one in rows])
    model = FairRidgeRegressor(0.05, sensitive=SENSITIVE).fit(Z, y)
    return np.append(model.intercept_, model.coef_)


def _pooled(sample: Example, settings: Settings) -> dict[str, float]:
    """Models of four parties, combined, against the model of all rows, in standard errors."""
    model = FairRidgeRegressor(0.05, sensitive=SENSITIVE)
    parts = np.array_split(np.arange(len(sample.y)), PARTIES)
    found = pool(
        [model.fit(sample.Z[k], sample.y[k]).inference(sample.Z[k], sample.y[k]) for k in parts]
    )
    whole = model.fit(sample.Z, sample.y).inference(sample.Z, sample.y)
    return {
        "distance": float((np.abs(found.estimate - whole.estimate) / whole.standard_errors).max()),
        "errors": float((found.standard_errors / whole.standard_errors).mean()),
    }


def _relative(first: Floats, second: Floats) -> float:
    """The largest difference of two vectors without their means, relative to the second."""
    first, second = first - first.mean(), second - second.mean()
    return float(np.abs(first - second).max() / np.abs(second).max())
