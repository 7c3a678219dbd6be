"""What a monitor watches of a model: a share of variance that S explains, on rows as they come."""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fairridge._typing import Booleans, Floats
from fairridge.data import (
    Encoding,
    Table,
    as_table,
    dense_columns,
    exposure_of,
    joined_offsets,
    read_offset,
    require_offsets,
)
from fairridge.data.columns import CategoricalColumn, encode_columns
from fairridge.data.pipelines import predicted
from fairridge.data.table import labels, require_known
from fairridge.estimators._each import require_one_bound
from fairridge.export import linear_form
from fairridge.metrics import Measure, share_of_means
from fairridge.validation.betting import StreamColumns
from fairridge.validation.scored_model import ScoredModel, scored_model

# Standard deviations, and weights, whose fourth powers are still numbers.
MAX_SCALE = 1e60


@dataclass(frozen=True)
class Watched:
    """The score whose R² on S is watched, and in which rows.

    Attributes
    ----------
    model : ScoredModel
        The model.
    measure : Measure
        What is watched: the share of the variance of means, or of linear predictors.
    encoding : Encoding
        How S becomes numbers.
    names : tuple of str or None
        Of a model that is not of fairridge, names of the columns of S; None for an array.
    fingerprint : str
        That of the model, or of its predictions for earlier rows.
    bounded : bool
        Whether this is what the model bounds.
    controls : tuple of int
        Positions of the controls among the encoded predictors.
    center, unit : ndarray of shape (k,)
        Means and deviations of controls, S and the score in training, or in earlier rows; 0 and 1
        for levels and probabilities.
    """

    model: ScoredModel
    measure: Measure
    encoding: Encoding
    names: tuple[str, ...] | None
    fingerprint: str
    bounded: bool
    controls: tuple[int, ...] = ()
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
    def columns(self) -> StreamColumns:
        """What the columns of the stream are, and how far apart two rows can be."""
        first = len(self.controls)
        reach, attributes = [np.inf] * first, []
        for column in self.encoding.columns:
            attributes.append(slice(len(reach), len(reach) + column.width))
            reach += [1.0 if isinstance(column, CategoricalColumn) else np.inf] * column.width
        own, products = np.array(reach[first:]), self.encoding.products
        if products:
            attributes.append(slice(len(reach), len(reach) + len(products)))
            reach += [float(own[list(part)].max()) for part in products]
        probability = self.of_means and self.model.family.proportion
        reach.append(1.0 if probability else np.inf)
        return StreamColumns(first, tuple(attributes), np.array(reach))

    def shift(self, offset: Any, exposure: Any, n_rows: int) -> Floats | None:
        """Read what is added to η; raise if the model was fitted with it, and none is given."""
        self.model.refuse_offsets(offset=offset, exposure=exposure)
        joined = joined_offsets(self._link, offset, exposure)
        if self.model.fair:
            linear = self.model.linear
            require_offsets(linear._fitted.offsets, joined, type(linear).__name__)
        return read_offset(joined, n_rows)

    @property
    def _link(self) -> str:
        """The link that makes rates of exposures: what other models predict are rates then."""
        return self.model.family.link if self.model.fair else "log"

    def weights(self, weight: Floats, shift: Floats | None) -> Floats:
        """Return the weights of rows: those of rates have their exposure as a factor."""
        exposure = exposure_of(self._link, shift) if self.of_means else None
        return weight if exposure is None else weight * exposure

    def rows(self, y: Any, n_rows: int) -> Booleans | None:
        """Return which rows are looked at; None for all."""
        if not self.measure.among:
            return None
        classes = self.model.classes.tolist()  # type: ignore[union-attr]
        positive = classes[self.measure.among[0][1]]
        if y is None:
            raise ValueError(
                f"this model bounds what S explains among rows of class {positive!r}, so that "
                "the monitor needs to know which rows these are; pass y once it is known."
            )
        known = labels(y, n_rows, "y")
        require_known(known, classes)
        return np.asarray(known == positive)

    def values(self, X: Any, sensitive_features: Any, shift: Floats | None) -> Floats:
        """Return controls, S and the score, in units of their spread."""
        read = self._of_model if self.model.fair else self._of_predictions
        scaled = (read(X, sensitive_features, shift) - self.center) / self.unit
        usual = (np.abs(scaled) <= MAX_SCALE).all(axis=1)
        if not usual.all():
            raise ValueError(
                f"the prediction or an attribute of row {int(np.argmin(usual))} is more than "
                f"{MAX_SCALE:g} standard deviations from the training mean; leave the row out."
            )
        return scaled

    def _of_model(self, X: Any, sensitive_features: Any, shift: Floats | None) -> Floats:
        """Read rows as a fair model does.

        What is bounded of η has no offset, nor have rates; other means do.
        """
        linear, family = self.model.linear, self.model.family
        apart = not self.of_means or family.link == "log" or family.least_squares
        eta = linear._linear_predictor(X, sensitive_features, None if apart else shift)
        with np.errstate(over="ignore"):
            score = np.asarray(family.mean(eta) if self.of_means else eta, np.float64)
        design, name = linear._fitted.design, type(linear).__name__
        attributes = design.attributes(sensitive_features, estimator_name=name)
        S, predictors = design.encode(as_table(X), attributes, linear.unknown, estimator_name=name)
        found = [dense_columns(S, design.sensitive.names), score[:, None]]
        if self.controls:
            own = dense_columns(predictors, design.predictors.names)[:, list(self.controls)]
            found.insert(0, own)
        return np.hstack(found)

    def _of_predictions(self, X: Any, sensitive_features: Any, shift: Floats | None) -> Floats:
        """Read rows of a model that is known by its predictions, which gets them as they came."""
        if sensitive_features is None:
            raise ValueError("the monitor of this model needs sensitive_features=…")
        scores = predicted(self.model.given, X, sensitive_features)
        S = as_table(sensitive_features, argument="sensitive_features")
        score = scores if scores.ndim == 1 else scores[:, 1]
        return np.column_stack([self._encoded(S), score])

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
        whole = np.isfinite(self.columns.reach)
        return replace(self, center=np.where(whole, 0.0, center), unit=np.where(whole, 1.0, unit))


def watched_of(model: Any, X: Any = None, sensitive_features: Any = None) -> Watched:
    """Say what a monitor of a model watches; raise if there is no such thing.

    - Statistical parity as a share of variance, in gaussian, Cox and blind models:
      R² of the linear predictor on S.
    - Mean parity: R² of the predicted means.
    - Mean opportunity: the same among rows of the class.
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
    if known.classes is not None and len(known.classes) > 2:
        raise _several_classes()
    S = as_table(sensitive_features, argument="sensitive_features")
    encoding = encode_columns(S, range(S.shape[1]), missing="level")
    attributes = tuple(map(S.label, range(S.shape[1])))
    measure = share_of_means(Measure("", "means", attributes), known.family, rates=False)
    plain = Watched(known, measure, encoding, S.names, "", bounded=False)
    found = plain.values(X, sensitive_features, None)
    digest = sha256(np.ascontiguousarray(found, dtype="<f8").tobytes()).hexdigest()
    return replace(plain, fingerprint=digest).in_units(found.mean(axis=0), found.std(axis=0))


def _bounded_by(model: ScoredModel) -> Watched:
    """Return what a fair model bounds, or the share of its means."""
    form, measure = linear_form(model.linear, "Monitor"), model.measure
    assert measure is not None
    if len(form.intercept) > 1:
        raise _several_classes()
    if len(measure.among) > 1:
        raise TypeError(
            f"Monitor watches rows of one class; {measure.definition} of this model is about "
            "several."
        )
    facts = model.linear._fitted
    controls = form.design.control_columns(facts.settings.controls) if measure.given else ()
    bounded = measure.of_variance
    if not bounded:
        measure = share_of_means(measure, form.family, rates=bool(facts.offsets))
    q = len(form.design.sensitive.names)
    training = form.training
    # The standard deviation of the linear predictor in training.
    alpha = form.coefficients[0, :q] + training.B @ form.coefficients[0, q:]
    spread = float(np.sqrt(alpha @ training.covariance @ alpha + training.predictor_variance))
    ends = float(form.level[0]) + spread * np.array([-1.0, 0.0, 1.0])
    ends = form.family.mean(ends) if measure.whole == "means" else ends
    own = np.concatenate([q + np.array(controls, dtype=np.intp), np.arange(q)])
    fingerprint, encoding = str(model.linear.fingerprint_), form.design.sensitive.inner
    plain = Watched(model, measure, encoding, None, fingerprint, bounded, controls)
    return plain.in_units(
        np.append(training.center[own], ends[1]),
        np.append(training.deviation[own], (ends[2] - ends[0]) / 2.0),
    )


def _several_classes() -> TypeError:
    return TypeError("Monitor watches one score; this model has several classes.")
