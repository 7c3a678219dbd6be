"""What a monitor watches of a model: a share of variance that S explains, on rows as they come."""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fairridge._typing import Floats
from fairridge.data import Encoding, Table, as_table, dense_columns
from fairridge.data.columns import CategoricalColumn, encode_columns
from fairridge.data.pipelines import predicted
from fairridge.estimators._each import require_one_bound
from fairridge.export import linear_form
from fairridge.metrics.measure import Measure, share_of_means
from fairridge.metrics.share_interval import Judged
from fairridge.validation.betting import StreamColumns
from fairridge.validation.passed_rows import PassedRows
from fairridge.validation.read_rows import read_rows
from fairridge.validation.scored_model import ScoredModel, scored_model

# Standard deviations, and weights, whose fourth powers are still numbers.
MAX_SCALE = 1e60


@dataclass(frozen=True)
class Watched:
    """The scores whose R² on S is watched, and in which rows."""

    model: ScoredModel
    measure: Measure  # what is watched: the share of the variance of means, or of scores
    encoding: Encoding  # how S becomes numbers
    # Of a model that is not of fairridge, names of the columns of S; None for an array.
    names: tuple[str, ...] | None
    fingerprint: str  # that of the model, or of its predictions for earlier rows
    bounded: bool  # whether this is what the model bounds
    n_scores: int = 1
    controls: tuple[int, ...] = ()  # positions of the controls among the encoded predictors
    # Means and deviations of controls, S and scores in training, or in earlier rows, of shape
    # (k,); 0 and 1 for levels and probabilities.
    center: Floats | float = 0.0
    unit: Floats | float = 1.0

    @property
    def of_means(self) -> bool:
        """Whether the score is the predicted mean; the linear predictor if not."""
        return self.measure.whole == "means"

    @property
    def bound(self) -> float:
        """The model's own bound on this."""
        if not self.model.fair:
            raise ValueError(
                f"{self.model.name} bounds nothing; give the bound to watch as unfairness=…"
            )
        facts = self.model.linear._fitted
        require_one_bound(facts.settings, "Monitor without unfairness=…")
        if not self.bounded:
            raise ValueError(
                f"{facts.traits.definition.name} of a {self.model.family.name} model does not "
                "bound R² of predicted means; give the bound to watch as unfairness=…"
            )
        return float(facts.bound)

    @property
    def n_classes(self) -> int:
        """In the rows of how many classes scores count, each by itself; 1 for all rows alike."""
        return max(len({code for _, code in self.measure.among}), 1)

    @property
    def columns(self) -> StreamColumns:
        """What the columns of the stream are, and how far apart two rows can be."""
        reach, first = self._reach, len(self.controls)
        if self.n_classes > 1:  # as `_by_class` has them
            S, scores = np.split(reach, [-self.n_scores])
            reach = np.concatenate([np.ones(self.n_classes - 1), *[S] * self.n_classes, scores])
            return StreamColumns(self.n_classes - 1, (), reach, self.n_scores)
        widths = [column.width for column in self.encoding.columns]
        widths += [len(self.encoding.products)] * bool(self.encoding.products)
        ends = first + np.cumsum([0, *widths])
        attributes = tuple(map(slice, ends[:-1].tolist(), ends[1:].tolist()))
        return StreamColumns(first, attributes, reach, self.n_scores)

    @property
    def _reach(self) -> Floats:
        """How far two rows can be apart in controls, S and scores; infinity if that is unknown."""
        inner = self.encoding
        own = [
            1.0 if isinstance(column, CategoricalColumn) else np.inf
            for column in inner.columns
            for _ in range(column.width)
        ]
        products = [max(own[k] for k in part) for part in inner.products]
        family = self.model.family
        probability = self.of_means and (family.proportion or family.reads == "classes")
        scores = [1.0 if probability else np.inf] * self.n_scores
        return np.array([np.inf] * len(self.controls) + own + products + scores)

    def read(self, given: PassedRows) -> tuple[int, Floats, Floats]:
        """Return how many rows there are, and the values and weights of those looked at.

        Values are controls, S and the score, in units of their spread.
        """
        given = given if self.measure.among else replace(given, y=None)
        if self.measure.among and given.y is None:
            raise ValueError(
                f"this model bounds what S explains among {self.measure.whom}, so that the monitor "
                "needs to know which rows these are; pass y once it is known."
            )
        if not self.model.fair and given.sensitive_features is None:
            raise ValueError("the monitor of this model needs sensitive_features=…")
        given = self.model.inner_rows(given)
        with np.errstate(over="ignore"):
            inputs, rows = read_rows(self.model, given, compared=False)
            judged = self.measure.judged(rows)
        weight = rows.mean_weight if self.of_means else rows.weight
        assert rows.attributes is not None
        S = rows.sensitive if self.model.fair else self._encoded(rows.attributes)
        scores = [score for score, _ in judged]
        values = (np.hstack([rows.controls, S, *scores]) - self.center) / self.unit
        usual = (np.abs(values) <= MAX_SCALE).all(axis=1)
        if not usual.all():
            place = np.arange(inputs.n_given)[inputs.keep][np.argmin(usual)]
            raise ValueError(
                f"the prediction or an attribute of row {place} is more than {MAX_SCALE:g} "
                "standard deviations from the training mean; leave the row out."
            )
        if weight.max(initial=1.0) > MAX_SCALE or weight.min(initial=1.0) < 1 / MAX_SCALE:
            raise ValueError(
                "sample_weight, times the exposure if there is one, leaves the range of usual "
                "numbers; divide the weights by their mean, and by the same number in every batch."
            )
        there = np.any([among > 0.0 for _, among in judged], axis=0)
        if self.n_classes > 1:
            values = self._by_class(values, judged)
        return len(values), values[there], weight[there]

    def _by_class(self, values: Floats, judged: list[Judged]) -> Floats:
        """Return classes as controls, S once for each of them, and scores where they count.

        What S explains among the rows of each class is then what it explains given these controls.
        """
        S, scores = np.split(values, [-self.n_scores], axis=1)
        inside = np.column_stack([weight > 0.0 for _, weight in judged])
        own = np.repeat(np.arange(len(judged)), [score.shape[1] for score, _ in judged])
        of_classes = [S * rows[:, None] for rows in inside.T]
        return np.hstack([inside[:, 1:], *of_classes, scores * inside[:, own]])

    def _encoded(self, S: Table) -> Floats:
        """Return S as numbers, as in earlier rows; columns are found by their names."""
        places = list(range(len(self.encoding.columns)))
        if self.names is not None and S.names is not None:
            missing = [name for name in self.names if name not in S.names]
            if missing:
                raise ValueError(f"sensitive_features lacks the column {missing[0]!r}.")
            places = [S.names.index(name) for name in self.names]
        elif S.shape[1] != len(places):
            raise ValueError(
                f"sensitive_features has {S.shape[1]} columns, and had {len(places)} before."
            )
        return dense_columns(self.encoding.pieces(S, places, "error"), self.encoding.names)

    def in_units(self, center: Floats, unit: Floats) -> Watched:
        """Return the same in these units, but for levels and probabilities, which stay."""
        unit = np.where(np.isfinite(unit) & (unit > 0.0), unit, 1.0)
        whole = np.isfinite(self._reach)
        return replace(self, center=np.where(whole, 0.0, center), unit=np.where(whole, 1.0, unit))


def watched_of(model: Any, X: Any = None, sensitive_features: Any = None) -> Watched:
    """Say what a monitor of a model watches; raise if there is no such thing.

    - Statistical parity as a share of variance, in gaussian, Cox and blind models:
      R² of the linear predictor on S.
    - Mean parity: R² of the predicted means.
    - Mean opportunity and mean odds: the same among rows of a class, or of each class.
    - Either given controls: the partial R².
    - Other definitions, and models that are not of fairridge, do not bound R² of anything: R² of
      the predicted means, for a bound that the user gives. Of the latter, levels of S and units
      of numbers are those of earlier rows, X and `sensitive_features`.
    """
    known = scored_model(model)
    if known.fair:
        return _bounded_by(known)
    check_is_fitted(model)
    if X is None or sensitive_features is None:
        raise ValueError(
            f"the monitor of a {type(model).__name__} takes levels of S and units of numbers from "
            "earlier rows; pass some as X and sensitive_features."
        )
    S = as_table(sensitive_features, argument="sensitive_features")
    encoding = encode_columns(S, range(S.shape[1]), missing="level")
    attributes = S.labels
    measure = share_of_means(Measure("", "means", attributes), known.family, rates=False)
    scores = predicted(model, X, sensitive_features)
    scores = scores[:, 1:] if scores.ndim == 2 and scores.shape[1] == 2 else scores
    n_scores = 1 if scores.ndim == 1 else scores.shape[1]
    plain = Watched(known, measure, encoding, S.names, "", bounded=False, n_scores=n_scores)
    found = np.column_stack([plain._encoded(S), scores])
    digest = sha256(np.ascontiguousarray(found, dtype="<f8").tobytes()).hexdigest()
    return replace(plain, fingerprint=digest).in_units(found.mean(axis=0), found.std(axis=0))


def _bounded_by(model: ScoredModel) -> Watched:
    """Return what a fair model bounds, or the share of its means."""
    form, measure = linear_form(model.linear, "Monitor"), model.measure
    assert measure is not None
    facts = model.linear._fitted
    controls = form.design.control_columns(facts.settings.controls) if measure.given else ()
    bounded = measure.of_variance
    if not bounded:
        measure = share_of_means(measure, form.family, rates=bool(facts.offsets))
    q, n_scores = len(form.design.sensitive.names), len(measure.among) or len(form.intercept)
    training = form.training
    # The standard deviation of linear predictors in training, the same for all classes.
    alpha = form.coefficients[:, :q] + form.coefficients[:, q:] @ training.B.T
    explained = float(np.sum(alpha @ training.covariance * alpha))
    spread = np.sqrt((explained + training.predictor_variance) / len(alpha))
    ends = form.level[0] + spread * np.array([-1.0, 0.0, 1.0])
    ends = form.family.mean(ends) if measure.whole == "means" and n_scores == 1 else ends
    own = np.concatenate([q + np.array(controls, dtype=np.intp), np.arange(q)])
    fingerprint, encoding = str(model.linear.fingerprint_), form.design.sensitive.inner
    plain = Watched(
        model, measure, encoding, None, fingerprint, bounded, n_scores=n_scores, controls=controls
    )
    return plain.in_units(
        np.append(training.center[own], np.full(n_scores, ends[1])),
        np.append(training.deviation[own], np.full(n_scores, (ends[2] - ends[0]) / 2.0)),
    )
