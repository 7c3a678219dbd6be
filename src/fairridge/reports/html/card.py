"""The model card: what a report found, as Markdown to put beside a model."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from fairridge.reports.html.contents import Curve, ReportContents
from fairridge.reports.html.numbers import bound, column, count
from fairridge.reports.html.sections.limits import limits_of
from fairridge.reports.html.sections.measures import bounded_text
from fairridge.reports.html.sections.summary import sentences

USE = (
    "*Who decides what with this model, about whom, and which uses it is not meant for: to be "
    "written by its owners.*"
)


def card(contents: ReportContents) -> str:
    """Return the model card of a report.

    The sections are those of Mitchell et al. (2019), "Model Cards for Model
    Reporting", as far as they can be computed; intended use is left to the owners.
    """
    subject, chosen = contents.subject, contents.chosen
    parts = [
        f"# {subject.title}",
        "\n\n".join(sentences(contents)),
        "## Model",
        _table(
            ("", ""),
            [
                ("model", subject.model),
                ("family", subject.family),
                ("response", subject.modeled),
                ("sensitive attributes", ", ".join(subject.sensitive)),
                ("predictors", ", ".join(subject.predictors)),
                *([("read by the layer", ", ".join(subject.features))] if subject.features else ()),
                ("needs sensitive attributes to predict", _yes(subject.needs_sensitive)),
                ("definition of unfairness", subject.definition),
                ("what is bounded", bounded_text(contents)),
                ("bound r", bound(float(contents.unfairness[chosen]))),
            ],
        ),
        "## Intended use",
        USE,
        "## Data",
        _table(("", ""), [("rows", count(subject.n_rows)), *subject.record]),
        "## Accuracy",
        _accuracy(contents),
        "## Fairness",
        _fairness(contents),
        *_groups(contents),
        "## Limits",
        "\n".join(f"- **{title}** {text}" for title, text in limits_of(contents)),
        "## Settings",
        _table(("", ""), [*subject.settings, *subject.versions]),
    ]
    return "\n\n".join(parts) + "\n"


def _accuracy(contents: ReportContents) -> str:
    rows = [_in_and_out(curve.name, curve, contents) for curve in contents.accuracy]
    columns = ("", "training", "held out", "training, no bound", "held out, no bound")
    return _table(columns, rows)


def _in_and_out(name: str, curve: Curve, contents: ReportContents, scale: float = 0.0) -> list[str]:
    """Write what a curve is with the bound and without, in training and held out."""
    values = [
        math.nan if rows is None else float(rows[position])
        for position in (contents.chosen, contents.free)
        for rows in (curve.training, curve.held_out)
    ]
    return [name, *column(values, scale)]


def _fairness(contents: ReportContents) -> str:
    curves = {contents.dependence.name: contents.dependence}
    curves |= {curve.name: curve for curve in contents.yardstick.values()}
    text = _table(
        ("", "training", "held out", "training, no bound"),
        [_in_and_out(name, curve, contents, 1.0)[:-1] for name, curve in curves.items()],
    )
    given = contents.certificate
    if given is None:
        return (
            text
            + "\n\nThe bound holds in training; no certificate for the population was asked for."
        )
    said = "is certified" if given.granted else "could not be certified"
    return text + (
        f"\n\nThe bound {bound(given.bound)} {said} for the population with confidence "
        f"{given.confidence:g} ({given.method}, {count(given.n_rows)} rows)."
    )


def _groups(contents: ReportContents) -> list[str]:
    parts = ["## Groups"]
    columns = ("group", "rows", "mean prediction", "selection rate")
    for sample in contents.samples:
        if sample.rows != contents.main.rows:
            continue
        of_class = f", class {sample.outcome}" if sample.outcome else ""
        for attribute in sample.audits[contents.chosen].attributes:
            groups = attribute.groups
            rows = zip(
                (group.group for group in groups),
                (count(group.count) for group in groups),
                column(group.mean_prediction.value for group in groups),
                column(group.selection_rate.value for group in groups),
                strict=True,
            )
            parts.append(f"{attribute.attribute}, {sample.rows} rows{of_class}:")
            parts.append(_table(columns, rows))
    return parts


def _yes(flag: bool) -> str:
    return "yes" if flag else "no"


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(
        "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in line) + " |"
        for line in lines
    )
