"""Comparison with the unconstrained and the fairest model, alternatives, and blindness."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from fairridge.markup import Html, remark, section
from fairridge.reports.html.board import Board
from fairridge.reports.html.contents import Curve, ReportContents
from fairridge.reports.html.numbers import bound, measure
from fairridge.reports.html.sections.measures import (
    achieved_text,
    amount,
    bound_label,
    known_measures,
    name_of_bound,
    of_class,
)
from fairridge.reports.html.sections.parts import part, table

# Shares of accuracy that one may be ready to give up.
TOLERANCES = (0.0, 0.005, 0.01, 0.02, 0.05)


def comparison_section(contents: ReportContents, board: Board) -> Html:
    """Return the comparison and the alternatives."""
    return section(
        "alternatives",
        "Alternatives",
        _comparison(contents, board),
        _price_table(contents),
        _alternatives(contents),
    )


def _comparison(contents: ReportContents, board: Board) -> list[Html]:
    places = list(dict.fromkeys([0, contents.chosen, contents.free]))
    curve, main = contents.dependence, contents.main
    measures: dict[str, Callable[[int], str]] = {
        f"{contents.subject.definition}, training": partial(achieved_text, contents)
    }
    if not contents.bounds_eta:
        measures[f"The same, {curve.where}"] = lambda k: amount(contents, curve.best_known[k])
    for share in contents.dependence_shares.values():
        measures[f"{share.name}, {share.where}"] = share.text
    for accuracy in contents.accuracy:
        measures[f"{accuracy.name}, {accuracy.where}"] = accuracy.with_error
    groups = known_measures(contents)
    columns = {"Measure": [*measures, *(each.name for each in groups)]}
    for k in places:
        of_groups = (each.text(main, k) for each in groups)
        columns[bound_label(contents, k)] = [*(write(k) for write in measures.values()), *of_groups]
    moving = (board.of_samples(each.text) for each in groups)
    columns["at the slider"] = [*map(board.each, measures.values()), *moving]
    what = "Means of groups" if main.decisions is None else "Rates and decisions"
    where = f"{main.rows} rows{of_class(contents)}"
    return part(
        "Against the fairest and the unconstrained model",
        "",
        table("Comparison of bounds", columns),
        remark(f"{what} are on {where}; at the slider, on the rows chosen there."),
    )


def alternatives(contents: ReportContents) -> dict[str, int]:
    """Find the smallest bounds at which the first measure of accuracy is within tolerances."""
    # Bounds are positions, by how much accuracy is given up in words.
    curve = contents.accuracy[0]
    values, free = curve.best_known, curve.best_known[contents.free]
    allowed = {
        f"at most {100 * share:g} %" if share else "no accuracy": share * abs(free)
        for share in TOLERANCES
    }
    if curve.error is not None and np.isfinite(curve.error[contents.free]):
        allowed["at most one standard error"] = curve.error[contents.free]
    worse = free - values if curve.larger_is_better else values - free
    # Differences that no reader can see are none.
    invisible = 1e-9 * max(abs(free), 1.0)
    fairest = {
        words: int(np.argmax(worse <= amount + invisible)) for words, amount in allowed.items()
    }
    known = [(words, k) for words, k in fairest.items() if np.isfinite(values[k])]
    return dict(sorted(known, key=lambda one: -one[1]))


def _alternatives(contents: ReportContents) -> list[Html]:
    curve, main, fairest = contents.accuracy[0], contents.main, alternatives(contents)
    cells: dict[str, Callable[[int], str]] = {
        "Bound r": partial(name_of_bound, contents),
        "Achieved": partial(achieved_text, contents),
        curve.name: curve.text,
    }
    for each in known_measures(contents):
        if each.short:
            cells[each.short.capitalize()] = partial(each.text, main)
    columns = {"Giving up": list(fairest)} | {
        head: list(map(write, fairest.values())) for head, write in cells.items()
    }
    return part(
        "Less discriminatory alternatives",
        f"For every amount of {curve.name} that one is ready to give up {curve.on_rows}, relative "
        f"to the model without a bound: the fairest model on the path. {_advice(contents)}",
        table("The fairest models within limits on accuracy", columns),
    )


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


def price_of_blindness(contents: ReportContents) -> list[str]:
    """Say what it costs not to use S to predict; nothing for other models."""
    if contents.sighted is None:
        return []
    k, first, other = contents.chosen, contents.accuracy[0], contents.sighted.accuracy[0]
    return [
        f"The model is blind: it does not use the sensitive attributes to predict. The model that "
        f"uses them, with the same bound r = {bound(contents.unfairness[k])}, has {first.name} "
        f"{other.text(0)} instead of {first.text(k)}.",
        *(
            f"There the {there.name[0].lower()}{there.name[1:]} is {there.text(0)} instead of "
            f"{contents.dependence_shares[key].text(k)}."
            for key, there in contents.sighted.dependence_shares.items()
            if key in contents.dependence_shares
        ),
    ]


def _price_table(contents: ReportContents) -> list[Html]:
    """Return fit and fairness of both models in a table; nothing for models that use S."""
    sighted, k = contents.sighted, contents.chosen
    if sighted is None:
        return []
    shares = [key for key in sighted.dependence_shares if key in contents.dependence_shares]
    here, there = contents.dependence_shares, sighted.dependence_shares
    columns = {
        "Measure": [
            *(f"{curve.name}, {curve.where}" for curve in contents.accuracy),
            *(here[key].name for key in shares),
        ],
        "Blind (this model)": [
            *(curve.with_error(k) for curve in contents.accuracy),
            *(_in_both(here[key], k) for key in shares),
        ],
        "With S": [
            *(curve.with_error(0) for curve in sighted.accuracy),
            *(_in_both(there[key], 0) for key in shares),
        ],
    }
    return part(
        "The price of blindness",
        "",
        table("The same bound without and with the sensitive attributes", columns),
        remark(
            "Both models have the same bound; the second one uses the sensitive attributes to "
            "predict. Under a bound on statistical parity of a response that is not gaussian, it "
            "is on the share of deviance there, so compare the measures rather than the bounds."
        ),
    )


def _in_both(curve: Curve, k: int) -> str:
    """Write a share on held-out rows, if there are any, and in training."""
    held_out = "" if curve.held_out is None else f"{curve.text(k)} held out, "
    return f"{held_out}{measure(curve.key, curve.training[k])} in training"
