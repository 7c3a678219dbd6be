"""Group metrics of an audit report, at every bound."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, islice
from typing import Any, cast

import numpy as np

from fairridge._typing import Booleans, Floats, Integers
from fairridge.arguments import check_finite
from fairridge.data import Design, Table
from fairridge.estimators._responses import Inputs, Response
from fairridge.families import Family
from fairridge.families.base import ClassFamily
from fairridge.metrics import (
    AttributeAudit,
    Audit,
    Estimate,
    Favorable,
    Grouping,
    GroupMeasures,
    favorable_outcome,
    find_label,
    learned_share,
    sensitive_table,
)
from fairridge.metrics.audit import (
    AuditedRows,
    check_options,
    compare_crossed,
    compare_groups,
)
from fairridge.metrics.groups import crossing
from fairridge.metrics.intervals import CONFIDENCE
from fairridge.metrics.outcomes import Outcomes, counts, nowhere_negative
from fairridge.metrics.selection import check_top, select, two_rules
from fairridge.reports.html import Crossed, Decisions, Sample
from fairridge.validation.report.case import ReportSettings
from fairridge.validation.report.rows import Step

# Pairs of attributes whose groups are crossed.
MAX_CROSSED_PAIRS = 6
RATES = "selection_rate", "true_positive_rate", "false_positive_rate", "precision", "impact_ratio"


@dataclass(frozen=True)
class ReportRows:
    """Who the predictions are about."""

    attributes: Table  # sensitive attributes, as they were given
    design: Design | None  # how the model reads the rows; None if only its predictions are known
    # The rows, with the weights that predictions are judged with: of rates w·e.
    inputs: Inputs
    response: Response
    options: ReportSettings  # what the user says about the report
    given: Inputs  # the rows as they were given
    # What makes rates of responses and predictions, with the log link; None if nothing does.
    exposure: Floats | None

    @classmethod
    def of(
        cls, design: Design, inputs: Inputs, response: Response, options: ReportSettings
    ) -> ReportRows:
        """Describe rows of a model with this design."""
        check_options(CONFIDENCE, options.bins, options.small)
        attributes = sensitive_table(design, inputs.table, inputs.attributes)
        link = response.family.link
        exposure, judged = inputs.exposure(link), inputs
        if exposure is not None:
            judged = replace(inputs, weight=inputs.judged_weights(link))
        return cls(attributes, design, judged, response, options, inputs, exposure)

    @cached_property
    def rows(self) -> AuditedRows:
        """S written out, and its groups."""
        return AuditedRows.of(self.attributes, self.inputs.weights, bins=self.options.bins)

    @property
    def family(self) -> Family:
        """The family of the response."""
        return self.response.family

    @property
    def labels(self) -> tuple[str, ...]:
        """Classes; none for numbers."""
        classes = self.response.classes
        return () if classes is None else tuple(map(str, classes))

    @property
    def shift(self) -> Floats | float:
        """What to add: a gaussian response has the offset taken off, and readers want it back."""
        offset = self.inputs.offset
        return offset if offset is not None and self.family.least_squares else 0.0

    @property
    def amounts(self) -> bool:
        """Whether responses are positive by their family, or counts of a model without one."""
        unknown = self.design is None and not self.labels
        return self.family.link == "log" or (unknown and counts(self.numbers))

    @property
    def numbers(self) -> Floats | None:
        """Numbers as readers know them, rates, or codes of classes; None for survival."""
        values = self.response.values[:, 0] + self.shift
        if self.exposure is not None:
            return values / self.exposure
        return None if self.family.reads == "times" else values


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


def decision_rule(audience: ReportRows, response: str) -> DecisionRule:
    """Choose who counts as selected if the user did not say."""
    options, labels = audience.options, audience.labels
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
    elif audience.numbers is None:
        class_, score = 0, "the log hazard ratio"
        wanted = favorable_outcome(favorable, score="hazard")
    else:
        class_, score = 0, f"the predict{'ion' if audience.exposure is None else 'ed rate'}"
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
    audience: ReportRows, rule: DecisionRule, eta: Floats, rows: str, chosen: int, step: Step
) -> tuple[Sample, ...]:
    """Compare groups at every bound, once for each outcome; in full at the chosen one.

    Linear predictors have the shape (m, n, K), `rows` are "held-out", "training" or
    "new", and `step` is called after every bound.
    """
    known = audience.rows
    scored = [_scores(audience, predictors) for predictors in eta]
    decided = [_decided(audience, rule, scores) for scores in scored]
    audits = []
    for position, (scores, selected) in enumerate(zip(scored, decided, strict=True)):
        case = known, audience, rule, scores, selected
        audits.append([_audit(*case, k, brief=position != chosen) for k in rule.outcomes])
        step()
    return tuple(
        Sample(
            rows,
            audience.labels[k] if len(audience.labels) > 2 else "",
            of_outcome,
            _changes(np.array([each[k] for each in decided]), known.partitions)
            if rule.words
            else None,
        )
        for k, of_outcome in zip(rule.outcomes, zip(*audits, strict=True), strict=True)
    )


def crossed(
    audience: ReportRows, rule: DecisionRule, chosen: Floats, free: Floats
) -> tuple[Crossed, ...]:
    """Compare groups of two attributes at a time, for the first outcome.

    `chosen` and `free` are the linear predictors at the chosen bound, and without one.
    """
    both = [_scores(audience, eta) for eta in (chosen, free)]
    decided = [_decided(audience, rule, scores) for scores in both]
    models = [
        _outcomes(audience, rule, *scored, rule.outcomes[0])
        for scored in zip(both, decided, strict=True)
    ]
    pairs = islice(combinations(audience.rows.partitions, 2), MAX_CROSSED_PAIRS)
    crossings, small = map(crossing, pairs), int(audience.options.small)

    def compared(part: Grouping, outcomes: list[Outcomes]) -> AttributeAudit:
        found = [compare_crossed(part, each, CONFIDENCE, small) for each in outcomes]
        return found[0] if len(found) == 1 else _with_rates(*found)

    return tuple(Crossed(*(compared(part, model) for model in models)) for part in crossings)


def learned_dependence(audience: ReportRows, rule: DecisionRule, eta: Floats) -> Estimate:
    """Return how much of the scores of the first outcome a flexible learner of S explains."""
    scores = np.atleast_2d(_scores(audience, eta))[rule.outcomes[0]]
    return learned_share(scores, audience.rows.columns, audience.inputs.weights, CONFIDENCE)


def _scores(audience: ReportRows, eta: Floats) -> Floats:
    """Return what decisions rest on: probabilities of classes, means, or log hazard ratios.

    The shape is (K, n): one row per class, or one of all.
    """
    family = audience.family
    if audience.labels:
        return cast(ClassFamily, family).probabilities(eta).T
    score = eta[:, 0] if family.reads == "times" else family.mean(eta[:, 0])
    if audience.exposure is not None:
        score = score / audience.exposure
    return (score + audience.shift)[None]


def _decided(audience: ReportRows, rule: DecisionRule, scores: Floats) -> Booleans:
    """Return who is selected, by class; nobody without a rule."""
    if len(audience.labels) > 2:
        return (scores.argmax(axis=0) == np.arange(len(scores))[:, None]) == rule.high
    weight = audience.inputs.weights
    return np.array([rule.selected(score, weight) for score in scores])


def _audit(
    rows: AuditedRows,
    audience: ReportRows,
    rule: DecisionRule,
    scores: Floats,
    selected: Booleans,
    k: int,
    *,
    brief: bool,
) -> Audit:
    nobody, sizes = (None,) * len(rows.partitions), (int(audience.options.small), 0.0)
    first, *others = (
        compare_groups(rows, outcomes, nobody, CONFIDENCE, sizes, brief=brief)
        for outcomes in _outcomes(audience, rule, scores, selected, k)
    )
    if not others:
        return first
    overall = _measures_with_rates(first.overall, others[0].overall)
    pairs = zip(first.attributes, others[0].attributes, strict=True)
    return replace(first, overall=overall, attributes=tuple(_with_rates(*pair) for pair in pairs))


def _outcomes(
    audience: ReportRows, rule: DecisionRule, scores: Floats, selected: Booleans, k: int
) -> list[Outcomes]:
    """Return what groups are compared by; of several classes also the predicted classes."""
    classes, weight = bool(audience.labels), audience.inputs.weights
    wanted = rule.favorable or Favorable("high", True, "high predictions")
    response = audience.numbers
    if classes:
        response = (audience.response.values[:, 0] == k).astype(np.float64)

    def compared(score: Floats, chosen: Booleans | None, labels: bool = False) -> Outcomes:
        return Outcomes(
            "classification" if classes else "regression",
            response,
            score,
            chosen,
            weight,
            slice(None),
            1 if classes else None,
            rule.threshold,
            wanted,
            labels,
            rule.top,
            amounts=audience.amounts and nowhere_negative(score, response),
        )

    decided = selected[k] if rule.words else None
    if len(audience.labels) <= 2:
        return [compared(scores[k], decided)]
    likeliest = (selected[k] == rule.high).astype(np.float64)
    return [compared(scores[k], None), compared(likeliest, decided, labels=True)]


def _with_rates(scores: AttributeAudit, labels: AttributeAudit) -> AttributeAudit:
    """Take means and distances from probabilities, and rates from predicted classes."""
    return replace(
        labels,
        groups=tuple(map(_measures_with_rates, scores.groups, labels.groups)),
        mean_difference=scores.mean_difference,
        calibration=scores.calibration,
    )


def _measures_with_rates(scores: GroupMeasures, labels: GroupMeasures) -> GroupMeasures:
    return replace(scores, **{name: getattr(labels, name) for name in RATES})


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
