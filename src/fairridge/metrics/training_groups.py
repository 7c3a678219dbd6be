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

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fairridge._typing import Floats, Integers
from fairridge.data import Encoding, MappedEncoding
from fairridge.data.columns import CategoricalColumn
from fairridge.engines import MeanSums, binary_columns
from fairridge.fairness.means import mean_form
from fairridge.metrics.group_table import (
    SMALL_GROUP_ROWS,
    GroupTable,
    decision_gap,
    impact_ratios,
)
from fairridge.metrics.intervals import CONFIDENCE

# What the numbers are called wherever they are shown; ratios have a class behind them.
DIFFERENCES = {
    "max_correlation": "Largest correlation with S",
    "standardized_mean_difference": "Largest difference of a level",
    "lowest_group_mean": "Lowest mean of a level",
    "highest_group_mean": "Highest mean of a level",
    "adverse_impact_ratio": "Impact ratio",
}
# The name of all rows among groups.
EVERYONE = "all rows"
# Variance of means, relative to the square of their size, that is rounding.
NEGLIGIBLE_VARIANCE = 1e-26


@dataclass(frozen=True)
class SensitiveMoments:
    """Columns of S, and how the K means of a model vary with them."""

    center: Floats  # means of the columns, of shape (q,)
    variance: Floats
    covariance: Floats  # COV(S, μ), of shape (K, q)
    mean: Floats  # means of μ, of shape (K,)
    spread: Floats  # variances of μ


@dataclass(frozen=True)
class MeansWithS:
    """Sums of predicted means with S, and what is known of S and the response."""

    sums: MeanSums
    n_bounded: int  # means that count; those that follow have totals only
    references: Floats  # what was subtracted from each mean
    weight: float  # sum of the weights
    # Means of S and of the response.
    center_sensitive: Floats
    center_targets: Floats
    given_columns: Integers  # controls among the columns that the sums are with; none

    @property
    def share(self) -> float:
        """R² of the means on S; NaN if the square of a mean, or of a rate, overflows."""
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            return mean_form(self.sums, self, self.n_bounded).share(self.sums)

    @property
    def columns(self) -> SensitiveMoments:
        """The same, divided by the weight."""
        sums, n = self.sums, self.n_bounded
        assert sums.gram is not None
        gram, products = sums.gram[:n], sums.products[:n]
        weight = gram[:, 0, 0]
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            mean = products[:, 0] / weight
            place = gram[:, 0, 1:] / weight[:, None]
            covariance = products[:, 1:] / weight[:, None] - mean[:, None] * place
            # Rates weigh rows by their exposure, in S too.
            center = self.center_sensitive + place[0]
            variance = np.diag(gram[0])[1:] / weight[0] - place[0] ** 2
            spread = sums.scatter[:n] / weight
        return SensitiveMoments(center, variance, covariance, mean + self.references, spread)


@dataclass(frozen=True)
class ScoresWithS:
    """The same of models whose means are η, or that have none: η = Sα + Uβ, and S ⟂ U."""

    share: float | None  # of η that S explains; None without means
    alpha: Floats
    intercept: Any  # at the column means of U
    variance: float  # of η
    center_sensitive: Floats
    scatter_sensitive: Floats  # divided by the weight

    @property
    def columns(self) -> SensitiveMoments:
        """How η varies with the columns of S."""
        scatter, center = self.scatter_sensitive, self.center_sensitive
        with np.errstate(over="ignore", invalid="ignore"):
            mean = np.atleast_1d(self.intercept + self.alpha @ center)
            covariance = np.atleast_2d(self.alpha) @ scatter
        spread = np.array([self.variance])
        return SensitiveMoments(center, np.diag(scatter), covariance, mean, spread)


@dataclass(frozen=True)
class TrainingGroups:
    """Sums over the rows of a fit, from which follows what it shows between groups."""

    # They are small, and numbers are computed when they are read.

    # VAR(Sα)/(VAR(Sα) + VAR(Uβ)), the share of η: S and U are orthogonal in the rows of a fit.
    share_of_eta: float
    with_sensitive: MeansWithS | ScoresWithS
    encoding: Encoding | MappedEncoding  # how S is encoded
    n_rows: int
    # Decisions by group, if there are any, followed by totals, if the groups of rows are known.
    table: GroupTable | None
    labels: tuple[Any, ...]  # those of classes that are decided for; () without decisions

    @property
    def dependence(self) -> dict[str, float]:
        """The numbers that every model is described by."""
        shares, of_means = {"share_of_eta": self.share_of_eta}, self.with_sensitive.share
        if of_means is not None:
            shares["share_of_means"] = of_means
        if self._decided is not None:
            shares["decision_gap"] = decision_gap(self._decided)
        return _finite(shares)

    @property
    def differences(self) -> dict[str, float]:
        """What they mean between people."""
        found = group_differences(self.with_sensitive.columns, self.encoding, self.n_rows)
        if self._decided is not None:
            ratios = impact_ratios(self._decided).tolist()
            named = zip(self.labels, ratios, strict=True)
            found |= {f"adverse_impact_ratio[{label}]": ratio for label, ratio in named}
        return _finite(found)

    @property
    def totals(self) -> dict[str, dict[str, float]]:
        """Σ w predicted / Σ w observed by group."""
        return {} if self.table is None else total_ratios(self.table, self.labels)

    @property
    def _decided(self) -> GroupTable | None:
        """The decisions alone."""
        if self.table is None or not self.labels:
            return None
        columns, table = slice(len(self.labels)), self.table
        return replace(
            table,
            means=table.means[columns],
            squares=table.squares[columns],
            of_rates=table.of_rates[columns],
        )


def _finite(numbers: dict[str, float]) -> dict[str, float]:
    return {name: value for name, value in numbers.items() if np.isfinite(value)}


def group_differences(
    columns: SensitiveMoments, encoding: Encoding | MappedEncoding, n_rows: int
) -> dict[str, float]:
    """Return what the training rows show of a model, from sums over them."""
    # `max_correlation` is the largest |COR| of predicted means (Cox: of η) with a number or the 0/1
    # column of any level of S; `standardized_mean_difference` the largest |SMD| between a level and
    # all other rows; `lowest_group_mean` and `highest_group_mean` are those of models with one
    # mean. Levels of fewer than 30 rows (with weights: of a smaller share) count in the first only;
    # if there are no others, the rest is left out. Features that S is mapped to have no groups.
    if isinstance(encoding, MappedEncoding):
        return {}
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


def _levels(encoding: Encoding, columns: SensitiveMoments) -> tuple[list[int], Floats]:
    """Return numeric columns, and of every level its share, and COV of its 0/1 column with μ."""
    numeric: list[int] = []
    rows: list[Floats] = []
    binary = binary_columns(columns.center, columns.variance)
    every = np.vstack([columns.center, columns.covariance])
    for column, span in zip(encoding.columns, encoding.spans, strict=True):
        place = slice(span.start, span.stop)
        categorical = isinstance(column, CategoricalColumn)
        if not categorical and not binary[place].all():
            numeric += span
            continue
        rest = every[:, place].sum(axis=1)
        base = np.append(1.0 - rest[0], -rest[1:])
        rows += [base, *every[:, place].T]
    levels = np.array(rows).reshape(-1, len(every)).T
    # Empty levels, and a base that is empty but for rounding, are not groups.
    return numeric, levels[:, (levels[0] > 1e-12) & (levels[0] < 1.0 - 1e-12)]


def total_ratios(table: GroupTable, labels: tuple[Any, ...] = ()) -> dict[str, dict[str, float]]:
    """Return Σ w predicted / Σ w observed, with intervals, of all training rows and each group."""
    # The first group of the table are all rows, and columns of totals come last, after decisions
    # for classes with these `labels`; see `training_table`. Of several classes there is a ratio for
    # each. Groups of fewer than 30 rows are left out.
    starts = range(len(labels), len(table.means), 3)
    suffixes = [f" → {label}" for label in labels] if len(starts) > 1 else [""] * len(starts)
    by_class = [table.totals(k, CONFIDENCE, amounts=not labels) for k in starts]
    names = [
        f"{attribute}: {label}" if attribute else label
        for attribute, labels in zip(table.attributes, table.labels, strict=True)
        for label in labels
    ]
    shown = table.counts >= SMALL_GROUP_ROWS
    shown[0] = True
    return {
        f"{name}{suffix}": {"ratio": ratio.value, "low": ratio.low, "high": ratio.high}
        for name, large, *ratios in zip(names, shown.tolist(), *by_class, strict=True)
        for suffix, ratio in zip(suffixes, ratios, strict=True)
        if large and math.isfinite(ratio.value)
    }
