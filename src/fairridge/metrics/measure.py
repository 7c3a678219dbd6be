"""What is bounded, or measured: of which scores, among whom, given what; and how it is said."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from fairridge._typing import Floats, Integers
from fairridge.arguments import enumerated
from fairridge.data import Design, Encoding
from fairridge.fairness import Definition
from fairridge.fairness.base import Whole
from fairridge.fairness.means import MeanShare
from fairridge.fairness.scatter_shares import explained_by_sensitive, sequential_share
from fairridge.families import Binomial, Cox, Family, Gaussian
from fairridge.families.distances import Distance
from fairridge.metrics.batches import Alike, Batches, InMemory
from fairridge.metrics.dependence_shares import scatter_of, without_rounding
from fairridge.metrics.groups import Grouping
from fairridge.metrics.intervals import UNDEFINED, Estimate
from fairridge.metrics.scored_rows import ScoredRows
from fairridge.metrics.share_interval import (
    Judged,
    Regressions,
    loss_share,
    loss_table,
    moments_of,
    moments_of_columns,
)
from fairridge.metrics.sorted_scores import SortedScores
from fairridge.sources.batch import Sums


@dataclass(frozen=True)
class Measure:
    """How much S explains: of what, among which rows, and given which controls."""

    definition: str  # its name
    whole: Whole
    attributes: tuple[str, ...]
    given: tuple[str, ...] = ()  # names of controls
    # Classes among whose rows probabilities count, by code and by label; empty for all rows.
    among: tuple[tuple[int, int], ...] = ()
    labels: tuple[str, ...] = ()
    called: str = "predictions"  # what scores, or means, are called
    # Encoded columns of S, if the measure is of what one attribute alone explains.
    columns: tuple[int, ...] | None = None

    @property
    def of_variance(self) -> bool:
        """Whether it is a share of variance, which S and scores of rows tell."""
        return self.whole in ("scores", "means")

    @property
    def whom(self) -> str:
        """Say among whom S explains something; empty for everyone."""
        same = list(self.given)
        if len(self.labels) > 1:
            same.append(f"class ({enumerated(self.labels, 'or')})")
        people = f"people of the same {enumerated(same)}" if same else ""
        if len(self.labels) == 1:
            people = f"{people or 'people'} of class {self.labels[0]}"
        return people

    @property
    def what(self) -> str:
        """Say what the share is of."""
        names = enumerated(self.attributes)
        if self.whole == "model":
            beyond = f" beyond {enumerated(self.given)}" if self.given else ""
            return f"what the model explains of the response{beyond}"
        if self.whole == "both":
            return f"what {names} and then the response explain of the {self.called}"
        left = "what is left of " if self.given else ""
        return f"{left}the variance of the {self.called}"

    @property
    def _verb(self) -> str:
        """Say what S does, after its names."""
        several = len(self.attributes) > 1
        if self.whole == "model":
            return "together account for" if several else "accounts for"
        return "together explain" if several else "explains"

    def sentence(self, amount: str) -> str:
        """Say the measure in plain words, given an amount such as "1.0 %"."""
        names = enumerated(self.attributes)
        among = f"Among {self.whom}, " if self.whom else ""
        if self.whole == "other":
            return f"Unfairness to {names} by the definition {self.title} is {amount}."
        return f"{among}{names} {self._verb} {amount} of {self.what}."

    def at_most(self, r: float, *, percent: bool = True) -> str:
        """Say what a bound allows; shares are percentages."""
        return self.sentence(f"at most {100.0 * r:.2f} %" if percent else f"at most {r:g}")

    @property
    def title(self) -> str:
        """Name what is bounded in a few words."""
        return self.definition + (f", given {enumerated(self.given)}" if self.given else "")

    @property
    def words(self) -> str:
        """Name the measure in a table."""
        if self.whole == "other":
            return self.title.replace("-", " ")
        among = f", among {self.whom}" if self.whom else ""
        return f"share of {self.what} due to {enumerated(self.attributes)}{among}"

    def interval(self, rows: ScoredRows, confidence: float) -> Estimate:
        """Return the share in some rows, and its interval for the population of these."""
        return measured_in(InMemory(rows), {"": self}, confidence)[""][0]

    def adjusted(self, rows: ScoredRows) -> float:
        """Return the share less what chance alone explains."""
        return measured_in(InMemory(rows), {"": self}, 0.5)[""][1]

    def first_sums(self, rows: ScoredRows) -> Any:
        """Sum what the share is computed from; None if rows do not tell it."""
        if self.whole == "model" and rows.losses is not None:
            return loss_table(rows.losses, rows.weight)
        if self.whole == "both" and rows.targets is not None:
            columns = np.hstack([rows.sensitive, rows.scores, rows.targets])
            width = Alike((rows.sensitive.shape[1], rows.scores.shape[1]))
            return Sums({"width": width, "moments": moments_of_columns(columns, rows.weight)})
        return moments_of(*self.explained(rows)) if self.of_variance else None

    def explained(self, rows: ScoredRows) -> tuple[list[Judged], Floats, Floats]:
        """Return scores, S and controls."""
        S = rows.sensitive if self.columns is None else rows.sensitive[:, list(self.columns)]
        return self.judged(rows), S, rows.controls if self.given else rows.controls[:, :0]

    def found(self, first: Any, confidence: float) -> Estimate:
        """Return the share that sums of one pass tell, with its interval."""
        if first is None:
            return UNDEFINED
        if self.whole == "model":
            return loss_share(first, confidence)
        return Estimate(sequential_share(first["moments"].scatter, *first["width"].value))

    def judged(self, rows: ScoredRows) -> list[Judged]:
        """Return scores, and the weights of the rows among which they count."""
        if self.whole == "scores":
            return [(rows.scores, rows.weight)]
        means, weight = rows.means, rows.mean_weight
        assert means is not None
        return (
            among_classes(means, weight, rows.codes, self.among)
            if self.among
            else [(means, weight)]
        )


def among_classes(
    means: Floats, weight: Floats, codes: Integers, among: Sequence[tuple[int, int]]
) -> list[Judged]:
    """Return the means that count among the rows of each class, and the weights of these rows."""
    return [
        (means[:, [k for k, its in among if its == code]], weight * (codes == code))
        for code in dict.fromkeys(code for _, code in among)
    ]


def _first_sums(measures: dict[str, Measure], rows: ScoredRows) -> Sums:
    """Sum rows in the first pass of several measures."""
    return Sums({name: measure.first_sums(rows) for name, measure in measures.items()})


def _second_sums(
    measures: dict[str, Measure], regressions: dict[str, Regressions], rows: ScoredRows
) -> Sums:
    """Sum rows in the second pass, of shares of variance."""
    each = regressions.items()
    return Sums({name: by.sums(*measures[name].explained(rows)) for name, by in each})


def measured_in(
    batches: Batches, measures: dict[str, Measure], confidence: float
) -> dict[str, tuple[Estimate, float]]:
    """Return shares with their intervals, and the same adjusted for chance, in batches of rows."""
    first = batches.sum(partial(_first_sums, measures))
    by = {
        name: Regressions.of(first[name])
        for name, measure in measures.items()
        if measure.of_variance
    }
    second = batches.sum(partial(_second_sums, measures, by)) if by else Sums({})
    return {
        name: by[name].estimate(second[name], confidence)
        if name in by
        else (measure.found(first[name], confidence), UNDEFINED.value)
        for name, measure in measures.items()
    }


def dependence_of(rows: ScoredRows, *, adjusted: bool = True) -> dict[str, float]:
    """Return the shares of scores and means that S explains, which describe every model."""
    # The same for all: R² of a regression on S, adjusted for chance on validation rows as 1 − (1 −
    # R²)(n − 1)/(n − q − 1), with q the rank of S in the n rows, whatever their weights. NaN if n ≤
    # q + 1. In rows that a model was not fitted to, S and U = X − SB are not orthogonal, so that α
    # and β do not give the share.
    found, q = {}, rows.span.shape[1]
    n_rows = len(rows.span) if adjusted else None
    for name, (values, weight) in rows.explainable.items():
        joint = scatter_of(np.hstack([rows.span, without_rounding(values, weight)]), weight)
        found[name] = explained_by_sensitive(joint, q, values.shape[1], n_rows)
    return found


def measure_of(
    definition: Definition,
    family: Family,
    design: Design,
    controls: Any = None,
    classes: Any = None,
    *,
    rates: bool = False,
) -> Measure:
    """Return what a definition bounds of a model; `rates` says whether means are per exposure."""
    inner = definition.within_space
    among = inner.among(family, classes) if isinstance(inner, MeanShare) else None
    labels = [] if classes is None else [str(label) for label in np.asarray(classes).tolist()]
    whole = inner.whole(family)
    return Measure(
        inner.name,
        whole,
        tuple(attribute_owners(design.sensitive.inner)[1]),
        control_names(design, controls),
        tuple(among or ()),
        tuple(labels[code] for code in dict.fromkeys(code for _, code in among or ())),
        scores_of(family, of_means=whole == "means", rates=rates),
    )


def measured_on_rows(measure: Measure, family: Family) -> Measure:
    """Return a measure if rows alone tell it; for what a model explains, the share of scores."""
    if measure.whole != "model":
        return measure
    return replace(measure, whole="scores", called=scores_of(family, of_means=False))


def share_of_means(measure: Measure, family: Family, *, rates: bool) -> Measure:
    """Return the share of the variance of means, or of the scores of models without means."""
    of_means = family.reads != "times"
    called = scores_of(family, of_means=of_means, rates=rates and family.link == "log")
    return replace(measure, whole="means" if of_means else "scores", called=called)


def of_predictions(family: Family, attributes: tuple[str, ...]) -> Measure:
    """Return the measure of a model that is known by its predictions."""
    return share_of_means(Measure("", "means", attributes), family, rates=False)


def attribute_owners(encoding: Encoding) -> tuple[list[int], list[str]]:
    """Return the attribute of each encoded column of S, and their names; crossed ones come last."""
    # Products of levels, which stacks have as columns, belong to the attributes crossed.
    columns = [_without_levels(str(c.name)) for c in encoding.columns for _ in range(c.width)]
    each = columns + [" × ".join(columns[j] for j in product) for product in encoding.products]
    names = list(dict.fromkeys(each))
    return [names.index(name) for name in each], names


def _without_levels(name: str) -> str:
    """Return the attributes of a product of levels: sex × race of sex[m] × race[b]."""
    return re.sub(r"\[[^]]*\]", "", name) if " × " in name else name


def control_names(design: Design, controls: Any) -> tuple[str, ...]:
    """Return the names of the input columns that are controls."""
    if controls is None:
        return ()
    places = design.control_columns(controls)
    columns = design.predictors.columns  # type: ignore[union-attr]
    ends = np.cumsum([column.width for column in columns])
    owners = dict.fromkeys(np.searchsorted(ends, places, side="right").tolist())
    return tuple(str(columns[k].name) for k in owners)


def scores_of(family: Family, *, of_means: bool, rates: bool = False) -> str:
    """Return what scores of a family are called."""
    if family.reads == "times":
        return "predicted log hazards"
    if family.least_squares:
        return "predictions"
    if of_means:
        if family.reads == "classes":
            return "predicted probabilities"
        return "predicted rates" if rates else "predictions"
    if family.reads == "classes":
        return "predicted log-odds" if family.link == "logit" else "scores"
    return "logarithms of predictions" if family.link == "log" else "scores"


# ------------------------------------------------------------------------ by several definitions


def dependence(rows: ScoredRows, groups: Sequence[Grouping]) -> dict[str, float]:
    """Measure how predictions, numbers or probabilities of classes, depend on S."""
    # By several definitions, of a regression of predictions on S, whose coefficients are α in the
    # training rows of models that are linear in S and U; 0 where there is none that they see:
    # `equality_of_opportunity`, the share of S in what S and then y explain of the predictions;
    # `individual`, Σ d(yᵢ, yⱼ)(sᵢa − sⱼa)², not normalized; `max_correlation`, the largest
    # |correlation| with a column of S; `kolmogorov_smirnov` and `wasserstein`, the largest distance
    # between the predictions of a
    # group and of all others.
    family, predicted, response, targets = _as_numbers(rows)
    S, weight = rows.sensitive, rows.mean_weight
    size = float(targets.std(axis=0).max(initial=0.0))
    columns = without_rounding(predicted, weight, size)
    q, m = S.shape[1], columns.shape[1]
    joint = scatter_of(np.hstack([S, columns, targets]), weight)
    ordered = [SortedScores(column, weight) for column in columns.T]
    several = [grouping for grouping in groups if len(grouping.labels) > 1]
    distances = [apart for one in ordered for group in several for apart in one.of_groups(group)]
    return {
        "equality_of_opportunity": sequential_share(joint, q, m),
        "individual": _pairwise_difference(columns, S, family.distance, response, weight),
        "max_correlation": _largest_correlation(joint, q, m),
        "kolmogorov_smirnov": max((apart.kolmogorov_smirnov for apart in distances), default=0.0),
        "wasserstein": max((apart.wasserstein for apart in distances), default=0.0),
    }


def _as_numbers(rows: ScoredRows) -> tuple[Family, Floats, Floats, Floats]:
    """Return a family, predictions, the response as it reads it, and the same as numbers."""
    if rows.classes is not None:
        others = rows.codes[:, None] == np.arange(1, len(rows.classes))
        return Binomial(), rows.shown[:, 1:], rows.response, others.astype(np.float64)
    if rows.means is None:
        assert rows.targets is not None
        return Cox(), rows.scores, rows.response, rows.targets
    rates = rows.response if rows.exposure is None else rows.response / rows.exposure[:, None]
    return Gaussian(), rows.means, rates, rates


def _pairwise_difference(
    columns: Floats, S: Floats, distance: Distance, response: Floats, weight: Floats
) -> float:
    """Σᵢⱼ wᵢwⱼ d(yᵢ, yⱼ)(sᵢa − sⱼa)² with a from least squares of centered predictions on S."""
    centered = S - np.average(S, axis=0, weights=weight)
    scale = np.sqrt(np.average(centered**2, axis=0, weights=weight))
    standardized = centered / np.where(scale > 0.0, scale, 1.0)
    root = np.sqrt(weight)[:, None]
    a, *_ = np.linalg.lstsq(root * standardized, root * columns, rcond=1e-10)
    M = distance.form(standardized, response, weight)
    return float(np.einsum("ik,ij,jk->", a, M, a))


def _largest_correlation(joint: Floats, q: int, m: int) -> float:
    deviation = np.sqrt(np.maximum(np.diag(joint)[: q + m], 0.0))
    units = np.outer(deviation[:q], deviation[q:])
    usable = units > 0.0
    correlation = np.abs(joint[:q, q : q + m])[usable] / units[usable]
    return float(min(correlation.max(initial=0.0), 1.0))
