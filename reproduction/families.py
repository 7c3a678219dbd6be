"""Every family with every penalty and every definition of fairness (section 4)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Literal

import numpy as np
import pandas as pd

from fairridge import FairRidgeClassifier, FairRidgeRegressor, FairRidgeSurvival
from fairridge.datasets import load_german_credit, load_health_insurance, load_rossi
from fairridge.fairness import StatisticalParity
from reproduction.examples import SENSITIVE, sample_example
from reproduction.measures import active
from reproduction.settings import Settings

CASES = ("Gaussian", "Binomial", "Poisson", "Cox")
PENALTIES = ("ridge", "lasso", "elastic-net")
PARITY, OPPORTUNITY, INDIVIDUAL = "statistical parity", "equality of opportunity", "individual"
DEFINITIONS = {
    PARITY: "statistical-parity",
    OPPORTUNITY: "equality-of-opportunity",
    INDIVIDUAL: "individual",
}
# Pseudo-R² in place of the share of deviance; of binary responses.
MEASURES: tuple[Literal["nagelkerke", "tjur"], ...] = ("nagelkerke", "tjur")
# Where no bound is active: what the others are compared with.
UNBOUNDED = 1.0

Make = Callable[..., Any]


def families_part(case: str, run: int, settings: Settings) -> pd.DataFrame:
    """Fit all models of a family, for all bounds: what is bounded, and what a model explains."""
    make, Z, y, sensitive = _models(case, settings)
    r = np.array([*settings.bounds, UNBOUNDED])
    parts = []
    for penalty, name, definition in _products(case):
        model = make(penalty=penalty, definition=definition, sensitive=sensitive)
        path = model.path(Z, y, unfairness=r)
        found = {"achieved": path.achieved, "explained": path.score, "active": active(path)}
        found |= _moved(path)
        parts.append(pd.DataFrame({"penalty": penalty, "definition": name, "r": r, **found}))
    return pd.concat(parts)


def _moved(path: Any) -> dict[str, Any]:
    """Return the spread of Sα, how far β is from β without a bound, and how many α are zero."""
    basis = path._origin[-1].basis
    scatter = basis.sensitive.scatter() / basis.weight
    free = path.beta[-1]
    return {
        "spread": np.sqrt(np.einsum("ki,ij,kj->k", path.alpha, scatter, path.alpha)),
        "moved": np.linalg.norm(path.beta - free, axis=1) / np.linalg.norm(free),
        "dropped": (path.alpha == 0.0).sum(axis=1),
        "attributes": path.alpha.shape[1],
    }


def _models(case: str, settings: Settings) -> tuple[Make, Any, Any, Any]:
    """Return models of a family, and data that ship with the library or are drawn."""
    if case == "Gaussian":
        sample = sample_example(settings, 0)
        return FairRidgeRegressor, sample.Z, sample.y, SENSITIVE
    made: dict[str, tuple[Make, Any]] = {
        "Binomial": (FairRidgeClassifier, load_german_credit),
        "Poisson": (lambda **o: FairRidgeRegressor(family="poisson", **o), load_health_insurance),
        "Cox": (FairRidgeSurvival, load_rossi),
    }
    make, loader = made[case]
    data = loader()
    return make, data.X, data.y, data.sensitive


def _products(case: str) -> Iterator[tuple[str, str, Any]]:
    """Return penalties and definitions, with the names of the latter."""
    for penalty in PENALTIES:
        for name, definition in DEFINITIONS.items():
            yield penalty, name, definition
    if case == "Binomial":
        for measure in MEASURES:
            yield "ridge", measure, StatisticalParity(measure=measure)
