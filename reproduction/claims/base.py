"""A claim of the paper, what results say about it, and how verdicts are worded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd

from reproduction.results import Results, SkippedError, pick
from reproduction.settings import Floats

Kind = Literal["holds", "holds in part", "does not hold", "cannot be checked"]
KINDS: tuple[Kind, ...] = get_args(Kind)
ALPHA = ("S1", "S2", "S3")
BETA = ("X1", "X2", "X3")


@dataclass(frozen=True)
class Verdict:
    """What results say about a claim: our values, and why they are so."""

    kind: Kind
    measured: str
    reason: str = ""


Judge = Callable[[Results], Verdict]


@dataclass(frozen=True)
class Claim:
    """Something the paper says in a section, which results, and some figures, may show."""

    number: int
    section: str
    text: str
    figures: tuple[str, ...]
    judge: Judge


CLAIMS: list[Claim] = []


def claim(section: str, *figures: str) -> Callable[[Judge], Judge]:
    """Enter a function ``claim_NN_…`` as the judge of claim NN, which is its docstring."""

    def enter(function: Judge) -> Judge:
        number = int(function.__name__.split("_")[1])
        text = " ".join(str(function.__doc__).split())
        CLAIMS.append(Claim(number, section, text, figures, function))
        return function

    return enter


def judge(one: Claim, results: Results) -> Verdict:
    """Judge a claim; without its results it cannot be checked."""
    try:
        return one.judge(results)
    except SkippedError as reason:
        return Verdict("cannot be checked", "", f"Skipped: {reason}.")


# --------------------------------------------------------------------------- grading


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


# --------------------------------------------------------------------------- reading


def profile(table: pd.DataFrame, model: str, term: str) -> Floats:
    """Return values over r, one row per sample."""
    samples = pick(table, model=model, term=term).groupby("run", sort=False)["value"]
    if not len(samples):
        raise SkippedError(f"no results of {model}")
    return np.array([values.to_numpy() for _, values in samples])


def checked(results: Results, check: str, quantity: str | None = None) -> pd.DataFrame:
    """Return the rows of one check."""
    table = pick(results["checks"], check=check)
    return table if quantity is None else pick(table, quantity=quantity)


# --------------------------------------------------------------------------- wording


def statements(good: int, total: int) -> str:
    """Say how many of the statements of a claim hold."""
    return f"{good} of {total} statements hold."


def spread(values: Any, digits: int = 2) -> str:
    """Write the median with the range of 90 % of the samples."""
    low, middle, high = np.quantile(values, [0.05, 0.5, 0.95])
    return f"{middle:.{digits}f} (90 % of samples: {low:.{digits}f} to {high:.{digits}f})"


def percent(value: float, digits: int = 1) -> str:
    """Write a share in percent."""
    return f"{100 * value:.{digits}f} %"


def relative(value: float, digits: int = 1) -> str:
    """Write a relative difference in percent, with its sign."""
    return f"{100 * value:+.{digits}f} %"


def tiny(value: float) -> str:
    """Write an error by its magnitude."""
    return f"{value:.0e}" if value else "0"
