"""The paper's protocols: runs of 10-fold cross-validation at 7 bounds, for each of its models."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from typing import Any

from benchmarks.figures import Figure, Part
from benchmarks.rivals import fairml
from fairridge import (
    FairRidgeClassifier,
    FairRidgeRegressor,
    KomiyamaRegressor,
    ZafarClassifier,
    ZafarRegressor,
    cross_validate,
)
from fairridge.datasets import DataUnavailableError, fetch_fairml

# The paper makes 50 runs.
RUNS, LOGISTIC_RUNS = 10, 1
LINEAR = {"NCLM": KomiyamaRegressor, "FRRM": FairRidgeRegressor, "ZLM": ZafarRegressor}
LOGISTIC = {"FGRRM": FairRidgeClassifier, "ZLRM": ZafarClassifier}
CLASSES = ("compas", "german.credit", "adult")


def measure(quick: bool) -> Iterator[Figure]:
    runs = 1 if quick else RUNS
    linear = [(name, "gaussian", LINEAR, runs) for name in fairml.TEN_FOLDS]
    classes = [(name, "binomial", LOGISTIC, LOGISTIC_RUNS) for name in CLASSES]
    for name, family, models, repeats in [*linear, *classes[: 1 if quick else None]]:
        try:
            data = fetch_fairml(name, family=family, progress=False)
        except DataUnavailableError:
            why = "fairml's data are not there"
            yield Figure(name, f"{repeats} × 10 folds", None, extra={"why": why})
            continue
        for case, model in models.items():
            yield _validated(name, case, model(sensitive=data.sensitive), data, repeats)


def _validated(name: str, case: str, model: Any, data: Any, repeats: int) -> Figure:
    wall, cpu = time.perf_counter(), time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cross_validate(model, data.X, data.y, repeats=repeats, random_state=0)
    extra = {"CPU": f"{time.process_time() - cpu:.2f} s"}
    if case == "FRRM":
        extra["R fairml, CPU"] = f"{fairml.TEN_FOLDS[name] * 7 * repeats:,.0f} s"
    problem = f"{name}, {len(data.X):,} rows, {repeats} × 10 folds × 7 bounds"
    return Figure(problem, f"fairridge, {case}", time.perf_counter() - wall, None, extra)


PART = Part("Cross-validation", "", measure)
