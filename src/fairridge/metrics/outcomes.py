"""Responses and predictions of any model, read for an audit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from fairridge._typing import Booleans, Floats
from fairridge._warnings import warn_user
from fairridge.arguments import check_finite, check_option, listed
from fairridge.data import (
    MAX_LEVELS,
    Table,
    as_native,
    is_missing,
    log_exposure,
    one_per_row,
)
from fairridge.data.times import time_and_event
from fairridge.exceptions import DataWarning
from fairridge.metrics.brier import PredictedSurvival
from fairridge.metrics.favorable import Favorable, check_top, favorable_outcome, named_class, select

Kind = Literal["regression", "classification"]
# What a user may say: amounts are numbers of a regression that are positive by their nature.
GivenKind = Kind | Literal["amounts"]


@dataclass(frozen=True, kw_only=True)
class OutcomeSettings:
    """How responses and predictions are read, which all rows together decide."""

    kind: Kind  # what the numbers are
    positive: Any = None  # label of the positive class; None for regression
    threshold: float | None = None  # what scores are compared with
    favorable: Favorable  # the outcome that people want
    labels: bool = False  # whether classes were predicted, not scores
    # Share or number of rows that are selected, whatever their score.
    top: float | int | None = None
    of_times: bool = False  # whether scores are linear predictors of times
    # Whether means have ratios: numbers that are positive by their nature, such as counts.
    amounts: bool = False
    place: int | None = None  # column of the positive class, if there is one for each class
    several: tuple[str, ...] = ()  # more than two classes whose probabilities are predicted

    @property
    def ranks(self) -> bool:
        """Whether scores rank rows of classes."""
        return self.kind == "classification" and not self.labels

    def outcomes(self, rows: AuditedInput) -> Outcomes:
        """Read rows: responses, and one predicted number or label for each."""
        score, truth, weight = rows.columns[self.place or 0], rows.response, rows.weight
        if self.kind == "classification":
            score = score == self.positive if self.labels else score
            truth = None if truth is None else truth == self.positive
        score = score.astype(np.float64)
        truth = None if truth is None else truth.astype(np.float64)
        exposure = rows.exposure
        if exposure is not None:
            score, weight = score / exposure, weight * exposure
            truth = None if truth is None else truth / exposure
        selected = select(score, weight, self.threshold, self.top, high=self.favorable.high)
        return Outcomes(
            **vars(self),
            response=truth,
            score=score,
            selected=selected,
            weight=weight,
            exposure=exposure,
            survival=rows.survival,
        )


@dataclass(frozen=True, kw_only=True)
class AuditedInput:
    """Rows of positive weight, as an audit reads them: responses and predictions as they came."""

    attributes: Table
    controls: Table | None = None
    eta: Floats | None = None  # linear predictors, of shape (n, K)
    response: NDArray[Any] | None  # None of times, too
    columns: Sequence[NDArray[Any]]  # of predictions: one, or the probabilities of each class
    weight: Floats  # ones if none were given
    exposure: Floats | None = None
    survival: PredictedSurvival | None = None
    kinds: Mapping[str, str] | None = None  # of the columns of a batch; None of all rows

    @property
    def mean_weight(self) -> Floats:
        """Weights of rows where means are compared."""
        return self.weight if self.exposure is None else self.weight * self.exposure


@dataclass(frozen=True, kw_only=True)
class Outcomes(OutcomeSettings):
    """Responses and predictions as numbers, without the rows of zero weight."""

    # The response; 1 for the positive class and 0 for the others, of shape (n,).
    response: Floats | None
    # Predicted number, or probability of the positive class (1 or 0 if labels were
    # predicted), of shape (n,).
    score: Floats
    # Whether the favorable outcome is predicted: the score is above the threshold, or not
    # above it if low scores are favorable; None without a threshold.
    selected: Booleans | None
    weight: Floats  # weights, ones if none were given, of shape (n,)
    survival: PredictedSurvival | None = None  # of times
    exposure: Floats | None = None  # what weights have as a factor, of rates, of shape (n,)

    @property
    def row_weight(self) -> Floats:
        """Weights of rows, not of what they are exposed to."""
        return self.weight if self.exposure is None else self.weight / self.exposure

    @property
    def observed(self) -> NDArray[Any]:
        """Responses: numbers, or whether rows are of the positive class."""
        assert self.response is not None
        return self.response > 0.0 if self.kind == "classification" else self.response

    @property
    def wanted(self) -> Booleans:
        """Which rows of known class have the favorable outcome."""
        assert self.response is not None
        return (self.response > 0.0) == self.favorable.high


def read_predictions(
    y_true: Any,
    y_pred: Any,
    survival: Any,
    exposure: Any,
    n_rows: int,
    keep: Any,
    names: tuple[str, str, str] = ("y_true", "y_pred", "exposure"),
) -> dict[str, Any]:
    """Read what an audit compares, of the rows kept, as fields of `AuditedInput`; see `audit`."""
    # `names` say what messages call responses, predictions and exposures.
    of_response, of_predictions, of_exposure = names
    columns = [vector_of(column, n_rows, of_predictions, keep) for column in _columns_of(y_pred)]
    if of_times(y_true, survival):
        if survival is not None:
            survival = _predicted_survival(y_true, survival, n_rows, keep)
        return {"response": None, "columns": columns, "survival": survival}
    response = None if y_true is None else vector_of(y_true, n_rows, of_response, keep)
    if exposure is not None:
        exposure = np.exp(log_exposure(exposure, n_rows, of_exposure, keep))
    return {"response": response, "columns": columns, "exposure": exposure}


def of_times(y_true: Any, survival: Any) -> bool:
    """Whether responses are times and events."""
    return survival is not None or two_columns(y_true) is not None


def decide(
    response: NDArray[Any] | None,
    predicted: Sequence[NDArray[Any]],
    name: str,
    *,
    positive: Any = None,
    favorable: Any = None,
    threshold: float | None = None,
    top: Any = None,
    kind: GivenKind | None = None,
    rates: bool = False,
    of_times: bool = False,
) -> OutcomeSettings:
    """Say how responses and predictions are read; see `audit` for parameters."""
    # `response` and every column that is `predicted` have representatives of all rows, in order.
    # `name` is that of the response, `rates` says whether rows have exposures, and `of_times`
    # whether predictions are log hazard ratios.
    threshold = check_finite("threshold", threshold)
    top = check_top(top, threshold)
    rule = {"threshold": threshold, "top": top}
    if of_times:
        wanted = favorable_outcome(favorable, score="hazard")
        return OutcomeSettings(kind="regression", favorable=wanted, of_times=True, **rule)
    if kind is not None:
        check_option("kind", kind, ("regression", "classification", "amounts"))
    classes, place = () if response is None else response.tolist(), None
    named = named_class(favorable, classes, positive)
    if len(predicted) > 1:
        positive, place = _column_of(len(predicted), response, named)
    else:
        _check_classes(predicted[0], response, positive, named)
        positive = named
    score, known = predicted[place or 0], "regression" if kind == "amounts" else kind
    if rates and known == "classification":
        raise ValueError("exposure is for counts and amounts, not for classes; leave it out.")
    known = "regression" if rates else known or _kind_of(response, score, positive)
    if known == "regression":
        amounts = _amounts(response, score, kind, rates=rates)
        wanted = favorable_outcome(favorable, name)
        return OutcomeSettings(kind=known, favorable=wanted, amounts=amounts, place=place, **rule)
    positive, labels = _positive(score, positive, response)
    return OutcomeSettings(
        kind="classification",
        positive=positive,
        threshold=_threshold(score, threshold, top, labels=labels),
        favorable=favorable_outcome(favorable, name, positive, classes),
        labels=labels,
        top=top,
        place=place,
        several=() if labels or len(predicted) < 3 else tuple(map(str, classes)),
    )


def _amounts(
    response: NDArray[Any] | None, predicted: NDArray[Any], kind: GivenKind | None, *, rates: bool
) -> bool:
    """Whether means of numbers have ratios."""
    for argument, values in (("y_true", response), ("y_pred", predicted)):
        if values is not None and values.dtype.kind not in "buif":
            raise ValueError(f"kind='regression', but {argument} holds {values[0]!r}.")
    positive = nonnegative(predicted, response)
    if kind == "amounts" and not positive:
        raise ValueError("kind='amounts', but y_true or y_pred has negative numbers.")
    return positive and (kind == "amounts" or rates or (kind is None and counts(response)))


@dataclass(frozen=True)
class Representatives:
    """Values of a column that decide as all of them do; with those of other rows they add."""

    values: NDArray[Any]  # in order

    @classmethod
    def of(cls, vector: NDArray[Any]) -> Representatives:
        """Keep distinct values; of many numbers, the ends and one that is not whole."""
        values = np.unique(vector)
        if len(values) > MAX_LEVELS and values.dtype.kind in "iuf":
            broken = values[np.mod(values, 1) != 0]
            values = np.unique(np.concatenate([values[:MAX_LEVELS], values[-1:], broken[:1]]))
        elif len(values) > MAX_LEVELS:
            raise ValueError(f"the response has more than {MAX_LEVELS:,} different labels.")
        return cls(values)

    def __add__(self, other: Representatives) -> Representatives:
        return Representatives.of(np.concatenate([self.values, other.values]))


def counts(response: NDArray[Any] | None) -> bool:
    """Whether responses are counts: whole numbers."""
    return response is not None and bool((np.mod(response, 1) == 0).all())


def nonnegative(score: Floats, response: Floats | None) -> bool:
    """Whether neither predictions nor responses are negative, so that means may have ratios."""
    return all(float(v.min()) >= 0.0 for v in (score, response) if v is not None)


def _predicted_survival(y_true: Any, survival: Any, n_rows: int, keep: Any) -> PredictedSurvival:
    y = two_columns(y_true)
    if y is None or y.shape != (n_rows, 2):
        raise ValueError("survival= needs y_true with two columns, time and event.")
    time, event = y[keep].T
    if not np.isin(event, (0.0, 1.0)).all() or not np.isfinite(time).all():
        raise ValueError("y_true must have finite times, and 1 for an event or 0 for none.")
    times, predicted = (np.asarray(part, dtype=np.float64) for part in survival)
    if times.ndim != 1 or len(times) < 2 or not (np.diff(times) > 0.0).all():
        raise ValueError("survival=(times, S) needs at least two times that increase.")
    if times[-1] >= time.max():
        raise ValueError(
            f"the last of the times of survival=(times, S) is {times[-1]:g}; it must lie before "
            f"the last time of y_true, {time.max():g}."
        )
    inside = predicted.shape == (n_rows, len(times)) and bool(
        ((predicted >= 0.0) & (predicted <= 1.0)).all()
    )
    if not inside:
        raise ValueError(
            f"S of survival=(times, S) must have {n_rows} rows and {len(times)} columns of "
            "probabilities, as predict_survival_function(X, times=times) gives them."
        )
    return PredictedSurvival(time, event, predicted[keep], times)


def two_columns(values: Any) -> Floats | None:
    """Return times and events as an array of two columns; None if these are not two."""
    columns = None if values is None else time_and_event(values)
    if columns is None:
        return None
    # Truth values of nullable types are objects.
    array = np.column_stack([np.array(columns[name].tolist()) for name in ("time", "event")])
    return array.astype(np.float64) if array.dtype.kind in "buif" else None


def _check_classes(
    predicted: NDArray[Any], classes: NDArray[Any] | None, positive: Any, named: Any
) -> None:
    """Refuse two spellings of one class, and warn if several count together as the other one."""
    if classes is None or len(classes) < 3:
        return
    if positive is None and classes.dtype.kind in "buif":  # or these are numbers
        return
    spelled: dict[str, str] = {}
    for label in classes.tolist():
        plain = str(label).strip().casefold()
        if plain in spelled:
            raise ValueError(
                f"y_true has the labels {spelled[plain]!r} and {label!r}, which would be two "
                "classes; spell them alike."
            )
        spelled[plain] = label
    if positive is not None and not _are_labels(predicted, classes):
        others = [label for label in classes.tolist() if label != positive]
        warn_user(
            f"y_true has {len(classes)} classes: rows of {listed(others)} count together as not "
            f"{positive!r}.",
            DataWarning,
        )


def _positive(
    predicted: NDArray[Any], positive: Any, classes: NDArray[Any] | None
) -> tuple[Any, bool]:
    """Return the class that the audit is about, and whether predictions are labels."""
    labels = _are_labels(predicted, classes)
    known = np.unique(predicted) if classes is None else classes
    if positive is None:
        if len(known) > 2:
            raise ValueError(
                f"there are {len(known)} classes ({listed(known.tolist())}); "
                "say which one the audit is about: positive=…"
            )
        positive = _second(known)
    elif (
        (labels or classes is not None)  # else these are probabilities of a class that is named
        and positive not in known.tolist()
        and not (labels and positive in predicted.tolist())
    ):
        raise ValueError(
            f"positive={positive!r} is not a class of y_true: {listed(known.tolist())}."
        )
    return positive, labels


def _threshold(
    predicted: NDArray[Any], threshold: float | None, top: Any, *, labels: bool
) -> float | None:
    """Return what probabilities of the positive class are compared with; None if a top decides."""
    numeric = predicted.dtype.kind in "buif"
    if labels:
        if top is not None:
            raise ValueError("y_pred holds labels, which have no top; pass scores, or omit top.")
        if threshold is not None and not numeric:
            raise ValueError("y_pred holds labels, so threshold does not apply; omit it.")
        return 0.5
    if not numeric:
        raise ValueError(
            f"y_pred holds {predicted[0]!r}, which is not a class of y_true; pass probabilities "
            "or labels of the same kind as y_true."
        )
    if top is not None:  # scores whose top is selected need not be probabilities
        return None
    low, high = float(predicted.min()), float(predicted.max())
    if threshold is None and (low < 0.0 or high > 1.0):
        raise ValueError(
            f"y_pred ranges from {low:g} to {high:g}, but y_true has two classes: "
            "pass probabilities, or for other scores threshold=…, or kind='regression'."
        )
    return 0.5 if threshold is None else threshold


def _kind_of(response: NDArray[Any] | None, predicted: NDArray[Any], positive: Any) -> Kind:
    """Take a response for classes if it is not numeric, or has at most two distinct values."""
    # A single value is a number if predictions are neither probabilities nor this label.
    if positive is not None:
        return "classification"
    for values in (predicted, response):
        if values is not None and values.dtype.kind not in "uif":
            return "classification"
    known = np.unique(predicted if response is None else response)
    if response is None:
        return "classification" if np.isin(known, (0, 1)).all() else "regression"
    probable = predicted.min() >= 0.0 and predicted.max() <= 1.0
    if len(known) == 1 and not (probable or (predicted == known).all()):
        return "regression"
    return "classification" if len(known) <= 2 else "regression"


def _are_labels(predicted: NDArray[Any], classes: NDArray[Any] | None) -> bool:
    if predicted.dtype.kind == "b":
        return True
    if predicted.dtype.kind not in "uif":
        return classes is None or classes.dtype.kind not in "buif"
    if classes is None:
        return bool(np.isin(predicted, (0, 1)).all())
    return classes.dtype.kind in "buif" and bool(np.isin(predicted, classes).all())


def _second(classes: NDArray[Any]) -> Any:
    """Return the positive class if none is named: the one that classifiers model."""
    if classes.dtype.kind in "uif" and np.isin(classes, (0, 1)).all():
        return classes.dtype.type(1)
    if classes.dtype.kind == "b":
        return True
    if len(classes) == 1:
        raise ValueError(
            f"y_true has one class only, {np.asarray(classes[0]).item()!r}; say which is meant: "
            "positive=…"
        )
    return classes[1]


def _columns_of(y_pred: Any) -> list[Any]:
    """Return probabilities with a column per class, as `predict_proba` has them, or predictions."""
    frame = nw.from_native(as_native(y_pred), eager_only=True, pass_through=True)
    array = frame.to_numpy() if isinstance(frame, nw.DataFrame) else np.asarray(y_pred)
    if array.ndim != 2 or array.shape[1] < 2:
        return [y_pred]
    if array.dtype.kind not in "buif":
        raise ValueError("y_pred has several columns that are not numeric; pass one column.")
    return list(array.astype(np.float64).T)


def _column_of(width: int, classes: NDArray[Any] | None, positive: Any) -> tuple[Any, int]:
    """Return the positive class, and which column of probabilities it has."""
    # Columns are in the order of the sorted classes.
    if positive is None and classes is not None:
        positive = _second(classes)
    if classes is None or len(classes) != width:
        there = "no y_true" if classes is None else f"{len(classes)} classes in y_true"
        raise ValueError(
            f"y_pred has {width} columns but there are {there}; pass the column of the class "
            "the audit is about, as a vector."
        )
    if positive not in classes.tolist():
        raise ValueError(
            f"positive={positive!r} is not a class of y_true: {listed(classes.tolist())}."
        )
    return positive, int(np.flatnonzero(classes == positive)[0])


def vector_of(values: Any, n_rows: int, argument: str, keep: Any) -> NDArray[Any]:
    """Read labels or finite numbers, one per row; only those of the rows kept matter."""
    vector = one_per_row(values, n_rows, argument)[keep]
    if vector.dtype.kind not in "buif":
        items = vector.tolist()
        if any(is_missing(item) for item in items):
            raise ValueError(f"{argument} contains missing values; drop those rows first.")
        # Objects that are all numbers are numbers, and all strings are strings.
        vector = np.array(items)
    if vector.dtype.kind == "f" and not np.isfinite(vector).all():
        raise ValueError(f"{argument} contains NaN or infinity; drop those rows first.")
    if vector.dtype.kind not in "buifU":
        raise ValueError(f"{argument} must hold numbers or labels, not {vector[0]!r}.")
    return vector
