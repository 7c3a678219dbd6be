"""Linear regression with a penalty on mutual information."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin

from fairridge._typing import Floats
from fairridge.arguments import check_count, check_number
from fairridge.data import Encoding
from fairridge.data.columns import FilledColumn
from fairridge.engines import Engine
from fairridge.estimators import _means
from fairridge.estimators._fair_ridge import LinearModel
from fairridge.estimators._model import Traits
from fairridge.estimators._responses import Response
from fairridge.estimators._training import Training
from fairridge.fairness import StatisticalParity
from fairridge.models.spaces import plain_space
from fairridge.peers._model import (
    costly,
    discrete_values,
    given_penalty,
    response_kind,
    solve_penalized,
)
from fairridge.peers.steinberg.problem import SteinbergProblem
from fairridge.penalties import Ridge
from fairridge.search import ModelSettings, Solution


@dataclass(eq=False, repr=False, kw_only=True)
class SteinbergRegressor(RegressorMixin, LinearModel):
    """Linear regression that is penalized for information about S in its predictions.

    The model of Steinberg, Reid and O'Callaghan (2020, "Fairness Measures for
    Regression via Probabilistic Classification"), extended to several
    attributes and to attributes with more than two values as in Scutari,
    Panero and Proissl (2022):

        min −ℓ(y | S, X) + γ Σ_k MI_k,   ŷ = intercept + Sα + Uβ.

    ℓ is the gaussian log-likelihood at its best variance. MI_k, the mutual
    information between attribute k and ŷ, is the mean over rows of
    log ρ_k(s_k | ŷ)/P(s_k), with ρ_k the logistic (for more than two values,
    multinomial) regression of the attribute on ŷ.

    γ has no scale of its own. By default it is the smallest beyond which the
    share of VAR(ŷ) that S explains stays within `unfairness`; MI_k = 0 for all
    k means a share of zero, so every bound can be met. At r = 0 the model is
    that of γ → ∞, least squares without α.

    Parameters
    ----------
    unfairness : float, default=0.05
        r in [0, 1]: 0 leaves no linear dependence on S, 1 is unconstrained. Not
        used if `gamma` is given.
    sensitive : str, int or list of these, optional
        Columns of X that are sensitive, by name or position. Alternatively
        pass `sensitive_features` to `fit`, `predict` and `score`. They must
        be discrete: categories, or numbers with at most 20 distinct values.
    gamma : float, optional
        γ itself, instead of a bound.
    predictor_map : scikit-learn transformer, optional
        Maps the encoded columns of X to features first.
    sensitive_map : None
        Groups have no features; anything else is an error.
    tol : float, default=1e-10
        How closely an active bound is met.
    max_iter : int, default=100
        Maximum number of search steps for γ, and of Newton steps per γ.

    Attributes
    ----------
    lambda_ : float
        γ; ∞ at r = 0.
    mutual_information_ : dict of str to float
        MI of every attribute, in nats.
    unfairness_ : float
        The share of VAR(ŷ) that S explains.

    See Also
    --------
    FairRidgeRegressor : The other attributes.

    Notes
    -----
    The objective is not convex. Each γ is solved from two starts, the model at
    the next smaller γ and the limit γ → ∞, and the better one is kept.

    References
    ----------
    .. [1] Steinberg, Reid and O'Callaghan (2020), Fairness measures for regression via
        probabilistic classification.
    .. [2] Scutari, Panero and Proissl (2022), section 5.3.

    Examples
    --------
    >>> import numpy as np
    >>> from fairridge import SteinbergRegressor
    >>> rng = np.random.default_rng(0)
    >>> group, x, noise = rng.choice([0.0, 1.0], 200), *rng.normal(size=(2, 200))
    >>> model = SteinbergRegressor(0.2).fit(x[:, None], x + group + noise, sensitive_features=group)
    >>> print(model.status_)
    inactive
    """

    gamma: float | None = None
    tol: float = 1e-10
    max_iter: int = 100

    predict = _means.predict
    score = _means.score
    _response_kind = property(response_kind)

    @property
    def _traits(self) -> Traits:
        return Traits(
            StatisticalParity(),
            needs_groups=True,
            multiplier="γ",
            given_penalty=given_penalty("gamma", self.gamma),
        )

    def _problem_on(self, engine: Engine, response: Response) -> SteinbergProblem:
        values = discrete_values(engine, type(self).__name__)
        codes = [np.unique(column, return_inverse=True)[1] for column in values.T]
        tol = check_number("tol", self.tol, minimum=0.0, strict=True)
        most = check_count("max_iter", self.max_iter)
        space = plain_space(engine, standardize=True, n_targets=1)
        return SteinbergProblem(space, tuple(codes), ModelSettings(Ridge(), tol=tol, max_iter=most))

    def _solve(
        self, problem: Any, bounds: Floats, held_out: Engine | None = None
    ) -> list[Solution]:
        return solve_penalized(problem, bounds, self.gamma)

    def _store(
        self, training: Training, problem: Any, solution: Solution, solved: Self | None = None
    ) -> Self:
        super()._store(training, problem, solution, solved)
        encoding = training.design.sensitive
        assert isinstance(encoding, Encoding)
        # A number that is missing in some rows has two columns, and a part of its own in each.
        names = [
            name
            for column in encoding.columns
            for name in (
                column.encoded_names if isinstance(column, FilledColumn) else (column.name,)
            )
        ]
        self.mutual_information_ = dict(zip(names, problem.information(solution.fit), strict=True))
        return self

    def _facts(self) -> dict[str, str]:
        facts = super()._facts()
        return facts | {f"MI {k}": f"{v:.6g}" for k, v in self.mutual_information_.items()}

    def __sklearn_tags__(self) -> Any:
        return costly(self, super().__sklearn_tags__(), self.gamma)
