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
from fairridge.data import Table, as_table, make_frame, name_of, weights
from fairridge.data.vectors import labels
from fairridge.exceptions import BoundWarning
from fairridge.metrics import Favorable, favorable_outcome, find_label
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
        names = ("unfairness", "train_value", "value", "p_value", "passed")
        return make_frame({k: [step[k] for step in self.steps] for k in names}, self._backend)

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
    own = _Rows(models[0], X, y, sensitive_features, sample_weight, rule, wanted)
    held = _Rows(
        models[0], X_held, y_held, sensitive_features_held, sample_weight_held, rule, wanted
    )
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
        return ChosenBound(None, None, False, confidence, tuple(steps), wanted, as_table(X).backend)
    last = start + passed - 1
    found = float(bounds[last]), models[last]
    return ChosenBound(*found, True, confidence, tuple(steps), wanted, as_table(X).backend)


class _Rows:
    """Rows on which many models are judged by one rule."""

    def __init__(
        self,
        fitted: Any,
        X: Any,
        y: Any,
        sensitive_features: Any,
        sample_weight: Any,
        rule: Rule,
        wanted: Favorable,
    ) -> None:
        table, design = as_table(X), fitted._design
        n = table.shape[0]
        weight = weights(sample_weight, n)
        self._weight: Floats = np.ones(n) if weight is None else weight
        self._X, self._S, self._rule, self._wanted = X, sensitive_features, rule, wanted
        attributes = (
            as_table(sensitive_features, argument="sensitive_features")
            if design.separate
            else _sensitive_columns(design, table)
        )
        self._groups = groupings(attributes, self._weight, bins=BINS, intersections=False)
        self._favorable = None
        if is_classifier(fitted):
            truth = labels(y, n, "y")
            self._favorable = (truth == _positive(fitted, rule)) == wanted.high

    def judged(self, model: Any) -> JudgedRows:
        """Return what a model decides for these rows."""
        if is_classifier(model):
            column = model.classes_.tolist().index(_positive(model, self._rule))
            score = model.predict_proba(self._X, sensitive_features=self._S)[:, column]
            score = score if self._wanted.high else 1.0 - score
        else:
            score = model.predict(self._X, sensitive_features=self._S)
            if not self._wanted.high:  # below the threshold is above it, seen from there
                score = 2.0 * getattr(self._rule, "threshold", 0.0) - score
        return JudgedRows(score, self._favorable, self._groups, self._weight)


def _sensitive_columns(design: Any, table: Table) -> Table:
    if design.names is not None and table.names is not None:
        places = [table.names.index(design.names[k]) for k in design.positions_sensitive]
        return table.select(places)
    return table.select(design.positions_sensitive)


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
