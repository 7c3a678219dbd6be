"""Claims that sum up the comparisons (section 5), linear and logistic."""

from __future__ import annotations

import pandas as pd

from reproduction.claims.accuracy import cells, count, counted, paper_cases, positive
from reproduction.claims.base import Verdict, claim, grade
from reproduction.results import Results, SkippedError

LOW = 0.05  # up to here section 5.2 finds FGRRM ahead of ZLRM


@claim("5", "rmse")
def claim_41_frrm_ahead_on_all_but_one(results: Results) -> Verdict:
    """FRRM outperforms NCLM for all but one data set when r > 0."""
    found = cells(positive(paper_cases(results)), "FRRM", "NCLM", "rmse")
    groups = found.groupby("case", sort=False)
    ahead = [case for case, one in groups if count(one, "below") and not count(one, "above")]
    total = len(groups)
    return Verdict(
        "holds" if len(ahead) >= total - 1 else grade(len(ahead), total),
        f"Below for some r and above for none on {len(ahead)} of {total} data sets: "
        f"{', '.join(ahead) or 'none'}." + results.without("linear"),
        "Section 5.1 says all data sets, this summary all but one; both are about the solver used "
        "then.",
    )


def _linear_and_logistic(results: Results) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return both tables, an empty one for what was skipped; raise if both were."""
    tables, reasons = [], []
    for read in (paper_cases, lambda results: results["logistic"]):
        try:
            tables.append(read(results))
        except SkippedError as reason:
            tables.append(pd.DataFrame())
            reasons.append(str(reason))
    if len(reasons) == 2:
        raise SkippedError("; ".join(dict.fromkeys(reasons)))
    return tables[0], tables[1]


@claim("5", "rmse", "training-rmse", "f1")
def claim_42_best_of_all_models(results: Results) -> Verdict:
    """Overall F(G)RRM is at least as good as the best of NCLM and ZL(R)M, in predictive accuracy
    and in goodness of fit."""
    linear, logistic = _linear_and_logistic(results)
    texts, good, total = [], 0, 0
    for table, ours, others, measure, worse in (
        (linear, "FRRM", ("NCLM", "ZLM"), "rmse", "above"),
        (logistic, "FGRRM", ("ZLRM",), "f1", "below"),
    ):
        if table.empty:
            continue
        for prefix, word in (("", "prediction"), ("train_", "training")):
            found = [cells(table, ours, name, prefix + measure)["outcome"] for name in others]
            fine = (pd.concat(found, axis=1) != worse).all(axis=1)
            texts.append(f"{ours} in {word} in {fine.sum()} of {len(fine)} cells")
            good, total = good + int(fine.sum()), total + len(fine)
    return Verdict(
        grade(good, total),
        f"Not worse than any other, by RMSE or F1: {', '.join(texts)}; {good} of {total} in all."
        + results.without("linear", "logistic"),
        "In training NCLM is ahead by its optimality; in prediction it depends on the data. The "
        "models of Zafar are not held to the same joint effect of S.",
    )


@claim("5", "rmse", "f1")
def claim_49_ahead_for_low_bounds(results: Results) -> Verdict:
    """F(G)RRM outperforms ZL(R)M on all data sets for low values of r."""
    linear, logistic = _linear_and_logistic(results)
    texts, good, total = [], 0, 0
    for table, ours, other, measure, better in (
        (linear, "FRRM", "ZLM", "rmse", "below"),
        (logistic, "FGRRM", "ZLRM", "f1", "above"),
    ):
        if table.empty:
            continue
        found = cells(table[table["r"] <= LOW], ours, other, measure)
        good, total = good + count(found, better), total + len(found)
        texts.append(f"{measure.upper()} of {ours} is {counted(found)}")
    return Verdict(
        grade(good, total),
        f"For r ≤ {LOW:g}, {'. '.join(texts)}. Better in {good} of {total} cells."
        + results.without("linear", "logistic"),
        "The counts are below/equal/above, and lower is better for RMSE only. ZL(R)M bounds each "
        "S_j on its own: with the same largest covariance it is mostly less fair, and free to fit "
        "better, as on C&C.",
    )
