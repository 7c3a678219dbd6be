"""A fitted model on rows that it was not fitted to: what is bounded, groups, calibration, drift."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fairridge._typing import Floats
from fairridge.data.columns import CategoricalColumn
from fairridge.data.design import ColumnProfile, NumberSample, level_shares, share_between
from fairridge.data.rows import Indicators
from fairridge.engines import one_blas_thread
from fairridge.metrics.batches import Batches
from fairridge.metrics.dependence_shares import WORDS
from fairridge.metrics.intervals import CONFIDENCE, Estimate
from fairridge.metrics.measure import Measure, measured_in, of_predictions
from fairridge.reports.html.contents import (
    BoundOnRows,
    Drift,
    NewRowsContents,
    NewRowsMeasure,
    Sample,
)
from fairridge.sources.batch import Sums
from fairridge.validation.evaluate import accuracy_in, accuracy_of, measures_of
from fairridge.validation.report.groups import ReportGroups, compared_groups, decision_gaps
from fairridge.validation.report.record import of_stack, subject_of
from fairridge.validation.report.rows import Read, ReportRows, ReportSettings
from fairridge.validation.scored_model import PassedRows, ScoredModel

NAN = float("nan")
PREDICTIONS_ONLY = (
    "This model is known by its predictions only. What needs a fair ridge model is left out: the "
    "price of other bounds, coefficients, the sources of unfairness, certificates, and the drift "
    "of columns."
)


def gather_new_rows(
    model: ScoredModel, given: PassedRows, options: ReportSettings
) -> NewRowsContents:
    """Score rows, measure what the model bounds, and compare groups."""
    # Without a bound S is compared with the predictions, which are all that is known of the model.
    check_is_fitted(model.given)
    shown = ReportRows.of(model, given, options)
    groups = ReportGroups.of(shown, options)
    with one_blas_thread():
        called = "new" if model.fair else "these"
        samples = compared_groups(groups, [shown.scored], shown.rows, called)
    what, n_rows = "Fairness audit", {"Rows": shown.n_rows}
    known: dict[str, Any] = {"called": "rows", "left_out": PREDICTIONS_ONLY}
    if model.fair:
        what, n_rows = (
            "Validation",
            {"New rows": shown.n_rows, "Training rows": model.linear.n_rows_},
        )
        drift, no_drift = drift_of(model.linear, shown.batches)
        certificate = getattr(model.linear, "certificate_", None)
        known = {"drift": drift, "no_drift": no_drift, "certificate": certificate}
    subject = subject_of(model, shown, groups.rule, options, what, n_rows)
    measure = model.measure or of_predictions(shown.rows.family, subject.sensitive)
    bounds, measures = _shares(model, shown, measure, samples)
    return NewRowsContents(
        subject=of_stack(model, given, subject),
        unfairness=np.array([max(one.r for one in bounds)]),
        chosen=0,
        measure=measure,
        samples=samples,
        bounds=bounds,
        measures=measures,
        accuracy=_accuracy(model, shown, samples),
        **known,
    )


def _shares(
    model: ScoredModel, shown: ReportRows, measure: Measure, samples: tuple[Sample, ...]
) -> tuple[tuple[BoundOnRows, ...], tuple[NewRowsMeasure, ...]]:
    """Measure what each bound is on, and dependence on S as `audit` does."""
    bounds = model.bounds or ((measure, NAN),)
    training = getattr(model.linear, "dependence_", {})
    everyone = Measure("", "scores", measure.attributes)
    of_every_model = {
        key: everyone if key == "share_of_eta" else replace(everyone, whole="means")
        for key in shown.rows.explainable
        # Of log hazards of other models this is what is bounded, which stands by itself.
        if model.fair or key != "share_of_eta"
    }
    wanted = {f"bound {k}": each for k, (each, _) in enumerate(bounds)} | of_every_model
    found = measured_in(shown.scored, wanted, CONFIDENCE)
    on_rows = tuple(
        BoundOnRows(each, r, _bounded(model.linear, each, *found[f"bound {k}"]))
        for k, (each, r) in enumerate(bounds)
    )
    shares = {key: found[key] for key in of_every_model}
    for gap in decision_gaps(samples):
        shares["decision_gap"] = gap, NAN
    measures = [
        _measured(key, WORDS[key], training.get(key, NAN), *each) for key, each in shares.items()
    ]
    return on_rows, (*(one.found for one in on_rows if one.found.key not in shares), *measures)


def _measured(
    key: str, name: str, training: float, found: Estimate, adjusted: float = NAN
) -> NewRowsMeasure:
    """Put a share on new rows beside the one in training."""
    ends = found.value, found.low, found.high
    return NewRowsMeasure(key, name, float(training), *ends, adjusted)


def _bounded(linear: Any, measure: Measure, found: Estimate, adjusted: float) -> NewRowsMeasure:
    """Say what a model bounds on rows that it was not fitted to."""
    reached: Any = getattr(linear, "unfairness_", NAN)
    key = "bounded"
    if measure.columns is not None:  # an attribute with a bound of its own
        key, reached = f"bounded[{measure.attributes[0]}]", reached[measure.attributes[0]]
    elif not measure.given and not measure.among:
        key = {"scores": "share_of_eta", "means": "share_of_means"}.get(measure.whole, key)
    name = f"{measure.words[0].upper()}{measure.words[1:]}"
    return _measured(key, name, reached, found, adjusted)


def _accuracy(
    model: ScoredModel, shown: ReportRows, samples: tuple[Sample, ...]
) -> tuple[NewRowsMeasure, ...]:
    """Measure how well predictions meet the responses."""
    names = {key: name for key, name, _ in measures_of(model.family)}
    if shown.inputs is None:
        measures = accuracy_in(shown.scored, model.family)
        audits = [sample.audits[0] for sample in samples]
        known = [audit.overall.ranking.auc.value for audit in audits]
        n_classes = len(shown.rows.labels)
        # Of several classes the AUC is the mean over all, if a report is about all.
        if "auc" in names and len(known) == (1 if n_classes == 2 else n_classes):
            measures["auc"] = float(np.mean(known))
            errors = [audit.score_bins.auc for audit in audits if audit.score_bins is not None]
            if max(errors) > 0.0:
                names["auc"] += f", from bins, off by at most {max(errors):.1e}"
    else:
        baseline = None
        if model.family.reads == "times":
            baseline = model.linear.event_times_, np.log(model.linear.cumulative_hazard_)
        measures = accuracy_of(shown.rows, baseline)
    return tuple(
        NewRowsMeasure(key, name, NAN, measures[key])
        for key, name in names.items()
        if key in measures
    )


# ------------------------------------------------------------------------ drift


# Shares below this count as this: an empty level would be infinitely far away.
MIN_SHARE = 1e-4
# Unknown levels are encoded as averages, which have no shares.
UNKNOWN_LEVELS = "Columns are not compared: some rows have levels unknown to the model."
NOTHING_KEPT = (
    "The model remembers nothing of {} that new rows could be compared with: its file was written "
    "by an earlier version of fairridge, or it was fitted to moments or on a GPU. Fit it again to "
    "see how columns change."
)


def drift_of(model: Any, batches: Batches) -> tuple[tuple[Drift, ...], str]:
    """Compare the encoded columns of new rows with those at fit, those that changed most first."""
    # Also says which columns cannot be compared, and why; "" if all can.
    sums = batches.sum(partial(_drift_sums, model))
    if sums["unknown"]:
        return (), UNKNOWN_LEVELS
    facts = model._fitted
    known = {profile.name: profile for profile in facts.profiles}
    n_sensitive = len(facts.design.sensitive.inner.columns)
    changes, unknown = [], []
    for k, column in enumerate(facts.design.columns):
        profile = known.get(column.name)
        if profile is None:
            unknown.append(column.name)
        else:
            shares = sums["columns"][column.name] / sums["weight"]
            changes.append(_drift(profile, shares, sums["rows"], k < n_sensitive))
    changes.sort(key=lambda each: -each.psi)
    what = "its columns" if not changes else f"some columns ({', '.join(unknown[:6])})"
    return tuple(changes), NOTHING_KEPT.format(what) if unknown else ""


def _drift_sums(model: Any, read: Read) -> Sums:
    """Sum the weights of rows by level, or tenth at fit, of every column; those of batches add."""
    facts, inputs = model._fitted, read[0]
    # Columns as they came are compared, and not what maps or intersections make of them.
    given = replace(
        facts.design,
        sensitive=replace(facts.design.sensitive.inner, products=()),
        predictors=facts.design.predictors.inner,
    )
    design, name, weight = facts.design, type(model).__name__, inputs.weight
    S, X = given.encode(inputs.table, inputs.attributes, model.unknown, estimator_name=name)
    pieces, n_rows = (*S, *X), inputs.table.shape[0]
    total, columns = float(inputs.weights.sum()), design.columns
    coded = sum(isinstance(piece, Indicators) for piece in pieces)
    if coded < sum(isinstance(column, CategoricalColumn) for column in columns):
        return Sums({"rows": n_rows, "weight": total, "unknown": 1, "columns": None})
    known = {profile.name: profile for profile in facts.profiles}
    levels, found = iter(level_shares(columns, pieces, weight)), {}
    numbers, at = NumberSample.of(pieces, n_rows, weight, most=max(n_rows, 1)), 0
    for column in columns:
        profile = known.get(column.name)
        if isinstance(column, CategoricalColumn):
            found[column.name] = total * next(levels)
        else:
            values, at = numbers.values[:, at], at + column.width
            if profile is not None:
                shares = share_between(profile.edges, values, numbers.weight)
                found[column.name] = total * shares
    return Sums({"rows": n_rows, "weight": total, "unknown": 0, "columns": Sums(found)})


def stability_index(before: Floats, now: Floats) -> float:
    """Return the population stability index, Σ (now − before) log(now/before)."""
    old, new = np.maximum(before, MIN_SHARE), np.maximum(now, MIN_SHARE)
    return float(((new - old) * np.log(new / old)).sum())


def _drift(profile: ColumnProfile, shares: Floats, n_rows: int, sensitive: bool) -> Drift:
    before = profile.shares
    k = int(np.argmax(np.abs(shares - before)))
    occupied = int(((before > 0.0) | (shares > 0.0)).sum())
    # To first order the index is a χ² statistic over the numbers of rows.
    by_chance = (occupied - 1) * (1.0 / n_rows + 1.0 / profile.n_rows)
    part = profile.levels[k] if profile.levels else _tenth(profile.edges, k)
    return Drift(
        profile.name,
        sensitive,
        stability_index(before, shares),
        by_chance,
        part,
        float(before[k]),
        float(shares[k]),
    )


def _tenth(edges: Floats, k: int) -> str:
    if k == 0:
        return f"up to {edges[0]:.4g}"
    if k == len(edges):
        return f"above {edges[-1]:.4g}"
    return f"{edges[k - 1]:.4g} to {edges[k]:.4g}"
