"""What a fit shows between groups: shares of variance and what they mean there, and totals.

Let s be the 0/1 column of a group with the share p of the rows, μ what a model
predicts, and COR their correlation. Then

    mean of μ in the group = E(μ) + COV(s, μ)/p,
    SMD = COR/√(1 − COR²) / √(p(1 − p)),

SMD being the difference of means between the group and all other rows, in
standard deviations within the two. So both follow from sums over the rows that
are known already. If S is one binary attribute, COR² is the share of the
variance of μ that S explains.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from fairridge._typing import Floats
from fairridge.data import Encoding, MappedEncoding
from fairridge.data.columns import CategoricalColumn
from fairridge.engines import MemoryEngine, binary_columns
from fairridge.fairness import MeanParity
from fairridge.families.base import ClassFamily
from fairridge.families.sums import PredictedMeans
from fairridge.metrics.group_table import SMALL_GROUP_ROWS, GroupTable
from fairridge.metrics.groups import Grouping
from fairridge.metrics.intervals import CONFIDENCE
from fairridge.models import Fit

# What the numbers are called wherever they are shown; ratios have a class behind them.
DIFFERENCES = {
    "max_correlation": "Largest |COR| with S",
    "standardized_mean_difference": "Largest SMD of a level",
    "lowest_group_mean": "Lowest mean of a level",
    "highest_group_mean": "Highest mean of a level",
    "adverse_impact_ratio": "Impact ratio",
}
# The name of all rows among groups.
EVERYONE = "all rows"
# Variance of means, relative to the square of their size, that is rounding.
NEGLIGIBLE_VARIANCE = 1e-26


@dataclass(frozen=True)
class _SensitiveColumns:
    """Columns of S, and how the K means of a model vary with them."""

    center: Floats  # means of the columns, of shape (q,)
    variance: Floats
    covariance: Floats  # COV(S, μ), of shape (K, q)
    mean: Floats  # means of μ, of shape (K,)
    spread: Floats  # variances of μ


def shares_of_fit(fit: Fit) -> dict[str, float]:
    """Return both shares of `yardstick` in the training rows, from sums over them.

    S and U are orthogonal there, so the share of η is VAR(Sα)/(VAR(Sα) + VAR(Uβ)).
    The means need one pass over the rows, unless they are η; their share is NaN if
    the square of a mean, or of a rate, overflows.
    """
    sensitive = fit.sensitive_variance
    total = sensitive + fit.predictor_variance
    shares = {"share_of_eta": sensitive / total if total > 0.0 else 0.0}
    if fit.family.least_squares:
        return shares | {"share_of_means": shares["share_of_eta"]}
    if fit.family.reads == "times":
        return shares
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        return shares | {"share_of_means": MeanParity().value(fit)}


def group_differences(
    fit: Fit, encoding: Encoding | MappedEncoding, n_rows: int
) -> dict[str, float]:
    """Return what the training rows show of a model, from sums over them.

    Features that S is mapped to have no groups, and nothing is returned.

    Returns
    -------
    dict of str to float
        `max_correlation`, the largest |COR| of predicted means (Cox: of η) with
        a number or the 0/1 column of any level of S;
        `standardized_mean_difference`, the largest |SMD| between a level and all
        other rows; `lowest_group_mean` and `highest_group_mean`, of models with
        one mean. Levels of fewer than 30 rows (with weights: of a smaller share)
        count in the first only; if there are no others, the rest is left out.
    """
    if isinstance(encoding, MappedEncoding):
        return {}
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        columns = _columns_of(fit)
    if not np.isfinite(columns.spread).all():  # squares of means overflow
        return {}
    numeric, levels = _levels(encoding, columns)
    varies = columns.spread > NEGLIGIBLE_VARIANCE * (columns.spread + columns.mean**2)
    spread = np.where(varies, columns.spread, np.inf)[:, None]
    size = np.sqrt(spread * np.where(columns.variance > 0.0, columns.variance, np.inf))
    differences = {"max_correlation": _largest(columns.covariance[:, numeric] / size[:, numeric])}
    if not levels.shape[1]:
        return differences
    share, covariance = levels[0], levels[1:]
    binomial = share * (1.0 - share)
    correlation = np.clip(covariance / np.sqrt(spread * binomial), -1.0, 1.0)
    differences["max_correlation"] = max(differences["max_correlation"], _largest(correlation))
    large = share * n_rows >= SMALL_GROUP_ROWS - 0.5
    with np.errstate(divide="ignore"):
        smd = correlation / np.sqrt((1.0 - correlation**2) * binomial)
    if large.any():
        differences["standardized_mean_difference"] = _largest(smd[:, large])
    if len(columns.mean) == 1 and large.any():
        means = columns.mean[0] + (covariance[0] / share)[large]
        differences |= {"lowest_group_mean": means.min(), "highest_group_mean": means.max()}
    return {name: float(value) for name, value in differences.items()}


def _largest(values: Floats) -> float:
    return float(np.abs(values).max(initial=0.0))


def _columns_of(fit: Fit) -> _SensitiveColumns:
    """Return sums that a fit has made, divided by its weight."""
    basis, family = fit.basis, fit.family
    scatter = basis.sensitive.scatter() / basis.weight
    center, variance = basis.center_sensitive, np.diag(scatter)
    if family.least_squares or family.reads == "times":  # η = Sα + Uβ, and U is orthogonal to S
        mean = np.atleast_1d(fit.intercept + fit.alpha @ center)
        spread = np.array([fit.sensitive_variance + fit.predictor_variance])
        return _SensitiveColumns(center, variance, np.atleast_2d(fit.alpha) @ scatter, mean, spread)
    # With totals, since the share of the means has asked for the same sums.
    means = cast(PredictedMeans, MeanParity().means(fit, totals=True))
    sums, n = fit.mean_sums(means), means.n_bounded
    assert sums.gram is not None
    gram, products = sums.gram[:n], sums.products[:n]
    weight = gram[:, 0, 0]
    mean = products[:, 0] / weight
    place = gram[:, 0, 1:] / weight[:, None]
    covariance = products[:, 1:] / weight[:, None] - mean[:, None] * place
    # Rates weigh rows by their exposure, in S too.
    center = center + place[0]
    variance = np.diag(gram[0])[1:] / weight[0] - place[0] ** 2
    spread = sums.scatter[:n] / weight
    return _SensitiveColumns(center, variance, covariance, mean + means.references, spread)


def _levels(encoding: Encoding, columns: _SensitiveColumns) -> tuple[list[int], Floats]:
    """Return numeric columns, and of every level its share, and COV of its 0/1 column with μ."""
    numeric: list[int] = []
    rows: list[Floats] = []
    binary, start = binary_columns(columns.center, columns.variance), 0
    every = np.vstack([columns.center, columns.covariance])
    for column in encoding.columns:
        place = slice(start, start + column.width)
        start = place.stop
        categorical = isinstance(column, CategoricalColumn)
        if not categorical and not binary[place].all():
            numeric += range(place.start, place.stop)
            continue
        rest = every[:, place].sum(axis=1)
        base = np.append(1.0 - rest[0], -rest[1:])
        rows += [base, *every[:, place].T]
    levels = np.array(rows).reshape(-1, len(every)).T
    # Empty levels, and a base that is empty but for rounding, are not groups.
    return numeric, levels[:, (levels[0] > 1e-12) & (levels[0] < 1.0 - 1e-12)]


def total_ratios(
    fit: Fit,
    engine: MemoryEngine,
    groupings: Sequence[Grouping],
    classes: Any = None,
) -> dict[str, dict[str, float]]:
    """Return Σ w predicted / Σ w observed of all training rows and of each group.

    Of several classes there is one for each. Groups of fewer than 30 rows are left out.

    Parameters
    ----------
    fit : Fit
        A model with means.
    engine : MemoryEngine
        All training rows.
    groupings : sequence of Grouping
        The groups by each attribute.
    classes : ndarray or None
        Labels of classes.

    Returns
    -------
    dict of str to dict
        `ratio`, and `low` and `high` of its 95 % interval (see `total_estimates`), by
        ``all rows`` and ``attribute: group``, followed by `` → class`` of several classes.
    """
    predicted, observed = _totaled(fit, engine)
    suffixes = [""] if predicted.shape[1] == 1 else [f" → {label}" for label in classes]
    parts = [Grouping.everyone(len(predicted), EVERYONE), *groupings]
    names = [EVERYONE, *(f"{g.attribute}: {label}" for g in groupings for label in g.labels)]
    by_class = []
    for p, o in zip(predicted.T, observed.T, strict=True):
        table = GroupTable.of(parts, engine.weights, p, o, o - p)
        by_class.append(table.totals(0, 1, 2, CONFIDENCE))
    small = table.counts < SMALL_GROUP_ROWS
    small[0] = False
    return {
        f"{name}{suffix}": {"ratio": ratio.value, "low": ratio.low, "high": ratio.high}
        for name, left_out, *ratios in zip(names, small, *by_class, strict=True)
        for suffix, ratio in zip(suffixes, ratios, strict=True)
        if not left_out and np.isfinite(ratio.value)
    }


def _totaled(fit: Fit, engine: MemoryEngine) -> tuple[Floats, Floats]:
    """Return predictions and observations, one column per outcome, in units of the largest."""
    basis, family = fit.basis, fit.family
    raw = np.atleast_2d(basis.raw_coefficients(fit.alpha, fit.beta))
    eta = engine.scores(raw) + np.atleast_1d(fit.mean_intercept) - raw @ basis.center
    eta = eta if engine.offset is None else eta + engine.offset[:, None]
    response = engine.response[:, :1]
    if family.reads == "numbers":
        predicted = family.mean(family.to_contrasts(eta.T).T)
        # Squares overflow otherwise, and ratios have no unit.
        unit = max(float(np.abs(each).max()) for each in (predicted, response)) or 1.0
        return predicted / unit, response / unit
    probability = cast(ClassFamily, family).probabilities(eta)
    observed = response == np.arange(probability.shape[1])
    one = slice(1 if probability.shape[1] == 2 else 0, None)
    return probability[:, one], observed[:, one]
