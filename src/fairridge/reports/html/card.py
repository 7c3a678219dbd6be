"""The model card: what a report found, as Markdown to put beside a model."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from fairridge.reports.html.contents import Curve, ReportContents
from fairridge.reports.html.numbers import bound, column, count
from fairridge.reports.html.sections.limits import limits_of
from fairridge.reports.html.sections.record import model_facts
from fairridge.reports.html.sections.summary import sentences

USE = (
    "*Who decides what with this model, about whom, and which uses it is not meant for: to be "
    "written by its owners.*"
)


def card(contents: ReportContents) -> str:
    """Return the model card of a report."""
    # The sections are those of Mitchell et al. (2019), "Model Cards for Model Reporting", as far as
    # they can be computed; intended use is left to the owners.
    subject, places = contents.subject, ("training", "held out", "training, no bound")
    accuracy = [_values(contents, curve) for curve in contents.accuracy]
    shares = [contents.dependence, *contents.dependence_shares.values()]
    model = [
        *model_facts(contents),
        ("Needs sensitive attributes to predict", "yes" if subject.needs_sensitive else "no"),
        ("Bound r", bound(float(contents.unfairness[contents.chosen]))),
    ]
    sections = {
        "Model": [_table(("", ""), model)],
        "Intended use": [USE],
        "Data": [_table(("", ""), subject.record)],
        "Accuracy": [_table(("", *places, "held out, no bound"), accuracy)],
        "Fairness": [
            _table(("", *places), [_values(contents, curve, 1.0)[:-1] for curve in shares]),
            _promise(contents),
        ],
        "Groups": _groups(contents),
        "Limits": ["\n".join(f"- **{title}** {text}" for title, text in limits_of(contents))],
        "Settings": [_table(("", ""), [*subject.settings, *subject.versions])],
    }
    parts = [f"# {subject.title}", *sentences(contents)]
    for title, texts in sections.items():
        parts += [f"## {title}", *texts]
    return "\n\n".join(parts) + "\n"


def _values(contents: ReportContents, curve: Curve, scale: float = 0.0) -> list[str]:
    """Write what a curve is with the bound and without, in training and held out."""
    values = [
        math.nan if rows is None else float(rows[position])
        for position in (contents.chosen, contents.free)
        for rows in (curve.training, curve.held_out)
    ]
    return [curve.name, *column(values, scale)]


def _promise(contents: ReportContents) -> str:
    """Say whether the bound is certified."""
    given = contents.certificate
    if given is None:
        return "The bound holds in training; no certificate for the population was asked for."
    said = "is certified" if given.granted else "could not be certified"
    return (
        f"The bound {bound(given.bound)} {said} for the population with confidence "
        f"{given.confidence:g} ({given.method}, {count(given.n_rows)} rows)."
    )


def _groups(contents: ReportContents) -> list[str]:
    parts, columns = [], ("group", "rows", "mean prediction", "selection rate")
    for sample in contents.samples:
        of_class = f", class {sample.outcome}" if sample.outcome else ""
        audit = sample.audits[contents.chosen]
        for attribute in audit.attributes if sample.rows == contents.main.rows else ():
            groups = attribute.groups
            cells = (
                [group.group for group in groups],
                [count(group.count) for group in groups],
                column(group.mean_prediction.value for group in groups),
                column(group.selection_rate.value for group in groups),
            )
            parts.append(f"{attribute.attribute}, {sample.rows} rows{of_class}:")
            parts.append(_table(columns, zip(*cells, strict=True)))
    return parts


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(
        "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in line) + " |"
        for line in lines
    )
