"""Group metrics of an audit report, at every bound."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from fairridge._typing import Booleans, Floats, Integers
from fairridge.arguments import check_finite
from fairridge.data import Table
from fairridge.families import Family
from fairridge.families.base import ClassFamily
from fairridge.metrics import (
    Audit,
    Favorable,
    Grouping,
    GroupMeasures,
    audit,
    favorable_outcome,
    find_label,
    groupings,
)
from fairridge.reports.html import Crossed, Decisions, Sample
from fairridge.validation.report.rows import Step

__all__ = ["Audience", "Rule", "audited", "crossed", "decision_rule"]


# Pairs of attributes whose groups are crossed.
MOST_PAIRS = 6
RATES = (
    "selection_rate",
    "true_positive_rate",
    "false_positive_rate",
    "precision",
    "impact_ratio",
)


@dataclass(frozen=True)
class Audience:
    """Who the predictions are about.

    Attributes
    ----------
    attributes : Table
        Sensitive attributes, as they were given.
    weight : ndarray of shape (n,) or None
        Weights.
    response : ndarray of shape (n,) or None
        Numbers, or codes of classes; None for survival.
    family : Family
        The family of the response.
    labels : tuple of str
        Classes; empty for numbers.
    shift : ndarray of shape (n,) or None
        What to add to responses and predictions.
    """

    attributes: Table
    weight: Floats | None
    response: Floats | None
    family: Family
    labels: tuple[str, ...]
    shift: Floats | None = None

    @property
    def numbers(self) -> Floats | None:
        """The response as readers know it."""
        if self.response is None or self.shift is None:
            return self.response
        return self.response + self.shift


@dataclass(frozen=True)
class Rule:
    """Who counts as selected.

    Attributes
    ----------
    outcomes : tuple of int
        Classes to report on, by position; (0,) for numbers.
    threshold : float
        Scores above are selected, or those not above if low scores are
        favorable; not used where the likeliest class wins.
    words : str
        The rule for readers.
    favorable : Favorable or None
        The outcome that people want; None if each of several classes has its turn.
    """

    outcomes: tuple[int, ...]
    threshold: float
    words: str
    favorable: Favorable | None

    @property
    def high(self) -> bool:
        """Whether high scores are favorable."""
        return self.favorable is None or self.favorable.high


def decision_rule(
    audience: Audience, threshold: float | None, positive: Any, favorable: Any, response: str
) -> Rule:
    """Choose who counts as selected where the user did not say."""
    threshold = check_finite("threshold", threshold)
    labels = audience.labels
    if positive is None and len(labels) > 2:
        positive = find_label(favorable, labels)
    if positive is not None and str(positive) not in labels:
        known = ", ".join(map(repr, labels)) if labels else "none, the response is a number"
        raise ValueError(f"positive={positive!r} is not a class of y; the classes are {known}.")
    if len(labels) > 2:
        return _of_several(labels, positive, favorable, response)
    level, median = 0.0, ""
    if labels:
        class_ = 1 if positive is None else labels.index(str(positive))
        wanted = favorable_outcome(favorable, response, labels[class_], labels)
        level, score = 0.5, f"the probability of {labels[class_]}"
    elif audience.numbers is None:
        class_, score = 0, "the log hazard ratio"
        wanted = favorable_outcome(favorable, score="hazard")
    else:
        class_, score = 0, "the prediction"
        wanted = favorable_outcome(favorable, response)
        if threshold is None:
            level, median = float(np.median(audience.numbers)), ", the median response"
    level = level if threshold is None else threshold
    side = "above" if wanted.high else "not above"
    return Rule((class_,), level, f"{score} is {side} {level:g}{median}", wanted)


def _of_several(labels: tuple[str, ...], positive: Any, favorable: Any, response: str) -> Rule:
    """Decide for the likeliest of more than two classes."""
    if positive is None:
        if favorable is not None:
            raise ValueError(
                f"favorable={favorable!r} is not one of the classes "
                f"{', '.join(map(repr, labels))}; name one of them."
            )
        return Rule(tuple(range(len(labels))), np.nan, "the class is the most likely one", None)
    wanted = favorable_outcome(favorable, response, str(positive), labels)
    side = "" if wanted.high else "not "
    words = f"{positive} is {side}the most likely class"
    return Rule((labels.index(str(positive)),), np.nan, words, wanted)


def audited(
    audience: Audience,
    rule: Rule,
    eta: Floats,
    rows: str,
    *,
    bins: int,
    small: int,
    step: Step,
) -> tuple[Sample, ...]:
    """Compare groups at every bound, once for each outcome.

    Parameters
    ----------
    audience : Audience
        Who the predictions are about.
    rule : Rule
        Who counts as selected.
    eta : ndarray of shape (m, n, K)
        Linear predictors.
    rows : str
        "held-out" or "training".
    bins, small : int
        As in `fairridge.audit`.
    step : callable
        Called after every bound.
    """
    weight = np.ones(eta.shape[1]) if audience.weight is None else audience.weight
    partitions = groupings(audience.attributes, weight, bins=bins, intersections=False)
    scored = [_scores(audience, one) for one in eta]
    free = _decided(audience, rule, scored[-1])
    audits: dict[int, list[Audit]] = {k: [] for k in rule.outcomes}
    decided: dict[int, list[Booleans]] = {k: [] for k in rule.outcomes}
    for scores in scored:
        selected = _decided(audience, rule, scores)
        for k in rule.outcomes:
            audits[k].append(_audit(audience, rule, scores, selected, k, bins, small))
            decided[k].append(selected[k])
        step()
    return tuple(
        Sample(
            rows,
            audience.labels[k] if len(audience.labels) > 2 else "",
            tuple(audits[k]),
            _changes(np.array(decided[k]), free[k], partitions),
        )
        for k in rule.outcomes
    )


def crossed(
    audience: Audience, rule: Rule, chosen: Floats, free: Floats, *, bins: int, small: int
) -> tuple[Crossed, ...]:
    """Compare groups of two attributes at a time, for the first outcome.

    Parameters
    ----------
    audience : Audience
        Who the predictions are about.
    rule : Rule
        Who counts as selected.
    chosen, free : ndarray of shape (n, K)
        Linear predictors at the chosen bound, and without one.
    bins, small : int
        As in `fairridge.audit`.
    """
    both, k = [_scores(audience, eta) for eta in (chosen, free)], rule.outcomes[0]
    decided = [_decided(audience, rule, scores) for scores in both]
    found = []
    for pair in list(combinations(range(audience.attributes.shape[1]), 2))[:MOST_PAIRS]:
        own = replace(audience, attributes=audience.attributes.select(pair))
        audits = [
            _audit(own, rule, scores, selected, k, bins, small, intersections=True)
            for scores, selected in zip(both, decided, strict=True)
        ]
        found.append(Crossed(*(one.attributes[-1] for one in audits)))
    return tuple(found)


def _scores(audience: Audience, eta: Floats) -> dict[int, Floats]:
    """Return what decisions rest on: probabilities of classes, means, or log hazard ratios."""
    family = audience.family
    if audience.labels:
        return dict(enumerate(cast(ClassFamily, family).probabilities(eta).T))
    score = eta[:, 0] if audience.response is None else family.mean(eta[:, 0])
    return {0: score if audience.shift is None else score + audience.shift}


def _decided(audience: Audience, rule: Rule, scores: dict[int, Floats]) -> dict[int, Booleans]:
    if len(audience.labels) > 2:
        likeliest = np.argmax(np.column_stack(list(scores.values())), axis=1)
        return {k: (likeliest == k) == rule.high for k in scores}
    return {k: (score > rule.threshold) == rule.high for k, score in scores.items()}


def _audit(
    audience: Audience,
    rule: Rule,
    scores: dict[int, Floats],
    selected: dict[int, Booleans],
    k: int,
    bins: int,
    small: int,
    intersections: bool = False,
) -> Audit:
    options: dict[str, Any] = {
        "intersections": intersections,
        "sensitive_features": audience.attributes,
        "sample_weight": audience.weight,
        "bins": bins,
        "small": small,
        "favorable": "high" if rule.high else "low",
    }
    response = audience.numbers
    if not audience.labels:
        return audit(response, scores[k], threshold=rule.threshold, kind="regression", **options)
    assert response is not None
    truth = (response == k).astype(np.int64)
    options |= {"kind": "classification", "positive": 1}
    threshold = None if len(audience.labels) > 2 else rule.threshold
    found = audit(truth, scores[k], threshold=threshold, **options)
    if threshold is not None:
        return found
    likeliest = selected[k] == rule.high
    return _with_rates(found, audit(truth, likeliest.astype(np.int64), **options))


def _with_rates(scores: Audit, labels: Audit) -> Audit:
    """Take means and distances from probabilities, and rates from predicted classes."""

    def merged(first: GroupMeasures, second: GroupMeasures) -> GroupMeasures:
        return replace(first, **{name: getattr(second, name) for name in RATES})

    attributes = tuple(
        replace(
            b,
            groups=tuple(merged(x, y) for x, y in zip(a.groups, b.groups, strict=True)),
            mean_difference=a.mean_difference,
            calibration=a.calibration,
        )
        for a, b in zip(scores.attributes, labels.attributes, strict=True)
    )
    return replace(scores, overall=merged(scores.overall, labels.overall), attributes=attributes)


def _changes(selected: NDArray[Any], free: Booleans, partitions: tuple[Grouping, ...]) -> Decisions:
    """Count, by group, who is selected only here and who only without a bound."""
    gained, lost = selected & ~free, ~selected & free

    def by_group(changed: NDArray[Any]) -> Integers:
        return np.array(
            [
                np.concatenate(
                    [np.bincount(p.codes[rows], minlength=len(p.labels)) for p in partitions]
                )
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
