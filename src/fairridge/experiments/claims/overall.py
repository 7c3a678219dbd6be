"""Claims that sum up the comparisons (section 5), linear and logistic."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from fairridge.experiments.claims.accuracy import Cells, cells, counted, paper_cases
from fairridge.experiments.claims.base import Verdict, claim, grade
from fairridge.experiments.results import Results, SkippedError
from fairridge.experiments.table import Table

__all__: list[str] = []

LOW = 0.05  # up to here section 5.2 finds FGRRM ahead of ZLRM


@claim(41, "5", "FRRM outperforms NCLM for all but one data set when r > 0.", "rmse")
def _(results: Results) -> Verdict:
    found = cells(paper_cases(results), "FRRM", "NCLM", "rmse")
    ahead = []
    for case in dict.fromkeys(case for case, _ in found):
        here = Counter(one.outcome for (name, _), one in found.items() if name == case)
        if here["below"] and not here["above"]:
            ahead.append(case)
    total = len({case for case, _ in found})
    return Verdict(
        "holds" if len(ahead) >= total - 1 else grade(len(ahead), total),
        f"Below for some r and above for none on {len(ahead)} of {total} data sets: "
        f"{', '.join(ahead) or 'none'}." + results.without("linear"),
        "Section 5.1 says all data sets, this summary all but one; both are about the solver used "
        "then.",
    )


def _available(*tables: Callable[[], Table]) -> list[Table | None]:
    """Return tables in order, None for what was skipped; raise where all were."""
    found: list[Table | None] = []
    reasons = []
    for table in tables:
        try:
            found.append(table())
        except SkippedError as reason:
            found.append(None)
            reasons.append(str(reason))
    if len(reasons) == len(tables):
        raise SkippedError("; ".join(dict.fromkeys(reasons)))
    return found


def _both(results: Results) -> list[Table | None]:
    return _available(lambda: paper_cases(results), lambda: results["logistic"])


@claim(
    42,
    "5",
    "Overall F(G)RRM is at least as good as the best of NCLM and ZL(R)M, in predictive accuracy "
    "and in goodness of fit.",
    "rmse",
    "training-rmse",
    "f1",
)
def _(results: Results) -> Verdict:
    linear, logistic = _both(results)
    texts, good, total = [], 0, 0
    for table, ours, others, measure, worse in (
        (linear, "FRRM", ("NCLM", "ZLM"), "rmse", "above"),
        (logistic, "FGRRM", ("ZLRM",), "f1", "below"),
    ):
        if table is None:
            continue
        for prefix, word in (("", "prediction"), ("train_", "training")):
            found = [cells(table, ours, name, prefix + measure, least=-1.0) for name in others]
            fine = [all(one[key].outcome != worse for one in found) for key in found[0]]
            texts.append(f"{ours} in {word} in {sum(fine)} of {len(fine)} cells")
            good, total = good + sum(fine), total + len(fine)
    return Verdict(
        grade(good, total),
        f"Not worse than any other, by RMSE or F1: {', '.join(texts)}; {good} of {total} in all."
        + results.without("linear", "logistic"),
        "In training NCLM is ahead by its optimality; in prediction it depends on the data. The "
        "models of Zafar are not held to the same joint effect of S.",
    )


@claim(
    49,
    "5",
    "F(G)RRM outperforms ZL(R)M on all data sets for low values of r.",
    "rmse",
    "f1",
)
def _(results: Results) -> Verdict:
    linear, logistic = _both(results)
    texts, good, total = [], 0, 0
    for table, ours, other, measure, better in (
        (linear, "FRRM", "ZLM", "rmse", "below"),
        (logistic, "FGRRM", "ZLRM", "f1", "above"),
    ):
        if table is None:
            continue
        every = cells(table, ours, other, measure, least=-1.0)
        found: Cells = {key: one for key, one in every.items() if key[1] <= LOW}
        good += sum(one.outcome == better for one in found.values())
        total += len(found)
        texts.append(f"{measure.upper()} of {ours} is {counted(found)}")
    return Verdict(
        grade(good, total),
        f"For r ≤ {LOW:g}, {'. '.join(texts)}. Better in {good} of {total} cells."
        + results.without("linear", "logistic"),
        "The counts are below/equal/above, and lower is better for RMSE only. ZL(R)M bounds each "
        "S_j on its own: with the same largest covariance it is mostly less fair, and free to fit "
        "better, as on C&C.",
    )
