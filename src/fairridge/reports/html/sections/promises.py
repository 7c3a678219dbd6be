"""What the chosen model is like in the population, and what the bound costs in other respects."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

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
        price = certificate.price
        lowers = "" if price is None else f", which lowers D² there by {number(price)}"
        return (
            f"The bound is certified: with {sure} it holds in the population, too. For that the "
            f"model was fitted with the bound {number(certificate.training_bound)} in training"
            f"{lowers}."
            + ("" if certificate.warning is None else f" It may not hold: {certificate.warning}.")
        )
    if certificate.warning is not None:
        return (
            f"The bound is not certified with {sure}: {certificate.warning}. The model is the "
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


def other_prices(audit: Audit, free: Audit | None = None) -> list[str]:
    """Say how far error rates and calibration of groups are apart, and were without a bound."""
    odds = "True or false positive rates differ by up to {} between groups", "equalized odds"
    off = "Mean predictions of a group differ from what was observed by up to {}", "calibration"
    audits = [audit] if free is None else [audit, free]
    return [
        *_against(*odds, points, [each.equalized_odds_difference for each in audits]),
        *_against(*off, partial(_difference, audit), list(map(_miscalibration, audits))),
    ]


def _against(
    text: str, name: str, write: Callable[[float], str], values: Sequence[float]
) -> list[str]:
    """Say what a number is, and was without a bound; nothing if it is not known."""
    if not all(map(math.isfinite, values)):
        return []
    here, *before = values
    against = ["less than a hundredth of that" if x < here / 100.0 else write(x) for x in before]
    known = "".join(f", against {each} without a bound ({name})" for each in against)
    return [f"{text.format(write(here))}{known}."]


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
    by_ratio = math.isfinite(audit.mean_ratio.value)
    apart = audit.mean_ratio if by_ratio else audit.mean_difference
    if not by_ratio and (audit.kind == "classification" or not abs(apart.value) > 0.0):
        return []
    part = next(
        each for each in audit.attributes if apart in (each.mean_ratio, each.mean_difference)
    )
    groups = [group for group in part.groups if not group.small]
    low, high = (pick(groups, key=lambda g: g.mean_prediction.value) for pick in (min, max))
    least, most = low.mean_response.value, high.mean_response.value
    if by_ratio:
        found, extreme = "{} times that of", "lowest ratio"
        observed = f"have the ratio {ratio(least / most)}" if most > 0.0 else ""
    else:
        found, extreme = "{} below that of", "largest difference"
        observed = f"differ by {number(most - least)}"
        if not math.isfinite(most - least):  # log hazard ratios have no responses
            return []
    value, *ends = map(ratio if by_ratio else number, (apart.value, apart.low, apart.high))
    return [
        f"The mean prediction of {part.attribute} = {low.group} is {found.format(value)} "
        f"{high.group} (interval {' to '.join(ends)}), the {extreme} of two groups.",
        *([f"Observed means of these two groups {observed}."] if observed else []),
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
