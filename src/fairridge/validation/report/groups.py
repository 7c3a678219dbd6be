"""Group metrics of an audit report, at every bound."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations, islice
from typing import Any

import numpy as np

from fairridge._typing import Booleans, Integers
from fairridge.arguments import check_finite
from fairridge.metrics.batches import Batches, InMemory
from fairridge.metrics.comparison import (
    Asked,
    AuditedColumns,
    ComparedRows,
    SensitiveRows,
    compare,
    compare_crossed,
)
from fairridge.metrics.favorable import (
    Favorable,
    check_top,
    favorable_outcome,
    select,
    wanted_outcome,
)
from fairridge.metrics.groups import Grouping, crossing
from fairridge.metrics.intervals import CONFIDENCE, Estimate
from fairridge.metrics.learned_share import learned_share
from fairridge.metrics.outcomes import Outcomes, OutcomeSettings, nonnegative
from fairridge.metrics.scored_rows import ScoredRows
from fairridge.reports.html.contents import Crossed, Decisions, Sample
from fairridge.validation.report.case import Step
from fairridge.validation.report.rows import ReportRows, ReportSettings

# Pairs of attributes whose groups are crossed.
MAX_CROSSED_PAIRS = 6


@dataclass(frozen=True)
class DecisionRule:
    """Who counts as selected."""

    outcomes: tuple[int, ...]  # classes to report on, by position; (0,) for numbers
    # Scores above are selected, or those not above if low scores are favorable; None if the
    # likeliest class wins, or without decisions.
    threshold: float | None
    words: str  # the rule for readers; "" without decisions
    # The outcome that people want; None if each of several classes has its turn.
    favorable: Favorable | None
    # The share or number of rows that are selected instead, those with the best scores.
    top: float | int | None = None

    @property
    def high(self) -> bool:
        """Whether high scores are favorable."""
        return self.favorable is None or self.favorable.high


@dataclass(frozen=True)
class ReportGroups:
    """How a report compares groups of its rows; it travels."""

    columns: AuditedColumns  # how S is written out and grouped
    rule: DecisionRule
    small: int  # rows below which a group is small
    known: SensitiveRows | None = None  # S of rows in memory, written out, and its groups

    @classmethod
    def of(cls, shown: ReportRows, options: ReportSettings) -> ReportGroups:
        """Find the groups of rows, and choose who counts as selected if the user did not say."""
        assert shown.rows.attributes is not None
        rule, columns = decision_rule(shown.rows, options), shown.columns
        known = columns.rows(shown.rows.attributes) if shown.inputs is not None else None
        return cls(columns, rule, int(options.small), known)

    def asked(self, decided: OutcomeSettings, *, brief: bool = False) -> Asked:
        """Say what is compared; in full at one bound only."""
        return Asked(self.columns, decided, CONFIDENCE, self.small, brief=brief)

    def compared(self, rows: ScoredRows, k: int) -> ComparedRows:
        """Return rows to compare, also among people with equal controls if the model has any."""
        assert rows.attributes is not None
        known = self.known or self.columns.rows(rows.attributes)
        controls = rows.controls if rows.controls.size else None
        return ComparedRows(known, self.outcomes(rows, k), controls=controls)

    def selected(self, rows: ScoredRows, k: int) -> Booleans | None:
        """Return who is selected; None if nothing decides."""
        rule = self.rule
        if len(rows.labels) > 2:
            return (rows.shown.argmax(axis=1) == k) == rule.high
        score = rows.shown[:, k]
        return select(score, rows.mean_weight, rule.threshold, rule.top, high=rule.high)

    def outcomes(self, rows: ScoredRows, k: int) -> Outcomes:
        """Return what groups are compared by."""
        classes, score, rule = rows.classes is not None, rows.shown[:, k], self.rule
        response = (rows.codes == k).astype(np.float64) if classes else rows.numbers
        return Outcomes(
            kind="classification" if classes else "regression",
            response=response,
            score=score,
            selected=self.selected(rows, k),
            weight=rows.mean_weight,
            positive=1 if classes else None,
            threshold=rule.threshold,
            favorable=rule.favorable or Favorable("high", True, "high predictions"),
            top=rule.top,
            amounts=rows.amounts and nonnegative(score, response),
        )


def decision_rule(rows: ScoredRows, options: ReportSettings) -> DecisionRule:
    """Choose who counts as selected if the user did not say."""
    labels, favorable, positive = rows.labels, options.favorable, options.positive
    level = check_finite("threshold", options.threshold)
    top = check_top(options.top, level)
    positive = None if positive is None else str(positive)
    if positive is not None and positive not in labels:
        known = ", ".join(map(repr, labels)) if labels else "none, the response is a number"
        raise ValueError(
            f"positive={options.positive!r} is not a class of y; the classes are {known}."
        )
    several = len(labels) > 2
    if several and top is not None:
        raise ValueError("top= needs one score per row; there are more than two classes.")
    if labels:
        default = None if several else labels[1]
        named, wanted = wanted_outcome(favorable, options.response, labels, positive, default)
        if several:
            return _of_several(labels, named, wanted, favorable)
        level, score = 0.5 if level is None else level, f"the probability of {named}"
        class_ = labels.index(named)
    elif rows.numbers is None:
        class_, score = 0, "the log hazard ratio"
        wanted = favorable_outcome(favorable, score="hazard")
    else:
        class_, score = 0, f"the predict{'ion' if rows.exposure is None else 'ed rate'}"
        wanted = favorable_outcome(favorable, options.response)
    assert wanted is not None
    if top is not None:
        side = "highest" if wanted.high else "lowest"
        many = f"{100 * top:g} %" if isinstance(top, float) else f"{top:,}"
        return DecisionRule((class_,), None, f"{score} is among the {side} {many}", wanted, top)
    if level is None:  # numbers decide nothing by themselves
        return DecisionRule((class_,), None, "", None if favorable is None else wanted)
    side = "above" if wanted.high else "not above"
    return DecisionRule((class_,), level, f"{score} is {side} {level:g}", wanted)


def _of_several(
    labels: tuple[str, ...], named: str | None, wanted: Favorable | None, favorable: Any
) -> DecisionRule:
    """Decide for the likeliest of more than two classes."""
    if wanted is None or named is None:
        if favorable is not None:
            raise ValueError(
                f"favorable={favorable!r} is not one of the classes "
                f"{', '.join(map(repr, labels))}; name one of them."
            )
        return DecisionRule(
            tuple(range(len(labels))), None, "the class is the most likely one", None
        )
    side = "" if wanted.high else "not "
    words = f"{named} is {side}the most likely class"
    return DecisionRule((labels.index(named),), None, words, wanted)


def compared_groups(
    groups: ReportGroups,
    models: Sequence[Batches],
    row: ScoredRows,
    called: str,
    chosen: int = 0,
    step: Step = lambda: None,
) -> tuple[Sample, ...]:
    """Compare groups at every bound, once for each outcome; in full at the chosen one."""
    # The same rows, of which there is a `row`, are scored by every model; they are `called`
    # "held-out", "training", "new" or "these", and `step` is called after every model.
    outcomes, labels, audits = groups.rule.outcomes, row.labels, []
    for position, batches in enumerate(models):
        known = batches.rows if isinstance(batches, InMemory) else row
        brief = position != chosen
        audits.append([
            compare(
                batches.map(partial(groups.compared, k=k)),
                groups.asked(groups.outcomes(known, k), brief=brief),
            )
            for k in outcomes
        ])  # fmt: skip
        step()
    return tuple(
        Sample(called, labels[k] if len(labels) > 2 else "", each, _changes(groups, models, k))
        for k, each in zip(outcomes, zip(*audits, strict=True), strict=True)
    )


def decision_gaps(samples: tuple[Sample, ...]) -> list[Estimate]:
    """Return the largest gap of decisions at every bound, over outcomes; nothing if none is."""
    by_bound = zip(*(sample.audits for sample in samples), strict=True)
    gaps = [[audit.parity_difference for audit in audits] for audits in by_bound]
    largest = [max(each, key=lambda gap: np.nan_to_num(gap.value, nan=-1.0)) for each in gaps]
    return largest if any(gap.value == gap.value for gap in largest) else []


def crossed(groups: ReportGroups, chosen: ScoredRows, free: ScoredRows) -> tuple[Crossed, ...]:
    """Compare groups of two attributes at a time, for the first outcome."""
    # The rows are scored by the model at the chosen bound, and by the one without a bound.
    assert groups.known is not None
    models = [groups.outcomes(rows, groups.rule.outcomes[0]) for rows in (chosen, free)]
    pairs = islice(combinations(groups.known.partitions, 2), MAX_CROSSED_PAIRS)
    return tuple(
        Crossed(*(compare_crossed(part, model, groups.asked(model)) for model in models))
        for part in map(crossing, pairs)
    )


def learned_dependence(groups: ReportGroups, rows: ScoredRows) -> Estimate:
    """Return how much of the scores of the first outcome a flexible learner of S explains."""
    assert groups.known is not None
    scores = rows.shown[:, groups.rule.outcomes[0]]
    return learned_share(scores, groups.known.columns, rows.mean_weight, CONFIDENCE)


def _changes(groups: ReportGroups, models: Sequence[Batches], k: int) -> Decisions | None:
    """Count, by group, who is selected only here and who only without a bound, the last model."""
    # None if nothing decides; one model alone has no other whose decisions could differ.
    if len(models) == 1 or not groups.rule.words:
        return None
    assert groups.known is not None
    rows = [batches.rows for batches in models if isinstance(batches, InMemory)]
    selected = np.array([groups.selected(each, k) for each in rows])
    gained, lost = selected & ~selected[-1], ~selected & selected[-1]
    parts = groups.known.partitions
    by_gained, by_lost = (
        np.array([_by_group(parts, rows) for rows in changed]) for changed in (gained, lost)
    )
    selected, all_gained, all_lost = (rows.sum(axis=1) for rows in (selected, gained, lost))
    return Decisions(selected, by_gained, by_lost, all_gained, all_lost)


def _by_group(parts: Sequence[Grouping], rows: Booleans) -> Integers:
    """Count rows by group, all partitions one after the other."""
    counts = [np.bincount(part.codes[rows], minlength=len(part.labels)) for part in parts]
    return np.concatenate(counts)
