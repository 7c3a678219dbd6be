"""Methods of models whose predictions are means.

A class takes these methods by assignment, such as ``predict = means.predict``: so
no class has a method that does not apply, and none inherits from two sides.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import r2_score
from sklearn.utils.validation import check_is_fitted

from fairridge._typing import Floats, TableLike, VectorLike
from fairridge.data import joined_offsets, numeric_vector
from fairridge.estimators._model import FairModel
from fairridge.estimators._training import read_scored
from fairridge.sources import RowSource


def predict(
    self: FairModel,
    X: TableLike,
    *,
    sensitive_features: TableLike | None = None,
    offset: VectorLike | None = None,
    exposure: VectorLike | None = None,
) -> Floats:
    """Predict the mean response, or with the log link and without an exposure the rate.

    Parameters
    ----------
    X : frame or array of shape (n, k)
        New rows; columns of a frame may be in any order.
    sensitive_features : frame or array, optional
        Required if and only if it was given at fit.
    offset : array-like of shape (n,), optional
        Added to the linear predictor.
    exposure : array-like of shape (n,) or float, optional
        For families with the log link: multiplies the rate.

    Returns
    -------
    ndarray of shape (n,)
        For rows of `fairridge.sources` the predictions are lazy: a Dask or Spark
        collection, or for Parquet files an object with `write(path)`.
    """
    if isinstance(X, RowSource):
        return X.predictions(self, "predict")
    check_is_fitted(self)
    shift = joined_offsets(self.family_.link, offset, exposure)
    eta = self._linear_predictor(X, sensitive_features, shift)
    mean: Floats = self.family_.mean(eta)
    return mean


def score(
    self: FairModel,
    X: TableLike,
    y: VectorLike | None = None,
    *,
    sensitive_features: TableLike | None = None,
    sample_weight: VectorLike | None = None,
    offset: VectorLike | None = None,
    exposure: VectorLike | None = None,
) -> float:
    """Return R² for gaussian models, D² (explained deviance) for others.

    A model that was fitted with an offset or an exposure needs it here, too.
    """
    check_is_fitted(self)
    shift = joined_offsets(self.family_.link, offset, exposure)
    inputs, eta = read_scored(self, X, y, sensitive_features, sample_weight, shift)
    response = numeric_vector(y, inputs.n_given, "y", inputs.keep)
    if self.family_.least_squares:
        return float(r2_score(response, eta, sample_weight=inputs.weight))
    family, weight, values = self.family_, inputs.weights, response[:, None]
    family.check_values(response)
    return explained_deviance(family, values, eta[:, None], weight, inputs.offset)


def explained_deviance(
    family: Any, values: Floats, eta: Floats, weight: Floats, offset: Floats | None
) -> float:
    """Return D² of linear predictors, which have the offset in them, against the null model."""
    deviance = family.deviance_terms(values, eta, weight, 0).deviance
    null = null_deviance(family, values, weight, offset)
    mean = float(np.average(values[:, 0], weights=weight))
    negligible = 1e-12 * float(weight.sum()) * family.unit(mean)
    if null <= negligible:
        return 1.0 if deviance <= negligible else 0.0  # as scikit-learn's r2_score has it
    return float(1.0 - deviance / null)


def null_deviance(family: Any, values: Floats, weight: Floats, offset: Floats | None) -> float:
    """Deviance of the intercept-only model, which keeps the offset."""
    intercept = family.null_level(values, weight, offset)
    if not np.isfinite(intercept):
        return 0.0
    shift = np.zeros(len(values)) if offset is None else offset
    return float(family.deviance_terms(values, (intercept + shift)[:, None], weight, 0).deviance)
