"""Training rows of a fold, of which moments are enough: those of all rows less the fold's.

Gaussian models under statistical parity or equality of opportunity then cost no pass over their
training rows. If the subtraction would lose digits the rows are read.
"""

from __future__ import annotations

import numpy as np

from fairridge.engines import MemoryEngine, Moments, PrecomputedMoments, has_many_sparse, is_wide
from fairridge.estimators._fair_ridge import LinearModel
from fairridge.estimators._training import Training
from fairridge.validation.folds import Fold

# A column that keeps less of its scatter in the training rows has lost digits to the subtraction.
MIN_SCATTER_LEFT = 0.1


class RowsNeededError(Exception):
    """Moments alone do not carry the digits."""


def no_rows() -> MemoryEngine:
    """Stand for rows that are not to be read."""
    raise RowsNeededError


def uses_moments(model: LinearModel, training: Training) -> bool:
    """Whether everything a model needs is in the moments of [S, X, y]."""
    traits, closed = model._traits, training.response.family.least_squares
    wide = is_wide(training.engine) or has_many_sparse(training.engine)
    compressed = traits.compresses and wide
    return closed and traits.moments_suffice and training.unmapped is None and not compressed


def divides(fold: Fold, n: int) -> bool:
    """Whether every row is in one of the two parts, once."""
    seen = np.zeros(n, dtype=bool)
    for part in fold:
        seen[part] = True
    return len(fold[0]) + len(fold[1]) == n and bool(seen.all())


def moments_without(whole: Moments, test: MemoryEngine) -> PrecomputedMoments:
    """Return the moments of all rows but some; raise if a column hardly varies in what is left."""
    # A level that only the fold has would be left with a scatter of rounding errors, and an outlier
    # in the fold covers all digits of the other rows.
    rest = whole - test.moments()
    if (np.diag(rest.scatter) < MIN_SCATTER_LEFT * np.diag(whole.scatter)).any():
        raise RowsNeededError
    return PrecomputedMoments(rest, test.names, test.n_sensitive, no_rows)
