"""Fair ridge regression: fit and path for any family."""

from __future__ import annotations

from collections.abc import Mapping
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
from fairridge.arguments import (
    check_bound,
    check_bounds,
    check_count,
    check_flag,
    check_number,
    check_option,
)
from fairridge.data import MAX_LEVELS
from fairridge.engines import Engine, threads_for_passes
from fairridge.estimators import _inferring
from fairridge.estimators._certifying import (
    certified_solutions,
    check_certification,
    set_aside,
)
from fairridge.estimators._checks import check_columns, warn_of_bound, warn_of_predictors
from fairridge.estimators._choosing import CHOSEN, settled
from fairridge.estimators._each import check_each, columns_of_each, require_one_bound
from fairridge.estimators._isolating import (
    SEPARATION,
    refuse_decided,
    store_isolated,
    warn_of_separation,
)
from fairridge.estimators._model import PENALTY_OR_FEWER, FairModel, Traits
from fairridge.estimators._parameters import DefinitionLike, FeatureMap, PenaltyLike
from fairridge.estimators._responses import Response
from fairridge.estimators._storing import describe, store_solution, training_fingerprint
from fairridge.estimators._summary import bound_facts, summarize
from fairridge.estimators._training import Training, read_training
from fairridge.estimators.path import FairnessPath, path_of
from fairridge.fairness import Definition, resolve_definition
from fairridge.inference import (
    CERTIFICATIONS,
    Certificate,
    Certification,
    posterior_covariance,
)
from fairridge.models import isolate
from fairridge.penalties import resolve_penalty
from fairridge.reports import Summary
from fairridge.search import (
    ModelSettings,
    PenalizedProblem,
    Problem,
    Solution,
    may_separate,
    set_up,
)


class FairRidge(FairModel):
    """Fair (generalized) ridge regression; subclasses read the response."""

    _sums_on_devices = True
    _takes_sparse = True
    # What helps a fit that did not converge.
    _remedy = "raise max_iter, or add a small predictor_penalty"

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
        self.unfairness = unfairness
        self.sensitive = sensitive
        self.definition = definition
        self.penalty = penalty
        self.predictor_penalty = predictor_penalty
        self.standardize = standardize
        self.unknown = unknown
        self.predictor_map = predictor_map
        self.sensitive_map = sensitive_map
        self.tol = tol
        self.max_iter = max_iter
        self.separation = separation
        self.min_frequency = min_frequency
        self.max_levels = max_levels
        self.blind = blind
        self.controls = controls
        self.confidence = confidence
        self.certification = certification
        self.missing = missing

    @property
    def _bounded(self) -> Definition:
        """What is bounded."""
        definition = resolve_definition(self.definition)
        if isinstance(self.unfairness, Mapping):
            check_each(self.unfairness, definition)
        if self.controls is not None:
            return self._conditional(definition)
        if not check_flag("blind", self.blind):
            return definition
        if definition.for_blind is None:
            raise ValueError(
                f"definition={definition.name!r} needs S to predict: blind=True takes "
                "'statistical-parity', which then is R² of the linear predictor on S, and "
                "'mean-parity'."
            )
        return definition.for_blind

    def _conditional(self, definition: Definition) -> Definition:
        if check_flag("blind", self.blind):
            raise ValueError("controls are for models that use S to predict; set blind=False.")
        if definition.given_controls is None:
            raise ValueError(
                f"definition={definition.name!r} has no version given controls; use "
                "'statistical-parity' or 'mean-parity', or leave controls out."
            )
        return definition.given_controls

    @property
    def _traits(self) -> Traits:
        definition = self._bounded
        penalized = self._chooses or self._lambda_2 > 0.0
        return Traits(
            definition,
            # Certificates look at fourth moments.
            moments_suffice=definition.needs_only_moments
            and not self._has_each
            and self.confidence is None,
            needs_sensitive=not self.blind,
            compresses=not self.blind and self.controls is None,
            # Predictors of a blind model may be collinear with S; `_set_up` looks at X alone.
            regularized=penalized or self.blind,
            advice=None if penalized else PENALTY_OR_FEWER,
        )

    @property
    def _chooses(self) -> bool:
        """Whether λ₂ is left to cross-validation."""
        return isinstance(self.predictor_penalty, str) and self.predictor_penalty == CHOSEN

    @property
    def _lambda_2(self) -> float:
        """λ₂: the parameter, or what the fit has chosen."""
        if self._chooses and not hasattr(self, "predictor_penalty_"):
            raise ValueError("predictor_penalty='cv' is chosen by fit, from rows in memory.")
        value: Any = self.predictor_penalty_ if self._chooses else self.predictor_penalty
        return check_number("predictor_penalty", value, minimum=0.0)

    @property
    def _has_each(self) -> bool:
        """Whether attributes have bounds of their own."""
        return isinstance(self.unfairness, Mapping)

    def fit(
        self,
        X: TableLike,
        y: VectorLike | None = None,
        *,
        sensitive_features: TableLike | None = None,
        sample_weight: VectorLike | None = None,
        offset: VectorLike | None = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : frame, array or sparse matrix of shape (n, k)
            Predictors, and the sensitive attributes if `sensitive` names them.
        y : array-like
            Response.
        sensitive_features : frame or array of shape (n, q), optional
            Sensitive attributes, if `sensitive` is None.
        sample_weight : array-like of shape (n,), optional
            Weights; a row of weight zero is absent.
        offset : array-like of shape (n,), optional
            Added to the linear predictor with coefficient 1; for rates, the
            log of the exposure.

        Returns
        -------
        self
        """
        if self.confidence is not None:
            check_certification(self)
        if not self._has_each:
            check_bound(self.unfairness)
        training = read_training(self, X, y, sensitive_features, sample_weight, offset)
        if self.confidence is not None:
            training = set_aside(self, training)
        with threads_for_passes(training.engine, training.response.family):
            model = settled(self, training) if self._chooses else self
            problem = model._set_up(training)
            solution = model._solve_own(problem, training)
        warn_of_bound(solution, self._remedy)
        self._warn_of_solutions(problem, [solution], training)
        self.predictor_penalty_: float = model._lambda_2
        return self._store(training, problem, solution)

    def path(
        self,
        X: TableLike,
        y: VectorLike | None = None,
        *,
        unfairness: VectorLike | None = None,
        sensitive_features: TableLike | None = None,
        sample_weight: VectorLike | None = None,
        offset: VectorLike | None = None,
    ) -> FairnessPath:
        """Fit the models for many bounds at once.

        Parameters
        ----------
        X, y, sensitive_features, sample_weight, offset
            As in `fit`.
        unfairness : array-like, optional
            The bounds; 0, 0.01, …, 1 by default. With `confidence` each is certified
            by itself; ``predictor_penalty="cv"`` is chosen once, at the model's own
            `unfairness`, and the same for all of them.

        Returns
        -------
        FairnessPath
            Coefficients and fairness for every bound; `at(r)` is a fitted model.
        """
        if self.confidence is not None:
            check_certification(self)
        require_one_bound(self, "path")
        bounds = check_bounds(np.linspace(0.0, 1.0, 101) if unfairness is None else unfairness)
        training = read_training(self, X, y, sensitive_features, sample_weight, offset)
        if self.confidence is not None:
            training = set_aside(self, training)
        with threads_for_passes(training.engine, training.response.family):
            model = settled(self, training) if self._chooses else self
            problem = model._set_up(training)
            solutions = model._solve(problem, bounds, training.held)
        self._warn_of_solutions(problem, solutions, training)
        return path_of(model, training, problem, solutions)

    def summary(self) -> Summary:
        """Return coefficients, fit and fairness as an object that prints itself."""
        family, *others = bound_facts(self).items()
        penalty = {"Penalty": resolve_penalty(self.penalty).name}
        if self._chooses:
            penalty["λ₂, by cross-validation"] = f"{self.predictor_penalty_:.4g}"
        return summarize(self, dict([family, *penalty.items(), *others]))

    inference = _inferring.inference
    _description = property(describe)
    fingerprint_ = property(training_fingerprint)

    def _training_bound(self) -> float:
        """Return the bound that the fitted model meets in training."""
        found = self.certificate_
        return float(self.unfairness if found is None else found.training_bound)

    def _set_up(self, training: Training) -> PenalizedProblem:
        """Set the model up on the training rows, and look at their columns."""
        engine, response = training.engine, training.response
        settings = self._settings(response)
        if self.separation == "error" and may_separate(engine, response.family, settings):
            refuse_decided(isolate(engine, response.family), training.design)
        problem = set_up(engine, response.family, self._bounded, settings)
        ignored = problem.isolated_columns
        check_columns(problem.basis, training, self._traits, ignored)
        if self.blind and settings.predictor_penalty == 0.0:
            _, dependent = problem.space.dependent
            dependent = [k for k in dependent if k not in ignored]
            warn_of_predictors(dependent, training.design.predictors)
        return problem

    def _problem_on(self, engine: Engine, response: Response) -> PenalizedProblem:
        """Set the model up on some rows, in memory or elsewhere."""
        return set_up(engine, response.family, self._bounded, self._settings(response))

    def _settings(self, response: Response) -> ModelSettings:
        """Return what the model is, besides its rows, its family and what is bounded."""
        check_option("separation", self.separation, SEPARATION)
        return ModelSettings(
            penalty=resolve_penalty(self.penalty),
            predictor_penalty=self._lambda_2,
            standardize=check_flag("standardize", self.standardize),
            tol=check_number("tol", self.tol, minimum=0.0, strict=True),
            max_iter=check_count("max_iter", self.max_iter),
            n_targets=response.targets.shape[1],
            classes=response.classes,
            each=self._has_each,
            blind=check_flag("blind", self.blind),
            controls=response.controls if self.controls is not None else (),
            isolates=self.separation == "isolate",
            certified=self.confidence is not None,
        )

    def _solve_own(self, problem: Any, training: Training) -> Solution:
        """Find the model for the bound, or the bounds of attributes, that it was made with."""
        if not isinstance(self.unfairness, Mapping):
            return self._solve(problem, check_bound(self.unfairness), training.held)[0]
        solution: Solution = problem.solve_each(
            self.unfairness, columns_of_each(self.unfairness, training.design)
        )
        return solution

    def _solve(
        self, problem: PenalizedProblem, bounds: Floats, held: Engine | None = None
    ) -> list[Solution]:
        """Find the model for every bound, in training or in the population."""
        check_option("certification", self.certification, CERTIFICATIONS)
        if self._has_each:
            require_one_bound(self, "a search over bounds")
        if self.confidence is None:
            return problem.solve(bounds)
        return certified_solutions(self, problem, bounds, held)

    def _store(self, training: Training, problem: PenalizedProblem, solution: Solution) -> Self:
        """Keep what the fit found."""
        store_solution(self, training, problem, solution, blind=self.blind)
        self.predictor_penalty_ = self._lambda_2
        self.certificate_: Certificate | None = solution.certificate
        penalized = self.predictor_penalty_ > 0.0
        self._posterior = posterior_covariance(problem, solution.fit) if penalized else None
        self.isolated_: dict[str, int] = {}
        if problem.isolation is not None:
            store_isolated(self, training, problem, solution)
        return self

    def _warn_of_solutions(
        self, problem: Problem, solutions: list[Solution], training: Training
    ) -> None:
        """Name columns that decide the response alone."""
        if not problem.family.least_squares:
            warn_of_separation(solutions, training.design.predictors.names, self._bounded)
