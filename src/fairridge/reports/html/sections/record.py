"""What was modeled, with what, for the record."""

from __future__ import annotations

from fairridge.arguments import listed
from fairridge.reports.html.contents import Audited, ReportContents
from fairridge.reports.html.markup import Html, element
from fairridge.reports.html.sections.parts import bounded_text, section
from fairridge.reports.html.sections.promises import population_fact


def record_section(contents: Audited) -> Html:
    """Return data, settings and versions."""
    subject = contents.subject
    model = (
        ("Model", subject.model),
        ("Family", subject.family),
        ("Definition of unfairness", subject.definition or "none: the model has no bound"),
        *((("What is bounded", bounded_text(contents)),) if subject.definition else ()),
        ("Response", subject.modeled),
        ("Sensitive attributes", ", ".join(subject.sensitive)),
        ("Predictors", listed(subject.predictors, most=60, write=str)),
        *((("Selected when", subject.rule),) if subject.rule else ()),
        *subject.record,
    )
    if isinstance(contents, ReportContents):
        model += (("The same in the population", population_fact(contents)),)
    return section(
        "record",
        "For the record",
        element(
            "div",
            _facts("Model and data", model, "wide"),
            _facts("Settings", subject.settings),
            _facts("Software", subject.versions),
            class_="record",
        ),
    )


def _facts(title: str, facts: tuple[tuple[str, str], ...], style: str | None = None) -> Html:
    items = [element("div", element("dt", label), element("dd", value)) for label, value in facts]
    return element("div", element("h3", title), element("dl", items, class_="facts"), class_=style)
