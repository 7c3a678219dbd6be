"""The recorded table: reading and writing it, and what became slower since."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.figures import Figure, show_seconds
from fairridge.outputs import updating, writing

RECORDED = Path(__file__).with_name("recorded.json")
# Times of the same code on an idle machine differ by less.
TOLERANCE = 1.25
Record = dict[str, dict[str, Any]]  # by part


@dataclass(frozen=True)
class Change:
    """One case of ours, then and now.

    Attributes
    ----------
    name : str
        Part, problem and case.
    then, now : float
        Multiples of the yardstick, or seconds if there is none.
    compared : bool
        Whether they are multiples, which other machines have, too.
    """

    name: str
    then: float
    now: float
    compared: bool

    @property
    def factor(self) -> float:
        """How many times as long it takes now."""
        return self.now / self.then

    def __str__(self) -> str:
        show = (lambda value: f"{value:.2f}×") if self.compared else show_seconds
        return f"{self.factor:5.2f}  {self.name}: {show(self.then)} then, {show(self.now)} now"


def read(path: Path) -> Record:
    """Read a table; one that does not exist is empty."""
    return json.loads(path.read_text()) if path.exists() else {}


def write(path: Path, record: Mapping[str, Any]) -> None:
    """Write parts over those that are there, and keep the others."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with updating(path):
        together = read(path) | dict(record)
        text = json.dumps(together, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
        with writing(path) as file:
            file.write(text.encode())


def figures_of(part: Mapping[str, Any]) -> list[Figure]:
    """Return the figures of one part of a table."""
    return [Figure(**one) for one in part["figures"]]


def changes(then: Record, now: Record) -> Iterator[Change]:
    """Compare what both tables have of ours.

    A case is compared by its multiple of the yardstick of the same run, if it has
    one: then the speed of the machine cancels.
    """
    for part in then.keys() & now.keys():
        before = {(one.problem, one.case): one for one in figures_of(then[part])}
        for one in figures_of(now[part]):
            old = before.get((one.problem, one.case))
            if old is None or old.seconds is None or one.seconds is None:
                continue
            if not one.case.startswith("fairridge"):
                continue
            name = f"{part}, {one.problem}, {one.case}"
            # The yardstick of a part may be a case of ours, whose multiple is always one.
            if one.ratio and old.ratio and (one.ratio, old.ratio) != (1.0, 1.0):
                yield Change(name, old.ratio, one.ratio, True)
            else:
                yield Change(name, old.seconds, one.seconds, False)


def report(then: Record, now: Record, tolerance: float = TOLERANCE) -> tuple[str, bool]:
    """Say what became slower or faster, and return whether anything became slower."""
    found = sorted(changes(then, now), key=lambda one: -one.factor)
    slower = [one for one in found if one.factor > tolerance]
    faster = [one for one in found if one.factor < 1.0 / tolerance]
    if not found:
        return "The recorded table has none of these cases; nothing was compared.", False
    lines = [f"{len(found)} cases compared with the recorded table, tolerance {tolerance:g}×:"]
    for what, some in (("slower", slower), ("faster", faster)):
        lines += [f"{len(some)} became {what}{':' if some else '.'}", *(f"  {one}" for one in some)]
    return "\n".join(lines), bool(slower)
