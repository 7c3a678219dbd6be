"""Sparse X of many columns: CPU seconds and peak memory, each case in a fresh process."""

from __future__ import annotations

import multiprocessing
import time
import warnings
from collections.abc import Callable, Iterator

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from benchmarks.figures import Figure, Part
from benchmarks.measure import peak_megabytes
from fairridge import FairRidgeClassifier, FairRidgeRegressor

Data = tuple[np.ndarray, sparse.csr_array, np.ndarray]
SIZES = ((100_000, 10_000), (1_000_000, 100_000))
NONZERO, SENSITIVE = 10, 5


def data(n: int, p: int) -> Data:
    """Return S, X and a response; as of words, some columns of X are in many rows, most in few."""
    rng = np.random.default_rng(7)
    S = rng.standard_normal((n, SENSITIVE))
    columns = (p * rng.random(NONZERO * n) ** 3).astype(np.int32)
    columns[: 2 * n : NONZERO] = (p * (S[: n // 5, 0] > 0.0)).astype(np.int32) // 3  # words of S
    counts = 1.0 + rng.poisson(0.5, NONZERO * n)
    X = sparse.csr_array((counts, columns, np.arange(0, NONZERO * n + 1, NONZERO)), (n, p))
    X.sum_duplicates()
    effects = 0.3 * rng.standard_normal(p)
    return S, X, X @ effects + S @ np.linspace(-1.0, 1.0, SENSITIVE) + rng.standard_normal(n)


def gaussian(S: np.ndarray, X: sparse.csr_array, y: np.ndarray) -> object:
    return FairRidgeRegressor(0.05, predictor_penalty=10.0).fit(X, y, sensitive_features=S)


def path(S: np.ndarray, X: sparse.csr_array, y: np.ndarray) -> object:
    return FairRidgeRegressor(predictor_penalty=10.0).path(X, y, sensitive_features=S)


def logistic(S: np.ndarray, X: sparse.csr_array, y: np.ndarray) -> object:
    return FairRidgeClassifier(0.05, predictor_penalty=10.0).fit(X, y > 0.0, sensitive_features=S)


def poisson(S: np.ndarray, X: sparse.csr_array, y: np.ndarray) -> object:
    counts = np.random.default_rng(8).poisson(np.exp(0.3 * y - 1.0))
    model = FairRidgeRegressor(0.05, family="poisson", predictor_penalty=10.0)
    return model.fit(X, counts, sensitive_features=S)


CASES: dict[str, Callable[..., object]] = {
    "gaussian fit, r = 0.05": gaussian,
    "gaussian path, 101 bounds": path,
    "logistic fit, r = 0.05": logistic,
    "Poisson fit, r = 0.05": poisson,
}


def measure(quick: bool) -> Iterator[Figure]:
    """CPU seconds of one thread, and peak memory with the data."""
    for n, p in SIZES[:1] if quick else SIZES:
        for name in CASES:
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                taken, peak = pool.apply(_measured, (name, n, p))
            extra = {"peak MB": f"{peak:.0f}"}
            yield Figure(f"{n:,} × {p:,}", f"fairridge, {name}", taken, None, extra)


def _measured(name: str, n: int, p: int) -> tuple[float, float]:
    S, X, y = data(n, p)
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")  # rare columns of the first call separate its responses
        CASES[name](S[:2000], X[:2000, :600], y[:2000])  # load what is loaded once
        start = time.process_time()
        CASES[name](S, X, y)
        return time.process_time() - start, peak_megabytes()


PART = Part("Sparse columns", "", measure)
