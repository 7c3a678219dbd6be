"""Gathers what an audit report shows."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import count
from typing import Any

import numpy as np

from fairridge.engines import one_blas_thread
from fairridge.estimators._outcome import isolated_levels
from fairridge.families import Family
from fairridge.metrics.batches import InMemory
from fairridge.metrics.dependence_shares import WORDS
from fairridge.metrics.measure import measured_on_rows
from fairridge.metrics.scored_rows import ScoredRows
from fairridge.reports.html.contents import AttributeBound, Curve, ReportContents, Sighted
from fairridge.validation.evaluate import measures_of
from fairridge.validation.folds import Fold, make_folds
from fairridge.validation.one_fold import Solved
from fairridge.validation.report.case import (
    MANY_ROWS,
    Case,
    Measured,
    Step,
    measure_folds,
    measure_training,
    read_case,
    refit,
    unblinded_case,
)
from fairridge.validation.report.groups import (
    ReportGroups,
    compared_groups,
    crossed,
    decision_gaps,
    learned_dependence,
)
from fairridge.validation.report.record import case_record, of_stack, subject_of
from fairridge.validation.report.rows import ReportRows, ReportSettings
from fairridge.validation.report.terms import coefficients_of, inference_of
from fairridge.validation.scored_model import PassedRows, ScoredModel, scored_model

Progress = Callable[[str, int, int], None]

# Held-out folds; fewer if there are many rows, of which each fold then has enough.
FOLDS, FEW_FOLDS = 10, 3
# Work that refits may take together, in multiplications, and fewer that say too little.
REFIT_WORK, FEWEST_REFITS = 4e10, 25


def gather(
    model: ScoredModel, given: PassedRows, options: ReportSettings, progress: Progress
) -> ReportContents:
    """Fit the path, hold rows out, refit, and compare groups."""
    linear, inner = model.training_rows(given)
    case = read_case(linear, inner)
    shown = ReportRows.of_training(case, options)
    groups = ReportGroups.of(shown, options)
    folds, n_refits = _folds(case, options), _replicates(case, options.bootstrap)
    step = _steps(progress, len(folds) + n_refits + len(case.bounds) * (2 if folds else 1))
    measured = _measured(case, folds, partial(step, "held-out folds"))
    refits = refit(case, n_refits, options.random_state, partial(step, "refits"))
    with _many_small_matrices():
        compare = partial(_with_groups, groups, shown.rows, case.chosen, partial(step, "groups"))
        measured = [compare(each) for each in measured]
        chosen, free = (
            replace(shown.rows, scores=measured[0].scores[k]) for k in (case.chosen, -1)
        )
        pairs, learned = crossed(groups, chosen, free), learned_dependence(groups, chosen)
    fitted = scored_model(case.fitted)
    more = case_record(case, len(folds), refits, options.random_state)
    n_rows = {"Rows": case.training.n_rows}
    subject = subject_of(fitted, shown, groups.rule, options, "Fairness audit", n_rows, more)
    assert fitted.measure is not None
    bounded = measured_on_rows(fitted.measure, shown.rows.family)
    return ReportContents(
        subject=of_stack(model, given, subject),
        measure=fitted.measure,
        dependence=_curve(measured, "dependence", bounded.words, False),
        folds=len(folds),
        refits=refits,
        samples=tuple(sample for each in measured for sample in each.samples),
        sighted=_sighted(case, folds, shown.rows, groups),
        intersections=pairs,
        learned=learned,
        **_curves(shown.rows.family, measured),
        **_path_of(case, fitted),
        **coefficients_of(case, shown.rows.labels),
        **inference_of(case),
    )


def _path_of(case: Case, fitted: ScoredModel) -> dict[str, Any]:
    """Return what was found at every bound, as fields of `ReportContents`."""
    chosen = case.solutions[case.chosen]
    return {
        "unfairness": case.bounds,
        "chosen": case.chosen,
        "achieved": np.array([solution.achieved for solution in case.solutions]),
        "each": _each(case, fitted),
        "lambda_": np.array([solution.fit.lambda_ for solution in case.solutions]),
        "status": tuple(solution.choice.status for solution in case.solutions),
        "isolated": isolated_levels(case.problem, case.training.design),
        "flips": getattr(case.fitted, "sign_flips_", {}),
        "separating": tuple(chosen.separating),
    }


def _each(case: Case, fitted: ScoredModel) -> tuple[AttributeBound, ...]:
    """Return what attributes with bounds of their own explain; nothing with one bound."""
    if not case.solutions[0].each:
        return ()
    found = []
    for measure, _ in fitted.bounds:
        shares = [s.each[measure.attributes[0]] for s in case.solutions if s.each]
        bounds, achieved = (
            np.array([getattr(share, key) for share in shares]) for key in ("bound", "achieved")
        )
        found.append(AttributeBound(measure, bounds, achieved))
    return tuple(found)


def _sighted(
    case: Case, folds: list[Fold], rows: ScoredRows, groups: ReportGroups
) -> Sighted | None:
    """Return the model that uses S at the same bound, if this one is blind."""
    if not getattr(case.model, "blind", False):
        return None
    measured = _measured(unblinded_case(case), folds)
    with _many_small_matrices():
        measured = [_with_groups(groups, rows, 0, lambda: None, each) for each in measured]
    return Sighted(**_curves(rows.family, measured))


# ------------------------------------------------------------------------ work that takes time


def _steps(progress: Progress, total: int) -> Callable[[str], None]:
    """Return what tells of every step of so many."""
    done = count(1)
    return lambda stage: progress(stage, next(done), total)


def _measured(case: Case, folds: list[Fold], step: Step = lambda: None) -> list[Measured]:
    """Measure all bounds on rows that are held out, if there are folds, and in training."""
    whole, bounds = case.whole, case.training_bounds
    in_training = measure_training(Solved(whole, case.problem, case.solutions))
    if not folds:
        return [in_training]
    return [measure_folds(whole, bounds, folds, step), in_training]


@contextmanager
def _many_small_matrices() -> Iterator[None]:
    """Compare groups at many bounds."""
    # Models know their classes: that a bound leaves them no better than chance on held-out rows is
    # shown, and nothing to warn of.
    with one_blas_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield


def _with_groups(
    groups: ReportGroups, rows: ScoredRows, chosen: int, step: Step, measured: Measured
) -> Measured:
    """Compare groups at every bound, and add the gaps of decisions to what was measured."""
    models = [InMemory(replace(rows, scores=scores)) for scores in measured.scores]
    samples = compared_groups(groups, models, rows, measured.called, chosen, step)
    gaps = np.array([gap.value for gap in decision_gaps(samples)])
    measures = measured.measures | ({"decision_gap": gaps} if gaps.size else {})
    return replace(measured, measures=measures, samples=samples)


def _folds(case: Case, options: ReportSettings) -> list[Fold]:
    """Divide the rows; into as many parts as the rarest class and the columns of S allow."""
    n, response = case.training.n_rows, case.training.response
    codes = None if response.classes is None else response.values[:, 0]
    counts = np.array([n]) if codes is None else np.unique(codes, return_counts=True)[1]
    # In no more rows than S has columns, dependence on S is not defined; stratified folds
    # differ by up to one row per class.
    least = case.training.engine.n_sensitive + 2 + len(counts)
    wanted = (FOLDS if n <= MANY_ROWS else FEW_FOLDS) if options.cv is None else int(options.cv)
    n_folds = min(wanted, int(counts.min()), n // least)
    if n_folds < 2:
        return []
    return make_folds(None, n_folds, 1, options.random_state, {}, n, codes)[0]


def _replicates(case: Case, wanted: int | None) -> int:
    """Return as many refits as were asked for, or as are done in reasonable time; else none."""
    if wanted is not None:
        return int(wanted)
    closed = case.training.response.family.least_squares and not case.training.response.each
    columns = len(case.training.design.encoded_names)
    work = case.training.n_rows * columns**2 * (10 if closed else 30)
    done = int(min(REFIT_WORK / work, 400 if closed else 100))
    return done if done >= FEWEST_REFITS else 0


# ------------------------------------------------------------------------ curves


def _curve(measured: list[Measured], key: str, name: str, larger: bool) -> Curve:
    """Return a measure in training and held out."""
    training = measured[-1].measures[key]
    if len(measured) == 1:
        return Curve(key, name, training, larger_is_better=larger)
    held_out = measured[0]
    return Curve(key, name, training, held_out.measures.get(key), held_out.errors.get(key), larger)


def _curves(family: Family, measured: list[Measured]) -> dict[str, Any]:
    """Return the numbers that every model is described by, without errors, and its accuracy."""
    known = measured[-1].measures
    return {
        "dependence_shares": {
            key: replace(_curve(measured, key, name, False), error=None)
            for key, name in WORDS.items()
            if key in known
        },
        "accuracy": tuple(_curve(measured, *of) for of in measures_of(family) if of[0] in known),
    }
