"""Reading results for a judgment."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairridge.experiments.results import Results, SkippedError
from fairridge.experiments.table import Table

__all__ = ["ALPHA", "BETA", "checked", "profile", "spread"]

Floats = NDArray[np.float64]
ALPHA = ("S1", "S2", "S3")
BETA = ("X1", "X2", "X3")


def profile(table: Table, model: str, term: str) -> Floats:
    """Return values over r, one row per sample."""
    samples = table.where(model=model, term=term).groups("run")
    if not samples:
        raise SkippedError(f"no results of {model}")
    return np.array([sample.column("value") for sample in samples.values()])


def spread(values: Floats, digits: int = 2) -> str:
    """Write the median with the range of 90 % of the samples."""
    low, middle, high = np.quantile(values, [0.05, 0.5, 0.95])
    return f"{middle:.{digits}f} (90 % of samples: {low:.{digits}f} to {high:.{digits}f})"


def checked(results: Results, check: str, quantity: str | None = None) -> Table:
    """Return the rows of one check."""
    table = results["checks"].where(check=check)
    return table if quantity is None else table.where(quantity=quantity)
