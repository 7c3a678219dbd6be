"""The paper's linear protocol for FRRM: 50 runs of 10-fold cross-validation, 7 bounds."""

from __future__ import annotations

import time
import warnings

from fairridge import FairRidgeRegressor, cross_validate
from fairridge.datasets import DataUnavailableError, fetch_fairml

# CPU seconds R fairml 0.8 needs for one run of 10-fold cross-validation at one bound.
FAIRML = {
    "communities.and.crime": 6.8,
    "compas": 4.1,
    "national.longitudinal.survey": 7.1,
    "law.school.admissions": 11.0,
    "german.credit": 2.0,
}


def validation_table(repeats: int = 50) -> list[str]:
    """Seconds for all folds and bounds, and what fairml would need."""
    table = ["| data | rows | seconds | R fairml, CPU |", "|---|---:|---:|---:|"]
    total = theirs = 0.0
    for name, one in FAIRML.items():
        try:
            data = fetch_fairml(name, progress=False)
        except DataUnavailableError as reason:
            return [f"Not run: {reason}"]
        model = FairRidgeRegressor(sensitive=data.sensitive)
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            cross_validate(model, data.X, data.y, repeats=repeats, random_state=0)
        taken = time.perf_counter() - start
        total, theirs = total + taken, theirs + one * repeats * 7
        table.append(f"| {name} | {len(data.X):,} | {taken:.1f} | {one * repeats * 7:,.0f} s |")
        print(table[-1], flush=True)
    return [*table, f"| **all** | | **{total:.1f}** | **{theirs:,.0f} s** |"]
