"""The bound chosen by a rule on decisions, with confidence, on held-out rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from fairridge._typing import Floats, TableLike, VectorLike
from fairridge._warnings import warn_user
from fairridge.arguments import check_bounds
from fairridge.data import Table, as_table, make_frame, weights
from fairridge.data.vectors import labels
from fairridge.exceptions import BoundWarning
from fairridge.metrics.groups import groupings
from fairridge.peers._peer import LinearModel
from fairridge.rules import JudgedRows, Rule

__all__ = ["ChosenBound", "choose_bound"]

# Bounds to walk over if none are given: dense where models differ most.
BOUNDS = (0.0, *np.geomspace(0.001, 1.0, 30).tolist())
# Groups of a numeric attribute.
BINS = 4


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
    """

    unfairness: float | None
    model: Any
    granted: bool
    confidence: float
    steps: tuple[dict[str, Any], ...]
    _backend: Any = None

    @property
    def tested(self) -> Any:
        """A frame with one row per tested bound: measures, p-value, whether it passed."""
        names = ("unfairness", "train_value", "value", "p_value", "passed")
        return make_frame({k: [step[k] for step in self.steps] for k in names}, self._backend)

    def __str__(self) -> str:
        head = (
            f"unfairness = {self.unfairness:g} meets the rule with confidence {self.confidence:g}."
            if self.granted
            else f"no bound meets the rule with confidence {self.confidence:g}."
        )
        return f"{head}\n{self.tested}"


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
    own = _Rows(models[0], X, y, sensitive_features, sample_weight, rule)
    held = _Rows(models[0], X_held, y_held, sensitive_features_held, sample_weight_held, rule)
    on_training = [own.judged(one) for one in models]
    start = int(np.argmin([rule.excess(rows) for rows in on_training]))
    steps: list[dict[str, Any]] = []
    for k in range(start, len(models)):
        rows = held.judged(models[k])
        p = rule.p_value(rows)
        steps.append(
            {
                "unfairness": float(bounds[k]),
                "train_value": rule.value(on_training[k]),
                "value": rule.value(rows),
                "p_value": p,
                "passed": p <= 1.0 - confidence,
            }
        )
        if not steps[-1]["passed"]:
            break
    passed = sum(step["passed"] for step in steps)
    if not passed:
        warn_user(
            f"no bound meets the rule with confidence {confidence:g}: the fairest model on the "
            f"training rows has p = {steps[0]['p_value']:.3g}. More held-out rows may help.",
            BoundWarning,
        )
        return ChosenBound(None, None, False, confidence, tuple(steps), as_table(X).backend)
    last = start + passed - 1
    found = float(bounds[last]), models[last]
    return ChosenBound(*found, True, confidence, tuple(steps), as_table(X).backend)


class _Rows:
    """Rows on which many models are judged by one rule."""

    def __init__(
        self, fitted: Any, X: Any, y: Any, sensitive_features: Any, sample_weight: Any, rule: Rule
    ) -> None:
        table, design = as_table(X), fitted._design
        n = table.shape[0]
        weight = weights(sample_weight, n)
        self._weight: Floats = np.ones(n) if weight is None else weight
        self._X, self._S, self._rule = X, sensitive_features, rule
        attributes = (
            as_table(sensitive_features, argument="sensitive_features")
            if design.separate
            else _sensitive_columns(design, table)
        )
        self._groups = groupings(attributes, self._weight, bins=BINS, intersections=False)
        self._favorable = None
        if is_classifier(fitted):
            truth = labels(y, n, "y")
            self._favorable = truth == _class_of(fitted, rule)

    def judged(self, model: Any) -> JudgedRows:
        """Return what a model decides for these rows."""
        if is_classifier(model):
            column = list(model.classes_).index(_class_of(model, self._rule))
            score = model.predict_proba(self._X, sensitive_features=self._S)[:, column]
        else:
            score = model.predict(self._X, sensitive_features=self._S)
            if _is_low(self._rule):  # below the threshold is above it, seen from there
                score = 2.0 * getattr(self._rule, "threshold", 0.0) - score
        return JudgedRows(score, self._favorable, self._groups, self._weight)


def _sensitive_columns(design: Any, table: Table) -> Table:
    if design.names is not None and table.names is not None:
        places = [table.names.index(design.names[k]) for k in design.positions_sensitive]
        return table.select(places)
    return table.select(design.positions_sensitive)


def _class_of(model: Any, rule: Rule) -> Any:
    """Return the favorable class: that of the rule, or the second."""
    if rule.favorable is None:
        return model.classes_[1]
    if rule.favorable not in model.classes_.tolist():
        known = ", ".join(map(repr, model.classes_.tolist()))
        raise ValueError(f"favorable={rule.favorable!r} is not a class of y; use one of {known}.")
    return rule.favorable


def _is_low(rule: Rule) -> bool:
    if rule.favorable not in (None, "low", "high"):
        raise ValueError(f"favorable={rule.favorable!r}: numbers take 'low' or 'high'.")
    return bool(rule.favorable == "low")
