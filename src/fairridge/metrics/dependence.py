"""How much the predictions of any model depend on the sensitive attributes.

Predictions are regressed on S, ŷ ~ Sa: for models that are linear in S and U
the coefficients a are α in the training rows, so that the definitions of
fairness apply to all models alike.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fairridge._typing import Floats
from fairridge.fairness.scatter_shares import sequential_share
from fairridge.families import Binomial, Cox, Family, Gaussian
from fairridge.families.distances import Distance
from fairridge.metrics.dependence_shares import scatter_of, without_rounding
from fairridge.metrics.groups import Grouping
from fairridge.metrics.scored_rows import ScoredRows
from fairridge.metrics.sorted_scores import SortedScores


def dependence(rows: ScoredRows, groups: Sequence[Grouping]) -> dict[str, float]:
    """Measure how predictions, numbers or probabilities of classes, depend on S."""
    # By several definitions, 0 where there is none that they see: `equality_of_opportunity`, the
    # share of S in what S and then y explain of the predictions; `individual`, Σ d(yᵢ, yⱼ)(sᵢa −
    # sⱼa)², not normalized; `max_correlation`, the largest |correlation| with a column of S;
    # `kolmogorov_smirnov` and `wasserstein`, the largest distance between the predictions of a
    # group and of all others.
    family, predicted, response, targets = _as_numbers(rows)
    S, weight = rows.sensitive, rows.mean_weight
    size = float(targets.std(axis=0).max(initial=0.0))
    columns = without_rounding(predicted, weight, size)
    q, m = S.shape[1], columns.shape[1]
    joint = scatter_of(np.hstack([S, columns, targets]), weight)
    ordered = [SortedScores(column, weight) for column in columns.T]
    several = [grouping for grouping in groups if len(grouping.labels) > 1]
    distances = [apart for one in ordered for group in several for apart in one.of_groups(group)]
    return {
        "equality_of_opportunity": sequential_share(joint, q, m),
        "individual": _pairwise_difference(columns, S, family.distance, response, weight),
        "max_correlation": _largest_correlation(joint, q, m),
        "kolmogorov_smirnov": max((apart.kolmogorov_smirnov for apart in distances), default=0.0),
        "wasserstein": max((apart.wasserstein for apart in distances), default=0.0),
    }


def _as_numbers(rows: ScoredRows) -> tuple[Family, Floats, Floats, Floats]:
    """Return a family, predictions, the response as it reads it, and the same as numbers."""
    if rows.classes is not None:
        others = rows.codes[:, None] == np.arange(1, len(rows.classes))
        return Binomial(), rows.shown[:, 1:], rows.response, others.astype(np.float64)
    if rows.means is None:
        assert rows.targets is not None
        return Cox(), rows.scores, rows.response, rows.targets
    rates = rows.response if rows.exposure is None else rows.response / rows.exposure[:, None]
    return Gaussian(), rows.means, rates, rates


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
