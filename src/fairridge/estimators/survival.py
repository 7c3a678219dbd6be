"""The fair Cox model."""

from __future__ import annotations

from typing import Any, Self

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from fairridge.estimators._fair_ridge import FairRidge
from fairridge.estimators._training import Inputs, Response, Training
from fairridge.families import Cox
from fairridge.metrics import concordance_index
from fairridge.search import Problem, Solution

__all__ = ["FairRidgeSurvival"]

Floats = NDArray[np.float64]


class FairRidgeSurvival(FairRidge):
    """Cox's proportional hazards model whose unfairness is bounded by a number you choose.

    For right-censored times. The bound is on the share of the variance of the
    linear predictor that the sensitive attributes explain. See
    `FairRidgeRegressor` for the model and the attributes.

    Parameters
    ----------
    unfairness : float, default=0.05
        r in [0, 1]: 0 is fair, 1 unconstrained.
    sensitive : str, int or list of these, optional
        Columns of X that are sensitive, by name or position. Alternatively
        pass `sensitive_features` to `fit`, `predict` and `score`.
    definition : str, object or callable, default="statistical-parity"
        What unfairness means.
    penalty : {"ridge", "radial", "lasso", "elastic-net"} or object, default="ridge"
        Penalty on α.
    predictor_penalty : float, default=0.0
        λ₂ in −2 log partial likelihood + λ₂‖β‖², for standardized U.
    standardize : bool, default=True
        Whether the penalties see standardized columns.
    unknown : {"error", "base"}, default="error"
        What a level that was not there at fit does at predict.
    predictor_map, sensitive_map : scikit-learn transformer, optional
        Maps the encoded columns of X, or of S, to features: splines, kernels,
        principal components. Predictors are decorrelated in feature space.
    ties : {"breslow", "efron"}, default="breslow"
        How events at the same time are treated.
    tol : float, default=1e-10
        How closely an active bound is met.
    max_iter : int, default=100
        Steps of the search for λ(r) at most, and passes over the data for each λ.

    Attributes
    ----------
    event_times_, cumulative_hazard_ : ndarray
        Distinct event times, and Breslow's baseline cumulative hazard there,
        of a row at the training means.
    """

    def __init__(
        self,
        unfairness: float = 0.05,
        *,
        sensitive: Any = None,
        definition: Any = "statistical-parity",
        penalty: Any = "ridge",
        predictor_penalty: float = 0.0,
        standardize: bool = True,
        unknown: Any = "error",
        predictor_map: Any = None,
        sensitive_map: Any = None,
        ties: Any = "breslow",
        tol: float = 1e-10,
        max_iter: int = 100,
    ) -> None:
        super().__init__(
            unfairness,
            sensitive=sensitive,
            definition=definition,
            penalty=penalty,
            predictor_penalty=predictor_penalty,
            standardize=standardize,
            unknown=unknown,
            predictor_map=predictor_map,
            sensitive_map=sensitive_map,
            tol=tol,
            max_iter=max_iter,
        )
        self.ties = ties

    def predict(self, X: Any, *, sensitive_features: Any = None, offset: Any = None) -> Floats:
        """Return the log hazard ratio relative to a row at the training means."""
        return self._linear_predictor(X, sensitive_features, offset)

    def predict_cumulative_hazard_function(
        self, X: Any, *, sensitive_features: Any = None, offset: Any = None, times: Any = None
    ) -> Floats:
        """Return H(t) = H₀(t)e^η, one row per row of X and one column per time.

        Parameters
        ----------
        X, sensitive_features, offset
            As in `predict`.
        times : array-like, optional
            By default `event_times_`.
        """
        eta = self.predict(X, sensitive_features=sensitive_features, offset=offset)
        times = self.event_times_ if times is None else np.asarray(times, dtype=np.float64)
        steps = np.searchsorted(self.event_times_, times, side="right")
        baseline = np.concatenate([[0.0], self.cumulative_hazard_])[steps]
        return np.exp(eta)[:, None] * baseline

    def predict_survival_function(
        self, X: Any, *, sensitive_features: Any = None, offset: Any = None, times: Any = None
    ) -> Floats:
        """Return S(t) = exp(−H(t)), one row per row of X and one column per time."""
        return np.exp(
            -self.predict_cumulative_hazard_function(
                X, sensitive_features=sensitive_features, offset=offset, times=times
            )
        )

    def score(
        self,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any = None,
        sample_weight: Any = None,
        offset: Any = None,
    ) -> float:
        """Return the concordance index."""
        inputs, eta = self._scored(X, sensitive_features, sample_weight, offset)
        values = _times_and_events(y, inputs)
        return concordance_index(values[:, 0], values[:, 1], eta, inputs.weights)

    def _response(self, y: Any, inputs: Inputs) -> Response:
        values = _times_and_events(y, inputs)
        if not values[:, 1].any():
            raise ValueError("y has no events (all rows are censored); a Cox model needs some.")
        return Response(Cox(self.ties), values, -np.log(values[:, :1]))

    def _accept(self, training: Training, problem: Problem, solution: Solution) -> Self:
        super()._accept(training, problem, solution)
        # The partial likelihood has no intercept: η is relative to the training means.
        engine, fit = training.engine, solution.fit
        self.intercept_ = float(-(fit.alpha @ problem.basis.center_sensitive))
        collected: list[tuple[Floats, Floats]] = []

        def baseline(y: Floats, eta: Floats, weight: Floats) -> Floats:
            collected.append(self.family_.baseline_hazard(y, eta, weight))
            return np.zeros(1)

        fit.total(baseline, sensitive=True, predictors=True, center=True)
        self.event_times_, self.cumulative_hazard_ = collected[0]
        self.n_iter_ = engine.passes
        return self


def _times_and_events(y: Any, inputs: Inputs) -> Floats:
    """Read (time, event) from a structured array, a frame or an n×2 array."""
    time, event = _two_columns(y)
    if len(time) != inputs.n_given:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: X has "
            f"{inputs.n_given} rows but y has {len(time)}."
        )
    time, event = time[inputs.keep], event[inputs.keep]
    if not (np.isfinite(time).all() and np.isfinite(event).all()):
        raise ValueError("y contains NaN, missing values or infinity; drop those rows first.")
    if (time <= 0).any():
        raise ValueError(f"times must be positive; y has {time[np.argmax(time <= 0)]:g}.")
    if not np.isin(event, (0.0, 1.0)).all():
        bad = event[~np.isin(event, (0.0, 1.0))][0]
        raise ValueError(f"events must be 0 (censored) or 1 (event); y has {bad:g}.")
    return np.column_stack([time, event])


def _two_columns(y: Any) -> tuple[Floats, Floats]:
    frame = nw.from_native(y, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        fields = {str(name): frame.get_column(name).to_numpy() for name in frame.columns}
    else:
        array = np.asarray(y)
        if array.dtype.names:
            fields = {name: array[name] for name in array.dtype.names}
        elif array.ndim == 2 and array.shape[1] == 2:
            fields = {"time": array[:, 0], "event": array[:, 1]}
        else:
            fields = {}
    return _named_fields(fields)


def _named_fields(fields: dict[str, NDArray[Any]]) -> tuple[Floats, Floats]:
    """Find time and event by name, or the event by its being boolean."""
    if len(fields) == 2:
        by_type = sorted(fields, key=lambda name: fields[name].dtype.kind == "b")
        by_name = ["time", "event"]
        for time, event in (by_name, by_type):
            if time in fields and (event == "event" or fields[event].dtype.kind == "b"):
                return fields[time].astype(np.float64), fields[event].astype(np.float64)
    raise ValueError(
        "y must give time and event: a frame or structured array with the columns 'time' and "
        "'event' (or one numeric and one boolean column), or an array of shape (n, 2)."
    )
