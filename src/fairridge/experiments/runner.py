"""Do the parts that are not done yet, on several cores, and keep each as it comes."""

from __future__ import annotations

import time
import warnings
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing

from joblib import Parallel, delayed

from fairridge.engines import one_blas_thread
from fairridge.experiments.progress import Progress
from fairridge.experiments.registry import EXPERIMENTS, Experiment
from fairridge.experiments.results import Results
from fairridge.experiments.settings import Settings
from fairridge.experiments.sources import advice, missing
from fairridge.experiments.store import Part, Store
from fairridge.experiments.table import Row, Table

__all__ = ["compute", "run"]


def run(names: Sequence[str], settings: Settings, store: Store, jobs: int) -> Results:
    """Run experiments, or what is left of them, and return all their results."""
    experiments = [EXPERIMENTS[name] for name in names]
    cases = list(dict.fromkeys(case for e in experiments for case in e.cases))
    reasons = missing(cases, settings) | _unusable(experiments)
    skipped = {
        (e.name, case): reasons[key]
        for e in experiments
        for case in e.cases
        for key in (case, e.name)
        if key in reasons
    }
    parts = [
        Part(e.name, case, number)
        for e in experiments
        for case in e.cases
        if (e.name, case) not in skipped
        for number in range(e.runs(settings))
    ]
    todo = [part for part in parts if not store.has(part)]
    progress = Progress(len(todo))
    _say_skipped(skipped, progress)
    for part in filter(store.damaged, todo):
        progress.say(f"{store.folder / part.file} cannot be read, and is computed again")
    _work(todo, settings, store, jobs, progress)
    earlier = list(_earlier(experiments, settings))
    for part in filter(store.damaged, earlier):
        progress.say(f"{store.folder / part.file} cannot be read, and is left out")
    return _collect([*parts, *filter(store.has, earlier)], skipped, settings, store)


def _earlier(asked: Sequence[Experiment], settings: Settings) -> Iterator[Part]:
    """Return what earlier commands may have left of the other experiments."""
    return (
        Part(e.name, case, number)
        for e in EXPERIMENTS.values()
        if e not in asked
        for case in e.cases
        for number in range(e.runs(settings))
    )


def _unusable(experiments: Iterable[Experiment]) -> dict[str, str]:
    """Return the experiments that lack a library."""
    return {e.name: reason for e in experiments if (reason := e.lacks())}


def _say_skipped(skipped: dict[tuple[str, str], str], progress: Progress) -> None:
    for experiment, case in skipped:
        progress.say(f"{experiment} on {case}: skipped")
    for reason in dict.fromkeys(skipped.values()):
        progress.say(f"skipped because {reason}")
    if how := advice(skipped.values()):
        progress.say(how)


def _work(
    todo: list[Part], settings: Settings, store: Store, jobs: int, progress: Progress
) -> None:
    try:
        with closing(_outcomes(todo, settings, jobs)) as outcomes:
            for part, rows, seconds in outcomes:
                store.keep(part, rows, seconds)
                progress.step(f"{part.experiment} on {part.case}, run {part.run + 1}")
    except KeyboardInterrupt:
        progress.close()
        progress.say(f"Interrupted: {progress.done} of {len(todo)} parts are kept.")
        raise
    progress.close()


def _outcomes(
    todo: list[Part], settings: Settings, jobs: int
) -> Generator[tuple[Part, list[Row], float]]:
    if jobs == 1:
        yield from (compute(part, settings) for part in todo)
        return
    work = Parallel(n_jobs=jobs, return_as="generator_unordered", pre_dispatch="2*n_jobs")
    outcomes = work(delayed(compute)(part, settings) for part in todo)
    try:
        for outcome in outcomes:  # noqa: UP028 - closing must not reach joblib before the filter
            yield outcome
    finally:
        with warnings.catch_warnings():  # of the tasks that are canceled, which is meant
            warnings.simplefilter("ignore")
            outcomes.close()


def compute(part: Part, settings: Settings) -> tuple[Part, list[Row], float]:
    """Do one part of the work."""
    start = time.process_time()
    with warnings.catch_warnings(), one_blas_thread():  # processes share the cores, not threads
        # Bounds that cannot be met, collinear folds and the like are in the results.
        warnings.simplefilter("ignore")
        rows = EXPERIMENTS[part.experiment].part(part.case, part.run, settings)
    return part, rows, time.process_time() - start


def _collect(
    parts: Sequence[Part], skipped: dict[tuple[str, str], str], settings: Settings, store: Store
) -> Results:
    """Read results, part by part."""
    tables: dict[str, list[Row]] = {}
    seconds: dict[tuple[str, str], float] = {}
    for part in parts:
        tables.setdefault(part.experiment, []).extend(store.read(part))
        key = (part.experiment, part.case)
        seconds[key] = seconds.get(key, 0.0) + store.seconds(part)
    return Results(
        settings, {name: Table.of(rows) for name, rows in tables.items()}, seconds, skipped
    )
