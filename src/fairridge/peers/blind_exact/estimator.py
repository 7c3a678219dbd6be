"""The best linear model of X alone under a bound on R² of its fit on S."""

from __future__ import annotations

from sklearn.base import RegressorMixin

from fairridge.engines import Engine
from fairridge.estimators import _means
from fairridge.estimators._fair_ridge import LinearModel
from fairridge.estimators._model import Traits
from fairridge.estimators._responses import Response
from fairridge.fairness import StatisticalParity
from fairridge.models.spaces import blind_space
from fairridge.peers._model import response_kind
from fairridge.peers.blind_exact.problem import BlindExactProblem


class BlindExactRegressor(RegressorMixin, LinearModel):
    """Least squares on X alone, R² of whose fitted values on S is bounded.

        min ‖y − Xb‖²  subject to  R² of Xb on S ≤ r

    S is used at fit and not at predict. The problem is not convex, and is
    solved exactly from one equation in one number. No blind model with this
    share of S has a smaller training error, so neither has
    ``FairRidgeRegressor(blind=True)``; but while that one only shrinks what S
    explains, this one also inflates what S does not explain, by 1/(1 − μr), as
    `KomiyamaRegressor` does.

    Parameters
    ----------
    sensitive : str, int or list of these, optional
        Columns of X that are sensitive, by name or position. Alternatively
        pass `sensitive_features` to `fit`. Neither is needed after that.

    Attributes
    ----------
    coef_ : ndarray of shape (p,)
        Coefficients of X.
    alpha_, beta_, intercept_, unfairness_, status_, …
        As in `FairRidgeRegressor`.
    lambda_ : float
        The multiplier μ of the bound ‖P_S Xb‖² ≤ r‖Xb‖²; ∞ at r = 0.

    See Also
    --------
    FairRidgeRegressor : With ``blind=True``, shrinks what S explains and nothing else.
    KomiyamaRegressor : The same with S at prediction.

    References
    ----------
    .. [1] "Models that do not use S to predict" in docs/model.md.

    Examples
    --------
    >>> import numpy as np
    >>> from fairridge import BlindExactRegressor
    >>> rng = np.random.default_rng(0)
    >>> sex = rng.integers(0, 2, 500)
    >>> skill, hours = rng.normal(size=500) + sex, rng.normal(size=500)
    >>> wage = 2 * skill + hours + 3 * sex + rng.normal(size=500)
    >>> model = BlindExactRegressor(unfairness=0.05, sensitive=[0])
    >>> round(model.fit(np.column_stack([sex, skill, hours]), wage).unfairness_, 6)
    0.05
    """

    predict = _means.predict
    score = _means.score
    _response_kind = property(response_kind)

    @property
    def _traits(self) -> Traits:
        return Traits(
            StatisticalParity(measure="variance"),
            needs_sensitive=False,
            moments_suffice=True,
            regularized=True,  # predictors may be collinear with S: X alone is checked
            multiplier="Multiplier μ",
        )

    def _problem_on(self, engine: Engine, response: Response) -> BlindExactProblem:
        return BlindExactProblem(blind_space(engine, standardize=True))
