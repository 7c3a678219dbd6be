"""What models with a bound on unfairness share: fit and path."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from fairridge._warnings import warn_user
from fairridge.data import Encoding, MappedEncoding
from fairridge.engines import Engine, threads_for_blocks
from fairridge.estimators._base import FairModel, listed
from fairridge.estimators._parameters import FEWER_FEATURES, check_bound, check_bounds, check_ranks
from fairridge.estimators._training import Response, Training
from fairridge.estimators.path import FairnessPath
from fairridge.exceptions import DataWarning
from fairridge.export import LinearForm, fingerprint
from fairridge.fairness import Definition
from fairridge.search import Problem, Solution

__all__ = ["BoundedModel"]

Floats = NDArray[np.float64]


class BoundedModel(FairModel):
    """A linear model that is found for any bound r once its problem is set up.

    Subclasses say what the problem is on given rows, and how it is solved for
    bounds; `fit`, `path` and cross-validation then work for all of them.
    """

    unfairness: Any

    # Largest bound that means something.
    _most_unfair = 1.0

    @abstractmethod
    def _problem_on(self, engine: Engine, response: Response) -> Problem:
        """Set the model up on some rows."""

    @abstractmethod
    def _solve(self, problem: Any, bounds: Floats) -> list[Solution]:
        """Find the model for every bound."""

    @property
    @abstractmethod
    def _definition(self) -> Definition:
        """What is bounded."""

    @property
    def _only_moments(self) -> bool:
        """Whether a gaussian model needs nothing of the rows but their moments."""
        return True

    def _penalizes_predictors(self) -> bool:
        return False

    def _compresses(self, engine: Engine) -> bool:
        """Whether the rows are solved in fewer features than they have columns."""
        return False

    @property
    def _advice_on_features(self) -> str | None:
        """What to do about features that fit any response; None where a penalty is set."""
        return FEWER_FEATURES

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
        bounds = check_bound(self.unfairness, self._most_unfair)
        training = self._read(X, y, sensitive_features, sample_weight, offset)
        with self._threads(training):
            problem = self._problem(training)
            solution = self._solve(problem, bounds)[0]
        self._warn_of_bound(solution)
        self._warn_of_solutions(problem, [solution], training)
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
        bounds = check_bounds(
            np.linspace(0.0, 1.0, 101) if unfairness is None else unfairness, self._most_unfair
        )
        training = self._read(X, y, sensitive_features, sample_weight, offset)
        with self._threads(training):
            problem = self._problem(training)
            solutions = self._solve(problem, bounds)
        self._warn_of_solutions(problem, solutions, training)
        return self._path(training, problem, solutions)

    def _threads(self, training: Training) -> AbstractContextManager[None]:
        """Share the cores: a gaussian model is all matrices, the others are passes over rows."""
        if training.response.family.least_squares:
            return nullcontext()
        return threads_for_blocks(len(training.engine.names))

    def _problem(self, training: Training) -> Problem:
        problem = self._problem_on(training.engine, training.response)
        penalized = self._penalizes_predictors()
        advice = self._advice_on_features
        check_ranks(problem.basis, training.design, training.n_rows, advice=advice)
        self._warn_of_data(problem.basis, training.design, penalized=penalized)
        return problem

    def _warn_of_predictors(self, dependent: Iterable[int], X: Encoding | MappedEncoding) -> None:
        """Say which predictors carry nothing of their own, where S is none of them."""
        empty = [X.names[k] for k in dependent if k not in X.empty]
        # Features of one map, such as splines, are collinear by their nature.
        if empty and not isinstance(X, MappedEncoding):
            warn_user(
                f"predictor column(s) {listed(empty)} are constant or linear combinations of the "
                "others. The minimum-norm coefficients are used.",
                DataWarning,
            )

    def _warn_of_solutions(
        self, problem: Problem, solutions: list[Solution], training: Training
    ) -> None:
        """Say what is peculiar about the solutions, beyond their status."""

    def _accept(self, training: Training, problem: Problem, solution: Solution) -> Self:
        self._remember(training)
        self._remember_solution(problem.basis, solution)
        if training.response.classes is not None:
            self.classes_ = training.response.classes
        self.family_: Any = problem.family
        self.dispersion_ = problem.dispersion(solution.fit)
        self.loglik_ = problem.loglik(solution.fit)
        null = problem.null_deviance
        self.explained_deviance_ = 1.0 - self.deviance_ / null if null > 0.0 else 1.0
        self.n_iter_ = problem.engine.passes
        return self

    @property
    def _description(self) -> LinearForm:
        """The fitted model as `export.linear_form` hands it to functions on models."""
        return LinearForm(
            type(self).__name__,
            self._design,
            np.atleast_2d(self.raw_coef_),
            np.atleast_1d(np.asarray(self.raw_intercept_, dtype=np.float64)),
            self._training,
            self.family_,
            self.unknown,
            getattr(self, "classes_", None),
            self._backend,
        )

    @property
    def fingerprint_(self) -> str:
        """SHA-256 digest of the training data: names, rows, weights and moments."""
        check_is_fitted(self)
        return fingerprint(self._training, self._design, self.n_rows_)

    def _at(self, training: Training, problem: Problem, unfairness: float) -> Self:
        """Return a fitted model for another bound on the same data."""
        model = clone(self).set_params(unfairness=unfairness)
        return model._accept(
            training, problem, model._solve(problem, check_bound(unfairness, self._most_unfair))[0]
        )

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
            definition=self._definition.name,
            score_name="r_squared" if problem.family.least_squares else "d_squared",
            _deviations=(
                np.sqrt(basis.sensitive.squares() / basis.weight),
                np.sqrt(basis.predictors.squares() / basis.weight),
            ),
            _backend=training.backend,
            _origin=(self, training, problem),
        )
