"""The bound chosen by a rule on decisions, with confidence, on held-out rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Literal

import numpy as np
from sklearn.base import is_classifier

from fairridge._typing import Floats, TableLike, VectorLike
from fairridge._warnings import warn_user
from fairridge.arguments import check_bounds, check_option
from fairridge.data import (
    Levels,
    as_table,
    columns_of,
    make_frame,
    name_of,
    offset_names,
)
from fairridge.data.table import labels
from fairridge.estimators._fair_ridge import LinearModel
from fairridge.estimators._responses import Inputs
from fairridge.estimators._training import read_inputs
from fairridge.exceptions import BoundWarning
from fairridge.metrics import (
    Favorable,
    favorable_outcome,
    find_label,
    groupings,
    sensitive_table,
)
from fairridge.metrics.groups import BINS
from fairridge.rules import FEWEST_ROWS, Compared, JudgedRows, Rule
from fairridge.stacking._stacking import FairStacking
from fairridge.validation.same_rows import refuse_training_rows

# Bounds to walk over if none are given: dense where models differ most.
BOUNDS = (0.0, *np.geomspace(0.001, 1.0, 30).tolist())


@dataclass(frozen=True)
class ChosenBound:
    """The largest bound whose decisions meet a rule, with confidence.

    Attributes
    ----------
    unfairness : float or None
        The bound; None if no model was granted.
    model : estimator or None
        The model that was tested. A refit on other rows is not covered. Its attribute `chosen_`
        tells reports by what rule it was chosen.
    granted : bool
        Whether any model passed, with all groups tested or ignored.
    undecided : bool
        Whether groups that could not be tested keep the answer open.
    rule : Rule
        What decisions must satisfy.
    confidence : float
        1 − δ: in at most a share δ of samples a granted model breaks the rule.
    p_value : float or None
        Of the model that was granted.
    steps : tuple of dict
        What was tested, in the order of the walk.
    nearest : Compared or None
        The two groups of the granted model that come nearest to breaking the rule.
    failed : Compared or None
        The two groups at which the walk stopped, with how many rows they would need; None if
        all bounds passed.
    untested : tuple of dict
        Groups with fewer than 30 held-out rows: attribute, group, n_rows (their effective number,
        if rows have weights), and rows_needed.
    favorable : Favorable
        The outcome that the rule is about.
    """

    unfairness: float | None
    model: Any
    granted: bool
    undecided: bool
    rule: Rule
    confidence: float
    p_value: float | None
    steps: tuple[dict[str, Any], ...]
    nearest: Compared | None
    failed: Compared | None
    untested: tuple[dict[str, Any], ...]
    favorable: Favorable
    _backend: Any = None

    @property
    def tested(self) -> Any:
        """A frame with one row per tested bound: measures, p-value, whether it passed."""
        return make_frame(columns_of(self.steps), self._backend)

    @property
    def facts(self) -> dict[str, str]:
        """What was asked and found, by name, for reports."""
        found = {
            "Rule": repr(self.rule),
            "Confidence": f"{self.confidence:g}",
            "Answer": self._answer,
        }
        if self.p_value is not None:
            found["p-value of the bound"] = f"{self.p_value:.3g}"
        if self.nearest is not None:
            found["Nearest to breaking the rule"] = str(self.nearest)
        if self.failed is not None:
            bound = self.steps[-1]["unfairness"]
            found[f"Failed at r = {bound:.4g}"] = str(self.failed)
        if self.untested:
            found["Not tested"] = "; ".join(map(untested_words, self.untested))
        return found

    @property
    def _answer(self) -> str:
        with_confidence = f"with confidence {self.confidence:g}"
        if self.granted:
            ignored = ", for the groups that were tested" if self.untested else ""
            return f"unfairness = {self.unfairness:g} meets the rule {with_confidence}{ignored}"
        if not self.steps[0]["passed"]:
            return f"no bound meets the rule {with_confidence}"
        return "undecided: groups could not be tested"

    def __str__(self) -> str:
        lines = [f"{name}: {value}." for name, value in self.facts.items() if name != "Answer"]
        return "\n".join([str(self.favorable), f"{self._answer}.", *lines, str(self.tested)])


def untested_words(group: dict[str, Any]) -> str:
    """Name a group that was not tested, with its size."""
    return (
        f"{group['attribute']} = {group['group']} ({group['n_rows']:,} held-out rows, "
        f"{group['rows_needed']} are needed)"
    )


def choose_bound(
    model: Any,
    X: TableLike,
    y: Any,
    X_held: Any,
    y_held: Any,
    *,
    rule: Rule,
    confidence: float = 0.9,
    unfairness: Sequence[float] | None = None,
    sensitive_features: TableLike | None = None,
    sensitive_features_held: Any = None,
    sample_weight: VectorLike | None = None,
    sample_weight_held: Any = None,
    offset: VectorLike | None = None,
    offset_held: Any = None,
    exposure: VectorLike | None = None,
    exposure_held: Any = None,
    untested: Literal["refuse", "ignore"] = "refuse",
) -> ChosenBound:
    """Find the largest bound whose decisions meet a rule on new people, with confidence.

    Models for all bounds are fitted to (X, y). The walk starts at the one that
    is fairest by the rule *on those rows*, so that the order is fixed before the
    held-out rows are looked at, and goes on towards the free model while each
    passes its test at level 1 − confidence. No level is divided between steps
    (fixed sequence; Bauer 1991) nor between groups (intersection–union).

    Parameters
    ----------
    model : estimator
        A linear or stacked model of fairridge; its own bound does not matter.
    X, y, sensitive_features, sample_weight, offset, exposure
        Training rows, as in `fit`.
    X_held, y_held, sensitive_features_held, sample_weight_held, offset_held, exposure_held
        Other rows of the same population. With the log link rules are about predicted rates,
        per unit of exposure, and rows are weighted by it; under other links an offset is a part
        of the score of a row.
    rule : Rule
        From `fairridge.rules`.
    confidence : float, default=0.9
        1 − δ.
    unfairness : sequence of float, optional
        The bounds; 0 and 30 more up to 1 by default.
    untested : {"refuse", "ignore"}, default="refuse"
        What groups mean that have fewer than 30 held-out rows (in effect, if rows have
        weights), or none while training rows have some. "refuse": nothing is granted, and the
        answer is undecided. "ignore": the guarantee is for the other groups. Either way they
        are named.

    Returns
    -------
    ChosenBound
        The tested model. To refit it on all rows voids the guarantee.
    """
    if isinstance(model, FairStacking):
        _refuse_offsets(offset, offset_held, exposure, exposure_held)
        given = (X, y, sensitive_features, sample_weight)
        other = (X_held, y_held, sensitive_features_held, sample_weight_held)
        return _chosen_stack(
            model, given, other, rule=rule, confidence=confidence, unfairness=unfairness,
            untested=untested,
        )  # fmt: skip
    if not isinstance(model, LinearModel):
        raise TypeError(
            f"choose_bound needs a linear model of fairridge; {type(model).__name__} is not one."
        )
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence={confidence!r} must lie strictly between 0 and 1.")
    check_option("untested", untested, ("refuse", "ignore"))
    bounds = np.unique(check_bounds(BOUNDS if unfairness is None else unfairness))
    shift, shift_held = (
        model._shift(*pair) for pair in ((offset, exposure), (offset_held, exposure_held))
    )
    _require_same_offsets(offset_names(shift), offset_names(shift_held))
    training = read_inputs(X, sensitive_features, sample_weight, shift)
    held = read_inputs(X_held, sensitive_features_held, sample_weight_held, shift_held)
    path = model.path(
        X,
        y,
        unfairness=bounds,
        sensitive_features=sensitive_features,
        sample_weight=sample_weight,
        offset=offset,
        exposure=exposure,
    )
    models = [path.at(float(r)) for r in bounds]
    wanted = _wanted(models[0], rule, name_of(y))
    own = list(_judged(models, training, y, rule, wanted))
    start = int(np.argmin([rule.excess(rows) for rows in own]))
    judged = _judged(models[start:], held, y_held, rule, wanted)
    first = next(judged)  # not before a model has refused rows that it cannot read
    refuse_training_rows(training, y, held, y_held)
    level = 1.0 - confidence
    walk = list(_walk(rule, bounds[start:], own[start:], chain([first], judged), level))
    design = models[0]._fitted.design
    cut = _cut_attributes(design, training) | _cut_attributes(design, held)
    missing = tuple(_untested(rule, own[start], first, cut))
    undecided = bool(missing) and untested == "refuse"
    found = _concluded(rule, confidence, walk, models[start:], missing, undecided, wanted)
    _warn(found)
    return replace(found, _backend=as_table(X).backend)


def _chosen_stack(
    model: FairStacking, own: tuple[Any, ...], held: tuple[Any, ...], **options: Any
) -> ChosenBound:
    """Choose the bound of the layer, for scores of one cross-fit.

    Parameters
    ----------
    model : FairStacking
        The stacked model.
    own, held : tuple
        X, y, sensitive_features and sample_weight of training and held-out rows.
    **options
        As in `choose_bound`.
    """
    (X, y, S, weight), (X_held, y_held, S_held, weight_held) = own, held
    read = (read_inputs(x, s, w, None) for x, _, s, w in (own, held))
    refuse_training_rows(next(read), y, next(read), y_held)
    stack = copy(model).fit(X, y, sensitive_features=S, sample_weight=weight)
    rows = stack.training_of_layer(*own)
    new = stack.layer_inputs(X_held, sensitive_features=S_held)
    found = choose_bound(
        stack.layer_,
        rows.pop("X"),
        rows.pop("y"),
        new["X"],
        y_held,
        **rows,
        sensitive_features_held=new["sensitive_features"],
        sample_weight_held=weight_held,
        **options,
    )
    return replace(found, model=None if found.model is None else stack.with_layer(found.model))


def _require_same_offsets(own: tuple[str, ...], held: tuple[str, ...]) -> None:
    for name in ("offset", "exposure"):
        if (name in own) != (name in held):
            which = "held-out" if name in own else "training"
            raise ValueError(
                f"the {which} rows have no {name}, and the others have one: pass both {name}=… "
                f"and {name}_held=…, or neither."
            )


def _refuse_offsets(*given: Any) -> None:
    if any(value is not None for value in given):
        raise ValueError("stacked models take no offset and no exposure; leave them out.")


def _concluded(
    rule: Rule,
    confidence: float,
    walk: Sequence[tuple[dict[str, Any], JudgedRows]],
    models: Sequence[Any],
    missing: tuple[dict[str, Any], ...],
    undecided: bool,
    wanted: Favorable,
) -> ChosenBound:
    """Take the last bound that passed, unless groups keep the answer open."""
    steps, rows = zip(*walk, strict=True)
    passed, level = sum(step["passed"] for step in steps), 1.0 - confidence
    failed = rule.compared(rows[passed], level) if passed < len(steps) else None
    found = ChosenBound(
        unfairness=None,
        model=None,
        granted=False,
        undecided=undecided,
        rule=rule,
        confidence=confidence,
        p_value=None,
        steps=steps,
        nearest=None,
        failed=failed,
        untested=missing,
        favorable=wanted,
    )
    if undecided or not passed:
        return found
    last, model = steps[passed - 1], models[passed - 1]
    found = replace(
        found,
        unfairness=last["unfairness"],
        model=model,
        granted=True,
        p_value=last["p_value"],
        nearest=rule.compared(rows[passed - 1], level),
    )
    # For reports, also of a model that was saved.
    model.chosen_ = {"Fingerprint": model.fingerprint_} | found.facts
    return found


def _warn(found: ChosenBound) -> None:
    """Say why nothing was granted, or which groups nothing is said of."""
    groups = "; ".join(map(untested_words, found.untested))
    if found.failed is not None and not found.steps[0]["passed"]:
        warn_user(
            f"no bound meets the rule with confidence {found.confidence:g}: for the fairest model "
            f"on the training rows, {found.failed}."
            + (f" Not tested: {groups}." if groups else ""),
            BoundWarning,
        )
    elif found.undecided:
        warn_user(
            f"undecided, as groups have too few held-out rows to be tested: {groups}. Hold out "
            'more rows, merge groups, or leave them out of the statement with untested="ignore".',
            BoundWarning,
        )
    elif found.untested:
        warn_user(f"the guarantee leaves out groups that were not tested: {groups}.", BoundWarning)


def _untested(
    rule: Rule, own: JudgedRows, held: JudgedRows, cut: set[str]
) -> Iterator[dict[str, Any]]:
    """Name groups of held-out rows that are too small, and those that have no such rows at all."""
    for part in rule.untested(held):
        yield _group(part.attribute, part.name, int(part.size + 1e-9))
    for theirs, ours in zip(rule.parts(own), rule.parts(held), strict=True):
        there = {part.name for part in ours}
        for part in theirs:
            if part.name not in there and part.attribute not in cut:
                yield _group(part.attribute, part.name, 0)


def _cut_attributes(design: Any, inputs: Inputs) -> set[str]:
    """Return the attributes that are cut at quantiles of these rows, and so have own groups."""
    S = sensitive_table(design, inputs.table, inputs.attributes if design.separate else None)
    columns = ((S.label(k), S.column(k)) for k in range(S.shape[1]))
    return {
        name
        for name, column in columns
        if not isinstance(column, Levels) and len(np.unique(column)) > BINS
    }


def _group(attribute: str, name: str, n_rows: int) -> dict[str, Any]:
    return {"attribute": attribute, "group": name, "n_rows": n_rows, "rows_needed": FEWEST_ROWS}


def _walk(
    rule: Rule, bounds: Floats, own: Sequence[JudgedRows], held: Iterable[JudgedRows], level: float
) -> Iterator[tuple[dict[str, Any], JudgedRows]]:
    """Test one bound after the other, until one does not pass."""
    for r, training, rows in zip(bounds, own, held, strict=False):
        p = rule.p_value(rows)
        step = {
            "unfairness": float(r),
            "train_value": rule.value(training),
            "value": rule.value(rows),
            "p_value": p,
            "passed": p <= level,
        }
        yield step, rows
        if not p <= level:
            return


def _judged(
    models: Sequence[Any], inputs: Inputs, y: Any, rule: Rule, wanted: Favorable
) -> Iterator[JudgedRows]:
    """Yield what one model after the other decides for the same rows."""
    design, link, groups = models[0]._fitted.design, models[0].family_.link, None
    weight = inputs.judged_weights(link)
    given: dict[str, Any] = {"sensitive_features": inputs.attributes}
    if link != "log":  # rates are predictions without the offset
        given["offset"] = inputs.offset
    favorable, column = None, None
    if is_classifier(models[0]):
        positive = _positive(models[0], rule)
        column = models[0].classes_.tolist().index(positive)
        favorable = (labels(y, inputs.n_given, "y", inputs.keep) == positive) == wanted.high
    for model in models:
        if column is None:
            score = model.predict(inputs.table, **given)
            if not wanted.high:  # below the threshold is above it, seen from there
                score = 2.0 * getattr(rule, "threshold", 0.0) - score
        else:
            score = model.predict_proba(inputs.table, **given)
            score = score[:, column] if wanted.high else 1.0 - score[:, column]
        if groups is None:  # not before a model has refused rows that it cannot read
            S = inputs.attributes if design.separate else None
            groups = groupings(sensitive_table(design, inputs.table, S), weight)
        yield JudgedRows(score, favorable, groups, weight)


def _wanted(model: Any, rule: Rule, response: str) -> Favorable:
    """Return the outcome that a rule is about, which names tell if the rule does not."""
    if not is_classifier(model):
        return favorable_outcome(rule.favorable, response)
    positive = _positive(model, rule)
    return favorable_outcome(rule.favorable, response, positive, model.classes_.tolist())


def _positive(model: Any, rule: Rule) -> Any:
    """Return the class whose probability is looked at: the second, or the one of several."""
    classes = model.classes_.tolist()
    named = find_label(rule.favorable, classes) if len(classes) > 2 else None
    return classes[1] if named is None else named
