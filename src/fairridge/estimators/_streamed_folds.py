"""Cross-validation of gaussian models on rows that are not in memory.

Moments of all folds come from one pass, those of a training set are the sum of
the other folds', and everything on the validation rows is a quadratic form.
Where that would lose digits a second pass leaves triangular roots of all folds,
which carry them.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from fairridge.data import Design
from fairridge.engines import Engine, KnownMoments, KnownRoot, one_blas_thread
from fairridge.estimators._bounded import BoundedModel
from fairridge.estimators._folds import (
    FoldScores,
    RowsNeededError,
    moment_scores,
    no_rows,
    require_independent,
)
from fairridge.estimators._parameters import check_count
from fairridge.estimators._streaming import refuse_more_data, unread_response
from fairridge.exceptions import BoundWarning, DataWarning
from fairridge.rows import RowMoments, RowSource
from fairridge.rows.encoder import BatchEncoder
from fairridge.rows.folds import StreamedFolds
from fairridge.rows.responses import Numbers

__all__ = ["cross_validate_rows"]

Floats = NDArray[np.float64]


def cross_validate_rows(
    models: Mapping[str, Any],
    source: RowSource | RowMoments,
    bounds: Floats,
    *,
    cv: Any,
    repeats: int,
    folds: Any,
    random_state: Any,
    **refused: Any,
) -> list[dict[str, Any]]:
    """Return one record per model, bound, repeat and fold.

    Parameters
    ----------
    models : mapping of str to estimator
        Gaussian models that need no more than moments.
    source : RowSource
        The rows.
    bounds : ndarray
        The bounds r.
    cv, repeats : int
        Folds, and how often they are drawn.
    folds
        None: rows elsewhere have no positions.
    random_state : int, RandomState or None
        Seed of the folds.
    **refused
        What rows that are not in memory have no use for.
    """
    refuse_more_data(**refused)
    if isinstance(source, RowMoments):
        raise ValueError("moments cannot be divided into folds; pass the rows themselves.")
    if folds is not None:
        raise ValueError("folds are positions of rows in memory; for other rows use cv=k.")
    repeats = check_count("repeats", repeats)
    if isinstance(cv, bool) or not isinstance(cv, int | np.integer) or cv < 2:
        raise ValueError(
            f"cv={cv!r}: rows that are not in memory are divided at random, cv=k with k of at "
            "least 2."
        )
    for name, model in models.items():
        _require_moments(name, model, source)
    design = source.survey().design
    encode = BatchEncoder(source.roles, design, Numbers(less_offset=True))
    seeds = check_random_state(random_state).randint(np.iinfo(np.int32).max, size=repeats)
    divided = StreamedFolds(source, encode, seeds.tolist(), int(cv))
    records = []
    with warnings.catch_warnings(), one_blas_thread():
        # A level that a training set lacks is no defect of the data; the status says the rest.
        warnings.simplefilter("ignore", DataWarning)
        warnings.simplefilter("ignore", BoundWarning)
        for name, model in models.items():
            for repeat, fold in np.ndindex(repeats, int(cv)):
                records += [
                    {"model": name, "unfairness": score.unfairness, "repeat": repeat, "fold": fold}
                    | score.measures
                    for score in _scored(model, design, divided, (repeat, fold), bounds)
                ]
    return records


def _require_moments(name: str, model: Any, source: RowSource) -> None:
    if not isinstance(model, BoundedModel):
        raise TypeError(f"model {name!r} is a {type(model).__name__}, which needs rows in memory.")
    if not unread_response(model, source.roles).family.least_squares:
        raise ValueError(
            f"model {name!r}: only gaussian models are cross-validated on rows that are not in "
            "memory."
        )
    if not model._only_moments:
        raise ValueError(
            f"model {name!r}: only statistical parity and equality of opportunity are "
            "cross-validated on rows that are not in memory."
        )


def _scored(
    model: BoundedModel, design: Design, folds: StreamedFolds, at: tuple[int, int], bounds: Floats
) -> list[FoldScores]:
    """Fit to all folds but one, and measure on that one."""
    part, rest = folds.moments[at[0]][at[1]], folds.rest(*at)
    response = unread_response(model)

    def scores(training: Engine, root: Floats | None) -> list[FoldScores]:
        problem = model._problem_on(training, response)
        solutions = model._solve(problem, bounds)
        return [moment_scores(model, problem, solution, part, root) for solution in solutions]

    names, q = design.encoded_names, len(design.sensitive.names)
    try:
        require_independent(part, q)
        return scores(KnownMoments(rest, names, q, no_rows), None)
    except RowsNeededError:
        known = KnownRoot(rest, names, q, folds.rest_root(*at), no_rows)
        return scores(known, folds.root(*at))
