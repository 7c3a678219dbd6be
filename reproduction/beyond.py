"""What sections 2.2 and 4 offer in a sentence: each extension fitted, and checked by a number."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import DotProduct
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import LogisticRegression

from fairridge import FairRidgeClassifier, FairRidgeRegressor, KomiyamaRegressor
from fairridge.exceptions import BoundWarning
from fairridge.inference import pool
from reproduction.examples import (
    SENSITIVE,
    Example,
    decorrelated,
    logistic_example,
    sample_example,
)
from reproduction.settings import Floats, Settings

CASES = (
    "principal components",
    "kernels",
    "NCLM, extended",
    "Gaussian process",
    "standard software",
    "intervals",
    "tests",
    "meta-analysis",
)
# The fair model of so many rows stands for that of the population.
MANY = 200
PARTIES = 4
NOISE = 5
# Samples of later numbers are new rows.
AFTER = 2000
FREE = 1e4


def beyond_part(case: str, run: int, settings: Settings) -> pd.DataFrame:
    """Check one extension: rows with a quantity and its value."""
    sample = _noisy(settings, run) if case == "tests" else sample_example(settings, run)
    if case == "standard software":
        sample = logistic_example(settings, run)
    checks = {
        "principal components": _components,
        "kernels": lambda sample, settings: _kernels(
            sample, sample_example(settings, run + AFTER), run
        ),
        "NCLM, extended": lambda sample, settings: _extended(sample, run),
        "standard software": _software,
        "Gaussian process": _process,
        "intervals": _coverage,
        "tests": _tests,
        "meta-analysis": _pooled,
    }
    return pd.DataFrame(list(checks[case](sample, settings).items()), columns=["quantity", "value"])


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


def _kernels(sample: Example, new: Example, run: int) -> dict[str, float]:
    """FRRM in the space of kernel features: its bound, and its error for new rows."""
    features = RBFSampler(gamma=0.05, n_components=100, random_state=run)
    plain = FairRidgeRegressor(0.05, sensitive=SENSITIVE, predictor_penalty=1.0)
    maps = {"predictor_map": features, "sensitive_map": clone(features)}
    kernel = clone(plain).set_params(**maps)
    found = [model.fit(sample.Z, sample.y) for model in (kernel, plain)]
    errors = [float(np.mean((new.y - one.predict(new.Z)) ** 2)) ** 0.5 for one in found]
    return {
        "excess": max(0.0, kernel.unfairness_ - 0.05),
        "error": errors[0] / errors[1] - 1.0,
    }


def _extended(sample: Example, run: int) -> dict[str, float]:
    """NCLM with a ridge on all coefficients, and on kernel features: whether the bound is met."""
    features = RBFSampler(gamma=0.05, n_components=30, random_state=run)
    ridge = KomiyamaRegressor(0.05, sensitive=SENSITIVE, ridge=10.0)
    kernel = KomiyamaRegressor(0.05, sensitive=SENSITIVE, predictor_map=features, ridge=10.0)
    with warnings.catch_warnings():  # that the bound is on a regularized share only
        warnings.simplefilter("ignore", BoundWarning)
        fitted = [model.fit(sample.Z, sample.y) for model in (ridge, kernel)]
    names = ("ridge", "kernel")
    return {
        name: max(0.0, model.unfairness_ - 0.05) for name, model in zip(names, fitted, strict=True)
    }


def _software(sample: Example, settings: Settings) -> dict[str, float]:
    """FGRRM by scikit-learn, given λ: U is scaled so much that its penalty is next to none."""
    model = FairRidgeClassifier(0.05, sensitive=SENSITIVE).fit(sample.Z, sample.y)
    S, X, _ = sample.centered()
    columns = np.column_stack([S / S.std(axis=0), FREE * decorrelated(X, S)])
    # The deviance is twice the loss of scikit-learn, which has a half before the penalty.
    penalized = LogisticRegression(
        C=1.0 / model.lambda_, solver="newton-cholesky", tol=1e-12, max_iter=1000
    )
    theirs = penalized.fit(columns, sample.y).decision_function(columns)
    return {"distance": _relative(model.decision_function(sample.Z), theirs)}


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


def _noisy(settings: Settings, run: int) -> Example:
    """Draw Example 2 with columns of noise, which have no effect at any bound."""
    sample = logistic_example(settings, run)
    noise = settings.generator(run, purpose=5).normal(size=(len(sample.y), NOISE))
    return replace(sample, X=np.column_stack([sample.X, noise]))


def _tests(sample: Example, settings: Settings) -> dict[str, float]:
    """How many coefficients of a fair logistic model differ from zero, tested at 5 %."""
    model = FairRidgeClassifier(0.05, sensitive=SENSITIVE).fit(sample.Z, sample.y)
    found = model.inference(sample.Z, sample.y).to_frame()["p_value"].to_numpy()
    rejected = found[-sample.X.shape[1] :] < 0.05
    return {
        "of noise": float(NOISE),
        "noise rejected": float(rejected[-NOISE:].sum()),
        "of predictors": float(len(rejected) - NOISE),
        "predictors rejected": float(rejected[:-NOISE].sum()),
    }


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
