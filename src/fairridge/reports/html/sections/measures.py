"""What is measured of the models on a path, as every section writes it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from fairridge._typing import Integers
from fairridge.metrics.audit_tables import Audit
from fairridge.reports.html.contents import Audited, Decisions, ReportContents, Sample
from fairridge.reports.html.numbers import (
    MISSING,
    bound,
    column,
    count,
    number,
    points,
    ratio,
    share,
)


class GroupMeasure(NamedTuple):
    """What is measured of groups, or of decisions about them."""

    name: str
    text: Callable[[Sample, int], str]  # at a bound
    short: str = ""  # its name where room is scarce; "" if it is not shown there


def _audited(
    name: str,
    read: Callable[[Audit], float],
    short: str = "",
    write: Callable[[float], str] = ratio,
) -> GroupMeasure:
    """Return a measure that audits have."""
    return GroupMeasure(name, lambda sample, k: write(read(sample.audits[k])), short)


def _decided(name: str, read: Callable[[Decisions], Integers], short: str = "") -> GroupMeasure:
    """Return a number of decisions."""

    def text(sample: Sample, k: int) -> str:
        return MISSING if sample.decisions is None else count(read(sample.decisions)[k])

    return GroupMeasure(name, text, short)


def _means(sample: Sample, k: int) -> str:
    low, high = column(sample.audits[k].group_means)
    return MISSING if low == MISSING else f"{low} to {high}"


LOWEST_RATIO = _audited(
    "Lowest adverse impact ratio", lambda audit: audit.parity_ratio.value, "lowest ratio"
)
RATIO_OF_MEANS = _audited(
    "Lowest ratio of mean predictions", lambda audit: audit.mean_ratio.value, "ratio of means"
)
GROUP_MEASURES = (
    _decided("Rows selected", lambda decisions: decisions.selected),
    _decided(
        "Decisions changed against no bound",
        lambda decisions: decisions.changed,
        "decisions changed",
    ),
    LOWEST_RATIO,
    _audited("Largest |correlation| with a column of S", lambda audit: audit.max_correlation),
    _audited(
        "Largest standardized mean difference", lambda audit: audit.standardized_mean_difference
    ),
    GroupMeasure("Mean predictions of groups", _means),
    RATIO_OF_MEANS,
    _audited(
        "Equalized odds difference", lambda audit: audit.equalized_odds_difference, write=points
    ),
)


def known_measures(contents: ReportContents) -> list[GroupMeasure]:
    """Return the measures of groups that are defined at some bound."""
    main = contents.main
    return [
        each
        for each in GROUP_MEASURES
        if any(each.text(main, k) != MISSING for k in range(contents.free + 1))
    ]


def name_of_bound(contents: ReportContents, position: int) -> str:
    """Write a bound; the last one is none."""
    return "no bound" if position == contents.free else bound(contents.unfairness[position])


def bound_label(contents: ReportContents, position: int) -> str:
    """Write a bound with its name, and whether it was chosen."""
    text = name_of_bound(contents, position)
    text = text if position == contents.free else f"r = {text}"
    return f"{text} (chosen)" if position == contents.chosen else text


def amount(contents: ReportContents, value: float) -> str:
    """Write an amount of unfairness: a share if bounds end at 1."""
    return share(value) if contents.unfairness[-1] == 1.0 else number(value)


def achieved_text(contents: ReportContents, k: int) -> str:
    """Write what the bound is on, in training; of several bounds what each is on."""
    if not contents.each:
        return amount(contents, contents.achieved[k])
    texts = [f"{share(one.achieved[k])} ({one.attribute})" for one in contents.each]
    return " and ".join(texts) if len(texts) < 3 else ", ".join(texts)


def of_class(contents: Audited) -> str:
    """Name the class that numbers of groups are of; "" if there is only one outcome."""
    return f", for class {contents.main.outcome}" if contents.main.outcome else ""
