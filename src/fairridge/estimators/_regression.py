"""What the regression models share: numbers in, means out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score

from fairridge.data import numeric_vector
from fairridge.estimators._base import FairModel
from fairridge.estimators._training import Inputs, Response
from fairridge.families import Gaussian
from fairridge.rows import RowSource
from fairridge.rows.responses import Numbers, ResponseReader

__all__ = ["Regression"]

Floats = NDArray[np.float64]


class Regression(RegressorMixin, FairModel):
    """Means from linear predictors."""

    family_: Any

    @property
    def _family(self) -> Any:
        """The family of the response; gaussian unless a subclass has a choice."""
        return Gaussian()

    def predict(self, X: Any, *, sensitive_features: Any = None, offset: Any = None) -> Floats:
        """Predict the mean response.

        Parameters
        ----------
        X : frame or array of shape (n, k)
            New rows; columns of a frame may be in any order.
        sensitive_features : frame or array, optional
            Required if and only if it was given at fit.
        offset : array-like of shape (n,), optional
            Added to the linear predictor.

        For rows of `fairridge.rows` the predictions are lazy: a Dask or Spark
        collection, or for Parquet files an object with `write(path)`.
        """
        if isinstance(X, RowSource):
            return X.predictions(self, "predict")
        eta = self._linear_predictor(X, sensitive_features, offset)
        mean: Floats = self.family_.mean(eta)
        return mean

    def score(
        self,
        X: Any,
        y: Any = None,
        *,
        sensitive_features: Any = None,
        sample_weight: Any = None,
        offset: Any = None,
    ) -> float:
        """Return R² for gaussian models, D² (explained deviance) for others."""
        inputs, eta = self._scored(X, sensitive_features, sample_weight, offset)
        response = numeric_vector(y, inputs.n_given, "y", inputs.keep)
        if self.family_.least_squares:
            return float(r2_score(response, eta, sample_weight=inputs.weight))
        family, weight, values = self.family_, inputs.weights, response[:, None]
        family.check_values(response)
        deviance = family.rows(values, eta[:, None], weight, 0).deviance
        null = _null_deviance(family, values, weight, inputs.offset)
        mean = float(np.average(response, weights=weight))
        nothing = 1e-12 * float(weight.sum()) * family.unit(mean)
        if null <= nothing:
            return 1.0 if deviance <= nothing else 0.0  # as scikit-learn's r2_score has it
        return float(1.0 - deviance / null)

    def _response(self, y: Any, inputs: Inputs) -> Response:
        family: Any = self._family
        response = numeric_vector(y, inputs.n_given, "y", inputs.keep)
        family.check(response)
        targets = response
        if family.least_squares and inputs.offset is not None:
            response = targets = response - inputs.offset  # all that an offset means here
        return Response(family, response[:, None], targets[:, None])

    def _streamed_response(self, classes: NDArray[Any]) -> tuple[Response, ResponseReader]:
        family, nothing = self._family, np.empty((0, 1))
        reader = Numbers(less_offset=family.least_squares)
        return Response(family, nothing, nothing), reader


def _null_deviance(family: Any, values: Floats, weight: Floats, offset: Floats | None) -> float:
    """Deviance of the intercept-only model, which keeps the offset."""
    level = family.null_level(values, weight, offset)
    if not np.isfinite(level):
        return 0.0
    shift = np.zeros(len(values)) if offset is None else offset
    return float(family.rows(values, (level + shift)[:, None], weight, 0).deviance)
