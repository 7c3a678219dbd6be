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

from collections.abc import Sequence

import numpy as np

from fairridge._typing import Floats, Integers
from fairridge.fairness import MeanParity
from fairridge.metrics.held_out import explained_by_sensitive, scatter_of
from fairridge.models import Fit

__all__ = ["BINS", "SMALL", "WORDS", "decision_gap", "share_explained", "shares_of_fit"]

# What the numbers are called wherever they are shown.
WORDS = {
    "share_of_eta": "Share of η explained by S",
    "share_of_means": "Share of means explained by S",
    "decision_gap": "Gap of decisions",
}
# Groups of a numeric attribute, and rows below which a group is left out.
BINS, SMALL = 4, 30


def shares_of_fit(fit: Fit) -> dict[str, float]:
    """Return both shares in the training rows, from sums over them.

    S and U are orthogonal there, so the share of η is
    VAR(Sα)/(VAR(Sα) + VAR(Uβ)). The means need one pass over the rows, unless
    they are η; their share is NaN if the square of a mean overflows.
    """
    sensitive = fit.sensitive_variance
    total = sensitive + fit.predictor_variance
    found = {"share_of_eta": sensitive / total if total > 0.0 else 0.0}
    if fit.family.reads == "times":
        return found
    with np.errstate(over="ignore", invalid="ignore"):
        return found | {"share_of_means": MeanParity().value(fit)}


def share_explained(
    predicted: Floats, span: Floats, weight: Floats, *, adjusted: bool = True
) -> float:
    """Return R² of predictions regressed on S, adjusted for chance on validation rows.

    The same for every model: 1 − (1 − R²)(n − 1)/(n − q − 1), with q the rank
    of S in the n rows. NaN if n ≤ q + 1.

    Parameters
    ----------
    predicted : ndarray of shape (n, m)
        Linear predictors, or predicted outcomes.
    span : ndarray of shape (n, q)
        Independent columns with the span of S, as of `sensitive_span`.
    weight : ndarray of shape (n,)
        Weights; n is the number of rows all the same.
    adjusted : bool, default=True
        Whether the rows are validation rows.
    """
    joint = scatter_of(np.hstack([span, predicted]), weight)
    n_rows = len(predicted) if adjusted else None
    return explained_by_sensitive(joint, span.shape[1], predicted.shape[1], n_rows)


def decision_gap(decided: Integers, groups: Sequence[Integers], weight: Floats) -> float:
    """Return the largest difference between groups in the share of rows decided alike.

    Parameters
    ----------
    decided : ndarray of shape (n,)
        Class that each row is given, from 0.
    groups : sequence of ndarray of shape (n,)
        For each attribute, the group of each row, from 0.
    weight : ndarray of shape (n,)
        Weights.

    Returns
    -------
    float
        NaN if no attribute has two groups of at least 30 rows.
    """
    gaps = []
    for codes in groups:
        compared = np.bincount(codes) >= SMALL
        if compared.sum() < 2:
            continue
        total = np.bincount(codes, weights=weight)[compared]
        for one in np.unique(decided):
            chosen = np.bincount(codes, weights=weight * (decided == one))[compared]
            gaps.append(float(np.ptp(chosen / total)))
        gaps.append(0.0)  # every row decided alike
    return max(gaps, default=float("nan"))
