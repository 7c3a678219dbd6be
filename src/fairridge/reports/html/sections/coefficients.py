"""Coefficients of predictors and sensitive attributes, over the bound."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fairridge.metrics.intervals import CONFIDENCE
from fairridge.reports.html.board import Board
from fairridge.reports.html.contents import ReportContents, Term
from fairridge.reports.html.evidence import CoefficientError, coefficient_errors
from fairridge.reports.html.markup import Html, element
from fairridge.reports.html.numbers import number, signed
from fairridge.reports.html.sections.parts import (
    COLORS,
    OPEN_ROWS,
    bar,
    figure,
    legend,
    remark,
    section,
    table,
)
from fairridge.reports.html.sections.scoring import interval_text, scoring_part
from fairridge.reports.html.sections.words import term
from fairridge.reports.html.svg import Line, PathScale, chart

MAX_TERM_LINES = 60
WITH_S = (
    "Predictors enter after what the sensitive attributes explain of them has been taken out, so "
    "that whatever depends on the sensitive attributes is in their own coefficients; the bound "
    "shrinks those."
)
WITHOUT_S = (
    "Predictors enter as they are, and nothing else does. The bound shrinks what can be predicted "
    "from their combination about the sensitive attributes: predictors that reveal these get less "
    "weight, or weights that cancel each other, whose signs may differ from those without a bound."
)


def coefficients_section(contents: ReportContents, board: Board, scale: PathScale) -> Html:
    """Return the profile plot and the table."""
    left = contents.left_out
    about = WITH_S if contents.subject.needs_sensitive else WITHOUT_S
    return section(
        "coefficients",
        "Coefficients",
        element(
            "p",
            f"{about} Standardized means times the column's standard deviation. Point at a row to "
            "find its line. ",
            _about_errors(contents),
        ),
        _profile(contents, scale),
        _table(contents, board),
        _flips(contents),
        remark(f"{left} more, with smaller coefficients, are not shown." if left else ""),
        scoring_part(contents),
    )


def _flips(contents: ReportContents) -> list[Html]:
    """List predictors whose sign the bound has changed, with standard errors of both."""
    if not contents.flips:
        return []

    def cells(flip: dict[str, float], key: str) -> list[str]:
        error = flip[f"{key}standard_error"]
        return [number(flip[f"{key}coefficient"], 4), number(error, 2) if error == error else "–"]

    rows: list[Sequence[Any]] = [
        [name, *cells(flip, "free_"), *cells(flip, "")] for name, flip in contents.flips.items()
    ]
    head = ["Column", "Without a bound", "Standard error", "At the chosen bound", "Standard error"]
    return [
        element("h3", "Signs that the bound has changed"),
        element(
            "p",
            "A predictor of a model that does not use the sensitive attributes may be there to "
            "make up for another one. Such a coefficient must not be read as an effect.",
        ),
        table("Predictors with another sign than without a bound", head, rows),
    ]


def _about_errors(contents: ReportContents) -> str:
    if contents.inference is None:
        reason = contents.no_inference
        return f"There are no standard errors: {reason}" if reason else ""
    covariance = contents.inference.facts.covariance
    return (
        f"Intervals are at {100 * CONFIDENCE:g} % ({covariance}) and for the chosen bound; "
        "they are about this fair model, not about effects without the bound."
    )


def _label(coef: Term) -> str:
    return f"{coef.name} → {coef.outcome}" if coef.outcome else coef.name


def _profile(contents: ReportContents, scale: PathScale) -> Html:
    order = sorted(
        enumerate(contents.terms),
        key=lambda item: (not item[1].sensitive, -np.abs(item[1].standardized).max()),
    )[:MAX_TERM_LINES]
    lines, entries, color = [], [], 0
    for k, coef in order:
        style = "faint"
        if coef.sensitive:
            style = f"c{color % COLORS}{' dashed' if color >= COLORS else ''}"
            if color < 2 * COLORS:
                entries.append((style, _label(coef)))
            color += 1
        lines.append(Line(coef.standardized, style, _label(coef), term=k))
    entries.append(("faint", "predictors"))
    # Predictors first, so that the sensitive attributes lie on top.
    drawing = chart(
        scale.wider(680.0),
        contents.chosen,
        lines[::-1],
        title="Standardized coefficients over the bound",
        label="standardized coefficient",
        height=300.0,
    )
    return figure("Profile: how coefficients move with the bound", drawing, legend(entries))


def _table(contents: ReportContents, board: Board) -> Html:
    largest = max(np.abs(coef.standardized).max() for coef in contents.terms)
    errors = coefficient_errors(contents.inference, "fair")
    head = [
        "Column",
        term("Coefficient") if contents.subject.needs_sensitive else "Coefficient",
        *([term("95 % interval")] if errors else []),
        term("Standardized"),
        term("Against no bound"),
        "Role",
    ]
    rows = [_row(contents, board, k, largest, errors) for k in range(len(contents.terms))]
    shown, more = rows[:OPEN_ROWS], rows[OPEN_ROWS:]
    caption = "Coefficients at the slider's bound"
    parts = [table(caption, head, shown, class_="coefficients")]
    if more:
        rest = table(f"{caption}, continued", head, more, class_="coefficients")
        summary = element("summary", f"{len(more)} more coefficients")
        parts.append(element("details", summary, rest))
    return element("div", parts)


def _row(
    contents: ReportContents,
    board: Board,
    k: int,
    largest: float,
    errors: dict[str, CoefficientError],
) -> Html:
    coef, chosen = contents.terms[k], contents.chosen
    free = coef.standardized[contents.free]
    return element(
        "tr",
        element("th", _label(coef), scope="row"),
        element("td", board.text([number(v, 4) for v in coef.values])),
        element("td", interval_text(errors.get(_label(coef))), class_="interval")
        if errors
        else None,
        bar(
            board.text([signed(v) for v in coef.standardized]),
            largest,
            coef.standardized[chosen],
            both_ways=True,
        ),
        element("td", board.text([signed(v - free) for v in coef.standardized])),
        element("td", "sensitive" if coef.sensitive else "predictor"),
        data_term=k,
    )
