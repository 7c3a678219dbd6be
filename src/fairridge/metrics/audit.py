"""Group metrics for the predictions of any model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairridge._typing import Floats
from fairridge._warnings import warn_user
from fairridge.arguments import check_flag, is_number
from fairridge.data import Table, as_table, warn_of_order
from fairridge.metrics.adjusted import adjusted_differences, crossed_columns
from fairridge.metrics.attribution import MAX_SPLIT_ATTRIBUTES, Attribution, lmg
from fairridge.metrics.audit_tables import Audit
from fairridge.metrics.concordance import area_under_curve
from fairridge.metrics.dependence_shares import sensitive_span
from fairridge.metrics.distances import SortedScores
from fairridge.metrics.group_measures import (
    AttributeAudit,
    CalibrationBin,
    Correlation,
    GroupMeasures,
)
from fairridge.metrics.group_table import GroupTable
from fairridge.metrics.groups import Grouping, groupings, indicator_columns, weighted_quantiles
from fairridge.metrics.intervals import UNDEFINED
from fairridge.metrics.learned_share import learned_share
from fairridge.metrics.outcomes import (
    GivenKind,
    Outcomes,
    class_probabilities,
    read_outcomes,
    read_times,
    two_columns,
)
from fairridge.metrics.ranking import ranking
from fairridge.metrics.share_interval import explained_share, share_interval

CALIBRATION_BINS = 10


def audit(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    sample_weight: Any = None,
    exposure: Any = None,
    threshold: float | None = None,
    positive: Any = None,
    favorable: Any = None,
    confidence: float = 0.95,
    bins: int = 4,
    small: int = 30,
    intersections: bool = False,
    reference: Mapping[str, Any] | None = None,
    kind: GivenKind | None = None,
    linear_predictor: Any = None,
    top: float | int | None = None,
    minimum_share: float = 0.0,
    learned: bool = True,
    survival: Any = None,
    controls: Any = None,
) -> Audit:
    """Compare the predictions of any model between groups of people.

    Parameters
    ----------
    y_true : array-like of shape (n,) or None
        Responses: numbers, or classes of any type. Without them only the
        predictions are compared. Of survival models two columns, time and event (1 or 0), with
        log hazard ratios as `y_pred`.
    y_pred : array-like of shape (n,) or (n, K)
        Predicted numbers; for classes, probabilities of the positive class,
        all columns of `predict_proba`, or predicted labels.
    sensitive_features : frame or array of shape (n, k) or (n,)
        Sensitive attributes of any type. Numbers with more than `bins` values
        are cut at their (weighted) quantiles. People whose attribute is missing
        are a group of their own, "(missing)".
    sample_weight : array-like of shape (n,), optional
        Weights; a row of weight zero is absent.
    exposure : array-like of shape (n,), optional
        What responses and predictions are of, such as policy years: positive
        numbers e, with counts or amounts of the rows in both `y_true` and
        `y_pred`, as ``predict(X, exposure=e)`` gives them. People are then
        compared by rates, y/e and μ/e, and rows have the weight w·e.
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
    kind : {"regression", "classification", "amounts"}, optional
        By default classification if `y_true` is not numeric or has at most two
        distinct values. Amounts, such as costs and rates, are numbers of a regression that are
        positive by their nature: means of groups then have ratios. Whole numbers that are
        nowhere negative are taken for counts, which have them as well, unless `kind` is
        "regression"; the logarithm of an amount has none.
    linear_predictor : array-like of shape (n,) or (n, K), optional
        η of the model, without any offset, such as `decision_function`: then
        the audit has the share of η that S explains, too.
    top : float or int, optional
        Capacity, in place of a threshold: the share of the rows (0.2) or the number of them (500)
        that is selected, from the most favorable prediction on. Rows with the same prediction
        are selected together, or not at all. Weighted rows count with their weights, and rates
        with their exposure.
    minimum_share : float, default=0.0
        Groups with a smaller share of all rows are marked and left out as small ones are; the
        Uniform Guidelines have 0.02 (29 CFR 1607.4(A)).
    learned : bool, default=True
        Whether to learn how much of the predictions S explains in any way, linear or not:
        the cross-fitted R² of group means, or of boosted trees if attributes are numbers.
    survival : tuple of arrays of shape (m,) and (n, m), optional
        Of survival models, times and the predicted probabilities to outlive them, as
        ``predict_survival_function(X, times=times)`` gives them: then groups have the Brier
        score, the mean squared distance between these and what happened, averaged over the
        times and weighted for censoring (Graf et al. 1999).
    controls : frame or array of shape (n, c) or (n,), optional
        What may differ between groups, such as the level of a job: then the audit has what S
        explains of the predictions among people with equal controls (`partial_r_squared`), and
        every group its `adjusted_difference`.

    Returns
    -------
    Audit

    See Also
    --------
    fairridge.metrics.Audit : What it returns.
    fairridge.report : A page for people who do not read tables.
    fairridge.Monitor : The same question, again and again.

    References
    ----------
    .. [1] docs/audit.md.

    Examples
    --------
    >>> from fairridge import FairRidgeClassifier
    >>> from fairridge.datasets import load_german_credit
    >>> credit = load_german_credit()
    >>> X, y = credit.X[["Age", "Gender", "Duration"]], credit.y
    >>> model = FairRidgeClassifier(0.01, sensitive=["Age", "Gender"], definition="mean-parity")
    >>> model = model.fit(X, y)
    >>> from fairridge import audit
    >>> found = audit(y, model.predict_proba(X), sensitive_features=X[["Gender"]], favorable="GOOD")
    >>> print(f"{found.demographic_parity_difference:.3f}")
    0.016
    """
    check_options(confidence, bins, small, minimum_share)
    check_flag("intersections", intersections)
    check_flag("learned", learned)
    table = as_table(sensitive_features, argument="sensitive_features")
    n, confidence = table.shape[0], float(confidence)
    given = {"sample_weight": sample_weight, "exposure": exposure}
    warn_of_order(y_true=y_true, y_pred=y_pred, sensitive_features=table, **given)
    if survival is not None or two_columns(y_true) is not None:
        rules = {"threshold": threshold, "top": top, "favorable": favorable}
        outcomes = read_times(y_true, y_pred, survival, n, sample_weight, **rules)
    else:
        outcomes = read_outcomes(
            y_true, y_pred, n, sample_weight, threshold, positive, favorable, kind, top, exposure
        )
    _warn_of_ranking(outcomes)
    table = table if isinstance(outcomes.keep, slice) else table.take(outcomes.keep)
    rows = AuditedRows.of(table, outcomes.weight, bins=bins, intersections=intersections)
    references = _references(rows.partitions, reference)
    eta = _eta(linear_predictor, n, outcomes)
    scores = class_probabilities(y_true, y_pred, outcomes)
    sizes = int(small), float(minimum_share)
    found = compare_groups(rows, outcomes, references, confidence, sizes, eta)
    found = _of_classes(found, rows, scores, outcomes.weight)
    if controls is not None:
        columns = _written_controls(controls, n, outcomes.keep)
        found = _given_controls(found, rows, outcomes, scores, columns)
    if not learned:
        return found
    share = learned_share(outcomes.score, rows.columns, outcomes.weight, confidence)
    return replace(found, learned_share=share)


def _of_classes(
    found: Audit, rows: AuditedRows, scores: dict[str, Floats], weight: Floats
) -> Audit:
    """Add what S explains of the probabilities of each of several classes, and of all."""
    if len(scores) < 3:
        return found
    share = partial(share_interval, span=rows.span, weight=weight, confidence=found.confidence)
    return replace(
        found,
        means_share=share(np.column_stack(list(scores.values()))),
        by_class={label: share(column[:, None]) for label, column in scores.items()},
    )


def _written_controls(controls: Any, n_rows: int, keep: Any) -> tuple[Floats, tuple[str, ...]]:
    """Write controls out, with their names."""
    table = as_table(controls, argument="controls")
    if table.shape[0] != n_rows:
        raise ValueError(f"controls has {table.shape[0]} rows, and the predictions {n_rows}.")
    table = table if isinstance(keep, slice) else table.take(keep)
    return indicator_columns(table)[0], tuple(map(table.label, range(table.shape[1])))


def _given_controls(
    found: Audit,
    rows: AuditedRows,
    outcomes: Outcomes,
    scores: dict[str, Floats],
    controls: tuple[Floats, tuple[str, ...]],
) -> Audit:
    """Add what S explains among people with equal controls, and by how much groups differ."""
    (C, names), weight, confidence = controls, outcomes.weight, found.confidence
    values = np.column_stack(list(scores.values())) if len(scores) > 2 else outcomes.score[:, None]
    share, _ = explained_share([(values, weight)], rows.span, C, confidence)
    attributes = []
    for audited, part in zip(found.attributes, rows.partitions, strict=True):
        differences = adjusted_differences(
            outcomes.score, part.codes, len(part.labels), C, weight, confidence
        )
        groups = [
            replace(group, adjusted_difference=difference)
            for group, difference in zip(audited.groups, differences, strict=True)
        ]
        attributes.append(replace(audited, groups=tuple(groups)))
    return replace(found, attributes=tuple(attributes), partial_r_squared=share, controls=names)


@dataclass(frozen=True)
class AuditedRows:
    """Rows before anything is predicted of them: S, written out, and its groups."""

    table: Table
    columns: Floats  # S as `indicator_columns` writes it, of shape (n, q)
    names: tuple[str, ...]  # their names
    owners: tuple[int, ...]  # the attributes they belong to
    span: Floats  # orthonormal columns with the span of S, of shape (n, rank)
    partitions: tuple[Grouping, ...]
    share: Floats  # weights that add up to 1, of shape (n,)

    @classmethod
    def of(
        cls, table: Table, weight: Floats, *, bins: int, intersections: bool = False
    ) -> AuditedRows:
        """Write S out and find its groups."""
        columns, names, owners = indicator_columns(table)
        partitions = groupings(table, weight, bins=bins, intersections=intersections)
        crossed = crossed_columns(columns, owners) if intersections else columns
        span = sensitive_span(crossed, weight)
        return cls(table, columns, names, owners, span, partitions, weight / weight.sum())

    @cached_property
    def centered(self) -> Floats:
        """S less its means, of shape (n, q)."""
        return _centered(self.columns, self.share)

    @cached_property
    def covariance(self) -> Floats:
        """Of the columns of S, of shape (q, q)."""
        return (self.centered * self.share[:, None]).T @ self.centered


def compare_groups(
    rows: AuditedRows,
    outcomes: Outcomes,
    references: Sequence[int | None],
    confidence: float,
    sizes: tuple[int, float],
    eta: Floats | None = None,
    *,
    brief: bool = False,
) -> Audit:
    """Compare groups of rows by their outcomes; see `audit`.

    `references` are the positions of the reference groups, `sizes` the number and the share of
    rows below which a group is small, and `eta` the linear predictors of the rows, if they are
    known. A `brief` comparison leaves out what takes time and a report shows at
    one bound only, or nowhere: how scores rank, calibration by tenth, what S explains,
    precision, errors, totals of classes, and intervals of the lowest ratios.
    """
    case = _Comparison(outcomes, confidence, *sizes, brief)
    ordered = SortedScores(outcomes.score, outcomes.weight)
    strongest, attribution = _dependence(rows, outcomes, brief)
    parts = (Grouping.everyone(len(outcomes.score)), *rows.partitions)
    (overall,), *groups = case.measures(parts)
    tenths, *calibration = case.calibration(parts)
    attributes = []
    for part, found, bins, position in zip(
        rows.partitions, groups, calibration, references, strict=True
    ):
        apart = ordered.of_groups(part, position)
        far = [replace(g, distances=d) for g, d in zip(found, apart, strict=True)]
        attributes.append(case.attribute(part, far, position, bins))
    return Audit(
        kind=outcomes.kind,
        positive=outcomes.positive,
        favorable=outcomes.favorable,
        threshold=outcomes.threshold,
        confidence=confidence,
        small=case.small,
        overall=overall,
        attributes=tuple(attributes),
        **({} if brief else _shares(rows, outcomes, confidence, eta)),
        tenths=tenths,
        strongest=strongest,
        attribution=attribution,
        top=outcomes.top,
        minimum_share=case.minimum_share,
        _backend=rows.table.backend,
    )


def _shares(
    rows: AuditedRows, outcomes: Outcomes, confidence: float, eta: Floats | None
) -> dict[str, Any]:
    """Return what S explains of predictions and of linear predictors, which times have alone."""
    score, weight = outcomes.score[:, None], outcomes.weight
    if outcomes.of_times:
        return {"eta_share": share_interval(score, rows.span, weight, confidence)}
    shares = {"means_share": share_interval(score, rows.span, weight, confidence)}
    if eta is not None:
        plain = outcomes.row_weight
        span = rows.span if outcomes.exposure is None else sensitive_span(rows.span, plain)
        shares["eta_share"] = share_interval(eta, span, plain, confidence)
    return shares


def compare_crossed(
    partition: Grouping, outcomes: Outcomes, confidence: float, small: int
) -> AttributeAudit:
    """Compare groups of a partition by rates and means alone; see `audit`."""
    case = _Comparison(outcomes, confidence, small, 0.0, brief=True)
    (groups,) = case.measures((partition,))
    return case.attribute(partition, groups, None, ())


def check_options(confidence: Any, bins: Any, small: Any, minimum_share: Any = 0.0) -> None:
    """Raise unless these are a confidence, a number of groups, of rows, and a share."""
    if not is_number(minimum_share) or not 0.0 <= minimum_share < 1.0:
        raise ValueError(f"minimum_share={minimum_share!r} must be a share from 0 to below 1.")
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
class _Comparison:
    """Compares groups of rows by their outcomes."""

    outcomes: Outcomes
    confidence: float
    small: int
    minimum_share: float
    brief: bool

    def measures(self, partitions: Sequence[Grouping]) -> Iterator[list[GroupMeasures]]:
        """Yield what is measured in every group, one partition after the other."""
        columns = self._columns()
        table = GroupTable.of(partitions, self.outcomes.weight, *columns.values())
        measured: dict[str, Sequence[Any]] = {}
        for k, (name, column) in enumerate(columns.items()):
            estimates = table.rates if column.dtype == bool else table.averages
            measured[name] = estimates(k, self.confidence)
        measured |= self._errors(table, list(columns)) | self._totals(partitions)
        measured |= self._conditional_rates(partitions)
        measured |= self._rankings(partitions) | self._brier(partitions)
        shares = table.weights / self.outcomes.weight.sum()
        attributes = [part.attribute for part in partitions for _ in part.labels]
        labels = [label for part in partitions for label in part.labels]
        fields: dict[str, Sequence[Any]] = {
            "attribute": attributes,
            "group": labels,
            "count": table.counts.tolist(),
            "share": shares.tolist(),
            "small": ((table.counts < self.small) | (shares < self.minimum_share)).tolist(),
            **measured,
        }
        rows = zip(*fields.values(), strict=True)
        found = (GroupMeasures(**dict(zip(fields, row, strict=True))) for row in rows)
        for part in partitions:
            yield list(islice(found, len(part.labels)))

    def _columns(self) -> dict[str, NDArray[Any]]:
        """Return what groups have means or rates of, by the names of these."""
        outcomes = self.outcomes
        columns: dict[str, NDArray[Any]] = {"mean_prediction": outcomes.score}
        if outcomes.response is not None:
            columns["mean_response"] = _observed(outcomes)
            columns["calibration"] = outcomes.response - outcomes.score
        if outcomes.selected is not None:
            columns["selection_rate"] = outcomes.selected
        return columns

    def _errors(self, table: GroupTable, names: list[str]) -> dict[str, Sequence[Any]]:
        """Return root mean squares of errors."""
        if self.brief or "calibration" not in names:
            return {}
        error = names.index("calibration")
        squares = table.squares[error] / table.weights + table.means[error] ** 2
        return {"rmse": np.sqrt(squares).tolist()}

    def _totals(self, partitions: Sequence[Grouping]) -> dict[str, Sequence[Any]]:
        """Return ratios of predicted and observed totals: of counts, not of rates."""
        outcomes = self.outcomes
        classes = outcomes.kind == "classification"
        if outcomes.response is None or not (outcomes.amounts or (classes and not self.brief)):
            return {}
        exposure = 1.0 if outcomes.exposure is None else outcomes.exposure
        observed, predicted = _observed(outcomes) * exposure, outcomes.score * exposure
        columns = predicted, observed, observed - predicted
        table = GroupTable.of(partitions, outcomes.row_weight, *columns)
        return {"predicted_over_observed": table.totals(0, 1, 2, self.confidence)}

    def _conditional_rates(self, partitions: Sequence[Grouping]) -> dict[str, Sequence[Any]]:
        """Return true and false positive rates and precision, where classes are known."""
        outcomes = self.outcomes
        selected, weight = outcomes.selected, outcomes.weight
        known = outcomes.kind == "classification" and outcomes.response is not None
        if selected is None or not known:
            return {}
        true = outcomes.wanted
        shares = {
            "true_positive_rate": (selected, true),
            "false_positive_rate": (selected, ~true),
        }
        if not self.brief:
            shares["precision"] = (true, selected)
        return {
            name: GroupTable.of(partitions, weight * among, column).rates(0, self.confidence)
            for name, (column, among) in shares.items()
        }

    def _rankings(self, partitions: Sequence[Grouping]) -> dict[str, Sequence[Any]]:
        """Return how well scores separate the classes in every group."""
        outcomes = self.outcomes
        classes = outcomes.kind == "classification" and outcomes.response is not None
        if self.brief or not classes or outcomes.labels:
            return {}
        found = []
        for part in partitions:
            # Put together once, the rows of a group are a slice, and need no search in all rows.
            together = outcomes.take(part.order)
            for rows in part.slices:
                own = together.take(rows)
                found.append(ranking(_observed(own), own.score, own.weight, self.confidence))
        return {"ranking": found}

    def _brier(self, partitions: Sequence[Grouping]) -> dict[str, Sequence[Any]]:
        """Return Brier scores of predicted survival; each group has its own censoring."""
        survival, weight = self.outcomes.survival, self.outcomes.weight
        if survival is None:
            return {}
        found = []
        for part in partitions:
            for rows in (part.order[place] for place in part.slices):
                terms = survival.take(rows).terms(weight[rows]) if len(rows) else None
                group = Grouping.everyone(len(rows))
                found += (
                    [UNDEFINED]
                    if terms is None
                    else GroupTable.of([group], weight[rows], terms).averages(0, self.confidence)
                )
        return {"brier": found}

    def attribute(
        self,
        partition: Grouping,
        groups: list[GroupMeasures],
        reference: int | None,
        calibration: tuple[CalibrationBin, ...],
    ) -> AttributeAudit:
        """Compare the groups of an attribute."""
        return AttributeAudit.of(
            partition.attribute,
            tuple(groups),
            reference,
            calibration,
            self.confidence,
            self.outcomes.amounts,
            brief=self.brief,
        )

    def calibration(self, partitions: Sequence[Grouping]) -> list[tuple[CalibrationBin, ...]]:
        """Compare responses with predictions of every group within tenths of all predictions.

        Equal predictions stay together.
        """
        outcomes = self.outcomes
        if self.brief or outcomes.response is None:
            return [()] * len(partitions)
        score, weight = outcomes.score, outcomes.weight
        levels = np.arange(1, CALIBRATION_BINS) / CALIBRATION_BINS
        edges = np.unique(weighted_quantiles(score, weight, levels))
        tenths = Grouping("", ("",) * (len(edges) + 1), np.searchsorted(edges, score, side="left"))
        found, observed = [], _observed(outcomes)
        for part in partitions:
            cells = part.within(tenths)
            table = GroupTable.of([cells], weight, score, observed)
            estimates = table.rates if observed.dtype == bool else table.averages
            low, high = np.full((2, len(cells.labels)), np.inf)
            np.minimum.at(low, cells.codes, score)
            np.minimum.at(high, cells.codes, -score)
            columns = (c.tolist() for c in (low, -high, table.counts, table.means[0]))
            rows = zip(cells.labels, *columns, estimates(1, self.confidence), strict=True)
            bins = (CalibrationBin(part.attribute, *row) for row in rows)
            found.append(tuple(one for one in bins if one.count))
        return found


def _observed(outcomes: Outcomes) -> NDArray[Any]:
    """Return responses: numbers, or whether rows are of the positive class."""
    assert outcomes.response is not None
    classes = outcomes.kind == "classification"
    return outcomes.response > 0.0 if classes else outcomes.response


def _dependence(
    rows: AuditedRows, outcomes: Outcomes, brief: bool
) -> tuple[Correlation | None, Attribution | None]:
    """Return the strongest correlation of predictions with S, and R² split over attributes."""
    score = _centered(outcomes.score, rows.share)
    weighted = rows.share * score
    products, variance = weighted @ rows.centered, float(weighted @ score)
    scale = np.sqrt(np.diag(rows.covariance) * variance)
    usable = scale > 0.0
    if not usable.any():
        return None, None
    correlation = np.divide(products, scale, out=np.zeros(len(scale)), where=usable)
    k = int(np.argmax(np.abs(correlation)))
    strongest = Correlation(rows.names[k], float(np.clip(correlation[k], -1.0, 1.0)))
    table = rows.table
    labels = [table.label(j) for j in range(table.shape[1])]
    if brief or len(labels) > MAX_SPLIT_ATTRIBUTES:
        return strongest, None
    return strongest, lmg(
        rows.covariance, products, variance, rows.owners, labels, backend=table.backend
    )


def _centered(columns: Floats, share: Floats) -> Floats:
    """Take off means; a value that occurs comes first, so that constants are exactly zero."""
    shifted = columns - columns[0]
    return shifted - share @ shifted


def _eta(linear_predictor: Any, n_given: int, outcomes: Outcomes) -> Floats | None:
    """Read η of the rows kept, one column per class if there are several."""
    if linear_predictor is None:
        return None
    eta: Floats = np.asarray(linear_predictor, dtype=np.float64)
    if len(eta) != n_given or not np.isfinite(eta).all():
        raise ValueError(
            f"linear_predictor must have a finite number for each of the {n_given} rows."
        )
    columns: Floats = eta.reshape(n_given, -1)[outcomes.keep]
    return columns


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
