"""A fitted model on rows that it was not fitted to: what is bounded, groups, calibration, drift."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import partial
from operator import itemgetter
from typing import Any

import narwhals as nw
import numpy as np
from sklearn.utils.validation import check_is_fitted

from fairridge._typing import Floats
from fairridge.data import name_of
from fairridge.data.columns import CategoricalColumn
from fairridge.data.design import (
    ColumnProfile,
    NumberSample,
    level_shares,
    share_between,
)
from fairridge.data.rows import Indicators
from fairridge.engines import one_blas_thread
from fairridge.estimators._responses import Inputs
from fairridge.metrics.audit import check_options
from fairridge.metrics.batches import Alike, Batches, InMemory, Streamed, Sums
from fairridge.metrics.comparison import AuditedColumns
from fairridge.metrics.dependence_shares import WORDS
from fairridge.metrics.groups import attribute_values, attributes_of
from fairridge.metrics.intervals import CONFIDENCE, Estimate
from fairridge.metrics.measure import Measure, measured_in, of_predictions
from fairridge.metrics.scored_rows import ScoredRows
from fairridge.reports.html.contents import (
    BoundOnRows,
    Drift,
    NewRowsContents,
    NewRowsMeasure,
    Sample,
)
from fairridge.sources import RowSource
from fairridge.sources.batch import Batch
from fairridge.sources.encoder import kept_rows
from fairridge.sources.responses import labels_of, numbers_of
from fairridge.sources.roles import Roles
from fairridge.validation.evaluate import accuracy_in
from fairridge.validation.passed_rows import PassedRows
from fairridge.validation.read_rows import read_rows
from fairridge.validation.report.case import ReportSettings
from fairridge.validation.report.groups import Comparison, audited, decision_gaps, decision_rule
from fairridge.validation.report.record import of_stack, subject_of
from fairridge.validation.report.rows import accuracy_of, measures_of
from fairridge.validation.scored_model import ScoredModel

NAN = float("nan")
PREDICTIONS_ONLY = (
    "This model is known by its predictions only. What needs a fair ridge model is left out: the "
    "price of other bounds, coefficients, the sources of unfairness, certificates, and the drift "
    "of columns."
)
# A row of rows that are not in memory, from which a report takes what they have.
Read = tuple[Inputs, ScoredRows]


def gather_new_rows(
    model: ScoredModel, given: PassedRows | RowSource, options: ReportSettings
) -> NewRowsContents:
    """Score rows, measure what the model bounds, and compare groups."""
    # Without a bound S is compared with the predictions, which are all that is known of the model.
    check_is_fitted(model.given)
    check_options(CONFIDENCE, options.bins, options.small)
    judged = ReportRows.of(model, given, options)
    inputs, example = judged.example
    name, n = options.response or judged.name, judged.n_rows
    rule = decision_rule(example, name, options)
    with one_blas_thread():
        called = "new" if model.fair else "these"
        case = Comparison(judged.columns, rule, int(options.small))
        samples = audited(case, [judged.scored], example, called)
    what, n_rows = "Fairness audit", {"Rows": n}
    known: dict[str, Any] = {"called": "rows", "left_out": PREDICTIONS_ONLY}
    if model.fair:
        what, n_rows = "Validation", {"New rows": n, "Training rows": model.linear.n_rows_}
        drift, no_drift = drift_of(
            model.linear, judged.batches.sum(partial(drift_sums, model.linear))
        )
        certificate = getattr(model.linear, "certificate_", None)
        known = {"drift": drift, "no_drift": no_drift, "certificate": certificate}
    subject = subject_of(model, inputs, example, rule, options, name=name, what=what, n_rows=n_rows)
    measure = model.measure or of_predictions(example.family, subject.sensitive)
    bounds, measures = _shares(model, judged, measure, samples)
    return NewRowsContents(
        subject=of_stack(model, given, subject),
        unfairness=np.array([max(one.r for one in bounds)]),
        chosen=0,
        measure=measure,
        samples=samples,
        bounds=bounds,
        measures=measures,
        accuracy=_accuracy(model, judged, samples),
        **known,
    )


def _shares(
    model: ScoredModel, judged: ReportRows, measure: Measure, samples: tuple[Sample, ...]
) -> tuple[tuple[BoundOnRows, ...], tuple[NewRowsMeasure, ...]]:
    """Measure what each bound is on, and dependence on S as `audit` does."""
    bounds = model.bounds or ((measure, NAN),)
    training = getattr(model.linear, "dependence_", {})
    everyone = Measure("", "scores", measure.attributes)
    of_every_model = {
        key: everyone if key == "share_of_eta" else replace(everyone, whole="means")
        for key in judged.example[1].explainable
        # Of log hazards of other models this is what is bounded, which stands by itself.
        if model.fair or key != "share_of_eta"
    }
    wanted = {f"bound {k}": each for k, (each, _) in enumerate(bounds)} | of_every_model
    found = measured_in(judged.scored, wanted, CONFIDENCE)
    on_rows = tuple(
        BoundOnRows(each, r, _bounded(model.linear, each, *found[f"bound {k}"]))
        for k, (each, r) in enumerate(bounds)
    )
    shown = {key: found[key] for key in of_every_model}
    for gap in decision_gaps(samples):
        shown["decision_gap"] = gap, NAN
    measures = [
        _measured(key, WORDS[key], training.get(key, NAN), *each) for key, each in shown.items()
    ]
    return on_rows, (*(one.found for one in on_rows if one.found.key not in shown), *measures)


def _measured(
    key: str, name: str, training: float, found: Estimate, adjusted: float = NAN
) -> NewRowsMeasure:
    """Put a share on new rows beside the one in training."""
    ends = found.value, found.low, found.high
    return NewRowsMeasure(key, name, float(training), *ends, True, adjusted)


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
    model: ScoredModel, judged: ReportRows, samples: tuple[Sample, ...]
) -> tuple[NewRowsMeasure, ...]:
    """Measure how well predictions meet the responses."""
    names = {key: name for key, name, _ in measures_of(model.family)}
    if not isinstance(judged.batches, InMemory):
        measures = accuracy_in(judged.scored, model.family)
        audits = [sample.audits[0] for sample in samples]
        known = [audit.overall.ranking.auc.value for audit in audits]
        n_classes = len(judged.example[1].labels)
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
        measures = accuracy_of(judged.example[1], baseline)
    return tuple(
        NewRowsMeasure(key, name, NAN, measures[key], NAN, NAN, is_share=key == "accuracy")
        for key, name in names.items()
        if key in measures
    )


# ------------------------------------------------------------------------ rows


@dataclass(frozen=True)
class ReportRows:
    """Rows as they were read and scored, and what all of them decide."""

    batches: Batches  # of `Read`
    example: Read  # all rows in memory, or one of them
    n_rows: int
    columns: AuditedColumns
    name: str  # of the response

    @classmethod
    def of(
        cls, model: ScoredModel, given: PassedRows | RowSource, options: ReportSettings
    ) -> ReportRows:
        """Read rows in memory at once, or look at all rows of a source once, batch by batch."""
        if not isinstance(given, RowSource):
            read = inputs, rows = read_rows(model, model.inner_rows(given))
            columns = AuditedColumns.of_rows(rows, options.bins)
            return cls(InMemory(read), read, inputs.table.shape[0], columns, name_of(given.y))
        if options.top is not None:
            raise TypeError("top needs the rows in memory: pass a frame or an array.")
        _require_batches(model, given)
        reader = ModelReader(model, given.roles)
        width = len(model.linear._fitted.design.encoded_names)
        batches = Streamed(given, reader.columns, reader).in_pieces(width)
        seen = batches.sum(partial(_first_look, given.roles))
        columns = AuditedColumns(attributes_of(seen["attributes"], options.bins))
        name = "".join(given.roles.response)
        return cls(batches, seen["example"].value, seen["rows"], columns, name)

    @property
    def scored(self) -> Batches:
        """The scored rows alone."""
        return self.batches.map(itemgetter(1))


def _require_batches(model: ScoredModel, source: RowSource) -> None:
    """Raise unless the model scores batches of rows, and these have what it needs."""
    if model.kind != "linear" or model.steps is not None:
        raise TypeError(
            "a report on rows that are not in memory takes a linear model of fairridge; use "
            "audit(source, predictions), or pass a frame or an array."
        )
    if model.family.reads == "times":
        raise ValueError(
            "a report on times needs the rows in memory: pass a frame or an array, or use "
            "audit(source, predictions)."
        )
    source.roles.require_training()


@dataclass(frozen=True)
class ModelReader:
    """Reads a batch as a fitted model does, and scores it; it travels."""

    model: ScoredModel
    roles: Roles

    @property
    def _names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Columns of X, and of S if these came separately at fit."""
        design = self.model.linear._fitted.design
        if design.names is None or (design.separate and design.sensitive_names is None):
            raise ValueError(
                f"this {self.model.name} was fitted to an array without column names; fit it to a "
                "frame, or to rows with names, to report on named columns."
            )
        return design.names, design.sensitive_names if design.separate else ()

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns it reads."""
        X, S = self._names
        roles = self.roles
        for name in (*X, *S):
            if name not in roles.columns:
                raise ValueError(
                    f"these rows lack column {name!r}, which was there at fit; they have "
                    f"{', '.join(roles.columns)}."
                )
        return (*X, *S, *roles.response, *roles.extras)

    def __call__(self, batch: Batch) -> Read | None:
        """Read the rows of positive weight; None if there are none."""
        frame: nw.DataFrame[Any] = nw.from_native(batch.frame, eager_only=True)
        roles, (X, S) = self.roles, self._names
        keep, weight = kept_rows(frame, roles.weight)
        if not len(np.arange(frame.shape[0])[keep]):
            return None
        if not isinstance(keep, slice):
            frame = frame[keep.tolist(), :]
        (response,) = roles.response
        read = numbers_of if self.model.classes is None else labels_of
        given = PassedRows(
            frame.select(X).to_native(),
            read(frame, response),
            frame.select(S).to_native() if S else None,
            weight,
            None if roles.offset is None else numbers_of(frame, roles.offset),
            None if roles.exposure is None else numbers_of(frame, roles.exposure),
        )
        return read_rows(self.model, given, batch=True)


def _first_look(roles: Roles, read: Read) -> Sums:
    """Look at a batch for what all rows decide before they are summed."""
    inputs, rows = read
    assert rows.attributes is not None
    first = np.array([0])
    example = replace(
        inputs,
        table=inputs.table.take(first),
        attributes=inputs.attributes and inputs.attributes.take(first),
        weight=None if inputs.weight is None else inputs.weight[:1],
        offset=None if inputs.offset is None else inputs.offset[:1],
        keep=slice(None),
    )
    return Sums({
        "attributes": attribute_values(rows.attributes, rows.mean_weight, roles.kinds),
        "rows": len(rows.weight),
        "example": Alike((example, _head(rows))),
    })  # fmt: skip


def _head(rows: ScoredRows) -> ScoredRows:
    """Return the first row."""
    n = len(rows.weight)
    known = {field.name: getattr(rows, field.name) for field in fields(rows)}
    kept: dict[str, Any] = {
        name: values[:1]
        for name, values in known.items()
        if name != "classes" and isinstance(values, np.ndarray) and len(values) == n
    }
    assert rows.attributes is not None
    return replace(rows, attributes=rows.attributes.take(np.array([0])), **kept)


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


def drift_sums(model: Any, read: Read) -> Sums:
    """Sum the weights of rows by level, or tenth at fit, of every column; those of batches add."""
    facts, inputs = model._fitted, read[0]
    # Columns as they came are compared, and not what maps make of them.
    given = replace(
        facts.design,
        sensitive=facts.design.sensitive.inner,
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


def drift_of(model: Any, sums: Sums) -> tuple[tuple[Drift, ...], str]:
    """Compare the encoded columns of new rows with those at fit, those that changed most first."""
    # Also returned is which columns cannot be compared, and why.
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
