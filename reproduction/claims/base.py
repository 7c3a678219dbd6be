"""A statement of the paper, what results say about it, and how verdicts are worded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd

from reproduction.results import Results, SkippedError, pick
from reproduction.settings import Floats
from reproduction.statistics import OUTCOMES, Outcome, count

Kind = Literal[
    "holds",
    "holds as corrected",
    "holds of the software, not of the model",
    "holds in part",
    "does not hold",
    "not reproduced",
    "not checkable",
    "not computed",
]
KINDS: tuple[Kind, ...] = get_args(Kind)
# Icon, style and plural of every verdict.
MARKS: dict[Kind, tuple[str, str, str]] = {
    "holds": ("✔", "holds", "hold"),
    "holds as corrected": ("✎", "corrected", "hold as corrected"),
    "holds of the software, not of the model": ("⚙", "software", "hold of the software only"),
    "holds in part": ("◐", "part", "hold in part"),
    "does not hold": ("✘", "fails", "do not hold"),
    "not reproduced": ("≠", "open", "not reproduced"),
    "not checkable": ("?", "open", "not checkable"),
    "not computed": ("–", "open", "not computed"),
}
# ADULT without the three levels that decide its response, as the pages call it.
WITHOUT = " without 3 levels"
ALPHA = ("S1", "S2", "S3")
BETA = ("X1", "X2", "X3")


@dataclass(frozen=True)
class Verdict:
    """What results say about a statement: our values, and why they are so.

    An `argument` is a verdict that follows from the text and not from results. A `separated` one
    rests on ADULT as it is, whose coefficients only the ridge for separated data keeps finite.
    """

    kind: Kind
    measured: str
    reason: str = ""
    argument: bool = False
    separated: bool = False


Judge = Callable[[Results], Verdict]


@dataclass(frozen=True)
class Claim:
    """Something the paper says, where, and in which section of the page it is judged.

    `beside` says why a row does not count: it varies a statement of the paper, or repeats one.
    """

    name: str
    where: str
    topic: str
    text: str
    judge: Judge
    beside: str = ""


CLAIMS: list[Claim] = []


def claim(where: str, topic: str, beside: str = "") -> Callable[[Judge], Judge]:
    """Enter a function as the judge of the statement that is its docstring."""

    def enter(function: Judge) -> Judge:
        text = " ".join(str(function.__doc__).split())
        CLAIMS.append(Claim(function.__name__, where, topic, text, function, beside))
        return function

    return enter


def judge(one: Claim, results: Results) -> Verdict:
    """Judge a statement; without its results it is not judged."""
    try:
        return one.judge(results)
    except SkippedError as reason:
        return Verdict("not computed", f"Skipped: {reason}.")


# --------------------------------------------------------------------------- grading


def grade(good: int, total: int) -> Kind:
    """Judge by cases: all of them, at least half, or fewer."""
    if good == total:
        return "holds"
    return "holds in part" if 2 * good >= total else "does not hold"


def grade_samples(good: int, total: int) -> Kind:
    """Judge by random samples, which need not all agree: nine of ten, half of them, or fewer."""
    return "holds" if 10 * good >= 9 * total else grade(good, total)


def ahead(found: pd.DataFrame, wanted: Outcome) -> Kind:
    """Judge that one model is ahead of another: ties and unclear cells count for neither side.

    Holds if it is ahead in more than half of the cells, and behind in none; in
    part if it is ahead in more cells than behind.
    """
    others = {"lower": "higher", "higher": "lower"}
    good, bad = count(found, wanted), int((found["outcome"] == others[wanted]).sum())
    if 2 * good > len(found) and not bad:
        return "holds"
    return "holds in part" if good > bad else "does not hold"


def either(true: bool) -> Kind:
    """Judge by one condition."""
    return "holds" if true else "does not hold"


def corrected(printed: bool, right: bool) -> Kind:
    """Judge a formula as printed, and with its misprint corrected."""
    return "holds" if printed else "holds as corrected" if right else "does not hold"


def of_software(model: Kind, software: bool) -> Kind:
    """Judge what the model does not do and fairml does."""
    if model != "does not hold" or not software:
        return model
    return "holds of the software, not of the model"


# --------------------------------------------------------------------------- reading


def profile(table: pd.DataFrame, model: str, term: str, case: str = "example") -> Floats:
    """Return values over r, one row per sample."""
    samples = pick(table, case=case, model=model, term=term).groupby("run", sort=False)["value"]
    if not len(samples):
        raise SkippedError(f"no results of {model} on {case}")
    return np.array([values.to_numpy() for _, values in samples])


def checked(results: Results, check: str, quantity: str | None = None) -> pd.DataFrame:
    """Return the rows of one check."""
    table = pick(results["checks"], check=check)
    return table if quantity is None else pick(table, quantity=quantity)


def positive(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with r > 0."""
    return table[table["r"] > 0.0]


def always_active(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of models and bounds that bind in every fold."""
    binding = table.groupby(["case", "model", "r"])["active"].transform("min")
    return table[binding == 1.0]


def means(table: pd.DataFrame, **values: Any) -> pd.Series:
    """Return the means over runs of the rows with these values."""
    return pick(table, **values).mean(numeric_only=True)


# --------------------------------------------------------------------------- wording


def number(value: float, digits: int) -> str:
    """Write a number with a minus sign, and zero without any."""
    text = f"{value:.{digits}f}"
    return text.lstrip("-") if float(text) == 0.0 else text.replace("-", "−")


def percent(value: float, digits: int = 1) -> str:
    """Write a share in percent."""
    return f"{number(100 * value, digits)} %"


def signed(value: float, digits: int = 1) -> str:
    """Write a relative difference in percent, with its sign."""
    text = number(100 * value, digits)
    return text if text[0] == "−" or float(text) == 0.0 else f"+{text}"


def between(values: Any, digits: int = 1) -> str:
    """Write the range of relative differences in percent."""
    low, high = signed(min(values), digits), signed(max(values), digits)
    return f"{low} %" if low == high else f"{low} to {high} %"


def spread(values: Any, digits: int = 2) -> str:
    """Write the median with the range of 90 % of the samples."""
    low, middle, high = np.quantile(values, [0.05, 0.5, 0.95])
    return f"{number(middle, digits)} ({number(low, digits)} to {number(high, digits)})"


def bound(r: float) -> str:
    """Write a bound without its leading zero."""
    return f"{r:g}".replace("0.", ".")


def tiny(value: float) -> str:
    """Write an error by its magnitude."""
    if value == 0.0:
        return "0"
    power = int(np.floor(np.log10(value)))
    return f"10{str(power).translate(str.maketrans('-0123456789', '⁻⁰¹²³⁴⁵⁶⁷⁸⁹'))}"


def tally(found: pd.DataFrame) -> str:
    """Count outcomes in words, of those that occur."""
    parts = [f"{word} in {count(found, word)}" for word in OUTCOMES if count(found, word)]
    return f"{', '.join(parts)} of {len(found)}"


def tie(found: pd.DataFrame) -> str:
    """Call a comparison a tie if nine of ten cells are, and no cell is ahead or behind."""
    decided = count(found, "lower") + count(found, "higher")
    return " A tie." if not decided and 10 * count(found, "equal") >= 9 * len(found) else ""


def by_case(found: pd.DataFrame, digits: int = 1) -> str:
    """Write the range of differences of every data set."""
    parts = [
        f"{short(case).removesuffix(WITHOUT)} {between(one['mean'], digits)}"
        for case, one in found.groupby("case", sort=False)
    ]
    return "; ".join(parts)


def short(case: str) -> str:
    """Return the name of a data set as the pages have it."""
    return case.replace(", classes", "").replace(", isolated", WITHOUT)
