"""What an audit sums over rows, in two passes, and what it says of the sums.

Rows in memory are one batch, so that rows in files have the numbers of the same rows in memory.
Only what needs sorted scores, distances and rankings, comes from all rows in memory, and from
bins of the scores otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import chain, compress
from typing import Any

import numpy as np

from fairridge._typing import Floats
from fairridge.data import Table
from fairridge.engines import Moments
from fairridge.metrics.attribution import MAX_SPLIT_ATTRIBUTES, Attribution, lmg
from fairridge.metrics.audit_tables import Audit
from fairridge.metrics.batches import Batches, InMemory
from fairridge.metrics.brier import PredictedSurvival
from fairridge.metrics.contrasts import (
    Limits,
    largest_difference,
    mean_limits,
    mean_ratio_limits,
    rate_difference_limits,
    rate_ratio_limits,
    ratios,
    smallest_ratio,
)
from fairridge.metrics.group_measures import (
    AttributeAudit,
    CalibrationBin,
    Correlation,
    GroupMeasures,
)
from fairridge.metrics.group_sums import CalibrationSums, GroupSums
from fairridge.metrics.group_table import GroupTable
from fairridge.metrics.groups import (
    Attribute,
    Grouping,
    ValueWeights,
    crossing,
    weighted_quantiles,
    written_out,
)
from fairridge.metrics.intervals import UNDEFINED, Estimate
from fairridge.metrics.outcomes import Outcomes, OutcomeSettings
from fairridge.metrics.share_interval import (
    AdjustedDifferences,
    Judged,
    Regressions,
    crossed_columns,
    moments_of,
)
from fairridge.metrics.sorted_scores import (
    INCOMPARABLE,
    BinnedScores,
    Distances,
    Ranking,
    SortedScores,
    ranking,
)
from fairridge.sources.batch import Sums

CALIBRATION_BINS = 10


@dataclass(frozen=True)
class SensitiveRows:
    """Rows before anything is predicted of them: S, written out, and its groups."""

    columns: Floats  # S as `written_out` gives it, of shape (n, q)
    crossed: Floats  # the same with products of attributes, if intersections are groups
    partitions: tuple[Grouping, ...]

    @property
    def parts(self) -> tuple[Grouping, ...]:
        """All rows as one group, and the groups of every attribute."""
        return (Grouping.everyone(len(self.columns)), *self.partitions)


@dataclass(frozen=True)
class AuditedColumns:
    """How the sensitive attributes of rows become columns and groups."""

    attributes: tuple[Attribute, ...]
    intersections: bool = False  # whether attributes are crossed
    backend: Any = None  # the frame library of tables

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return [name for one in self.attributes for name in one.column_names]

    @property
    def width(self) -> int:
        """How many numbers are written out for a row, products of attributes included."""
        each = [len(one.column_names) for one in self.attributes]
        return sum(each) + (math.prod(each) if self.intersections and len(each) > 1 else 0)

    @property
    def owners(self) -> list[int]:
        """The attributes that these belong to."""
        return [k for k, one in enumerate(self.attributes) for _ in one.column_names]

    def rows(self, table: Table, *, every_cell: bool = False) -> SensitiveRows:
        """Write rows out, and group them; by `every_cell` of crossed attributes for batches."""
        columns = written_out(self.attributes, table)
        parts = [one.grouping(table.column(k)) for k, one in enumerate(self.attributes)]
        crossed = columns
        if self.intersections:
            crossed = crossed_columns(columns, self.owners)
            if len(parts) > 1:
                parts.append(crossing(parts, every_cell=every_cell))
        return SensitiveRows(columns, crossed, tuple(parts))


@dataclass(frozen=True)
class ComparedRows:
    """Rows with what was predicted of them."""

    known: SensitiveRows
    outcomes: Outcomes
    eta: Floats | None = None  # linear predictors, of shape (n, K)
    classes: dict[str, Floats] = field(default_factory=dict)  # probabilities of several classes
    controls: Floats | None = None  # written out, of shape (n, c)

    @property
    def explained(self) -> dict[Any, tuple[list[Judged], Floats, Floats]]:
        """What S may explain, by name: scores with the weights of rows, S, and controls."""
        outcomes, weight, S = self.outcomes, self.outcomes.weight, self.known.crossed
        several = [column[:, None] for column in self.classes.values()]
        scores = np.hstack(several) if several else outcomes.score[:, None]
        judged: dict[Any, Judged] = {
            "eta_share" if outcomes.of_times else "means_share": (scores, weight)
        }
        if self.eta is not None:
            judged["eta_share"] = self.eta, outcomes.row_weight
        for label, column in zip(self.classes, several, strict=True):
            judged["class", label] = column, weight
        found = {name: ([one], S, S[:, :0]) for name, one in judged.items()}
        if self.controls is not None:
            found["partial_r_squared"] = [(scores, weight)], S, self.controls
        return found

    @cached_property
    def _ordered(self) -> SortedScores:
        return SortedScores(self.outcomes.score, self.outcomes.weight)

    def distances(self, table: GroupTable, k: int, reference: int | None) -> list[Distances]:
        """Compare the groups of an attribute with a reference group, or with all other rows."""
        return self._ordered.of_groups(self.known.partitions[k], reference)

    def rankings(self, confidence: float) -> list[Ranking]:
        """Return how well scores separate the classes in every group."""
        found = []
        for part in self.known.parts:
            # Put together once, the rows of a group are a slice, and need no search in all rows.
            true = self.outcomes.observed[part.order]
            score, weight = self.outcomes.score[part.order], self.outcomes.weight[part.order]
            found += [
                ranking(true[rows], score[rows], weight[rows], confidence) for rows in part.slices
            ]
        return found

    def briers(self, survival: PredictedSurvival, confidence: float) -> list[Estimate]:
        """Return Brier scores of predicted survival; each group has its own censoring."""
        found = []
        for part in self.known.parts:
            for rows in (part.order[place] for place in part.slices):
                weight = self.outcomes.weight[rows]
                terms = survival.take(rows).terms(weight) if len(rows) else None
                group = [Grouping.everyone(len(rows))]
                found += (
                    [UNDEFINED]
                    if terms is None
                    else GroupTable.of(group, weight, terms).estimates(0, confidence)
                )
        return found


@dataclass(frozen=True)
class Asked:
    """What an audit is asked for."""

    columns: AuditedColumns
    decided: OutcomeSettings
    confidence: float
    small: int  # rows below which a group is small
    minimum_share: float = 0.0  # share of all rows below which it is, too
    reference: Mapping[str, Any] = field(default_factory=dict)
    controls: tuple[str, ...] = ()
    brief: bool = False


# ------------------------------------------------------------------------ passes over rows


def first_sums(rows: ComparedRows, *, brief: bool, binned: bool) -> Sums:
    """Sum means and rates of groups, and moments; and weights of scores if these are binned."""
    known, outcomes = rows.known, rows.outcomes
    score = [(outcomes.score[:, None], outcomes.weight)]
    sums: dict[Any, Any] = {
        "groups": GroupSums.of(known.parts, outcomes, brief=brief),
        "moments": moments_of(score, known.columns, known.columns[:, :0]),
    }
    if binned:
        sums["scores"] = ValueWeights.of(outcomes.score, outcomes.weight)
    if not brief:
        each = rows.explained.items()
        sums["shares"] = Sums({name: moments_of(*explained) for name, explained in each})
    if rows.controls is not None:
        sums["adjusted"] = Sums({
            k: AdjustedDifferences.moments(outcomes.score, part, rows.controls, outcomes.weight)
            for k, part in enumerate(known.partitions)
        })  # fmt: skip
    return Sums(sums)


@dataclass(frozen=True)
class SecondPass:
    """What rows are summed by once the sums of the first pass are known."""

    brief: bool
    tenths: Floats | None  # between which scores calibration is measured; None if it is not
    bins: Floats | None  # the largest score of every bin; None of rows in memory
    shares: dict[Any, Regressions]
    adjusted: tuple[AdjustedDifferences, ...] = ()

    @classmethod
    def of(cls, first: Sums, scores: Floats, weight: Floats, asked: Asked) -> SecondPass:
        """Prepare the second pass; `scores`, with their weights, are those of all rows."""
        levels, brief = np.arange(1, CALIBRATION_BINS) / CALIBRATION_BINS, asked.brief
        calibrated = not brief and first["groups"].has_responses
        tenths = np.unique(weighted_quantiles(scores, weight, levels)) if calibrated else None
        of_shares = {} if brief else first["shares"].parts
        shares = {name: Regressions.of(moments) for name, moments in of_shares.items()}
        binned = "scores" in first.parts
        n_groups = len(first["groups"].rows.counts)
        bins = BinnedScores.edges(scores, weight, n_groups) if binned else None
        each = first["adjusted"].parts.values() if "adjusted" in first.parts else ()
        adjusted = tuple(map(AdjustedDifferences.of, each))
        return cls(brief, tenths, bins, shares, adjusted)

    def __call__(self, rows: ComparedRows) -> Sums:
        """Sum rows."""
        known, outcomes, sums = rows.known, rows.outcomes, dict[Any, Any]()
        if self.tenths is not None:
            sums["calibration"] = Sums({
                k: CalibrationSums.of(part, outcomes, self.tenths)
                for k, part in enumerate(known.parts)
            })  # fmt: skip
        if self.bins is not None:
            sums["bins"] = BinnedScores.of(known.parts, outcomes, self.bins)
        if not self.brief:
            explained, each = rows.explained, self.shares.items()
            sums["shares"] = Sums({name: by.sums(*explained[name]) for name, by in each})
        if rows.controls is not None:
            sums["adjusted"] = Sums({
                k: one.sums(outcomes.score, part, rows.controls, outcomes.weight)
                for k, (one, part) in enumerate(zip(self.adjusted, known.partitions, strict=True))
            })  # fmt: skip
        return Sums(sums)


# ------------------------------------------------------------------------ what the sums say


def compare(batches: Batches, asked: Asked) -> Audit:
    """Compare groups of `ComparedRows`; see `audit`."""
    # A brief comparison leaves out what takes time and a report shows at one bound, or nowhere,
    # such as ranking, calibration by tenth, what S explains, and intervals of the lowest ratios.
    rows: Any = batches.rows if isinstance(batches, InMemory) else None
    first = batches.sum(partial(first_sums, brief=asked.brief, binned=rows is None))
    if rows is None:
        scores = first["scores"].values, first["scores"].weights
    else:
        scores = rows.outcomes.score, rows.outcomes.weight
    second_pass = SecondPass.of(first, *scores, asked)
    second = batches.sum(second_pass)
    groups = first["groups"].without_empty_groups()
    references = _references(groups.rows, asked.reference)
    bins = None if rows is not None else second["bins"].groups(first["groups"].occupied)
    measured = _measured(
        groups, rows if bins is None else bins, second_pass, first, second, references, asked
    )
    overall, *each = [measured[place] for place in groups.rows.places]
    tenths, *calibration = _calibration(second, len(groups.rows.places), asked.confidence)
    strongest, attribution = _dependence(first["moments"]["entries"][0], asked)
    decided = asked.decided
    return Audit(
        kind=decided.kind,
        positive=decided.positive,
        favorable=decided.favorable,
        threshold=decided.threshold,
        confidence=asked.confidence,
        small=asked.small,
        overall=overall[0],
        attributes=tuple(
            _attribute_audit(*of_part, asked)
            for of_part in zip(
                groups.rows.attributes[1:], each, references, calibration, strict=True
            )
        ),
        tenths=tenths,
        strongest=strongest,
        attribution=attribution,
        top=decided.top,
        minimum_share=asked.minimum_share,
        controls=asked.controls,
        score_bins=None if bins is None else bins.errors(groups.rows.places[1:], references),
        _backend=asked.columns.backend,
        **_shares(second_pass, second, asked.confidence),
    )


def compare_crossed(partition: Grouping, outcomes: Outcomes, asked: Asked) -> AttributeAudit:
    """Compare groups of one partition by rates and means alone."""
    parts = Grouping.everyone(len(outcomes.score)), partition
    sums = GroupSums.of(parts, outcomes, brief=True)
    _, *groups = sums.measures(asked.confidence, asked.small, asked.minimum_share, brief=True)
    return _attribute_audit(partition.attribute, groups, None, (), asked)


def _attribute_audit(
    attribute: str,
    groups: Sequence[GroupMeasures],
    reference: int | None,
    calibration: tuple[CalibrationBin, ...],
    asked: Asked,
) -> AttributeAudit:
    """Compare the groups of an attribute; briefly, without intervals of the lowest ratios."""
    confidence, amounts = asked.confidence, asked.decided.amounts
    lowest = None if asked.brief else confidence
    compared = [group for group in groups if not group.small]
    rates = [group.selection_rate for group in compared]
    true = [group.true_positive_rate for group in compared]
    false = [group.false_positive_rate for group in compared]
    means = [group.mean_prediction for group in compared]
    found = [_ratios(groups, reference, "selection_rate", rate_ratio_limits, confidence)]
    if amounts:
        limits = mean_ratio_limits
        found.append(_ratios(groups, reference, "mean_prediction", limits, confidence))
    fields = "impact_ratio", "mean_ratio"
    return AttributeAudit(
        attribute,
        tuple(
            replace(group, **dict(zip(fields, of_group, strict=False)))
            for group, *of_group in zip(groups, *found, strict=True)
        ),
        None if reference is None else groups[reference].group,
        largest_difference(rate_difference_limits, [rates], confidence),
        smallest_ratio(rate_ratio_limits, rates, lowest),
        largest_difference(rate_difference_limits, [true], confidence),
        largest_difference(rate_difference_limits, [true, false], confidence),
        largest_difference(mean_limits, [means], confidence),
        smallest_ratio(mean_ratio_limits, means, lowest) if amounts else UNDEFINED,
        calibration,
    )


def _ratios(
    groups: Sequence[GroupMeasures],
    reference: int | None,
    name: str,
    limits: Limits,
    confidence: float,
) -> list[Estimate]:
    """Relate every group to the reference, or to the highest; a small one if all are small."""
    estimates = [getattr(group, name) for group in groups]
    known = [
        k
        for k, (group, estimate) in enumerate(zip(groups, estimates, strict=True))
        if not group.small and estimate.value == estimate.value
    ]
    best = reference
    if best is None:
        best = max(known or range(len(groups)), key=lambda k: estimates[k].value)
    found = ratios(limits, estimates, estimates[best], confidence)
    # A ratio of a group to itself does not vary.
    found[best] = Estimate(1.0, 1.0, 1.0) if estimates[best].value > 0.0 else UNDEFINED
    return found


def _measured(
    groups: GroupSums,
    scored: ComparedRows | BinnedScores,
    second_pass: SecondPass,
    first: Sums,
    second: Sums,
    references: Sequence[int | None],
    asked: Asked,
) -> list[GroupMeasures]:
    """Return all that is measured in groups, those of all attributes one after the other."""
    confidence, more = asked.confidence, dict[str, list[Any]]()
    found = groups.measures(confidence, asked.small, asked.minimum_share, brief=asked.brief)
    if not asked.brief and asked.decided.ranks and groups.has_responses:
        more["ranking"] = scored.rankings(confidence)
    if isinstance(scored, ComparedRows) and scored.outcomes.survival is not None:
        more["brier"] = scored.briers(scored.outcomes.survival, confidence)
    apart = [scored.distances(groups.rows, k, reference) for k, reference in enumerate(references)]
    more["distances"] = [INCOMPARABLE, *chain.from_iterable(apart)]
    if second_pass.adjusted:
        each = second["adjusted"].parts.items()
        differences = [second_pass.adjusted[k].estimates(sums, confidence) for k, sums in each]
        every = [None, *chain.from_iterable(differences)]
        there = first["groups"].occupied.tolist()
        more["adjusted_difference"] = list(compress(every, there))
    rows = zip(*more.values(), strict=True)
    return [
        replace(group, **dict(zip(more, row, strict=True)))
        for group, row in zip(found, rows, strict=True)
    ]


def _calibration(second: Sums, n_parts: int, confidence: float) -> list[tuple[CalibrationBin, ...]]:
    """Compare responses with predictions of every group within tenths of all predictions."""
    if "calibration" not in second.parts:
        return [()] * n_parts
    return [sums.bins(confidence) for sums in second["calibration"].parts.values()]


def _shares(second_pass: SecondPass, second: Sums, confidence: float) -> dict[str, Any]:
    """Return what S explains."""
    if second_pass.brief:
        return {}
    found: dict[Any, Estimate] = {
        name: regressions.estimate(second["shares"][name], confidence)[0]
        for name, regressions in second_pass.shares.items()
    }
    by_class = {name[1]: share for name, share in found.items() if isinstance(name, tuple)}
    others = {name: share for name, share in found.items() if not isinstance(name, tuple)}
    return others | {"by_class": by_class}


def _dependence(moments: Moments, asked: Asked) -> tuple[Correlation | None, Attribution | None]:
    """Return the strongest correlation of predictions with S, and R² split over attributes."""
    covariance = moments.scatter / moments.weight
    products, variance = covariance[-1, :-1], float(covariance[-1, -1])
    of_sensitive, columns = covariance[:-1, :-1], asked.columns
    scale = np.sqrt(np.diag(of_sensitive) * variance)
    usable = scale > 0.0
    if not usable.any():
        return None, None
    correlation = np.divide(products, scale, out=np.zeros(len(scale)), where=usable)
    k = int(np.argmax(np.abs(correlation)))
    strongest = Correlation(columns.names[k], float(np.clip(correlation[k], -1.0, 1.0)))
    labels = [attribute.name for attribute in columns.attributes]
    if asked.brief or len(labels) > MAX_SPLIT_ATTRIBUTES:
        return strongest, None
    return strongest, lmg(
        of_sensitive, products, variance, columns.owners, labels, backend=columns.backend
    )


def _references(table: GroupTable, reference: Mapping[str, Any]) -> list[int | None]:
    """Find the reference group of every attribute that has one."""
    attributes, labels = table.attributes[1:], table.labels[1:]
    positions: list[int | None] = [None] * len(attributes)
    for attribute, group in reference.items():
        if attribute not in attributes:
            names = ", ".join(map(repr, attributes))
            raise ValueError(f"reference names {attribute!r}; the attributes are {names}.")
        k, label = attributes.index(attribute), str(group)
        if label not in labels[k]:
            raise ValueError(
                f"reference group {label!r} of {attribute!r} has no rows; the groups are "
                f"{', '.join(map(repr, labels[k]))}."
            )
        positions[k] = labels[k].index(label)
    return positions
