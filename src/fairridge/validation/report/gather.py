"""Gathers what an audit report shows."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import count

import numpy as np

from fairridge.data import name_of
from fairridge.engines import one_blas_thread
from fairridge.estimators._outcome import isolated_levels
from fairridge.families import Family
from fairridge.metrics.batches import InMemory
from fairridge.metrics.dependence_shares import WORDS
from fairridge.metrics.groups import sensitive_table
from fairridge.metrics.measure import measured_on_rows
from fairridge.metrics.scored_rows import ScoredRows
from fairridge.reports.html.contents import AttributeBound, Curve, ReportContents, Sample, Sighted
from fairridge.validation.folds import Fold, make_folds
from fairridge.validation.passed_rows import PassedRows
from fairridge.validation.read_rows import written
from fairridge.validation.report.case import (
    MANY_ROWS,
    Case,
    Findings,
    ReportSettings,
    read_case,
    unblinded_case,
)
from fairridge.validation.report.groups import (
    Comparison,
    audited,
    crossed,
    decision_gaps,
    learned_dependence,
)
from fairridge.validation.report.record import case_record, of_stack, subject_of
from fairridge.validation.report.rows import (
    measure_folds,
    measure_training,
    measures_of,
    refit,
    rows_of,
)
from fairridge.validation.report.terms import (
    attributions,
    coefficient_terms,
    inference_of,
    proxies_of,
    scoring_of,
)
from fairridge.validation.scored_model import ScoredModel, scored_model

Progress = Callable[[str, int, int], None]

# Held-out folds; fewer if there are many rows, of which each fold then has enough.
FOLDS, FEW_FOLDS = 10, 3
# Work that refits may take together, in multiplications, and fewer that say too little.
REFIT_WORK, FEWEST_REFITS = 4e10, 25


def gather(
    model: ScoredModel, given: PassedRows, options: ReportSettings, progress: Progress | None
) -> ReportContents:
    """Fit the path, hold rows out, refit, and compare groups."""
    case = read_case(*model.training_rows(given))
    training, fits = case.training, [solution.fit for solution in case.solutions]
    attributes = sensitive_table(training.design, case.inputs.table, case.inputs.attributes)
    read = written(rows_of(training), training.response)
    rows = replace(read, offset=case.inputs.offset, attributes=attributes)
    name = options.response or name_of(given.y)
    groups = Comparison.of(rows, name, options)
    findings = _measured(case, rows, groups, options, progress)
    fitted = scored_model(case.fitted)
    assert fitted.measure is not None
    blind = not fitted.reads_sensitive
    terms, left_out = coefficient_terms(fits, training, rows.labels, blind=blind)
    subject = subject_of(
        fitted,
        case.inputs,
        rows,
        groups.rule,
        options,
        name=name,
        what="Fairness audit",
        n_rows={"Rows": training.n_rows},
        more=case_record(case, findings, options.random_state),
    )
    bounded = measured_on_rows(fitted.measure, rows.family)
    return ReportContents(
        subject=of_stack(model, given, subject),
        unfairness=case.bounds,
        chosen=case.chosen,
        achieved=np.array([solution.achieved for solution in case.solutions]),
        each=_each(fitted, case),
        lambda_=np.array([fit.lambda_ for fit in fits]),
        status=tuple(solution.choice.status for solution in case.solutions),
        dependence=_curve(findings, "dependence", bounded.words, False),
        measure=fitted.measure,
        yardstick=_yardstick(findings),
        accuracy=_accuracy_curves(rows.family, findings),
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
        sighted=_sighted(case, rows, groups, options),
        scoring=scoring_of(case.fitted),
        intersections=findings.intersections,
        learned=findings.learned,
        **inference_of(case),
    )


def _each(fitted: ScoredModel, case: Case) -> tuple[AttributeBound, ...]:
    """Return what attributes with bounds of their own explain; nothing with one bound."""
    found = []
    for measure, _ in fitted.bounds:
        shares = [s.each[measure.attributes[0]] for s in case.solutions if s.each]
        bounds, achieved = (
            np.array([getattr(share, key) for share in shares]) for key in ("bound", "achieved")
        )
        found.append(AttributeBound(measure, bounds, achieved))
    return tuple(found) if case.solutions[0].each else ()


def _sighted(
    case: Case, rows: ScoredRows, groups: Comparison, options: ReportSettings
) -> Sighted | None:
    """Return the model that uses S at the same bound, if this one is blind."""
    if not getattr(case.model, "blind", False):
        return None
    without_refits = replace(options, bootstrap=0)
    findings = _measured(unblinded_case(case), rows, groups, without_refits, None)
    return Sighted(_yardstick(findings), _accuracy_curves(rows.family, findings))


def _measured(
    case: Case,
    rows: ScoredRows,
    groups: Comparison,
    options: ReportSettings,
    progress: Progress | None,
) -> Findings:
    """Do the work that takes time."""
    folds, n_refits = _folds(case, options), _replicates(case, options.bootstrap)
    total = len(folds) + n_refits + len(case.bounds) * (2 if folds else 1)
    done = count(1)

    def step(stage: str) -> None:
        if progress is not None:
            progress(stage, next(done), total)

    whole, bounds = case.whole, case.training_bounds
    in_training = measure_training(whole, case.problem, case.solutions)
    held_out = refits = None
    if folds:
        held_out = measure_folds(whole, bounds, folds, partial(step, "held-out folds"))
    if n_refits:
        rng, bound = np.random.default_rng(options.random_state), float(bounds[case.chosen])
        refits = refit(whole, bound, n_refits, rng, partial(step, "refits"))
    samples: tuple[Sample, ...] = ()
    # Many small matrices. Models know their classes: that a bound leaves them no better than
    # chance on held-out rows is shown, and nothing to warn of.
    with one_blas_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for called, measured in (("held-out", held_out), ("training", in_training)):
            if measured is not None:
                models = [InMemory(replace(rows, scores=scores)) for scores in measured.scores]
                done_one = partial(step, "groups")
                found = audited(groups, models, rows, called, case.chosen, done_one)
                if gaps := decision_gaps(found):
                    measured.measures["decision_gap"] = np.array([gap.value for gap in gaps])
                samples += found
        scores = (in_training if held_out is None else held_out).scores
        chosen, free = (replace(rows, scores=scores[k]) for k in (case.chosen, -1))
        pairs = crossed(groups, chosen, free)
        learned = learned_dependence(groups, chosen)
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
    closed = case.training.response.family.least_squares and not case.training.response.each
    columns = len(case.training.design.encoded_names)
    work = case.training.n_rows * columns**2 * (10 if closed else 30)
    done = int(min(REFIT_WORK / work, 400 if closed else 100))
    return done if done >= FEWEST_REFITS else 0


def _curve(findings: Findings, key: str, name: str, larger: bool) -> Curve:
    """Return a measure in training and held out."""
    training, held_out = findings.training.measures[key], findings.held_out
    means, errors = ({}, {}) if held_out is None else (held_out.measures, held_out.errors)
    return Curve(key, name, training, means.get(key), errors.get(key), larger)


def _yardstick(findings: Findings) -> dict[str, Curve]:
    """Return the numbers that every model is described by, without errors."""
    known = findings.training.measures
    return {
        key: replace(_curve(findings, key, name, False), error=None)
        for key, name in WORDS.items()
        if key in known
    }


def _accuracy_curves(family: Family, findings: Findings) -> tuple[Curve, ...]:
    known = findings.training.measures
    return tuple(
        _curve(findings, *measure) for measure in measures_of(family) if measure[0] in known
    )
