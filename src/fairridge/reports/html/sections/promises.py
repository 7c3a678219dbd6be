"""What the chosen model is like in the population, and what the bound costs in other respects."""

from __future__ import annotations

import math
from collections.abc import Callable

from fairridge.inference import Certificate
from fairridge.metrics.audit_tables import Audit
from fairridge.metrics.group_measures import FOUR_FIFTHS
from fairridge.metrics.measure import Measure
from fairridge.reports.html.contents import ReportContents
from fairridge.reports.html.numbers import count, number, points, ratio, share
from fairridge.reports.html.sections.measures import amount


def population_texts(contents: ReportContents) -> list[str]:
    """Say what is known of the unfairness in the population; nothing if nothing is."""
    interval, parts = contents.population, []
    if interval is not None:
        between = f"between {share(interval.lower)} and {share(interval.upper)}"
        parts.append(
            f"In the population that these rows come from, with {100 * interval.confidence:g} % "
            f"confidence: {contents.measure.sentence(between)}"
        )
    if contents.certificate is not None:
        parts.append(_certificate_text(contents, contents.certificate))
    return parts


def population_fact(contents: ReportContents) -> str:
    """Write the interval of unfairness in the population, or why there is none."""
    interval = contents.population
    if interval is None:
        return f"not known: {contents.no_population or contents.no_inference}"
    ends = f"{share(interval.lower)} to {share(interval.upper)}"
    return f"{ends} ({100 * interval.confidence:g} % interval)"


def _certificate_text(contents: ReportContents, certificate: Certificate) -> str:
    """Say what a certificate promises."""
    sure = f"{100 * certificate.confidence:g} % confidence"
    upper = amount(contents, certificate.upper)
    if certificate.granted:
        return (
            f"The bound is certified: with {sure} it holds in the population, too. For that the "
            f"model was fitted with the bound {number(certificate.training_bound)} in training"
            f"{_price_text(certificate)}."
        )
    if certificate.reason is not None:
        return (
            f"The bound is not certified with {sure}: {certificate.reason}. The model is the "
            "fairest one."
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


def _price_text(certificate: Certificate) -> str:
    """Say what a certificate costs; "" if that is not known."""
    if certificate.price is None:
        return ""
    return f", which lowers D² there by {number(certificate.price)}"


def other_prices(audit: Audit, free: Audit | None = None) -> list[str]:
    """Say how far error rates and calibration of groups are apart, and were without a bound."""
    parts = []
    odds = _against(audit, free, lambda each: each.equalized_odds_difference, points)
    if odds:
        among = f"True or false positive rates differ by up to {odds[0]} between groups"
        parts.append(f"{among}{odds[1]}{' (equalized odds)' if free else ''}.")
    off = _against(audit, free, _miscalibration, lambda value: _difference(audit, value))
    if off:
        among = f"Mean predictions of a group differ from what was observed by up to {off[0]}"
        parts.append(f"{among}{off[1]}{' (calibration)' if free else ''}.")
    return parts


def _against(
    audit: Audit,
    free: Audit | None,
    read: Callable[[Audit], float],
    write: Callable[[float], str],
) -> tuple[str, str] | None:
    """Write a number, and what it was without a bound; None if it is not known."""
    here, before = read(audit), 0.0 if free is None else read(free)
    if not (math.isfinite(here) and math.isfinite(before)):
        return None
    against = "less than a hundredth of that" if before < here / 100.0 else write(before)
    return write(here), "" if free is None else f", against {against} without a bound"


def _miscalibration(audit: Audit) -> float:
    """Return the largest |observed − predicted| of a group that is not small."""
    values = [abs(group.calibration.value) for group in audit._compared_groups]
    return max(filter(math.isfinite, values), default=math.nan)


def _difference(audit: Audit, value: float) -> str:
    """Write how far predictions are off: in points if they are probabilities."""
    return points(value) if audit.kind == "classification" else number(value)


def ratio_texts(audit: Audit, *, bounded: bool = True) -> list[str]:
    """Say how low the lowest adverse impact ratio is; nothing without decisions."""
    known = [g for g in audit._compared_groups if math.isfinite(g.adverse_impact_ratio)]
    if not known:
        return []
    group = min(known, key=lambda each: each.adverse_impact_ratio)
    lowest, interval = group.adverse_impact_ratio, audit.parity_ratio
    # Rounding must not make a ratio pass.
    hidden = lowest < FOUR_FIFTHS <= round(lowest, 3)
    sure = f"; interval {ratio(interval.low)} to {ratio(interval.high)}"
    text = (
        f"The lowest adverse impact ratio is {f'{lowest:.5f}' if hidden else ratio(lowest)} "
        f"({group.attribute} {group.group}{sure if interval.low < interval.high else ''})"
    )
    if lowest >= FOUR_FIFTHS:
        return [f"{text}: no group falls below the four-fifths rule."]
    below = "this group falls" if len(audit.flagged) == 1 else "several groups fall"
    other = " The bound is not on these rates." if bounded else ""
    return [f"{text}: {below} below the four-fifths rule.{other}"]


def means_texts(audit: Audit) -> list[str]:
    """Say how far means of numbers are apart: by ratios of counts and amounts."""
    parts = [part for part in audit.attributes if math.isfinite(part.mean_ratio.value)]
    part = min(parts, key=lambda each: each.mean_ratio.value, default=None)
    by_ratio = part is not None
    if part is None and audit.kind != "classification":
        parts = [part for part in audit.attributes if math.isfinite(part.mean_difference.value)]
        part = max(parts, key=lambda each: each.mean_difference.value, default=None)
    if part is None:
        return []
    groups = [group for group in part.groups if not group.small]
    low, high = (pick(groups, key=lambda g: g.mean_prediction.value) for pick in (min, max))
    apart, name = part.mean_ratio if by_ratio else part.mean_difference, part.attribute
    observed = low.mean_response.value, high.mean_response.value
    write = ratio if by_ratio else number
    sure = f"(interval {write(apart.low)} to {write(apart.high)})"
    if by_ratio:
        text = f"{ratio(apart.value)} times that of {high.group} {sure}, the lowest ratio"
        before = f"have the ratio {ratio(observed[0] / observed[1])}" if observed[1] > 0.0 else ""
    elif apart.value == 0.0 or not math.isfinite(observed[0] - observed[1]):
        return []  # log hazard ratios have no responses
    else:
        text = f"{number(apart.value)} below that of {high.group} {sure}, the largest difference"
        before = f"differ by {number(observed[1] - observed[0])}"
    return [
        f"The mean prediction of {name} = {low.group} is {text} of two groups.",
        *([f"Observed means of these two groups {before}."] if before else []),
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
        _difference(audit, value) for value in (-found.value, -found.high, -found.low)
    )
    is_apart = f"is {apart} below" if found.value < 0.0 else "equals"
    return [
        f"Among {measure.whom}, the mean prediction of {attribute} = {group} {is_apart} "
        f"that of all others (interval of the difference {low} to {high})."
    ]
