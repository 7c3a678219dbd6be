"""Folds of rows that are not in memory, for gaussian models.

Moments of all folds come from one pass, those of a training set are the sum of
the other folds', and everything on the validation rows is a quadratic form. If
that would lose digits, a second pass leaves triangular roots of all folds,
which carry them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from fairridge._typing import Floats
from fairridge.arguments import check_count
from fairridge.data import Design
from fairridge.engines import PrecomputedMoments, PrecomputedRoot
from fairridge.estimators._fair_ridge import LinearModel
from fairridge.estimators._training import refuse_more_data, unread_response
from fairridge.sources import RowMoments, RowSource
from fairridge.sources.encoder import BatchEncoder
from fairridge.sources.folds import StreamedFolds
from fairridge.sources.responses import Numbers
from fairridge.validation.linear import Scores
from fairridge.validation.moments import (
    RowsNeededError,
    moment_scores,
    no_rows,
    require_independent,
    solved,
)
from fairridge.validation.passed_rows import PassedRows
from fairridge.validation.scored_model import scored_model


@dataclass(frozen=True)
class StreamedData:
    """Rows that are not in memory, divided into folds."""

    places: list[tuple[int, int]]  # numbers of the folds
    _design: Design
    _folds: StreamedFolds
    backend = None

    @classmethod
    def of(
        cls,
        rows: PassedRows,
        models: Mapping[str, Any],
        *,
        cv: Any,
        repeats: Any,
        random_state: Any,
        folds: Any,
    ) -> StreamedData:
        """Divide rows at random, for gaussian models that need no more than moments.

        Rows elsewhere have no positions, so `folds` must be None, and all that `rows` have
        beside them comes as columns.
        """
        source, others = rows.X, vars(rows).copy()
        del others["X"]
        refuse_more_data(**others)
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
        design = source.count_levels().design
        encode = BatchEncoder(source.roles, design, Numbers(less_offset=True))
        seeds = check_random_state(random_state).randint(np.iinfo(np.int32).max, size=repeats)
        divided = StreamedFolds(source, encode, seeds.tolist(), int(cv))
        return cls(list(np.ndindex(repeats, int(cv))), design, divided)

    def scores(
        self, name: str, model: LinearModel, bounds: Floats, n_jobs: int | None
    ) -> tuple[Iterator[list[Scores]], str]:
        """Return the scores of a model in every fold, one dict per bound, and what the loss is."""
        return (self._of_fold(model, place, bounds) for place in self.places), "RMSE"

    def _of_fold(self, model: LinearModel, at: tuple[int, int], bounds: Floats) -> list[Scores]:
        """Fit to all folds but one, and measure on that one."""
        part, rest = self._folds.moments[at[0]][at[1]], self._folds.rest(*at)
        names, q = self._design.encoded_names, len(self._design.sensitive.names)
        response = unread_response(model)
        try:
            require_independent(part, q)
            known = PrecomputedMoments(rest, names, q, no_rows)
            return moment_scores(model, *solved(model, response, known, bounds), part)
        except RowsNeededError:
            known = PrecomputedRoot(rest, names, q, self._folds.rest_root(*at), no_rows)
            root = self._folds.root(*at)
            return moment_scores(model, *solved(model, response, known, bounds), part, root)


def _require_moments(name: str, model: Any, source: RowSource) -> None:
    judged = scored_model(model)
    if judged.kind != "linear" or not judged.bare:
        raise TypeError(f"model {name!r} is a {type(model).__name__}, which needs rows in memory.")
    if not unread_response(model, source.roles).family.least_squares:
        raise ValueError(
            f"model {name!r}: only gaussian models are cross-validated on rows that are not in "
            "memory."
        )
    if getattr(model, "confidence", None) is not None:
        raise ValueError(
            f"model {name!r}: confidence looks at every row, and models on rows that are not in "
            "memory are cross-validated by their moments; leave confidence out."
        )
    if not model._traits.moments_suffice:
        raise ValueError(
            f"model {name!r}: definition={model._traits.definition.name!r} looks at every row, "
            "and models on rows that are not in memory are cross-validated by their moments."
        )
