"""Gathers what an audit report shows."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import count
from typing import Any

import numpy as np

from fairridge._typing import Floats
from fairridge.data import name_of
from fairridge.engines import one_blas_thread
from fairridge.estimators._model import bounded_measure
from fairridge.estimators._outcome import isolated_levels
from fairridge.families import Family
from fairridge.metrics import WORDS, measured_on_rows
from fairridge.reports.html import Curve, ReportContents, Sample, Sighted
from fairridge.validation.folds import Fold, make_folds
from fairridge.validation.report.case import (
    MANY_ROWS,
    Case,
    Findings,
    ReportSettings,
    read_case,
    unblinded_case,
)
from fairridge.validation.report.groups import (
    DecisionRule,
    ReportRows,
    audited,
    crossed,
    decision_rule,
    learned_dependence,
)
from fairridge.validation.report.record import case_subject
from fairridge.validation.report.rows import measure_folds, measure_training, refit
from fairridge.validation.report.terms import (
    attributions,
    coefficient_terms,
    inference_of,
    proxies_of,
    scoring_of,
)

Progress = Callable[[str, int, int], None]

# Measures of accuracy, the most informative one first, by what the family reads.
MEASURES: dict[str, tuple[tuple[str, str, bool], ...]] = {
    "numbers": (("d_squared", "D²", True),),
    "classes": (("auc", "AUC", True), ("accuracy", "Accuracy", True)),
    "several classes": (
        ("accuracy", "Accuracy", True),
        ("auc", "AUC (one against the rest)", True),
    ),
    "times": (
        ("concordance", "Concordance", True),
        ("brier", "Integrated Brier score", False),
    ),
}
R_SQUARED = ("r_squared", "R²", True)
RMSE = ("rmse", "RMSE", False)
LOSS = ("loss", "Mean deviance", False)
# Held-out folds; fewer if there are many rows, of which each fold then has enough.
FOLDS, FEW_FOLDS = 10, 3
# Work that refits may take together, in multiplications, and fewer that say too little.
REFIT_WORK, FEWEST_REFITS = 4e10, 25


def measures_of(family: Family) -> tuple[tuple[str, str, bool], ...]:
    """Return key, name and whether more is better of the measures of accuracy of a family."""
    if family.least_squares:
        return R_SQUARED, RMSE
    kind = "several classes" if family.n_predictors > 1 else family.reads
    return (*MEASURES[kind], LOSS)


def gather(
    model: Any,
    X: Any,
    y: Any,
    sensitive_features: Any,
    sample_weight: Any,
    offset: Any,
    options: ReportSettings,
    progress: Progress | None,
) -> ReportContents:
    """Fit the path, hold rows out, refit, and compare groups."""
    case = read_case(model, X, y, sensitive_features, sample_weight, offset)
    training, fits = case.training, [solution.fit for solution in case.solutions]
    audience = ReportRows.of(training.design, case.inputs, training.response, options)
    name = options.response or name_of(y)
    rule = decision_rule(audience, name)
    findings = _measured(case, audience, rule, progress)
    blind = not case.model._traits.needs_sensitive
    measure = bounded_measure(case.fitted)
    terms, left_out = coefficient_terms(fits, training, audience.labels, blind=blind)
    return ReportContents(
        subject=case_subject(case, name or "the response", audience, rule, findings),
        unfairness=case.bounds,
        chosen=case.chosen,
        achieved=np.array([solution.achieved for solution in case.solutions]),
        lambda_=np.array([fit.lambda_ for fit in fits]),
        status=tuple(solution.choice.status for solution in case.solutions),
        dependence=_curve(findings, "dependence", "dependence on S", False),
        dependence_name=measured_on_rows(measure, audience.family).words,
        measure=measure,
        yardstick=_yardstick(findings),
        accuracy=_accuracy_curves(audience.family, findings),
        folds=findings.folds,
        refits=findings.refits,
        terms=terms,
        left_out=left_out,
        attribution=attributions(fits, training),
        proxies=proxies_of(fits[-1], training),
        samples=findings.samples,
        isolated=isolated_levels(case.problem, training.design),
        flips=getattr(case.fitted, "sign_flips_", {}),
        separating=tuple(case.solutions[case.chosen].separating),
        sighted=_sighted(case, audience, rule),
        scoring=scoring_of(case.fitted),
        intersections=findings.intersections,
        learned=findings.learned,
        **inference_of(case),
    )


def _sighted(case: Case, audience: ReportRows, rule: DecisionRule) -> Sighted | None:
    """Return the model that uses S at the same bound, if this one is blind."""
    if not getattr(case.model, "blind", False):
        return None
    without_refits = replace(audience, options=replace(audience.options, bootstrap=0))
    findings = _measured(unblinded_case(case), without_refits, rule, None)
    return Sighted(_yardstick(findings), _accuracy_curves(audience.family, findings))


def _measured(
    case: Case, audience: ReportRows, rule: DecisionRule, progress: Progress | None
) -> Findings:
    """Do the work that takes time."""
    options = audience.options
    folds, n_refits = _folds(case, options), _replicates(case, options.bootstrap)
    total = len(folds) + n_refits + len(case.bounds) * (2 if folds else 1)
    done = count(1)

    def step(stage: str) -> None:
        if progress is not None:
            progress(stage, next(done), total)

    in_training = measure_training(case.model, case.training, case.problem, case.solutions)
    held_out = refits = None
    refitted, bounds = (case.in_training, case.training, case.problem), case.training_bounds
    if folds:
        held_out = measure_folds(*refitted, bounds, folds, partial(step, "held-out folds"))
    if n_refits:
        rng, bound = np.random.default_rng(options.random_state), float(bounds[case.chosen])
        refits = refit(*refitted, bound, n_refits, rng, partial(step, "refits"))
    samples: tuple[Sample, ...] = ()
    # Many small matrices. Models know their classes: that a bound leaves them no better than
    # chance on held-out rows is shown, and nothing to warn of.
    with one_blas_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for rows, measured in (("held-out", held_out), ("training", in_training)):
            if measured is not None:
                at = rows, case.chosen, partial(step, "groups")
                samples += audited(audience, rule, measured.eta, *at)
        eta = (in_training if held_out is None else held_out).eta
        pairs = crossed(audience, rule, eta[case.chosen], eta[-1])
        learned = learned_dependence(audience, rule, eta[case.chosen])
    return Findings(in_training, held_out, refits, samples, len(folds), pairs, learned)


def _folds(case: Case, options: ReportSettings) -> list[Fold]:
    """Divide the rows; into as many parts as the rarest class and the columns of S allow."""
    n, classes = case.training.n_rows, case.training.response.classes
    codes = case.training.response.values[:, 0]
    counts = np.array([n]) if classes is None else np.unique(codes, return_counts=True)[1]
    # In no more rows than S has columns, dependence on S is not defined; stratified folds
    # differ by up to one row per class.
    least = case.training.engine.n_sensitive + 2 + len(counts)
    wanted = (FOLDS if n <= MANY_ROWS else FEW_FOLDS) if options.cv is None else int(options.cv)
    n_folds = min(wanted, int(counts.min()), n // least)
    if n_folds < 2:
        return []
    return make_folds(None, n_folds, 1, options.random_state, {"": case.model}, n, codes)[0]


def _replicates(case: Case, wanted: int | None) -> int:
    """Return as many refits as were asked for, or as are done in reasonable time; else none."""
    if wanted is not None:
        return int(wanted)
    closed = case.training.response.family.least_squares
    columns = len(case.training.design.encoded_names)
    work = case.training.n_rows * columns**2 * (10 if closed else 30)
    done = int(min(REFIT_WORK / work, 400 if closed else 100))
    return done if done >= FEWEST_REFITS else 0


def _curve(findings: Findings, key: str, name: str, larger: bool) -> Curve:
    """Return a measure in training and held out."""
    held_out = findings.held_out
    means, errors = ({}, {}) if held_out is None else (held_out.measures, held_out.errors)
    return Curve(name, findings.training.measures[key], means.get(key), errors.get(key), larger)


def _yardstick(findings: Findings) -> dict[str, Curve]:
    """Return the numbers that every model is described by, without errors."""
    curves = {
        key: replace(_curve(findings, key, name, False), error=None)
        for key, name in WORDS.items()
        if key in findings.training.measures
    }
    gaps, held_out = (_gaps(findings.samples, rows) for rows in ("training", "held-out"))
    if gaps is not None:
        curves["decision_gap"] = Curve(
            WORDS["decision_gap"], gaps, held_out, larger_is_better=False
        )
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


def _accuracy_curves(family: Family, findings: Findings) -> tuple[Curve, ...]:
    known = findings.training.measures
    return tuple(
        _curve(findings, *measure) for measure in measures_of(family) if measure[0] in known
    )
