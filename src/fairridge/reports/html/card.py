"""The model card: what a report found, as Markdown to put beside a model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fairridge.reports.html.contents import ReportContents
from fairridge.reports.html.numbers import bound, count, number
from fairridge.reports.html.sections.limits import limits_of
from fairridge.reports.html.sections.parts import bounded_text
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
    rows = [
        (
            curve.name,
            *(
                number(float(values[position])) if values is not None else "–"
                for position in (contents.chosen, contents.free)
                for values in (curve.training, curve.held_out)
            ),
        )
        for curve in contents.accuracy
    ]
    columns = ("", "training", "held out", "training, no bound", "held out, no bound")
    return _table(columns, rows)


def _fairness(contents: ReportContents) -> str:
    rows = [
        (contents.dependence_name, contents.dependence),
        *((curve.name, curve) for curve in contents.yardstick.values()),
    ]
    shown = {
        name: (
            number(float(curve.training[contents.chosen])),
            "–" if curve.held_out is None else number(float(curve.held_out[contents.chosen])),
            number(float(curve.training[contents.free])),
        )
        for name, curve in rows
    }
    text = _table(
        ("", "training", "held out", "training, no bound"),
        [(name, *values) for name, values in shown.items()],
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
            rows = [
                (
                    group.group,
                    count(group.count),
                    number(group.mean_prediction.value),
                    number(group.selection_rate.value),
                )
                for group in attribute.groups
            ]
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
