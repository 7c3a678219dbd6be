"""The bound chosen by a rule on decisions, with confidence, on held-out rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fairridge._typing import Floats, TableLike, VectorLike
from fairridge._warnings import warn_user
from fairridge.arguments import check_bounds, check_option
from fairridge.data import as_table, columns_of, name_of
from fairridge.data.pipelines import bound_parameter
from fairridge.exceptions import BoundWarning
from fairridge.metrics.favorable import Favorable, favorable_outcome, wanted_outcome
from fairridge.metrics.group_table import SMALL_GROUP_ROWS
from fairridge.metrics.groups import BINS, Grouping, groupings, numbers_beyond
from fairridge.metrics.scored_rows import ScoredRows
from fairridge.rules import Compared, JudgedRows, Rule
from fairridge.tables import Column, Table, Tabular
from fairridge.validation.same_rows import refuse_training_rows
from fairridge.validation.scored_model import PassedRows, ScoredModel, read_rows, scored_model

FAIREST = "for the fairest model on the training rows, "
NO_OTHER = (
    "No other bound was tried. Hold out more rows, merge groups, bound what the rule is about "
    '(definition="mean-parity" for rates and means, "mean-opportunity" for true-positive rates), '
    "or use S to predict if the model is blind."
)
# Bounds to walk over if none are given: dense where models differ most.
BOUNDS = (0.0, *np.geomspace(0.001, 1.0, 30).tolist())
# How columns of the walk are printed.
STEPS = {
    "unfairness": ("bound r", ".4g"),
    "train_value": ("in training", ".4f"),
    "value": ("held out", ".4f"),
    "p_value": ("p-value", ".3g"),
    "passed": ("result", ""),
}


@dataclass(frozen=True, repr=False)
class ChosenBound(Tabular):
    """The largest bound whose decisions meet a rule, with confidence.

    Attributes
    ----------
    unfairness : float or None
        The bound; None if no model was granted, or if the model has no bound.
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
    passed_over : tuple of str
        Groups of held-out rows that are below the rule's `minimum_share`, with their shares.

    See Also
    --------
    fairridge.choose_bound : Makes it.

    References
    ----------
    .. [1] docs/decisions.md.

    Examples
    --------
    >>> from fairridge import FairRidgeClassifier
    >>> from fairridge.datasets import load_german_credit
    >>> credit = load_german_credit()
    >>> X, y = credit.X[["Age", "Gender", "Duration"]], credit.y
    >>> from fairridge import choose_bound
    >>> from fairridge.rules import MeanGap
    >>> model = FairRidgeClassifier(sensitive="Gender", definition="mean-parity")
    >>> found = choose_bound(model, X[:500], y[:500], X[500:], y[500:], rule=MeanGap(0.1))
    >>> print(found.model is not None, found.confidence, len(found.steps) > 1)
    True 0.9 True
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
    passed_over: tuple[str, ...] = ()
    _backend: Any = None

    @property
    def tested(self) -> Any:
        """A frame with one row per tested bound: measures, p-value, whether it passed."""
        return self.to_frame()

    def _tables(self) -> list[Table]:
        results = ["passed" if step["passed"] else "failed" for step in self.steps]
        columns = {
            name: Column(values, *STEPS[name], texts=results if name == "passed" else None)
            for name, values in columns_of(self.steps).items()
        }
        facts = [("Favorable outcome", self.favorable.with_reason), *self.facts.items()]
        title = "Bounds tested on held-out rows, in this order"
        return [Table(title, columns, facts, (), self._backend, listed=True)]

    @property
    def facts(self) -> dict[str, str]:
        """What was asked and found, by name, for reports."""
        found = {
            "Answer": self._answer,
            "Rule": repr(self.rule),
            "Confidence": f"{self.confidence:g}",
        }
        if self.p_value is not None:
            found["p-value of the bound"] = f"{self.p_value:.3g}"
        if self.nearest is not None:
            found["Nearest to breaking the rule"] = str(self.nearest)
        if self.failed is not None:
            bound = self.steps[-1]["unfairness"]
            where = f" at r = {bound:.4g}" if bound == bound else ""
            found[f"Failed{where}"] = str(self.failed)
        if self.untested:
            found["Not tested"] = "; ".join(map(untested_words, self.untested))
        if self.passed_over:
            found["Below the minimum share"] = "; ".join(self.passed_over)
        return found

    @property
    def _answer(self) -> str:
        with_confidence = f"with confidence {self.confidence:g}"
        if self.granted:
            ignored = ", for the groups that were tested" if self.untested else ""
            what = "the model" if self.unfairness is None else f"unfairness = {self.unfairness:g}"
            return f"{what} meets the rule {with_confidence}{ignored}"
        if self.steps and not self.steps[0]["passed"]:
            if np.isnan(self.steps[0]["unfairness"]):
                return f"the model does not meet the rule {with_confidence}"
            return f"no bound meets the rule {with_confidence}"
        return "undecided: groups could not be tested"


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
        A linear or stacked model of fairridge, any other with a parameter `unfairness`, or a
        `Pipeline` with one of these as its last step; their own bound does not matter. Any
        other classifier or regressor must be fitted, and is tested as it is; it needs
        `sensitive_features`.
    X, y, sensitive_features, sample_weight, offset, exposure
        Training rows, as in `fit`.
    X_held, y_held, sensitive_features_held, sample_weight_held, offset_held, exposure_held
        Other rows of the same population. With the log link rules are about predicted rates,
        per unit of exposure, and rows are weighted by it; under other links an offset is a part
        of the score of a row.
    rule : Rule
        From `fairridge.rules`.
    confidence : float, default=0.9
        Confidence 1 − δ with which the rule holds.
    unfairness : sequence of float, optional
        The bounds; 0 and 30 more up to 1 by default.
    untested : {"refuse", "ignore"}, default="refuse"
        What groups mean that have fewer than 30 held-out rows (in effect, if rows have
        weights), or none while training rows have some: "refuse" grants nothing, and the
        answer is undecided; "ignore" gives a guarantee for the other groups. Either way they
        are named.

    Returns
    -------
    ChosenBound
        The tested model. To refit it on all rows voids the guarantee.

    See Also
    --------
    fairridge.rules.AdverseImpact : The four-fifths rule.
    fairridge.rules.OpportunityGap : A rule on true-positive rates.
    fairridge.Monitor : Whether the bound keeps on new rows.

    References
    ----------
    .. [1] Bauer (1991), Multiple testing in clinical trials, Statistics in Medicine 10,
        871–890.
    .. [2] docs/decisions.md.

    Examples
    --------
    >>> from fairridge import FairRidgeClassifier
    >>> from fairridge.datasets import load_german_credit
    >>> credit = load_german_credit()
    >>> X, y = credit.X[["Age", "Gender", "Duration"]], credit.y
    >>> from fairridge import choose_bound
    >>> from fairridge.rules import MeanGap
    >>> model = FairRidgeClassifier(sensitive="Gender", definition="mean-parity")
    >>> found = choose_bound(model, X[:500], y[:500], X[500:], y[500:], rule=MeanGap(0.1))
    >>> print(found.granted, found.unfairness)
    True 1.0
    """
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence={confidence!r} must lie strictly between 0 and 1.")
    check_option("untested", untested, ("refuse", "ignore"))
    bounds = np.unique(check_bounds(BOUNDS if unfairness is None else unfairness))
    own = PassedRows(X, y, sensitive_features, sample_weight, offset, exposure)
    held = PassedRows(
        X_held, y_held, sensitive_features_held, sample_weight_held, offset_held, exposure_held
    )
    whole = scored_model(model)
    _check_rule(rule, own, held)
    _check_offsets(whole, own, held)
    whole = whole.with_steps_fitted(own)
    own, held = (whole.after_steps(rows) for rows in (own, held))
    refuse_training_rows(own, held)
    whole = whole.with_learners_fitted(own)
    inside = replace(whole, steps=None)
    inner, own = inside.training_rows(own)
    bounds, models = _candidates(scored_model(inner), bounds, own)
    found = _tested(bounds, models, own, inside.inner_rows(held), rule, confidence, untested)
    _warn(found)
    if found.granted and whole.fair:  # for reports, also of a model that was saved
        found.model.chosen_ = {"Fingerprint": found.model.fingerprint_} | found.facts
    chosen = whole.with_linear(found.model) if found.granted else None
    return replace(found, model=chosen, _backend=as_table(X).backend)


def _check_rule(rule: Rule, own: PassedRows, held: PassedRows) -> None:
    """Raise unless this is a rule, and it can be about a weighted population."""
    if own.sample_weight is not None and held.sample_weight is None:
        raise ValueError(
            "sample_weight weights the training rows only: pass sample_weight_held=… for the "
            "held-out rows, too (ones if they count alike)."
        )
    if not isinstance(rule, Rule):
        raise TypeError(
            f"rule={rule!r} is not a rule; pass one of fairridge.rules, such as AdverseImpact()."
        )


def _check_offsets(model: ScoredModel, own: PassedRows, held: PassedRows) -> None:
    """Raise unless both have the same offsets, and the model takes these."""
    for rows in (own, held):
        model.refuse_offsets(offset=rows.offset, exposure=rows.exposure)
    for name in ("offset", "exposure"):
        given, given_held = (getattr(rows, name) is not None for rows in (own, held))
        if given != given_held:
            which = "held-out" if given else "training"
            raise ValueError(
                f"the {which} rows have no {name}, and the others have one: pass both {name}=… "
                f"and {name}_held=…, or neither."
            )


def _candidates(
    model: ScoredModel, bounds: Floats, own: PassedRows
) -> tuple[Floats, Sequence[ScoredModel]]:
    """Return models for all bounds; a model that has none stands for itself."""
    if model.fair:
        path = model.given.path(own.X, own.y, unfairness=bounds, **model.beside(own))
        return bounds, [scored_model(path.at(float(r))) for r in bounds]
    if bound_parameter(model.given) is None:
        check_is_fitted(model.given)
        return np.full(1, np.nan), [model]
    return bounds, [model.fitted(own, float(r)) for r in bounds]


def _tested(
    bounds: Floats,
    models: Sequence[ScoredModel],
    training: PassedRows,
    held: PassedRows,
    rule: Rule,
    confidence: float,
    untested: str,
) -> ChosenBound:
    """Walk from the fairest model on training rows to the last that passes on others."""
    training, held = training.present, held.present
    wanted, code = _wanted(models[0], rule, name_of(training.y))
    threshold = getattr(rule, "threshold", 0.0)
    ours, theirs = (
        _Readable.of(models[0], rows, wanted.high, threshold, code) for rows in (training, held)
    )
    own = [ours.judged(model) for model in models]
    start = int(np.argmin([rule.excess(rows) for rows in own]))
    judged, level = map(theirs.judged, models[start:]), 1.0 - confidence
    first = theirs.judged(models[start])
    missing = tuple(_untested(rule, own[start], first, ours.cut | theirs.cut))
    undecided = bool(missing) and untested == "refuse"
    walk = []
    if not undecided or rule.testable(first):
        walk = list(_walk(rule, bounds[start:], own[start:], judged, level))
    return _concluded(rule, confidence, walk, models[start:], missing, undecided, wanted)


@dataclass(frozen=True)
class _Readable:
    """Rows that several models are judged on, read once."""

    rows: ScoredRows  # with the scores of one of the models
    # As models read them.
    X: Any
    S: Any
    high: bool  # whether high scores are favorable
    threshold: float  # what numbers are compared with
    code: int | None  # of the class whose probability is looked at; None for numbers

    @classmethod
    def of(
        cls, model: ScoredModel, given: PassedRows, high: bool, threshold: float, code: int | None
    ) -> _Readable:
        """Read rows of positive weight for a model, and for others like it."""
        inputs, rows = read_rows(model, given)
        X, S = given.X, given.sensitive_features
        if model.fair:
            X, S = inputs.table, inputs.attributes
        return cls(rows, X, S, high, threshold, code)

    def judged(self, model: ScoredModel) -> JudgedRows:
        """Return what a model decides."""
        rows, favorable = replace(self.rows, scores=model.scores(self.X, self.S)), None
        score = rows.shown[:, self.code or 0]
        if self.code is not None:
            favorable = (rows.codes == self.code) == self.high
        if not self.high:  # below the threshold is above it, seen from there
            score = (2.0 * self.threshold if self.code is None else 1.0) - score
        return JudgedRows(score, favorable, self.groups, rows.mean_weight)

    @cached_property
    def groups(self) -> tuple[Grouping, ...]:
        """Groups of the rows by each attribute."""
        assert self.rows.attributes is not None
        return groupings(self.rows.attributes, self.rows.mean_weight)

    @property
    def cut(self) -> set[str]:
        """Attributes that are cut at quantiles of these rows, and so have groups of their own."""
        table = self.rows.attributes
        assert table is not None
        return {table.label(k) for k, many in enumerate(numbers_beyond(table, BINS)) if many}


def _concluded(
    rule: Rule,
    confidence: float,
    walk: Sequence[tuple[dict[str, Any], JudgedRows]],
    models: Sequence[ScoredModel],
    missing: tuple[dict[str, Any], ...],
    undecided: bool,
    wanted: Favorable,
) -> ChosenBound:
    """Take the last bound that passed, unless groups keep the answer open."""
    steps, rows = [step for step, _ in walk], [judged for _, judged in walk]
    passed, level = sum(step["passed"] for step in steps), 1.0 - confidence
    granted = bool(passed) and not undecided
    last, r = passed - 1, steps[passed - 1]["unfairness"] if granted else np.nan
    small = rule.passed_over(rows[0]) if rows else ()
    return ChosenBound(
        unfairness=None if np.isnan(r) else r,
        model=models[last].given if granted else None,
        granted=granted,
        undecided=undecided,
        rule=rule,
        confidence=confidence,
        p_value=steps[last]["p_value"] if granted else None,
        steps=tuple(steps),
        nearest=rule.compared(rows[last], level) if granted else None,
        failed=rule.compared(rows[passed], level) if passed < len(steps) else None,
        untested=missing,
        favorable=wanted,
        passed_over=tuple(f"{p.attribute} = {p.name} ({p.share:.1%})" for p in small),
    )


def _warn(found: ChosenBound) -> None:
    """Say why nothing was granted, or which groups nothing is said of."""
    groups = "; ".join(map(untested_words, found.untested))
    if found.failed is not None and not found.steps[0]["passed"]:
        of_one = np.isnan(found.steps[0]["unfairness"])
        warn_user(
            f"{found._answer}: {'' if of_one else FAIREST}{found.failed}."
            + (f" Not tested: {groups}." if groups else "")
            + ("" if of_one else f" {NO_OTHER}"),
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
    found = [(p.attribute, p.name, int(p.mean.size + 1e-9)) for p in rule.untested(held)]
    for theirs, ours in zip(rule.parts(own), rule.all_parts(held), strict=True):
        there = {part.name for part in ours}
        found += [
            (part.attribute, part.name, 0)
            for part in theirs
            if part.name not in there and part.attribute not in cut
        ]
    names = "attribute", "group", "n_rows", "rows_needed"
    for group in found:
        yield dict(zip(names, (*group, SMALL_GROUP_ROWS), strict=True))


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


def _wanted(model: ScoredModel, rule: Rule, response: str) -> tuple[Favorable, int | None]:
    """Return the outcome that a rule is about, and the code of the class that is looked at."""
    # Names tell the outcome if the rule does not; the class is the modeled one, or that of several.
    if model.classes is None:
        return favorable_outcome(rule.favorable, response), None
    classes, known = model.classes.tolist(), model.given.classes_.tolist()
    named, wanted = wanted_outcome(rule.favorable, response, known, default=classes[1])
    assert wanted is not None
    return wanted, classes.index(named)
