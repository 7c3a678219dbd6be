"""A model of all rows, which the models of folds start from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fairridge.engines import MemoryEngine
from fairridge.estimators._fair_ridge import LinearModel
from fairridge.estimators._training import Training


@dataclass(frozen=True)
class WholeModel:
    """A model of all rows, and what its coefficients are.

    Attributes
    ----------
    model : LinearModel
        The model.
    training : Training
        All rows.
    warm_start : object
        What helps a problem on some of the rows to start; None for closed forms.
    """

    model: LinearModel
    training: Training
    warm_start: Any = None

    @classmethod
    def of(cls, model: LinearModel, training: Training) -> WholeModel:
        """Fit the model to all rows, so far as that helps folds to start."""
        if training.unmapped is not None:
            # Features that are fitted to each training set have no coefficients in common.
            return cls(model, training)
        return cls(model, training, model._set_up(training).warm_start())

    def problem(self, train: MemoryEngine) -> Any:
        """Set the model up on some rows, and start it."""
        problem: Any = self.model._problem_on(train, self.training.response.on(train))
        if self.warm_start is not None:
            problem.start_from(self.warm_start)
        return problem
