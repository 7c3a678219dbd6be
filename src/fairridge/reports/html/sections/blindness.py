"""The price of blindness: a model without S beside the one that uses it, at the same bound."""

from __future__ import annotations

from fairridge.reports.html.contents import Curve, ReportContents
from fairridge.reports.html.markup import Html, element
from fairridge.reports.html.numbers import bound, percent
from fairridge.reports.html.sections.parts import error_text, measure_text, table

__all__ = ["price_of_blindness", "price_table"]


def price_of_blindness(contents: ReportContents) -> str:
    """Say in a sentence or two what it costs not to use S to predict; "" for other models."""
    if contents.sighted is None:
        return ""
    k, first, other = contents.chosen, contents.accuracy[0], contents.sighted.accuracy[0]
    here, there = (
        measure_text(first.name, float(curve.best_known[at]))
        for curve, at in ((first, k), (other, 0))
    )
    numbers = "; ".join(
        f"{_inside(curve.name)} {percent(float(curve.best_known[0]), 2)} instead of "
        f"{percent(float(contents.yardstick[key].best_known[k]), 2)}"
        for key, curve in contents.sighted.yardstick.items()
        if key in contents.yardstick
    )
    return (
        f"The model is blind: it does not use the sensitive attributes to predict. The model that "
        f"uses them, with the same bound r = {bound(float(contents.unfairness[k]))}, has "
        f"{first.name} {there} instead of {here}; {numbers}."
    )


def price_table(contents: ReportContents) -> list[Html]:
    """Return fit and fairness of both models in a table; nothing for models that use S."""
    sighted = contents.sighted
    if sighted is None:
        return []
    k, where = contents.chosen, "training" if contents.folds == 0 else "held-out rows"
    rows = [
        [f"{blind.name}, {where}", _measure(blind, k), _measure(other, 0)]
        for blind, other in zip(contents.accuracy, sighted.accuracy, strict=True)
    ]
    for key, other in sighted.yardstick.items():
        blind = contents.yardstick.get(key)
        if blind is not None:
            rows.append([other.name, _share(blind, k), _share(other, 0)])
    return [
        element("h3", "The price of blindness"),
        table("The same bound without and with the sensitive attributes",
              ["Measure", "Blind (this model)", "With S"], rows),
        element(
            "p",
            "Both models have the same bound; the second one uses the sensitive attributes to "
            "predict. Under a bound on statistical parity of a response that is not gaussian, it "
            "is on the share of deviance there, so compare the measures rather than the bounds.",
            class_="note",
        ),
    ]  # fmt: skip


def _measure(curve: Curve, k: int) -> str:
    text = measure_text(curve.name, float(curve.best_known[k]))
    return text if curve.error is None else f"{text} ± {error_text(curve.name, curve.error[k])}"


def _share(curve: Curve, k: int) -> str:
    training = percent(float(curve.training[k]), 2)
    if curve.held_out is None:
        return f"{training} in training"
    return f"{percent(float(curve.held_out[k]), 2)} held out, {training} in training"


def _inside(name: str) -> str:
    """Write a name as it stands inside a sentence."""
    return f"{name[0].lower()}{name[1:]}"
