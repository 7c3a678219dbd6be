"""What it matters whether FRRM penalizes the coefficients of standardized or of raw S."""

from __future__ import annotations

import numpy as np

from fairridge import FairRidgeRegressor, KomiyamaRegressor
from fairridge.experiments.settings import Settings
from fairridge.experiments.sources import load
from fairridge.experiments.table import Row

__all__ = ["BOUND", "scale_part"]

BOUND = 0.05


def scale_part(case: str, run: int, settings: Settings) -> list[Row]:
    """Training RMSE on all rows: FRRM in both units of S, and NCLM, which has none."""
    data = load(case, settings)
    models = {
        "FRRM": FairRidgeRegressor(BOUND, sensitive=data.sensitive, standardize=True),
        "FRRM, raw S": FairRidgeRegressor(BOUND, sensitive=data.sensitive, standardize=False),
        "NCLM": KomiyamaRegressor(BOUND, sensitive=data.sensitive),
    }
    y = np.asarray(data.y, dtype=np.float64)
    rows: list[Row] = []
    for name, model in models.items():
        residual = y - model.fit(data.X, data.y).predict(data.X)
        rows.append({"model": name, "r": BOUND, "train_rmse": float(np.sqrt(np.mean(residual**2)))})
    return rows
