"""Coefficients of predictors and sensitive attributes, over the bound."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fairridge.metrics.intervals import CONFIDENCE
from fairridge.reports.html.board import Board
from fairridge.reports.html.contents import ReportContents, Term, coefficient_errors
from fairridge.reports.html.markup import Html, element, remark, section
from fairridge.reports.html.numbers import MISSING, number, signed
from fairridge.reports.html.sections.parts import OPEN_ROWS, Cell, part, table
from fairridge.reports.html.sections.scoring import interval_text, scoring_part
from fairridge.reports.html.svg import Line, chart, line_style

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


def coefficients_section(contents: ReportContents, board: Board) -> Html:
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
        _profile(contents),
        _tables(contents, board),
        _flips(contents),
        remark(f"{left} more, with smaller coefficients, are not shown." if left else ""),
        scoring_part(contents),
    )


def _flips(contents: ReportContents) -> list[Html]:
    """List predictors whose sign the bound has changed, with standard errors of both."""
    if not contents.flips:
        return []

    def coefficients(key: str) -> list[Cell]:
        cells = []
        for flip in contents.flips.values():
            error = flip[f"{key}standard_error"]
            known = number(error, 2) if error == error else MISSING
            cells.append(Cell(number(flip[f"{key}coefficient"], 4), f"± {known}"))
        return cells

    columns: dict[str, Sequence[Any]] = {
        "Column": list(contents.flips),
        "Without a bound": coefficients("free_"),
        "At the chosen bound": coefficients(""),
    }
    return part(
        "Signs that the bound has changed",
        "A predictor of a model that does not use the sensitive attributes may be there to make "
        "up for another one. Such a coefficient must not be read as an effect. Below it stands "
        "its standard error.",
        table("Predictors with another sign than without a bound", columns),
    )


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


def _profile(contents: ReportContents) -> Html:
    """Draw coefficients over the bound: those of S in color, on top of those of predictors."""
    order = sorted(
        enumerate(contents.terms),
        key=lambda item: (not item[1].sensitive, -np.abs(item[1].standardized).max()),
    )[:MAX_TERM_LINES]
    lines = []
    for color, (k, coef) in enumerate(order):
        kind = "" if coef.sensitive else "predictors"
        style = "faint" if kind else line_style(color)
        lines.append(Line(coef.standardized, style, _label(coef), term=k, kind=kind))
    return chart(
        "Profile: how coefficients move with the bound",
        contents,
        lines,
        width=680.0,
        label="standardized coefficient",
        height=300.0,
    )


def _tables(contents: ReportContents, board: Board) -> Html:
    """Return the table, the rest of a long one folded."""
    columns, caption = _columns(contents, board), "Coefficients at the slider's bound"
    shown, more = (
        {head: cells[rows] for head, cells in columns.items()}
        for rows in (slice(OPEN_ROWS), slice(OPEN_ROWS, None))
    )
    parts = [table(caption, shown, "coefficients", first_term=0)]
    if left := len(more["Column"]):
        rest = table(f"{caption}, continued", more, "coefficients", first_term=OPEN_ROWS)
        parts.append(element("details", element("summary", f"{left} more coefficients"), rest))
    return element("div", parts)


def _columns(contents: ReportContents, board: Board) -> dict[str, list[Any]]:
    terms, errors = contents.terms, coefficient_errors(contents.inference, "fair")
    largest = max(np.abs(coef.standardized).max() for coef in terms)
    name = "Coefficient" if contents.subject.needs_sensitive else "Raw"
    columns: dict[str, list[Any]] = {
        "Column": [_label(coef) for coef in terms],
        name: [board.text([number(v, 4) for v in coef.values]) for coef in terms],
    }
    if errors:
        texts = (interval_text(errors.get(_label(coef))) for coef in terms)
        columns["95 % interval"] = [Cell(text, style="interval") for text in texts]
    columns["Standardized"], columns["Against no bound"] = [], []
    for coef in terms:
        moving, here = coef.standardized, coef.standardized[contents.chosen]
        bar = Cell(board.text(list(map(signed, moving))), None, "both", here, largest)
        columns["Standardized"].append(bar)
        against = map(signed, moving - moving[contents.free])
        columns["Against no bound"].append(board.text(list(against)))
    return columns | {"Role": ["sensitive" if coef.sensitive else "predictor" for coef in terms]}
