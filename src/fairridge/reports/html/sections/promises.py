"""What the chosen model is like in the population, and what the bound costs in other respects."""

from __future__ import annotations

import math

from fairridge.inference import Certificate
from fairridge.metrics.audit_tables import Audit
from fairridge.metrics.measure import Measure
from fairridge.reports.html.contents import ReportContents
from fairridge.reports.html.numbers import count, number, percent, points, ratio
from fairridge.reports.html.sections.parts import amount, between


def population_texts(contents: ReportContents) -> list[str]:
    """Say what is known of the unfairness in the population; nothing if nothing is."""
    interval, parts = contents.population, []
    if interval is not None:
        parts.append(
            f"In the population that these rows come from, with {100 * interval.confidence:g} % "
            f"confidence: {contents.measure.sentence(between(interval.lower, interval.upper))}"
        )
    if contents.certificate is not None:
        parts.append(certificate_text(contents, contents.certificate))
    return parts


def population_fact(contents: ReportContents) -> str:
    """Write the interval of unfairness in the population, or why there is none."""
    interval = contents.population
    if interval is None:
        return f"not known: {contents.no_population or contents.no_inference}"
    ends = f"{percent(interval.lower, 2)} to {percent(interval.upper, 2)}"
    return f"{ends} ({100 * interval.confidence:g} % interval)"


def certificate_text(contents: ReportContents, certificate: Certificate) -> str:
    """Say what a certificate promises."""
    sure = f"{100 * certificate.confidence:g} % confidence"
    upper = amount(contents, certificate.upper)
    if certificate.granted:
        return (
            f"The bound is certified: with {sure} it holds in the population, too. For that the "
            f"model was fitted with the bound {number(certificate.training_bound)} in training."
        )
    rows = (
        "no known sample size suffices"
        if certificate.rows_needed is None
        else f"about {count(certificate.rows_needed)} rows would be needed"
    )
    return (
        f"The bound is not certified with {sure}: {rows}. The model is the fairest one, whose "
        f"unfairness in the population may be up to {upper}."
    )


def other_prices(contents: ReportContents) -> list[str]:
    """Say what the bound does to error rates and calibration of groups."""
    if contents.main.outcome or contents.chosen == contents.free:
        return []
    here, free = (contents.main.audits[k] for k in (contents.chosen, contents.free))
    parts = []
    odds, before = here.equalized_odds_difference, free.equalized_odds_difference
    if math.isfinite(odds) and math.isfinite(before):
        parts.append(
            f"True or false positive rates differ by up to {points(odds)} between groups, "
            f"against {points(before)} without a bound (equalized odds)."
        )
    off, before = largest_miscalibration(here), largest_miscalibration(free)
    if math.isfinite(off) and math.isfinite(before):
        small = before < off / 100.0
        against = "less than a hundredth of that" if small else shown_calibration(free, before)
        parts.append(
            f"Mean predictions of a group differ from what was observed by up to "
            f"{shown_calibration(here, off)}, against {against} without a bound (calibration)."
        )
    return parts


def largest_miscalibration(audit: Audit) -> float:
    """Return the largest |observed − predicted| of a group that is not small."""
    values = [abs(group.calibration.value) for group in audit._compared_groups]
    return max(filter(math.isfinite, values), default=math.nan)


def shown_calibration(audit: Audit, value: float) -> str:
    """Write how far predictions are off: in points if they are probabilities."""
    return points(value) if audit.kind == "classification" else number(value)


def means_texts(audit: Audit) -> list[str]:
    """Say how far the means of numbers are apart: by ratios of counts and amounts."""
    known = [part for part in audit.attributes if math.isfinite(part.mean_ratio.value)]
    if not known:
        return _differences(audit)
    part = min(known, key=lambda each: each.mean_ratio.value)
    groups = [group for group in part.groups if not group.small]
    low, high = (pick(groups, key=lambda g: g.mean_prediction.value) for pick in (min, max))
    texts = [
        f"The mean prediction of {part.attribute} = {low.group} is {ratio(part.mean_ratio.value)} "
        f"times that of {high.group} (interval {ratio(part.mean_ratio.low)} to "
        f"{ratio(part.mean_ratio.high)}), the lowest ratio of two groups."
    ]
    if high.mean_response.value > 0.0:
        observed = low.mean_response.value / high.mean_response.value
        texts.append(f"Observed means of these two groups have the ratio {ratio(observed)}.")
    return texts


def _differences(audit: Audit) -> list[str]:
    """Say how far the means of numbers are apart that have no ratios; nothing of classes."""
    parts = [part for part in audit.attributes if math.isfinite(part.mean_difference.value)]
    if audit.kind == "classification" or not parts:
        return []
    part = max(parts, key=lambda each: each.mean_difference.value)
    groups = [group for group in part.groups if not group.small]
    low, high = (pick(groups, key=lambda g: g.mean_prediction.value) for pick in (min, max))
    apart, observed = part.mean_difference, high.mean_response.value - low.mean_response.value
    if apart.value == 0.0 or not math.isfinite(observed):  # log hazard ratios have no responses
        return []
    return [
        f"The mean prediction of {part.attribute} = {low.group} is {number(apart.value)} below "
        f"that of {high.group} (interval {number(apart.low)} to {number(apart.high)}), the largest "
        "difference of two groups.",
        f"Observed means of these two groups differ by {number(observed)}.",
    ]


def adjusted_texts(audit: Audit, measure: Measure) -> list[str]:
    """Say how far a group is below all others with equal controls; nothing without controls."""
    compared = [
        (difference, part.attribute, group.group)
        for part in audit.attributes
        for group in part.groups
        if (difference := group.adjusted_difference) is not None and not group.small
        if math.isfinite(difference.low)
    ]
    if not compared:
        return []
    found, attribute, group = min(compared, key=lambda each: each[0].value)
    apart, low, high = (
        shown_calibration(audit, value) for value in (-found.value, -found.high, -found.low)
    )
    is_apart = f"is {apart} below" if found.value < 0.0 else "equals"
    return [
        f"Among {measure.whom}, the mean prediction of {attribute} = {group} {is_apart} "
        f"that of all others (interval of the difference {low} to {high})."
    ]


def interval_text(audit: Audit) -> str:
    """Write the interval of the lowest adverse impact ratio, as `audit` has it; "" without one."""
    found = audit.parity_ratio
    if not found.low < found.high:
        return ""
    return f"; interval {ratio(found.low)} to {ratio(found.high)}"
