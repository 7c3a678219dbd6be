"""The first half page: what of the paper stands, what does not, what to take from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from reproduction.claims import classes, linear
from reproduction.claims.base import Kind, between, positive, signed, tie
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
    found = linear.matched_cells(results)
    smaller = int((found["mean"] < 0).sum())
    better = kinds["frrm_below_zlm"] == "holds"
    word = "FRRM predicts better than ZLM" if better else "FRRM and ZLM"
    return (
        f"**At the same level of fairness {word}**: at equal R²_S in "
        f"training its RMSE is smaller in {smaller} of {len(found)} cells with r > 0 "
        f"({between(found['mean'])}; in {int((~found['reached']).sum())} of them ZLM is "
        "unconstrained and still below FRRM's R²_S). The paper's protocol, equal |COV|, lets ZLM "
        "be less fair, which masks the difference."
    )


def _nclm(results: Results, kinds: Mapping[str, Kind]) -> str:
    table = positive(linear.paper_cases(results))
    found = cells(table, "FRRM", "NCLM", "rmse")
    equal = count(found, "equal")
    names = ("frrm_below_nclm", "frrm_below_steinberg")
    word = "FRRM and NCLM predict equally well" if tie(found) else "FRRM and NCLM in prediction"
    tail = (
        " FRRM and the model of Steinberg et al. tie, too. The claims of a smaller predictive RMSE "
        "do not hold."
        if all(kinds[name] == "does not hold" for name in names)
        else ""
    )
    return f"**{word}**: {equal} of {len(found)} cells are ties.{tail}"


def _training(results: Results, kinds: Mapping[str, Kind]) -> str:
    table = positive(linear.paper_cases(results))
    worst = cells(table, "FRRM", "NCLM", "train_rmse")["mean"].max()
    software = kinds["training_error_below_nclm"] == "holds of the software, not of the model"
    tail = (
        " What the paper reports can be seen in fairml, whose NCLM misses its optimum (Table 2): "
        "its remark on numerical robustness is true of the software of the time."
        if software
        else ""
    )
    return (
        f"**In training NCLM, solved exactly, is never worse** (FRRM up to {signed(worst)} %). "
        f"It has a closed form.{tail}"
    )


def _logistic(results: Results, kinds: Mapping[str, Kind]) -> str:
    loss = classes.matched_cells(results, "deviance")
    below = int((loss["mean"] < 0).sum())
    score = classes.matched_cells(results, "f1")
    score = score[score["r"] <= classes.LOW]
    return (
        "**FGRRM has the smaller log loss than ZLRM at equal fairness** in "
        f"{below} of {len(loss)} cells. By F1, for r ≤ .05: {classes.by_case(score)}. ADULT has "
        "three levels with at most one event, which distort both models and are left out here."
    )


def _definitions(results: Results, kinds: Mapping[str, Kind]) -> str:
    off = ("opportunity_vanishes", "quasi_binomial_beta_constant")
    if any(kinds[name] != "does not hold" for name in off):
        return ""
    return (
        "**Two extensions lack the property they are named for.** Bounding R²_EO is statistical "
        "parity on another scale, not equality of opportunity (E5), and D_IF weighs dissimilar "
        "people most (E6). A quasi-Binomial model does not make β constant."
    )


def _advice() -> str:
    return (
        "What to take from it: use F(G)RRM for its simplicity, its interpretable β and its "
        "extension to other families, not for accuracy beyond NCLM's. Isolate separating levels. "
        "Compare models at equal dependence on S, measured on new rows and adjusted for chance. "
        "Do not use the equality-of-opportunity or individual definitions for what their names "
        "say."
    )
