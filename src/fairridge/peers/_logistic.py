"""Logistic regression of scikit-learn that does not depend on units."""

from __future__ import annotations

from typing import Any

from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler


def plain_logistic() -> LogisticRegression:
    """Return a model for standardized columns that has next to no penalty."""
    return LogisticRegression(C=1e4, solver="newton-cholesky", max_iter=1000)


def on_original_scale(model: Any, scaler: StandardScaler) -> Any:
    """Let a linear classifier of standardized columns take the columns themselves."""
    if not hasattr(model, "coef_"):  # fairlearn puts a constant in place of a fit to one label
        return model
    model.coef_ = model.coef_ / scaler.scale_
    model.intercept_ = model.intercept_ - model.coef_ @ scaler.mean_
    return model
