"""Gathers what an audit report shows."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from fairridge._typing import Floats, Integers
from fairridge.data import name_of
from fairridge.engines import one_blas_thread
from fairridge.estimators._isolating import isolated_levels
from fairridge.families import Family
from fairridge.metrics import WORDS
from fairridge.reports.html import Curve, ReportContents, Sample, Sighted
from fairridge.validation.folds import make_folds
from fairridge.validation.report.case import (
    Case,
    Found,
    ReportOptions,
    class_labels,
    read_case,
    sighted_case,
)
from fairridge.validation.report.groups import Audience, Rule, audited, crossed, decision_rule
from fairridge.validation.report.record import subject_of
from fairridge.validation.report.rows import Measured, measure_folds, measure_training, refit
from fairridge.validation.report.scoring import scoring_of
from fairridge.validation.report.terms import attributions, coefficient_terms, known_of_predictors
from fairridge.validation.report.uncertainty import uncertainty_of

__all__ = ["gather"]

Fold = tuple[Integers, Integers]
Progress = Callable[[str, int, int], None]

# Measures of accuracy, the most telling one first, by what the family reads.
MEASURES: dict[str, tuple[tuple[str, str, bool], ...]] = {
    "numbers": (("r_squared", "R²", True),),
    "classes": (("auc", "AUC", True), ("accuracy", "Accuracy", True)),
    "several classes": (
        ("accuracy", "Accuracy", True),
        ("auc", "AUC (one against the rest)", True),
    ),
    "times": (("concordance", "Concordance", True),),
}
RMSE = ("rmse", "RMSE", False)
LOSS = ("loss", "Mean deviance", False)
# Work that refits may take together, in multiplications.
REFIT_WORK = 4e10


def gather(
    model: Any,
    X: Any,
    y: Any,
    sensitive_features: Any,
    sample_weight: Any,
    offset: Any,
    options: ReportOptions,
    progress: Progress | None,
) -> ReportContents:
    """Fit the path, hold rows out, refit, and compare groups."""
    case = read_case(model, X, y, sensitive_features, sample_weight, offset)
    audience = _audience(case)
    name = options.response or name_of(y)
    rule = decision_rule(audience, options.threshold, options.positive, options.favorable, name)
    found = _measured(case, options, audience, rule, progress)
    training, fits = case.training, [solution.fit for solution in case.solutions]
    terms, left_out = coefficient_terms(fits, training, audience.labels)
    family = training.response.family
    return ReportContents(
        subject=subject_of(case, y, options, rule, found),
        unfairness=case.bounds,
        chosen=case.chosen,
        achieved=np.array([solution.achieved for solution in case.solutions]),
        lambda_=np.array([fit.lambda_ for fit in fits]),
        status=tuple(solution.choice.status for solution in case.solutions),
        dependence=_dependence_curve(found.training, found.held_out),
        dependence_name=_dependence_name(case.model),
        yardstick=_yardstick(found),
        accuracy=_accuracy_curves(family, found.training, found.held_out),
        folds=found.folds,
        refits=found.refits,
        terms=terms,
        left_out=left_out,
        attribution=attributions(fits, training),
        predictors=known_of_predictors(fits[-1], training),
        samples=found.samples,
        isolated=isolated_levels(case.problem, training.design),
        separating=tuple(case.solutions[case.chosen].separating),
        sighted=_sighted(case, options, audience, rule),
        uncertainty=uncertainty_of(case),
        scoring=scoring_of(case.fitted),
        intersections=found.intersections,
    )


def _sighted(case: Case, options: ReportOptions, audience: Audience, rule: Rule) -> Sighted | None:
    """Return the model that uses S at the same bound, if this one is blind."""
    if not getattr(case.model, "blind", False):
        return None
    other = sighted_case(case)
    found = _measured(other, replace(options, bootstrap=0), audience, rule, None)
    family = other.training.response.family
    return Sighted(_yardstick(found), _accuracy_curves(family, found.training, found.held_out))


def _measured(
    case: Case,
    options: ReportOptions,
    audience: Audience,
    rule: Rule,
    progress: Progress | None,
) -> Found:
    """Do the work that takes time."""
    model, training, problem = case.model, case.training, case.problem
    folds, count = _folds(case, options), _replicates(case, options.bootstrap)
    bar = _Bar(progress, len(folds) + count + len(case.bounds) * (2 if folds else 1))
    in_training = measure_training(model, training, problem, case.solutions)
    held_out = refits = None
    bar.stage = "held-out folds"
    if folds:
        held_out = measure_folds(
            case.in_training, training, problem, case.training_bounds, folds, bar.step
        )
    bar.stage = "refits"
    if count:
        rng = np.random.default_rng(options.random_state)
        bound = float(case.training_bounds[case.chosen])
        refits = refit(case.in_training, training, problem, bound, count, rng, bar.step)
    bar.stage = "groups"
    samples: tuple[Sample, ...] = ()
    # Many small matrices. Models know their classes: that a bound leaves them no better than
    # chance on held-out rows is shown, and nothing to warn of.
    with one_blas_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for rows, measured in (("held-out", held_out), ("training", in_training)):
            if measured is not None:
                samples += audited(
                    audience, rule, measured.eta, rows,
                    bins=options.bins, small=options.small, step=bar.step,
                )  # fmt: skip
        eta = (in_training if held_out is None else held_out).eta
        pairs = crossed(
            audience, rule, eta[case.chosen], eta[-1], bins=options.bins, small=options.small
        )
    return Found(in_training, held_out, refits, samples, len(folds), pairs)


def _audience(case: Case) -> Audience:
    design, response, inputs = case.training.design, case.training.response, case.inputs
    table = inputs.table if inputs.attributes is None else inputs.attributes
    values = None if response.family.reads == "times" else response.values[:, 0]
    return Audience(
        table.select(design.positions_sensitive),
        inputs.weight,
        values,
        response.family,
        class_labels(case),
        # A gaussian response has the offset taken off; readers want it back.
        inputs.offset if response.family.least_squares else None,
    )


def _folds(case: Case, options: ReportOptions) -> list[Fold]:
    """Divide the rows; into as many parts as the rarest class and the columns of S allow."""
    n, classes = case.training.n_rows, case.training.response.classes
    codes = case.training.response.values[:, 0]
    counts = np.array([n]) if classes is None else np.unique(codes, return_counts=True)[1]
    # In no more rows than S has columns, dependence on S is not defined; stratified folds
    # differ by up to one row per class.
    least = case.training.engine.n_sensitive + 2 + len(counts)
    count = min(int(options.cv), int(counts.min()), n // least)
    if count < 2:
        return []
    return make_folds(None, count, 1, options.random_state, {"": case.model}, n, codes)[0]


def _replicates(case: Case, wanted: int | None) -> int:
    """As many refits as were asked for, or as are done in reasonable time."""
    if wanted is not None:
        return int(wanted)
    closed = case.training.response.family.least_squares
    columns = len(case.training.design.encoded_names)
    work = case.training.n_rows * columns**2 * (1 if closed else 30)
    return int(np.clip(REFIT_WORK / work, 20, 400 if closed else 100))


def _dependence_curve(training: Measured, held_out: Measured | None) -> Curve:
    return Curve(
        "dependence on S",
        training.dependence,
        None if held_out is None else held_out.dependence,
        None if held_out is None else held_out.dependence_error,
        larger_is_better=False,
    )


def _yardstick(found: Found) -> dict[str, Curve]:
    """Return the numbers that every model is described by, in training and held out."""
    curves = {}
    for key in WORDS:
        if key == "decision_gap":
            values, held = (_gaps(found.samples, rows) for rows in ("training", "held-out"))
        else:
            values = found.training.measures.get(key)
            held = None if found.held_out is None else found.held_out.measures.get(key)
        if values is not None:
            curves[key] = Curve(WORDS[key], values, held, larger_is_better=False)
    return curves


def _gaps(samples: tuple[Sample, ...], rows: str) -> Floats | None:
    """Return the largest gap of decisions between groups at every bound, over classes."""
    gaps = [
        [audit.demographic_parity_difference for audit in sample.audits]
        for sample in samples
        if sample.rows == rows
    ]
    largest = np.fmax.reduce(np.array(gaps)) if gaps else np.array([np.nan])
    return None if np.isnan(largest).all() else largest


def _dependence_name(model: Any) -> str:
    name = str(model._traits.definition.name)
    if name.startswith("statistical-parity"):
        return "share of the variance of the linear predictor that the sensitive attributes explain"
    if name == "equality-of-opportunity":
        return (
            "share of the sensitive attributes in what they and then the response explain of "
            "the linear predictor"
        )
    return f"{name}, as the model bounds it"


def _accuracy_curves(
    family: Family, training: Measured, held_out: Measured | None
) -> tuple[Curve, ...]:
    several = family.n_predictors > 1
    wanted = MEASURES["several classes" if several else family.reads]
    wanted += (RMSE,) if family.least_squares else (LOSS,)
    curves = []
    for key, name, larger in wanted:
        if key not in training.measures:
            continue
        held = None if held_out is None else held_out.measures.get(key)
        error = None if held_out is None else held_out.errors.get(key)
        curves.append(Curve(name, training.measures[key], held, error, larger))
    return tuple(curves)


class _Bar:
    """Count steps for whoever listens."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self.stage = "path"
        self._progress, self._total, self._done = progress, total, 0

    def step(self) -> None:
        self._done += 1
        if self._progress is not None:
            self._progress(self.stage, self._done, self._total)
