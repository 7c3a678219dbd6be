"""The first half page: what of the paper stands, what does not, what to take from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pandas as pd

from reproduction.claims import classes, linear
from reproduction.claims.base import Kind, by_case, positive, signed, tie
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
    whole = all(kinds[name] == "holds" for name in STANDS)
    misprints = sum(kind == "holds as corrected" for kind in kinds.values())
    word = "stands" if whole else "stands in part"
    return (
        f"**The method {word}.** FRRM keeps β at least squares for every r, has one root, and r = "
        f"0 is exact. Misprints occur in {misprints} statements; none affects the method."
    )


def _zafar(results: Results, kinds: Mapping[str, Kind]) -> str:
    at = {name: linear.against_zlm(results, name) for name in ("ZLM", "ZLM, |COR|")}
    found = linear.matched_cells(results)
    reached = found[found["reached"]]
    names = {"ZLM": "|COV|", "ZLM, |COR|": "|COR|"}
    parts = [f"at equal {names[name]} {_sides(one)}" for name, one in at.items()]
    return (
        f"**FRRM against ZLM depends on what is equal.** Predictive RMSE: {'; '.join(parts)}; at "
        f"equal R²_S {_sides(reached)} that can be matched. fairml's own ZLM bounds correlations, "
        "and with them the text of §5.1 reproduces."
        if kinds["frrm_below_zlm_correlation"] != "does not hold"
        else f"**FRRM and ZLM.** Predictive RMSE: {'; '.join(parts)}; at equal R²_S "
        f"{_sides(reached)} that can be matched."
    )


def _sides(found: pd.DataFrame) -> str:
    """Count the cells in which a loss is smaller, and larger."""
    ahead, behind = count(found, "lower"), count(found, "higher")
    return f"FRRM is ahead in {ahead} and behind in {behind} of {len(found)} cells"


def _nclm(results: Results, kinds: Mapping[str, Kind]) -> str:
    table = positive(linear.paper_cases(results))
    found = cells(table, "FRRM", "NCLM", "rmse")
    equal = count(found, "equal")
    names = ("frrm_below_nclm", "frrm_below_steinberg")
    word = "FRRM and NCLM predict equally well" if tie(found) else "FRRM and NCLM in prediction"
    tail = (
        " FRRM and the model of Steinberg et al. tie, too."
        if all(kinds[name] == "does not hold" for name in names)
        else ""
    )
    return f"**{word}**: {equal} of {len(found)} cells are ties.{tail}"


def _training(results: Results, kinds: Mapping[str, Kind]) -> str:
    table = positive(linear.paper_cases(results))
    worst = cells(table, "FRRM", "NCLM", "train_rmse")["mean"].max()
    return (
        f"**In training NCLM, solved exactly, is never worse** (FRRM up to {signed(worst)} %). "
        "It has a closed form. Why the paper's Figure 8 has FRRM ahead is not known."
    )


def _logistic(results: Results, kinds: Mapping[str, Kind]) -> str:
    loss = classes.matched_cells(results, "deviance")
    loss = loss[loss["reached"]]
    below = int((loss["mean"] < 0).sum())
    table = classes.low_bounds(results.of("logistic", *classes.BOTH))
    found = {name: cells(table, "FGRRM", name, "f1") for name in ("ZLRM", "ZLRM, |COR|")}
    return (
        "**FGRRM against ZLRM, too.** F1 for r ≤ .05, at equal |COV|: "
        f"{by_case(found['ZLRM'])}; at equal |COR|: {by_case(found['ZLRM, |COR|'])}. At equal R² "
        f"of η on S its log loss is smaller in {below} of {len(loss)} cells that can be matched."
    )


def _definitions(results: Results, kinds: Mapping[str, Kind]) -> str:
    off = ("opportunity_vanishes", "quasi_binomial_beta_constant")
    if any(kinds[name] != "does not hold" for name in off):
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
