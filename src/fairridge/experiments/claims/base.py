"""A claim of the paper, and what results say about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from fairridge.experiments.results import Results, SkippedError

__all__ = [
    "CLAIMS",
    "KINDS",
    "Claim",
    "Kind",
    "Verdict",
    "claim",
    "either",
    "grade",
    "grade_samples",
    "judge",
    "percent",
    "relative",
    "statements",
    "tiny",
]

Kind = Literal["holds", "holds in part", "does not hold", "cannot be checked"]
KINDS: tuple[Kind, ...] = ("holds", "holds in part", "does not hold", "cannot be checked")


@dataclass(frozen=True)
class Verdict:
    """What results say about a claim.

    Attributes
    ----------
    kind : str
        The verdict.
    measured : str
        Our values.
    reason : str
        Why it is so.
    """

    kind: Kind
    measured: str
    reason: str = ""


@dataclass(frozen=True)
class Claim:
    """Something the paper says that results can confirm or refute.

    Attributes
    ----------
    number : int
        Its number in the table.
    section : str
        Where the paper says it.
    text : str
        What it says.
    figures : tuple of str
        The figures that show it.
    judge : callable
        From results to a verdict.
    """

    number: int
    section: str
    text: str
    figures: tuple[str, ...]
    judge: Callable[[Results], Verdict]


CLAIMS: list[Claim] = []


def claim(
    number: int, section: str, text: str, *figures: str
) -> Callable[[Callable[[Results], Verdict]], Callable[[Results], Verdict]]:
    """Enter a function from results to a verdict as the judge of a claim."""

    def enter(function: Callable[[Results], Verdict]) -> Callable[[Results], Verdict]:
        CLAIMS.append(Claim(number, section, text, figures, function))
        return function

    return enter


def judge(one: Claim, results: Results) -> Verdict:
    """Judge a claim; without its results it cannot be checked."""
    try:
        return one.judge(results)
    except SkippedError as reason:
        return Verdict("cannot be checked", "", f"Skipped: {reason}.")


def grade(good: int, total: int) -> Kind:
    """Judge by cases: all, at least half of them, or fewer."""
    if good == total:
        return "holds"
    return "holds in part" if 2 * good >= total else "does not hold"


def grade_samples(good: int, total: int) -> Kind:
    """Judge by random samples, which need not all agree: nine of ten, half of them, or fewer."""
    return "holds" if 10 * good >= 9 * total else grade(good, total)


def either(true: bool) -> Kind:
    """Judge by one condition."""
    return "holds" if true else "does not hold"


def statements(good: int, total: int) -> str:
    """Say how many of the statements of a claim hold."""
    return f"{good} of {total} statements hold."


def percent(value: float, digits: int = 1) -> str:
    """Write a share in percent."""
    return f"{100 * value:.{digits}f} %"


def relative(value: float, digits: int = 1) -> str:
    """Write a relative difference in percent, with its sign."""
    return f"{100 * value:+.{digits}f} %"


def tiny(value: float) -> str:
    """Write an error by its magnitude."""
    return f"{value:.0e}" if value else "0"
