"""Measured numbers: how they are taken, kept and shown as a table."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from os import cpu_count
from typing import Any

import numpy as np

from fairridge.datasets import DataUnavailableError

LIBRARIES = ("fairridge", "numpy", "scikit-learn", "statsmodels", "glum", "fairlearn")
MOST_CALLS, LONG = 100, 4.0


@dataclass(frozen=True)
class Figure:
    """One case on one problem.

    Attributes
    ----------
    problem, case : str
        What was computed, and by whom.
    seconds : float or None
        Time of one call; None if the case was not run.
    ratio : float or None
        Multiple of the time of the part's yardstick on the same problem.
    extra : dict of str
        Further columns of the table; "why" says why a case was not run.
    axis, size : str and int
        What grows from problem to problem, and how large it is in this one.
    """

    problem: str
    case: str
    seconds: float | None
    ratio: float | None = None
    extra: dict[str, str] = field(default_factory=dict)
    axis: str = ""
    size: int = 0

    def __str__(self) -> str:
        if self.seconds is None:
            return f"{self.problem}: {self.case}: not run ({self.extra['why']})"
        times = "" if self.ratio is None else f" ({self.ratio:.2f}×)"
        extra = "".join(f", {name} {value}" for name, value in self.extra.items() if value)
        return f"{self.problem}: {self.case}: {show_seconds(self.seconds)}{times}{extra}"


def measured(
    problem: str,
    cases: Mapping[str, Callable[[], object]],
    budget: float,
    extra: Callable[[str, Any], dict[str, str]] = lambda name, result: {},
    **place: Any,
) -> Iterator[Figure]:
    """Time cases in turn; ratios are multiples of the first one.

    Turns alternate, so that a machine that slows down does so for all of them. The best
    call counts. A case is called until it has used up its budget of seconds, and twice at
    least, since the first call may import a library; but once if that takes long.

    Parameters
    ----------
    problem : str
        What it is called.
    cases : mapping of str to callable
        The yardstick first.
    budget : float
        Seconds for each case.
    extra : callable
        Makes further columns from the name of a case and what its last call returned.
    **place
        `axis` and `size` of the figures.
    """
    best: dict[str, float] = {}
    spent = dict.fromkeys(cases, 0.0)
    others: dict[str, dict[str, str]] = {}
    for turn in range(MOST_CALLS):
        for name, case in cases.items():
            if spent[name] > (LONG if turn == 1 else budget):
                continue
            start = time.perf_counter()
            try:
                result = case()
            except (ImportError, NotImplementedError, DataUnavailableError) as reason:
                spent[name], others[name] = float("inf"), {"why": _why(reason)}
                continue
            taken = time.perf_counter() - start
            spent[name] += taken
            best[name] = min(taken, best.get(name, taken))
            others[name] = extra(name, result)
    floor = best.get(next(iter(cases)))
    for name in cases:
        seconds = best.get(name)
        ratio = None if seconds is None or floor is None else seconds / floor
        yield Figure(problem, name, seconds, ratio, others[name], **place)


def _why(reason: Exception) -> str:
    if isinstance(reason, ModuleNotFoundError):
        return f"{str(reason.name).split('.')[0]} is not installed"
    return str(reason).split(". ")[0].rstrip(".")


def table(part: Part, figures: Sequence[Figure]) -> list[str]:
    """Write figures as a table of Markdown."""
    others = list(dict.fromkeys(key for one in figures for key in one.extra if key != "why"))
    compared = [part.yardstick] * bool(part.yardstick)
    titles = ["", "", "time", *(f"× {name}" for name in compared), *others]
    lines = ["| " + " | ".join(titles) + " |", "|---|---|" + "---:|" * (len(titles) - 2)]
    before = None
    for one in figures:
        why = f"not run: {one.extra.get('why')}"
        ratio = "" if one.ratio is None else f"{one.ratio:.2f}"
        cells = [
            one.problem if one.problem != before else "",
            one.case,
            why if one.seconds is None else show_seconds(one.seconds),
            *[ratio] * len(compared),
            *(one.extra.get(key, "") for key in others),
        ]
        before = one.problem
        lines.append("| " + " | ".join(cells) + " |")
    return lines


@dataclass(frozen=True)
class Part:
    """Figures that make one table.

    Attributes
    ----------
    title : str
        Heading of the table.
    yardstick : str
        What ratios are multiples of; "" if there are none.
    measure : callable
        Yields the figures; with True, those of smaller problems in fewer calls.
    render : callable
        Makes lines of Markdown from the figures.
    """

    title: str
    yardstick: str
    measure: Callable[[bool], Iterator[Figure]]
    render: Callable[[Part, Sequence[Figure]], list[str]] = table

    def record(self, quick: bool) -> dict[str, Any]:
        """Measure everything, say it on the way, and return what is kept of it."""
        figures, start = [], time.perf_counter()
        for figure in self.measure(quick):
            print(figure, flush=True)
            figures.append(asdict(figure))
        print(f"{self.title}: {time.perf_counter() - start:.0f} s\n", flush=True)
        return {"machine": machine(), "quick": quick, "figures": figures}


def show_seconds(seconds: float) -> str:
    """Write a time with three digits."""
    if seconds < 1.0:
        return f"{float(f'{seconds * 1e3:.3g}'):g} ms"
    return f"{float(f'{seconds:.3g}'):,g} s"


def slope(sizes: Sequence[float], seconds: Sequence[float]) -> float:
    """Return the slope of log seconds over log sizes, of the three largest; 1 is linear."""
    order = np.argsort(sizes)[-3:]
    logs = np.log(np.asarray(sizes)[order]), np.log(np.asarray(seconds)[order])
    return float(np.polyfit(*logs, 1)[0])


def machine() -> str:
    """Describe the machine and the libraries."""
    found = [f"{platform.machine()}, {cpu_count()} cores, Python {platform.python_version()}"]
    for name in LIBRARIES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return ", ".join(found)
