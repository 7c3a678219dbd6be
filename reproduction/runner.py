"""Compute the parts that are not there yet, on several cores, and keep each as it comes."""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import cache
from pathlib import Path
from threading import Event
from typing import Any

import pandas as pd
from joblib import Memory, Parallel, delayed
from threadpoolctl import ThreadpoolController
from tqdm import tqdm

from reproduction.data import advice, missing
from reproduction.experiments import EXPERIMENTS, Experiment
from reproduction.results import Results
from reproduction.settings import Settings

Part = tuple[str, str, int]  # experiment, data set or example, number of the run
Outcome = tuple[pd.DataFrame, float]  # results, CPU seconds


# Set by the handler of signals, because joblib loses an interrupt while it writes metadata.
STOPPED = Event()


class FolderError(ValueError):
    """A folder cannot be used, or holds results that may not be mixed with those asked for."""


def compute(part: Part, identity: Mapping[str, Any], settings: Settings) -> Outcome:
    """Compute one part; `identity` is what of the settings its results depend on."""
    experiment, case, run = part
    start = time.process_time()
    # Processes share the cores, not threads.
    with warnings.catch_warnings(), _libraries().limit(limits=1):
        # Bounds that cannot be met, collinear folds and the like are in the results.
        warnings.simplefilter("ignore")
        table = EXPERIMENTS[experiment].part(case, run, settings).reset_index(drop=True)
    table.insert(0, "case", case)
    table.insert(1, "run", run)
    return table, time.process_time() - start


@cache
def _libraries() -> Any:
    """Find the libraries with threads once: an interrupt is lost in the search for them."""
    return ThreadpoolController()


def run(names: Sequence[str], settings: Settings, folder: Path, jobs: int) -> Results:
    """Run experiments, or what is left of them, and return all their results."""
    _require_same_settings(folder, settings)
    experiments = [EXPERIMENTS[name] for name in names]
    others = [one for one in EXPERIMENTS.values() if one not in experiments]
    left_out = skipped(experiments, settings)
    asked = [part for part in _parts(experiments, settings) if part[:2] not in left_out]
    for text in _explained(left_out):
        _say(text)
    cached = open_cache(folder)
    outcomes = _kept(cached, asked, settings, "computed again")
    todo = [part for part in asked if part not in outcomes]
    start = time.monotonic()
    outcomes |= _computed(cached, todo, settings, jobs)
    if todo:
        _add_wall(folder, {"names": list(names), "jobs": jobs, "parts": len(todo),
                           "seconds": round(time.monotonic() - start, 1)})  # fmt: skip
    # What earlier commands left of the other experiments is on the page, too.
    earlier = _parts(others, settings)
    outcomes |= _kept(cached, earlier, settings, "left out")
    found = {part: outcomes[part] for part in asked + earlier if part in outcomes}
    return replace(_collected(found, left_out, settings), wall=tuple(_wall(folder)))


def open_cache(folder: Path) -> Any:
    """Return `compute` with a memory on disk, whose compression detects damaged files."""
    return Memory(folder / "cache", verbose=0, compress=True).cache(compute, ignore=["settings"])


def _parts(experiments: Iterable[Experiment], settings: Settings) -> list[Part]:
    return [
        (one.name, case, number)
        for one in experiments
        for case in one.cases
        for number in range(one.runs(case, settings))
    ]


def _kept(
    cached: Any, parts: Iterable[Part], settings: Settings, else_: str
) -> dict[Part, Outcome]:
    """Return the parts that are in the cache, and remove those that cannot be read."""
    found = {}
    for part in parts:
        call = (part, settings.identity, settings)
        if not cached.check_call_in_cache(*call):
            continue
        shelved = cached.call_and_shelve(*call)
        try:
            found[part] = shelved.get()
        except Exception:  # a damaged pickle raises anything
            _say(f"{', '.join(map(str, part))} cannot be read, and is {else_}")
            shelved.clear()
    return found


def _computed(cached: Any, todo: list[Part], settings: Settings, jobs: int) -> dict[Part, Outcome]:
    """Compute parts, and show how far the work is: in a log, a line every ten seconds."""
    every = 0.2 if sys.stderr.isatty() else 10.0
    found = {}
    try:
        with (
            tqdm(total=len(todo), unit="part", mininterval=every, disable=not todo) as bar,
            closing(_outcomes(cached, todo, settings, jobs)) as outcomes,
        ):
            for part, outcome in outcomes:
                found[part] = outcome
                bar.set_postfix_str(", ".join(map(str, part)), refresh=False)
                bar.update()
                if STOPPED.is_set():
                    raise KeyboardInterrupt
    except KeyboardInterrupt:
        kept = sum(cached.check_call_in_cache(p, settings.identity, settings) for p in todo)
        _say(f"Interrupted: {kept} of {len(todo)} parts are kept.")
        raise
    return found


def _outcomes(
    cached: Any, todo: list[Part], settings: Settings, jobs: int
) -> Generator[tuple[Part, Outcome]]:
    work = Parallel(n_jobs=jobs, return_as="generator_unordered", pre_dispatch="2*n_jobs")
    outcomes = work(delayed(_with_part)(cached, part, settings) for part in todo)
    try:
        for outcome in outcomes:  # noqa: UP028 - closing must not reach joblib before the filter
            yield outcome
    finally:
        with warnings.catch_warnings():  # of the tasks that are canceled, which is meant
            warnings.simplefilter("ignore")
            outcomes.close()


def _with_part(
    cached: Callable[..., Outcome], part: Part, settings: Settings
) -> tuple[Part, Outcome]:
    return part, cached(part, settings.identity, settings)


def _collected(
    outcomes: Mapping[Part, Outcome], left_out: dict[tuple[str, str], str], settings: Settings
) -> Results:
    tables: dict[str, list[pd.DataFrame]] = {}
    seconds: dict[tuple[str, str], float] = {}
    for part, (table, taken) in outcomes.items():
        tables.setdefault(part[0], []).append(table)
        seconds[part[:2]] = seconds.get(part[:2], 0.0) + taken
    joined = {name: pd.concat(found, ignore_index=True) for name, found in tables.items()}
    return Results(settings, joined, seconds, left_out)


def _wall(folder: Path) -> list[dict[str, Any]]:
    """Return how long earlier commands took; nothing if that cannot be read."""
    try:
        found = json.loads((folder / "wall.json").read_bytes())
    except (OSError, ValueError):
        return []
    return found if isinstance(found, list) else []


def _add_wall(folder: Path, taken: dict[str, Any]) -> None:
    text = json.dumps([*_wall(folder), taken], indent=2)
    (folder / "wall.json").write_text(text + "\n", encoding="utf-8")


# -------------------------------------------------------------------- what is skipped


def skipped(experiments: Sequence[Experiment], settings: Settings) -> dict[tuple[str, str], str]:
    """Return the reasons why something cannot be computed, by experiment and data set."""
    cases = list(dict.fromkeys(case for one in experiments for case in one.cases))
    lacking = missing(cases, settings)
    reasons = {
        (one.name, case): one.lacks() or lacking.get(case, "")
        for one in experiments
        for case in one.cases
    }
    return {key: reason for key, reason in reasons.items() if reason}


def _explained(left_out: Mapping[tuple[str, str], str]) -> list[str]:
    reasons = list(dict.fromkeys(left_out.values()))
    how = advice(reasons)
    return [
        *(f"{experiment} on {case}: skipped" for experiment, case in left_out),
        *(f"skipped because {reason}" for reason in reasons),
        *([how] if how else []),
    ]


def _say(text: str) -> None:
    tqdm.write(text, file=sys.stderr)


# ------------------------------------------------------------------------ the folder


def _require_same_settings(folder: Path, settings: Settings) -> None:
    """Leave the results of other settings alone; the manifest says which they are."""
    manifest, wanted = folder / "manifest.json", settings.identity
    try:
        if not manifest.exists():
            folder.mkdir(parents=True, exist_ok=True)
            manifest.write_text(json.dumps(wanted, indent=2) + "\n", encoding="utf-8")
            return
        found = _parsed(manifest)
    except OSError as error:
        raise FolderError(
            f"{folder} cannot hold results ({error.strerror}). Choose another folder by --out."
        ) from error
    different = [key for key in wanted if found.get(key) != wanted[key]]
    if different:
        listed = "; ".join(f"{key}: {found.get(key)} there, {wanted[key]} now" for key in different)
        raise FolderError(
            f"{folder} holds results of other settings ({listed}). Choose another folder by --out, "
            "or remove this one."
        )


def _parsed(manifest: Path) -> dict[str, Any]:
    try:
        found = json.loads(manifest.read_bytes())
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise FolderError(
            f"{manifest} is damaged, so nobody knows what the results next to it are. Choose "
            "another folder by --out, or remove this one."
        )
    return found
