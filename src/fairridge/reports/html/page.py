"""Self-contained HTML files: the audit report, and a report on new rows."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from html import escape
from importlib.resources import files
from typing import Any

from fairridge.reports.html.board import Board, view_of
from fairridge.reports.html.card import card
from fairridge.reports.html.contents import ReportContents, Subject
from fairridge.reports.html.markup import Html, element, json_for_html
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
from fairridge.reports.html.validation_contents import NewRowsContents

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
    html: Any

    def _repr_html_(self) -> str:
        # A page of its own: its style sheet and script must not meet the notebook's.
        return (
            f'<iframe srcdoc="{escape(self.html, quote=True)}" '
            'style="width:100%;height:720px;border:1px solid #ccc"></iframe>'
        )

    def text(self, kind: str) -> str:
        """Return what a file of some kind holds."""
        return str(self.html)

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

    @cached_property
    def html(self) -> str:
        """The page."""
        return render_report(self.contents)

    @property
    def summary(self) -> str:
        """The findings in plain words."""
        return "\n\n".join(sentences(self.contents))

    @property
    def card(self) -> str:
        """The model card, as Markdown."""
        return card(self.contents)

    def text(self, kind: str) -> str:
        """Return what a file of some kind holds."""
        return self.card if kind == "card" else self.html


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
        return _render_new_rows(self.contents)

    @property
    def summary(self) -> str:
        """The findings in plain words."""
        return "\n\n".join(new_rows_sentences(self.contents))


def render_report(contents: ReportContents) -> str:
    """Return the page.

    The same contents give the same text: there is no date in it unless the
    contents have one. Nothing is loaded from anywhere, and a content security
    policy lets no other script run than the page's own.
    """
    board, scale = Board(contents), PathScale(contents.unfairness)
    sections = [
        summary_section(contents, board),
        trade_off_section(contents),
        groups_section(contents, board, over_bounds=True),
        coefficients_section(contents, board),
        sources_section(contents, board),
        comparison_section(contents, board),
        limits_section(contents),
    ]
    sections += [words_section(sections), record_section(contents)]
    chosen = name_of_bound(contents, contents.chosen)
    attributes = len(contents.subject.sensitive)
    facts = [
        f"{count(contents.subject.n_rows)} rows",
        f"{attributes} sensitive attribute{'s'[: attributes != 1]}",
        chosen if contents.chosen == contents.free else f"bound r = {chosen}",
    ]
    script = _asset("report.js")
    payload = board.payload() | {
        "chosen": contents.chosen,
        "shares": [round(float(x), 4) for x in scale.shares],
        "view": view_of(contents.main),
    }
    return _document(
        contents.subject.title,
        f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'",
        element("a", "Skip to the summary", href="#summary", class_="skip"),
        _header(contents.subject, "Fairness audit report", facts, _navigation()),
        console(contents, board),
        element("main", sections),
        _footer(contents.subject),
        element("script", json_for_html(payload), type="application/json", id="series"),
        element("script", Html(script)),
    )


def _render_new_rows(contents: NewRowsContents) -> str:
    bounded = bool(contents.subject.definition)
    sections = [
        measures_section(contents),
        groups_section(contents, Board(contents), over_bounds=False),
        *([drift_section(contents)] if bounded else []),
    ]
    sections += [words_section(sections), record_section(contents)]
    facts = [
        f"{count(contents.subject.n_rows)} {contents.called}",
        f"bound r = {bound(contents.unfairness[0])}" if bounded else "no bound",
    ]
    kicker = "Validation on new rows" if bounded else "Audit of predictions"
    return _document(
        contents.subject.title,
        "'none'",
        _header(contents.subject, kicker, facts),
        element("main", sections),
    )


def _document(title: str, scripts: str, *body: Html) -> str:
    """Return the whole file; its policy lets only these scripts run."""
    policy = (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src {scripts}; "
        "base-uri 'none'; form-action 'none'"
    )
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        element("style", Html(_asset("report.css"))),
    )
    return "<!doctype html>\n" + element("html", head, element("body", body), lang="en") + "\n"


def _header(subject: Subject, kicker: str, facts: list[str], *navigation: Html) -> Html:
    line = " · ".join([f"{subject.model}, {subject.family}", *facts])
    return element(
        "header",
        element("p", kicker, class_="kicker"),
        element("h1", subject.title),
        element("p", line, class_="facts-line"),
        navigation,
    )


def _navigation() -> Html:
    return element(
        "nav",
        [element("a", name, href=f"#{target}") for target, name in LINKS.items()],
        element("button", "Theme", type="button", id="theme", title="Light, dark or automatic"),
        aria_label="Sections",
    )


def _footer(subject: Subject) -> Html:
    version = dict(subject.versions).get("fairridge", "")
    return element(
        "footer",
        element(
            "p",
            f"Made by fairridge {version}. The page is complete in itself: it loads nothing and "
            "sends nothing.",
        ),
    )


def _asset(name: str) -> str:
    return (files("fairridge.reports.html") / "assets" / name).read_text(encoding="utf-8")
