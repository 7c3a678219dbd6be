"""What the method does not promise."""

from __future__ import annotations

from fairridge.arguments import enumerated
from fairridge.markup import Html, element, section
from fairridge.reports.html.contents import ReportContents

LIMITS = (
    (
        "r = 0 means uncorrelated, not independent.",
        "The bound is on what sensitive attributes explain linearly. Scores may still depend "
        "on them in other ways: in their spread, through curved relations, or in "
        "combinations of attributes. KS and Wasserstein distances in the group tables show "
        "such dependence.",
    ),
    (
        "Sensitive attributes are needed for every prediction.",
        "They are used to take their part out of the predictors, so two people who differ "
        "only in them get different scores, by design. A model without them is another "
        "model, which proxies can make less fair. Whether they may be used, and how, is a "
        "question of law.",
    ),
    (
        "Training is not the population.",
        "The bound holds exactly in the training rows. The held-out rows and the refits show "
        "how far it carries; they do not show how the population will change.",
    ),
    (
        "Other ideas of fairness may disagree.",
        "Equal scores between groups, equal error rates and calibration cannot all hold at "
        "once if the groups' responses differ. The tables show all three.",
    ),
    (
        "Only what was named is protected.",
        "Attributes that are not listed as sensitive are predictors, and a response that "
        "records past discrimination is taken at face value.",
    ),
    (
        "Ratios are a screen.",
        "The four-fifths rule is a rule of thumb, unstable in small groups; it does "
        "not decide whether a practice is lawful.",
    ),
)
OWN_SCALE = (
    "The bound is on the model's own scale.",
    "It concerns {} and the deviance; what people see, such as probabilities "
    "and decisions at a threshold, is a curved function of those. Selection rates "
    "can differ between groups even at r = 0.",
)
PREDICTIONS = (
    "Predictions are not decisions.",
    "The bound concerns the {}. Shares above a threshold can differ between groups even at r = 0.",
)
CONTROLS = (
    "Reasons that were accepted are taken as given.",
    "The bound is on differences among people of the same {}. Whether {} may justify differences, "
    "or is itself a result of discrimination, is a question of law.",
)
# No address: the report is read without a network, and long after a site may have moved.
MORE = (
    "The page “Limits” of fairridge's documentation (docs/limits.md in its source distribution) "
    "says more: what each definition does not do, and which rules of law often matter."
)


def limits_section(contents: ReportContents) -> Html:
    """Return the limits that apply to this model."""
    items = [element("li", element("b", title), " ", text) for title, text in limits_of(contents)]
    limits = element("ul", items, class_="limits")
    return section("limits", "What this does not guarantee", limits, element("p", MORE))


def limits_of(contents: ReportContents) -> list[tuple[str, str]]:
    """Return titles and texts of the limits that apply to this model."""
    times = contents.subject.reads == "times"
    first, needed, *others = LIMITS
    measure = contents.measure
    if contents.subject.needs_sensitive:
        others.insert(0, needed)
    if measure.given:
        names = enumerated(measure.given)
        others.insert(0, (CONTROLS[0], CONTROLS[1].format(names, names)))
    if measure.whole == "means" or (contents.subject.link == "identity" and not times):
        return [first, (PREDICTIONS[0], PREDICTIONS[1].format(measure.called)), *others]
    what = "log hazard ratios" if times else "scores"
    return [first, (OWN_SCALE[0], OWN_SCALE[1].format(what)), *others]
