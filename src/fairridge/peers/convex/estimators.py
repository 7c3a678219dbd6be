"""Generalized linear models with a convex penalty on unequal treatment of equal outcomes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin

from fairridge._typing import Floats
from fairridge._warnings import warn_user
from fairridge.arguments import check_count, check_number, listed
from fairridge.data.groups import group_codes
from fairridge.engines import Engine
from fairridge.estimators import _labels, _means
from fairridge.estimators._fair_ridge import LinearModel
from fairridge.estimators._model import Traits
from fairridge.estimators._responses import Classes, Response
from fairridge.estimators._training import Training
from fairridge.exceptions import DataWarning
from fairridge.peers._model import (
    costly,
    discrete_values,
    given_penalty,
    require_predictors,
    response_kind,
    solve_penalized,
)
from fairridge.peers.convex.definition import OutcomePairs
from fairridge.peers.convex.problem import convex_problem
from fairridge.search import SEPARATION_RIDGE, Solution


@dataclass(eq=False, repr=False, kw_only=True)
class _ConvexFair(LinearModel):
    """What both models share.

    Parameters
    ----------
    unfairness : float, default=0.05
        r in [0, 1], bounds P(b)/P(b₀), b₀ at λ = 0. Every r can be met. Not
        used if `strength` is given.
    sensitive : str, int or list of these, optional
        Columns of X that are sensitive, by name or position; they are not
        predictors. Alternatively pass `sensitive_features` to `fit`. They must
        be discrete: categories, or numbers with at most 20 distinct values.
        Several together make one group per combination.
    strength : float, optional
        λ itself, instead of a bound.
    predictor_map : scikit-learn transformer, optional
        Maps the encoded columns of X to features first.
    sensitive_map : None
        Groups have no features; anything else is an error.
    tol : float, default=1e-10
        How closely an active bound is met.
    max_iter : int, default=100
        Maximum number of search steps for λ, and of passes over the data per λ.
    """

    strength: float | None = None
    tol: float = 1e-10
    max_iter: int = 100

    _response_kind = property(response_kind)

    @property
    def _checked_bins(self) -> int:
        """How many outcomes a numeric response is cut into; classes are outcomes themselves."""
        return check_count("bins", getattr(self, "bins", 1))

    @property
    def _traits(self) -> Traits:
        return Traits(
            OutcomePairs(self._checked_bins),
            needs_sensitive=False,
            needs_groups=True,
            regularized=True,  # predictors may be collinear with S: X alone is checked
            multiplier="λ",
            given_penalty=given_penalty("strength", self.strength),
        )

    def _problem_on(self, engine: Engine, response: Response) -> Any:
        return convex_problem(
            engine,
            response.family,
            groups=group_codes(discrete_values(engine, type(self).__name__)),
            bins=self._checked_bins,
            n_targets=response.targets.shape[1],
            tol=check_number("tol", self.tol, minimum=0.0, strict=True),
            max_iter=check_count("max_iter", self.max_iter),
        )

    def _solve(
        self, problem: Any, bounds: Floats, held_out: Engine | None = None
    ) -> list[Solution]:
        return solve_penalized(problem, bounds, self.strength)

    def _checked_problem(self, training: Training) -> Any:
        require_predictors(training, type(self).__name__)
        return super()._checked_problem(training)

    def _warn_of_solutions(
        self, problem: Any, solutions: list[Solution], training: Training
    ) -> None:
        if not problem.definition.form(problem.engine, False).any():
            warn_user(
                "no two groups share an outcome, so there is nothing to compare and no penalty.",
                DataWarning,
            )
        # P(b₀) is what a bound relates to; any penalty makes the coefficients finite.
        (fit,) = problem.solved_at(np.array([self.strength or 0.0]))
        if fit.separation is not None:
            warn_user(
                f"column(s) {listed(fit.separation.columns)} separate the responses: without a "
                "penalty their coefficients would have no limit, so a ridge of "
                f"{SEPARATION_RIDGE:g} per row, on all standardized columns, holds them, and "
                "P(b₀), to which unfairness relates. Merge rare levels, or give the penalty as "
                "strength=….",
                DataWarning,
            )


@dataclass(eq=False, repr=False, kw_only=True)
class ConvexFairRegressor(RegressorMixin, _ConvexFair):
    """Linear regression that treats people with similar outcomes alike across groups.

    The fair generalized linear model of Do, Putzel, Martin, Smyth and Zhong
    (2022, "Fair Generalized Linear Models with a Convex Penalty"):

        min RSS(b)/n + λ P(b),   ŷ = intercept + Xb,

    with P(b) the mean of (xᵢ·b − xⱼ·b)² over pairs of rows from two groups with
    the same outcome, averaged over all pairs of groups and all outcomes that
    both have. It is a quadratic form bᵀMb that needs no pairs: group means and
    covariances within outcomes are enough. S defines the groups and is not used
    to predict. For a continuous response, outcomes are bins of y.

    P(b) counts differences within groups as well: λ → ∞ makes all predictions
    equal, not only those of different groups.

    Parameters
    ----------
    bins : int, default=10
        Number of quantile bins of y. Equal values share a bin; a response
        with few distinct values has as many outcomes as that.

    Attributes
    ----------
    lambda_ : float
        λ; ∞ at r = 0.
    unfairness_ : float
        P(b)/P(b₀).
    unfairness_components_ : dict of str to float
        P(b) and P(b₀).
    beta_ : ndarray of shape (p,)
        b. The raw coefficients of S are zero; `alpha_` is what S explains of
        Xb, so that α and β compare with those of other models.

    See Also
    --------
    FairRidgeRegressor : The other attributes.

    References
    ----------
    .. [1] Do, Putzel, Martin, Smyth and Zhong (2022), Fair generalized linear models with a
        convex penalty, ICML.
    .. [2] docs/peers.md.

    Examples
    --------
    >>> import numpy as np
    >>> from fairridge import ConvexFairRegressor
    >>> rng = np.random.default_rng(0)
    >>> group, x = rng.choice(["a", "b"], 200), rng.normal(size=200)
    >>> model = ConvexFairRegressor(0.5)
    >>> model = model.fit(x[:, None], x + (group == "a"), sensitive_features=group)
    >>> print(f"{model.unfairness_:.4f}")
    0.5000
    """

    bins: int = 10

    predict = _means.predict
    score = _means.score

    def __sklearn_tags__(self) -> Any:
        return costly(self, super().__sklearn_tags__(), self.strength)


class ConvexFairClassifier(ClassifierMixin, _ConvexFair):
    """Logistic regression that treats people with equal outcomes alike across groups.

    Minimizes −2 log-likelihood/n + λ P(b), with P as in `ConvexFairRegressor`
    and the classes as outcomes; multinomial for more than two classes, P summed
    over them.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        Sorted class labels.
    positive_ : label or None
        The one of two classes that coefficients are about, ``classes_[1]``; None with more.

    See Also
    --------
    ConvexFairRegressor : The other attributes.

    References
    ----------
    .. [1] Do, Putzel, Martin, Smyth and Zhong (2022), Fair generalized linear models with a
        convex penalty, ICML.
    .. [2] docs/peers.md.

    Examples
    --------
    >>> import numpy as np
    >>> from fairridge import ConvexFairClassifier
    >>> rng = np.random.default_rng(0)
    >>> group, x = rng.choice(["a", "b"], 200), rng.normal(size=200)
    >>> y = x + (group == "a") + rng.normal(size=200) > 0
    >>> model = ConvexFairClassifier(0.5).fit(x[:, None], y, sensitive_features=group)
    >>> print(f"{model.unfairness_:.4f}")
    0.5000
    """

    predict = _labels.predict
    predict_proba = _labels.predict_proba
    decision_function = _labels.decision_function
    score = _labels.score

    @property
    def _response_kind(self) -> Classes:
        return Classes()

    def __sklearn_tags__(self) -> Any:
        return costly(self, super().__sklearn_tags__(), self.strength)
