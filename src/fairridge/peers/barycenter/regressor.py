"""Any regression, with its predictions moved to the Wasserstein barycenter of the groups."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.linear_model import LinearRegression

from fairridge._typing import Floats
from fairridge.data import Rows
from fairridge.engines import MemoryEngine
from fairridge.estimators import _means
from fairridge.fairness import StatisticalParity
from fairridge.families import Gaussian
from fairridge.peers._model import costly
from fairridge.peers.barycenter._base import Barycenter, r_squared
from fairridge.penalties import Ridge
from fairridge.search import ModelSettings, set_up


class BarycenterRegressor(RegressorMixin, Barycenter):
    """Regression whose predictions have the same distribution in every group.

    The post-processor of Chzhen, Denis, Hebiri, Oneto and Pontil (2020, "Fair
    Regression with Wasserstein Barycenters"). A regression f of y on [S, X]
    comes first. The prediction v of a row of group s then goes to

        T_s(v) = Σ_g p_g Q_g(F_s(v)),

    with F_s the distribution of predictions in group s, Q_g the quantile
    function in group g and p_g the share of that group. Among all predictions
    that are independent of the group these are nearest to f. For bounds in
    between (Chzhen and Schreuder 2022, "A minimax framework for quantifying
    risk-fairness trade-off in regression"),

        f_r = √r f + (1 − √r) T_s(f),

    which keeps the share r of the unfairness U(f) = Σ_g p_g W₂²(f | g, barycenter).

    Parameters
    ----------
    unfairness : float, default=0.05
        r in [0, 1]: 0 is the barycenter, 1 the regression itself.
    estimator : scikit-learn regressor, optional
        Fitted to the encoded columns [S, X]. The default is least squares, as
        in `FairRidgeRegressor` with unfairness=1, which does not depend on the
        units of the columns.
    split : float, optional
        Share of the rows, within each group, for the regression; the others
        serve the maps, as in the paper. By default all rows serve both.

    Attributes
    ----------
    estimator_ : estimator
        The fitted regression.
    groups_ : ndarray of str
        Labels of the groups.
    maps_ : tuple of Transport
        T of each group, with `support` and `image`.
    unfairness_ : float
        U(f_r)/U(f) in training: r, or 0 if the groups do not differ.
    unfairness_components_ : dict of str to float
        U(f_r), U(f), and the share of VAR(f_r) that the groups explain.
    training_score_ : float
        R² in training.
    status_ : str
        "inactive" if the predictions are those of the regression, else "converged".

    See Also
    --------
    BarycenterClassifier : The same for probabilities.
    FairStackingRegressor : A bound for any learner and any S.

    Notes
    -----
    The paper breaks ties by random jitter. Here an atom of a group's
    distribution goes to the mean of Σ_g p_g Q_g over all the levels it covers,
    which needs no jitter and gives all groups exactly the same mean in
    training. T is linear between the predictions of training and constant
    beyond them.

    References
    ----------
    .. [1] Chzhen, Denis, Hebiri, Oneto and Pontil (2020), Fair regression with Wasserstein
        barycenters, NeurIPS.
    .. [2] docs/peers.md.

    Examples
    --------
    >>> import numpy as np
    >>> from fairridge import BarycenterRegressor
    >>> rng = np.random.default_rng(0)
    >>> group, x = rng.choice(["a", "b"], 200), rng.normal(size=200)
    >>> model = BarycenterRegressor(0).fit(x[:, None], x + (group == "a"), sensitive_features=group)
    >>> fitted = model.predict(x[:, None], sensitive_features=group)
    >>> print(abs(fitted[group == "a"].mean() - fitted[group == "b"].mean()) < 0.02)
    True
    """

    _score_name: ClassVar[str] = "R²"

    predict = _means.predict
    score = _means.score

    def __sklearn_tags__(self) -> Any:
        return costly(self, super().__sklearn_tags__())

    def _default(self, rows: Rows, Z: Floats) -> LinearRegression:
        """Regress y on [S, X]."""
        # scikit-learn's own solver drops directions that are small beside the largest column,
        # whatever its unit; ours scales the columns first.
        settings = ModelSettings(Ridge())
        problem = set_up(MemoryEngine(rows), Gaussian(), StatisticalParity(), settings)
        basis, (fit,) = problem.basis, problem.fits(np.zeros(1))
        regression = LinearRegression()
        regression.coef_ = basis.raw_coefficients(fit.alpha, fit.beta)
        regression.intercept_ = float(basis.center_targets[0] - regression.coef_ @ basis.center)
        regression.n_features_in_ = len(regression.coef_)
        return regression

    def _predicted(self, estimator: Any, Z: Floats) -> Floats:
        return np.asarray(estimator.predict(Z), dtype=np.float64).reshape(len(Z))

    def _scored(self, y: Floats, predicted: Floats, weight: Floats) -> float:
        return r_squared(y, predicted, weight)
