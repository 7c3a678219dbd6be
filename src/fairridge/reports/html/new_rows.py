"""One self-contained HTML file about a model on rows that it was not fitted to."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from fairridge.reports.html.board import Board
from fairridge.reports.html.markup import Html, element
from fairridge.reports.html.numbers import bound, count
from fairridge.reports.html.page import Report, document, head_of
from fairridge.reports.html.sections import groups_section, record_section, words_section
from fairridge.reports.html.sections.validation import (
    drift_section,
    measures_section,
    new_rows_sentences,
)
from fairridge.reports.html.validation_contents import NewRowsContents

__all__ = ["NewRowsReport"]


@dataclass(frozen=True, repr=False)
class NewRowsReport(Report):
    """A report on new rows.

    Attributes
    ----------
    contents : NewRowsContents
        What it shows.
    """

    contents: NewRowsContents

    @cached_property
    def html(self) -> str:
        """The page."""
        return _rendered(self.contents)

    @property
    def summary(self) -> str:
        """The findings in plain words."""
        return "\n\n".join(new_rows_sentences(self.contents))


def _rendered(contents: NewRowsContents) -> str:
    sections = [
        measures_section(contents),
        groups_section(contents, Board(contents), None),
        drift_section(contents),
    ]
    sections += [words_section(sections), record_section(contents)]
    body = element("body", _header(contents), element("main", sections))
    return document(head_of(contents.subject.title, script=False), body)


def _header(contents: NewRowsContents) -> Html:
    subject = contents.subject
    facts = [
        f"{subject.model}, {subject.family}",
        f"{count(subject.n_rows)} new rows",
        f"bound r = {bound(float(contents.unfairness[0]))}",
    ]
    return element(
        "header",
        element("p", "Validation on new rows", class_="kicker"),
        element("h1", subject.title),
        element("p", " · ".join(facts), class_="facts-line"),
    )
