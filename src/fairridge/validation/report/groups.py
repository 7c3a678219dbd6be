"""Group metrics of an audit report, at every bound."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from typing import Any

import numpy as np

from fairridge._typing import Booleans, Floats, Integers
from fairridge.arguments import check_finite
from fairridge.metrics.audit import check_options
from fairridge.metrics.audit_tables import Audit
from fairridge.metrics.batches import Batches, InMemory
from fairridge.metrics.comparison import (
    Asked,
    AuditedColumns,
    AuditedRows,
    ComparedRows,
    compare,
    compare_crossed,
)
from fairridge.metrics.favorable import Favorable, favorable_outcome, find_label
from fairridge.metrics.groups import Grouping, crossing
from fairridge.metrics.intervals import CONFIDENCE, Estimate
from fairridge.metrics.learned_share import learned_share
from fairridge.metrics.outcomes import Decided, Outcomes, nowhere_negative
from fairridge.metrics.scored_rows import ScoredRows
from fairridge.metrics.selection import check_top, select, two_rules
from fairridge.reports.html import Crossed, Decisions, Sample
from fairridge.validation.report.case import ReportSettings
from fairridge.validation.report.rows import Step

# Pairs of attributes whose groups are crossed.
MAX_CROSSED_PAIRS = 6


@dataclass(frozen=True)
class DecisionRule:
    """Who counts as selected."""

    outcomes: tuple[int, ...]  # classes to report on, by position; (0,) for numbers
    # Scores above are selected, or those not above if low scores are favorable; None if the
    # likeliest class wins, or nobody decides.
    threshold: float | None
    words: str  # the rule for readers; "" if nobody decides
    # The outcome that people want; None if each of several classes has its turn.
    favorable: Favorable | None
    # The share or number of rows that are selected instead, those with the best scores.
    top: float | int | None = None

    @property
    def high(self) -> bool:
        """Whether high scores are favorable."""
        return self.favorable is None or self.favorable.high

    def selected(self, score: Floats, weight: Floats) -> Booleans:
        """Return who is selected; nobody if nothing decides."""
        found = select(score, weight, self.threshold, self.top, high=self.high)
        return np.zeros(len(score), dtype=bool) if found is None else found


@dataclass(frozen=True)
class Comparison:
    """How a report compares groups of its rows."""

    columns: AuditedColumns  # how S is written out and grouped
    known: AuditedRows  # S written out, and its groups
    rule: DecisionRule
    small: int  # rows below which a group is small

    @classmethod
    def of(cls, rows: ScoredRows, response: str, options: ReportSettings) -> Comparison:
        """Find the groups of rows, and choose who counts as selected if the user did not say."""
        check_options(CONFIDENCE, options.bins, options.small)
        assert rows.attributes is not None
        columns = AuditedColumns.of_table(rows.attributes, rows.mean_weight, bins=options.bins)
        known = columns.rows(rows.attributes)
        return cls(columns, known, decision_rule(rows, response, options), int(options.small))

    def asked(self, decided: Decided, *, brief: bool = False) -> Asked:
        """Say what is compared; in full at one bound only."""
        return Asked(self.columns, decided, CONFIDENCE, self.small, brief=brief)


def decision_rule(rows: ScoredRows, response: str, options: ReportSettings) -> DecisionRule:
    """Choose who counts as selected if the user did not say."""
    labels = rows.labels
    threshold, top = check_finite("threshold", options.threshold), check_top(options.top)
    if threshold is not None and top is not None:
        raise two_rules(threshold, top)
    positive, favorable = options.positive, options.favorable
    if positive is None and len(labels) > 2:
        positive = find_label(favorable, labels)
    if positive is not None and str(positive) not in labels:
        known = ", ".join(map(repr, labels)) if labels else "none, the response is a number"
        raise ValueError(f"positive={positive!r} is not a class of y; the classes are {known}.")
    if len(labels) > 2:
        if top is not None:
            raise ValueError("top= needs one score per row; there are more than two classes.")
        return _of_several(labels, positive, favorable, response)
    level: float | None = threshold
    if labels:
        class_ = 1 if positive is None else labels.index(str(positive))
        wanted = favorable_outcome(favorable, response, labels[class_], labels)
        level, score = 0.5 if level is None else level, f"the probability of {labels[class_]}"
    elif rows.numbers is None:
        class_, score = 0, "the log hazard ratio"
        wanted = favorable_outcome(favorable, score="hazard")
    else:
        class_, score = 0, f"the predict{'ion' if rows.exposure is None else 'ed rate'}"
        wanted = favorable_outcome(favorable, response)
    if top is not None:
        side = "highest" if wanted.high else "lowest"
        many = f"{100 * top:g} %" if isinstance(top, float) else f"{top:,}"
        return DecisionRule((class_,), None, f"{score} is among the {side} {many}", wanted, top)
    if level is None:  # numbers decide nothing by themselves
        return DecisionRule((class_,), None, "", None if favorable is None else wanted)
    side = "above" if wanted.high else "not above"
    return DecisionRule((class_,), level, f"{score} is {side} {level:g}", wanted)


def _of_several(
    labels: tuple[str, ...], positive: Any, favorable: Any, response: str
) -> DecisionRule:
    """Decide for the likeliest of more than two classes."""
    if positive is None:
        if favorable is not None:
            raise ValueError(
                f"favorable={favorable!r} is not one of the classes "
                f"{', '.join(map(repr, labels))}; name one of them."
            )
        return DecisionRule(
            tuple(range(len(labels))), None, "the class is the most likely one", None
        )
    wanted = favorable_outcome(favorable, response, str(positive), labels)
    side = "" if wanted.high else "not "
    words = f"{positive} is {side}the most likely class"
    return DecisionRule((labels.index(str(positive)),), None, words, wanted)


def audited(
    case: Comparison, scored: Sequence[ScoredRows], called: str, chosen: int, step: Step
) -> tuple[Sample, ...]:
    """Compare groups at every bound, once for each outcome; in full at the chosen one.

    The same rows are scored at every bound; they are `called` "held-out", "training", "new" or
    "these", and `step` is called after every bound.
    """
    rule, labels = case.rule, scored[0].labels
    decided = [_decided(rule, rows) for rows in scored]
    audits = []
    for position, (rows, selected) in enumerate(zip(scored, decided, strict=True)):
        brief = position != chosen
        audits.append([_audit(case, rows, selected, k, brief=brief) for k in rule.outcomes])
        step()
    return tuple(
        Sample(
            called,
            labels[k] if len(labels) > 2 else "",
            of_outcome,
            _changes(np.array([each[k] for each in decided]), case.known.partitions)
            if rule.words
            else None,
        )
        for k, of_outcome in zip(rule.outcomes, zip(*audits, strict=True), strict=True)
    )


def audited_in(
    batches: Batches,
    columns: AuditedColumns,
    rule: DecisionRule,
    example: ScoredRows,
    small: int,
    called: str,
) -> tuple[Sample, ...]:
    """Compare groups of batches of `ScoredRows` in full, once for each outcome.

    An `example` of the rows says what they have.
    """
    samples = []
    for k in rule.outcomes:
        of_outcome = _OfOutcome(columns, rule, k, every_cell=not isinstance(batches, InMemory))
        asked = Asked(columns, of_outcome(example).outcomes, CONFIDENCE, small)
        label = example.labels[k] if len(example.labels) > 2 else ""
        # With one model alone there is no other whose decisions could differ from its own.
        samples.append(Sample(called, label, (compare(batches.map(of_outcome), asked),), None))
    return tuple(samples)


@dataclass(frozen=True)
class _OfOutcome:
    """Makes rows to compare of scored ones; it travels."""

    columns: AuditedColumns
    rule: DecisionRule
    k: int
    every_cell: bool

    def __call__(self, rows: ScoredRows) -> ComparedRows:
        """Group rows, and decide."""
        assert rows.attributes is not None
        known = self.columns.rows(rows.attributes, every_cell=self.every_cell)
        return _compared(known, rows, _outcomes(self.rule, rows, _decided(self.rule, rows), self.k))


def decision_gaps(samples: tuple[Sample, ...]) -> list[Estimate]:
    """Return the largest gap of decisions at every bound, over outcomes; nothing if none is."""
    by_bound = zip(*(sample.audits for sample in samples), strict=True)
    gaps = [[audit.parity_difference for audit in audits] for audits in by_bound]
    largest = [max(each, key=lambda gap: np.nan_to_num(gap.value, nan=-1.0)) for each in gaps]
    return largest if any(gap.value == gap.value for gap in largest) else []


def crossed(case: Comparison, chosen: ScoredRows, free: ScoredRows) -> tuple[Crossed, ...]:
    """Compare groups of two attributes at a time, for the first outcome.

    The rows are scored by the model at the chosen bound, and by the one without a bound.
    """
    models = [
        _outcomes(case.rule, rows, _decided(case.rule, rows), case.rule.outcomes[0])
        for rows in (chosen, free)
    ]
    pairs = islice(combinations(case.known.partitions, 2), MAX_CROSSED_PAIRS)
    return tuple(
        Crossed(*(compare_crossed(part, model, case.asked(model)) for model in models))
        for part in map(crossing, pairs)
    )


def learned_dependence(case: Comparison, rows: ScoredRows) -> Estimate:
    """Return how much of the scores of the first outcome a flexible learner of S explains."""
    scores = rows.shown[:, case.rule.outcomes[0]]
    return learned_share(scores, case.known.columns, rows.mean_weight, CONFIDENCE)


def _decided(rule: DecisionRule, rows: ScoredRows) -> Booleans:
    """Return who is selected, by class; nobody without a rule."""
    scores = rows.shown.T
    if len(scores) > 2:
        return (scores.argmax(axis=0) == np.arange(len(scores))[:, None]) == rule.high
    return np.array([rule.selected(score, rows.mean_weight) for score in scores])


def _audit(case: Comparison, rows: ScoredRows, selected: Booleans, k: int, *, brief: bool) -> Audit:
    outcomes = _outcomes(case.rule, rows, selected, k)
    compared = _compared(case.known, rows, outcomes)
    return compare(InMemory(compared), case.asked(outcomes, brief=brief))


def _compared(known: AuditedRows, rows: ScoredRows, outcomes: Outcomes) -> ComparedRows:
    """Return rows to compare, also among people with equal controls if the model has any."""
    return ComparedRows(known, outcomes, controls=rows.controls if rows.controls.size else None)


def _outcomes(rule: DecisionRule, rows: ScoredRows, selected: Booleans, k: int) -> Outcomes:
    """Return what groups are compared by."""
    classes, score = rows.classes is not None, rows.shown[:, k]
    response = (rows.codes == k).astype(np.float64) if classes else rows.numbers
    return Outcomes(
        kind="classification" if classes else "regression",
        response=response,
        score=score,
        selected=selected[k] if rule.words else None,
        weight=rows.mean_weight,
        keep=slice(None),
        positive=1 if classes else None,
        threshold=rule.threshold,
        favorable=rule.favorable or Favorable("high", True, "high predictions"),
        top=rule.top,
        amounts=rows.amounts and nowhere_negative(score, response),
    )


def _changes(selected: Booleans, partitions: tuple[Grouping, ...]) -> Decisions:
    """Count, by group, who is selected only here and who only without a bound, the last row."""
    gained, lost = selected & ~selected[-1], ~selected & selected[-1]

    def by_group(changed: Booleans) -> Integers:
        return np.array(
            [
                [n for p in partitions for n in np.bincount(p.codes[rows], minlength=len(p.labels))]
                for rows in changed
            ]
        )

    return Decisions(
        selected.sum(axis=1),
        by_group(gained),
        by_group(lost),
        gained.sum(axis=1),
        lost.sum(axis=1),
    )
