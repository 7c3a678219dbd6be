"""All models of a path, from r = 0 to r = 1."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairridge.data import make_frame
from fairridge.report import PathCurves, PathPlot, plot_path

__all__ = ["FairnessPath"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class FairnessPath:
    """Coefficients and fairness for many bounds.

    Attributes
    ----------
    unfairness : ndarray of shape (m,)
        The bounds r.
    lambda_ : ndarray of shape (m,)
        λ(r).
    alpha, beta : ndarray of shape (m, q) and (m, p)
        Coefficients of S and of U, original scale.
    intercept : ndarray of shape (m,)
        Intercepts, S uncentered.
    achieved : ndarray of shape (m,)
        The definition's value.
    status : tuple of str
        "inactive", "converged", "infeasible" or "not-converged".
    deviance, score : ndarray of shape (m,)
        Deviance, and R² or D², in training.
    components : dict of str to ndarray
        What the definition is made of.
    sensitive_names, predictor_names : tuple of str
        Encoded column names.
    """

    unfairness: Floats
    lambda_: Floats
    alpha: Floats
    beta: Floats
    intercept: Floats
    achieved: Floats
    status: tuple[str, ...]
    deviance: Floats
    score: Floats
    components: dict[str, Floats]
    sensitive_names: tuple[str, ...]
    predictor_names: tuple[str, ...]
    definition: str
    score_name: str
    _deviations: tuple[Floats, Floats]
    _backend: Any
    _model_at: Callable[[float], Any]

    def __len__(self) -> int:
        return len(self.unfairness)

    def __repr__(self) -> str:
        ends = f"{self.unfairness.min():g} to {self.unfairness.max():g}"
        return f"FairnessPath({len(self)} bounds on {self.definition}, r = {ends})"

    def at(self, unfairness: float) -> Any:
        """Return the fitted model for one bound, whether it is on the path or not."""
        return self._model_at(unfairness)

    def to_frame(self) -> Any:
        """Return one row per bound: fairness, fit, and a column for every coefficient."""
        columns: dict[str, Any] = {
            "unfairness": self.unfairness,
            "lambda_": self.lambda_,
            "achieved": self.achieved,
            "status": list(self.status),
            "deviance": self.deviance,
            self.score_name: self.score,
            "intercept": self.intercept,
        }
        coefficients = np.hstack([self.alpha, self.beta])
        for name, values in zip(
            self.sensitive_names + self.predictor_names, coefficients.T, strict=True
        ):
            # A column of the data may be called "intercept", too.
            columns[f"coef_{name}" if name in columns else name] = values
        return make_frame(columns, self._backend)

    def plot(self, kind: PathPlot = "coefficients", ax: Any = None) -> Any:
        """Draw the path with matplotlib.

        Parameters
        ----------
        kind : {"coefficients", "constraints", "accuracy"}
            What to draw over r.
        ax : matplotlib Axes, optional
            Where to draw; by default on a new figure.
        """
        curves = PathCurves(
            self.unfairness,
            self.achieved,
            self.alpha * self._deviations[0],
            self.beta * self._deviations[1],
            self.components,
            self.score,
            self.sensitive_names,
            self.predictor_names,
            self.definition,
            self.score_name,
        )
        return plot_path(curves, kind, ax)
