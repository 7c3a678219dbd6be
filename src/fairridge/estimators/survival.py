"""The fair Cox model."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np

from fairridge._typing import (
    ColumnNames,
    Floats,
    MissingValues,
    TableLike,
    Unfairness,
    UnknownLevels,
    VectorLike,
)
from fairridge.data import MAX_LEVELS
from fairridge.estimators._fair_ridge import FairRidge
from fairridge.estimators._parameters import DefinitionLike, FeatureMap, PenaltyLike
from fairridge.estimators._responses import SurvivalTimes
from fairridge.estimators._training import Training, read_scored
from fairridge.families.cox_sweep import BaselineHazard
from fairridge.inference import Certification
from fairridge.metrics import concordance_index
from fairridge.search import Problem, Solution
from fairridge.sources import RowSource


class FairRidgeSurvival(FairRidge):
    """Cox's proportional hazards model whose unfairness is bounded by a number you choose.

    For right-censored times. The bound is on the share of the variance of the
    linear predictor that the sensitive attributes explain. See
    `FairRidgeRegressor` for the model and the attributes.

    Parameters
    ----------
    unfairness : float, default=0.05
        r in [0, 1]: 0 leaves no linear dependence on S, 1 is unconstrained.
    sensitive : str, int or list of these, optional
        Columns of X that are sensitive, by name or position. Alternatively
        pass `sensitive_features` to `fit`, `predict` and `score`.
    definition : str, object or callable, default="statistical-parity"
        What is bounded. "statistical-parity", "equality-of-opportunity" and
        "individual" choose a point on one path of models α(λ), with α = 0 at
        r = 0.
    penalty : {"ridge", "radial", "lasso", "elastic-net"} or object, default="ridge"
        Penalty on α.
    predictor_penalty : float or "cv", default=0.0
        λ₂ in −2 log partial likelihood + λ₂‖β‖², for standardized U. "cv"
        chooses it at the bound, by leaving rows out: see `predictor_penalty_`
        of `FairRidgeRegressor`.
    standardize : bool, default=True
        Whether the penalties see standardized columns.
    unknown : {"error", "base", "mean"}, default="error"
        How to handle a category at prediction time that was absent when fitting:
        raise an error, treat it as the base level, or take the average of its
        0/1 columns in training. A sensitive attribute has no base level that
        strangers belong to: with "base" as with "mean" it takes its average.
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
        Maximum number of search steps for λ(r), and of passes over the data per λ.
    separation : {"isolate", "warn", "error"}, default="isolate"
        What happens to levels of predictors whose rows all have the same outcome,
        if `predictor_penalty` is 0. "isolate" leaves these rows out of the fit
        and the bound, if they have at most 1 % of the weight, and gives each
        level a finite coefficient; "warn" keeps them; "error" refuses them.
    min_frequency : int or float, optional
        Levels of a predictor with less weight (rows, if there are no weights),
        or, below 1, with a smaller share of it, become "(other)": the base
        level of such a column, which also takes levels that were not there at
        fit, whatever `unknown` says.
    max_levels : int or None, default=1000
        The most levels that a categorical column may have; more than ten, and
        more than half as many as rows, are refused as well. Keys, amounts and
        dates that were read as text would become thousands of columns. None
        allows any number.
    blind : bool, default=False
        Whether S is used at fit only. The model then is one of X alone,
        min D(b) + λ‖P_S Xb‖² + λ₂‖b‖², and "statistical-parity" is R² of its
        linear predictor on S.
    controls : str, int or list of these, optional
        Columns of X, by name or position, that may explain differences: the
        bound on "statistical-parity" is on what S explains beyond them.
        `unfairness_components_` has the share without them beside it.
    confidence : float, optional
        1 − δ: the bound then holds for the population that the rows came from,
        with that confidence over samples of rows. The model is fitted with a
        smaller bound, which `certificate_` has. If no bound is certified, the
        model is the fit at r = 0, with a warning that says how many rows would
        do. For R² on S of the linear predictor or of the predicted means;
        shares of deviance and other definitions are refused.
    certification : {"auto", "closed-form", "draws", "held-out"}, default="auto"
        How a bound is certified: by a noncentral F ("auto" for gaussian
        models), by draws of what the rows leave open about the population
        ("auto" for others), or by tests on half of the rows, which the model
        is then not fitted to.
    missing : {"error", "level"}, default="error"
        How to handle missing values of S and X: raise an error, or learn from
        them. Then a missing category is the level "(missing)", and a missing
        number is the mean of the others, beside a 0/1 column
        ``name[(missing)]`` if values were missing when fitting.

    Attributes
    ----------
    event_times_, cumulative_hazard_ : ndarray
        Distinct event times, and Breslow's baseline cumulative hazard there,
        of a row at the training means.
    """

    # Risk sets need the rows in their order.
    _sums_on_devices = False
    _takes_sparse = False

    def __init__(
        self,
        unfairness: Unfairness = 0.05,
        *,
        sensitive: ColumnNames | None = None,
        definition: DefinitionLike = "statistical-parity",
        penalty: PenaltyLike = "ridge",
        predictor_penalty: float | Literal["cv"] = 0.0,
        standardize: bool = True,
        unknown: UnknownLevels = "error",
        predictor_map: FeatureMap = None,
        sensitive_map: FeatureMap = None,
        ties: Literal["breslow", "efron"] = "breslow",
        tol: float = 1e-10,
        max_iter: int = 100,
        separation: Literal["isolate", "warn", "error"] = "isolate",
        min_frequency: float | None = None,
        max_levels: int | None = MAX_LEVELS,
        blind: bool = False,
        controls: ColumnNames | None = None,
        confidence: float | None = None,
        certification: Certification = "auto",
        missing: MissingValues = "error",
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
            separation=separation,
            min_frequency=min_frequency,
            max_levels=max_levels,
            blind=blind,
            controls=controls,
            confidence=confidence,
            certification=certification,
            missing=missing,
        )
        self.ties = ties

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
        inputs, eta = read_scored(self, X, sensitive_features, sample_weight, offset)
        values = SurvivalTimes.times_and_events(y, inputs)
        return concordance_index(values[:, 0], values[:, 1], eta, inputs.weights)

    @property
    def _response_kind(self) -> SurvivalTimes:
        return SurvivalTimes(self.ties)

    def _store(self, training: Training, problem: Problem, solution: Solution) -> Self:
        super()._store(training, problem, solution)
        # The partial likelihood has no intercept: η is relative to the training means.
        fit = solution.fit
        self.fair_intercept_ = float(-(fit.alpha @ problem.basis.center_sensitive))
        baseline = BaselineHazard(self.family_)
        self.event_times_, self._log_hazard = fit.sum_over_rows(
            baseline, sensitive=True, predictors=True, center=True
        )
        self.cumulative_hazard_ = _exp(self._log_hazard)
        self.n_iter_ = problem.engine.passes
        return self


def _exp(x: Floats) -> Floats:
    """Return eˣ, or a finite number that serves as infinity would."""
    return np.exp(np.minimum(x, 700.0))
