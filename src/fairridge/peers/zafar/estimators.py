"""Linear and logistic regression under Zafar et al.'s bounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin

from fairridge._warnings import warn_user
from fairridge.arguments import check_count, check_number, check_option, listed
from fairridge.engines import Engine
from fairridge.estimators import _labels, _means
from fairridge.estimators._fair_ridge import LinearModel
from fairridge.estimators._model import Traits
from fairridge.estimators._responses import Response
from fairridge.estimators._training import Training
from fairridge.exceptions import BoundWarning, DataWarning
from fairridge.models import factorize
from fairridge.models.spaces import BlindSpace, blind_space_of
from fairridge.peers._model import costly, response_kind
from fairridge.peers.zafar.least_squares import ZafarProblem, definition_of
from fairridge.peers.zafar.logistic import ZafarGLMProblem
from fairridge.peers.zafar.predictor_space import AtZero, Bound, PredictorSpaces
from fairridge.penalties import Radial
from fairridge.search import SEPARATION_RIDGE, ModelSettings, Solution


@dataclass(eq=False, repr=False, kw_only=True)
class _Zafar(LinearModel):
    """A linear model of X alone, whose association with each column of S is bounded.

    Parameters
    ----------
    unfairness : float, default=0.05
        r: from 0 (no linear dependence on S) to 1 (unconstrained) for
        correlations, any number from 0 on for covariances.
    sensitive : str, int or list of these, optional
        Columns of X that are sensitive, by name or position. Alternatively
        pass `sensitive_features` to `fit`. Neither is needed after that.
    """

    bound: Bound = "correlation"
    at_zero: AtZero = "project"

    _response_kind = property(response_kind)
    _remedy = "raise max_iter, or leave out predictors that separate the classes"

    @property
    def _traits(self) -> Traits:
        return Traits(
            definition_of(self.bound),
            largest_bound=np.inf if self.bound == "covariance" else 1.0,
            needs_sensitive=False,
            moments_suffice=True,
            regularized=True,  # predictors may be collinear with S: X alone is checked
            multiplier="Price of the bound",
        )

    def _spaces(self, engine: Engine) -> tuple[BlindSpace, PredictorSpaces]:
        """Read the rows once, or twice if they are ill-conditioned, and decompose."""
        check_option("bound", self.bound, ("correlation", "covariance"))
        check_option("at_zero", self.at_zero, ("project", "drop"))
        factor = factorize(engine)
        spaces = PredictorSpaces(factor, engine.n_sensitive, self.bound, self.at_zero)
        return blind_space_of(engine, factor, standardize=True), spaces

    def _warn_of_solutions(
        self, problem: Any, solutions: list[Solution], training: Training
    ) -> None:
        """Warn if only the intercept meets a bound."""
        for solution in solutions:
            if not solution.fit.beta.any() and solution.fit.lambda_ > 0.0:
                r = f"unfairness={solution.unfairness:g}"
                warn_user(
                    f"only the intercept meets {r}: every combination of the predictors is more "
                    "closely associated with S."
                    if solution.unfairness == 0.0 or self.bound == "covariance"
                    else f"only the intercept meets {r} among the models with limited "
                    "covariances; raise the bound, or set bound='covariance'.",
                    BoundWarning,
                )
                return


class ZafarRegressor(RegressorMixin, _Zafar):
    """Least squares whose predictions are bounded in their association with each S (ZLM).

        min ‖y − Xb‖²  subject to  |COV(Sⱼ, Xb)| ≤ c for every j

    (Zafar, Valera, Gomez-Rodriguez and Gummadi 2019, "Fairness Constraints: A
    Flexible Approach for Fair Classification", for least squares). S is not a
    predictor: the model needs it only at fit, and its coefficients are zero.
    In coordinates in which Xb has length ‖w‖ this is a projection, exact for
    every c.

    Each sensitive column is bounded on its own. Together they can explain more
    of the predictions than any of them does, so a bound r here is a weaker
    promise than the same r in `FairRidgeRegressor`, which also is on another
    scale: there it is a share of variance, here a correlation.

    Parameters
    ----------
    bound : {"correlation", "covariance"}, default="correlation"
        What r bounds. "correlation": max_j |COR(Sⱼ, ŷ)|, by the c at which it is
        r, S standardized; it grows with c, so c is unique. Other b with the
        same correlations may fit better: finding the best is not a convex problem.
        "covariance": max_j |COV(Sⱼ, ŷ)|, divisor n − 1, in the units of S and y.
    at_zero : {"project", "drop"}, default="project"
        What r = 0 means. "project": least squares among all combinations of
        predictors without covariance with S. "drop": least squares on those
        predictors that have none, usually the intercept alone, as in R's fairml.

    Attributes
    ----------
    beta_ : ndarray of shape (p,)
        b, the coefficients of X.
    alpha_ : ndarray of shape (q,)
        Bb: what X brings in of S, so that η = fair_intercept_ + Sα + Uβ as in the
        other models, with U = X − SB.
    coef_ : ndarray of shape (p,)
        b, in the order of the input columns.
    lambda_ : float
        By how much ‖y − Xb‖² falls per unit of c; for correlations, per unit of
        the covariance with standardized S.
    unfairness_components_ : dict of str to float
        The association of every sensitive column.
    intercept_, fair_intercept_, unfairness_, status_, …
        As in `FairRidgeRegressor`.

    See Also
    --------
    ZafarClassifier : The same for two classes.
    FairRidgeRegressor : One bound for all attributes together.

    References
    ----------
    .. [1] Zafar et al. (2019), Fairness constraints: a flexible approach for fair
        classification, Journal of Machine Learning Research 20, 75.
    .. [2] docs/peers.md.

    Examples
    --------
    >>> import numpy as np
    >>> from fairridge import ZafarRegressor
    >>> rng = np.random.default_rng(0)
    >>> sex = rng.integers(0, 2, 500)
    >>> skill, hours = rng.normal(size=500) + sex, rng.normal(size=500)
    >>> wage = 2 * skill + 3 * sex + hours + rng.normal(size=500)
    >>> X = np.column_stack([skill, hours])
    >>> model = ZafarRegressor(unfairness=0.05).fit(X, wage, sensitive_features=sex)
    >>> round(model.unfairness_, 6), model.predict(X).shape
    (0.05, (500,))
    """

    predict = _means.predict
    score = _means.score

    def _problem_on(self, engine: Engine, response: Response) -> Any:
        return ZafarProblem(*self._spaces(engine))


@dataclass(eq=False, repr=False, kw_only=True)
class ZafarClassifier(ClassifierMixin, _Zafar):
    """Logistic regression whose linear predictor is bounded in its association with each S (ZLRM).

        min −2 log-likelihood  subject to  |COV(Sⱼ, η)| ≤ c for every j,  η = intercept + Xb

    (Zafar, Valera, Gomez-Rodriguez and Gummadi 2019), for two classes. See
    `ZafarRegressor` for the bounds and the attributes. Here the correlation
    need not grow with c near the unconstrained model; the largest c up to which
    it stays below r is used.

    Parameters
    ----------
    bound : {"correlation", "covariance"}, default="correlation"
        What r bounds, of the linear predictor.
    at_zero : {"project", "drop"}, default="project"
        What r = 0 means: all combinations of predictors without covariance with
        S, or only those predictors that have none.
    tol : float, default=1e-10
        How closely a bound on correlations is met; it is never exceeded.
    max_iter : int, default=100
        Maximum number of passes over the data per c, and of c per r.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        Sorted class labels.
    positive_ : label
        The class that coefficients are about, ``classes_[1]``.
    lambda_ : float
        By how much the deviance falls per unit of c.

    See Also
    --------
    ZafarRegressor : The same for numbers.
    FairRidgeClassifier : One bound for all attributes together.

    References
    ----------
    .. [1] Zafar et al. (2019), Fairness constraints: a flexible approach for fair
        classification, Journal of Machine Learning Research 20, 75.
    .. [2] docs/peers.md.

    Examples
    --------
    >>> from fairridge import ZafarClassifier
    >>> from fairridge.datasets import load_german_credit
    >>> credit = load_german_credit()
    >>> X, y = credit.X[["Gender", "Duration", "Telephone"]], credit.y
    >>> model = ZafarClassifier(0.05, sensitive="Gender").fit(X, y)
    >>> print(f"{model.unfairness_:.4f}")
    0.0500
    """

    tol: float = 1e-10
    max_iter: int = 100

    predict = _labels.predict
    predict_proba = _labels.predict_proba
    decision_function = _labels.decision_function
    score = _labels.score

    def __sklearn_tags__(self) -> Any:
        return costly(self, super().__sklearn_tags__())

    def _problem_on(self, engine: Engine, response: Response) -> Any:
        tol = check_number("tol", self.tol, minimum=0.0, strict=True)
        max_iter = check_count("max_iter", self.max_iter)
        settings = ModelSettings(Radial(), tol=tol, max_iter=max_iter, blind=True)
        return ZafarGLMProblem(*self._spaces(engine), response.family, settings)

    def _warn_of_solutions(
        self, problem: Any, solutions: list[Solution], training: Training
    ) -> None:
        super()._warn_of_solutions(problem, solutions, training)
        separations = [solution.fit.separation for solution in solutions]
        columns = {name for one in separations if one is not None for name in one.columns}
        if columns:
            names = [name for name in problem.engine.names if name in columns]
            warn_user(
                f"column(s) {listed(names)} separate the classes: their coefficients would have "
                f"no limit, so a ridge of {SEPARATION_RIDGE:g} per row, on all standardized "
                "columns, holds them. Leave the columns out, or merge rare levels.",
                DataWarning,
            )
