"""What all models of comparison have: parameters, a response, what scikit-learn asks for."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

from sklearn.base import ClassifierMixin, RegressorMixin

from fairridge._typing import ColumnNames, MissingValues, UnknownLevels
from fairridge.estimators._model import FairModel
from fairridge.estimators._responses import Classes, NumericResponse, ResponseKind
from fairridge.families import Gaussian

__all__ = ["ComparisonModel", "CostlyClassifier", "CostlyRegressor"]


@dataclass(eq=False, repr=False)
class ComparisonModel(FairModel):
    """The parameters that every model has.

    Parameters are fields, so that a model lists only its own beside these.
    """

    unfairness: float = 0.05
    _: KW_ONLY
    sensitive: ColumnNames | None = None
    unknown: UnknownLevels = "error"
    predictor_map: Any = None
    sensitive_map: Any = None
    missing: MissingValues = "error"

    # A penalty that was given outright; a bound then chooses nothing.
    _given: ClassVar[Any] = None

    @property
    def _response_kind(self) -> ResponseKind:
        return NumericResponse(Gaussian())


class CostlyRegressor(RegressorMixin):
    """A regression whose accuracy a bound, or a penalty, may cost."""

    def __sklearn_tags__(self: Any) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = bool(self._given or self.unfairness < 1.0)
        return tags


class CostlyClassifier(ClassifierMixin):
    """A classifier, of two classes unless it says otherwise, whose accuracy a bound may cost."""

    @property
    def _response_kind(self) -> Classes:
        return Classes(only_two=True)

    def __sklearn_tags__(self: Any) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = not self._response_kind.only_two
        tags.classifier_tags.poor_score = bool(self.unfairness < 1.0)
        return tags
