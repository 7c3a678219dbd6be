"""The first half page: what of the paper stands, what does not, what to take from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from reproduction.claims import classes, linear
from reproduction.claims.base import Kind, between, positive, signed
from reproduction.claims.linear import ISOLATED
from reproduction.errata import ERRATA
from reproduction.results import Results, SkippedError
from reproduction.statistics import cells, count

STANDS = (
    "frrm_beta_constant",
    "frrm_has_one_root",
    "frrm_at_zero",
    "relaxation_is_exact",
    "quartic_for_two_attributes",
    "ridge_leaves_a_covariance",
)


def summary(results: Results, kinds: Mapping[str, Kind]) -> list[str]:
    """Write the summary from the results that are there."""
    makers = (_method, _zafar, _nclm, _training, _logistic, _definitions)
    points = [text for make in makers if (text := _or_empty(make, results, kinds))]
    listed = "\n".join(f"- {text}" for text in points)
    return ["## Summary", listed, _advice()] if points else []


def _or_empty(make: Callable[..., str], results: Results, kinds: Mapping[str, Kind]) -> str:
    try:
        return make(results, kinds)
    except SkippedError:
        return ""


def _method(results: Results, kinds: Mapping[str, Kind]) -> str:
    if any(name not in kinds for name in STANDS):
        raise SkippedError("not all statements on the method are judged")
    whole = all(kinds[name] == "holds" for name in STANDS)
    misprints = sum(not one.substantive for one in ERRATA)
    word = "stands" if whole else "stands in part"
    return (
        f"**The method {word}.** FRRM keeps β at least squares for every r, has one root, and r = "
        f"0 is exact. There are {misprints} misprints; two (E2, E3) are in formulas that one would "
        "implement."
    )


def _zafar(results: Results, kinds: Mapping[str, Kind]) -> str:
    at = {name: linear.against_zlm(results, name) for name in ("ZLM", "ZLM, |COR|")}
    first, second = at.values()
    return (
        f"**FRRM against ZLM depends on what is equal**: in prediction FRRM is ahead in "
        f"{count(first, 'lower')} and behind in {count(first, 'higher')} of {len(first)} cells at "
        f"equal |COV|, and in {count(second, 'lower')} and {count(second, 'higher')} at equal "
        "|COR|, which fairml bounds."
    )


def _nclm(results: Results, kinds: Mapping[str, Kind]) -> str:
    found = cells(positive(linear.paper_cases(results)), "FRRM", "NCLM", "rmse")
    ahead, behind = count(found, "lower"), count(found, "higher")
    equal, unclear = count(found, "equal"), count(found, "unclear")
    word = "FRRM and NCLM" if ahead or behind else "No difference of FRRM and NCLM is found"
    tail = (
        " FRRM and the model of Steinberg et al. tie, too."
        if kinds.get("frrm_below_steinberg") == "does not hold"
        else ""
    )
    decided = f", FRRM ahead in {ahead} and behind in {behind}" if ahead or behind else ""
    return (
        f"**{word}** in prediction: {equal} of {len(found)} cells are ties, {unclear} unclear"
        f"{decided}.{tail}"
    )


def _training(results: Results, kinds: Mapping[str, Kind]) -> str:
    table = positive(linear.paper_cases(results))
    worst = cells(table, "FRRM", "NCLM", "train_rmse")["mean"].max()
    return (
        f"**In training NCLM, solved exactly, is never worse** (FRRM up to {signed(worst)} %). "
        "It has a closed form. Why the paper's Figure 8 has FRRM ahead is not known."
    )


def _logistic(results: Results, kinds: Mapping[str, Kind]) -> str:
    table = classes.low_bounds(results["logistic"])
    found = cells(table, "FGRRM", "ZLRM, |COR|", "f1")
    ranges = {str(case): between(one["mean"]) for case, one in found.groupby("case", sort=False)}
    if not {*classes.BOTH, ISOLATED} <= set(ranges):
        raise SkippedError("not all data sets are there")
    compas, adult = ranges["COMPAS, classes"], ranges["ADULT"]
    return (
        f"**FGRRM against ZLRM, too**: F1 at equal |COR| and r ≤ .05 differs by {compas} on "
        f"COMPAS, and on ADULT by {adult} with and {ranges[ISOLATED]} without three levels (166 "
        "rows) that decide the response."
    )


def _definitions(results: Results, kinds: Mapping[str, Kind]) -> str:
    off = ("opportunity_vanishes", "quasi_binomial_beta_constant")
    if any(kinds.get(name) != "does not hold" for name in off):
        return ""
    return (
        "**Two definitions need care.** Bounding R²_EO is parity on another scale (E5), "
        "and D_IF gives dissimilar outcomes the largest weights (E6). A quasi-Binomial model does "
        "not make β constant (E9)."
    )


def _advice() -> str:
    return (
        "What to take from it: use F(G)RRM for its simplicity, its interpretable β and its "
        "extension to other families, not for accuracy beyond NCLM's. Compare models at a level "
        "of fairness that all reach, measured on new rows and adjusted for chance."
    )
