"""Comparison with the unconstrained and the fairest model, and alternatives in between."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fairridge.reports.html.alternatives import alternatives, lowest_ratio
from fairridge.reports.html.board import Board, view_of
from fairridge.reports.html.contents import Curve, ReportContents, Sample
from fairridge.reports.html.markup import Html, element
from fairridge.reports.html.numbers import MISSING, count, number, percent, ratio
from fairridge.reports.html.sections.blindness import price_table
from fairridge.reports.html.sections.parts import (
    amount,
    error_text,
    measure_text,
    name_of_bound,
    section,
    table,
)

__all__ = ["comparison_section"]


def comparison_section(contents: ReportContents, board: Board) -> Html:
    """Return the comparison and the alternatives."""
    return section(
        "alternatives",
        "Alternatives",
        _comparison(contents, board),
        price_table(contents),
        _alternatives(contents),
    )


def _comparison(contents: ReportContents, board: Board) -> list[Html]:
    places = list(dict.fromkeys([0, contents.chosen, contents.free]))
    head: list[Html | str] = ["Measure"]
    for k in places:
        name = name_of_bound(contents, k)
        text = name if k == contents.free else f"r = {name}"
        head.append(f"{text} (chosen)" if k == contents.chosen else text)
    head.append("at the slider")
    rows = []
    for label, write in _measures(contents):
        texts = [write(k) for k in range(len(contents.unfairness))]
        rows.append([label, *(texts[k] for k in places), board.text(texts)])
    for label, of_sample in _group_measures(contents):
        cells = [of_sample(contents.main, k) for k in places]
        if any(cell != MISSING for cell in cells):
            rows.append([label, *cells, board.of_samples(of_sample)])
    where = "held-out rows" if contents.main.rows == "held-out" else "training rows"
    return [
        element("h3", "Against the fairest and the unconstrained model"),
        table("Comparison of bounds", head, rows),
        element(
            "p",
            f"Rates and decisions are on {where}; at the slider, on the rows chosen there.",
            class_="note",
        ),
    ]


def _measures(contents: ReportContents) -> list[tuple[str, Callable[[int], str]]]:
    def percents(values: np.ndarray) -> Callable[[int], str]:
        return lambda k: percent(float(values[k]), 2)

    def amounts(values: np.ndarray) -> Callable[[int], str]:
        return lambda k: amount(contents, values[k])

    curve = contents.dependence
    where = "training" if curve.held_out is None else "held-out rows"
    found = [(f"{contents.subject.definition}, training", amounts(contents.achieved))]
    if not contents.bounds_eta:
        found.append((f"The same, {where}", amounts(curve.best_known)))
    found += [
        (f"{one.name}, {where}", percents(one.best_known)) for one in contents.yardstick.values()
    ]
    for one in contents.accuracy:
        where = "training" if one.held_out is None else "held-out rows"
        found.append((f"{one.name}, {where}", _of(one)))
    return found


def _of(curve: Curve) -> Callable[[int], str]:
    def text(k: int) -> str:
        value = measure_text(curve.name, float(curve.best_known[k]))
        if curve.error is None or not np.isfinite(curve.error[k]):
            return value
        return f"{value} ± {error_text(curve.name, float(curve.error[k]))}"

    return text


def _group_measures(
    contents: ReportContents,
) -> list[tuple[str, Callable[[Sample, int], str]]]:
    position = {view_of(sample): j for j, sample in enumerate(contents.samples)}

    def selected(sample: Sample, k: int) -> str:
        if sample.decisions is None:
            return MISSING
        return count(sample.decisions.selected[k])

    def changed(sample: Sample, k: int) -> str:
        if sample.decisions is None:
            return MISSING
        return count(sample.decisions.all_gained[k] + sample.decisions.all_lost[k])

    def means(sample: Sample, k: int) -> str:
        low, high = sample.audits[k].group_means
        return f"{number(low)} to {number(high)}" if low == low else MISSING

    return [
        ("Rows selected", selected),
        ("Decisions changed against no bound", changed),
        (
            "Lowest adverse impact ratio",
            lambda sample, k: ratio(lowest_ratio(contents, position[view_of(sample)], k)),
        ),
        (
            "Largest |correlation| with a column of S",
            lambda sample, k: ratio(sample.audits[k].max_correlation),
        ),
        (
            "Largest standardized mean difference",
            lambda sample, k: ratio(sample.audits[k].standardized_mean_difference),
        ),
        ("Mean predictions of groups", means),
        (
            "Equalized odds difference",
            lambda sample, k: percent(sample.audits[k].equalized_odds_difference),
        ),
    ]


def _alternatives(contents: ReportContents) -> list[Html]:
    curve = contents.accuracy[0]
    where = "on held-out rows" if curve.held_out is not None else "in training"
    found = alternatives(contents)
    rows = []
    for one in found:
        k = one.position
        decisions = contents.main.decisions
        rows.append(
            [
                one.words,
                name_of_bound(contents, k),
                amount(contents, contents.achieved[k]),
                measure_text(curve.name, float(curve.best_known[k])),
                ratio(lowest_ratio(contents, 0, k)),
                MISSING
                if decisions is None
                else count(decisions.all_gained[k] + decisions.all_lost[k]),
            ]
        )
    head = ["Giving up", "Bound r", "Achieved", curve.name, "Lowest ratio", "Decisions changed"]
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
    values, here = curve.best_known, float(curve.best_known[k])
    good = values >= here - 1e-12 if curve.larger_is_better else values <= here + 1e-12
    first = int(np.argmax(good))
    if first >= k:
        return f"No fairer model on the path has {curve.name} as good as the chosen one."
    return (
        f"A fairer model has {curve.name} as good as the chosen one: the one at r = "
        f"{name_of_bound(contents, first)}."
    )
