"""One self-contained HTML file out of the contents of an audit report."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from html import escape
from importlib.resources import files
from typing import Any

from fairridge.reports.html.board import Board, view_of
from fairridge.reports.html.contents import ReportContents
from fairridge.reports.html.markup import Html, element, json_for_html
from fairridge.reports.html.numbers import count
from fairridge.reports.html.sections import (
    coefficients_section,
    comparison_section,
    console,
    groups_section,
    limits_section,
    record_section,
    sources_section,
    summary_section,
    trade_off_section,
    words_section,
)
from fairridge.reports.html.sections.parts import name_of_bound
from fairridge.reports.html.sections.summary import sentences
from fairridge.reports.html.svg import PathScale

__all__ = ["AuditReport", "Report", "document", "head_of", "render_report"]

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


def render_report(contents: ReportContents) -> str:
    """Return the page.

    The same contents give the same text: there is no date in it unless the
    contents have one. Nothing is loaded from anywhere, and a content security
    policy lets no other script run than the page's own.
    """
    board, scale = Board(contents), PathScale(contents.unfairness)
    sections = [
        summary_section(contents, board),
        trade_off_section(contents, scale),
        groups_section(contents, board, scale),
        coefficients_section(contents, board, scale),
        sources_section(contents, board),
        comparison_section(contents, board),
        limits_section(contents),
    ]
    sections += [words_section(sections), record_section(contents)]
    body = element(
        "body",
        element("a", "Skip to the summary", href="#summary", class_="skip"),
        _header(contents),
        console(contents, board),
        element("main", sections),
        _footer(contents),
        element("script", json_for_html(_payload(contents, board, scale)), type="application/json",
                id="series"),
        element("script", Html(_asset("report.js"))),
    )  # fmt: skip
    return document(head_of(contents.subject.title), body)


def document(head: Html, body: Html) -> str:
    """Return the whole file."""
    return "<!doctype html>\n" + element("html", head, body, lang="en") + "\n"


def head_of(title: str, *, script: bool = True) -> Html:
    """Return the head of a page, whose policy lets the page's own script run, or none."""
    digest = b64encode(sha256(_asset("report.js").encode()).digest()).decode()
    allowed = f"'sha256-{digest}'" if script else "'none'"
    policy = (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src {allowed}; "
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


def _header(contents: ReportContents) -> Html:
    subject = contents.subject
    bound = name_of_bound(contents, contents.chosen)
    facts = [
        f"{subject.model}, {subject.family}",
        f"{count(subject.n_rows)} rows",
        f"{len(subject.sensitive)} sensitive attribute{'s'[: len(subject.sensitive) != 1]}",
        bound if contents.chosen == contents.free else f"bound r = {bound}",
    ]
    links = [element("a", name, href=f"#{target}") for target, name in LINKS.items()]
    return element(
        "header",
        element("p", "Fairness audit report", class_="kicker"),
        element("h1", subject.title),
        element("p", " · ".join(facts), class_="facts-line"),
        element(
            "nav",
            links,
            element("button", "Theme", type="button", id="theme", title="Light, dark or automatic"),
            aria_label="Sections",
        ),
    )


def _footer(contents: ReportContents) -> Html:
    version = dict(contents.subject.versions).get("fairridge", "")
    return element(
        "footer",
        element(
            "p",
            f"Made by fairridge {version}. The page is complete in itself: it loads nothing and "
            "sends nothing.",
        ),
    )


def _payload(contents: ReportContents, board: Board, scale: PathScale) -> dict[str, Any]:
    return board.payload() | {
        "chosen": contents.chosen,
        "shares": [round(float(x), 4) for x in scale.shares],
        "view": view_of(contents.main),
    }


def _asset(name: str) -> str:
    return (files("fairridge.reports.html") / "assets" / name).read_text(encoding="utf-8")
