"""The fair ridge regression model."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin, clone
from sklearn.metrics import r2_score

from fairridge.data import numeric_vector
from fairridge.estimators._base import FairModel
from fairridge.estimators._parameters import (
    check_bounds,
    check_number,
    resolve_family,
    resolve_penalty,
)
from fairridge.estimators._training import Training
from fairridge.estimators.path import FairnessPath
from fairridge.fairness import resolve_definition
from fairridge.search import GaussianProblem, Solution, gaussian_problem, solve_gaussian

__all__ = ["FairRidgeRegressor"]

Floats = NDArray[np.float64]


class FairRidgeRegressor(RegressorMixin, FairModel):
    """Ridge regression whose unfairness is bounded by a number you choose.

    Predictors X are decorrelated from the sensitive attributes S by least
    squares, U = X − SB, and

        min ‖y − Sα − Uβ‖² + λ(r)‖α‖² + λ₂‖β‖²

    is solved at the smallest λ(r) that keeps the unfairness of the model at
    most r (Scutari, Panero and Proissl 2022, "Achieving Fairness with a Simple
    Ridge Penalty"). The solution is exact.

    Parameters
    ----------
    unfairness : float, default=0.05
        r in [0, 1]: 0 is fair, 1 unconstrained.
    sensitive : str, int or list of these, optional
        Columns of X that are sensitive, by name or position. Alternatively
        pass `sensitive_features` to `fit`, `predict` and `score`.
    family : {"gaussian"} or object, default="gaussian"
        Distribution of the response.
    definition : str, object or callable, default="statistical-parity"
        What unfairness means: "statistical-parity", "equality-of-opportunity",
        "individual", an object from `fairridge.fairness`, or ``f(fit) -> float``.
    penalty : {"ridge"} or object, default="ridge"
        Penalty on α.
    predictor_penalty : float, default=0.0
        λ₂, on the scale of scikit-learn's `Ridge`, for standardized U.
    standardize : bool, default=True
        Whether the penalties see columns of S and U divided by their standard
        deviations (divisor n). Results are always on the original scale.
    unknown : {"error", "base"}, default="error"
        What a level that was not there at fit does at predict.
    tol : float, default=1e-10
        How closely an active bound is met.
    max_iter : int, default=100
        Steps of the search for λ(r) at most.

    Attributes
    ----------
    alpha_, beta_ : ndarray of shape (q,) and (p,)
        Coefficients of S and of U, original scale.
    intercept_ : float
        η = intercept_ + Sα + Uβ, S uncentered and U centered.
    raw_coef_, raw_intercept_ : ndarray of shape (q+p,) and float
        The same model, linear in the encoded columns `encoded_names_`.
    coef_ : ndarray of shape (n_features_in_,)
        Raw coefficients in the order of the input columns, where all are numbers.
    lambda_ : float
        λ(r); ∞ at r = 0.
    unfairness_ : float
        What was achieved.
    components_ : dict of str to float
        What `unfairness_` is made of.
    status_ : str
        "inactive", "converged", "infeasible" or "not-converged".
    bound_active_, converged_ : bool
        Whether the bound costs anything; whether it holds.
    deviance_, loglik_, r_squared_ : float
        Residual sum of squares, log-likelihood and R² in training.
    explained_by_sensitive_ : ndarray of shape (p,)
        Share of each predictor's variance that S explains.
    sensitive_names_, predictor_names_, encoded_names_ : ndarray of str
        Encoded column names.
    n_iter_ : int
        Passes over the data.

    Examples
    --------
    >>> import numpy as np
    >>> from fairridge import FairRidgeRegressor
    >>> rng = np.random.default_rng(0)
    >>> sex = rng.integers(0, 2, 500)
    >>> skill = rng.normal(size=500) + sex
    >>> wage = 2 * skill + 3 * sex + rng.normal(size=500)
    >>> model = FairRidgeRegressor(unfairness=0.05, sensitive=[0])
    >>> model.fit(np.column_stack([sex, skill]), wage).unfairness_.round(6)
    np.float64(0.05)
    """

    def __init__(
        self,
        unfairness: float = 0.05,
        *,
        sensitive: Any = None,
        family: Any = "gaussian",
        definition: Any = "statistical-parity",
        penalty: Any = "ridge",
        predictor_penalty: float = 0.0,
        standardize: bool = True,
        unknown: Any = "error",
        tol: float = 1e-10,
        max_iter: int = 100,
    ) -> None:
        self.unfairness = unfairness
        self.sensitive = sensitive
        self.family = family
        self.definition = definition
        self.penalty = penalty
        self.predictor_penalty = predictor_penalty
        self.standardize = standardize
        self.unknown = unknown
        self.tol = tol
        self.max_iter = max_iter

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        sensitive_features: Any = None,
        sample_weight: Any = None,
        offset: Any = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : frame or array of shape (n, k)
            Predictors, and the sensitive attributes where `sensitive` names them.
        y : array-like of shape (n,)
            Response.
        sensitive_features : frame or array of shape (n, q), optional
            Sensitive attributes, where `sensitive` is None.
        sample_weight : array-like of shape (n,), optional
            Weights; a row of weight zero is absent.
        offset : array-like of shape (n,), optional
            Added to the linear predictor with coefficient 1.

        Returns
        -------
        self
        """
        bounds = check_bounds(self.unfairness)
        if len(bounds) != 1:
            raise ValueError("unfairness must be one number; use path() for several.")
        training = self._read(X, y, sensitive_features, sample_weight, offset)
        problem = self._problem(training)
        solution = self._solve(problem, bounds)[0]
        self._warn_of_bound(solution)
        return self._accept_gaussian(training, problem, solution)

    def path(
        self,
        X: Any,
        y: Any = None,
        *,
        unfairness: Any = None,
        sensitive_features: Any = None,
        sample_weight: Any = None,
        offset: Any = None,
    ) -> FairnessPath:
        """Fit the models for many bounds at once.

        Parameters
        ----------
        X, y, sensitive_features, sample_weight, offset
            As in `fit`.
        unfairness : array-like, optional
            The bounds; 0, 0.01, …, 1 by default.
        """
        bounds = check_bounds(np.linspace(0.0, 1.0, 101) if unfairness is None else unfairness)
        training = self._read(X, y, sensitive_features, sample_weight, offset)
        problem = self._problem(training)
        return self._path(training, problem, self._solve(problem, bounds))

    def predict(self, X: Any, *, sensitive_features: Any = None, offset: Any = None) -> Floats:
        """Predict the mean response.

        Parameters
        ----------
        X : frame or array of shape (n, k)
            New rows; columns of a frame may be in any order.
        sensitive_features : frame or array, optional
            Required if and only if it was given at fit.
        offset : array-like of shape (n,), optional
            Added to the linear predictor.
        """
        return self._linear_predictor(X, sensitive_features, offset)

    def score(
        self,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any = None,
        sample_weight: Any = None,
        offset: Any = None,
    ) -> float:
        """Return R² on the given rows."""
        predicted = self.predict(X, sensitive_features=sensitive_features, offset=offset)
        response = numeric_vector(y, len(predicted), "y")
        return float(r2_score(response, predicted, sample_weight=sample_weight))

    def _problem(self, training: Training) -> GaussianProblem:
        resolve_family(self.family)
        predictor_penalty = check_number("predictor_penalty", self.predictor_penalty, least=0.0)
        problem = gaussian_problem(
            training.engine,
            penalty=resolve_penalty(self.penalty),
            predictor_penalty=predictor_penalty,
            standardize=bool(self.standardize),
        )
        self._warn_of_data(problem.basis, training.engine.names, penalized=predictor_penalty > 0.0)
        return problem

    def _solve(self, problem: GaussianProblem, bounds: Floats) -> list[Solution]:
        return solve_gaussian(
            problem,
            resolve_definition(self.definition),
            bounds,
            tol=check_number("tol", self.tol, least=0.0, strict=True),
            max_iter=int(check_number("max_iter", self.max_iter, least=1.0)),
        )

    def _accept_gaussian(
        self, training: Training, problem: GaussianProblem, solution: Solution
    ) -> Self:
        self._accept(training, problem.basis, solution)
        self.loglik_ = problem.family.loglik(self.deviance_, problem.basis.weight)
        total = problem.basis.total_sum_of_squares
        self.r_squared_ = 1.0 - self.deviance_ / total if total > 0.0 else 1.0
        return self

    def _path(
        self, training: Training, problem: GaussianProblem, solutions: list[Solution]
    ) -> FairnessPath:
        fits = [solution.fit for solution in solutions]
        design, basis = training.design, problem.basis
        deviance = np.array([fit.deviance for fit in fits])
        total = basis.total_sum_of_squares

        def model_at(unfairness: float) -> Any:
            model = clone(self).set_params(unfairness=unfairness)
            solution = model._solve(problem, check_bounds(unfairness))[0]
            return model._accept_gaussian(training, problem, solution)

        return FairnessPath(
            unfairness=np.array([solution.unfairness for solution in solutions]),
            lambda_=np.array([fit.lambda_ for fit in fits]),
            alpha=np.array([fit.alpha for fit in fits]),
            beta=np.array([fit.beta for fit in fits]),
            intercept=np.array([fit.intercept for fit in fits]),
            achieved=np.array([solution.achieved for solution in solutions]),
            status=tuple(solution.choice.status for solution in solutions),
            deviance=deviance,
            score=1.0 - deviance / total if total > 0.0 else np.ones(len(fits)),
            components={
                name: np.array([solution.components[name] for solution in solutions])
                for name in solutions[0].components
            },
            sensitive_names=design.sensitive.names,
            predictor_names=design.predictors.names,
            definition=resolve_definition(self.definition).name,
            score_name="r_squared",
            _deviations=(
                np.sqrt(np.diag(basis.sensitive.scatter()) / basis.weight),
                np.sqrt(np.diag(basis.predictors.scatter()) / basis.weight),
            ),
            _backend=training.backend,
            _model_at=model_at,
        )

    def _facts(self) -> tuple[tuple[str, str], ...]:
        definition = resolve_definition(self.definition).name
        facts = {
            "Family": "gaussian",
            "Penalty": resolve_penalty(self.penalty).name,
            "Rows": f"{self.n_rows_:,}",
            "R²": f"{self.r_squared_:.4f}",
            "Log-likelihood": f"{self.loglik_:.2f}",
            "Definition": definition,
            "Bound r": f"{self.unfairness:g}",
            "Achieved": f"{self.unfairness_:.6g}",
            "λ(r)": f"{self.lambda_:.6g}",
            "Status": self.status_,
        }
        shares = {
            "r_squared_sensitive": "Explained by S",
            "r_squared_predictors": "Explained by U",
            "r_squared_response": "Explained by y after S",
        }
        for key, value in self.components_.items():
            facts[shares.get(key, key)] = f"{value:.6g}"
        return tuple(facts.items())
