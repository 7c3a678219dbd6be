"""The fair Cox model."""

from __future__ import annotations

from typing import Any, Self

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from fairridge.data import as_native, is_missing, numeric_vector
from fairridge.estimators._fair_ridge import FairRidge
from fairridge.estimators._training import Inputs, Response, Training
from fairridge.families import Cox
from fairridge.families.cox_sweep import BaselineHazard
from fairridge.metrics import concordance_index
from fairridge.rows import RowSource
from fairridge.rows.responses import ResponseReader, Times
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
        How events at the same time are treated. With "breslow" an integer
        sample weight m is the same as m repeated rows. With "efron" it is not:
        repeated events are ties, which Efron's formula treats differently
        from one event of weight m, as in R survival.
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
        if isinstance(X, RowSource):
            return X.predictions(self, "predict")
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
        if isinstance(X, RowSource):
            raise TypeError(
                "curves of rows that are not in memory are one number per row and time: predict "
                "their linear predictors, and pass some rows as a frame."
            )
        eta = self.predict(X, sensitive_features=sensitive_features, offset=offset)
        times = self.event_times_ if times is None else np.asarray(times, dtype=np.float64)
        if times.ndim != 1 or np.isnan(times).any():
            raise ValueError("times must be a list of numbers, none of them missing.")
        steps = np.searchsorted(self.event_times_, times, side="right")
        baseline = np.concatenate([[-np.inf], self._log_hazard])[steps]
        return _exp(eta[:, None] + baseline)

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
        y: Any = None,
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

    def _streamed_response(self, classes: NDArray[Any]) -> tuple[Response, ResponseReader]:
        return Response(Cox(self.ties), np.empty((0, 2)), np.empty((0, 1))), Times()

    def _accept(self, training: Training, problem: Problem, solution: Solution) -> Self:
        super()._accept(training, problem, solution)
        # The partial likelihood has no intercept: η is relative to the training means.
        fit = solution.fit
        self.intercept_ = float(-(fit.alpha @ problem.basis.center_sensitive))
        baseline = BaselineHazard(self.family_)
        self.event_times_, self._log_hazard = fit.total(
            baseline, sensitive=True, predictors=True, center=True
        )
        self.cumulative_hazard_ = _exp(self._log_hazard)
        self.n_iter_ = problem.engine.passes
        return self


def _exp(x: Floats) -> Floats:
    """Return eˣ, or a finite number that serves as infinity would."""
    return np.exp(np.minimum(x, 700.0))


def _times_and_events(y: Any, inputs: Inputs) -> Floats:
    """Read (time, event) from a structured array, a frame or an n×2 array."""
    fields = _fields(y)
    if len(fields["time"]) != inputs.n_given:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: X has "
            f"{inputs.n_given} rows but y has {len(fields['time'])}."
        )
    time, event = (
        numeric_vector(fields[name], inputs.n_given, f"y ({name})", inputs.keep)
        for name in ("time", "event")
    )
    if (time <= 0).any():
        raise ValueError(f"times must be positive; y has {time[np.argmax(time <= 0)]:g}.")
    if not np.isin(event, (0.0, 1.0)).all():
        bad = event[~np.isin(event, (0.0, 1.0))][0]
        raise ValueError(f"events must be 0 (censored) or 1 (event); y has {bad:g}.")
    return np.column_stack([time, event])


def _fields(y: Any) -> dict[str, NDArray[Any]]:
    """Return the columns "time" and "event", found by name or the event by its being boolean."""
    frame = nw.from_native(as_native(y), eager_only=True, pass_through=True)
    columns: dict[str, NDArray[Any]] = {}
    if isinstance(frame, nw.DataFrame):
        columns = {str(name): frame.get_column(name).to_numpy() for name in frame.columns}
    else:
        array = np.asarray(y)
        if array.dtype.names:
            columns = {name: array[name] for name in array.dtype.names}
        elif array.ndim == 2 and array.shape[1] == 2:
            columns = {"time": array[:, 0], "event": array[:, 1]}
    if columns.keys() == {"time", "event"}:
        return columns
    events = [name for name, values in columns.items() if _is_boolean(values)]
    if len(columns) == 2 and len(events) == 1:
        time = next(name for name in columns if name != events[0])
        return {"time": columns[time], "event": columns[events[0]]}
    raise ValueError(
        "y must give time and event: a frame or structured array with the columns 'time' and "
        "'event' (or one numeric and one boolean column), or an array of shape (n, 2)."
    )


def _is_boolean(values: NDArray[Any]) -> bool:
    """Whether a column holds truth values, some of which may be missing."""
    if values.dtype.kind != "O":
        return values.dtype.kind == "b"
    known = [value for value in values.tolist() if not is_missing(value)]
    return bool(known) and all(isinstance(value, bool) for value in known)
