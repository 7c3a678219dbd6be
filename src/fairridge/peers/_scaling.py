"""Linear classifiers of scikit-learn that do not depend on units."""

from __future__ import annotations

from typing import Any

from sklearn.preprocessing import StandardScaler

from fairridge._typing import Floats

__all__ = ["on_original_scale", "scaled"]


def scaled(Z: Floats, weight: Floats | None = None) -> tuple[Floats, StandardScaler]:
    """Standardize columns, and return what did it."""
    scaler = StandardScaler().fit(Z, sample_weight=weight)
    return scaler.transform(Z), scaler


def on_original_scale(model: Any, scaler: StandardScaler) -> Any:
    """Let a linear classifier of standardized columns take the columns themselves."""
    if not hasattr(model, "coef_"):  # fairlearn puts a constant in place of a fit to one label
        return model
    model.coef_ = model.coef_ / scaler.scale_
    model.intercept_ = model.intercept_ - model.coef_ @ scaler.mean_
    return model
