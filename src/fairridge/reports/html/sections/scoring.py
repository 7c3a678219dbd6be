"""How one score is computed by hand, with a row that is worked out."""

from __future__ import annotations

from typing import Any

from fairridge.reports.html.contents import (
    CoefficientError,
    ReportContents,
    Scoring,
    coefficient_errors,
)
from fairridge.reports.html.markup import Html, element, remark
from fairridge.reports.html.numbers import MISSING, number
from fairridge.reports.html.sections.parts import Cell, part, table

LINKS = {
    "identity": "The prediction is this sum.",
    "log": "The prediction is exp(sum).",
    "logit": "The probability is 1 / (1 + exp(−sum)).",
    "probit": "The probability is Φ(sum), the normal distribution function.",
    "cloglog": "The probability is 1 − exp(−exp(sum)).",
    "softmax": "The probability of a class is exp(its sum) over the total of exp(sum) of all.",
}
HAZARD = "The sum is the log hazard ratio; a Cox model has no intercept."


def scoring_part(contents: ReportContents) -> list[Html]:
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
        columns["95 % interval"] = list(map(interval_text, errors))
    summary = element("summary", f"All {len(terms)} raw coefficients and the intercept")
    return element("details", summary, table("Raw coefficients at the chosen bound", columns))


def interval_text(known: CoefficientError | None) -> str:
    """Write an interval; levels that are isolated have none."""
    if known is None:
        return MISSING
    error, low, high = known
    return "isolated" if error != error else f"{number(low)} to {number(high)}"


def _exact(value: float) -> str:
    text = number(value, 7)  # a score computed from this many digits is right to about five
    return text.rstrip("0").rstrip(".") if "." in text and "e" not in text else text
