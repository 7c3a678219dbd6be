"""How certain the predicted means of a gaussian model are, with its penalties read as priors."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairridge._typing import Floats
from fairridge.data import as_table
from fairridge.engines import linear_predictor
from fairridge.inference import MAX_KEPT_COLUMNS
from fairridge.search.setup import resolve_penalty
from fairridge.sources import RowSource


def posterior_deviation(model: Any, X: Any, sensitive_features: Any) -> Floats:
    """Return the posterior standard deviation of the mean of every row."""
    # With [s, x] centered and V the posterior covariance of their coefficients, the variance is
    # σ²/W + [s, x]ᵀV[s, x].
    if isinstance(X, RowSource):
        raise ValueError("return_std needs the rows in memory: pass a frame or an array.")
    _require_posterior(model)
    design, name, training = model._design, type(model).__name__, model._training
    attributes = design.attributes(sensitive_features, estimator_name=name)
    table = as_table(X, sparse=True)
    pieces = design.encode(table, attributes, model.unknown, estimator_name=name)
    sizes, vectors = np.linalg.eigh(model._posterior)
    root = vectors * np.sqrt(np.maximum(sizes, 0.0))
    center = training.center[: len(root)]
    parts = linear_predictor((*pieces[0], *pieces[1]), design.encoded_names, root, -center @ root)
    of_intercept = model.deviance_ / training.weight**2
    return np.asarray(np.sqrt(of_intercept + (parts * parts).sum(axis=1)))


def _require_posterior(model: Any) -> None:
    """Raise, with the reason, if a model has no posterior."""
    if model._posterior is not None:
        return
    settings = model._fitted.settings
    reason = "needs penalties that are priors: penalty='ridge' or 'radial'"
    if not model.family_.least_squares:
        reason = f"is for gaussian models, not for a {model.family_.name} one"
    elif model.predictor_penalty_ == 0.0:
        reason = (
            "needs predictor_penalty > 0: it is the prior of the coefficients. Without it, "
            "model.inference(X, y).linear_predictor(…) has standard errors of means"
        )
    elif settings.blind or settings.controls is not None:
        reason = "is for models that use S to predict, without controls"
    elif len(model._design.encoded_names) > MAX_KEPT_COLUMNS:
        reason = f"is for models with up to {MAX_KEPT_COLUMNS:,} encoded columns"
    elif len(model.predictor_names_) > model.n_rows_:
        reason = "needs at least as many rows as predictor columns"
    elif resolve_penalty(settings.penalty).l1 == 0.0:
        reason = "is for models of few sparse columns, or of dense ones"
    raise ValueError(f"return_std {reason}.")
