"""A fitted model, reduced to what every export needs: a linear form in the input columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from fairridge._delegation import delegated
from fairridge._typing import Floats
from fairridge.data import Design, Levels, MappedEncoding, Table, Unknown, dense_columns
from fairridge.data.columns import (
    MISSING,
    CategoricalColumn,
    ColumnEncoding,
    FilledColumn,
    NumericColumn,
    for_sensitive,
)
from fairridge.data.text_style import TextStyle
from fairridge.export.training import TrainingColumns
from fairridge.families.base import modeled_class

# What is done with models of intersections; the rest needs a sum over single columns.
WITH_PRODUCTS = ("Monitor", "attribution", "proxies", "save", "to_sql")


@dataclass(frozen=True, eq=False)
class InputColumn:
    """One column of the input, with its part of the coefficients."""

    encoding: ColumnEncoding  # its name, and its levels
    sensitive: bool  # whether it belongs to S
    encoded: slice  # its encoded columns
    coefficients: Floats  # those of its encoded columns, of shape (m, k)
    unknown: Unknown  # what an unseen level does

    name = delegated("encoding.name")  # x0, x1, … or s0, s1, … for arrays

    @property
    def role(self) -> str:
        """Return "sensitive" or "predictor"."""
        return "sensitive" if self.sensitive else "predictor"

    @property
    def levels(self) -> CategoricalColumn | None:
        """The encoding of a column with levels; None for numbers."""
        return self.encoding if isinstance(self.encoding, CategoricalColumn) else None

    @cached_property
    def level_values(self) -> dict[Any, Floats]:
        """What each level adds to η, the base level included."""
        # Levels that were merged into "(other)" are not among them, nor is it itself.
        if self.levels is None:
            return {}
        values = np.insert(self.coefficients, self.levels.base, 0.0, axis=1).T
        by_level = dict(zip(self.levels.levels, values, strict=True))
        if self.levels.rest is not None:
            del by_level[self.levels.levels[self.levels.rest]]
        return by_level

    @property
    def unseen(self) -> Floats | None:
        """What a level adds to η that was not there at fit; None if it is an error."""
        row = None if self.levels is None else self.levels.unseen(self.unknown)
        return None if row is None else self.coefficients @ row

    @property
    def missing(self) -> Floats | None:
        """What a missing value adds to η; None if it is an error."""
        if isinstance(self.encoding, FilledColumn):
            return self.coefficients @ np.array([self.encoding.mean, 1.0])
        if self.levels is None or not self.levels.takes_missing:
            return None
        known = self.level_values.get(MISSING)
        return self.unseen if known is None else known


@dataclass(frozen=True)
class LinearForm:
    """η = intercept + Z·coefficients in the encoded columns Z = [S, X]."""

    estimator_name: str  # class of the model, for messages
    design: Design  # the columns, without feature maps
    coefficients: Floats  # raw, one row per linear predictor, of shape (m, q+p)
    intercept: Floats  # raw, of shape (m,)
    # Moments of all training columns, including those of S if S is left out.
    training: TrainingColumns
    family: Any  # links η to the mean
    unknown: Unknown  # what an unseen level does
    classes: NDArray[Any] | None  # labels of classifiers by code: of two the modeled one is last
    backend: Any = None  # the frame library of the training data
    offsets: tuple[str, ...] = ()  # which of "offset" and "exposure" training rows came with
    text_styles: tuple[TextStyle, ...] = ()  # how columns were written in the file of the fit

    @property
    def conversions(self) -> tuple[str, ...]:
        """What to convert in a file such as that of the fit, which the command line has read."""
        names = {column.name for column in self.columns}
        return tuple(
            f"column {style.name!r} has {style.conversion}"
            for style in self.text_styles
            if style.name in names and style.conversion
        )

    link = delegated("family.link")

    @property
    def center(self) -> Floats:
        """Training means of the encoded columns."""
        end = len(self.training.with_response)
        return self.training.center[end - self.coefficients.shape[1] : end]

    @cached_property
    def columns(self) -> tuple[InputColumn, ...]:
        """The input columns in the order of the coefficients: S, then X."""
        columns, first = [], 0
        for encoding, sensitive in ((self.design.sensitive, True), (self.design.predictors, False)):
            unknown = for_sensitive(self.unknown) if sensitive else self.unknown
            own = encoding.columns  # type: ignore[union-attr]
            for column, span in zip(own, encoding.inner.spans, strict=True):
                encoded = slice(first + span.start, first + span.stop)
                coefficients = self.coefficients[:, encoded]
                columns.append(InputColumn(column, sensitive, encoded, coefficients, unknown))
            first += len(encoding.names)
        return tuple(columns)

    @property
    def products(self) -> tuple[tuple[tuple[int, ...], Floats], ...]:
        """Products of encoded columns of S that intersections add, with their coefficients."""
        parts = self.design.sensitive.inner.products
        first = len(self.design.sensitive.names) - len(parts)
        return tuple((part, self.coefficients[:, first + k]) for k, part in enumerate(parts))

    @cached_property
    def inputs(self) -> tuple[InputColumn, ...]:
        """The same columns as they were given: in the order of X; S first if it was separate."""
        if self.design.separate:
            return self.columns
        places = self.design.positions_sensitive + self.design.positions_predictors
        return tuple(self.columns[k] for k in np.argsort(places))

    @property
    def names(self) -> tuple[str, ...] | None:
        """Names of `inputs`; None if an array was given."""
        missing = self.design.names is None or (
            self.design.separate and self.design.sensitive_names is None
        )
        return None if missing else tuple(column.name for column in self.inputs)

    @property
    def labels(self) -> list[Any]:
        """Class labels, sorted as in `classes_`; none for models of numbers."""
        return [] if self.classes is None else np.sort(self.classes).tolist()

    @property
    def positive(self) -> Any:
        """The label that the linear predictor is about; None without two classes."""
        return None if self.classes is None else modeled_class(self.classes)

    @property
    def models_first(self) -> bool:
        """Whether that is the first of `labels`."""
        return self.positive is not None and bool(self.positive == self.labels[0])

    @property
    def all_numeric(self) -> bool:
        """Whether every input column is a number."""
        return all(isinstance(column.encoding, NumericColumn) for column in self.columns)

    @property
    def theta(self) -> Floats:
        """The intercept and the coefficients of a model with one linear predictor."""
        return np.concatenate([self.intercept[:1], self.coefficients[0]])

    def encoded(self, X: Table, S: Table | None) -> Floats:
        """Return new rows as the columns that have coefficients."""
        pieces = self.design.encode(X, S, self.unknown, estimator_name=self.estimator_name)
        return dense_columns((*pieces[0], *pieces[1]), self.design.encoded_names)

    def contributions(self, X: Table, S: Table | None, reference: Floats | None = None) -> Floats:
        """Split η of rows, less η at the training means or another reference, over the columns."""
        # They are of shape (m, n, columns), in the order of `columns`.
        Z = self.encoded(X, S) - (self.center if reference is None else reference)
        return np.stack(
            [
                np.einsum("nk,mk->mn", Z[:, column.encoded], column.coefficients)
                for column in self.columns
            ],
            axis=-1,
        )

    def without_sensitive(self) -> LinearForm:
        """Return the form in X alone if S has no weight at all, as in models blind to S."""
        q = len(self.design.sensitive.names)
        if self.coefficients[:, :q].any() or not self.design.positions_predictors:
            return self
        blind = self.design.without_sensitive()
        return replace(self, design=blind, coefficients=self.coefficients[:, q:])

    def attributes(self, sensitive_features: Any) -> Table | None:
        """Read the sensitive attributes of new rows; a form without S ignores them."""
        if not self.design.positions_sensitive:
            return None
        return self.design.attributes(sensitive_features, estimator_name=self.estimator_name)

    def values(self, column: InputColumn, X: Table, S: Table | None) -> Floats | Levels:
        """Return what new rows have in a column, found by name if there are names."""
        source = S if S is not None and column.sensitive and self.design.separate else X
        if source.names is not None and column.name in source.names:
            return source.column(source.names.index(column.name))
        places = self.design.positions_sensitive + self.design.positions_predictors
        return source.column(places[self.columns.index(column)])

    @property
    def level(self) -> Floats:
        """η̄, of shape (m,): η at the training means."""
        return self.intercept + self.coefficients @ self.center


def require_link(
    model: Any, link: str, need: str, others: Mapping[str, str], otherwise: str = ""
) -> None:
    """Raise for a model with another link than a use needs, with advice by its link."""
    family = getattr(model, "family_", None)
    if family is not None and family.link != link:
        raise ValueError(
            f"{need}; this {type(model).__name__} is a {family.name} model with the {family.link} "
            f"link{others.get(family.link, otherwise)}."
        )


def named_form(model: Any, purpose: str) -> LinearForm:
    """Return the linear form for a use that finds columns by name; S is left out if unused."""
    form = predicting_form(model, purpose)
    seen: dict[str, InputColumn] = {}
    for column in form.columns:
        other = seen.setdefault(column.name, column)
        if other is not column:
            raise ValueError(
                f"{purpose} finds columns by name, and {column.name!r} is one of X and one of "
                "sensitive_features (columns of arrays are called x0, x1, … and s0, s1, …); "
                "rename one of them and fit again."
            )
    return form


def predicting_form(model: Any, purpose: str) -> LinearForm:
    """Return the linear form for predictions alone: without S, and any map of it, if unused."""
    return linear_form(model, purpose, predicts=True).without_sensitive()


def linear_form(model: Any, purpose: str, *, predicts: bool = False) -> LinearForm:
    """Return the linear form of a fitted model: all that functions on models see of it."""
    # The linear models of this library describe themselves by the property `_description`, which is
    # a `LinearForm`. Beside it, functions only read public attributes.
    # `purpose` is the function that needs it, for messages. If nothing but predictions matters, S
    # may be mapped if they do not need it.
    if not hasattr(type(model), "_description"):
        advice = ""
        if hasattr(model, "layer_inputs"):
            advice = " Pass its layer_, and rows by its layer_inputs(X)."
        if isinstance(model, Pipeline):
            steps = ", ".join(repr(name) for name, _ in model.steps[:-1])
            advice = (
                f" Steps {steps} are not columns of the input: pass the last step, model[-1], and "
                "rows by model[:-1].transform(X); to_sklearn, to_onnx and save take all steps."
            )
        raise TypeError(
            f"{purpose} needs a linear model of fairridge; {type(model).__name__} is not one."
            f"{advice}"
        )
    check_is_fitted(model)
    form: LinearForm = model._description
    design = form.design
    blind = predicts and not model._fitted.traits.needs_sensitive
    for name, encoding in (("predictor", design.predictors), ("sensitive", design.sensitive)):
        if isinstance(encoding, MappedEncoding) and not (blind and name == "sensitive"):
            raise ValueError(
                f"{purpose} needs a model without feature maps; this {form.estimator_name} "
                f"has a {name}_map, so its features are not columns of the input."
            )
    if purpose not in WITH_PRODUCTS and design.sensitive.inner.products:
        raise ValueError(
            f"{purpose} needs a model that adds up single columns; this {form.estimator_name} has "
            "intersections of sensitive attributes. to_sql and save take it."
        )
    return form
