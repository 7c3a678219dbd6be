"""The steps from rows to what the layer is fitted to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _check_method_params, check_is_fitted

from fairridge._typing import Floats, Integers
from fairridge.arguments import is_number, listed
from fairridge.data import Table, as_table
from fairridge.estimators._choosing import N_FOLDS
from fairridge.estimators._responses import Inputs, Response
from fairridge.stacking.crossfit import Deploy, Deployed, Folds, LearnerTask, cross_fit, folds_of
from fairridge.stacking.features import Features, LayerColumns, LayerRows
from fairridge.stacking.learners import (
    PROBABILITY_MARGIN,
    ClassScores,
    MeanScores,
    Scorer,
    boosted_trees,
    name_of,
    native,
    trees_for,
    with_categories,
)

LEARNED = "learned"
# Rounds of E[μ | S], each for the model with the maps before it.
MAP_ROUNDS = 2


@dataclass(frozen=True)
class StackData:
    """A stacked model, and rows of positive weight as they were read for it."""

    model: Any
    seed: int
    inputs: Inputs
    response: Response
    columns: LayerColumns
    rows: LayerRows
    routed: Mapping[str, Any]  # metadata of `fit` by the name of a learner

    @property
    def exposure(self) -> Floats | None:
        """What responses grew over; None if they are as they are."""
        return None if self.inputs.offset is None else np.exp(self.inputs.offset)

    @property
    def learner_weight(self) -> Floats | None:
        """Weights of rows for learners of y: rates count with their exposure."""
        weight, exposure = self.inputs.weight, self.exposure
        return weight if exposure is None else self.inputs.weights * exposure

    def metadata(self, name: str) -> dict[str, Any]:
        """Return what a learner asked for, of the rows of positive weight."""
        given = getattr(self.routed.get(name), "fit", {})
        if not given:
            return {}
        everyone = np.empty((self.inputs.n_given, 1))
        return dict(_check_method_params(everyone, given, indices=self.given))

    @property
    def y(self) -> NDArray[Any]:
        """The response: labels, or numbers."""
        values, classes = self.response.values[:, 0], self.response.classes
        return values if classes is None else np.asarray(classes[values.astype(np.intp)])

    @property
    def targets(self) -> NDArray[Any]:
        """What learners of y are fitted to: numbers of classes, the response, or rates."""
        # Classes are 0, 1, … as in scikit-learn's stacking, since some learners take no labels.
        values = self.response.values[:, 0]
        if self.response.classes is not None:
            return np.asarray(values.astype(np.intp))
        return values if self.exposure is None else values / self.exposure

    @property
    def given(self) -> Integers:
        """Positions of the rows among those that were passed."""
        return np.arange(self.inputs.n_given)[self.inputs.keep]

    @cached_property
    def labels(self) -> tuple[Any, ...]:
        """The classes among whose rows the bound is; empty if it is among all rows."""
        classes = self.response.classes
        codes = self.model._layer()._bounded.counted_classes(self.response.family, classes)
        return () if classes is None else tuple(classes[code] for code in codes)


@dataclass(frozen=True)
class Crossfit:
    """What the layer is fitted to: everything that does not depend on the bound."""

    features: Features
    rows: LayerRows  # those of the layer
    places: Integers  # where they are among the rows that were passed
    scores: Floats  # of these rows, by learners that have not seen them
    mapped: Floats  # what the learned maps make of S in these rows
    beside: dict[str, Any]  # y, sample_weight and exposure

    @cached_property
    def inputs(self) -> dict[str, Any]:
        """X, y, sensitive_features, sample_weight and exposure of the layer."""
        return self.features.layer_inputs(self.rows, self.scores, self.mapped) | self.beside


def crossfit(data: StackData) -> Crossfit:
    """Cross-fit learners and proxies, then the maps of S if they are learned."""
    model, seed, n = data.model, data.seed, data.rows.seen.shape[0]
    deploy: Deploy = model.deploy
    if model._splits:  # one fold: learners from one half score the other
        order = np.random.default_rng(seed).permutation(n)
        folds, deploy = [(np.sort(order[: n // 2]), np.sort(order[n // 2 :]))], "average"
    else:
        of_classes = data.response.classes is not None
        folds = folds_of(model.cv, data.targets, data.given, classes=of_classes, random_state=seed)
    seen, weight = data.rows.seen, data.inputs.weight
    learners, labels, proxies = learner_tasks(data), data.labels, []
    if model.blind:
        encoded: Any = data.rows.encoded
        targets = proxied(labels, data.y, weight, data.columns.attribute_names, encoded)
        proxies = regressions(data, seen, *targets, weight, folds)
    fitted = [] if model.prefit else learners
    scores, deployed = cross_fit(model, [*fitted, *proxies], seen, folds, deploy)
    kept = np.arange(n)
    if fitted or proxies:
        kept = np.sort(np.concatenate([test for _, test in folds]))
    known = deployed[: len(fitted)]
    if model.prefit:
        known = tuple(Deployed(task.names, (task.learner,), task.scorer) for task in learners)
        scores = np.hstack([*(one.scores(native(seen)) for one in known), scores])
    features = Features(
        data.columns, known, deployed[len(fitted) :], (), model.interactions, model.passthrough
    )
    beside = {"y": data.y[kept], "sample_weight": None if weight is None else weight[kept]}
    if data.exposure is not None:
        beside["exposure"] = data.exposure[kept]
    mapped = np.empty((len(kept), 0))
    rows = data.rows.take(kept)
    made = Crossfit(features, rows, data.given[kept], scores[kept], mapped, beside)
    rounds = MAP_ROUNDS if model.sensitive_map == LEARNED else 0
    for number in range(1, 1 + rounds):
        made = _with_map(data, made, number)
    return made


def learner_tasks(data: StackData) -> list[LearnerTask]:
    """Return the learners of y, with the names of their scores."""
    model, given = data.model, data.model.estimators
    family, classes, seen = data.response.family, data.response.classes, data.rows.seen
    if given is None:
        given = boosted_trees(seen, family if classes is None else None, data.seed)
    scorer: Scorer
    if classes is None:
        mean = float(np.average(data.targets, weights=data.learner_weight))
        scorer = MeanScores(family.link, PROBABILITY_MARGIN * (mean if mean > 0.0 else 1.0))
    else:
        # Learners that come fitted know the labels.
        scorer = ClassScores(classes if model.prefit else np.arange(len(classes)))
    tasks: list[LearnerTask] = []
    for name, learner in named_learners(given):
        if not hasattr(learner, "fit"):
            raise TypeError(f"estimators has {learner!r}, which is not a learner: it has no fit.")
        scorer.check(learner)
        if model.prefit:
            check_is_fitted(learner)
            _require_columns(name, learner, seen)
        else:
            learner = with_categories(learner, seen)
        names = [f"score of {name}"]
        if classes is not None and len(classes) > 2:
            names = [f"score of {name}, {label}" for label in classes[1:]]
        tasks.append(
            LearnerTask(
                tuple(names), learner, data.targets, scorer, data.learner_weight,
                data.metadata(name),
            )
        )  # fmt: skip
    return tasks


def _require_columns(name: str, learner: Any, seen: Table) -> None:
    """Raise unless a fitted learner knows the columns that it will see."""
    shown = list(seen.labels)
    known = list(getattr(learner, "feature_names_in_", ()))
    number = len(known) or getattr(learner, "n_features_in_", len(shown))
    if number != len(shown) or (known and seen.backend is not None and set(known) != set(shown)):
        raise ValueError(
            f"the fitted learner {name!r} knows {listed(known) or f'{number} columns'}, and would "
            f"see {listed(shown)}: learners see S beside the other columns unless blind=True. Fit "
            "it to these columns."
        )


def named_learners(estimators: Any) -> list[tuple[str, Any]]:
    """Return learners with their names, which differ."""
    if estimators is None:
        return []
    listed = list(estimators) if isinstance(estimators, list | tuple) else [estimators]
    if not listed:
        raise ValueError("estimators=[] has no learner; pass at least one.")
    named: list[tuple[str, Any]] = []
    counts: Counter[str] = Counter()
    for item in listed:
        name, learner = item if isinstance(item, tuple) else (name_of(item), item)
        counts[name] += 1
        named.append((name if counts[name] == 1 else f"{name} ({counts[name]})", learner))
    return named


def proxied(
    labels: Sequence[Any], y: NDArray[Any], weight: Any, names: Sequence[str], columns: Floats
) -> tuple[list[str], Floats]:
    """Return what a blind layer needs the expectation of, given what learners see, by name."""
    # That is S, or, if the bound is among the rows of some classes, for each of them
    #
    #     1(y = c)(S − E[S | y = c]),
    #
    # because COV(f, S | y = c) P(y = c) is the expectation of its product with f.
    if not labels:
        return list(names), columns
    made = []
    for label in labels:
        among = y == label
        mean = np.average(columns[among], axis=0, weights=None if weight is None else weight[among])
        made.append(among[:, None] * (columns - mean))
    return [f"{name} if {label}" for label in labels for name in names], np.hstack(made)


def regressions(
    data: StackData,
    table: Table,
    names: Sequence[str],
    targets: Floats,
    weight: Floats | None,
    folds: Folds,
) -> list[LearnerTask]:
    """Return one regression for every column of some targets."""
    proxy = data.model.proxy
    if proxy is None:
        proxy = trees_for(table, targets, weight, folds[0], data.seed)
    scorer = MeanScores("identity")
    scorer.check(proxy)
    return [
        LearnerTask((f"expected {name}",), proxy, targets[:, k], scorer, weight)
        for k, name in enumerate(names)
    ]


def _with_map(data: StackData, made: Crossfit, number: int) -> Crossfit:
    """Add E[μ | S] to S, μ the predictions of the layer with the S so far."""
    # A blind model gets the proxies of the new columns as well.
    model, inputs, rows = data.model, made.inputs, made.rows
    layer = model._layer().set_params(confidence=None).fit(**inputs)
    X, S, weight = inputs["X"], inputs["sensitive_features"], inputs["sample_weight"]
    if hasattr(layer, "predict_proba"):
        means, names = layer.predict_proba(X, sensitive_features=S)[:, 1:], layer.classes_[1:]
    else:
        means, names = layer.predict(X, sensitive_features=S)[:, None], ("prediction",)
    n_folds = model.cv if is_number(model.cv) else N_FOLDS
    folds = folds_of(
        n_folds, inputs["y"], np.arange(len(means)), classes=False, random_state=data.seed + number
    )
    table = as_table(rows.encoded)
    titles = [f"{name} by S, round {number}" for name in names]
    tasks = regressions(data, table, titles, means, weight, folds)
    mapped, maps = cross_fit(model, tasks, table, folds, "refit")
    scores, proxies = made.scores, made.features.proxies
    if model.blind:
        again = [name for task in tasks for name in task.names]
        targets = proxied(data.labels, inputs["y"], weight, again, mapped)
        tasks = regressions(data, rows.seen, *targets, weight, folds)
        more, deployed = cross_fit(model, tasks, rows.seen, folds, "refit")
        scores, proxies = np.hstack([scores, more]), (*proxies, *deployed)
    features = replace(made.features, maps=(*made.features.maps, *maps), proxies=proxies)
    mapped = np.hstack([made.mapped, mapped])
    return replace(made, features=features, scores=scores, mapped=mapped)
