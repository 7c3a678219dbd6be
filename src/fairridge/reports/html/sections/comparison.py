"""Comparison with the unconstrained and the fairest model, and alternatives in between."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from fairridge._typing import Floats
from fairridge.metrics.dependence_shares import WORDS
from fairridge.reports.html.alternatives import alternatives, lowest_ratio
from fairridge.reports.html.board import Board
from fairridge.reports.html.contents import Curve, ReportContents, Sample
from fairridge.reports.html.markup import Html, element
from fairridge.reports.html.numbers import MISSING, column, count, percent, points, ratio
from fairridge.reports.html.sections.blindness import price_table
from fairridge.reports.html.sections.parts import (
    achieved_text,
    amount,
    bound_label,
    changed_text,
    measure_text,
    measure_with_error,
    name_of_bound,
    of_class,
    remark,
    section,
    table,
)

# A measure, and how it is written at a bound.
Written = tuple[str, Callable[[int], str]]


def comparison_section(contents: ReportContents, board: Board) -> Html:
    """Return the comparison and the alternatives."""
    return section(
        "alternatives",
        "Alternatives",
        _comparison(contents, board),
        price_table(contents),
        _alternatives(contents),
    )


def _comparison(contents: ReportContents, board: Board) -> list[Html | None]:
    places = list(dict.fromkeys([0, contents.chosen, contents.free]))
    head = ["Measure", *(bound_label(contents, k) for k in places), "at the slider"]
    rows: list[list[Html | str]] = []
    for label, write in _measures(contents):
        rows.append([label, *(write(k) for k in places), board.each(write)])
    for label, of_sample in GROUP_MEASURES.items():
        cells = [of_sample(contents.main, k) for k in places]
        if any(cell != MISSING for cell in cells):
            rows.append([label, *cells, board.of_samples(of_sample)])
    where, what = f"{contents.main.rows} rows{of_class(contents)}", "Rates and decisions"
    if contents.main.decisions is None:
        what = "Means of groups"
    return [
        element("h3", "Against the fairest and the unconstrained model"),
        table("Comparison of bounds", head, rows),
        remark(f"{what} are on {where}; at the slider, on the rows chosen there."),
    ]


def _measures(contents: ReportContents) -> list[Written]:
    def shares(curve: Curve) -> Callable[[int], str]:
        if curve.name == WORDS["decision_gap"]:
            return lambda k: points(curve.best_known[k])
        return lambda k: percent(curve.best_known[k], 2)

    def amounts(values: Floats) -> Callable[[int], str]:
        return lambda k: amount(contents, values[k])

    def where(curve: Curve) -> str:
        return "training" if curve.held_out is None else "held-out rows"

    curve = contents.dependence
    named = f"{contents.subject.definition}, training"
    bounded: list[Written] = [(named, partial(achieved_text, contents))]
    if not contents.bounds_eta:
        bounded.append((f"The same, {where(curve)}", amounts(curve.best_known)))
    return [
        *bounded,
        *(
            (f"{measure.name}, {where(curve)}", shares(measure))
            for measure in contents.yardstick.values()
        ),
        *(
            (f"{measure.name}, {where(measure)}", partial(measure_with_error, measure))
            for measure in contents.accuracy
        ),
    ]


def _selected(sample: Sample, k: int) -> str:
    return MISSING if sample.decisions is None else count(sample.decisions.selected[k])


def _means(sample: Sample, k: int) -> str:
    low, high = column(sample.audits[k].group_means)
    return MISSING if low == MISSING else f"{low} to {high}"


GROUP_MEASURES: dict[str, Callable[[Sample, int], str]] = {
    "Rows selected": _selected,
    "Decisions changed against no bound": changed_text,
    "Lowest adverse impact ratio": lambda sample, k: ratio(lowest_ratio(sample.audits[k])),
    "Largest |correlation| with a column of S": lambda sample, k: ratio(
        sample.audits[k].max_correlation
    ),
    "Largest standardized mean difference": lambda sample, k: ratio(
        sample.audits[k].standardized_mean_difference
    ),
    "Mean predictions of groups": _means,
    "Lowest ratio of mean predictions": lambda sample, k: ratio(sample.audits[k].mean_ratio.value),
    "Equalized odds difference": lambda sample, k: points(
        sample.audits[k].equalized_odds_difference
    ),
}


def _alternatives(contents: ReportContents) -> list[Html]:
    curve, main = contents.accuracy[0], contents.main
    where = "on held-out rows" if curve.held_out is not None else "in training"
    cells: dict[str, Callable[[int], str]] = {
        "Bound r": partial(name_of_bound, contents),
        "Achieved": partial(achieved_text, contents),
        curve.name: partial(measure_text, curve),
    }
    if main.decisions is not None:
        cells["Lowest ratio"] = lambda k: ratio(lowest_ratio(main.audits[k]))
        cells["Decisions changed"] = partial(changed_text, main)
    elif main.audits[0].mean_ratio.value == main.audits[0].mean_ratio.value:
        cells["Lowest ratio of means"] = lambda k: ratio(main.audits[k].mean_ratio.value)
    rows = [[words, *(write(k) for write in cells.values())] for words, k in alternatives(contents)]
    head = ["Giving up", *cells]
    return [
        element("h3", "Less discriminatory alternatives"),
        element(
            "p",
            f"For every amount of {curve.name} that one is ready to give up {where}, relative to "
            "the model without a bound: the fairest model on the path. ",
            _advice(contents),
        ),
        table("The fairest models within limits on accuracy", head, rows),
    ]


def _advice(contents: ReportContents) -> str:
    """Say whether a fairer model costs nothing."""
    curve, k = contents.accuracy[0], contents.chosen
    values, here = curve.best_known, curve.best_known[k]
    good = values >= here - 1e-12 if curve.larger_is_better else values <= here + 1e-12
    first = int(np.argmax(good))
    if first >= k:
        return f"No fairer model on the path has {curve.name} as good as the chosen one."
    return (
        f"A fairer model has {curve.name} as good as the chosen one: the one at r = "
        f"{name_of_bound(contents, first)}."
    )
