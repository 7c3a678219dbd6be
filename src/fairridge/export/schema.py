"""What a model file must hold: one rule for every parameter and every learned attribute.

The rules are about types, shapes and finiteness, so that whatever loads can
predict, print itself and be exported. The fields of objects inside a file
follow their annotations (`fairridge.data.annotations`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import NoneType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from fairridge.data import Design, MappedEncoding, Missing, Unknown
from fairridge.data.annotations import LARGEST_NUMBER, conforms, is_number
from fairridge.data.classes import models_first
from fairridge.export.codec import NotSaved
from fairridge.export.soundness import (
    Level,
    ModelFacts,
    are_profiles,
    are_styles,
    is_covariance,
    is_design,
    is_training,
)
from fairridge.families import Binomial, Cox, Multinomial
from fairridge.inference import Certificate, Certification
from fairridge.search import Status
from fairridge.search.setup import resolve_definition, resolve_penalty, resolve_regression_family


def _always(facts: ModelFacts) -> bool:
    return True


def _has(name: str) -> Callable[[ModelFacts], bool]:
    """Whether a model has an attribute that only some kinds have."""
    return lambda facts: hasattr(facts.model, name)


_survives = _has("predict_survival_function")


@dataclass(frozen=True)
class FieldRule:
    """What one field must be."""

    says: str  # the rule in words, after "must be"
    # Whether a value keeps it; an error means that it does not.
    holds: Callable[[Any, ModelFacts], bool]
    when: Callable[[ModelFacts], bool] = _always  # whether a model has the field at all
    axes: str = ""  # letters of the axes of an array, for the message


def _numbers(
    axes: str = "",
    *,
    minimum: float = -np.inf,
    infinite: bool = False,
    when: Callable[[ModelFacts], bool] = _always,
) -> FieldRule:
    maximum = np.inf if infinite else LARGEST_NUMBER

    def holds(value: Any, facts: ModelFacts) -> bool:
        array: NDArray[Any] = np.asarray(value)
        return (
            array.dtype == np.float64
            and facts.shape_fits(array.shape, axes)
            and bool(((array >= minimum) & (np.abs(array) <= maximum)).all())
        )

    size = "" if infinite else "finite "
    bound = "" if minimum == -np.inf else f" that are at least {minimum:g}"
    return FieldRule(f"{size}64-bit floats{bound}", holds, when, axes)


def _parameter(minimum: float, *, optional: bool = False) -> FieldRule:
    return FieldRule(
        f"a number that is at least {minimum:g}{', or None' * optional}",
        lambda value, facts: (
            (optional and value is None) or (is_number(value) and bool(value >= minimum))
        ),
    )


def _each(rule: FieldRule) -> FieldRule:
    """Return a rule for what models with bounds per attribute have one of for each."""

    def holds(value: Any, facts: ModelFacts) -> bool:
        bounds = facts.model.unfairness
        if not isinstance(bounds, dict):
            return rule.holds(value, facts)
        same = isinstance(value, dict) and list(value) == list(bounds)
        return same and all(rule.holds(item, facts) for item in value.values())

    return FieldRule(f"{rule.says}; as many as bounds, by name", holds)


def _is_bound(value: Any, facts: ModelFacts) -> bool:
    bounds = value.values() if isinstance(value, dict) and value else [value]
    return all(is_number(r) and bool(r >= 0.0) for r in bounds) and (
        not isinstance(value, dict) or hasattr(facts.model, "definition")
    )


def _typed(hint: Any, says: str, when: Callable[[ModelFacts], bool] = _always) -> FieldRule:
    return FieldRule(says, lambda value, facts: conforms(value, hint), when)


def _described(says: str, names: Sequence[str], when: Callable[[ModelFacts], bool]) -> FieldRule:
    """Require numbers by name for each of several things; those that there are none of are NaN."""

    def holds(value: Any, facts: ModelFacts) -> bool:
        if not conforms(value, dict[str, dict[str, Any]]):
            return False
        return all(
            set(each) == set(names) and all(isinstance(x, float) for x in each.values())
            for each in value.values()
        )

    return FieldRule(says, holds, when)


def _names(
    expected: Callable[[Design], Any], when: Callable[[ModelFacts], bool] = _always
) -> FieldRule:
    return FieldRule(
        "the names of columns that '_design' describes",
        lambda value, facts: (
            isinstance(value, np.ndarray) and value.tolist() == list(expected(facts.design))
        ),
        when,
    )


def _are_coefficients(value: Any, facts: ModelFacts) -> bool:
    reads = facts.model._fitted.reads
    names = [reads.encoded_names[k] for k in reads.input_order]
    return isinstance(value, np.ndarray) and value.tolist() == names


def _resolved(resolve: Callable[[Any], Any], says: str) -> FieldRule:
    return FieldRule(says, lambda value, facts: isinstance(resolve(value).name, str))


def _are_attributes(value: Any, facts: ModelFacts) -> bool:
    """Whether these are columns, and tuples of columns."""
    listed = isinstance(value, list | tuple)
    tuples = [item for item in value if isinstance(item, tuple)] if listed else []
    single = [item for item in value if not isinstance(item, tuple)] if tuples else value
    return _are_columns(single, facts) and all(_are_columns(list(one), facts) for one in tuples)


def _are_columns(value: Any, facts: ModelFacts) -> bool:
    items = value.tolist() if isinstance(value, np.ndarray) else value
    items = list(items) if isinstance(items, list | tuple) else [items]
    return value is None or all(conforms(item, str | int) for item in items)


def _is_family(value: Any, facts: ModelFacts) -> bool:
    model = facts.model
    if is_classifier(model):
        of_two = isinstance(value, Binomial) and value.tie == int(models_first(model))
        return of_two or (
            isinstance(value, Multinomial) and value.n_classes == len(model.classes_) > 2
        )
    if _survives(facts):
        return isinstance(value, Cox)
    return resolve_regression_family(value) is value


def _are_classes(value: Any, facts: ModelFacts) -> bool:
    return (
        isinstance(value, np.ndarray)
        and value.shape == (facts.sizes.get("m", 2),)
        and all(conforms(label, Level) for label in value.tolist())
        and len(set(value.tolist())) == len(value)
        and np.sort(value).tolist() == value.tolist()
    )


def _is_modeled(value: Any, facts: ModelFacts) -> bool:
    classes = facts.model.classes_.tolist()
    return value in classes if len(classes) == 2 else value is None


def _is_certificate(value: Any, facts: ModelFacts) -> bool:
    if value is None or facts.model.confidence is None:
        return value is None and facts.model.confidence is None
    numbers = [value.bound, value.training_bound, value.upper]
    return isinstance(value, Certificate) and all(0.0 <= number <= 1.0 for number in numbers)


def _is_class_weight(value: Any, facts: ModelFacts) -> bool:
    if not isinstance(value, dict):
        return value is None or value == "balanced"
    return all(conforms(k, Level) and is_number(w) and w > 0.0 for k, w in value.items())


def _is_base(value: Any, facts: ModelFacts) -> bool:
    if not isinstance(value, dict):
        return value is None or value == "most-frequent"
    return all(conforms(k, str) and conforms(level, Level) for k, level in value.items())


def _is_predictor_penalty(value: Any, facts: ModelFacts) -> bool:
    chosen = isinstance(value, str) and value == "cv" and hasattr(facts.model, "separation")
    return chosen or _parameter(0.0).holds(value, facts)


def _is_sensitive_map(value: Any, facts: ModelFacts) -> bool:
    mapped = isinstance(facts.design.sensitive, MappedEncoding)
    return isinstance(value, NotSaved) if mapped else value is None


PARAMETERS: dict[str, FieldRule] = {
    "unfairness": FieldRule("a number that is at least 0, or several by name", _is_bound),
    "sensitive": FieldRule("names or positions of columns, or tuples of these", _are_attributes),
    "definition": _resolved(resolve_definition, "a definition of fairness"),
    "penalty": _resolved(resolve_penalty, "a penalty"),
    "family": _resolved(resolve_regression_family, "a family of numeric responses"),
    "predictor_penalty": FieldRule("a number that is at least 0, or 'cv'", _is_predictor_penalty),
    "ridge": _parameter(0.0),
    "standardize": _typed(bool, "True or False"),
    "blind": _typed(bool, "True or False"),
    "controls": FieldRule("names or positions of columns", _are_columns),
    "confidence": FieldRule(
        "a number between 0 and 1, or None",
        lambda value, facts: value is None or (is_number(value) and bool(0.0 < value < 1.0)),
    ),
    "random_state": _typed(int, "a whole number"),
    "certification": _typed(Certification, "a way to certify a bound"),
    "unknown": _typed(Unknown, "'error', 'base' or 'mean'"),
    "missing": _typed(Missing, "'error' or 'level'"),
    "predictor_map": _typed(NoneType, "None"),
    "sensitive_map": FieldRule(
        "None, or the name of a map if predictions do not need S", _is_sensitive_map
    ),
    "tol": _parameter(0.0),
    "max_iter": _parameter(1.0),
    "min_frequency": _parameter(0.0, optional=True),
    "base": FieldRule("None, 'most-frequent' or levels by column", _is_base),
    "separation": _typed(Literal["isolate", "warn", "error"], "'isolate', 'warn' or 'error'"),
    "max_levels": _parameter(1.0, optional=True),
    "link": _typed(Literal["logit", "probit", "cloglog"], "'logit', 'probit' or 'cloglog'"),
    "positive": FieldRule(
        "None or a label", lambda value, facts: value is None or conforms(value, Level)
    ),
    "class_weight": FieldRule("None, 'balanced' or numbers by label", _is_class_weight),
    "ties": _typed(Literal["breslow", "efron"], "'breslow' or 'efron'"),
    "bound": _typed(Literal["correlation", "covariance"], "'correlation' or 'covariance'"),
    "at_zero": _typed(Literal["project", "drop"], "'project' or 'drop'"),
    "gamma": _parameter(0.0, optional=True),
    "strength": _parameter(0.0, optional=True),
    "bins": _parameter(1.0),
    "covariance": FieldRule(
        "None or a function", lambda value, facts: value is None or callable(value)
    ),
}

FITTED: dict[str, FieldRule] = {
    "_design": FieldRule("a description of the columns that fits together", is_design),
    "classes_": FieldRule(
        "distinct sorted labels, two or those of 'family_'",
        _are_classes,
        lambda facts: is_classifier(facts.model),
    ),
    "positive_": FieldRule(
        "the one of two classes that is modeled, None of several",
        _is_modeled,
        lambda facts: is_classifier(facts.model),
    ),
    "family_": FieldRule("the family of such a model", _is_family),
    "n_features_in_": FieldRule(
        "the number of columns",
        lambda value, facts: conforms(value, int) and value == facts.design.n_columns,
    ),
    "feature_names_in_": _names(
        lambda design: design.names, lambda facts: facts.design.names is not None
    ),
    "sensitive_names_": _names(lambda design: design.sensitive.names),
    "predictor_names_": _names(lambda design: design.predictors.names),
    "coef_names_": FieldRule("the names of the columns that predictions read", _are_coefficients),
    "sensitive_dropped_": _numbers(),
    "n_rows_": _typed(int, "a whole number"),
    "n_iter_": _typed(int, "a whole number"),
    "alpha_": _numbers("mq"),
    "beta_": _numbers("mp"),
    "fair_intercept_": _numbers("m"),
    "coef_": _numbers("oc"),
    "intercept_": _numbers("o"),
    "lambda_": _each(_numbers(minimum=0.0, infinite=True)),
    "unfairness_": _each(_numbers()),
    "unfairness_components_": _typed(dict[str, float], "numbers by name"),
    "dependence_": _typed(dict[str, float], "numbers by name"),
    "group_differences_": _typed(dict[str, float], "numbers by name"),
    "total_ratios_": _described(
        "ratio, low and high by group", ("ratio", "low", "high"), _has("total_ratios_")
    ),
    "mutual_information_": _typed(dict[str, float], "numbers by name", _has("gamma")),
    "sign_flips_": _described(
        "coefficients and standard errors by predictor",
        ("coefficient", "standard_error", "free_coefficient", "free_standard_error"),
        _has("separation"),
    ),
    "isolated_": _typed(dict[str, int], "rows by level", _has("separation")),
    "predictor_penalty_": _numbers(minimum=0.0, when=_has("separation")),
    "certificate_": FieldRule(
        "a certificate if 'confidence' is given, else None", _is_certificate, _has("confidence")
    ),
    "_posterior": FieldRule(
        "None, or a covariance of the coefficients",
        lambda value, facts: (
            value is None or (_numbers("kk").holds(value, facts) and is_covariance(value))
        ),
        _has("confidence"),
    ),
    "status_": _each(_typed(Status, "a status")),
    "bound_active_": _typed(bool, "True or False"),
    "converged_": _typed(bool, "True or False"),
    "deviance_": _numbers(),
    "dispersion_": _numbers(infinite=True),
    "loglik_": _numbers(infinite=True),
    "explained_deviance_": _numbers(infinite=True),
    "explained_by_sensitive_": _numbers("p"),
    # Of models whose predictors are the columns themselves; files of version 0.2 have none.
    "variance_inflation_": _numbers(
        "p", minimum=1.0, infinite=True, when=_has("variance_inflation_")
    ),
    # Of models that `choose_bound` has granted.
    "chosen_": _typed(dict[str, str], "facts by name", _has("chosen_")),
    "_training": FieldRule("moments of the training columns that fit together", is_training),
    "_profiles": FieldRule("how the training columns were distributed", are_profiles),
    "_text_styles": FieldRule("how the training columns were written", are_styles),
    "_offsets": _typed(
        tuple[Literal["offset", "exposure"], ...], "'offset', 'exposure', both or none"
    ),
    "event_times_": _numbers("e", when=_survives),
    "_log_hazard": _numbers("e", infinite=True, when=_survives),
    "cumulative_hazard_": _numbers("e", minimum=0.0, infinite=True, when=_survives),
}


def require_sound(model: Any) -> None:
    """Raise a ValueError that names the first field of a model that breaks its rule.

    Parameters
    ----------
    model : estimator
        With the parameters and learned attributes of a file.
    """
    parameters = model.get_params(deep=False)
    learned = {key: value for key, value in vars(model).items() if key in FITTED}
    # All other rules refer to the columns.
    facts = ModelFacts(model, learned.get("_design"), {})
    _require("_design", FITTED["_design"], learned, facts)
    # What kind of model this is depends on sound parameters.
    for name in parameters:
        if name not in PARAMETERS:
            raise ValueError(f"the parameter {name!r} has no rule in the schema of model files.")
        _require(name, PARAMETERS[name], parameters, facts)
    facts = ModelFacts.of(model, learned["_design"])
    try:
        if parameters["sensitive_map"] is not None and model._fitted.traits.needs_sensitive:
            raise ValueError("predictions need S, and its map is not in the file.")
        facts.sizes["c"] = len(model._fitted.reads.encoded_names)
    except ValueError as error:
        raise ValueError(f"'definition' does not fit the other parameters: {error}") from error
    for name, rule in FITTED.items():
        if rule.when(facts):
            _require(name, rule, learned, facts)
        elif name in learned:
            raise ValueError(f"{name!r} is nothing such a {type(model).__name__} learns.")


def _require(name: str, rule: FieldRule, values: Mapping[str, Any], facts: ModelFacts) -> None:
    if name not in values:
        raise ValueError(f"{name!r} is missing.")
    try:
        holds = rule.holds(values[name], facts)
    except (TypeError, ValueError, AttributeError):
        holds = False
    if not holds:
        shape = f" of shape {facts.shape(rule.axes)}" if rule.axes else ""
        raise ValueError(f"{name!r} must be {rule.says}{shape}.")
