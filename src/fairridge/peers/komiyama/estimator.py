"""Least squares under a bound on the share of S: Komiyama et al.'s model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin, clone

from fairridge._arrays import SUM_TOLERANCE
from fairridge._typing import Floats
from fairridge._warnings import warn_user
from fairridge.arguments import check_number
from fairridge.engines import Engine
from fairridge.estimators import _means
from fairridge.estimators._fair_ridge import LinearModel
from fairridge.estimators._model import PENALTY_OR_FEWER, Traits
from fairridge.estimators._responses import Response
from fairridge.estimators._training import Training
from fairridge.exceptions import BoundWarning
from fairridge.fairness import StatisticalParity
from fairridge.peers._model import response_kind
from fairridge.peers.komiyama.problem import komiyama_problem
from fairridge.search import Solution


@dataclass(eq=False, repr=False, kw_only=True)
class KomiyamaRegressor(RegressorMixin, LinearModel):
    """Least squares whose share of variance explained by S is bounded (NCLM).

    With U = X − SB the predictors decorrelated from S,

        min ‖y − Sα − Uβ‖²  subject to  VAR(Sα) / (VAR(Sα) + VAR(Uβ)) ≤ r

    (Komiyama, Takeda, Honda and Shimao 2018, "Nonconvex Optimization for
    Regression with Fairness Constraints"). The solution is the projection of
    the least-squares fit on a cone, in closed form: α shrinks and β grows, each
    as a whole. No model with this share has a smaller training error, so
    neither has `FairRidgeRegressor`; but its β does not change with r, and here
    it does.

    Parameters
    ----------
    predictor_penalty : float, default=0.0
        λ₂ in ‖y − Sα − Uβ‖² + λ₂‖β‖², for standardized U. The bound still is
        on the share itself.
    ridge : float, default=0.0
        Added to SᵀS and UᵀU of standardized columns, in objective and bound, as
        R's fairml does. The bound then is on a regularized share;
        `unfairness_` is the share itself.
    covariance : scikit-learn covariance estimator or callable, optional
        Used instead of the covariance matrix of the standardized columns
        [S, U], in objective and bound: an estimator such as `LedoitWolf()`, or
        a function from the (n, q+p) array of columns to a (q+p, q+p) matrix, of
        which the blocks of S and of U are used. `unfairness_` is again the
        share itself. Takes no weights.

    Attributes
    ----------
    alpha_, beta_, fair_intercept_, coef_, intercept_, unfairness_, status_, …
        As in `FairRidgeRegressor`.
    lambda_ : float
        The multiplier μ of the bound (1 − r)‖Sα‖² ≤ r‖Uβ‖²: without penalties
        α = α_OLS/(1 + μ(1 − r)) and β = β_OLS/(1 − μr). ∞ at r = 0.

    See Also
    --------
    FairRidgeRegressor : The same bound by a ridge.
    BlindExactRegressor : The same without S at prediction.

    References
    ----------
    .. [1] Komiyama, Takeda, Honda and Shimao (2018), Nonconvex optimization for regression
        with fairness constraints, ICML.
    .. [2] Scutari, Panero and Proissl (2022), section 2.

    Examples
    --------
    >>> import numpy as np
    >>> from fairridge import KomiyamaRegressor
    >>> rng = np.random.default_rng(0)
    >>> sex = rng.integers(0, 2, 500)
    >>> skill = rng.normal(size=500) + sex
    >>> wage = 2 * skill + 3 * sex + rng.normal(size=500)
    >>> model = KomiyamaRegressor(unfairness=0.05, sensitive=[0])
    >>> round(model.fit(np.column_stack([sex, skill]), wage).unfairness_, 6)
    0.05
    """

    predictor_penalty: float = 0.0
    ridge: float = 0.0
    covariance: Any = None

    predict = _means.predict
    score = _means.score
    _response_kind = property(response_kind)

    @property
    def _traits(self) -> Traits:
        lambda_2 = check_number("predictor_penalty", self.predictor_penalty, minimum=0.0)
        regular = lambda_2 > 0.0 or self.ridge > 0.0 or self.covariance is not None
        return Traits(
            StatisticalParity(),
            moments_suffice=self.covariance is None,
            regularized=regular,
            advice=None if regular else PENALTY_OR_FEWER,
            multiplier="Multiplier μ",
        )

    def _problem_on(self, engine: Engine, response: Response) -> Any:
        return komiyama_problem(
            engine,
            predictor_penalty=check_number(
                "predictor_penalty", self.predictor_penalty, minimum=0.0
            ),
            ridge=check_number("ridge", self.ridge, minimum=0.0),
            covariance=None if self.covariance is None else self._covariance_on(engine),
        )

    def _covariance_on(self, engine: Engine) -> Any:
        """Return a function from columns to a covariance matrix, checked."""
        covariance = self.covariance
        if isinstance(covariance, type) or not (callable(covariance) or hasattr(covariance, "fit")):
            raise TypeError(
                f"covariance={covariance!r}: use a covariance estimator such as LedoitWolf(), or "
                "a function from columns to their covariance matrix."
            )
        if np.ptp(engine.weights) > 0.0:
            raise ValueError(
                "covariance=… takes no weights; leave sample_weight out, or use ridge=… instead."
            )

        def estimated(columns: Floats) -> Floats:
            if hasattr(covariance, "fit"):
                matrix = clone(covariance).fit(columns).covariance_
            else:
                matrix = covariance(columns)
            matrix, k = np.asarray(matrix, dtype=np.float64), columns.shape[1]
            if matrix.shape != (k, k) or not np.isfinite(matrix).all():
                raise ValueError(
                    f"covariance returns an array of shape {matrix.shape}; it must be a ({k}, {k}) "
                    "matrix of finite numbers."
                )
            return matrix

        return estimated

    def _warn_of_solutions(
        self, problem: Any, solutions: list[Solution], training: Training
    ) -> None:
        for solution in solutions:
            r = solution.unfairness
            if not problem.place(r).is_determined:
                message = (
                    f"beta is not determined for unfairness={r:g}: a direction of the predictors "
                    "that explains nothing of the response could make any alpha fair. It is left "
                    "out."
                )
            elif solution.achieved > r + SUM_TOLERANCE:
                message = (
                    f"with ridge or covariance the bound holds for a regularized share only: the "
                    f"share itself is {solution.achieved:.4g} for unfairness={r:g}."
                )
            else:
                continue
            warn_user(message, BoundWarning)
            return
