"""The data and the bound of R fairml's recorded times."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.figures import Figure, Part, measured
from benchmarks.rivals import fairml
from fairridge import FairRidgeClassifier, FairRidgeRegressor, KomiyamaRegressor
from fairridge.datasets import DataUnavailableError, fetch_fairml

BOUNDS = np.linspace(0.0, 1.0, 51)


def measure(quick: bool) -> Iterator[Figure]:
    budget = 0.05 if quick else 0.5
    for name, seconds in fairml.FRRM.items():
        yield from _against(name, "FRRM, fit", _fit(FairRidgeRegressor), seconds, budget)
        theirs = fairml.NCLM[name]
        yield from _against(name, "NCLM, fit", _fit(KomiyamaRegressor), theirs, budget)
    for name, case, run, seconds in (
        ("communities.and.crime", "FRRM, 51 bounds", _path, fairml.PATH_COMMUNITIES),
        ("compas", "FRRM, individual fairness", _individual, fairml.INDIVIDUAL_COMPAS),
    ):
        yield from _against(name, case, run, seconds, budget)
    for case, run, seconds in (
        ("FGRRM, fit", _fit(FairRidgeClassifier), fairml.FGRRM_COMPAS),
        ("FGRRM, 51 bounds", _logistic_path, fairml.PATH_COMPAS),
    ):
        yield from _against("compas", case, run, seconds, budget, family="binomial")


def _against(
    name: str,
    case: str,
    run: Callable[[Any], object],
    theirs: float,
    budget: float,
    **task: Any,
) -> Iterator[Figure]:
    """Time one case, and say what fairml took where it ran."""
    case = f"fairridge, {case}"
    try:
        data = fetch_fairml(name, progress=False, **task)
    except DataUnavailableError:
        yield Figure(name, case, None, extra={"why": "fairml's data are not there"})
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for figure in measured(f"{name}, n = {len(data.X):,}", {case: lambda: run(data)}, budget):
            # No ratio: fairml ran on another machine.
            yield replace(figure, ratio=None, extra={"R fairml, CPU": f"{theirs:g} s"})


def _fit(kind: Callable[..., Any]) -> Callable[[Any], object]:
    return lambda data: kind(0.05, sensitive=data.sensitive).fit(data.X, data.y)


def _path(data: Any) -> object:
    return FairRidgeRegressor(sensitive=data.sensitive).path(data.X, data.y, unfairness=BOUNDS)


def _logistic_path(data: Any) -> object:
    return FairRidgeClassifier(sensitive=data.sensitive).path(data.X, data.y, unfairness=BOUNDS)


def _individual(data: Any) -> object:
    model = FairRidgeRegressor(0.05, sensitive=data.sensitive, definition="individual")
    return model.fit(data.X, data.y)


PART = Part("R fairml", "", measure)
