"""More columns than rows: CPU seconds and peak memory, each case in a fresh process."""

from __future__ import annotations

import multiprocessing
import time
import warnings
from collections.abc import Callable, Iterator

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.figures import Figure, Part
from benchmarks.measure import peak_megabytes
from fairridge import FairRidgeClassifier, FairRidgeRegressor, cross_validate

Data = tuple[np.ndarray, np.ndarray, np.ndarray]
SIZES = ((40, 5_000), (400, 5_000), (2_000, 50_000))
LARGE = 10_000_000


def data(n: int, p: int) -> Data:
    """Return S, X and a response that needs some of X, and S more than fair."""
    rng = np.random.default_rng(7)
    S, X = rng.integers(0, 2, n).astype(np.float64), rng.standard_normal((n, p))
    X[:, 0] += S
    return S, X, X[:, :20] @ rng.standard_normal(20) + 4.0 * S + rng.standard_normal(n)


def gaussian(S: np.ndarray, X: np.ndarray, y: np.ndarray, penalty: float = 100.0) -> object:
    model = FairRidgeRegressor(0.05, predictor_penalty=penalty)
    return model.fit(X, y, sensitive_features=S)


def interpolating(S: np.ndarray, X: np.ndarray, y: np.ndarray) -> object:
    return gaussian(S, X, y, penalty=0.0)


def path(S: np.ndarray, X: np.ndarray, y: np.ndarray) -> object:
    return FairRidgeRegressor(predictor_penalty=100.0).path(X, y, sensitive_features=S)


def logistic(S: np.ndarray, X: np.ndarray, y: np.ndarray) -> object:
    model = FairRidgeClassifier(0.005, predictor_penalty=100.0)
    return model.fit(X, y > 0.0, sensitive_features=S)


def validation(S: np.ndarray, X: np.ndarray, y: np.ndarray) -> object:
    model = FairRidgeRegressor(predictor_penalty=100.0)
    return cross_validate(model, X, y, sensitive_features=S, cv=5, random_state=0)


CASES: dict[str, Callable[..., object]] = {
    "gaussian fit, r = 0.05": gaussian,
    "gaussian fit, r = 0.05, no predictor_penalty": interpolating,
    "gaussian path, 101 bounds": path,
    "logistic fit, r = 0.005": logistic,
    "gaussian, 5-fold cross-validation, 7 bounds": validation,
}


def measure(quick: bool) -> Iterator[Figure]:
    """CPU seconds of one thread, and peak memory with the data."""
    for n, p in SIZES[:1] if quick else SIZES:
        # The largest takes minutes for all cases; these two bound the others from below.
        few = (gaussian, logistic) if n * p > LARGE else tuple(CASES.values())
        for name in [name for name, case in CASES.items() if case in few]:
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                taken, peak = pool.apply(_measured, (name, n, p))
            extra = {"MB of X": f"{8e-6 * n * p:.0f}", "peak MB": f"{peak:.0f}"}
            yield Figure(f"{n:,} × {p:,}", f"fairridge, {name}", taken, None, extra)


def _measured(name: str, n: int, p: int) -> tuple[float, float]:
    S, X, y = data(n, p)
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")  # without a penalty all columns are collinear
        gaussian(S[:9], X[:9, :12], y[:9])  # load what is loaded once
        start = time.process_time()
        CASES[name](S, X, y)
        return time.process_time() - start, peak_megabytes()


PART = Part("More columns than rows", "", measure)
