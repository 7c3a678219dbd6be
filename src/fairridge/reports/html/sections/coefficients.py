"""Coefficients over the bound, and how one score is computed by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fairridge.markup import Html, element, remark, section
from fairridge.metrics.intervals import CONFIDENCE
from fairridge.reports.html.board import Board
from fairridge.reports.html.contents import (
    CoefficientError,
    ReportContents,
    Scoring,
    Term,
    coefficient_errors,
)
from fairridge.reports.html.numbers import MISSING, number, signed
from fairridge.reports.html.sections.parts import OPEN_ROWS, Cell, part, table
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
LINKS = {
    "identity": "The prediction is this sum.",
    "log": "The prediction is exp(sum).",
    "logit": "The probability is 1 / (1 + exp(−sum)).",
    "probit": "The probability is Φ(sum), the normal distribution function.",
    "cloglog": "The probability is 1 − exp(−exp(sum)).",
    "softmax": "The probability of a class is exp(its sum) over the total of exp(sum) of all.",
}
HAZARD = "The sum is the log hazard ratio; a Cox model has no intercept."


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
        _by_hand(contents),
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
        texts = (_interval(errors.get(_label(coef))) for coef in terms)
        columns["95 % interval"] = [Cell(text, style="interval") for text in texts]
    columns["Standardized"], columns["Against no bound"] = [], []
    for coef in terms:
        moving, here = coef.standardized, coef.standardized[contents.chosen]
        bar = Cell(board.text(list(map(signed, moving))), None, "both", here, largest)
        columns["Standardized"].append(bar)
        against = map(signed, moving - moving[contents.free])
        columns["Against no bound"].append(board.text(list(against)))
    return columns | {"Role": ["sensitive" if coef.sensitive else "predictor" for coef in terms]}


def _by_hand(contents: ReportContents) -> list[Html]:
    """Return raw coefficients and a worked row; nothing if features are mapped."""
    scoring = contents.scoring
    if scoring is None:
        return []
    hazard, record = contents.subject.reads == "times", dict(contents.subject.record)
    levels = "; ".join(f"{column}: {level}" for column, level in scoring.base_levels)
    return part(
        "One score by hand",
        [
            "Intercept plus coefficients times columns in their original form, at the chosen "
            "bound. A level of a category has a column that is 1 in its rows and 0 in all others. "
            "The row is synthetic: medians, and the commonest level of every column. ",
            HAZARD if hazard else LINKS[contents.subject.link],
            " The row's offset, here 0, is added to the sum." if "Offset" in record else "",
            " It is the rate, per unit of exposure." if "Exposure" in record else "",
        ],
        _worked(scoring, hazard),
        remark(
            f"Base levels, which have no coefficient because the intercept holds theirs: {levels}. "
            "Columns that are not listed are 0 in this row."
            if levels
            else ""
        ),
        _raw(contents, scoring, hazard),
    )


def _worked(scoring: Scoring, hazard: bool) -> Html:
    terms = [each for each in scoring.terms if each.value != 0.0]
    columns: dict[str, list[Any]] = {
        "Column": ["Intercept", *(each.name for each in terms), "Sum (score)", "Prediction"],
        "Value": ["1", *(_exact(each.value) for each in terms), "", ""],
    }
    for k, outcome in enumerate(scoring.outcomes):
        columns[f"× coefficient{f', {outcome}' if outcome else ''}"] = [
            _exact(scoring.intercept[k]),
            *(
                Cell(_exact(b), f"= {_exact(b * each.value)}")
                for each in terms
                for b in [each.coefficients[k]]
            ),
            _exact(scoring.eta[k]),
            _exact(scoring.prediction[k]),
        ]
    if hazard:  # which has no intercept, and predicts no mean
        columns = {head: cells[1:-1] for head, cells in columns.items()}
    return table("A typical row, worked out", columns, "worked")


def _raw(contents: ReportContents, scoring: Scoring, hazard: bool) -> Html:
    """List all raw coefficients, with their errors if they are known."""
    known = coefficient_errors(contents.inference, "raw")
    terms = [] if hazard else [("(intercept)", scoring.intercept)]
    terms += [(each.name, each.coefficients) for each in scoring.terms]
    labels = [f"{n} → {o}" if o else n for n, _ in terms for o in scoring.outcomes]
    values = [_exact(value) for _, coefficients in terms for value in coefficients]
    columns = {"Column": labels, "Raw": values}
    if known:
        errors = [known.get(label) for label in labels]
        columns["Standard error"] = [MISSING if e is None else number(e[0]) for e in errors]
        columns["95 % interval"] = list(map(_interval, errors))
    summary = element("summary", f"All {len(terms)} raw coefficients and the intercept")
    return element("details", summary, table("Raw coefficients at the chosen bound", columns))


def _interval(known: CoefficientError | None) -> str:
    """Write an interval; levels that are isolated have none."""
    if known is None:
        return MISSING
    error, low, high = known
    return "isolated" if error != error else f"{number(low)} to {number(high)}"


def _exact(value: float) -> str:
    text = number(value, 7)  # a score computed from this many digits is right to about five
    return text.rstrip("0").rstrip(".") if "." in text and "e" not in text else text
