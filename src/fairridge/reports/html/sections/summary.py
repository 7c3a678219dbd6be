"""What the report says, in plain words."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from fairridge.arguments import enumerated
from fairridge.markup import Html, element, section
from fairridge.metrics.group_measures import FOUR_FIFTHS
from fairridge.reports.html.board import Board
from fairridge.reports.html.contents import Curve, ReportContents
from fairridge.reports.html.numbers import bound, count, measure, share, unbroken
from fairridge.reports.html.sections.comparison import price_of_blindness
from fairridge.reports.html.sections.measures import (
    LOWEST_RATIO,
    RATIO_OF_MEANS,
    achieved_text,
    amount,
    name_of_bound,
    of_class,
)
from fairridge.reports.html.sections.parts import joined, sentence
from fairridge.reports.html.sections.promises import (
    adjusted_texts,
    means_texts,
    other_prices,
    population_texts,
    ratio_texts,
)

STATUS = {
    "converged": "active: it shapes the model",
    "inactive": "inactive: it changes nothing",
    "jumped": "active: it is met with room to spare",
    "infeasible": "cannot be met",
    "not-converged": "the search did not converge",
    "separated": "void: levels decide the response",
}
# Its name, and by bound its value and what stands below that.
KeyFigure = tuple[str, Callable[[int], str], Callable[[int], str]]


def summary_section(contents: ReportContents, board: Board) -> Html:
    """Return the summary, and key figures at the slider's bound."""
    figures = [
        element(
            "div",
            element("dt", name),
            element("dd", board.each(value)),
            element("dd", board.each(of), class_="of"),
        )
        for name, value, of in (*_of_bound(contents), *_of_groups(contents))
    ]
    lead = element(
        "div", [element("p", unbroken(text)) for text in sentences(contents)], class_="lead"
    )
    overview = element("div", lead, element("dl", figures, class_="key"), class_="overview")
    return section("summary", "In plain words", overview)


def _of_bound(contents: ReportContents) -> Iterator[KeyFigure]:
    held_out, first = contents.dependence.held_out, contents.accuracy[0]
    yield "Bound", partial(name_of_bound, contents), lambda k: STATUS[contents.status[k]]
    yield (
        "Achieved",
        partial(achieved_text, contents),
        lambda k: f"in training{_refitted(contents, k, not contents.bounds_eta)}",
    )
    if not contents.bounds_eta and held_out is not None:
        yield "The same, held out", lambda k: amount(contents, held_out[k]), lambda k: ""
    for curve in contents.dependence_shares.values():
        yield curve.name, curve.text, partial(_in_training, contents, curve)
    yield first.name, first.text, lambda k: f"{first.text(contents.free)} without a bound"


def _in_training(contents: ReportContents, curve: Curve, k: int) -> str:
    """Say where a share was measured, and what it is in training."""
    where = "in training"
    if curve.held_out is not None:
        adjusted = "" if curve.key == "decision_gap" else ", adjusted for chance"
        where = f"held out{adjusted}; training {measure(curve.key, curve.training[k])}"
    refits = _refitted(contents, k, contents.bounds_eta and curve.key == "share_of_eta")
    return unbroken(where + refits)


def _of_groups(contents: ReportContents) -> Iterator[KeyFigure]:
    main, k = contents.main, contents.chosen
    verdicts = ("no group below four fifths", "below four fifths")
    if np.isfinite(main.audits[k].parity_ratio.value):
        yield (
            f"{LOWEST_RATIO.name}{of_class(contents)}",
            partial(LOWEST_RATIO.text, main),
            lambda k: verdicts[main.audits[k].parity_ratio.value < FOUR_FIFTHS],
        )
    if np.isfinite(main.audits[k].mean_ratio.value):
        free = RATIO_OF_MEANS.text(main, contents.free)
        yield (
            f"Lowest ratio of means{of_class(contents)}",
            partial(RATIO_OF_MEANS.text, main),
            lambda k: f"between two groups; {free} without a bound",
        )


def _refitted(contents: ReportContents, k: int, here: bool) -> str:
    """Say how far refits differ, beside the number that is bounded in the chosen model."""
    refits = contents.refits
    if not here or k != contents.chosen or refits is None or not refits.count:
        return ""
    return f"; refits {amount(contents, refits.low)} to {amount(contents, refits.high)}"


def sentences(contents: ReportContents) -> list[str]:
    """Say what was asked, what came out, what it cost, and what is left."""
    # Readers lose their way in figures: a paragraph has three of them at most.
    one_outcome, free = not contents.main.outcome, contents.main.audits[contents.free]
    audit = contents.main.audits[contents.chosen]
    compared = one_outcome and contents.chosen != contents.free
    parts = [
        sentence(contents.subject.favorable),
        *_asked(contents),
        _isolated(contents),
        *_came_out(contents),
        _learned(contents),
        *population_texts(contents),
        _cost(contents),
        *(other_prices(audit, free) if compared else ()),
        *price_of_blindness(contents),
        _decisions(contents) if compared else "",
        *(ratio_texts(audit) if one_outcome else ()),
        *means_texts(audit),
        *adjusted_texts(audit, contents.measure),
    ]
    return [part for part in parts if part]


def _asked(contents: ReportContents) -> list[str]:
    subject = contents.subject
    k, free = contents.chosen, contents.achieved[contents.free]
    family = "Cox" if subject.reads == "times" else subject.family
    several, layer = "s"[: len(subject.predictors) != 1], enumerated(subject.features, most=6)
    rests = (
        f"This {family} model predicts {subject.modeled} from {len(subject.predictors)} "
        f"predictor{several}, using {count(subject.n_rows)} rows"
        f"{f'; its layer reads {layer}' if layer else ''}."
    )
    if k == contents.free:
        said = contents.measure.sentence(amount(contents, free))
        return [rests, f"Its unfairness is not bounded. {said}"]
    text = f"{_bound(contents)} "
    levels = enumerated(contents.separating, most=6) if contents.separating else "some levels"
    came_to = {
        "inactive": "The bound changes nothing, because the model stays below it by itself.",
        "jumped": "It is met with room to spare: no model of this kind lies between.",
        "infeasible": "No model of this kind meets the bound; this one comes as near as possible.",
        "not-converged": "The search did not converge, so that the figures here are provisional.",
        "separated": f"The bound is met as it is defined, and means little: {levels} decide the "
        "response, and through them S returns to the predictions of all others. Merge rare levels "
        "(min_frequency), or set a penalty on predictors.",
    }
    value = "value" if not contents.each else "values"
    otherwise = f"Without a bound the {value} would be {achieved_text(contents, contents.free)}."
    return [rests, text + came_to.get(contents.status[k], otherwise), *_left(contents)]


def _left(contents: ReportContents) -> list[str]:
    """Say what is left of predictions given controls; nothing without any."""
    names = enumerated(contents.measure.given)
    what = f"What is left is what a linear regression on {names} does not explain."
    return [what] if names and contents.measure.of_variance else []


def _bound(contents: ReportContents) -> str:
    """Say what the chosen bound allows, or those of attributes do."""
    k = contents.chosen
    if not contents.each:
        r, percent_ = contents.unfairness[k], contents.unfairness[contents.free] == 1.0
        return f"Its bound is r = {bound(r)}: {contents.measure.at_most(r, percent=percent_)}"
    bounds = ((one.measure, float(one.bounds[k])) for one in contents.each)
    allowed = joined(measure.at_most(r) for measure, r in bounds if r < 1.0)
    return (
        f"It has bounds for single attributes: {allowed} The largest of these is called r; other "
        "values of r keep their proportions."
    )


def _isolated(contents: ReportContents) -> str:
    """Say which rows the model and its bound are without."""
    if not contents.isolated:
        return ""
    rows, levels = sum(contents.isolated.values()), enumerated(contents.isolated, most=6)
    return (
        f"{count(rows)} row{'s' if rows > 1 else ''} of {levels} are isolated, since all rows of "
        "such a level have the same outcome: the model is fitted to the other rows, and the bound "
        "is about those."
    )


def _came_out(contents: ReportContents) -> list[str]:
    k, curve, refits = contents.chosen, contents.dependence, contents.refits
    text = f"In training it achieves {achieved_text(contents, k)}"
    held_out = "" if curve.held_out is None else amount(contents, curve.held_out[k])
    of_variance = contents.measure.whole in ("scores", "means", "model")
    where = f"on rows that were held out{', adjusted for chance' if of_variance else ''}"
    if contents.each or curve.name != contents.measure.words:
        known = f"{amount(contents, curve.training[k])} on these rows"
        also = f", and {held_out} {where}" if held_out else ""
        text += f". The {curve.name} is {known}{also}."
    else:
        text += f", and {held_out} {where}." if held_out else "."
    parts = [
        text,
        contents.subject.held_out if contents.folds else "",
        _dependence_shares(contents),
    ]
    if refits is not None and refits.count:
        parts.append(
            "In 95 % of the models refitted with the same bound to resampled rows, the "
            f"{curve.name} is between {amount(contents, refits.low)} and "
            f"{amount(contents, refits.high)}. So in the "
            "population it may lie anywhere in that range."
        )
    return parts


def _dependence_shares(contents: ReportContents) -> str:
    """Say the numbers that every model is described by; the key figures have those in training."""
    k, curves = contents.chosen, contents.dependence_shares
    names = {"share_of_eta": "the scores", "share_of_means": "the predicted means"}
    if contents.subject.link == "identity" and "share_of_means" in curves:
        names = {"share_of_means": "the predictions"}
    shares = [
        f"{curves[key].text(k)} of the variance of {name}"
        for key, name in names.items()
        if key in curves
    ]
    where = "In training"
    if contents.folds:
        where = "On rows that were held out, adjusted for chance,"
    if contents.measure.given:
        where = f"Among everyone, {where[0].lower()}{where[1:]}"
    people = enumerated(contents.measure.attributes)
    explain = "together explain" if len(contents.measure.attributes) > 1 else "explains"
    text = f"{where} {people} {explain} {' and '.join(shares)}"
    if "decision_gap" in curves:
        gap = curves["decision_gap"].text(k)
        given = "given a class" if contents.main.outcome else "selected"
        text += f"; the share of rows that are {given} differs by up to {gap} between groups"
    return f"{text}."


def _learned(contents: ReportContents) -> str:
    """Say what a flexible learner of S explains; nothing if there was none."""
    learned = contents.learned
    if learned.value != learned.value:
        return ""
    shown = [share(max(value, 0.0)) for value in (learned.value, learned.low, learned.high)]
    among = "Among everyone, a" if contents.measure.given else "A"
    outcome = contents.main.outcome or contents.subject.outcome
    of_times = contents.subject.reads == "times"
    score = "the log hazard ratios" if of_times else "the predictions"
    score = f"the predicted probability of {outcome}" if outcome else score
    return (
        f"{among} flexible learner of the sensitive attributes, which also sees dependence that is "
        f"not linear, explains {shown[0]} (interval {shown[1]} to {shown[2]}) of the variance of "
        f"{score}."
    )


def _cost(contents: ReportContents) -> str:
    curve, k = contents.accuracy[0], contents.chosen
    text = f"{curve.name} is {curve.text(k)} {curve.on_rows}"
    if k != contents.free:
        text += f", against {curve.text(contents.free)} without a bound"
    error = curve.error_text(k)
    return f"{text}; its standard error is {error}." if error else f"{text}."


def _decisions(contents: ReportContents) -> str:
    decisions, k = contents.main.decisions, contents.chosen
    if decisions is None:
        return ""
    return (
        f"If a row is selected when {contents.subject.rule}, then {count(decisions.changed[k])} "
        f"decisions differ from those of the model without a bound: the bound selects "
        f"{count(decisions.all_gained[k])} of these rows, and no longer the others."
    )
