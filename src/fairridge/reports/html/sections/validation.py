"""Sections of a report on new rows: what the bound has come to, and how columns have changed."""

from __future__ import annotations

import math

from fairridge.arguments import listed
from fairridge.reports.html.alternatives import worst_group
from fairridge.reports.html.markup import Html, element
from fairridge.reports.html.numbers import MISSING, bound, number, percent, points, ratio
from fairridge.reports.html.sections.parts import bar, joined, remark, section, sentence, table
from fairridge.reports.html.sections.promises import (
    adjusted_texts,
    interval_text,
    largest_miscalibration,
    means_texts,
    shown_calibration,
)
from fairridge.reports.html.sections.words import term
from fairridge.reports.html.validation_contents import (
    BoundOnRows,
    Drift,
    NewRowsContents,
    NewRowsMeasure,
)

STABLE_PSI, SHIFTED_PSI = 0.1, 0.25
# Of ten equal parts the index is below this many times its mean in 98 of 100 samples.
CHANCE_FACTOR = 2.2
VERDICTS = {
    "within": "within the bound",
    "above": "above the bound",
    "undecided": "undecided: the interval has the bound in it",
    "unknown": "a number without an interval",
}


def new_rows_sentences(contents: NewRowsContents) -> list[str]:
    """Say what became of the bound, of the groups and of the columns."""
    accuracy = contents.accuracy[0]
    parts = [
        sentence(contents.subject.favorable),
        *_bound(contents),
        f"{accuracy.name} is {_text(accuracy, accuracy.value)} on the {contents.called}.",
        *_groups(contents),
        *means_texts(contents.main.audits[0]),
        *adjusted_texts(contents.main.audits[0], contents.measure),
        *_drift(contents),
    ]
    return [part for part in parts if part]


def measures_section(contents: NewRowsContents) -> Html:
    """Return the findings, and the numbers they rest on."""
    rows = [_row(measure) for measure in (*contents.measures, *contents.accuracy)]
    note = (
        f"{contents.called.capitalize()}: the share in these rows, as fairridge.audit has it, with "
        "its 95 % interval for the population. Adjusted: less what chance alone explains in this "
        "many rows; it can be negative. The verdict compares the interval with the bound."
    )
    return section(
        "summary",
        "In plain words",
        element("div", [element("p", text) for text in new_rows_sentences(contents)],
                class_="lead"),
        element("h3", "Then and now"),
        table(f"The model in training and on the {contents.called}",
              ["Measure", "In training", contents.called.capitalize(), "95 % interval", "Adjusted"],
              rows),
        remark(note),
        remark(contents.left_out),
    )  # fmt: skip


def drift_section(contents: NewRowsContents) -> Html:
    """Return how each column has changed since the fit."""
    rows = [_drift_row(contents, column) for column in contents.drift]
    head = ["Column", term("PSI"), term("By chance"), "Verdict", "Changed most", "Then", "Now",
            "Role"]  # fmt: skip
    return section(
        "drift",
        "Have the columns changed?",
        element(
            "p",
            "Each column of the new rows against what the model remembers of its training rows: "
            "shares of levels, and tenths of numbers.",
        ),
        table("Drift of the columns", head, rows) if rows else None,
        remark(contents.no_drift),
    )


def _row(measure: NewRowsMeasure) -> list[Html | str]:
    interval = MISSING
    if math.isfinite(measure.low):
        interval = f"{_text(measure, measure.low)} to {_text(measure, measure.high)}"
    cells = [_text(measure, value) for value in (measure.training, measure.value)]
    return [measure.name, *cells, interval, _text(measure, measure.adjusted)]


def _text(measure: NewRowsMeasure, value: float) -> str:
    if measure.key == "decision_gap":
        return points(value)
    if measure.is_share:
        return percent(value, 2)
    return (
        ratio(value)
        if measure.key in ("auc", "r_squared", "d_squared", "concordance", "brier")
        else number(value, 4)
    )


def _bound(contents: NewRowsContents) -> list[str]:
    """Say what the model bounds, if anything, and what S explains on these rows."""
    if not contents.subject.definition:
        text = f"{contents.subject.model} has no bound on unfairness."
        found = _found(contents.bounds[0])
        return [f"{text} On these {contents.subject.n_rows:,} rows: {found}"]
    binding = [one for one in contents.bounds if one.r < 1.0] or contents.bounds
    allowed = joined(one.measure.at_most(one.r) for one in binding)
    with_bound = "bounds for single attributes"
    if len(contents.bounds) == 1:
        with_bound = f"the bound r = {bound(contents.bounds[0].r)}"
    text = f"The model was fitted with {with_bound}: {allowed}"
    if contents.certificate is not None and contents.certificate.granted:
        text += (
            f" With {100 * contents.certificate.confidence:g} % confidence it was to hold in the "
            "population of the training rows."
        )
    if not math.isfinite(contents.bound_on.value):
        return [text, "That compares the model with others, and is not known for other rows."]
    return [text, *map(_judged, contents.bounds)]


def _judged(one: BoundOnRows) -> str:
    """Say what a bound has come to."""
    return f"On these new rows: {_found(one)} That is {VERDICTS[one.found.verdict(one.r)]}."


def _found(one: BoundOnRows) -> str:
    """Say what was measured of the rows; the table says how sure its intervals are."""
    found, interval = one.found, ""
    if math.isfinite(found.low):
        interval = f" (interval {percent(found.low, 2)} to {percent(found.high, 2)})"
    return one.measure.sentence(f"{_text(found, found.value)}{interval}")


def _groups(contents: NewRowsContents) -> list[str]:
    if contents.main.outcome:
        return []
    audit, parts = contents.main.audits[0], []
    worst = worst_group(audit)
    if worst is not None:
        below = "below" if worst.adverse_impact else "not below"
        parts.append(
            f"The lowest adverse impact ratio is {ratio(worst.adverse_impact_ratio)} "
            f"({worst.attribute} {worst.group}{interval_text(audit)}), {below} four fifths."
        )
    if math.isfinite(audit.equalized_odds_difference):
        gap = points(audit.equalized_odds_difference)
        parts.append(f"True or false positive rates differ by up to {gap} between groups.")
    off = largest_miscalibration(audit)
    if math.isfinite(off):
        parts.append(
            "Mean predictions of a group differ from what was observed by up to "
            f"{shown_calibration(audit, off)}."
        )
    return parts


def _drift(contents: NewRowsContents) -> list[str]:
    if not contents.drift:
        return [contents.no_drift]
    changes = {
        "shifted": f"have shifted (PSI of {SHIFTED_PSI} or more)",
        "changed": f"have changed somewhat (PSI of {STABLE_PSI} or more)",
    }
    total, parts = len(contents.drift), []
    for change, words in changes.items():
        names = [column.name for column in contents.drift if _change(column) == change]
        if names:
            parts.append(f"{len(names)} of {total} columns {words}: {listed(names, 6, str)}.")
    return parts or [
        f"None of the {total} columns has changed much since the fit: PSI is below {STABLE_PSI}, "
        "or no larger than chance makes it."
    ]


def _change(column: Drift) -> str:
    """Name a change; few rows make the index large by themselves."""
    if column.psi < STABLE_PSI or column.psi < CHANCE_FACTOR * column.by_chance:
        return "stable"
    return "shifted" if column.psi >= SHIFTED_PSI else "changed"


def _drift_row(contents: NewRowsContents, column: Drift) -> list[Html | str]:
    largest = max(contents.drift[0].psi, SHIFTED_PSI)
    return [
        column.name,
        bar(element("span", ratio(column.psi)), largest, column.psi),
        ratio(column.by_chance),
        _change(column),
        column.part,
        percent(column.before),
        percent(column.now),
        "sensitive" if column.sensitive else "predictor",
    ]
