"""Size and condition of the data sets (section 5.1)."""

from __future__ import annotations

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from fairridge import FairRidgeRegressor
from fairridge.experiments.settings import Settings
from fairridge.experiments.sources import Data, load
from fairridge.experiments.table import Row

__all__ = ["datasets_part"]

Floats = NDArray[np.float64]


def datasets_part(case: str, run: int, settings: Settings) -> list[Row]:
    """Rows, columns, and the smallest eigenvalue of VAR(S) in two codings."""
    data = load(case, settings)
    frame = nw.from_native(data.X, eager_only=True)
    zeros = np.zeros(len(frame))
    training = FairRidgeRegressor(sensitive=data.sensitive)._read(data.X, zeros, None, None, None)
    moments, design = training.engine.moments(), training.design
    q = len(design.sensitive.names)
    contrasts = np.linalg.eigvalsh(moments.scatter[:q, :q] / moments.weight)
    return [
        {
            "rows": len(frame),
            "predictors": frame.shape[1] - len(data.sensitive),
            "predictor_columns": len(design.predictors.names),
            "sensitive_columns": q,
            "eigenvalue_contrasts": float(contrasts[0]),
            "eigenvalue_one_hot": float(
                np.linalg.eigvalsh(np.atleast_2d(np.cov(one_hot(data).T)))[0]
            ),
        }
    ]


def one_hot(data: Data) -> Floats:
    """Return S with one column for every level that occurs, as the paper writes it."""
    columns: list[Floats] = []
    for name in data.sensitive:
        series = nw.from_native(data.X, eager_only=True).get_column(name)
        if series.dtype.is_numeric():
            columns.append(series.to_numpy().astype(np.float64))
        else:
            codes = np.unique(series.cast(nw.String).to_numpy(), return_inverse=True)[1]
            columns += list(np.eye(codes.max() + 1)[:, codes])
    return np.column_stack(columns)
