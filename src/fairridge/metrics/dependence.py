"""How much the predictions of any model depend on the sensitive attributes.

Predictions are regressed on S, ŷ ~ Sa: for models that are linear in S and U
the coefficients a are α in the training rows, so that the definitions of
fairness apply to all models alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fairridge._typing import Floats
from fairridge.fairness.scatter_shares import explained_by_sensitive, sequential_share
from fairridge.families.distances import Distance
from fairridge.metrics.dependence_shares import scatter_of, without_rounding
from fairridge.metrics.distances import Distances, SortedScores
from fairridge.metrics.groups import Grouping


@dataclass(frozen=True)
class Dependence:
    """Dependence of predictions on S, by several definitions; 0 where there is none that they see.

    Attributes
    ----------
    r_squared : float
        R² of the predictions regressed on S (statistical parity).
    equality_of_opportunity : float
        Share of S in what S and then y explain of the predictions.
    individual : float
        Σ d(yᵢ, yⱼ)(sᵢa − sⱼa)², not normalized.
    correlation : float
        Largest |correlation| with a column of S.
    kolmogorov_smirnov, wasserstein : float
        Largest distance between the predictions of a group and of all others.
    """

    r_squared: float
    equality_of_opportunity: float
    individual: float
    correlation: float
    kolmogorov_smirnov: float
    wasserstein: float


def dependence(
    prediction: Floats,
    S: Floats,
    targets: Floats,
    distance: Distance,
    response: Floats,
    groups: Sequence[Grouping],
    weight: Floats,
) -> Dependence:
    """Measure how predictions, numbers or probabilities of classes, depend on S.

    `targets` are the response as numbers: itself, or 0/1 columns of classes. The
    distance d(yᵢ, yⱼ) of individual fairness looks at `response`.
    """
    size = float(targets.std(axis=0).max(initial=0.0))
    columns = without_rounding(prediction.reshape(len(S), -1), weight, size)
    q, m = S.shape[1], columns.shape[1]
    joint = scatter_of(np.hstack([S, columns, targets]), weight)
    distances = [apart for column in columns.T for apart in _between(column, groups, weight)]
    return Dependence(
        explained_by_sensitive(joint, q, m),
        sequential_share(joint, q, m),
        _pairwise_difference(columns, S, distance, response, weight),
        _largest_correlation(joint, q, m),
        max((apart.kolmogorov_smirnov for apart in distances), default=0.0),
        max((apart.wasserstein for apart in distances), default=0.0),
    )


def _pairwise_difference(
    columns: Floats, S: Floats, distance: Distance, response: Floats, weight: Floats
) -> float:
    """Σᵢⱼ wᵢwⱼ d(yᵢ, yⱼ)(sᵢa − sⱼa)² with a from least squares of centered predictions on S."""
    centered = S - np.average(S, axis=0, weights=weight)
    scale = np.sqrt(np.average(centered**2, axis=0, weights=weight))
    standardized = centered / np.where(scale > 0.0, scale, 1.0)
    root = np.sqrt(weight)[:, None]
    a, *_ = np.linalg.lstsq(root * standardized, root * columns, rcond=1e-10)
    M = distance.form(standardized, response, weight)
    return float(np.einsum("ik,ij,jk->", a, M, a))


def _largest_correlation(joint: Floats, q: int, m: int) -> float:
    deviation = np.sqrt(np.maximum(np.diag(joint)[: q + m], 0.0))
    units = np.outer(deviation[:q], deviation[q:])
    usable = units > 0.0
    correlation = np.abs(joint[:q, q : q + m])[usable] / units[usable]
    return float(min(correlation.max(initial=0.0), 1.0))


def _between(scores: Floats, groups: Sequence[Grouping], weight: Floats) -> list[Distances]:
    """Compare every group with all other rows."""
    ordered = SortedScores(scores, weight)
    return [
        apart
        for grouping in groups
        if len(grouping.labels) > 1
        for apart in ordered.of_groups(grouping)
    ]
