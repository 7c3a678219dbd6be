"""Paths of models that are known by their predictions, not by coefficients."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fairridge._typing import Floats
from fairridge.data import make_frame
from fairridge.reports import PathCurves, plot_path

__all__ = ["PredictionPath", "prediction_path"]


@dataclass(frozen=True)
class PredictionPath:
    """Fairness and accuracy in training for many bounds.

    Attributes
    ----------
    unfairness : ndarray of shape (m,)
        The bounds r.
    achieved : ndarray of shape (m,)
        What the models achieve.
    score : ndarray of shape (m,)
        R² or accuracy in training.
    status : tuple of str
        How each fit ended.
    components : dict of str to ndarray
        What `achieved` is made of.
    models : tuple of estimator
        The fitted models.
    """

    unfairness: Floats
    achieved: Floats
    score: Floats
    status: tuple[str, ...]
    components: dict[str, Floats]
    models: tuple[Any, ...] = field(repr=False)
    definition: str
    score_name: str
    _backend: Any = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.unfairness)

    def at(self, unfairness: float) -> Any:
        """Return the fitted model for a bound of the path."""
        near = np.flatnonzero(np.isclose(self.unfairness, unfairness, rtol=0.0, atol=1e-12))
        if not near.size:
            raise ValueError(
                f"unfairness={unfairness!r} is not on the path; its bounds are "
                f"{', '.join(f'{r:g}' for r in self.unfairness)}."
            )
        return self.models[int(near[0])]

    def to_frame(self) -> Any:
        """Return one row per bound."""
        columns: dict[str, Any] = {
            "unfairness": self.unfairness,
            "achieved": self.achieved,
            "status": list(self.status),
            self.score_name: self.score,
        }
        return make_frame(columns | self.components, self._backend)

    def plot(self, kind: Any = "constraints", ax: Any = None) -> Any:
        """Draw the path with matplotlib.

        Parameters
        ----------
        kind : {"constraints", "accuracy"}
            What to draw over r.
        ax : matplotlib Axes, optional
            Where to draw; by default on a new figure.
        """
        if kind == "coefficients":
            raise ValueError("this model has no coefficients; use 'constraints' or 'accuracy'.")
        nothing = np.zeros((len(self), 0))
        curves = PathCurves(
            self.unfairness,
            self.achieved,
            nothing,
            nothing,
            self.components,
            self.score,
            (),
            (),
            self.definition,
            self.score_name,
        )
        return plot_path(curves, kind, ax)


def prediction_path(models: list[Any], score_name: str, backend: Any) -> PredictionPath:
    """Collect what fitted models of one kind say of themselves."""
    return PredictionPath(
        unfairness=np.array([float(model.unfairness) for model in models]),
        achieved=np.array([model.unfairness_ for model in models]),
        score=np.array([model.training_score_ for model in models]),
        status=tuple(model.status_ for model in models),
        components={
            name: np.array([model.unfairness_components_[name] for model in models])
            for name in models[0].unfairness_components_
        },
        models=tuple(models),
        definition=models[0].definition_,
        score_name=score_name,
        _backend=backend,
    )
