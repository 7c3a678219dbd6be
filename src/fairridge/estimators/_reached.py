"""What a summary says first: what is bounded and reached, and how the model fits."""

from __future__ import annotations

from typing import Any

from fairridge.arguments import enumerated
from fairridge.estimators._certifying import certificate_facts
from fairridge.estimators._model import bounds_of
from fairridge.metrics.favorable import favorable_outcome, plain
from fairridge.metrics.measure import Measure
from fairridge.reports.summary import Reached


def fit_reached(model: Any) -> tuple[Reached, ...]:
    """Return how well the model fits, what the bound took, and its certificate."""
    of_variance = model.family_.least_squares
    explained = "variance explained (R²)" if of_variance else "deviance explained (D²)"
    facts = [
        (explained, f"{100.0 * model.explained_deviance_:.1f} %"),
        *_penalties(model),
        *certificate_facts(getattr(model, "certificate_", None)).items(),
    ]
    if model._fitted.traits.chooses_penalty:
        chosen = "penalty on predictors (λ₂), by cross-validation"
        facts.insert(2, (chosen, f"{model.predictor_penalty_:.4g}"))
    isolated = sum(getattr(model, "isolated_", {}).values())
    if isolated:
        facts.append(("isolated rows", f"{isolated:,}"))
    return tuple(Reached(what, "", value) for what, value in facts)


def scoring_text(model: Any) -> str:
    """Say whether people are scored by their sensitive attributes."""
    names = enumerated(bounds_of(model)[0][0].attributes, most=6)
    if isinstance(model.unfairness_, dict):
        names = enumerated(model.unfairness_, most=6)
    if not model._fitted.traits.needs_sensitive:
        return f"Does not need {names} to score people."
    how = " (blind=False)" if hasattr(model, "blind") else ""
    return f"Needs {names} to score people{how}."


def bounds_reached(model: Any) -> list[Reached]:
    """Return what each bound is on, the bound, and what was reached."""
    traits, found = model._fitted.traits, []
    percent = traits.largest_bound == 1.0
    for measure, r in bounds_of(model):
        value = model.unfairness_
        if isinstance(value, dict):
            value = value[measure.attributes[0]]
        free = traits.given_penalty or r >= traits.largest_bound
        limit = "none" if free else _amount(r, percent)
        found.append(Reached(_label(measure), limit, _amount(value, percent)))
    return found


def _label(measure: Measure) -> str:
    """Say in few words what a bound is on; its sentence says it all."""
    if measure.whole == "other":
        return f"unfairness ({measure.title})"
    who = "S" if measure.columns is None else measure.attributes[0]
    if measure.whole == "model":
        return f"{who} accounts for, of what the model explains"
    return f"{who} explains of the {measure.called}"


def _amount(value: float, percent: bool) -> str:
    return f"{100.0 * value:.2f} %" if percent else f"{value:.4g}"


def differences_reached(model: Any) -> list[Reached]:
    """Translate what is bounded: a correlation, and decisions or means of groups."""
    differences, classes = model.group_differences_, getattr(model, "classes_", None)
    words = {"max_correlation": "largest correlation with S"}
    if classes is None:
        words["standardized_mean_difference"] = (
            "largest difference of a level, in standard deviations"
        )
    found = [
        Reached(text, "", f"{differences[name]:.2f}")
        for name, text in words.items()
        if name in differences
    ]
    if classes is None:
        return found
    # The class that people want, as audits choose it; None of more than two.
    positive = getattr(model, "positive_", None)
    label = None
    if positive is not None:
        label = plain(favorable_outcome(None, "", positive, list(classes)).label)
    ratio = differences.get(f"adverse_impact_ratio[{label}]")
    if label is not None and ratio is not None:
        found.append(Reached(f"share given {label}, lowest ÷ highest", "", f"{ratio:.2f}"))
    gap = model.dependence_.get("decision_gap")
    if gap is not None:
        of_whom = "classes" if label is None else str(label)
        found.append(
            Reached(f"shares given {of_whom}, largest gap", "", f"{100.0 * gap:.1f} points")
        )
    return found


def _penalties(model: Any) -> list[tuple[str, str]]:
    """Return λ, and what became of the search for it."""
    if isinstance(model.status_, dict):
        return [
            (f"penalty on {name} (λ)", f"{model.lambda_[name]:.4g}, {status}")
            for name, status in model.status_.items()
        ]
    sign = model._fitted.traits.multiplier.removesuffix("(r)")
    return [(f"penalty on S ({sign})", f"{model.lambda_:.4g}, {model.status_}")]
