"""Size and condition of the data sets (section 5.1)."""

from __future__ import annotations

import numpy as np
import pandas as pd

from reproduction.data import encode, load
from reproduction.settings import Floats, Settings


def datasets_part(case: str, run: int, settings: Settings) -> pd.DataFrame:
    """Rows, columns, and the smallest eigenvalue of VAR(S) in two codings."""
    data = load(case, settings)
    attributes = data.frame[data.sensitive]
    # The paper writes one column for every level, here for those that occur.
    levels = attributes.select_dtypes(exclude="number").astype(str)
    row = {
        "rows": len(data),
        "predictors": data.frame.shape[1] - len(data.sensitive),
        "sensitive": len(data.sensitive),
        "predictor_columns": data.X.shape[1],
        "sensitive_columns": data.S.shape[1],
        "eigenvalue_contrasts": _smallest_eigenvalue(data.S, ddof=0),
        "eigenvalue_one_hot": _smallest_eigenvalue(
            encode(attributes.assign(**levels), drop_first=False), ddof=1
        ),
    }
    return pd.DataFrame([row])


def _smallest_eigenvalue(S: Floats, ddof: int) -> float:
    return float(np.linalg.eigvalsh(np.atleast_2d(np.cov(S.T, ddof=ddof)))[0])
