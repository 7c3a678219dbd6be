"""A model of all rows, which the models of folds start from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from fairridge._typing import Floats
from fairridge.engines import MemoryEngine
from fairridge.estimators._fair_ridge import LinearModel
from fairridge.estimators._training import Training
from fairridge.search import FoldStart
from fairridge.validation.folds import Fold

# With as many folds, a path of all rows pays for the shorter ones it makes of theirs.
MIN_PATH_FOLDS = 5


@dataclass(frozen=True)
class WholeModel:
    """A model of all rows, and where it ended.

    Attributes
    ----------
    model : LinearModel
        The model.
    training : Training
        All rows.
    starts : tuple of FoldStart
        What it found for bounds, of models that need passes over the rows.
    warm_start : object
        What else helps a problem on some of the rows to start; None for closed forms.
    """

    model: LinearModel
    training: Training
    starts: tuple[FoldStart, ...] = ()
    warm_start: Any = None

    @classmethod
    def of(cls, model: LinearModel, training: Training, bounds: Floats, n_folds: int) -> WholeModel:
        """Fit the model to all rows, so far as that helps folds to start."""
        if training.unmapped is not None:
            # Features that are fitted to each training set have no coefficients in common.
            return cls(model, training)
        problem: Any = model._set_up(training)
        starts: tuple[FoldStart, ...] = ()
        # What rows add to the derivatives of all depends on nobody else, unless classes balance.
        divisible = problem.starts_folds and not training.response.balanced
        if n_folds >= MIN_PATH_FOLDS and divisible:
            starts = problem.fold_starts(model._solve(cast(Any, problem), bounds))
        return cls(model, training, starts, problem.warm_start())

    def problem(self, train: MemoryEngine, rest: MemoryEngine | None) -> Any:
        """Set the model up on some rows, and start it.

        `rest` are all other rows, if their derivatives may be subtracted from those of all.
        """
        problem: Any = self.model._problem_on(train, self.training.response.on(train))
        if self.starts and rest is not None:
            if problem.starts_folds:
                problem.start_near(tuple(start.without(rest) for start in self.starts))
        elif self.warm_start is not None:
            problem.start_from(self.warm_start)
        return problem


def divides(fold: Fold, n: int) -> bool:
    """Whether every row is in one of the two parts, once."""
    seen = np.zeros(n, dtype=bool)
    for part in fold:
        seen[part] = True
    return len(fold[0]) + len(fold[1]) == n and bool(seen.all())
