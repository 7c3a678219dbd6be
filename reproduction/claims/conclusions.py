"""Statements that sum up the paper (abstract, sections 5 and 6)."""

from __future__ import annotations

import numpy as np
import pandas as pd

from reproduction.claims import classes, linear
from reproduction.claims.base import (
    BETA,
    Kind,
    Verdict,
    ahead,
    claim,
    either,
    grade,
    number,
    positive,
    profile,
    tiny,
)
from reproduction.claims.extensions import bounds_met
from reproduction.results import Results
from reproduction.statistics import cells, count


def _sentence(kinds: dict[str, Kind]) -> str:
    """Say where more than half of the cells are better and none is worse."""
    good = [name for name, kind in kinds.items() if kind == "holds"]
    return f"As a whole against {'; '.join(good) or 'none'}: see the table."


def comparisons(results: Results) -> dict[str, pd.DataFrame]:
    """Return all comparisons of the abstract, as losses: F1 with its sign turned."""
    table, both = positive(linear.paper_cases(results)), classes.judged(results)
    found = {
        "NCLM, prediction": cells(table, "FRRM", "NCLM", "rmse"),
        "NCLM, training": cells(table, "FRRM", "NCLM", "train_rmse"),
    }
    for name, linear_model, model in (
        ("|COV|", "ZLM", "ZLRM"),
        ("|COR|", "ZLM, |COR|", "ZLRM, |COR|"),
    ):
        for measure, word in (("rmse", "prediction"), ("train_rmse", "training")):
            found[f"ZLM at equal {name}, {word}"] = cells(table, "FRRM", linear_model, measure)
        score = cells(positive(both), "FGRRM", model, "f1")
        turned = {"lower": "higher", "higher": "lower"}
        score["outcome"] = score["outcome"].replace(turned)
        found[f"ZLRM at equal {name}, prediction"] = score
    return found


@claim("Abstract, §6", "conclusions")
def better_for_the_same_fairness(results: Results) -> Verdict:
    """The proposal provides better goodness of fit and better predictive accuracy for the same
    level of fairness."""
    found = comparisons(results)
    kinds = {name: ahead(one, "lower") for name, one in found.items()}
    good = sum(kind == "holds" for kind in kinds.values())
    some = any(kind != "does not hold" for kind in kinds.values())
    kind: Kind = "holds" if good == len(kinds) else "holds in part" if some else "does not hold"
    return Verdict(kind, _sentence(kinds), separated=True)


@claim("§5", "conclusions")
def best_of_all_models(results: Results) -> Verdict:
    """F(G)RRM is at least as good as the best of NCLM and ZL(R)M in predictive accuracy and
    goodness of fit."""
    found = comparisons(results)
    total = sum(map(len, found.values()))
    worse = sum(count(one, "higher") for one in found.values())
    return Verdict(
        grade(total - worse, total), f"Worse in {worse} of all {total} cells.", separated=True
    )


@claim("§5", "conclusions", beside="said of Fig. 7 before")
def ahead_on_all_but_one(results: Results) -> Verdict:
    """FRRM outperforms NCLM for all but one data set when r > 0."""
    found = cells(positive(linear.paper_cases(results)), "FRRM", "NCLM", "rmse")
    groups = found.groupby("case", sort=False)
    better = [case for case, one in groups if count(one, "lower") and not count(one, "higher")]
    ties = [case for case, one in groups if count(one, "equal") == len(one)]
    total = len(groups)
    return Verdict(
        "holds" if len(better) >= total - 1 else grade(len(better), total),
        f"Lower for some r and higher for none on {len(better)} of {total} data sets"
        f"{': ' + ', '.join(better) if better else ''}; equal for all r on {len(ties)}.",
    )


@claim("§5", "conclusions")
def ahead_for_low_bounds(results: Results) -> Verdict:
    """F(G)RRM outperforms ZL(R)M on all data sets for low values of r."""
    parts, kinds = [], []
    for name, linear_model, model in (
        ("|COV|", "ZLM", "ZLRM"),
        ("|COR|", "ZLM, |COR|", "ZLRM, |COR|"),
    ):
        rmse = cells(classes.low_bounds(linear.paper_cases(results)), "FRRM", linear_model, "rmse")
        f1 = cells(classes.low_bounds(classes.judged(results)), "FGRRM", model, "f1")
        kinds += [ahead(rmse, "lower"), ahead(f1, "higher")]
        parts.append(
            f"at equal {name} RMSE {count(rmse, 'lower')}/{count(rmse, 'higher')} of {len(rmse)} "
            f"and F1 {count(f1, 'higher')}/{count(f1, 'lower')} of {len(f1)}"
        )
    good = sum(kind == "holds" for kind in kinds)
    none = all(kind == "does not hold" for kind in kinds)
    return Verdict(
        "does not hold" if none else "holds" if good == len(kinds) else "holds in part",
        f"Cells better/worse for 0 < r ≤ .05: {'; '.join(parts)}.",
        separated=True,
    )


@claim("Abstract, §6", "conclusions")
def modular(results: Results) -> Verdict:
    """The approach is modular: it extends to other families and penalties, and accommodates
    several definitions of fairness."""
    table = results["families"]
    met, total, worst = bounds_met(table)
    models = table.groupby(["case", "penalty", "definition"])
    whole = sum(bounds_met(one)[0] == bounds_met(one)[1] for _, one in models)
    return Verdict(
        grade(whole, len(models)),
        f"Four families × three penalties × three definitions, and two pseudo-R²: {whole} of "
        f"{len(models)} models meet all bounds ({met} of {total} cells, to {tiny(worst)}).",
    )


@claim("§6", "conclusions")
def easier_coefficients(results: Results) -> Verdict:
    """Coefficients of F(G)RRM behave more intuitively than those of the other models."""
    linear_table, table = results["profiles"], results["logistic-profiles"]
    swings = {
        name: _swing(linear_table if name in ("NCLM", "FRRM") else table, name)
        for name in ("FRRM", "NCLM", "FGRRM", "ZLRM")
    }
    good = int(swings["FRRM"] < swings["NCLM"]) + int(swings["FGRRM"] < swings["ZLRM"])
    listed = ", ".join(f"{name} {number(value, 3)}" for name, value in swings.items())
    return Verdict(
        grade(good, 2),
        f"What β moves forth and back over r, relative to its largest value (median): {listed}.",
    )


def _swing(table: pd.DataFrame, model: str) -> float:
    """What β moves beyond the distance from its first to its last value, relative to its size."""
    found = []
    for term in BETA:
        values = profile(table, model, term)
        moved = np.abs(np.diff(values, axis=1)).sum(axis=1)
        net = np.abs(values[:, -1] - values[:, 0])
        found.append((moved - net) / np.abs(values).max(axis=1))
    return float(np.median(found))


@claim("§6", "conclusions")
def standard_software(results: Results) -> Verdict:
    """Given λ, FGRRM can be estimated with standard software."""
    off = float(results.of("beyond", "standard software")["value"].max())
    return Verdict(
        either(off < 1e-4),
        "scikit-learn's logistic regression, with U scaled by 10⁴ instead of unpenalized, has the "
        f"linear predictors of FGRRM to {tiny(off)}.",
    )
