"""What the fair ridge models share: fit and path for any family."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from fairridge.engines import Engine
from fairridge.estimators._base import FairModel
from fairridge.estimators._parameters import check_bound, check_bounds, check_number
from fairridge.estimators._training import Response, Training
from fairridge.estimators.path import FairnessPath
from fairridge.exceptions import DataWarning
from fairridge.fairness import resolve_definition
from fairridge.families import Gaussian
from fairridge.penalties import resolve_penalty
from fairridge.search import (
    GLMProblem,
    Problem,
    Solution,
    gaussian_problem,
    glm_problem,
    solve,
)

__all__ = ["FairRidge"]

Floats = NDArray[np.float64]


class FairRidge(FairModel):
    """Fair (generalized) ridge regression; subclasses read the response."""

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
        tol: float = 1e-10,
        max_iter: int = 100,
    ) -> None:
        self.unfairness = unfairness
        self.sensitive = sensitive
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
        y : array-like
            Response.
        sensitive_features : frame or array of shape (n, q), optional
            Sensitive attributes, where `sensitive` is None.
        sample_weight : array-like of shape (n,), optional
            Weights; a row of weight zero is absent.
        offset : array-like of shape (n,), optional
            Added to the linear predictor with coefficient 1; for rates, the
            log of the exposure.

        Returns
        -------
        self
        """
        bounds = check_bound(self.unfairness)
        training = self._read(X, y, sensitive_features, sample_weight, offset)
        problem = self._problem(training)
        solution = self._solve(problem, bounds)[0]
        self._warn_of_bound(solution)
        self._warn_of_separation(problem, [solution], training)
        return self._accept(training, problem, solution)

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
        solutions = self._solve(problem, bounds)
        self._warn_of_separation(problem, solutions, training)
        return self._path(training, problem, solutions)

    def _problem(self, training: Training) -> Problem:
        problem = self._problem_on(training.engine, training.response)
        penalized = self.predictor_penalty > 0.0
        self._warn_of_data(problem.basis, training.design, penalized=penalized)
        return problem

    def _problem_on(self, engine: Engine, response: Response) -> Problem:
        """Set the model up on some rows."""
        options: dict[str, Any] = {
            "penalty": resolve_penalty(self.penalty),
            "predictor_penalty": check_number(
                "predictor_penalty", self.predictor_penalty, least=0.0
            ),
            "standardize": bool(self.standardize),
        }
        if isinstance(response.family, Gaussian):
            return gaussian_problem(engine, **options)
        return glm_problem(
            engine,
            response.family,
            n_targets=response.targets.shape[1],
            max_iter=int(check_number("max_iter", self.max_iter, least=1.0)),
            **options,
        )

    def _solve(self, problem: Problem, bounds: Floats) -> list[Solution]:
        return solve(
            problem,
            resolve_definition(self.definition),
            bounds,
            tol=check_number("tol", self.tol, least=0.0, strict=True),
            max_iter=int(check_number("max_iter", self.max_iter, least=1.0)),
        )

    def _warn_of_separation(
        self, problem: Problem, solutions: list[Solution], training: Training
    ) -> None:
        if not isinstance(problem, GLMProblem):
            return
        names = problem.separated_columns(float(solution.fit.lambda_) for solution in solutions)
        if names:
            warnings.warn(
                f"column(s) {', '.join(map(repr, names))} separate the responses: their "
                "coefficients grow without bound. The deviance has converged; for finite "
                "coefficients set a small predictor_penalty, or merge rare levels.",
                DataWarning,
                stacklevel=3,
            )

    def _accept(self, training: Training, problem: Problem, solution: Solution) -> Self:
        self._remember(training)
        self._remember_solution(problem.basis, solution)
        if training.response.classes is not None:
            self.classes_ = training.response.classes
        self.family_: Any = training.response.family
        self.dispersion_ = problem.dispersion(solution.fit)
        self.loglik_ = problem.loglik(solution.fit)
        null = problem.null_deviance
        self.explained_deviance_ = 1.0 - self.deviance_ / null if null > 0.0 else 1.0
        self.n_iter_ = training.engine.passes
        return self

    def _at(self, training: Training, problem: Problem, unfairness: float) -> Self:
        """Return a fitted model for another bound on the same data."""
        model = clone(self).set_params(unfairness=unfairness)
        return model._accept(training, problem, model._solve(problem, check_bound(unfairness))[0])

    def _path(
        self, training: Training, problem: Problem, solutions: list[Solution]
    ) -> FairnessPath:
        fits = [solution.fit for solution in solutions]
        design, basis = training.design, problem.basis
        deviance, null = np.array([fit.deviance for fit in fits]), problem.null_deviance
        return FairnessPath(
            unfairness=np.array([solution.unfairness for solution in solutions]),
            lambda_=np.array([fit.lambda_ for fit in fits]),
            alpha=np.array([fit.alpha for fit in fits]),
            beta=np.array([fit.beta for fit in fits]),
            intercept=np.array([fit.intercept for fit in fits]),
            achieved=np.array([solution.achieved for solution in solutions]),
            status=tuple(solution.choice.status for solution in solutions),
            deviance=deviance,
            score=1.0 - deviance / null if null > 0.0 else np.ones(len(fits)),
            components={
                name: np.array([solution.components[name] for solution in solutions])
                for name in solutions[0].components
            },
            sensitive_names=design.sensitive.names,
            predictor_names=design.predictors.names,
            class_names=None
            if np.ndim(fits[0].alpha) == 1 or training.response.classes is None
            else tuple(str(label) for label in training.response.classes),
            definition=resolve_definition(self.definition).name,
            score_name="r_squared" if isinstance(problem.family, Gaussian) else "d_squared",
            _deviations=(
                np.sqrt(np.diag(basis.sensitive.scatter()) / basis.weight),
                np.sqrt(np.diag(basis.predictors.scatter()) / basis.weight),
            ),
            _backend=training.backend,
            _origin=(self, training, problem),
        )

    def _facts(self) -> tuple[tuple[str, str], ...]:
        gaussian = isinstance(self.family_, Gaussian)
        facts = {
            "Family": self.family_.name,
            "Penalty": resolve_penalty(self.penalty).name,
            "Rows": f"{self.n_rows_:,}",
            "R²" if gaussian else "D²": f"{self.explained_deviance_:.4f}",
            "Log-likelihood": f"{self.loglik_:.2f}",
            "Definition": resolve_definition(self.definition).name,
            "Bound r": f"{float(self.unfairness):g}",
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
