"""How a response is read: numbers, classes, or times and events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets

from fairridge._typing import Floats
from fairridge._warnings import warn_user
from fairridge.arguments import check_number
from fairridge.data import Table, numeric_vector
from fairridge.data.classes import by_code
from fairridge.data.table import labels
from fairridge.data.times import time_and_event
from fairridge.engines import Engine
from fairridge.exceptions import DataWarning
from fairridge.families import Binomial, Cox, Family, Multinomial
from fairridge.families.base import ClassWeights, with_class_weights
from fairridge.metrics.favorable import find_label
from fairridge.search.setup import resolve_regression_family
from fairridge.sources.responses import Labels, Numbers, ResponseReader, Times, times_and_events


@dataclass(frozen=True)
class Inputs:
    """Everything but the response, without the rows of zero weight."""

    # X, and S if it came separately.
    table: Table
    attributes: Table | None
    n_given: int  # rows as they were passed
    keep: Any  # which of those have a positive weight (ndarray of int or slice)
    # Of the rows kept; the offset includes the logarithm of the exposure.
    weight: Floats | None
    offset: Floats | None

    @property
    def weights(self) -> Floats:
        """Weights, ones if none were given."""
        return np.ones(self.table.shape[0]) if self.weight is None else self.weight


@dataclass(frozen=True)
class Response:
    """A response as a family reads it."""

    family: Family  # the family, chosen or confirmed by the response
    values: Floats  # what the family reads, of shape (n, c)
    targets: Floats  # the response as numbers whose moments mean something, of shape (n, m)
    # Labels of classifiers by code: of two the modeled one is last (ndarray or None).
    classes: NDArray[Any] | None = None
    # Encoded predictors that a bound is conditional on.
    controls: tuple[int, ...] = ()
    # Encoded columns of S by attribute, of those with a bound of their own.
    each: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    # Whether classes have the same weight in the rows that a model is set up on.
    balanced: bool = False

    def on(self, engine: Engine) -> Response:
        """Return the response for some of the rows: weights that balance classes are theirs."""
        if not self.balanced or self.classes is None:
            return self
        codes = engine.response[:, 0].astype(np.intp)
        sizes = np.bincount(codes, engine.weights, len(self.classes)).astype(np.float64)
        return replace(self, family=with_class_weights(self.family, balanced(sizes)))


@dataclass(frozen=True)
class NumericResponse:
    """Numbers of a family."""

    family: Any
    has_labels = False

    @classmethod
    def of(cls, model: Any) -> Self:
        """Read what a model with a parameter `family` reads."""
        return cls(resolve_regression_family(model.family))

    @property
    def link(self) -> Any:
        """The link of the family."""
        return self.family.link

    def read(self, y: Any, inputs: Inputs) -> Response:
        """Read numbers; from a gaussian response, which may be any, the offset is subtracted."""
        response = numeric_vector(y, inputs.n_given, "y", inputs.keep)
        if not self.family.least_squares:
            self.family.check(response)
        elif inputs.offset is not None:
            response = response - inputs.offset
        return Response(self.family, response[:, None], response[:, None])

    def streamed(self, classes: NDArray[Any]) -> tuple[Response, ResponseReader]:
        """Return a reader of one column of numbers."""
        nothing = np.empty((0, 1))
        reader = Numbers(less_offset=self.family.least_squares)
        return Response(self.family, nothing, nothing), reader


@dataclass(frozen=True)
class Classes:
    """Labels: binomial for two, multinomial for more."""

    link: Any = "logit"  # link of two classes
    only_two: bool = False  # whether more classes are refused
    positive: Any = None  # the class that is modeled; None for the second of two sorted ones
    class_weight: Any = None  # weights of the classes in the deviance
    has_labels = True

    @classmethod
    def of(cls, model: Any) -> Self:
        """Read what a classifier with these parameters reads."""
        return cls(model.link, positive=model.positive, class_weight=model.class_weight)

    def read(self, y: Any, inputs: Inputs) -> Response:
        """Read labels as codes, and as 0/1 columns if there are more than two."""
        truth = labels(y, inputs.n_given, "y", inputs.keep)
        known = np.unique(truth)
        # Few labels of these kinds are classes; whether numbers are takes longer to say.
        if truth.dtype.kind not in "biuU" or 2 * len(known) > len(truth):
            check_classification_targets(truth)
        two = len(known) == 2
        codes = (truth == known[1]).astype(np.intp) if two else np.searchsorted(known, truth)
        classes = self._in_order(known)
        codes = codes if classes is known else 1 - codes
        sizes = np.bincount(codes, inputs.weight, len(classes)).astype(np.float64)
        family = self._family(classes, sizes)
        values = targets = codes.astype(np.float64)[:, None]
        if len(classes) > 2:
            targets = (codes[:, None] == np.arange(len(classes))).astype(np.float64)
        by_rows = isinstance(self.class_weight, str)
        return Response(family, values, targets, classes, balanced=by_rows)

    def streamed(self, classes: NDArray[Any]) -> tuple[Response, ResponseReader]:
        """Return a reader of labels that are known."""
        # Several of each, because a label per row would look like numbers.
        check_classification_targets(np.repeat(classes, 4))
        classes = self._in_order(classes)
        family = self._family(classes, None)
        nothing = np.empty((0, 1 if len(classes) == 2 else len(classes)))
        return Response(family, np.empty((0, 1)), nothing, classes), Labels(classes)

    def _in_order(self, classes: NDArray[Any]) -> NDArray[Any]:
        """Return sorted classes by code."""
        _ask_about_alike(classes.tolist())
        if self.positive is None:
            return classes
        known = ", ".join(map(repr, classes.tolist()))
        if len(classes) > 2:
            raise ValueError(
                f"positive={self.positive!r} is for two classes, and y has {len(classes)}: "
                f"{known}; every class has its own probability, so leave it out."
            )
        label = find_label(self.positive, classes.tolist())
        if label is None:
            # Nothing else would explain the message to those who call it with other labels.
            hint = " (scikit-learn's cross_val_predict numbers classes: then give 0 or 1.)"
            raise ValueError(
                f"positive={self.positive!r} is not a class of y: {known}."
                f"{hint if known == '0, 1' else ''}"
            )
        return by_code(classes, label)

    def _family(self, classes: NDArray[Any], sizes: Floats | None) -> Family:
        if len(classes) < 2:
            raise ValueError(
                f"y has one class only, {np.asarray(classes[0]).item()!r}; a classifier needs at "
                "least two classes."
            )
        weights = class_weights(self.class_weight, classes.tolist(), sizes)
        # A tie is the first of the sorted labels, as in scikit-learn, whichever is modeled.
        tie = int(np.argsort(classes)[0])
        of_two = Binomial(self.link, weights if len(classes) == 2 else None, tie)
        if len(classes) == 2:
            return of_two
        if self.only_two:
            raise ValueError(
                "Only binary classification is supported. The type of the target is multiclass: "
                f"y has {len(classes)} classes. FairRidgeClassifier takes more than two."
            )
        if self.link != "logit":
            raise ValueError(
                f"link={self.link!r} is for two classes, and y has {len(classes)}; use "
                "link='logit'."
            )
        return Multinomial(len(classes), weights)


def _ask_about_alike(classes: list[Any]) -> None:
    """Warn of classes that differ in case or spaces only."""
    alike: dict[str, list[str]] = {}
    for label in classes:
        if isinstance(label, str):
            alike.setdefault("".join(label.casefold().split()), []).append(label)
    for labels_ in alike.values():
        if len(labels_) > 1:
            warn_user(
                f"y has the classes {' and '.join(map(repr, labels_))}: are they one? If so, "
                "write them alike, as y.str.strip().str.lower() does.",
                DataWarning,
            )


@dataclass(frozen=True)
class SurvivalTimes:
    """Times and events of a Cox model."""

    ties: Any
    has_labels = False
    link = Cox.link

    def read(self, y: Any, inputs: Inputs) -> Response:
        """Read (time, event) from a structured array, a frame or an n×2 array."""
        values = self.times_and_events(y, inputs)
        if not values[:, 1].any():
            raise ValueError("y has no events (all rows are censored); a Cox model needs some.")
        return Response(Cox(self.ties), values, -np.log(values[:, :1]))

    def streamed(self, classes: NDArray[Any]) -> tuple[Response, ResponseReader]:
        """Return a reader of two columns."""
        return Response(Cox(self.ties), np.empty((0, 2)), np.empty((0, 1))), Times()

    @staticmethod
    def times_and_events(y: Any, inputs: Inputs) -> Floats:
        """Return an array of shape (n, 2); there may be no events."""
        fields = time_and_event(y)
        if fields is None:
            raise ValueError(
                "y must give time and event: a frame or structured array with the columns 'time' "
                "and 'event' (or one numeric and one boolean column), or an array of shape (n, 2)."
            )
        if len(fields["time"]) != inputs.n_given:
            raise ValueError(
                f"Found input variables with inconsistent numbers of samples: X has "
                f"{inputs.n_given} rows but y has {len(fields['time'])}."
            )
        time, event = (
            numeric_vector(fields[name], inputs.n_given, f"y ({name})", inputs.keep)
            for name in ("time", "event")
        )
        return times_and_events(time, event, ("y", "y"))


# All of them `read` a response in memory, or return a reader of batches of it (`streamed`);
# `has_labels` says whether its labels must be known before, `link` links η to predictions.
ResponseKind = NumericResponse | Classes | SurvivalTimes


def balanced(sizes: Floats) -> ClassWeights:
    """Return W/(K·W_k), which gives all classes the same weight."""
    return tuple((sizes.sum() / (len(sizes) * sizes)).tolist())


def class_weights(class_weight: Any, classes: list[Any], sizes: Floats | None) -> ClassWeights:
    """Return the weight of every class; None if all have the same."""
    if class_weight is None:
        return None
    if isinstance(class_weight, str) and class_weight == "balanced":
        if sizes is None:
            raise ValueError(
                "class_weight='balanced' needs the rows in main memory, to count the classes; "
                "pass a dict of weights."
            )
        return balanced(sizes)
    if not isinstance(class_weight, Mapping):
        raise ValueError(
            f"class_weight={class_weight!r} is not known; use 'balanced', or a dict of weights by "
            "label."
        )
    weights = np.ones(len(classes))
    for label, value in class_weight.items():
        known_label = find_label(label, classes)
        if known_label is None:
            known = ", ".join(map(repr, classes))
            raise ValueError(f"class_weight names {label!r}, which is not a class of y: {known}.")
        number = check_number(f"class_weight[{label!r}]", value, minimum=0.0, strict=True)
        weights[classes.index(known_label)] = number
    return tuple(weights.tolist())
