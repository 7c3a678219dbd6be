"""The three numbers that every model is described by, whatever its bound is on.

- `share_of_eta`: R² of the linear predictor η, without any offset, on S.
- `share_of_means`: R² of the predicted means or probabilities μ on S, offsets
  included; a gaussian model is one of y − offset. Cox models predict no means.
- `decision_gap`: the largest difference between the shares of two groups of an
  attribute that are decided alike, where there are decisions: classes, or a
  threshold. Numeric attributes are cut into quarters, and groups of fewer than
  30 rows are left out, as in `audit`.

Over several classes variances are added, and the largest gap of any class counts.
"""

from __future__ import annotations

import numpy as np

from fairridge._typing import Floats

# What the numbers are called wherever they are shown.
WORDS = {
    "share_of_eta": "Share of scores explained by S",
    "share_of_means": "Share of means explained by S",
    "decision_gap": "Gap of decisions",
}

# Standard deviation of predictions, relative to their size or that of the response, that is none:
# responses that vary less are refused.
NEGLIGIBLE_DEVIATION = 1e-12


def sensitive_span(S: Floats, weight: Floats) -> Floats:
    """Return orthonormal columns, under the weights, with the span of centered S."""
    # Products of almost collinear columns of S lose the digits that tell these apart.
    centered = S - np.average(S, axis=0, weights=weight)
    constant = S.min(axis=0) == S.max(axis=0)
    root = np.sqrt(weight)[:, None]
    weighted = np.where(constant, 0.0, centered) * root
    norms = np.linalg.norm(weighted, axis=0)
    left, values, _ = np.linalg.svd(weighted / np.where(norms > 0, norms, 1.0), full_matrices=False)
    used = values > max(S.shape) * np.finfo(np.float64).eps * max(values.max(initial=0.0), 1.0)
    return left[:, used] / root


def without_rounding(columns: Floats, weight: Floats, size: float = 0.0) -> Floats:
    """Center predictions, and let those be 0 that are constant but for rounding."""
    mean = np.average(columns, axis=0, weights=weight)
    negligible = NEGLIGIBLE_DEVIATION * np.maximum(np.abs(mean), size)
    return np.where(columns.std(axis=0) <= negligible, 0.0, columns - mean)


def scatter_of(columns: Floats, weight: Floats) -> Floats:
    """Return Σ w (z − z̄)(z − z̄)ᵀ over rows z; from a row on, so that constants have exactly 0."""
    shifted = columns - columns[:1]
    centered = shifted - np.average(shifted, axis=0, weights=weight)
    return (centered * weight[:, None]).T @ centered
