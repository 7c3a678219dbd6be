"""Group metrics for the predictions of any model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairridge._typing import Booleans, Floats, Integers
from fairridge._warnings import warn_user
from fairridge.arguments import check_flag
from fairridge.data import Table, as_table
from fairridge.metrics.attribution import MOST_PLAYERS, Attribution, lmg
from fairridge.metrics.audit_tables import Audit
from fairridge.metrics.concordance import area_under_curve
from fairridge.metrics.distances import INCOMPARABLE, Distances, SortedScores
from fairridge.metrics.group_measures import (
    AttributeAudit,
    CalibrationBin,
    Correlation,
    GroupMeasures,
)
from fairridge.metrics.groups import Grouping, groupings, indicator_columns, weighted_quantiles
from fairridge.metrics.intervals import (
    UNDEFINED,
    Estimate,
    mean_interval,
    rate_interval,
    ratio_of_totals,
)
from fairridge.metrics.outcomes import Kind, Outcomes, read_outcomes
from fairridge.metrics.ranking import ranking
from fairridge.metrics.share_interval import share_interval
from fairridge.metrics.yardstick import sensitive_span

CALIBRATION_BINS = 10


def audit(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    sample_weight: Any = None,
    threshold: float | None = None,
    positive: Any = None,
    favorable: Any = None,
    confidence: float = 0.95,
    bins: int = 4,
    small: int = 30,
    intersections: bool = False,
    reference: Mapping[str, Any] | None = None,
    kind: Kind | None = None,
    linear_predictor: Any = None,
) -> Audit:
    """Compare the predictions of any model between groups of people.

    Parameters
    ----------
    y_true : array-like of shape (n,) or None
        Responses: numbers, or classes of any type. Without them only the
        predictions are compared.
    y_pred : array-like of shape (n,) or (n, K)
        Predicted numbers; for classes, probabilities of the positive class,
        all columns of `predict_proba`, or predicted labels.
    sensitive_features : frame or array of shape (n, k) or (n,)
        Sensitive attributes of any type. Numbers with more than `bins` values
        are cut at their (weighted) quantiles. People whose attribute is missing
        are a group of their own, "(missing)".
    sample_weight : array-like of shape (n,), optional
        Weights; a row of weight zero is absent.
    threshold : float, optional
        A row is selected when its prediction is above this, or not above it if
        low predictions are favorable: 0.5 by default for probabilities.
        Numbers of a regression have a selection rate only with a threshold.
    positive : label, optional
        The class whose probability is predicted; by default 1, True, or the
        second of the two sorted labels, the class that classifiers model.
    favorable : label, "low" or "high", optional
        The outcome that people want: a class, or low or high predictions.
        Selection rates, impact ratios, true and false positive rates and
        precision are about it. By default the positive class and high
        predictions, unless a name such as default, bad, fraud, churn or arrest
        suggests an unwanted outcome; the first line of the audit states the
        choice and the reason.
    confidence : float, default=0.95
        Level of the intervals: Wilson's for rates, Student's for means,
        DeLong's for the AUC, Newcombe's for differences of rates, Welch's for
        differences of means, the score interval for impact ratios (Koopman,
        Miettinen and Nurminen), and a noncentral χ² for R². Weighted rows count
        with Kish's effective number. Differences and ratios of an attribute
        with more than two groups hold for the extremes over all pairs.
    bins : int, default=4
        Groups of a numeric attribute.
    small : int, default=30
        Groups with fewer rows are listed and marked, but do not enter ratios
        and differences between groups, because they are too noisy.
    intersections : bool, default=False
        Whether to add the groups of all attributes crossed.
    reference : dict of str to level, optional
        For an attribute, the group that the others are compared with. By
        default distances compare a group with all rows outside it, and the
        adverse impact ratio with the group of the highest selection rate.
    kind : {"regression", "classification"}, optional
        By default classification if `y_true` is not numeric or has at most two
        distinct values.
    linear_predictor : array-like of shape (n,) or (n, K), optional
        η of the model, without any offset, such as `decision_function`: then
        the audit has the share of η that S explains, too.

    Returns
    -------
    Audit
    """
    _check_options(confidence, bins, small)
    check_flag("intersections", intersections)
    table = as_table(sensitive_features, argument="sensitive_features")
    n, confidence = table.shape[0], float(confidence)
    outcomes = read_outcomes(y_true, y_pred, n, sample_weight, threshold, positive, favorable, kind)
    _warn_of_ranking(outcomes)
    table = table if isinstance(outcomes.keep, slice) else table.take(outcomes.keep)
    weight, columns = outcomes.weight, indicator_columns(table)
    partitions = groupings(table, weight, bins=bins, intersections=intersections)
    references = _references(partitions, reference)
    ordered = SortedScores(outcomes.score, weight)
    case = _AuditInputs(outcomes, ordered, _tenths(outcomes), confidence, int(small))
    strongest, attribution = _dependence(table, columns, outcomes)
    span = sensitive_span(columns[0], weight)
    return Audit(
        kind=outcomes.kind,
        positive=outcomes.positive,
        favorable=outcomes.favorable,
        threshold=outcomes.threshold,
        confidence=confidence,
        small=case.small,
        overall=_measures(case, "", "all", np.ones(len(weight), dtype=bool), None),
        attributes=tuple(
            _attribute(case, *pair) for pair in zip(partitions, references, strict=True)
        ),
        means_share=share_interval(outcomes.score[:, None], span, weight, confidence),
        strongest=strongest,
        attribution=attribution,
        eta_share=_share_of_eta(linear_predictor, n, span, outcomes, confidence),
        _backend=table.backend,
    )


def _check_options(confidence: Any, bins: Any, small: Any) -> None:
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence={confidence!r} must lie strictly between 0 and 1.")
    for name, value, minimum in (("bins", bins, 2), ("small", small, 0)):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < minimum:
            raise ValueError(f"{name}={value!r} must be an integer, at least {minimum}.")


def _warn_of_ranking(outcomes: Outcomes) -> None:
    """Warn if the predictions look like those of another class."""
    if outcomes.kind != "classification" or outcomes.response is None:
        return
    area = area_under_curve(outcomes.response > 0.0, outcomes.score, outcomes.weight)
    if area < 0.5:
        label = np.asarray(outcomes.positive).item()
        warn_user(
            f"predictions rank rows of class {label!r} below the others (AUC {area:.3f}); if they "
            "are probabilities of another class, name that class with positive."
        )


@dataclass(frozen=True)
class _AuditInputs:
    """What every group is measured by: outcomes, scores in order, and tenths of the scores."""

    outcomes: Outcomes
    ordered: SortedScores
    tenths: Integers
    confidence: float
    small: int


def _attribute(case: _AuditInputs, partition: Grouping, reference: int | None) -> AttributeAudit:
    masks = [partition.codes == code for code in range(len(partition.labels))]
    groups = []
    for code, (label, rows) in enumerate(zip(partition.labels, masks, strict=True)):
        others = ~rows if reference is None else masks[reference]
        apart = None if code == reference else case.ordered.between(rows, others)
        groups.append(_measures(case, partition.attribute, label, rows, apart))
    return AttributeAudit.of(
        partition.attribute,
        tuple(groups),
        reference,
        tuple(_calibration(case, partition, masks)),
        case.confidence,
    )


def _measures(
    case: _AuditInputs, attribute: str, label: str, rows: Booleans, apart: Distances | None
) -> GroupMeasures:
    outcomes, confidence = case.outcomes, case.confidence
    weight, score = outcomes.weight[rows], outcomes.score[rows]
    response = None if outcomes.response is None else outcomes.response[rows]
    measured: dict[str, Any] = _rates(outcomes, rows, confidence)
    if response is not None:
        error = response - score
        measured["mean_response"] = _response(outcomes.kind, response, weight, confidence)
        measured["calibration"] = mean_interval(error, weight, confidence)
        measured["total_ratio"] = ratio_of_totals(score, response, weight, confidence)
        measured["rmse"] = float(np.sqrt(np.average(error**2, weights=weight)))
        if outcomes.kind == "classification" and not outcomes.labels:
            measured["ranking"] = ranking(response > 0.0, score, weight, confidence)
    return GroupMeasures(
        attribute=attribute,
        group=label,
        count=len(score),
        share=float(weight.sum() / outcomes.weight.sum()),
        small=len(score) < case.small,
        mean_prediction=mean_interval(score, weight, confidence),
        distances=apart or INCOMPARABLE,
        **measured,
    )


def _response(kind: Kind, response: Floats, weight: Floats, confidence: float) -> Estimate:
    if kind == "classification":
        return rate_interval(response > 0.0, weight, confidence)
    return mean_interval(response, weight, confidence)


def _rates(outcomes: Outcomes, rows: Booleans, confidence: float) -> dict[str, Estimate]:
    """Return selection rate, true and false positive rates, and precision, as far as defined."""
    if outcomes.selected is None:
        return {}
    selected, weight = outcomes.selected[rows], outcomes.weight[rows]
    shares = {"selection_rate": (selected, np.ones_like(selected))}
    if outcomes.kind == "classification" and outcomes.response is not None:
        true = outcomes.wanted[rows]
        shares["true_positive_rate"] = selected, true
        shares["false_positive_rate"] = selected, ~true
        shares["precision"] = true, selected
    return {
        name: rate_interval(hits[among], weight[among], confidence)
        for name, (hits, among) in shares.items()
    }


def _tenths(outcomes: Outcomes) -> Integers:
    """Cut the rows at tenths of the predictions; equal predictions stay together."""
    levels = np.arange(1, CALIBRATION_BINS) / CALIBRATION_BINS
    edges = np.unique(weighted_quantiles(outcomes.score, outcomes.weight, levels))
    return np.searchsorted(edges, outcomes.score, side="left")


def _calibration(
    case: _AuditInputs, partition: Grouping, masks: list[Booleans]
) -> Iterator[CalibrationBin]:
    """Compare responses with predictions within the same tenths of all predictions."""
    outcomes = case.outcomes
    if outcomes.response is None:
        return
    for label, rows in zip(partition.labels, masks, strict=True):
        tenths, scores, weights = case.tenths[rows], outcomes.score[rows], outcomes.weight[rows]
        responses = outcomes.response[rows]
        for k in np.unique(tenths):
            here = tenths == k
            score, weight = scores[here], weights[here]
            yield CalibrationBin(
                partition.attribute,
                label,
                float(score.min()),
                float(score.max()),
                len(score),
                float(np.average(score, weights=weight)),
                _response(outcomes.kind, responses[here], weight, case.confidence),
            )


def _dependence(
    table: Table, columns: tuple[Floats, tuple[str, ...], tuple[int, ...]], outcomes: Outcomes
) -> tuple[Correlation | None, Attribution | None]:
    """Return the strongest correlation of predictions with S, and R² split over attributes."""
    S, names, owners = columns
    share = outcomes.weight / outcomes.weight.sum()
    Z = np.column_stack([S, outcomes.score])
    Z -= Z[0]  # a value that occurs: constant columns come out as exactly zero
    Z -= share @ Z
    covariance = (Z * share[:, None]).T @ Z
    q, variance = S.shape[1], float(covariance[-1, -1])
    scale = np.sqrt(np.diag(covariance)[:q] * variance)
    usable = scale > 0.0
    if not usable.any():
        return None, None
    correlation = np.divide(covariance[:q, q], scale, out=np.zeros(q), where=usable)
    k = int(np.argmax(np.abs(correlation)))
    strongest = Correlation(names[k], float(np.clip(correlation[k], -1.0, 1.0)))
    labels = [table.label(j) for j in range(table.shape[1])]
    if len(labels) > MOST_PLAYERS:
        return strongest, None
    return strongest, lmg(
        covariance[:q, :q], covariance[:q, q], variance, owners, labels, backend=table.backend
    )


def _share_of_eta(
    linear_predictor: Any, n_given: int, span: Floats, outcomes: Outcomes, confidence: float
) -> Estimate:
    """Return R² of η on S, over classes if there are several; NaN without η."""
    if linear_predictor is None:
        return UNDEFINED
    eta: Floats = np.asarray(linear_predictor, dtype=np.float64)
    if len(eta) != n_given or not np.isfinite(eta).all():
        raise ValueError(
            f"linear_predictor must have a finite number for each of the {n_given} rows."
        )
    columns = eta.reshape(n_given, -1)[outcomes.keep]
    return share_interval(columns, span, outcomes.weight, confidence)


def _references(
    partitions: tuple[Grouping, ...], reference: Mapping[str, Any] | None
) -> list[int | None]:
    """Find the reference group of every attribute that has one."""
    places = {partition.attribute: k for k, partition in enumerate(partitions)}
    positions: list[int | None] = [None] * len(partitions)
    for attribute, group in (reference or {}).items():
        if attribute not in places:
            names = ", ".join(map(repr, places))
            raise ValueError(f"reference names {attribute!r}; the attributes are {names}.")
        labels, label = partitions[places[attribute]].labels, str(group)
        if label not in labels:
            raise ValueError(
                f"reference group {label!r} of {attribute!r} has no rows; the groups are "
                f"{', '.join(map(repr, labels))}."
            )
        positions[places[attribute]] = labels.index(label)
    return positions
