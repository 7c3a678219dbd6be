"""Multiples of one unconstrained fit of scikit-learn, and how much code a small fit runs.

``python -m benchmarks ratios`` prints just these.
"""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
from sklearn.linear_model import LinearRegression, LogisticRegression
from threadpoolctl import threadpool_limits

import fairridge
from benchmarks.figures import Figure, Part, measured
from benchmarks.logistic import SENSITIVE, adult, unconstrained
from fairridge import FairRidgeClassifier, FairRidgeRegressor

PACKAGE = str(Path(fairridge.__file__).parent)
Case = Callable[[], object]


@cache
def small_data(n: int, columns: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return [S, X] with two sensitive columns, a number for each row, and a class."""
    rng = np.random.default_rng(11)
    Z = rng.standard_normal((n, columns))
    Z[:, 2:] += 0.3 * Z[:, :1]
    eta = Z @ rng.standard_normal(columns) / np.sqrt(columns)
    return Z, eta + rng.standard_normal(n), (eta + rng.logistic(size=n) > 0.0).astype(int)


def gaussian(Z: np.ndarray, y: np.ndarray, r: float) -> object:
    return FairRidgeRegressor(r, sensitive=[0, 1]).fit(Z, y)


def classes(Z: np.ndarray, y: np.ndarray, r: float, definition: str, q: int = 2) -> object:
    return FairRidgeClassifier(r, sensitive=list(range(q)), definition=definition).fit(Z, y)


def path(Z: np.ndarray, y: np.ndarray, q: int) -> object:
    model = FairRidgeClassifier(sensitive=list(range(q)))
    return model.path(Z, y, unfairness=np.linspace(0, 1, 51))


def of_numbers(n: int, columns: int) -> dict[str, Case]:
    Z, y, _ = small_data(n, columns)
    return {
        "scikit-learn LinearRegression": lambda: LinearRegression().fit(Z, y),
        "fairridge, gaussian, r = 0.05": partial(gaussian, Z, y, 0.05),
    }


def of_classes(n: int, columns: int) -> dict[str, Case]:
    Z, _, y = small_data(n, columns)
    free = LogisticRegression(C=np.inf, solver="newton-cholesky")
    return {
        "scikit-learn LogisticRegression(newton-cholesky)": lambda: free.fit(Z, y),
        "fairridge, logistic, r = 1": partial(classes, Z, y, 1.0, "statistical-parity"),
        "fairridge, logistic, r = 0.05": partial(classes, Z, y, 0.05, "statistical-parity"),
        "fairridge, mean parity, r = 0.05": partial(classes, Z, y, 0.05, "mean-parity"),
    }


def of_adult() -> dict[str, Case]:
    X, y, Z = adult()
    q = sum(X[name].nunique() - 1 for name in SENSITIVE)
    fits = {
        "fairridge, logistic, r = 0.05": "statistical-parity",
        "fairridge, mean parity, r = 0.05": "mean-parity",
    }
    return {
        "scikit-learn LogisticRegression(newton-cholesky)": unconstrained,
        **{name: partial(classes, Z, y, 0.05, kind, q) for name, kind in fits.items()},
        "fairridge, logistic, 51-point path": partial(path, Z, y, q),
    }


def code_run(case: Case) -> dict[str, str]:
    """Count calls of our own functions in a warm fit, and the files they are in."""
    case()
    files: Counter[str] = Counter()

    def count(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(PACKAGE):
            files[frame.f_code.co_filename] += 1

    sys.setprofile(count)
    try:
        case()
    finally:
        sys.setprofile(None)
    return {"calls": f"{files.total():,}", "files": str(len(files))}


def measure(quick: bool) -> Iterator[Figure]:
    budget = 0.1 if quick else 2.0
    with threadpool_limits(1):
        for cases in (of_numbers, of_classes):
            for n, columns in ((500, 20), (300, 5)):
                yield from _with_code(f"{n} × {columns}, one thread", cases(n, columns), budget)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ADULT has a level without events
        yield from measured("ADULT, encoded array", of_adult(), budget, _passes)


def _with_code(problem: str, cases: dict[str, Case], budget: float) -> Iterator[Figure]:
    ours = {name: code_run(case) for name, case in cases.items() if name.startswith("fairridge")}
    yield from measured(
        problem, cases, budget, lambda name, found: _passes(name, found) | ours.get(name, {})
    )


def _passes(name: str, result: Any) -> dict[str, str]:
    own = name.startswith("fairridge") and hasattr(result, "n_iter_")
    return {"passes": str(result.n_iter_)} if own else {}


PART = Part("Ratios to scikit-learn", "scikit-learn", measure)
