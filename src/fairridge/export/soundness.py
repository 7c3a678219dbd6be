"""Whether the larger objects of a model file fit together, and fit its other fields."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fairridge._typing import Floats
from fairridge.data import Design, Encoding, MappedEncoding
from fairridge.data.annotations import conforms
from fairridge.data.columns import OTHER, CategoricalColumn
from fairridge.data.design import ColumnProfile
from fairridge.data.text_style import TextStyle
from fairridge.export.training import ControlledColumns, TrainingColumns
from fairridge.families import Multinomial

Level = str | bool | int | float


@dataclass(frozen=True)
class ModelFacts:
    """What the rules of one model refer to."""

    model: Any  # holds its parameters, and what it learned
    design: Any  # its columns (Design)
    # Lengths of axes by letter: q sensitive and p predictor columns, k = q + p, m classes, o
    # rows and c columns of `coef_`. Other letters mean the length of the first axis that
    # carries them. A model with one linear predictor has no axis m, and no axis o unless it
    # is a classifier.
    sizes: dict[str, int]

    @classmethod
    def of(cls, model: Any, design: Design) -> ModelFacts:
        """Read the sizes from the design and the classes."""
        q, p = len(design.sensitive.names), len(design.predictors.names)
        sizes = {"q": q, "p": p, "k": q + p}
        family = getattr(model, "family_", None)
        if isinstance(family, Multinomial):
            sizes["m"] = sizes["o"] = family.n_classes
        elif hasattr(model, "predict_proba"):  # tags would look at parameters not checked yet
            sizes["o"] = 1
        return cls(model, design, sizes)

    def shape_fits(self, shape: tuple[int, ...], axes: str) -> bool:
        """Whether an array has the axes with these letters."""
        letters = self._letters(axes)
        return len(shape) == len(letters) and all(
            self.sizes.setdefault(letter, length) == length
            for letter, length in zip(letters, shape, strict=True)
        )

    def shape(self, axes: str) -> str:
        """Write out the shape of an array with these axes."""
        return f"({', '.join(str(self.sizes.get(k, 'any')) for k in self._letters(axes))})"

    def _letters(self, axes: str) -> str:
        return "".join(k for k in axes if k in self.sizes or k not in "mo")


def is_training(value: Any, facts: ModelFacts) -> bool:
    """Whether these are moments of the training columns."""
    if not isinstance(value, TrainingColumns):
        return False
    S = value.covariance
    return (
        facts.shape_fits(value.with_response.shape, "kt")
        and facts.shape_fits(S.shape, "qq")
        and facts.shape_fits(value.B.shape, "qp")
        and all(
            array.shape == (facts.sizes["k"] + facts.sizes["t"],)
            for array in (value.center, value.deviation)
        )
        and value.weight > 0.0
        and value.predictor_variance >= 0.0
        and bool((value.deviation >= 0.0).all())
        and is_covariance(S)
        and (value.given is None or _is_given(value.given, facts))
    )


def _is_given(given: ControlledColumns, facts: ModelFacts) -> bool:
    """Whether these are moments of columns given controls."""
    sizes, k = facts.sizes, len(given.others)
    q, (m, width) = sizes["q"], given.of_sensitive.shape
    shapes = (
        (given.alpha, (m, q)),
        (given.beta, (m, k)),
        (given.covariance, (q, q)),
        (given.B, (q, k)),
        (given.of_controls, (m, width)),
    )
    return (
        all(array.shape == shape for array, shape in shapes)
        and width == sizes["k"]
        and given.deviation.shape == (k,)
        and bool((given.deviation >= 0.0).all())
        and set(given.others) <= set(range(sizes["k"] - q))
        and given.predictor_variance >= 0.0
        and is_covariance(given.covariance)
    )


def is_covariance(S: Floats) -> bool:
    """Whether a square matrix is symmetric and, but for rounding, positive semidefinite."""
    least = -1e-9 * np.abs(S).max(initial=0.0)
    return bool((S == S.T).all() and (np.linalg.eigvalsh(S) >= least).all())


def are_profiles(value: Any, facts: ModelFacts) -> bool:
    """Whether these are distributions of columns of the model."""
    design = facts.design
    parts = (design.sensitive, design.predictors)
    known = {column.name for part in parts for column in part.inner.columns}
    return (
        conforms(value, tuple[ColumnProfile, ...])
        and all(profile.name in known for profile in value)
        and all(profile.is_sound for profile in value)
    )


def are_styles(value: Any, facts: ModelFacts) -> bool:
    """Whether these say how columns of a file were written, each of them once."""
    styles = conforms(value, tuple[TextStyle, ...])
    return styles and len({style.name for style in value}) == len(value)


def is_design(design: Any, facts: ModelFacts) -> bool:
    """Whether this describes columns, each of them once and in its place."""
    if not isinstance(design, Design):
        return False
    width = len(design.positions_sensitive) if design.separate else design.n_columns
    return (
        isinstance(design.sensitive, Encoding | MappedEncoding)
        and isinstance(design.sensitive.inner, Encoding)
        and isinstance(design.predictors, Encoding)
        and _are_positions(design.positions_sensitive, design.sensitive.inner, width)
        and _are_positions(design.positions_predictors, design.predictors, design.n_columns)
        and (design.separate or not {*design.positions_sensitive} & {*design.positions_predictors})
        and _are_products(design.sensitive.inner)
        and not design.predictors.products
        and _are_names(design.names, design.n_columns)
        and _are_names(design.sensitive_names, width if design.separate else -1)
        and all(
            _is_categorical(column)
            for encoding in (design.sensitive.inner, design.predictors)
            for column in encoding.columns
            if isinstance(column, CategoricalColumn)
        )
    )


def _are_positions(positions: tuple[int, ...], encoding: Encoding, width: int) -> bool:
    distinct = len(positions) == len(encoding.columns) == len(set(positions))
    return distinct and all(0 <= position < width for position in positions)


def _are_products(encoding: Encoding) -> bool:
    n_columns = len(encoding.columns)
    n_encoded = sum(column.width for column in encoding.columns)
    return all(
        len(set(part)) == len(part) >= 2 and all(0 <= k < limit for k in part)
        for parts, limit in ((encoding.crossed, n_columns), (encoding.products, n_encoded))
        for part in parts
    )


def _are_names(names: tuple[str, ...] | None, width: int) -> bool:
    return names is None or len(names) == len(set(names)) == width


def _is_categorical(column: CategoricalColumn) -> bool:
    places, levels = range(len(column.levels)), column.levels
    return (
        all(conforms(level, Level) for level in levels)
        and len(set(levels)) == len(levels)
        and column.base in places
        and column.base not in column.empty
        and (OTHER in levels or not column.merges)
        and all(empty in places for empty in column.empty)
        and len(set(column.empty)) == len(column.empty)
        and len(column.shares) == len(levels)
        and all(0.0 <= share <= 1.0 for share in column.shares)
    )
