"""Put small faults into the package, one at a time, and run the tests that reach them.

``python -m tools.mutants [--mutants N] [--seed S] [--since REVISION] [--jobs J]``
Half of the faults are in lines that were changed since the revision, by default the last
release. A fault that no test finds is a gap of the tests, or makes no difference: look at it.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from queue import SimpleQueue

from fairridge import __version__
from tools.mutants.mutate import Place, places
from tools.mutants.reach import ROOT, Reach, reach_of

PACKAGE = ROOT / "src" / "fairridge"
# What runs on a GPU only is beyond the fast tests.
ON_GPU = PACKAGE / "engines" / "triton_kernels.py"
# Tests of a mutant run until they have taken so long when nothing was wrong.
SECONDS = 30.0
# A mutant of which a test never ends is found, too.
PATIENCE = 60.0
# Of fifty mutants that survive, so many may.
SURVIVORS = 0.1


@dataclass(frozen=True)
class Mutant:
    """A fault in a module."""

    path: Path
    place: Place

    def __str__(self) -> str:
        where = f"{self.path.relative_to(ROOT)}:{self.place.line}"
        return f"{where}: {self.place.before} → {self.place.after}"


@dataclass(frozen=True)
class Outcome:
    """Which test found a mutant, if one did."""

    mutant: Mutant
    tests: int
    found_by: str | None

    def __str__(self) -> str:
        if self.found_by:
            return f"found by {self.found_by}\n    {self.mutant}"
        return f"SURVIVES {self.tests} tests\n    {self.mutant}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Try the mutants and print what found each; 1 if more than a tenth survive."""
    parser = argparse.ArgumentParser(prog="python -m tools.mutants", description=__doc__)
    parser.add_argument("--mutants", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--since", help="a revision; the last release by default")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    chosen = parser.parse_args(arguments)
    mutants = drawn(chosen.mutants, chosen.seed, chosen.since or last_release())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        reach = reach_of({one.path for one in mutants}, folder, chosen.jobs)
        survivors = 0
        for outcome in outcomes(mutants, reach, folder, chosen.jobs):
            print(outcome, flush=True)
            survivors += outcome.found_by is None
    print(f"{len(mutants) - survivors} of {len(mutants)} mutants are found (seed {chosen.seed}).")
    return int(survivors > SURVIVORS * len(mutants))


def drawn(count: int, seed: int, since: str) -> list[Mutant]:
    """Draw mutants, half of them in lines that a revision does not have."""
    changed = changed_lines(since)
    new, old = [], []
    for path in sorted({*PACKAGE.rglob("*.py")} - {ON_GPU}):
        for place in places(path.read_text()):
            lines = new if place.line in changed.get(path, ()) else old
            lines.append(Mutant(path, place))
    draw = random.Random(seed)
    half = min(count // 2, len(new))
    return draw.sample(new, half) + draw.sample(old, count - half)


def last_release() -> str:
    """Return the commit of the last release before this version."""
    released = git("log", "--format=%H %s", "--grep", "^Release ").splitlines()
    return next(line.split()[0] for line in released if not line.endswith(f" {__version__}"))


def changed_lines(since: str) -> dict[Path, set[int]]:
    """Return the lines of each module of the package that a revision does not have."""
    found: dict[Path, set[int]] = {}
    path = PACKAGE
    for line in git("diff", "--unified=0", since, "--", "src").splitlines():
        if line.startswith("+++ "):
            path = ROOT / line.removeprefix("+++ b/")
        elif match := re.match(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@", line):
            start, size = int(match[1]), int(match[2] or 1)
            found.setdefault(path, set()).update(range(start, start + size))
    return found


def git(*command: str) -> str:
    """Return what git prints."""
    run = subprocess.run(["git", *command], cwd=ROOT, capture_output=True, text=True, check=True)
    return run.stdout


def outcomes(mutants: list[Mutant], reach: Reach, folder: Path, jobs: int) -> list[Outcome]:
    """Try mutants in copies of the package, one for each job."""
    copies: SimpleQueue[Path] = SimpleQueue()
    for job in range(jobs):
        copy = folder / str(job)
        shutil.copytree(PACKAGE, copy / "fairridge")
        copies.put(copy)

    def tried(mutant: Mutant) -> Outcome:
        copy = copies.get()
        try:
            return outcome_of(mutant, reach, copy)
        finally:
            copies.put(copy)

    with ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(tried, mutants))


def outcome_of(mutant: Mutant, reach: Reach, copy: Path) -> Outcome:
    """Put a mutant into a copy of the package, and run tests that reach it until one fails."""
    names = reach.tests_of(mutant.path, mutant.place.line)
    total = accumulate(reach.seconds.get(name, 0.0) for name in names)
    chosen = [name for name, seconds in zip(names, total, strict=True) if seconds <= SECONDS]
    chosen = chosen or names[:1]
    if not chosen:
        return Outcome(mutant, 0, None)
    path = copy / mutant.path.relative_to(PACKAGE.parent)
    source = mutant.path.read_text()
    path.write_text(mutant.place.applied(source))
    try:
        return Outcome(mutant, len(chosen), first_failure(chosen, copy))
    finally:
        path.write_text(source)


def first_failure(names: list[str], copy: Path) -> str | None:
    """Return the first of some tests that fails with a copy of the package."""
    command = [*(sys.executable, "-m", "pytest", "-x", "-q", "-rfE", "--tb=no"), *names]
    # Python tells versions of a module by their seconds and sizes, which mutants share.
    surroundings = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        run = subprocess.run(
            command, cwd=ROOT, env=surroundings, capture_output=True, text=True, timeout=PATIENCE
        )
    except subprocess.TimeoutExpired:
        return "a test that does not end"
    if run.returncode == 0:
        return None
    match = re.search(r"^(?:FAILED|ERROR) (\S.*?)(?: - |$)", run.stdout, re.MULTILINE)
    return match[1] if match else "the import of the tests"


if __name__ == "__main__":
    raise SystemExit(main())
