"""Draw random problems, fit them, and judge every answer.

``python -m tools.fuzz --seconds N --seed S [--problems N] [--jobs J] [--pairs]``
Problem k of a run has the seed S + k, so ``--seed S --problems 1`` repeats one.
With ``--pairs`` it draws three options and more of `tools.pairs` together, and does with
the model what users do.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from itertools import count, islice
from multiprocessing import get_context
from typing import Any

from tools.fuzz.check import verdict_of
from tools.fuzz.verdict import Verdict

# Problems that go to a process at once.
CHUNK = 20
# Problems that are named for the time they took.
SLOWEST = 10


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the fuzz and print the table; 1 if an answer is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tools.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, help="stop after so long; 60 by default")
    parser.add_argument("--problems", type=int, help="stop after so many problems")
    parser.add_argument("--seed", type=int, default=0, help="of the first problem")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--pairs", action="store_true", help="draw options that meet each other")
    chosen = parser.parse_args(arguments)
    seconds = chosen.seconds
    if seconds is None:
        seconds = float("inf") if chosen.problems else 60.0
    if chosen.pairs:
        return _pairs(chosen.seed, chosen.problems, seconds, chosen.jobs)
    verdicts: list[Verdict] = []
    with suppress(KeyboardInterrupt):  # the table of what is done
        for verdict in _results(verdict_of, chosen.seed, chosen.problems, seconds, chosen.jobs):
            verdicts.append(verdict)
            if verdict.violations:
                print(_shown(verdict), flush=True)
    print(_table(verdicts))
    return int(any(verdict.violations for verdict in verdicts))


def _pairs(seed: int, problems: int | None, seconds: float, jobs: int) -> int:
    """Try options together; print the cases that are not as the tables say."""
    from tools.pairs.draw import shown

    done = wrong = 0
    with suppress(KeyboardInterrupt):
        for text in _results(shown, seed, problems, seconds, jobs):
            done, wrong = done + 1, wrong + bool(text)
            if text:
                print(text, flush=True)
    print(f"{done} cases, {wrong} of them with faults")
    return int(wrong > 0)


def _results(
    work: Callable[[int], Any], seed: int, problems: int | None, seconds: float, jobs: int
) -> Iterator[Any]:
    """Yield what work makes of one seed after the other."""
    seeds = count(seed) if problems is None else iter(range(seed, seed + problems))
    end = time.monotonic() + seconds
    if jobs == 1:
        for one in seeds:
            yield work(one)
            if time.monotonic() > end:
                return
        return
    # Threads of BLAS and Arrow do not survive a fork.
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        while time.monotonic() < end:
            wave = list(islice(seeds, CHUNK * jobs))
            if not wave:
                return
            yield from pool.map(work, wave, chunksize=max(1, CHUNK // 4))


def _shown(verdict: Verdict) -> str:
    lines = [f"violation: {verdict.problem.label}"]
    lines += [f"    {violation}" for violation in verdict.violations]
    return "\n".join(
        [*lines, f"    python -m tools.fuzz --seed {verdict.problem.seed} --problems 1"]
    )


def _table(verdicts: Sequence[Verdict]) -> str:
    """Problems per family, definition and status; violations; the slowest."""
    statuses = sorted({verdict.status for verdict in verdicts})
    header = ["", "problems", *statuses, "separated", "violations"]
    rows = [header]
    for kind in ("family", "definition", "penalty", "source", "twin", "model"):
        for name in sorted({getattr(verdict.problem, kind) for verdict in verdicts}):
            some = [verdict for verdict in verdicts if getattr(verdict.problem, kind) == name]
            rows.append(_row(f"{kind}: {name}", some, statuses))
    for beyond in sorted({verdict.beyond for verdict in verdicts}):
        some = [verdict for verdict in verdicts if verdict.beyond == beyond]
        name = f"beyond the contract: {beyond}" if beyond else "inside the contract"
        rows.append(_row(name, some, statuses))
    rows.append(_row("all", verdicts, statuses))
    widths = [max(len(row[k]) for row in rows) for k in range(len(header))]
    lines = [
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in rows
    ]
    return "\n".join([*lines, *_times(verdicts)])


def _times(verdicts: Sequence[Verdict]) -> list[str]:
    """Say how long fits took, and which were the slowest."""
    seconds = sorted(verdict.seconds for verdict in verdicts) or [0.0]
    shares = {f"{100 * q:g} %": seconds[int(q * (len(seconds) - 1))] for q in (0.5, 0.9, 0.99)}
    found = ", ".join(f"{name} within {value:.3f} s" for name, value in shares.items())
    slowest = sorted(verdicts, key=lambda verdict: -verdict.seconds)[:SLOWEST]
    return [
        f"processor time of fits: {found}, all within {seconds[-1]:.2f} s; {sum(seconds):.0f} s",
        *(f"slow: {v.seconds:.2f} s, seed {v.problem.seed}: {v.problem.label}" for v in slowest),
    ]


def _row(name: str, verdicts: Sequence[Verdict], statuses: Sequence[str]) -> list[str]:
    counts = Counter(verdict.status for verdict in verdicts)
    return [
        name,
        str(len(verdicts)),
        *(str(counts[status]) for status in statuses),
        str(sum(verdict.separated for verdict in verdicts)),
        str(sum(bool(verdict.violations) for verdict in verdicts)),
    ]


if __name__ == "__main__":
    sys.exit(main())
