"""Any model, as what it predicts of rows is judged."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit
from sklearn.base import clone, is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from fairridge._typing import Floats
from fairridge.data.classes import labels_by_code
from fairridge.data.pipelines import predicted, split_pipeline, takes_sensitive
from fairridge.estimators._fair_ridge import LinearModel
from fairridge.estimators._model import bounded_measure
from fairridge.families import Binomial, Family, Gaussian, Multinomial
from fairridge.families.base import modeled_class
from fairridge.metrics import Measure
from fairridge.stacking._stacking import FairStacking
from fairridge.validation.passed_rows import PassedRows

# Probabilities of 0 and 1 have no logarithm: they are clipped, as scikit-learn does.
SMALLEST_PROBABILITY = np.finfo(np.float64).eps


@dataclass(frozen=True)
class ScoredModel:
    """A model of any library; its properties but `fair` and `name` are those of a fitted one."""

    given: Any  # the model as it was passed
    steps: Pipeline | None  # what makes the columns of a fair model; None if nothing does
    last: Any  # the fair model behind these; of other models the last step
    kind: Literal["linear", "stacked", "other"]  # others are known by their predictions only

    @property
    def fair(self) -> bool:
        """Whether it is a model of this library with a bound and coefficients."""
        return self.kind != "other"

    @property
    def name(self) -> str:
        """The class of the model."""
        return type(self.last).__name__

    @property
    def linear(self) -> Any:
        """The fair ridge model with coefficients: the layer of a stack; None of other models."""
        if self.kind == "stacked":
            check_is_fitted(self.last)
            return self.last.layer_
        return self.last if self.kind == "linear" else None

    @cached_property
    def classes(self) -> NDArray[Any] | None:
        """Labels by code: of two the modeled one is last; None of numbers and times."""
        return labels_by_code(self.given) if is_classifier(self.given) else None

    @property
    def positive(self) -> Any:
        """The class that scores are of; None of several, and of numbers."""
        return None if self.classes is None else modeled_class(self.classes)

    @cached_property
    def family(self) -> Family:
        """The family of the response; of other models one whose means are the predictions."""
        if self.fair:
            known: Family = self.last.family_
            return known
        if self.classes is None:
            return Gaussian()
        k = len(self.classes)
        return Binomial() if k == 2 else Multinomial(k)

    @property
    def reads_sensitive(self) -> bool:
        """Whether predictions are made from S."""
        if self.fair:
            return bool(self.last._fitted.traits.needs_sensitive)
        return takes_sensitive(self.given)

    @cached_property
    def measure(self) -> Measure | None:
        """What it bounds; None of other models."""
        return bounded_measure(self.linear) if self.fair else None

    def require_rates(self) -> None:
        """Raise unless what it predicts beside an exposure may be rates."""
        if self.classes is not None:
            raise TypeError("exposure is for counts and amounts, not for classes; leave it out.")

    def inner_rows(self, rows: PassedRows) -> PassedRows:
        """Return new rows as `linear` reads them; other models read them as they came."""
        if self.steps is not None:
            rows = replace(rows, X=self.steps.transform(rows.X))
        if self.kind != "stacked":
            return rows
        given = self.last.layer_inputs(
            rows.X, sensitive_features=rows.sensitive_features, exposure=rows.exposure
        )
        return PassedRows(y=rows.y, sample_weight=rows.sample_weight, **given)

    def training_rows(self, rows: PassedRows) -> tuple[Any, PassedRows]:
        """Return the linear model, which need not be fitted, and the rows of its fit."""
        if self.steps is not None:
            fitted = hasattr(self.last, "unfairness_")
            steps = self.steps if fitted else clone(self.steps).fit(rows.X, rows.y)
            rows = replace(rows, X=steps.transform(rows.X))
        if self.kind != "stacked":
            return self.last, rows
        given = rows.X, rows.y, rows.sensitive_features, rows.sample_weight, rows.exposure
        return self.linear, PassedRows(**self.last.training_of_layer(*given))

    def scores(self, X: Any, sensitive_features: Any) -> Floats:
        """Return linear predictors of shape (n, K), without any offset, whose means it predicts.

        Parameters
        ----------
        X, sensitive_features
            Rows as `linear` reads them; of other models as they came.
        """
        if self.fair:
            S = sensitive_features if self.reads_sensitive else None
            eta = np.asarray(self.linear._linear_predictor(X, S, None))
            return eta.reshape(len(eta), -1)
        found = predicted(self.given, X, sensitive_features)
        if self.classes is None and found.ndim != 1:
            raise TypeError(f"a {type(self.given).__name__} predicts several numbers for a row")
        if self.classes is None:
            return found[:, None]
        order = np.searchsorted(np.asarray(self.given.classes_), self.classes)
        inside = np.clip(found[:, order], SMALLEST_PROBABILITY, 1.0 - SMALLEST_PROBABILITY)
        return logit(inside[:, 1:]) if inside.shape[1] == 2 else np.log(inside)


def scored_model(model: Any) -> ScoredModel:
    """Say what a model is: the one place that looks into pipelines, and at the kind of a model."""
    steps, last = split_pipeline(model)
    if isinstance(last, LinearModel):
        return ScoredModel(model, steps, last, "linear")
    if isinstance(last, FairStacking):
        return ScoredModel(model, steps, last, "stacked")
    return ScoredModel(model, None, last, "other")
