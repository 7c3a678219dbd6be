"""The fair Cox model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np

from fairridge._arrays import bounded_exp
from fairridge._typing import Floats, TableLike, VectorLike
from fairridge.estimators._fair_ridge import FairRidge
from fairridge.estimators._responses import SurvivalTimes
from fairridge.estimators._training import Training, read_scored
from fairridge.families.cox_sweep import BaselineHazard
from fairridge.metrics.sorted_scores import concordance_index
from fairridge.search import PenalizedProblem, Solution
from fairridge.sources import RowSource


@dataclass(eq=False, repr=False, kw_only=True)
class FairRidgeSurvival(FairRidge):
    """Cox's proportional hazards model whose unfairness is bounded by a number you choose.

    For right-censored times. The bound is on the share of the variance of the
    linear predictor that the sensitive attributes explain. See
    `FairRidgeRegressor` for the model and the attributes.

    Parameters
    ----------
    unfairness : float, default=0.05
        Bound r on unfairness: 0 leaves no linear dependence on S, 1 is unconstrained.
    definition : str, object or callable, default="statistical-parity"
        What is bounded. "statistical-parity", "equality-of-opportunity" and
        "individual" choose a point on one path of models α(λ), with α = 0 at
        r = 0.
    predictor_penalty : float or "cv", default=0.0
        λ₂ in −2 log partial likelihood + λ₂‖β‖², for standardized U. "cv"
        chooses it at the bound, by leaving rows out: see `predictor_penalty_`
        of `FairRidgeRegressor`.
    ties : {"breslow", "efron"}, default="breslow"
        How events at the same time are treated. With "breslow" an integer
        sample weight m is the same as m repeated rows. With "efron" it is not:
        repeated events are ties, which Efron's formula treats differently
        from one event of weight m, as in R survival.
    blind : bool, default=False
        Whether to use S to fit and bound only, and not to predict. The model then is one
        of X alone, min D(b) + λ‖P_S Xb‖² + λ₂‖b‖², and "statistical-parity" is R² of its
        linear predictor on S.
    controls : str, int or list of these, optional
        Columns of X, by name or position, that may explain differences: the
        bound on "statistical-parity" is on what S explains beyond them.
        `unfairness_components_` has the share without them beside it.

    Attributes
    ----------
    event_times_, cumulative_hazard_ : ndarray
        Distinct event times, and Breslow's baseline cumulative hazard there,
        of a row at the training means.

    See Also
    --------
    FairRidgeRegressor : The model, its parameters and its attributes.
    fairridge.families.Cox : The partial likelihood.

    References
    ----------
    .. [1] Scutari, Panero and Proissl (2022), section 4.4.
    .. [2] "Other responses" in docs/model.md.

    Examples
    --------
    >>> from fairridge import FairRidgeSurvival
    >>> from fairridge.datasets import load_rossi
    >>> rossi = load_rossi()
    >>> model = FairRidgeSurvival(0.05, sensitive=rossi.sensitive).fit(rossi.X, rossi.y)
    >>> print(f"{model.unfairness_:.4f}, concordance {model.score(rossi.X, rossi.y):.3f}")
    0.0500, concordance 0.626
    """

    ties: Literal["breslow", "efron"] = "breslow"

    # Risk sets need the rows in their order.
    _sums_on_devices: ClassVar[bool] = False
    _takes_sparse: ClassVar[bool] = False

    def predict(
        self,
        X: TableLike,
        *,
        sensitive_features: TableLike | None = None,
        offset: VectorLike | None = None,
    ) -> Floats:
        """Return the log hazard ratio relative to a row at the training means."""
        if isinstance(X, RowSource):
            return X.predictions(self, "predict")
        return self._linear_predictor(X, sensitive_features, offset)

    def predict_cumulative_hazard_function(
        self,
        X: TableLike,
        *,
        sensitive_features: TableLike | None = None,
        offset: VectorLike | None = None,
        times: Any = None,
    ) -> Floats:
        """Return H(t) = H₀(t)e^η, one row per row of X and one column per time.

        Parameters
        ----------
        X, sensitive_features, offset
            As in `predict`.
        times : array-like, optional
            By default `event_times_`.

        Returns
        -------
        ndarray of shape (n, number of times)
            Cumulative hazards.
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
        return bounded_exp(eta[:, None] + baseline)

    def predict_survival_function(
        self,
        X: TableLike,
        *,
        sensitive_features: TableLike | None = None,
        offset: VectorLike | None = None,
        times: Any = None,
    ) -> Floats:
        """Return S(t) = exp(−H(t)), one row per row of X and one column per time."""
        return np.exp(
            -self.predict_cumulative_hazard_function(
                X, sensitive_features=sensitive_features, offset=offset, times=times
            )
        )

    def predict_median(
        self,
        X: TableLike,
        *,
        sensitive_features: TableLike | None = None,
        offset: VectorLike | None = None,
    ) -> Floats:
        """Return the median of every row's time: the first with S(t) of at most one half.

        It is infinite for rows of whom more than half outlive the last event.
        """
        if isinstance(X, RowSource):
            raise TypeError("medians are of rows in memory; pass a frame.")
        eta = self.predict(X, sensitive_features=sensitive_features, offset=offset)
        # S(t) ≤ ½ is log H₀(t) + η ≥ log log 2.
        reached = np.searchsorted(self._log_hazard, np.log(np.log(2.0)) - eta, side="left")
        return np.append(self.event_times_, np.inf)[reached]

    def score(
        self,
        X: TableLike,
        y: VectorLike | None = None,
        *,
        sensitive_features: TableLike | None = None,
        sample_weight: VectorLike | None = None,
        offset: VectorLike | None = None,
    ) -> float:
        """Return the concordance index."""
        inputs, eta = read_scored(self, X, y, sensitive_features, sample_weight, offset)
        values = SurvivalTimes.times_and_events(y, inputs)
        return concordance_index(values[:, 0], values[:, 1], eta, inputs.weights)

    @property
    def _response_kind(self) -> SurvivalTimes:
        return SurvivalTimes(self.ties)

    def _store(
        self,
        training: Training,
        problem: PenalizedProblem,
        solution: Solution,
        solved: Self | None = None,
    ) -> Self:
        super()._store(training, problem, solution, solved)
        # The partial likelihood has no intercept: η is relative to the training means.
        fit = solution.fit
        self.fair_intercept_ = float(-(fit.alpha @ problem.basis.center_sensitive))
        baseline = BaselineHazard(self.family_)
        self.event_times_, self._log_hazard = fit.sum_over_rows(
            baseline, sensitive=True, predictors=True, center=True
        )
        self.cumulative_hazard_ = bounded_exp(self._log_hazard)
        self.n_iter_ = problem.engine.passes
        return self
