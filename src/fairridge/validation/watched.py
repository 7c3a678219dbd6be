"""What a monitor watches of a model: what the model bounds, as far as that is R² on S."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fairridge._typing import Booleans, Floats
from fairridge.data import (
    as_table,
    dense_columns,
    exposure_of,
    joined_offsets,
    read_offset,
    require_offsets,
)
from fairridge.data.columns import CategoricalColumn
from fairridge.data.table import labels, require_known
from fairridge.estimators._each import require_one_bound
from fairridge.estimators._model import bounded_measure
from fairridge.export import LinearForm, linear_form
from fairridge.metrics import Measure, share_of_means
from fairridge.validation.betting import StreamColumns

# Standard deviations, and weights, whose fourth powers are still numbers.
MAX_SCALE = 1e60


@dataclass(frozen=True)
class Watched:
    """The score whose R² on S is watched, and in which rows.

    Attributes
    ----------
    model : estimator
        A fitted linear model.
    form : LinearForm
        The model as a linear form.
    measure : Measure
        What is watched: the share of the variance of means, or of linear predictors.
    positive : object
        The class whose rows are looked at; None for all rows.
    controls : tuple of int
        Positions of the controls among the encoded predictors.
    bounded : bool
        Whether this is what the model bounds.
    """

    model: Any
    form: LinearForm
    measure: Measure
    positive: Any
    controls: tuple[int, ...]
    bounded: bool

    def __str__(self) -> str:
        return self.measure.words

    @property
    def of_means(self) -> bool:
        """Whether the score is the predicted mean; the linear predictor if not."""
        return self.measure.whole == "means"

    @property
    def fingerprint(self) -> str:
        """That of the model."""
        return str(self.model.fingerprint_)

    @property
    def bound(self) -> float:
        """The model's own bound on this."""
        facts = self.model._fitted
        require_one_bound(facts.settings, "Monitor without unfairness=…")
        if not self.bounded:
            definition = facts.traits.definition
            raise ValueError(
                f"{definition.name} of a {self.form.family.name} model does not bound R² of "
                "predicted means; give the bound to watch as unfairness=…"
            )
        return float(facts.bound)

    @property
    def columns(self) -> StreamColumns:
        """What the columns of the stream are, and how far apart two rows can be."""
        first = len(self.controls)
        reach, attributes = [np.inf] * first, []
        for column in self.form.design.sensitive.columns:  # type: ignore[union-attr]
            width = column.width
            attributes.append(slice(len(reach), len(reach) + width))
            reach += [1.0 if isinstance(column, CategoricalColumn) else np.inf] * width
        own = np.array(reach[first:])
        products = self.form.design.sensitive.inner.products
        if products:
            attributes.append(slice(len(reach), len(reach) + len(products)))
            reach += [float(own[list(part)].max()) for part in products]
        reach.append(1.0 if self._limited else np.inf)
        return StreamColumns(first, tuple(attributes), np.array(reach))

    def shift(self, offset: Any, exposure: Any, n_rows: int) -> Floats | None:
        """Read what is added to η; raise if the model was fitted with it, and none is given."""
        joined = joined_offsets(self.form.link, offset, exposure)
        require_offsets(self.model._fitted.offsets, joined, self.form.estimator_name)
        return read_offset(joined, n_rows)

    def weights(self, weight: Floats, shift: Floats | None) -> Floats:
        """Return the weights of rows: those of rates have their exposure as a factor."""
        exposure = exposure_of(self.form.link, shift) if self.of_means else None
        return weight if exposure is None else weight * exposure

    @property
    def _limited(self) -> bool:
        """Whether the score is a probability."""
        return self.of_means and bool(self.form.family.proportion)

    def rows(self, y: Any, n_rows: int) -> Booleans | None:
        """Return which rows are looked at; None for all."""
        if self.positive is None:
            return None
        if y is None:
            raise ValueError(
                f"this model bounds what S explains among rows of class {self.positive!r}, so that "
                "the monitor needs to know which rows these are; pass y once it is known."
            )
        known = labels(y, n_rows, "y")
        require_known(known, self.form.labels)
        return np.asarray(known == self.positive)

    def values(self, X: Any, sensitive_features: Any, shift: Floats | None) -> Floats:
        """Return controls, S and the score, in units of their spread in training.

        What is bounded of η has no offset, nor have rates; other means do.
        """
        model, form = self.model, self.form
        apart = not self.of_means or form.link == "log" or form.family.least_squares
        eta = model._linear_predictor(X, sensitive_features, None if apart else shift)
        with np.errstate(over="ignore"):
            score = np.asarray(model.family_.mean(eta) if self.of_means else eta, np.float64)
        attributes = form.design.attributes(sensitive_features, estimator_name=form.estimator_name)
        S, predictors = form.design.encode(
            as_table(X), attributes, model.unknown, estimator_name=form.estimator_name
        )
        found = [dense_columns(S, form.design.sensitive.names), score[:, None]]
        if self.controls:
            own = dense_columns(predictors, form.design.predictors.names)[:, list(self.controls)]
            found.insert(0, own)
        center, unit = self._scale
        return refuse_unusual((np.hstack(found) - center) / unit)

    @property
    def _scale(self) -> tuple[Floats, Floats]:
        """Return means and deviations in training; levels and probabilities stay as they are."""
        form, (level, unit) = self.form, (0.0, 1.0)
        q = len(form.design.sensitive.names)
        own = np.concatenate([q + np.array(self.controls, dtype=np.intp), np.arange(q)])
        if not self._limited:
            eta, spread = float(form.level[0]), _spread(form)
            ends = np.array([eta - spread, eta, eta + spread])
            ends = form.family.mean(ends) if self.of_means else ends
            level, unit = float(ends[1]), float(ends[2] - ends[0]) / 2.0
        center = np.append(form.training.center[own], level)
        units = np.append(form.training.deviation[own], unit)
        units = np.where(np.isfinite(units) & (units > 0.0), units, 1.0)
        whole = np.isfinite(self.columns.reach)
        return np.where(whole, 0.0, center), np.where(whole, 1.0, units)


def refuse_unusual(scaled: Floats) -> Floats:
    """Return rows in units of their spread, none of which is out of all proportion."""
    usual = (np.abs(scaled) <= MAX_SCALE).all(axis=1)
    if not usual.all():
        raise ValueError(
            f"the prediction or an attribute of row {int(np.argmin(usual))} is more than "
            f"{MAX_SCALE:g} standard deviations from the training mean; leave the row out."
        )
    return scaled


def watched_of(model: Any) -> Watched:
    """Say what a monitor of a model watches; raise if there is no such thing.

    - Statistical parity as a share of variance, in gaussian, Cox and blind models:
      R² of the linear predictor on S.
    - Mean parity: R² of the predicted means.
    - Mean opportunity: the same among rows of the class.
    - Either given controls: the partial R².
    - Other definitions do not bound R² of anything: R² of the predicted means, for a
      bound that the user gives.
    """
    form = linear_form(model, "Monitor")
    if len(form.intercept) > 1:
        raise TypeError("Monitor watches one score; this model has several classes.")
    measure, settings = bounded_measure(model), model._fitted.settings
    if len(measure.among) > 1:
        raise TypeError(
            f"Monitor watches rows of one class; {measure.definition} of this model is about "
            "several."
        )
    controls: tuple[int, ...] = ()
    if measure.given:
        controls = form.design.control_columns(settings.controls)
    by_code: Any = form.classes
    positive = by_code.tolist()[measure.among[0][1]] if measure.among else None
    bounded = measure.of_variance
    if not bounded:
        measure = share_of_means(measure, form.family, rates=bool(model._fitted.offsets))
    return Watched(model, form, measure, positive, controls, bounded)


def _spread(form: LinearForm) -> float:
    """Return the standard deviation of the linear predictor in training."""
    q = len(form.design.sensitive.names)
    alpha = form.coefficients[0, :q] + form.training.B @ form.coefficients[0, q:]
    explained = float(alpha @ form.training.covariance @ alpha)
    return float(np.sqrt(explained + form.training.predictor_variance))
