"""What was modeled, with what, for the record."""

from __future__ import annotations

from collections.abc import Sequence

from fairridge.arguments import listed
from fairridge.markup import Html, element, section
from fairridge.reports.html.contents import Audited, ReportContents
from fairridge.reports.html.sections.promises import population_fact


def model_facts(contents: Audited) -> list[tuple[str, str]]:
    """Say what the model is, and is about."""
    subject = contents.subject
    bounded = "; ".join(measure.words for measure in contents.bounded)
    facts = {
        "Model": subject.model,
        "Family": subject.family,
        "Definition of unfairness": subject.definition or "none: the model has no bound",
        "What is bounded": bounded if subject.definition else "",
        "Response": subject.modeled,
        "Sensitive attributes": ", ".join(subject.sensitive),
        "Predictors": listed(subject.predictors, most=60, write=str),
        "Read by the layer": ", ".join(subject.features),
        "Selected when": subject.rule,
    }
    return [(label, text) for label, text in facts.items() if text]


def record_section(contents: Audited) -> Html:
    """Return data, settings and versions."""
    subject = contents.subject
    facts = [*model_facts(contents), *subject.record]
    if isinstance(contents, ReportContents):
        facts.append(("The same in the population", population_fact(contents)))
    record = element(
        "div",
        _facts("Model and data", facts, "wide"),
        _facts("Settings", subject.settings),
        _facts("Software", subject.versions),
        class_="record",
    )
    return section("record", "For the record", record)


def _facts(title: str, facts: Sequence[tuple[str, str]], style: str | None = None) -> Html:
    items = [element("div", element("dt", label), element("dd", value)) for label, value in facts]
    return element("div", element("h3", title), element("dl", items, class_="facts"), class_=style)
