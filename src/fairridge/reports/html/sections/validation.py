"""Sections of a report on new rows: what the bound has come to, and how columns have changed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from fairridge.arguments import listed
from fairridge.markup import Html, element, remark, section
from fairridge.reports.html.contents import (
    BoundOnRows,
    Drift,
    NewRowsContents,
    NewRowsMeasure,
)
from fairridge.reports.html.numbers import MISSING, bound, measure, percent, ratio, share, unbroken
from fairridge.reports.html.sections.parts import Cell, joined, part, sentence, table
from fairridge.reports.html.sections.promises import (
    adjusted_texts,
    means_texts,
    other_prices,
    ratio_texts,
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
    accuracy, audit = contents.accuracy[0], contents.main.audits[0]
    bounded, of_groups = bool(contents.subject.definition), []
    if not contents.main.outcome:
        of_groups = [*ratio_texts(audit, bounded=bounded), *other_prices(audit)]
    parts = [
        sentence(contents.subject.favorable),
        *_bound(contents),
        f"{accuracy.name} is {_text(accuracy, accuracy.value)} on the {contents.called}.",
        *of_groups,
        *means_texts(audit),
        *adjusted_texts(audit, contents.measure),
        *_drift(contents),
    ]
    return [part for part in parts if part]


def measures_section(contents: NewRowsContents) -> Html:
    """Return the findings, and the numbers they rest on."""
    measures, called = (*contents.measures, *contents.accuracy), contents.called.capitalize()
    known = [math.isfinite(one.low) for one in measures]
    ends = [f"{_text(one, one.low)} to {_text(one, one.high)}" for one in measures]
    columns = {
        "Measure": [one.name for one in measures],
        "In training": [_text(one, one.training) for one in measures],
        called: [_text(one, one.value) for one in measures],
        "Interval (95 %)": [
            text if of_sample else MISSING for text, of_sample in zip(ends, known, strict=True)
        ],
        "Adjusted": [_text(one, one.adjusted) for one in measures],
    }
    note = (
        f"{called}: the share in these rows, as fairridge.audit has it, with its 95 % interval for "
        "the population. Adjusted: less what chance alone explains in this many rows; it can be "
        "negative. The verdict compares the interval with the bound."
    )
    paragraphs = [element("p", unbroken(text)) for text in new_rows_sentences(contents)]
    return section(
        "summary",
        "In plain words",
        element("div", paragraphs, class_="lead"),
        part(
            "Then and now",
            "",
            table(f"The model in training and on the {contents.called}", columns),
        ),
        remark(note),
        remark(contents.left_out),
    )


def drift_section(contents: NewRowsContents) -> Html:
    """Return how each column has changed since the fit."""
    drift = contents.drift
    largest = max([SHIFTED_PSI, *(column.psi for column in drift)])
    columns: dict[str, Sequence[Any]] = {
        "Column": [column.name for column in drift],
        "PSI": [Cell(ratio(column.psi), None, "", column.psi, largest) for column in drift],
        "By chance": [ratio(column.by_chance) for column in drift],
        "Verdict": list(map(_change, drift)),
        "Changed most": [column.part for column in drift],
        "Then": [percent(column.before) for column in drift],
        "Now": [percent(column.now) for column in drift],
        "Role": ["sensitive" if column.sensitive else "predictor" for column in drift],
    }
    return section(
        "drift",
        "Have the columns changed?",
        element(
            "p",
            "Each column of the new rows against what the model remembers of its training rows: "
            "shares of levels, and tenths of numbers.",
        ),
        table("Drift of the columns", columns) if drift else None,
        remark(contents.no_drift),
    )


def _text(one: NewRowsMeasure, value: float) -> str:
    return measure(one.key, value)


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
    if not math.isfinite(contents.bounds[0].found.value):
        return [text, "That compares the model with others, and is not known for other rows."]
    return [text, *map(_judged, contents.bounds)]


def _judged(one: BoundOnRows) -> str:
    """Say what a bound has come to."""
    return f"On these new rows: {_found(one)} That is {VERDICTS[one.found.verdict(one.r)]}."


def _found(one: BoundOnRows) -> str:
    """Say what was measured of the rows; the table says how sure its intervals are."""
    found, interval = one.found, ""
    if math.isfinite(found.low):
        interval = f" (interval {share(found.low)} to {share(found.high)})"
    return one.measure.sentence(f"{_text(found, found.value)}{interval}")


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
