"""The price of blindness: a model without S beside the one that uses it, at the same bound."""

from __future__ import annotations

from fairridge.metrics.dependence_shares import WORDS
from fairridge.reports.html.contents import Curve, ReportContents
from fairridge.reports.html.markup import Html, element
from fairridge.reports.html.numbers import bound, percent, points
from fairridge.reports.html.sections.parts import measure_text, measure_with_error, remark, table


def price_of_blindness(contents: ReportContents) -> list[str]:
    """Say what it costs not to use S to predict; nothing for other models."""
    if contents.sighted is None:
        return []
    k, first, other = contents.chosen, contents.accuracy[0], contents.sighted.accuracy[0]
    pairs = [
        (curve, contents.yardstick[key])
        for key, curve in contents.sighted.yardstick.items()
        if key in contents.yardstick
    ]
    numbers = [
        f"There the {there.name[0].lower()}{there.name[1:]} is "
        f"{_written(there, there.best_known[0])} instead of {_written(here, here.best_known[k])}."
        for there, here in pairs
    ]
    return [
        f"The model is blind: it does not use the sensitive attributes to predict. The model that "
        f"uses them, with the same bound r = {bound(contents.unfairness[k])}, has {first.name} "
        f"{measure_text(other, 0)} instead of {measure_text(first, k)}.",
        *numbers,
    ]


def price_table(contents: ReportContents) -> list[Html | None]:
    """Return fit and fairness of both models in a table; nothing for models that use S."""
    sighted = contents.sighted
    if sighted is None:
        return []
    k, where = contents.chosen, "training" if contents.folds == 0 else "held-out rows"
    rows = [
        [f"{blind.name}, {where}", measure_with_error(blind, k), measure_with_error(other, 0)]
        for blind, other in zip(contents.accuracy, sighted.accuracy, strict=True)
    ]
    rows += [
        [other.name, _share(contents.yardstick[key], k), _share(other, 0)]
        for key, other in sighted.yardstick.items()
        if key in contents.yardstick
    ]
    return [
        element("h3", "The price of blindness"),
        table("The same bound without and with the sensitive attributes",
              ["Measure", "Blind (this model)", "With S"], rows),
        remark(
            "Both models have the same bound; the second one uses the sensitive attributes to "
            "predict. Under a bound on statistical parity of a response that is not gaussian, it "
            "is on the share of deviance there, so compare the measures rather than the bounds."
        ),
    ]  # fmt: skip


def _share(curve: Curve, k: int) -> str:
    held_out = "" if curve.held_out is None else f"{_written(curve, curve.held_out[k])} held out, "
    return f"{held_out}{_written(curve, curve.training[k])} in training"


def _written(curve: Curve, value: float) -> str:
    """Write a share, or a difference of shares."""
    return points(value) if curve.name == WORDS["decision_gap"] else percent(value, 2)
