"""What the rest of the package reads of a model, in one place.

Beside parameters and public attributes this is, of any model, `_traits` (what
kind of model its parameters make) and, once it is fitted, `_fitted` (what it was
fitted with) and `_linear_predictor`. A `LinearModel` adds `_description`, `_shift` (offset
and exposure together) and the steps of a fit, `_problem_on`, `_set_up`, `_solve` and `_finish`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from fairridge._typing import Floats
from fairridge.data import Design
from fairridge.data.classes import labels_by_code
from fairridge.data.design import ColumnProfile
from fairridge.data.text_style import TextStyle
from fairridge.estimators._each import measures_with_bounds
from fairridge.estimators._responses import Inputs, Response, ResponseKind
from fairridge.metrics.dependence_shares import WORDS
from fairridge.metrics.measure import Measure, measure_of
from fairridge.tables import Table

# What to do about features that fit any response.
FEWER_FEATURES = "Use a map with fewer features."
PENALTY_OR_FEWER = "Set predictor_penalty, or use a map with fewer features."


@dataclass(frozen=True)
class Traits:
    """Facts about a model with given parameters, for code that handles all models."""

    # What is bounded; None if that is not a function of linear predictors (Definition or
    # None).
    definition: Any = None
    largest_bound: float = 1.0  # largest bound that has a meaning
    needs_sensitive: bool = True  # whether predictions need S
    needs_groups: bool = False  # whether S must divide the rows into groups
    # Whether a gaussian model needs nothing of the rows but their moments.
    moments_suffice: bool = False
    # Whether data with more columns than rows are solved in fewer features.
    compresses: bool = False
    regularized: bool = False  # whether collinear predictors have one answer
    chooses_penalty: bool = False  # whether λ₂ is chosen from the rows, by cross-validation
    # What to do about features that fit any response; None if a penalty keeps them from it.
    advice: str | None = FEWER_FEATURES
    multiplier: str = "λ(r)"  # name of `lambda_` in a summary
    # The parameter that fixes the penalty, as ``name=value``; a bound then chooses nothing.
    given_penalty: str | None = None


@dataclass(frozen=True)
class Fitted:
    """What a model was fitted with, whatever `set_params` has changed since."""

    # `unknown` is not among these facts: it is about rows to predict, and takes effect
    # when it is set.

    settings: Any  # the model with the parameters of the fit, unfitted
    traits: Traits  # what kind of model these make
    design: Design  # the columns of S and X
    profiles: tuple[ColumnProfile, ...]  # how these were distributed; empty if that is not kept
    # How columns were written in the file of the fit; empty if there was none.
    text_styles: tuple[TextStyle, ...]
    # Which of "offset" and "exposure" the rows came with: responses cannot be compared with
    # predictions without these.
    offsets: tuple[str, ...] = ()

    @property
    def bound(self) -> Any:
        """The bound, or the bounds of attributes."""
        return self.settings.unfairness

    @property
    def reads(self) -> Design:
        """The columns that predictions read."""
        return self.design if self.traits.needs_sensitive else self.design.without_sensitive()

    def by_column(self, coef: Floats) -> Floats:
        """Coefficients of the encoded columns of S, then X, one row per linear predictor."""
        # Those of S are zero in models that do not use it to predict.
        known = self.reads.to_encoded(np.atleast_2d(coef))
        return np.pad(known, ((0, 0), (len(self.design.encoded_names) - known.shape[1], 0)))

    def read_response(self, y: Any, inputs: Inputs) -> Response:
        """Read the response of other rows."""
        return self.settings._response_kind.read(y, inputs)


class FairModel(Protocol):
    """What code of this package may expect of any model of it."""

    unfairness: Any
    sensitive: Any
    unknown: Any
    predictor_map: Any
    sensitive_map: Any
    missing: Any
    family_: Any
    classes_: Any
    positive_: Any
    # How levels are handled at predict that were absent at fit.
    _unknown_rules: ClassVar[tuple[str, ...]]
    # Whether rows may be in arrays on another device.
    _sums_on_devices: ClassVar[bool]
    # Whether X may be a sparse matrix.
    _takes_sparse: ClassVar[bool]

    @property
    def _traits(self) -> Traits:
        """What kind of model its parameters make."""
        ...

    @property
    def _fitted(self) -> Fitted:
        """What it was fitted with."""
        ...

    @property
    def _response_kind(self) -> ResponseKind:
        """How the response is read."""
        ...

    def _linear_predictor(self, X: Any, sensitive_features: Any, offset: Any) -> Floats:
        """Return η of shape (n,), or (n, K) for several classes."""
        ...


def traits_of(model: Any) -> Traits:
    """Return the traits of any estimator; the defaults for one of another library."""
    traits: Traits = getattr(model, "_traits", Traits())
    return traits


def fitted(model: Any) -> Fitted:
    """Return what a model was fitted with; raise if it is not fitted."""
    check_is_fitted(model)
    settings, profiles = model._settings, getattr(model, "_profiles", ())
    styles, offsets = getattr(model, "_text_styles", ()), getattr(model, "_offsets", ())
    return Fitted(settings, settings._traits, model._design, profiles, styles, offsets)


def bounded_measure(model: Any) -> Measure:
    """Return what a fitted model bounds."""
    facts = fitted(model)
    return measure_of(
        facts.traits.definition,
        model.family_,
        facts.design,
        getattr(facts.settings, "controls", None),
        labels_by_code(model) if hasattr(model, "classes_") else None,
        rates=bool(facts.offsets) and model.family_.link == "log",
    )


def bounds_of(model: Any) -> tuple[tuple[Measure, float], ...]:
    """Return what a fitted model bounds, with the bound: once, or for each of its attributes."""
    facts = fitted(model)
    return measures_with_bounds(bounded_measure(model), facts.bound, facts.design)


def bound_sentences(model: Any) -> list[str]:
    """Say what a fitted model bounds, in a sentence for each bound; nothing if there is none."""
    traits = fitted(model).traits
    largest = traits.largest_bound
    if traits.given_penalty:
        return []
    bounds = bounds_of(model)
    return [found.at_most(r, percent=largest == 1.0) for found, r in bounds if r < largest]


def keep_text_styles(model: Any, styles: tuple[TextStyle, ...]) -> None:
    """Keep with a fitted model how the columns of its file were written."""
    model._text_styles = styles


def as_fitted(model: Any) -> Any:
    """Return an unfitted copy of a model, as it was fitted if it was, with the λ₂ of the fit."""
    if not hasattr(model, "_settings"):
        return clone(model)
    copy = clone(model._settings).set_params(unknown=model.unknown)
    if copy._traits.chooses_penalty:
        copy.set_params(predictor_penalty=model.predictor_penalty_)
    return copy


def bound_text(unfairness: Any) -> str:
    """Write a bound, or the bounds of attributes."""
    return str(dict(unfairness)) if isinstance(unfairness, Mapping) else f"{float(unfairness):g}"


def attribute_facts(model: Any, digits: int) -> list[tuple[str, str]]:
    """Return what each attribute explains, and the status of its bound."""
    bounds = model._fitted.bound
    return [
        (f"{name} ≤ {bounds[name]:g}", f"{value:.{digits}g}, {model.status_[name]}")
        for name, value in model.unfairness_.items()
    ]


def notebook_html(self: Any) -> str:
    """Show a fitted model in a notebook: fairness first, then scikit-learn's diagram."""
    diagram: str = BaseEstimator._html_repr(self)
    if not hasattr(self, "unfairness_"):
        return diagram
    shares = getattr(self, "dependence_", {})
    bounds = (
        [
            ("Bound", bound_text(self._fitted.bound)),
            ("Unfairness reached in training", f"{self.unfairness_:.4g}"),
            ("Status", str(self.status_)),
        ]
        if not isinstance(self.unfairness_, Mapping)
        else attribute_facts(self, 4)
    )
    facts = [
        *bounds,
        *((WORDS[name], f"{value:.4g}") for name, value in shares.items()),
        ("Rows", f"{self.n_rows_:,}"),
    ]
    return Table(f"Fitted {type(self).__name__}", facts=facts).html() + diagram
