"""The reference tasks under every definition and bound: status, passes, seconds and deviance.

``python -m benchmarks.tasks [TASK ...] [--definition NAME]`` prints the table and which fits take
more than the limits. Tests check the rest (``tests/reference/test_tasks.py``).
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from threadpoolctl import threadpool_limits

from tests.conftest import Reference
from tests.reference.task_data import BOUNDS, definitions_of, read_task

MOST_SECONDS, MOST_PASSES = 3.0, 150


class Row(NamedTuple):
    """One fit."""

    task: str
    definition: str
    r: float
    status: str
    passes: int
    seconds: float
    deviance: float

    @property
    def is_slow(self) -> bool:
        """Whether it takes more than a fit may."""
        return self.seconds > MOST_SECONDS or self.passes > MOST_PASSES

    def __str__(self) -> str:
        return (
            f"{self.task:15} {self.definition:24} {self.r:6g}  {self.status:13} "
            f"{self.passes:6d} {self.seconds:8.2f} {self.deviance:14.4f}{'  *' * self.is_slow}"
        )


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; 1 if a fit takes more than it may."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tasks", description=__doc__)
    parser.add_argument("tasks", nargs="*", metavar="TASK")
    parser.add_argument("--definition", help="one definition instead of all")
    chosen = parser.parse_args(arguments)
    print(f"{'task':15} {'definition':24} {'r':>6}  {'status':13} {'passes':>6} {'CPU s':>8} "
          f"{'deviance':>14}")  # fmt: skip
    slow = 0
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # separated data say so
        for row in rows(Reference(), chosen.tasks, chosen.definition):
            print(row, flush=True)
            slow += row.is_slow
    print(f"{slow} fits (*) take more than {MOST_SECONDS:g} s or {MOST_PASSES} passes")
    return int(slow > 0)


def rows(reference: Any, names: Sequence[str], definition: str | None) -> Iterator[Row]:
    """Fit every bound of some tasks, or of all."""
    for name in names or reference.json("tasks.json"):
        task = read_task(reference, name)
        for one in definitions_of(task.kind):
            if definition not in (None, one):
                continue
            for r in BOUNDS:
                model = task.estimator(r, one)
                start = time.process_time()
                model.fit(task.frame, task.y)
                seconds = time.process_time() - start
                yield Row(name, one, r, model.status_, model.n_iter_, seconds, model.deviance_)


if __name__ == "__main__":
    raise SystemExit(main())
