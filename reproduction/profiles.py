"""Coefficients over the bound, on the paper's examples (sections 3 and 4)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from fairridge import FairRidgeClassifier, FairRidgeRegressor, KomiyamaRegressor, ZafarClassifier
from fairridge.fairness.scatter_shares import sequential_share
from fairridge.metrics.dependence_shares import scatter_of
from reproduction.checks import pairwise_form
from reproduction.examples import (
    NAMES,
    SENSITIVE,
    Example,
    decorrelated,
    example_of,
)
from reproduction.settings import Floats, Settings

# Even from .02 on; denser near 0, where α grows as the root of r.
GRID = np.concatenate([[0.0, 0.0025, 0.005, 0.01, 0.015], np.linspace(0.02, 1.0, 50).round(2)])
FEW = np.array([0.0, 0.3, 0.8, 1.0])
# λ₂ = 10 in the objective as printed; and in glmnet's units, which fairml's option has.
PRINTED, FAIRML = "λ₂ = 10", "λ₂ = 10 in fairml's units"


def profiles_part(case: str, run: int, settings: Settings) -> pd.DataFrame:
    """Coefficients of NCLM, of FRRM, and of FRRM with a ridge on β."""
    sample = example_of(case, run, settings)
    unit = len(sample.y) / float(np.std(sample.y))  # of glmnet's λ, for gaussian models
    models = {
        "NCLM": KomiyamaRegressor(sensitive=SENSITIVE),
        "FRRM": FairRidgeRegressor(sensitive=SENSITIVE),
        f"FRRM, {PRINTED}": FairRidgeRegressor(sensitive=SENSITIVE, predictor_penalty=10.0),
        f"FRRM, {FAIRML}": FairRidgeRegressor(sensitive=SENSITIVE, predictor_penalty=10.0 * unit),
    }
    return _profiles(models, sample)


def logistic_profiles_part(case: str, run: int, settings: Settings) -> pd.DataFrame:
    """Coefficients of FGRRM, of its quasi-binomial variant, and of ZLRM."""
    sample = example_of(case, run, settings, classes=True)
    models = {
        "FGRRM": FairRidgeClassifier(sensitive=SENSITIVE),
        "ZLRM": ZafarClassifier(sensitive=SENSITIVE),
    }
    quasi = FairRidgeRegressor(sensitive=SENSITIVE, family="quasi-binomial")
    few = _profiles({"FGRRM, quasi-binomial": quasi}, sample, FEW)
    return pd.concat([_profiles(models, sample), few])


def _profiles(models: dict[str, Any], sample: Example, grid: Floats = GRID) -> pd.DataFrame:
    rows: list[pd.DataFrame] = []
    for name, model in models.items():
        path = model.path(sample.Z, sample.y, unfairness=grid)
        terms = dict(zip(NAMES, np.column_stack([path.alpha, path.beta]).T, strict=True))
        terms |= {"λ": path.lambda_, "achieved": path.achieved}
        rows += [
            pd.DataFrame({"model": name, "r": grid, "term": term, "value": values})
            for term, values in terms.items()
        ]
    return pd.concat(rows)


def definitions_part(case: str, run: int, settings: Settings) -> pd.DataFrame:
    """R²_EO, as printed and sequential, and D_IF, along the path of FRRM in R²_S."""
    sample = example_of(case, run, settings)
    path = FairRidgeRegressor(sensitive=SENSITIVE).path(sample.Z, sample.y, unfairness=GRID)
    S, X, y = sample.centered()
    U = decorrelated(X, S)
    pairs = pairwise_form(S, y)
    free = path.alpha[-1]
    rows = []
    for r, share, alpha, beta in zip(GRID, path.achieved, path.alpha, path.beta, strict=True):
        fitted = S @ alpha + U @ beta
        values = {
            "statistical parity": float(share),
            "equality of opportunity": sequential_share(
                scatter_of(np.column_stack([S, fitted, y]), np.ones(len(y))), 3, 1
            ),
            "equality of opportunity, as printed": printed_opportunity(S, y, fitted),
            "individual fairness": float(alpha @ pairs @ alpha / (free @ pairs @ free)),
        }
        rows += [{"r": r, "definition": key, "value": value} for key, value in values.items()]
    return pd.DataFrame(rows)


def printed_opportunity(S: Floats, y: Floats, fitted: Floats) -> float:
    """R²_EO as printed: VAR(Sφ)/VAR(yψ + Sφ), coefficients of ŷ regressed on y and S jointly."""
    coefficients = np.linalg.lstsq(np.column_stack([y, S]), fitted, rcond=None)[0]
    of_sensitive = S @ coefficients[1:]
    return float(np.var(of_sensitive) / np.var(y * coefficients[0] + of_sensitive))
