"""How models of comparison read a response, and what they tell scikit-learn of themselves."""

from __future__ import annotations

from typing import Any

from sklearn.base import ClassifierMixin

from fairridge.estimators._responses import Classes, NumericResponse, ResponseKind
from fairridge.families import Gaussian


def response_kind(model: Any) -> ResponseKind:
    """Read two classes if the model is a classifier, and else numbers."""
    if isinstance(model, ClassifierMixin):
        return Classes(only_two=True)
    return NumericResponse(Gaussian())


def costly(model: Any, tags: Any, penalty: float | None = None) -> Any:
    """Tell scikit-learn that a bound, or a penalty, may cost accuracy."""
    poor = bool(penalty or model.unfairness < 1.0)
    if tags.regressor_tags is not None:
        tags.regressor_tags.poor_score = poor
    if tags.classifier_tags is not None:
        tags.classifier_tags.poor_score = poor
        tags.classifier_tags.multi_class = not model._response_kind.only_two
    return tags
