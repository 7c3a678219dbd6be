"""The bound chosen by a rule on decisions, with confidence, on held-out rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from fairridge._typing import Floats, TableLike, VectorLike
from fairridge._warnings import warn_user
from fairridge.arguments import check_bounds
from fairridge.data import as_table, columns_of, make_frame, name_of, weights
from fairridge.data.vectors import labels
from fairridge.estimators._fair_ridge import LinearModel
from fairridge.exceptions import BoundWarning
from fairridge.metrics import (
    Favorable,
    favorable_outcome,
    find_label,
    groupings,
    sensitive_table,
)
from fairridge.rules import JudgedRows, Rule

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
        The model that was tested. A refit on other rows is not covered.
    granted : bool
        Whether any model passed.
    confidence : float
        1 − δ: in at most a share δ of samples a granted model breaks the rule.
    steps : tuple of dict
        What was tested, in the order of the walk.
    favorable : Favorable
        The outcome that the rule is about.
    """

    unfairness: float | None
    model: Any
    granted: bool
    confidence: float
    steps: tuple[dict[str, Any], ...]
    favorable: Favorable
    _backend: Any = None

    @property
    def tested(self) -> Any:
        """A frame with one row per tested bound: measures, p-value, whether it passed."""
        return make_frame(columns_of(self.steps), self._backend)

    def __str__(self) -> str:
        head = (
            f"unfairness = {self.unfairness:g} meets the rule with confidence {self.confidence:g}."
            if self.granted
            else f"no bound meets the rule with confidence {self.confidence:g}."
        )
        return f"{self.favorable}\n{head}\n{self.tested}"


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
        A linear model of fairridge; its own bound does not matter.
    X, y, sensitive_features, sample_weight
        Training rows.
    X_held, y_held, sensitive_features_held, sample_weight_held
        Other rows of the same population.
    rule : Rule
        From `fairridge.rules`.
    confidence : float, default=0.9
        1 − δ.
    unfairness : sequence of float, optional
        The bounds; 0 and 30 more up to 1 by default.

    Returns
    -------
    ChosenBound
        The tested model. To refit it on all rows voids the guarantee.
    """
    if not isinstance(model, LinearModel):
        raise TypeError(
            f"choose_bound needs a linear model of fairridge; {type(model).__name__} is not one."
        )
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence={confidence!r} must lie strictly between 0 and 1.")
    bounds = np.unique(check_bounds(BOUNDS if unfairness is None else unfairness))
    path = model.path(
        X,
        y,
        unfairness=bounds,
        sensitive_features=sensitive_features,
        sample_weight=sample_weight,
    )
    models = [path.at(float(r)) for r in bounds]
    wanted = _wanted(models[0], rule, name_of(y))
    own = list(_judged(models, X, y, sensitive_features, sample_weight, rule, wanted))
    start = int(np.argmin([rule.excess(rows) for rows in own]))
    held = _judged(
        models[start:], X_held, y_held, sensitive_features_held, sample_weight_held, rule, wanted
    )
    steps = list(_walk(rule, bounds[start:], own[start:], held, 1.0 - confidence))
    passed = sum(step["passed"] for step in steps)
    if not passed:
        warn_user(
            f"no bound meets the rule with confidence {confidence:g}: the fairest model on the "
            f"training rows has p = {steps[0]['p_value']:.3g}. More held-out rows may help.",
            BoundWarning,
        )
    return ChosenBound(
        steps[passed - 1]["unfairness"] if passed else None,
        models[start + passed - 1] if passed else None,
        passed > 0,
        confidence,
        tuple(steps),
        wanted,
        as_table(X).backend,
    )


def _walk(
    rule: Rule, bounds: Floats, own: Sequence[JudgedRows], held: Iterable[JudgedRows], level: float
) -> Iterator[dict[str, Any]]:
    """Test one bound after the other, until one does not pass."""
    for r, training, rows in zip(bounds, own, held, strict=False):
        p = rule.p_value(rows)
        yield {
            "unfairness": float(r),
            "train_value": rule.value(training),
            "value": rule.value(rows),
            "p_value": p,
            "passed": p <= level,
        }
        if not p <= level:
            return


def _judged(
    models: Sequence[Any],
    X: Any,
    y: Any,
    sensitive_features: Any,
    sample_weight: Any,
    rule: Rule,
    wanted: Favorable,
) -> Iterator[JudgedRows]:
    """Yield what one model after the other decides for the same rows."""
    table, design, groups = as_table(X), models[0]._design, None
    n = table.shape[0]
    weight = weights(sample_weight, n)
    weight = np.ones(n) if weight is None else weight
    favorable, column = None, None
    if is_classifier(models[0]):
        positive = _positive(models[0], rule)
        column = models[0].classes_.tolist().index(positive)
        favorable = (labels(y, n, "y") == positive) == wanted.high
    for model in models:
        if column is None:
            score = model.predict(X, sensitive_features=sensitive_features)
            if not wanted.high:  # below the threshold is above it, seen from there
                score = 2.0 * getattr(rule, "threshold", 0.0) - score
        else:
            score = model.predict_proba(X, sensitive_features=sensitive_features)[:, column]
            score = score if wanted.high else 1.0 - score
        if groups is None:  # not before a model has refused rows that it cannot read
            S = (
                as_table(sensitive_features, argument="sensitive_features")
                if design.separate
                else None
            )
            groups = groupings(sensitive_table(design, table, S), weight)
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
