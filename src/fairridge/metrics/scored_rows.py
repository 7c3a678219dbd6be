"""Rows with what a model predicts of them: what measures, groups and decisions are read off."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from fairridge._typing import Floats, Integers
from fairridge.data import Table, exposure_of
from fairridge.families import Binomial, Family, Gaussian, Multinomial
from fairridge.families.base import ClassFamily
from fairridge.metrics.dependence_shares import sensitive_span


@dataclass(frozen=True, kw_only=True)
class ScoredRows:
    """Rows of positive weight with a model's scores, its response, S and controls."""

    # Predictions under exposure are rates, and rows then weigh w·e.

    family: Family
    scores: Floats  # linear predictors without any offset, of shape (n, K)
    response: Floats  # what the family reads, of shape (n, c)
    weight: Floats  # ones if none were given
    sensitive: Floats  # S as the model reads it, written out, of shape (n, q)
    controls: Floats  # written out, of shape (n, c)
    offset: Floats | None = None  # as it was given: logarithms of exposures, too
    # Exposures of a model without a linear predictor, whose scores are rates.
    per: Floats | None = None
    targets: Floats | None = None  # responses as numbers, of shape (n, t)
    # Deviances of rows: of the model, without what S adds, and without predictors, of shape
    # (n, 3); None unless they are asked for.
    losses: Floats | None = None
    attributes: Table | None = None  # sensitive attributes, as they were given
    classes: NDArray[Any] | None = None  # labels by code: of two the modeled one is last
    # Whether scores are linear predictors; those of other models are made of predictions.
    has_eta: bool = True
    # Whether responses are positive by their nature, so that their means have ratios.
    amounts: bool = False

    @cached_property
    def span(self) -> Floats:
        """Orthonormal columns, under the weights, with the span of S less its means."""
        return sensitive_span(self.sensitive, self.weight)

    def with_scores(self, scores: Floats) -> ScoredRows:
        """Return the rows with the scores of another model; what S spans is found once."""
        other = replace(self, scores=scores)
        vars(other)["span"] = self.span
        return other

    @property
    def labels(self) -> tuple[str, ...]:
        """Classes by code; none for numbers."""
        return () if self.classes is None else tuple(map(str, self.classes))

    @property
    def codes(self) -> Integers:
        """The class of every row, by code."""
        return self.response[:, 0].astype(np.intp)

    @property
    def added(self) -> Floats | None:
        """The offset that is added to scores; from a least-squares response it is subtracted."""
        one = self.family.n_predictors == 1 and not self.family.least_squares
        return self.offset if one else None

    @property
    def shift(self) -> Floats | float:
        """The offset that was subtracted from a least-squares response; 0 for others."""
        taken_off = self.offset is not None and self.family.least_squares
        return cast(Floats, self.offset) if taken_off else 0.0

    @property
    def eta(self) -> Floats:
        """Linear predictors, with the offset; of a model of rates, rates times exposure."""
        if self.per is not None:
            return self.scores * self.per[:, None]
        return self.scores if self.added is None else self.scores + self.added[:, None]

    @cached_property
    def exposure(self) -> Floats | None:
        """What makes rates of means and responses; None if nothing does."""
        if self.per is not None:
            return self.per
        return exposure_of(self.family.link, self.added)

    @property
    def mean_weight(self) -> Floats:
        """Weights of rows where means are compared."""
        return self.weight if self.exposure is None else self.weight * self.exposure

    @cached_property
    def means(self) -> Floats | None:
        """Predictions that are compared between people, of shape (n, K); None of times."""
        # With the log link these are rates μ/e; otherwise an offset is a part of the prediction.
        if self.family.reads == "times":
            return None
        return predicted_means(self.family, self.eta if self.exposure is None else self.scores)

    @property
    def numbers(self) -> Floats | None:
        """Responses as readers know them: numbers, rates, or codes of classes; None of times."""
        if self.family.reads == "times":
            return None
        values = self.response[:, 0] + self.shift
        return values if self.exposure is None else values / self.exposure

    @cached_property
    def shown(self) -> Floats:
        """What decisions rest on: probabilities of all classes, means, or log hazard ratios."""
        if self.classes is not None:
            return cast(ClassFamily, self.family).probabilities(self.eta)
        return self.eta if self.means is None else self.means + np.reshape(self.shift, (-1, 1))

    @property
    def explainable(self) -> dict[str, tuple[Floats, Floats]]:
        """What S may explain of every model, and weights: scores, and means if there are any."""
        found = {}
        if self.has_eta or self.means is None:
            found["share_of_eta"] = self.scores, self.weight
        if self.means is not None:
            found["share_of_means"] = self.means, self.mean_weight
        return found


def family_of_predictions(classes: NDArray[Any] | None) -> Family:
    """Return the family whose means are what models of other libraries predict."""
    if classes is None:
        return Gaussian()
    return Binomial() if len(classes) == 2 else Multinomial(len(classes))


def predicted_means(family: Family, eta: Floats) -> Floats:
    """Return what linear predictors of shape (n, K) predict, one column per outcome."""
    # Means; the probability of the modeled one of two classes or of each of several; log hazard
    # ratios.
    if family.reads == "times":
        return eta
    if family.reads == "numbers":
        return family.mean(family.to_contrasts(eta.T).T).reshape(len(eta), -1)
    if family.n_predictors == 1:  # of two classes one is enough
        return family.mean(eta)
    return cast(ClassFamily, family).probabilities(eta)
