"""Statements that sum up the paper (abstract, sections 5 and 6)."""

from __future__ import annotations

import pandas as pd

from reproduction.claims import classes, linear
from reproduction.claims.base import Kind, Verdict, between, claim, grade, positive, tally
from reproduction.results import Results
from reproduction.statistics import cells, count


def _sentence(statements: dict[str, bool]) -> str:
    good = [name for name, true in statements.items() if true]
    return f"Better than {', '.join(good)}." if good else "Better than none."


def _lower(found: pd.DataFrame) -> bool:
    """Whether a loss is higher nowhere, and lower for some r on most data sets."""
    groups = [one for _, one in found.groupby("case", sort=False)]
    ahead = sum(bool(count(one, "lower")) for one in groups)
    return not count(found, "higher") and 2 * ahead > len(groups)


@claim("Abstract, §6", "conclusions")
def better_for_the_same_fairness(results: Results) -> Verdict:
    """The proposal provides better goodness of fit and better predictive accuracy for the same
    level of fairness."""
    table = positive(linear.paper_cases(results))
    nclm, training = (cells(table, "FRRM", "NCLM", name) for name in ("rmse", "train_rmse"))
    zlm, fit = (linear.matched_cells(results, name) for name in ("rmse", "train_rmse"))
    loss = classes.matched_cells(results, "deviance")
    statements = {
        "NCLM in prediction": _lower(nclm),
        "NCLM in training": _lower(training),
        "ZLM in prediction": _lower(zlm),
        "ZLM in training": _lower(fit),
        "ZLRM in log loss": _lower(loss),
    }
    good = sum(statements.values())
    kind: Kind = "holds in part" if 0 < good < len(statements) else grade(good, len(statements))
    return Verdict(
        kind,
        f"At equal R²_S. Against NCLM: prediction {between(nclm['mean'])} ({tally(nclm)} cells), "
        f"training {between(training['mean'])}. Against ZLM: prediction {between(zlm['mean'])}, "
        f"training {between(fit['mean'])}. Against ZLRM: log loss {between(loss['mean'])}.",
        _sentence(statements),
    )


@claim("§5", "conclusions")
def best_of_all_models(results: Results) -> Verdict:
    """F(G)RRM is at least as good as the best of NCLM and ZL(R)M in predictive accuracy and
    goodness of fit."""
    table, texts, good, total = positive(linear.paper_cases(results)), [], 0, 0
    for measure, word in (("rmse", "prediction"), ("train_rmse", "training")):
        nclm = cells(table, "FRRM", "NCLM", measure)
        zlm = linear.matched_cells(results, measure)
        joined = nclm.merge(zlm, on=["case", "r"])
        fine = ((joined[["outcome_x", "outcome_y"]] != "higher").all(axis=1)).sum()
        texts.append(f"{word} {fine} of {len(joined)}")
        good, total = good + int(fine), total + len(joined)
    score = cells(positive(classes.judged(results)), "FGRRM", "ZLRM", "f1")
    fine = len(score) - count(score, "lower")
    good, total = good + fine, total + len(score)
    return Verdict(
        grade(good, total),
        f"Not worse than NCLM, and than ZLM at equal R²_S, for r > 0: {', '.join(texts)} cells; F1 "
        f"of FGRRM not below ZLRM's (paper's protocol) in {fine} of {len(score)}.",
    )


@claim("§5", "conclusions")
def ahead_on_all_but_one(results: Results) -> Verdict:
    """FRRM outperforms NCLM for all but one data set when r > 0."""
    found = cells(positive(linear.paper_cases(results)), "FRRM", "NCLM", "rmse")
    groups = found.groupby("case", sort=False)
    ahead = [case for case, one in groups if count(one, "lower") and not count(one, "higher")]
    ties = [case for case, one in groups if count(one, "equal") == len(one)]
    total = len(groups)
    return Verdict(
        "holds" if len(ahead) >= total - 1 else grade(len(ahead), total),
        f"Lower for some r and higher for none on {len(ahead)} of {total} data sets"
        f"{': ' + ', '.join(ahead) if ahead else ''}; equal for all r on {len(ties)}.",
    )


@claim("§5", "conclusions")
def ahead_for_low_bounds(results: Results) -> Verdict:
    """F(G)RRM outperforms ZL(R)M on all data sets for low values of r."""
    zlm = linear.matched_cells(results)
    zlm = zlm[zlm["r"] <= classes.LOW]
    loss = classes.matched_cells(results, "deviance")
    loss = loss[loss["r"] <= classes.LOW]
    better = count(zlm, "lower") + count(loss, "lower")
    worse, total = count(zlm, "higher") + count(loss, "higher"), len(zlm) + len(loss)
    every = all(
        count(one, "lower") for found in (zlm, loss) for _, one in found.groupby("case", sort=False)
    )
    kind: Kind = "holds" if every and not worse else grade(better, total)
    return Verdict(
        kind,
        f"At equal R²_S and r ≤ .05: RMSE {tally(zlm)} cells, never higher on average"
        f"; log loss {tally(loss)} (ADULT, COMPAS; BANK's bound is inactive)."
        if (zlm["mean"] < 0).all()
        else f"At equal R²_S and r ≤ .05: RMSE {tally(zlm)} cells, log loss {tally(loss)}.",
    )
