"""How one score is computed by hand, with a row that is worked out."""

from __future__ import annotations

from fairridge._typing import Floats
from fairridge.reports.html.contents import ReportContents
from fairridge.reports.html.evidence import CoefficientError, Scoring, coefficient_errors
from fairridge.reports.html.markup import Html, element
from fairridge.reports.html.numbers import MISSING, number
from fairridge.reports.html.sections.parts import remark, table
from fairridge.reports.html.sections.words import term

INTERCEPT = "(intercept)"
LINKS = {
    "identity": "The prediction is this sum.",
    "log": "The prediction is exp(sum).",
    "logit": "The probability is 1 / (1 + exp(−sum)).",
    "probit": "The probability is Φ(sum), the normal distribution function.",
    "cloglog": "The probability is 1 − exp(−exp(sum)).",
    "softmax": "The probability of a class is exp(its sum) over the total of exp(sum) of all.",
}
HAZARD = "The sum is the log hazard ratio; a Cox model has no intercept."


def scoring_part(contents: ReportContents) -> list[Html | None]:
    """Return raw coefficients and a worked row; nothing if features are mapped."""
    scoring = contents.scoring
    if scoring is None:
        return []
    times = contents.subject.reads == "times"
    levels = "; ".join(f"{column}: {level}" for column, level in scoring.base_levels)
    record = dict(contents.subject.record)
    return [
        element("h3", "One score by hand"),
        element(
            "p",
            "Intercept plus coefficients times columns in their original form, at the chosen "
            "bound. A level of a category has a column that is 1 in its rows and 0 in all others. "
            "The row is synthetic: medians, and the commonest level of every column. ",
            HAZARD if times else LINKS[contents.subject.link],
            " The row's offset, here 0, is added to the sum." if "Offset" in record else "",
            " It is the rate, per unit of exposure." if "Exposure" in record else "",
        ),
        _worked(contents, scoring),
        remark(
            f"Base levels, which have no coefficient because the intercept holds theirs: {levels}. "
            "Columns that are not listed are 0 in this row."
            if levels
            else ""
        ),
        _raw(contents, scoring),
    ]


def _worked(contents: ReportContents, scoring: Scoring) -> Html:
    several = len(scoring.outcomes) > 1
    head: list[Html | str] = ["Column", "Value"]
    head += [
        f"× coefficient, {column}" if several else "× coefficient" for column in scoring.outcomes
    ]
    rows: list[list[Html | str]] = []
    if contents.subject.reads != "times":
        rows.append(["Intercept", "1", *map(_exact, scoring.intercept)])
    for column in scoring.terms:
        if column.value != 0.0:
            cells = [_product(b, column.value) for b in column.coefficients]
            rows.append([column.name, _exact(column.value), *cells])
    rows.append(["Sum (score η)", "", *map(_exact, scoring.eta)])
    if contents.subject.reads != "times":
        rows.append(["Prediction", "", *map(_exact, scoring.prediction)])
    return table("A typical row, worked out", head, rows, class_="worked")


def _product(coefficient: float, value: float) -> Html:
    product = element("small", f"= {_exact(coefficient * value)}")
    return element("td", _exact(coefficient), product)


def _raw(contents: ReportContents, scoring: Scoring) -> Html:
    """List all raw coefficients, with their errors if they are known."""
    known, several = coefficient_errors(contents.inference, "raw"), len(scoring.outcomes) > 1
    values: list[tuple[str, Floats]] = [(each.name, each.coefficients) for each in scoring.terms]
    if contents.subject.reads != "times":
        values.insert(0, (INTERCEPT, scoring.intercept))
    rows: list[list[Html | str]] = []
    for name, coefficients in values:
        for outcome, value in zip(scoring.outcomes, coefficients, strict=True):
            label = f"{name} → {outcome}" if several else name
            rows.append([label, _exact(value)])
            if known:
                error = known.get(label)
                rows[-1] += [
                    MISSING if error is None else number(error[0]),
                    interval_text(error),
                ]
    head: list[Html | str] = ["Column", term("Raw")]
    head += ["Standard error", term("95 % interval")] if known else []
    summary = element("summary", f"All {len(values)} raw coefficients and the intercept")
    return element("details", summary, table("Raw coefficients at the chosen bound", head, rows))


def interval_text(known: CoefficientError | None) -> str:
    """Write an interval; levels that are isolated have none."""
    if known is None:
        return MISSING
    error, low, high = known
    return "isolated" if error != error else f"{number(low)} to {number(high)}"


def _exact(value: float) -> str:
    text = number(value, 7)  # a score computed from this many digits is right to about five
    return text.rstrip("0").rstrip(".") if "." in text and "e" not in text else text
