"""Self-contained HTML files: the audit report, and a report on new rows."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from importlib.resources import files
from typing import Any

from fairridge.markup import Html, element, json_for_html
from fairridge.reports.html.board import Board, view_of
from fairridge.reports.html.card import card
from fairridge.reports.html.contents import Audited, NewRowsContents, ReportContents
from fairridge.reports.html.numbers import bound, count
from fairridge.reports.html.sections.coefficients import coefficients_section
from fairridge.reports.html.sections.comparison import comparison_section
from fairridge.reports.html.sections.console import console
from fairridge.reports.html.sections.groups import groups_section
from fairridge.reports.html.sections.limits import limits_section
from fairridge.reports.html.sections.measures import name_of_bound
from fairridge.reports.html.sections.record import record_section
from fairridge.reports.html.sections.sources import sources_section
from fairridge.reports.html.sections.summary import sentences, summary_section
from fairridge.reports.html.sections.trade_off import trade_off_section
from fairridge.reports.html.sections.validation import (
    drift_section,
    measures_section,
    new_rows_sentences,
)
from fairridge.reports.html.sections.words import words_section
from fairridge.reports.html.svg import PathScale

LINKS = {
    "summary": "Summary",
    "trade-off": "Trade-off",
    "groups": "Groups",
    "coefficients": "Coefficients",
    "sources": "Sources",
    "alternatives": "Alternatives",
    "limits": "Limits",
    "words": "Words",
    "record": "Record",
}


class Report:
    """A page about a model, which `html` holds, and its findings in words."""

    contents: Any

    @cached_property
    def html(self) -> str:
        """The page."""
        return render(self.contents)

    @property
    def summary(self) -> str:
        """The findings in plain words."""
        audits = isinstance(self.contents, ReportContents)
        return "\n\n".join((sentences if audits else new_rows_sentences)(self.contents))

    def text(self, kind: str) -> str:
        """Return what a file of some kind holds."""
        return card(self.contents) if kind == "card" else self.html

    def _repr_html_(self) -> str:
        # A page of its own: its style sheet and script must not meet the notebook's.
        style = "width:100%;height:720px;border:1px solid #ccc"
        return element("iframe", srcdoc=self.html, style=style)

    def __repr__(self) -> str:
        title = self.contents.subject.title
        return f"{type(self).__name__}({title!r}, {len(self.html):,} characters)"


@dataclass(frozen=True, repr=False)
class AuditReport(Report):
    """An audit report.

    Attributes
    ----------
    contents : ReportContents
        What it shows.

    See Also
    --------
    fairridge.report : Makes it.

    References
    ----------
    .. [1] docs/report.md.

    Examples
    --------
    >>> from fairridge import FairRidgeClassifier
    >>> from fairridge.datasets import load_german_credit
    >>> credit = load_german_credit()
    >>> X, y = credit.X[["Age", "Gender", "Duration"]], credit.y
    >>> model = FairRidgeClassifier(0.01, sensitive=["Age", "Gender"], definition="mean-parity")
    >>> model = model.fit(X, y)
    >>> from fairridge import report
    >>> page = report(model, X, y, cv=0, bootstrap=0, favorable="GOOD", title="Credit")
    >>> print(type(page).__name__, page.contents.subject.title)
    AuditReport Credit
    """

    contents: ReportContents

    @property
    def card(self) -> str:
        """The model card, as Markdown."""
        return card(self.contents)


@dataclass(frozen=True, repr=False)
class NewRowsReport(Report):
    """A report on new rows."""

    contents: NewRowsContents  # what it shows


def render(contents: ReportContents | NewRowsContents) -> str:
    """Return the page."""
    # The same contents give the same text: there is no date in it unless the contents have one.
    # Nothing is loaded from anywhere, and a content security policy lets no other script run than
    # the page's own.
    if isinstance(contents, ReportContents):
        return _audit_page(contents)
    bounded = bool(contents.subject.definition)
    sections = [
        measures_section(contents),
        groups_section(contents, Board(contents), over_bounds=False),
        *([drift_section(contents)] if bounded else []),
    ]
    facts = [
        f"{count(contents.subject.n_rows)} {contents.called}",
        f"bound r = {bound(contents.unfairness[0])}" if bounded else "no bound",
    ]
    kicker = "Validation on new rows" if bounded else "Audit of predictions"
    return _document(contents, kicker, facts, sections)


def _audit_page(contents: ReportContents) -> str:
    board, chosen = Board(contents), name_of_bound(contents, contents.chosen)
    sections = [
        summary_section(contents, board),
        trade_off_section(contents),
        groups_section(contents, board, over_bounds=True),
        coefficients_section(contents, board),
        sources_section(contents, board),
        comparison_section(contents, board),
        limits_section(contents),
    ]
    attributes = len(contents.subject.sensitive)
    facts = [
        f"{count(contents.subject.n_rows)} rows",
        f"{attributes} sensitive attribute{'s'[: attributes != 1]}",
        chosen if contents.chosen == contents.free else f"bound r = {chosen}",
    ]
    links = [element("a", name, href=f"#{target}") for target, name in LINKS.items()]
    theme = element("button", "Theme", type="button", id="theme", title="Light, dark or automatic")
    bar = element("nav", links, theme, aria_label="Sections"), console(contents, board)
    payload = board.payload() | {
        "chosen": contents.chosen,
        "shares": [round(float(x), 4) for x in PathScale(contents.unfairness).shares],
        "view": view_of(contents.main),
    }
    return _document(contents, "Fairness audit report", facts, sections, bar, payload)


def _document(
    contents: Audited,
    kicker: str,
    facts: list[str],
    sections: list[Html],
    bar: tuple[Html | None, ...] = (None, None),
    payload: dict[str, Any] | None = None,
) -> str:
    """Return the whole file, with a script if it has texts that move."""
    subject, script, scripts, moving = contents.subject, _asset("report.js"), "'none'", None
    if payload is not None:
        scripts = f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'"
        series = json_for_html(payload)
        moving = [
            element("script", series, type="application/json", id="series"),
            element("script", Html(script)),
        ]
    navigation, readings = bar
    line = " · ".join([f"{subject.model}, {subject.family}", *facts])
    header = element(
        "header",
        element("p", kicker, class_="kicker"),
        element("h1", subject.title),
        element("p", line, class_="facts-line"),
        navigation,
    )
    version = dict(subject.versions).get("fairridge", "")
    made = f"Made by fairridge {version}. The page is complete in itself: it loads nothing and"
    body = element(
        "body",
        element("a", "Skip to the summary", href="#summary", class_="skip"),
        header,
        readings,
        element("main", sections, words_section(sections), record_section(contents)),
        element("footer", element("p", f"{made} sends nothing.")),
        moving,
    )
    page = element("html", _head(subject.title, scripts), body, lang="en")
    return f"<!doctype html>\n{page}\n"


def _head(title: str, scripts: str) -> Html:
    """Return the head of the file; its policy lets only these scripts run."""
    policy = (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src {scripts}; "
        "base-uri 'none'; form-action 'none'"
    )
    return element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        element("style", Html(_asset("report.css"))),
    )


def _asset(name: str) -> str:
    return (files("fairridge.reports.html") / "assets" / name).read_text(encoding="utf-8")
