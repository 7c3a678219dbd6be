"""Predicted means of new rows with intervals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, logit, softmax

from fairridge._typing import Floats
from fairridge.inference.estimates import Estimates, quantile


@dataclass(frozen=True)
class Predictor:
    """How a model predicts new rows."""

    # Maps X, sensitive_features and offset to encoded columns and offsets.
    read: Callable[[Any, Any, Any], tuple[Floats, Floats]]
    family: Any  # the family of the response (Family)
    labels: tuple[str, ...] = ()  # names of the classes of a multinomial model


def predicted_columns(
    what: Predictor, raw: Estimates, Z: Floats, offset: Floats, confidence: float, df: float | None
) -> dict[str, Floats]:
    """Return means of rows with intervals, as columns."""
    # Intervals are those of the linear predictor, or of the log odds of each of several classes by
    # the delta method, at both ends.
    if what.family.n_predictors == 1:
        middle, half = raw.combined(Z, confidence, df)
        middle = middle + offset
        ends = {"mean": middle, "lower": middle - half, "upper": middle + half}
        return {name: what.family.mean(eta[:, None])[:, 0] for name, eta in ends.items()}
    k, count = Z.shape[1], len(what.labels)
    P = softmax(Z @ raw.estimate.reshape(count, k).T, axis=1)
    between = raw.covariance.reshape(count, k, count, k)
    A = np.einsum("ni,cidj,nj->ncd", Z, between, Z, optimize=True)
    columns: dict[str, Floats] = {}
    for j, label in enumerate(what.labels):
        # Away from 0 and 1, where log odds are infinite.
        probability = np.clip(P[:, j], np.finfo(np.float64).tiny, 1.0 - 1e-16)
        slopes = (np.eye(count)[j] - P) / (1.0 - probability)[:, None]
        variance = np.einsum("nc,ncd,nd->n", slopes, A, slopes)
        error = quantile(confidence, df) * np.sqrt(np.maximum(variance, 0.0))
        columns[label] = P[:, j]
        columns[f"{label}_lower"] = expit(logit(probability) - error)
        columns[f"{label}_upper"] = expit(logit(probability) + error)
    return columns
