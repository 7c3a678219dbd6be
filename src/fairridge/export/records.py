"""What a model file must hold: the types of parameters and of what a fit learns.

Parameters are what their classes declare; everything learned is declared here, by kind of
model. Whatever conforms can predict, print itself and be exported.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from functools import cached_property
from types import NoneType
from typing import Annotated, Any, Literal, get_type_hints

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from fairridge._typing import Floats
from fairridge.data import Design, Encoding, MappedEncoding
from fairridge.data.annotations import LARGEST_NUMBER, conforms, is_number, shown
from fairridge.data.classes import models_first
from fairridge.data.columns import OTHER, CategoricalColumn
from fairridge.data.design import ColumnProfile
from fairridge.data.text_style import TextStyle
from fairridge.export.codec import NotSaved
from fairridge.export.training import ControlledColumns, TrainingColumns
from fairridge.families import Binomial, Cox, Multinomial
from fairridge.inference import Certificate
from fairridge.search import Status
from fairridge.search.setup import resolve_definition, resolve_penalty, resolve_regression_family

Level = str | bool | int | float
ARRAY: Any = np.ndarray


@dataclass(frozen=True)
class ModelFacts:
    """What the types of one model refer to."""

    model: Any  # holds its parameters, and what it learned

    @property
    def design(self) -> Design:
        """The columns."""
        design: Design = self.model.__dict__["_design"]
        return design

    @cached_property
    def sizes(self) -> dict[str, int]:
        """Lengths of axes by letter."""
        # q sensitive and p predictor columns, k = q + p, m classes, o rows and c columns of
        # `coef_`. Other letters mean the length of the first axis that carries them. A model with
        # one linear predictor has no axis m, and no axis o unless it is a classifier.
        q, p = len(self.design.sensitive.names), len(self.design.predictors.names)
        sizes = {"q": q, "p": p, "k": q + p, "c": len(self.model._fitted.reads.encoded_names)}
        family = getattr(self.model, "family_", None)
        if isinstance(family, Multinomial):
            sizes["m"] = sizes["o"] = family.n_classes
        elif is_classifier(self.model):
            sizes["o"] = 1
        return sizes

    def letters(self, axes: str) -> str:
        """Return the axes that such a model has."""
        return "".join(k for k in axes if k in self.sizes or k not in "mo")

    def shapes_fit(self, value: Any, **axes: str) -> bool:
        """Whether arrays of an object have the axes with these letters."""
        return all(self.shape_fits(getattr(value, k).shape, each) for k, each in axes.items())

    def shape_fits(self, shape: tuple[int, ...], axes: str) -> bool:
        """Whether an array has the axes with these letters."""
        letters = self.letters(axes)
        return len(shape) == len(letters) and all(
            self.sizes.setdefault(letter, length) == length
            for letter, length in zip(letters, shape, strict=True)
        )


@dataclass(frozen=True)
class Numbers:
    """64-bit floats of a shape, by letters of its axes."""

    axes: str = ""
    minimum: float = -np.inf
    infinite: bool = False  # whether infinity is allowed

    def conforms(self, value: Any, facts: ModelFacts) -> bool:
        """Whether an array is such numbers."""
        array: NDArray[Any] = np.asarray(value)
        largest = np.inf if self.infinite else LARGEST_NUMBER
        return (
            array.dtype == np.float64
            and facts.shape_fits(array.shape, self.axes)
            and bool(((array >= self.minimum) & (np.abs(array) <= largest)).all())
        )

    def words(self, facts: ModelFacts) -> str:
        """Say what they are, with the shape in this model."""
        bound = "" if self.minimum == -np.inf else f" that are at least {self.minimum:g}"
        lengths = ", ".join(str(facts.sizes.get(k, "any")) for k in facts.letters(self.axes))
        shape = f" of shape ({lengths})" if self.axes else ""
        return f"{'' if self.infinite else 'finite '}64-bit floats{bound}{shape}"


@dataclass(frozen=True)
class Each:
    """A value, or one for every bound of a model with bounds per attribute."""

    kind: Any

    def conforms(self, value: Any, facts: ModelFacts) -> bool:
        """Whether it is one, or as many as there are bounds, by name."""
        bounds = facts.model.unfairness
        if not isinstance(bounds, dict):
            return conforms(value, self.kind, facts)
        same = isinstance(value, dict) and list(value) == list(bounds)
        return same and all(conforms(item, self.kind, facts) for item in value.values())


def _names(expected: Callable[[ModelFacts], Any]) -> Any:
    """Return the type of names that other fields have, too."""
    return Annotated[ARRAY, lambda value, facts: value.tolist() == list(expected(facts))]


def _by_name(*names: str) -> Any:
    """Return the type of numbers by name, for each of several things; NaN where there is none."""
    return Annotated[
        dict[str, dict[str, Any]],
        lambda value, facts: all(
            set(each) == set(names) and all(isinstance(x, float) for x in each.values())
            for each in value.values()
        ),
    ]


# ------------------------------------------------------------------------- larger objects


def is_covariance(S: Floats) -> bool:
    """Whether a square matrix is symmetric and, but for rounding, positive semidefinite."""
    least = -1e-9 * np.abs(S).max(initial=0.0)
    return bool((S == S.T).all() and (np.linalg.eigvalsh(S) >= least).all())


def _is_training(value: TrainingColumns, facts: ModelFacts) -> bool:
    """Whether these are moments of the training columns."""
    return (
        facts.shapes_fit(value, with_response="kt", covariance="qq", B="qp", center="a")
        and facts.shapes_fit(value, deviation="a")
        and facts.sizes["a"] == facts.sizes["k"] + facts.sizes["t"]
        and value.weight > 0.0
        and value.predictor_variance >= 0.0
        and bool((value.deviation >= 0.0).all())
        and is_covariance(value.covariance)
        and (value.given is None or _is_given(value.given, facts))
    )


def _is_given(given: ControlledColumns, facts: ModelFacts) -> bool:
    """Whether these are moments of columns given controls."""
    facts.sizes["v"] = len(given.others)
    return (
        facts.shapes_fit(given, alpha="rq", beta="rv", covariance="qq", B="qv", deviation="v")
        and facts.shapes_fit(given, of_sensitive="rk", of_controls="rk")
        and bool((given.deviation >= 0.0).all())
        and set(given.others) <= set(range(facts.sizes["p"]))
        and given.predictor_variance >= 0.0
        and is_covariance(given.covariance)
    )


def _are_profiles(value: tuple[ColumnProfile, ...], facts: ModelFacts) -> bool:
    """Whether these are distributions of columns of the model."""
    known = {column.name for column in facts.design.columns}
    return all(profile.name in known and profile.is_sound for profile in value)


def _is_design(design: Design, facts: ModelFacts) -> bool:
    """Whether this describes columns, each of them once and in its place."""
    S, X = design.sensitive.inner, design.predictors
    width = len(design.positions_sensitive) if design.separate else design.n_columns
    return (
        isinstance(X, Encoding)
        and not X.products
        and _are_positions(design.positions_sensitive, S, width)
        and _are_positions(design.positions_predictors, X, design.n_columns)
        and (design.separate or not {*design.positions_sensitive} & {*design.positions_predictors})
        and _are_products(S.crossed, len(S.columns))
        and _are_products(S.products, sum(column.width for column in S.columns))
        and _are_distinct(design.names, design.n_columns)
        and _are_distinct(design.sensitive_names, width if design.separate else -1)
        and all(
            _is_categorical(column)
            for column in design.columns
            if isinstance(column, CategoricalColumn)
        )
    )


def _are_positions(positions: tuple[int, ...], encoding: Encoding, width: int) -> bool:
    return _are_distinct(positions, len(encoding.columns)) and set(positions) <= set(range(width))


def _are_products(parts: tuple[tuple[int, ...], ...], width: int) -> bool:
    return all(
        _are_distinct(part, max(len(part), 2)) and set(part) <= set(range(width)) for part in parts
    )


def _are_distinct(items: tuple[Any, ...] | None, number: int) -> bool:
    """Whether there are that many items, all different; or none at all."""
    return items is None or len(items) == len(set(items)) == number


def _is_categorical(column: CategoricalColumn) -> bool:
    levels, places = column.levels, set(range(len(column.levels)))
    return (
        conforms(levels, tuple[Level, ...])
        and _are_distinct(levels, len(levels))
        and _are_distinct(column.empty, len(column.empty))
        and places >= {column.base, *column.empty}
        and column.base not in column.empty
        and (OTHER in levels or not column.merges)
        and len(column.shares) == len(levels)
        and all(0.0 <= share <= 1.0 for share in column.shares)
    )


def _is_family(value: Any, facts: ModelFacts) -> bool:
    """Whether this is the family of such a model."""
    model = facts.model
    if is_classifier(model):
        of_two = isinstance(value, Binomial) and value.tie == int(models_first(model))
        return of_two or (
            isinstance(value, Multinomial) and value.n_classes == len(model.classes_) > 2
        )
    if hasattr(model, "predict_survival_function"):
        return isinstance(value, Cox)
    return resolve_regression_family(value) is value


def _are_classes(value: NDArray[Any], facts: ModelFacts) -> bool:
    """Whether these are distinct sorted labels, two or those of the family."""
    labels = value.tolist()
    return (
        len(labels) == facts.sizes.get("m", 2)
        and conforms(labels, Sequence[Level])
        and labels == np.unique(value).tolist()
    )


def _is_modeled(value: Any, facts: ModelFacts) -> bool:
    """Whether this is the one of two classes that is modeled, or None of several."""
    classes = facts.model.classes_.tolist()
    return value in classes if len(classes) == 2 else value is None


def _is_certificate(value: Certificate | None, facts: ModelFacts) -> bool:
    """Whether there is a certificate if one was asked for, with shares."""
    shares = () if value is None else (value.bound, value.training_bound, value.upper)
    asked = facts.model.confidence is not None
    return asked == bool(shares) and all(0.0 <= share <= 1.0 for share in shares)


def _is_posterior(value: Any, facts: ModelFacts) -> bool:
    """Whether this is None, or a covariance of the coefficients."""
    return value is None or (Numbers("kk").conforms(value, facts) and is_covariance(value))


# --------------------------------------------------------------------------------- types

# Parameters whose classes declare less than what a file may hold.
PARAMETERS: dict[str, Any] = {
    "base": Literal["most-frequent"] | dict[str, Level] | None,
    "class_weight": Literal["balanced"] | dict[Level, float] | None,
    "confidence": Annotated[float | None, lambda value, facts: value is None or value < 1.0],
    "covariance": NotSaved | None,
    "positive": Level | None,
    "predictor_map": NoneType,
    # The name of a map, if predictions do not need S.
    "sensitive_map": Annotated[
        NotSaved | None,
        lambda value, facts: (value is None) != isinstance(facts.design.sensitive, MappedEncoding),
    ],
    "definition": Annotated[Any, lambda value, facts: bool(resolve_definition(value).name)],
    "penalty": Annotated[Any, lambda value, facts: bool(resolve_penalty(value).name)],
    "family": Annotated[Any, lambda value, facts: bool(resolve_regression_family(value).name)],
}
# Parameters whose numbers are names: positions of columns, or labels.
NAMES = ("base", "controls", "positive", "sensitive")
# What a fit learns, by the attribute that marks the models that do.
LEARNED: dict[str, dict[str, Any]] = {
    "fit": {
        "_design": Annotated[Design, _is_design],
        "family_": Annotated[Any, _is_family],
        "n_features_in_": Annotated[int, lambda value, facts: value == facts.design.n_columns],
        "feature_names_in_": _names(lambda facts: facts.design.names),
        "sensitive_names_": _names(lambda facts: facts.design.sensitive.names),
        "predictor_names_": _names(lambda facts: facts.design.predictors.names),
        "coef_names_": _names(
            lambda facts: np.array(facts.model._fitted.reads.encoded_names, dtype=object)[
                facts.model._fitted.reads.input_order
            ]
        ),
        "sensitive_dropped_": Numbers(),
        "n_rows_": int,
        "n_iter_": int,
        "alpha_": Numbers("mq"),
        "beta_": Numbers("mp"),
        "fair_intercept_": Numbers("m"),
        "coef_": Numbers("oc"),
        "intercept_": Numbers("o"),
        "lambda_": Each(Numbers(minimum=0.0, infinite=True)),
        "unfairness_": Each(Numbers()),
        "unfairness_components_": dict[str, float],
        "dependence_": dict[str, float],
        "group_differences_": dict[str, float],
        "total_ratios_": _by_name("ratio", "low", "high"),
        "status_": Each(Status),
        "bound_active_": bool,
        "converged_": bool,
        "deviance_": Numbers(),
        "dispersion_": Numbers(infinite=True),
        "loglik_": Numbers(infinite=True),
        "explained_deviance_": Numbers(infinite=True),
        "explained_by_sensitive_": Numbers("p"),
        "variance_inflation_": Numbers("p", minimum=1.0, infinite=True),
        "chosen_": dict[str, str],
        "_training": Annotated[TrainingColumns, _is_training],
        "_profiles": Annotated[tuple[ColumnProfile, ...], _are_profiles],
        "_text_styles": Annotated[
            tuple[TextStyle, ...],
            lambda value, facts: _are_distinct(tuple(x.name for x in value), len(value)),
        ],
        "_offsets": tuple[Literal["offset", "exposure"], ...],
    },
    "predict_proba": {
        "classes_": Annotated[ARRAY, _are_classes],
        "positive_": Annotated[Level | None, _is_modeled],
    },
    "predict_survival_function": {
        "event_times_": Numbers("e"),
        "_log_hazard": Numbers("e", infinite=True),
        "cumulative_hazard_": Numbers("e", minimum=0.0, infinite=True),
    },
    "separation": {
        "sign_flips_": _by_name(
            *("coefficient", "standard_error", "free_coefficient", "free_standard_error")
        ),
        "isolated_": dict[str, int],
        "predictor_penalty_": Numbers(minimum=0.0),
    },
    "confidence": {
        "certificate_": Annotated[Certificate | None, _is_certificate],
        "_posterior": Annotated[Any, _is_posterior],
    },
    "gamma": {"mutual_information_": dict[str, float]},
}
# Of models whose predictors are the columns themselves, of frames, with classes or totals, or
# that `choose_bound` has granted.
OPTIONAL = ("variance_inflation_", "feature_names_in_", "total_ratios_", "chosen_")


def learned_by(kind: Any) -> dict[str, Any]:
    """Return the types of what a model of a class learns."""
    records = (record for mark, record in LEARNED.items() if hasattr(kind, mark))
    return {name: hint for record in records for name, hint in record.items()}


def require_sound(model: Any) -> None:
    """Raise a ValueError that names the first field of a model that is not as declared."""
    facts, learned = ModelFacts(model), learned_by(model)
    values = vars(model)
    # All other types refer to the columns, and the kind of model to sound parameters.
    _require("_design", learned["_design"], values, facts)
    hints = get_type_hints(type(model)) | PARAMETERS
    for name, value in model.get_params(deep=False).items():
        whole = isinstance(value, float) and value.is_integer()
        given = {name: int(value) if whole else value}
        hint = hints[name] if name in NAMES else Annotated[hints[name], _is_quantity]
        _require(name, hint, given, facts)
    try:
        if model.sensitive_map is not None and model._fitted.traits.needs_sensitive:
            raise ValueError("predictions need S, and its map is not in the file.")
        model._fitted.reads  # noqa: B018
    except ValueError as error:
        raise ValueError(f"'definition' does not fit the other parameters: {error}") from error
    for name, hint in learned.items():
        if name in values or name not in OPTIONAL:
            _require(name, hint, values, facts)
    if (facts.design.names is None) == ("feature_names_in_" in values):
        raise ValueError("'feature_names_in_' must be there if columns have names.")


def _is_quantity(value: Any, facts: ModelFacts) -> bool:
    """Whether numbers of a parameter are at least 0, as all quantities are."""
    inside = value.values() if isinstance(value, dict) else [value]
    return all(x >= 0 for x in inside if is_number(x))


def _require(name: str, hint: Any, values: Mapping[str, Any], facts: ModelFacts) -> None:
    if name not in values:
        raise ValueError(f"{name!r} is missing.")
    value = values[name]
    try:
        fits = conforms(value, hint, facts)
    except (TypeError, ValueError, AttributeError, LookupError):
        fits = False
    if fits:
        return
    kind = hint.kind if isinstance(hint, Each) else hint
    if isinstance(kind, Numbers):
        raise ValueError(f"{name!r} must be {kind.words(facts)}.")
    what = "does not fit the other fields" if is_dataclass(value) else f"cannot be {shown(value)}"
    raise ValueError(f"{name!r} {what}.")
