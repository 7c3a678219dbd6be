"""The base of all linear models, and fair ridge regression for any family.

They share a file, so that a fit can be followed from step to step.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cache, cached_property
from operator import attrgetter
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator

from fairridge._arrays import to_device
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
    largest_bound,
    with_largest,
)
from fairridge.data import (
    MAX_LEVELS,
    as_table,
    joined_offsets,
    offset_arguments,
    read_offset,
    warn_of_order,
)
from fairridge.engines import Engine, linear_predictor, threads_for_passes
from fairridge.estimators import _inferring
from fairridge.estimators._certifying import certified_solutions, check_certification, set_aside
from fairridge.estimators._choosing import CHOSEN, with_chosen_penalty
from fairridge.estimators._docstrings import inherit_parameters
from fairridge.estimators._each import check_each
from fairridge.estimators._flips import sign_flips
from fairridge.estimators._model import PENALTY_OR_FEWER, Traits, fitted, notebook_html
from fairridge.estimators._outcome import (
    SEPARATION,
    check_columns,
    describe,
    kept_groups,
    refuse_decided,
    store_isolated,
    store_solution,
    training_fingerprint,
    warn_of_bound,
    warn_of_predictors,
    warn_of_separation,
)
from fairridge.estimators._parameters import DefinitionLike, FeatureMap, PenaltyLike
from fairridge.estimators._responses import Response, ResponseKind
from fairridge.estimators._summary import bound_facts, summarize
from fairridge.estimators._training import Training, read_training
from fairridge.estimators.path import FairnessPath, path_of
from fairridge.fairness import Definition
from fairridge.inference import CERTIFICATIONS, Certificate, Certification, posterior_covariance
from fairridge.models import separated_levels
from fairridge.reports import Summary
from fairridge.search import (
    ModelSettings,
    PenalizedProblem,
    Problem,
    Solution,
    may_separate,
    set_up,
)
from fairridge.search.setup import resolve_definition, resolve_penalty


@dataclass(eq=False, repr=False)
class LinearModel(BaseEstimator):
    """A linear model that is found for any bound once its problem is set up.

    Parameters are fields of dataclasses, so that every class lists its own beside those
    of its base, in the code as in the docstring. A model states what kind it is (`_traits`),
    how it reads a response (`_response_kind`), and how it is set up on rows (`_problem_on`);
    `fit`, `path` and `summary` are the same for all.

    Parameters
    ----------
    unfairness : float, default=0.05
        r in [0, 1]: 0 leaves no linear dependence on S, 1 is unconstrained.
    sensitive : str, int or list of these and of tuples of these, optional
        Columns of X that are sensitive, by name or position; a tuple in the list is an
        intersection, as in ``["sex", "race", ("sex", "race")]``. Alternatively pass
        `sensitive_features` to `fit`, `predict` and `score`.
    unknown : {"error", "base", "mean"}, default="error"
        How to handle a category at prediction time that was absent when fitting:
        raise an error, treat it as the base level, or take the average of its
        0/1 columns in training. Unseen groups never become the base level: for a
        sensitive attribute "base" does the same as "mean". Can be set after fit.
    predictor_map : scikit-learn transformer, optional
        Maps the columns of numbers in X to features that have the coefficients β:
        splines, kernels, principal components. The model is then nonlinear in X.
        Levels stay as they are; a `ColumnTransformer` says itself which encoded
        columns it maps. The features are decorrelated from S.
    sensitive_map : scikit-learn transformer, optional
        Maps the columns of numbers in S, such as age, to features, for example
        splines. Predictors are decorrelated from these features, and the bound is
        about them, so that it covers curved dependence on S as well.
    missing : {"error", "level"}, default="error"
        How to handle missing values of S and X: raise an error, or learn from
        them. Then a missing category is the level "(missing)", and a missing
        number is the mean of the others, beside a 0/1 column
        ``name[(missing)]`` if values were missing when fitting.
    """

    unfairness: Unfairness = 0.05
    _: KW_ONLY
    sensitive: ColumnNames | None = None
    unknown: UnknownLevels = "error"
    predictor_map: FeatureMap = None
    sensitive_map: FeatureMap = None
    missing: MissingValues = "error"

    # See `FairModel`.
    _unknown_rules: ClassVar[tuple[str, ...]] = ("error", "base", "mean")
    _sums_on_devices: ClassVar[bool] = False
    _takes_sparse: ClassVar[bool] = False
    # What helps a fit that did not converge.
    _remedy: ClassVar[str] = "raise max_iter"

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        bases = (base for base in cls.__mro__[1:] if issubclass(base, LinearModel))
        inherit_parameters(cls, next(bases))

    @classmethod
    @cache
    def _get_param_names(cls) -> list[str]:
        # Each fit keeps a copy of its parameters, and to find their names takes most of it.
        names: list[str] = super()._get_param_names()
        return names

    # ------------------------------------------------------------- what a model declares

    @property
    @abstractmethod
    def _traits(self) -> Traits:
        """What kind of model its parameters make."""

    @property
    @abstractmethod
    def _response_kind(self) -> ResponseKind:
        """How the response is read."""

    @abstractmethod
    def _problem_on(self, engine: Engine, response: Response) -> Any:
        """Set the model up on some rows."""

    def _set_up(self, training: Training) -> tuple[Self, Any]:
        """Choose penalties from the training rows, and set the model up on these."""
        model = self._with_penalty(training)
        return model, model._checked_problem(training)

    def _checked_problem(self, training: Training) -> Any:
        """Set the model up on the training rows, and check their columns."""
        problem: Any = self._problem_on(training.engine, training.response)
        check_columns(problem.basis, training, self._traits)
        if not self._traits.needs_sensitive:
            _, dependent = problem.space.dependent
            warn_of_predictors(dependent, training.design.predictors)
        return problem

    def _solve(
        self, problem: Any, bounds: Floats, held_out: Engine | None = None
    ) -> list[Solution]:
        """Find the model for every bound; `held_out` are rows to test models on."""
        solutions: list[Solution] = problem.solve(bounds)
        return solutions

    def _warn_of_solutions(
        self, problem: Any, solutions: list[Solution], training: Training
    ) -> None:
        """Warn of properties of the solutions, beyond their status."""

    def _facts(self) -> dict[str, str]:
        """Return labels and values above the coefficients in a summary."""
        return bound_facts(self)

    # ------------------------------------------------------------------------- fitting

    def fit(
        self,
        X: TableLike,
        y: VectorLike | None = None,
        *,
        sensitive_features: TableLike | None = None,
        sample_weight: VectorLike | None = None,
        offset: VectorLike | None = None,
        exposure: VectorLike | None = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : frame, array or sparse matrix of shape (n, k)
            Predictors, and the sensitive attributes if `sensitive` names them.
            Sparse matrices are for the fair ridge models.
        y : array-like
            Response.
        sensitive_features : frame or array of shape (n, q), optional
            Sensitive attributes, if `sensitive` is None.
        sample_weight : array-like of shape (n,), optional
            Weights; a row of weight zero is absent.
        offset : array-like of shape (n,), optional
            Added to the linear predictor with coefficient 1.
        exposure : array-like of shape (n,), optional
            For families with the log link: positive numbers that the expected
            responses are proportional to, such as policy years. The likelihood is
            that of an offset of their logarithm, which is added to `offset` if
            there is one; `predict` gives rates, per unit of exposure.

        Returns
        -------
        self
            The fitted model.
        """
        self._check_parameters()
        self._own_bound()
        shift = self._shift(offset, exposure)
        training = self._read(X, y, sensitive_features, sample_weight, shift)
        with threads_for_passes(training.engine, training.response.family):
            model, problem = self._set_up(training)
            solution = model._solve_own(problem, training)
            return self._finish(training, problem, solution, model)

    def path(
        self,
        X: TableLike,
        y: VectorLike | None = None,
        *,
        unfairness: Sequence[float] | VectorLike | None = None,
        sensitive_features: TableLike | None = None,
        sample_weight: VectorLike | None = None,
        offset: VectorLike | None = None,
        exposure: VectorLike | None = None,
    ) -> FairnessPath:
        """Fit the models for many bounds at once.

        Parameters
        ----------
        X, y, sensitive_features, sample_weight, offset, exposure
            As in `fit`.
        unfairness : array-like, optional
            The bounds; 0, 0.01, …, 1 by default. With `confidence` each is certified
            by itself; ``predictor_penalty="cv"`` is chosen once, at the `unfairness`
            of the model, and the same for all of them. Of a model with a bound per attribute
            they are the largest bound, and the others are in proportion; 1 bounds nothing.

        Returns
        -------
        FairnessPath
            Coefficients and fairness for every bound; `at(r)` is a fitted model.
        """
        self._check_parameters()
        traits = self._traits
        if traits.given_penalty:
            name, _, _ = traits.given_penalty.partition("=")
            raise ValueError(
                f"path() goes over bounds, but {traits.given_penalty} fixes the penalty; set "
                f"{name}=None."
            )
        bounds = np.linspace(0.0, 1.0, 101) if unfairness is None else unfairness
        bounds = check_bounds(bounds, traits.largest_bound)
        shift = self._shift(offset, exposure)
        training = self._read(X, y, sensitive_features, sample_weight, shift)
        with threads_for_passes(training.engine, training.response.family):
            model, problem = self._set_up(training)
            solutions = model._solve(problem, bounds, training.held_out)
        self._warn_of_solutions(problem, solutions, training)
        return path_of(model, training, problem, solutions)

    def summary(self, *, details: bool = False) -> Summary:
        """Return fairness, fit and coefficients as an object that prints itself.

        Parameters
        ----------
        details : bool, default=False
            Whether to print every number that is known of the fit.

        Returns
        -------
        Summary
            Prints itself; `to_frame` has the coefficients.
        """
        return summarize(self, self._facts() if details else {})

    def _check_parameters(self) -> None:
        """Refuse what cannot be fitted to any rows."""

    def _own_bound(self) -> Floats:
        """Return the bound that the model was made with, or the largest of several."""
        return check_bound(self.unfairness, self._traits.largest_bound)

    def _shift(self, offset: Any, exposure: Any) -> Any:
        """Return what is added to η: the offset, with the logarithm of an exposure."""
        if exposure is None:
            return offset
        return joined_offsets(self._response_kind.link, offset, exposure)

    def _read(
        self, X: Any, y: Any, sensitive_features: Any, sample_weight: Any, offset: Any
    ) -> Training:
        """Read what the model is fitted to."""
        return read_training(self, X, y, sensitive_features, sample_weight, offset)

    def _with_penalty(self, training: Training) -> Self:
        """Return the model with a number for every penalty that is chosen from the rows."""
        return self

    def _solve_own(self, problem: Any, training: Training) -> Solution:
        """Find the model for the bound, or the bounds of attributes, that it was made with."""
        return self._solve(problem, self._own_bound(), training.held_out)[0]

    def _finish(
        self, training: Training, problem: Any, solution: Solution, solved: Self | None = None
    ) -> Self:
        """Warn of what the fit did not reach, and keep what it did."""
        # `solved` is the model that was solved, if a penalty of this one was chosen from the rows.
        warn_of_bound(solution, self._remedy)
        self._warn_of_solutions(problem, [solution], training)
        return self._store(training, problem, solution, solved)

    def _store(
        self, training: Training, problem: Any, solution: Solution, solved: Self | None = None
    ) -> Self:
        """Keep what the fit found."""
        blind = not self._traits.needs_sensitive
        store_solution(self, training, problem, solution, blind=blind)
        return self

    # -------------------------------------------------------------------------- fitted

    _fitted = property(fitted)
    _description = property(describe)
    _html_repr = notebook_html
    fingerprint_ = property(training_fingerprint)
    _kept_groups = property(kept_groups)
    # They follow from small sums, and are computed when they are first read.
    dependence_ = cached_property(attrgetter("_kept_groups.dependence"))
    group_differences_ = cached_property(attrgetter("_kept_groups.differences"))
    total_ratios_ = cached_property(attrgetter("_kept_groups.totals"))

    def _linear_predictor(self, X: Any, sensitive_features: Any, offset: Any) -> Floats:
        """Return η of shape (n,), or (n, K) for several classes."""
        facts, name = self._fitted, type(self).__name__
        check_option("unknown", self.unknown, self._unknown_rules)
        design, table = facts.reads, as_table(X, devices=True, sparse=self._takes_sparse)
        coefficients = design.to_encoded(np.atleast_2d(self.coef_))
        attributes = design.attributes(sensitive_features, estimator_name=name)
        sensitive, predictors = design.encode(table, attributes, self.unknown, estimator_name=name)
        intercept, pieces = np.atleast_1d(self.intercept_), (*sensitive, *predictors)
        if pieces:
            eta = linear_predictor(pieces, design.encoded_names, coefficients.T, intercept)
        else:
            eta = np.tile(intercept, (table.shape[0], 1))
            eta = to_device(eta, table.source) if table.on_device else eta
        shifts = {} if offset is None else offset_arguments(offset)
        warn_of_order(X=table, sensitive_features=attributes, **shifts)
        shift = read_offset(offset, table.shape[0])
        if shift is not None:
            eta += to_device(shift[:, None], eta)
        return eta[:, 0] if eta.shape[1] == 1 else eta

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._takes_sparse
        return tags


@dataclass(eq=False, repr=False, kw_only=True)
class FairRidge(LinearModel):
    """Fair (generalized) ridge regression; subclasses read the response.

    Parameters
    ----------
    unfairness : float or dict of str to float, default=0.05
        Bound r on unfairness: 0 leaves no linear dependence on S, 1 is unconstrained; with
        definition="mean-parity" also one per attribute. ``{"sex": 0.01, "age": 0.1}`` bounds
        what each of these attributes alone explains of the predicted means.
    definition : str, object or callable, default="statistical-parity"
        What is bounded.
    penalty : {"ridge", "radial", "lasso", "elastic-net"} or object, default="ridge"
        Penalty on α, the coefficients of the sensitive attributes.
    predictor_penalty : float or "cv", default=0.0
        λ₂, for standardized U. "cv" chooses it at the bound, by leaving rows out: see
        `predictor_penalty_` of `FairRidgeRegressor`.
    standardize : bool, default=True
        Whether to divide columns of S and U by their standard deviations (divisor n) for the
        penalties. Results are always on the original scale.
    tol : float, default=1e-10
        How closely an active bound is met.
    max_iter : int, default=100
        Maximum number of search steps for λ(r), and of passes over the data per λ.
    separation : {"isolate", "warn", "error"}, default="isolate"
        What happens to levels of predictors whose rows all have the same outcome,
        if `predictor_penalty` is 0: "isolate" leaves these rows out of the fit
        and the bound, if they have at most 1 % of the weight, and gives each
        level a finite coefficient; "warn" keeps them; "error" refuses them.
    min_frequency : int or float, optional
        Levels of a predictor with less weight (rows, if there are no weights),
        or, below 1, with a smaller share of it, become "(other)", which also takes
        levels that were absent at fit, whatever `unknown` is.
    base : "most-frequent" or dict of str to level, optional
        The level of each categorical column that the coefficients of its others
        compare with, by default the first level with rows, as in R.
        "most-frequent" takes the one with the most weight in every predictor (the
        first of equal ones), and ``{"brand": "VW"}`` takes levels by name of the
        column, of S as well, and the first level elsewhere. "(other)" is never the
        base. Without penalties predictions are the same for every base of X.
    max_levels : int or None, default=1000
        The most levels that a categorical column may have; more than ten, and
        more than half as many as rows, are refused as well. Keys, amounts and
        dates that were read as text would become thousands of columns. None
        allows any number.
    blind : bool, default=False
        Whether to use S to fit and bound only, and not to predict. The model then is one
        of X alone, min D(b) + λ‖P_S Xb‖² + λ₂‖b‖², and "statistical-parity" is R² of its
        linear predictor on S for every family; bounds on means work as
        well.
    controls : str, int or list of these, optional
        Columns of X, by name or position, that may explain differences: the
        bound on "statistical-parity" or "mean-parity" is on what S explains
        beyond them. `unfairness_components_` has the share without them beside it.
    confidence : float, optional
        1 − δ: the bound then holds for the population that the rows came from,
        with that confidence over samples of independent rows. The model is fitted with a
        smaller bound, which `certificate_` has. If no bound is certified, the
        model is the fit at r = 0, and a warning states how many rows would
        suffice. For R² on S of the linear predictor or of the predicted means;
        shares of deviance and other definitions are refused.
    certification : {"auto", "held-out"}, default="auto"
        How a bound is certified: "auto" by draws of the populations that the rows may
        have come from, "held-out" by tests on half of the rows, which the model is then
        not fitted to.
    random_state : int, default=0
        Seed of what is drawn: the folds of ``predictor_penalty="cv"``, and the
        rows that ``certification="held-out"`` keeps from the fit. The same seed
        gives the same model.
    """

    definition: DefinitionLike = "statistical-parity"
    penalty: PenaltyLike = "ridge"
    predictor_penalty: float | Literal["cv"] = 0.0
    standardize: bool = True
    tol: float = 1e-10
    max_iter: int = 100
    separation: Literal["isolate", "warn", "error"] = "isolate"
    min_frequency: float | None = None
    base: Literal["most-frequent"] | Mapping[str, Any] | None = None
    max_levels: int | None = MAX_LEVELS
    blind: bool = False
    controls: ColumnNames | None = None
    confidence: float | None = None
    certification: Certification = "auto"
    random_state: int = 0

    _sums_on_devices: ClassVar[bool] = True
    _takes_sparse: ClassVar[bool] = True
    _remedy: ClassVar[str] = "raise max_iter, or add a small predictor_penalty"

    @property
    def _bounded(self) -> Definition:
        """What is bounded."""
        definition = resolve_definition(self.definition)
        if isinstance(self.unfairness, Mapping):
            check_each(self.unfairness, definition)
        if check_flag("blind", self.blind):
            if definition.for_blind is None:
                raise ValueError(
                    f"definition={definition.name!r} needs S to predict: blind=True takes "
                    "'statistical-parity' (R² of the linear predictor on S), 'mean-parity', and "
                    "for classes 'mean-opportunity' and 'mean-odds'."
                )
            definition = definition.for_blind
        if self.controls is None:
            return definition
        if definition.given_controls is None:
            raise ValueError(
                f"definition={definition.name!r} has no version given controls; use "
                "'statistical-parity' or 'mean-parity', or leave controls out."
            )
        return definition.given_controls

    @property
    def _traits(self) -> Traits:
        definition, chooses = self._bounded, self._chooses
        penalized = chooses or self._lambda_2 > 0.0
        return Traits(
            definition,
            # Certificates need fourth moments.
            moments_suffice=definition.needs_only_moments
            and not isinstance(self.unfairness, Mapping)
            and self.confidence is None,
            needs_sensitive=not self.blind,
            compresses=not self.blind and self.controls is None,
            # Predictors of a blind model may be collinear with S: X alone is checked.
            regularized=penalized or self.blind,
            chooses_penalty=chooses,
            advice=None if penalized else PENALTY_OR_FEWER,
        )

    @property
    def _chooses(self) -> bool:
        """Whether λ₂ is left to cross-validation."""
        return isinstance(self.predictor_penalty, str) and self.predictor_penalty == CHOSEN

    @property
    def _lambda_2(self) -> float:
        """λ₂: the parameter, or what the fit has chosen."""
        value: Any = self.predictor_penalty
        if self._chooses:
            if not hasattr(self, "predictor_penalty_"):
                raise ValueError("predictor_penalty='cv' is chosen by fit, from rows in memory.")
            value = self.predictor_penalty_
        return check_number("predictor_penalty", value, minimum=0.0)

    def _check_parameters(self) -> None:
        if self.confidence is not None:
            check_certification(self)

    def _own_bound(self) -> Floats:
        if isinstance(self.unfairness, Mapping):
            check_each(self.unfairness, resolve_definition(self.definition))
        return check_bound(largest_bound(self.unfairness))

    def _read(
        self, X: Any, y: Any, sensitive_features: Any, sample_weight: Any, offset: Any
    ) -> Training:
        training = super()._read(X, y, sensitive_features, sample_weight, offset)
        return training if self.confidence is None else set_aside(self, training)

    def _with_penalty(self, training: Training) -> Self:
        model: Self = with_chosen_penalty(self, training) if self._chooses else self
        return model

    def _facts(self) -> dict[str, str]:
        family, *others = super()._facts().items()
        facts = self._fitted
        penalty = {"Penalty": resolve_penalty(facts.settings.penalty).name}
        if facts.traits.chooses_penalty:
            penalty["λ₂, by cross-validation"] = f"{self.predictor_penalty_:.4g}"
        return dict([family, *penalty.items(), *others])

    inference = _inferring.inference

    def _checked_problem(self, training: Training) -> PenalizedProblem:
        """Set the model up on the training rows, and check their columns."""
        engine, response, traits = training.engine, training.response, self._traits
        settings = self._model_settings(response)
        if self.separation == "error" and may_separate(engine, response.family, settings):
            refuse_decided(separated_levels(engine, response.family), training.design)
        problem = set_up(engine, response.family, traits.definition, settings)
        # Columns of isolated levels are constant, or collinear, without their rows.
        ignored = frozenset() if problem.isolation is None else problem.isolation.columns
        check_columns(problem.basis, training, traits, ignored)
        if self.blind and settings.predictor_penalty == 0.0:
            _, dependent = problem.space.dependent
            dependent = [k for k in dependent if k not in ignored]
            warn_of_predictors(dependent, training.design.predictors)
        return problem

    def _problem_on(self, engine: Engine, response: Response) -> PenalizedProblem:
        """Set the model up on some rows, in memory or elsewhere."""
        return set_up(engine, response.family, self._bounded, self._model_settings(response))

    def _model_settings(self, response: Response) -> ModelSettings:
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
            each=response.each,
            blind=check_flag("blind", self.blind),
            controls=response.controls if self.controls is not None else (),
            isolates=self.separation == "isolate",
            certified=self.confidence is not None,
        )

    def _solve(
        self, problem: PenalizedProblem, bounds: Floats, held_out: Engine | None = None
    ) -> list[Solution]:
        """Find the model for every bound, in training or in the population."""
        # Bounds of attributes keep their proportions, with these as the largest.
        check_option("certification", self.certification, CERTIFICATIONS)
        check_count("random_state", self.random_state, minimum=0)
        if isinstance(self.unfairness, Mapping):
            means: Any = problem  # only predicted means have a share for each attribute
            return [means.solve_each(with_largest(self.unfairness, float(r))) for r in bounds]
        if self.confidence is None:
            return problem.solve(bounds)
        return certified_solutions(self, problem, bounds, held_out)

    def _store(
        self,
        training: Training,
        problem: PenalizedProblem,
        solution: Solution,
        solved: Self | None = None,
    ) -> Self:
        """Keep what the fit found."""
        self.predictor_penalty_: float = (self if solved is None else solved)._lambda_2
        store_solution(self, training, problem, solution, blind=self.blind)
        self.certificate_: Certificate | None = solution.certificate
        penalized = self.predictor_penalty_ > 0.0
        self._posterior = posterior_covariance(problem, solution.fit) if penalized else None
        # Models with S leave the coefficients of what S does not explain alone, or nearly so.
        self.sign_flips_: dict[str, dict[str, float]] = (
            sign_flips(problem, solution) if self.blind else {}
        )
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
