"""What a linear model prints of itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fairridge.arguments import listed
from fairridge.data.classes import labels_by_code
from fairridge.data.columns import CategoricalColumn
from fairridge.estimators._flips import flips_text
from fairridge.estimators._model import (
    attribute_facts,
    bound_sentences,
    bound_text,
    bounded_measure,
)
from fairridge.estimators._reached import (
    bounds_reached,
    differences_reached,
    fit_reached,
    scoring_text,
)
from fairridge.metrics.dependence_shares import WORDS
from fairridge.metrics.measure import control_names
from fairridge.metrics.training_groups import DIFFERENCES, EVERYONE
from fairridge.reports import CoefficientRow, Summary
from fairridge.reports.summary import INFLATION_REMARK

# Share of the rows below which a base level is rare.
RARE_BASE_SHARE = 0.01
# Groups whose totals are shown.
SHOWN_GROUPS = 4
SHARES = {
    "r_squared_sensitive": "Explained by S",
    "r_squared_unconditional": "Without controls",
    "controls_explained_by_sensitive": "S explains of controls",
    "r_squared_predictors": "Explained by U",
    "r_squared_response": "Explained by y after S",
    "mean_variance": "Variance of means",
    "all_rows": "With isolated rows",
}
WITH_S = (
    "in the model: effects after what S explains is taken out of the other columns; the limit "
    "acts on these. as you use it: coefficients of the columns as given; those of S also correct "
    "for what the others reveal of S."
)
EXPLAINS = "S explains: share of a predictor's variance that the sensitive attributes explain."
DIFFERENCE = (
    "Difference of a level: of its mean prediction from that of all other rows, in standard "
    "deviations within the two."
)
IMPACT = "Impact ratio: lowest share of a group that is given the class, over the highest."


def summarize(model: Any, facts: dict[str, str]) -> Summary:
    """Return coefficients, fit and fairness as an object that prints itself."""
    check_is_fitted(model)
    labels = getattr(model, "classes_", None) if np.ndim(model.alpha_) == 2 else None
    rows = [
        row
        for k in range(1 if labels is None else len(labels))
        for row in _coefficient_rows(model, k, "" if labels is None else f" → {labels[k]}")
    ]
    isolated = list(getattr(model, "isolated_", {}))
    notes = [f"Bound: {said}" for said in bound_sentences(model)]
    notes += [*_columns_text(model), EXPLAINS]
    ratios = getattr(model, "total_ratios_", {})
    if facts:
        # Groups of few people have no means to compare.
        if DIFFERENCES["standardized_mean_difference"] in facts:
            notes.append(DIFFERENCE)
        notes += [IMPACT] if hasattr(model, "classes_") else []
        notes += totals_text(ratios)
    else:
        notes += farthest_text(ratios)
    notes.append(scoring_text(model))
    notes += filter(None, [flips_text(getattr(model, "sign_flips_", {}))])
    notes += _rare_bases(model._design.predictors.inner)
    if any(row.inflation >= INFLATION_REMARK for row in rows):
        notes.append(
            "VIF: variance inflation factor, 1/(1 − R²) of a predictor on S and the other ones, "
            f"where it is {INFLATION_REMARK:g} or more."
        )
    if isolated:
        notes.append(f"isolated, since all their rows have the same outcome: {listed(isolated)}.")
    if getattr(model, "status_", "") == "separated":
        notes.append(
            "separated: the bound is nominally met, but meaningless, since levels decide the "
            "response. "
            "Merge rare levels (min_frequency), or set a predictor_penalty."
        )
    return Summary(
        _title(model),
        tuple(facts.items()),
        tuple(rows),
        tuple(notes),
        model._backend,
        (*bounds_reached(model), *differences_reached(model)),
        fit_reached(model),
    )


def _title(model: Any) -> str:
    """Say what is modeled, of how many rows, and which columns are S."""
    measure, modeled = bounded_measure(model), _modeled_class(model)
    what = next(iter(modeled.values()), f"{model.family_.name} family")
    given = f", given {listed(measure.given, write=str)}" if measure.given else ""
    return (
        f"{type(model).__name__}: {what}, {model.n_rows_:,} rows\n"
        f"S = {listed(measure.attributes, write=str)}{given}"
    )


def _columns_text(model: Any) -> list[str]:
    """Say what the two columns of coefficients are; nothing if there is one."""
    if not model._fitted.traits.needs_sensitive:
        return []
    design, settings = model._fitted.design, model._fitted.settings
    controls = control_names(design, getattr(settings, "controls", None))
    through = f" Those of S have in them what S explains through {listed(controls, write=str)}."
    return [WITH_S + (through if controls else "")]


def farthest_text(ratios: dict[str, dict[str, float]]) -> list[str]:
    """Name the group whose predictions are farthest too high or too low, if any is known."""
    groups = [name for name in ratios if not name.startswith(EVERYONE)]
    if not groups:
        return []
    name = max(groups, key=lambda group: abs(np.log(ratios[group]["ratio"])))
    ratio, low, high = (ratios[name][key] for key in ("ratio", "low", "high"))
    way = "low" if ratio < 1.0 else "high"
    return [
        f"Farthest off is {name}: predictions are {100.0 * abs(ratio - 1.0):.0f} % too {way} "
        f"in total (predicted over observed {ratio:.2f}, {low:.2f} to {high:.2f}). All groups: "
        "total_ratios_."
    ]


def totals_text(ratios: dict[str, dict[str, float]]) -> list[str]:
    """Say what predictions add up to in all rows, and in the groups where they are farthest off."""
    if not ratios:
        return []

    def farthest(names: Sequence[str], most: int) -> list[str]:
        return sorted(names, key=lambda name: -abs(np.log(ratios[name]["ratio"])))[:most]

    everyone = [name for name in ratios if name.startswith(EVERYONE)]
    groups = [name for name in ratios if name not in everyone]
    shown = [*farthest(everyone, 1), *farthest(groups, SHOWN_GROUPS)]
    texts = [
        f"{name} {found['ratio']:.3g} ({found['low']:.3g} to {found['high']:.3g})"
        for name, found in ((name, ratios[name]) for name in shown)
    ]
    hidden = len(ratios) - len(shown)
    rest = f"; {hidden} others are nearer to 1" if hidden else ""
    return [f"Total predicted over total observed (95 % interval): {'; '.join(texts)}{rest}."]


def _offset_facts(model: Any) -> dict[str, str]:
    """Say what an offset is: the logarithm of an exposure, or a part of every score."""
    if not model._fitted.offsets:
        return {}
    if model.family_.link == "log":
        return {"Exposure": "given, so means are rates"}
    return {"Offset": "given, a part of scores"}


def _rare_bases(encoding: Any) -> list[str]:
    """Name base levels that coefficients are compared with few rows of."""
    return [
        f"The base level {column.name}[{column.levels[column.base]}] has "
        f"{100.0 * column.shares[column.base]:.2g} % of the rows, so all coefficients of "
        f"{column.name} have large errors: choose another one (base='most-frequent')."
        for column in encoding.columns
        if isinstance(column, CategoricalColumn) and column.shares[column.base] < RARE_BASE_SHARE
    ]


def bound_facts(model: Any) -> dict[str, str]:
    """Return labels and values that describe a model under a bound."""
    fitted, measure = model._fitted, bounded_measure(model)
    traits = fitted.traits
    if isinstance(model.unfairness_, dict):
        bounds = dict(attribute_facts(model, 6))
    else:
        bounds = {
            "Bound r": "none" if traits.given_penalty else bound_text(fitted.bound),
            "Achieved": f"{model.unfairness_:.6g}",
            traits.multiplier: f"{model.lambda_:.6g}",
            "Status": model.status_,
        }
    facts = {
        "Family": model.family_.name,
        **_modeled_class(model),
        "Rows": f"{model.n_rows_:,}",
        **_offset_facts(model),
        "R²" if model.family_.least_squares else "D²": f"{model.explained_deviance_:.4f}",
        "Log-likelihood": f"{model.loglik_:.2f}",
        "Definition": measure.definition,
        **({"Given": ", ".join(measure.given)} if measure.given else {}),
        **bounds,
    }
    isolated = getattr(model, "isolated_", {})
    if isolated:
        facts["Isolated rows"] = f"{sum(isolated.values()):,}"
    if fitted.settings.sensitive_map is not None:
        facts["Variance of S dropped"] = f"{model.sensitive_dropped_:.4g}"
    # A model of X alone has no U.
    without = () if traits.needs_sensitive else ("r_squared_predictors",)
    parts = model.unfairness_components_.items()
    facts |= {SHARES.get(key, key): f"{value:.6g}" for key, value in parts if key not in without}
    facts |= {WORDS[key]: f"{value:.3g}" for key, value in model.dependence_.items()}
    return facts | _difference_facts(model.group_differences_)


def _difference_facts(differences: dict[str, float]) -> dict[str, str]:
    """Translate the bound: |COR|, differences of means, and impact ratios, the lowest of many."""
    facts, ratios = {}, {}
    for key, value in differences.items():
        name, bracket, label = key.partition("[")
        if bracket:
            ratios[f"{DIFFERENCES[name]}, {label[:-1]}"] = value
        else:
            facts[DIFFERENCES[name]] = f"{value:.3g}"
    shown = ratios if len(ratios) < 3 else dict([min(ratios.items(), key=lambda ratio: ratio[1])])
    return facts | {name: f"{value:.3g}" for name, value in shown.items()}


def _modeled_class(model: Any) -> dict[str, str]:
    """Return which of two classes the coefficients refer to."""
    if getattr(model, "positive_", None) is None:
        return {}
    other, modeled = labels_by_code(model)
    return {"Probability of": f"{modeled}, not {other}"}


def _coefficient_rows(model: Any, k: int, suffix: str) -> list[CoefficientRow]:
    design, nan = model._design, float("nan")
    alpha, beta = np.atleast_2d(model.alpha_)[k], np.atleast_2d(model.beta_)[k]
    facts = model._fitted
    raw = facts.by_column(model.coef_)[k]
    intercept, raw_intercept = (
        float(np.atleast_1d(value)[k]) for value in (model.fair_intercept_, model.intercept_)
    )
    nothing = [nan] * len(beta)
    inflation = list(getattr(model, "variance_inflation_", nothing))
    blind = not facts.traits.needs_sensitive
    if blind:  # coefficients are those of the columns as given
        alpha, raw, intercept, inflation = [], beta, raw_intercept, nothing
    rows = []
    if blind or model.family_.has_intercept:  # proportional hazards have none
        rows = [CoefficientRow(f"(intercept){suffix}", "", intercept, raw_intercept, nan)]
    names = [*design.sensitive.names[: len(alpha)], *design.predictors.names]
    roles = ["sensitive"] * len(alpha) + ["predictor"] * len(beta)
    unknown = [nan] * len(alpha)
    explained = [*unknown, *model.explained_by_sensitive_]
    values = zip(names, roles, [*alpha, *beta], raw, explained, [*unknown, *inflation], strict=True)
    return rows + [
        CoefficientRow(f"{name}{suffix}", role, *map(float, numbers))
        for name, role, *numbers in values
    ]
