"""The pages of a reproduction, as Markdown: summary and findings; and what they rest on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import pandas as pd

from reproduction import tables
from reproduction.claims import Claim, Verdict
from reproduction.claims.base import MARKS
from reproduction.data import advice
from reproduction.errata import ERRATA
from reproduction.experiments import EXPERIMENTS
from reproduction.figures import FIGURES
from reproduction.results import Results, SkippedError
from reproduction.summary import summary
from reproduction.tables import Blocks, markdown_table
from reproduction.typesetting import typeset

Judged = Sequence[tuple[Claim, Verdict]]

TITLE = "The paper, reproduced"
DETAILS_TITLE = "The paper, reproduced: details"
TOPICS = {
    "auxiliary": "NCLM's problem and the auxiliary model (§2)",
    "models": "NCLM and FRRM (§1, §3)",
    "extensions": "Extensions (§4)",
    "linear": "Linear models (§5.1)",
    "logistic": "Logistic models (§5.2)",
    "others": "Other models (§5.3)",
    "conclusions": "What the paper concludes (Abstract, §5, §6)",
}


def markdown_page(
    results: Results, judged: Judged, images: Mapping[str, str], details: str = "details.html"
) -> str:
    """Write the page; `images` and `details` say where figures and the second page are."""
    kinds = {one.name: verdict.kind for one, verdict in judged}
    blocks = [
        f"# {TITLE}",
        _tally(judged),
        *summary(results, kinds),
        *_how(results, details),
        *_findings(results, judged, images),
    ]
    return typeset("\n\n".join(blocks)) + "\n"


def details_page(results: Results, page: str = "index.html") -> str:
    """Write the second page: protocol, both intervals, what was tried, misprints, times."""
    blocks = [
        f"# {DETAILS_TITLE}",
        f"This page has what [the findings]({page}) rest on.",
        *_protocol(results),
        *tables.both_intervals(results),
        *tables.figure_eight(results),
        *tables.extensions(results),
        *tables.fairlearn_readings(results),
        *tables.remarks(results),
        *_errata(results),
        *tables.today(results),
        *_time(results),
    ]
    return typeset("\n\n".join(blocks)) + "\n"


def _tally(judged: Judged) -> str:
    """Count the verdicts, with icons and colors."""
    counts = Counter(verdict.kind for _, verdict in judged)
    return " ".join(
        f'<span class="verdict {style}">{icon} {counts[kind]} {plural}</span>'
        for kind, (icon, style, plural) in MARKS.items()
        if counts[kind]
    )


def _how(results: Results, details: str) -> Blocks:
    blocks = [
        "## How to read this page",
        "Sections, equations and figures are those of Scutari, Panero and Proissl (2022), "
        "“Achieving fairness with a simple ridge penalty”, and the protocol is theirs. A *cell* is "
        "one data set at one bound r > 0. Differences are paired over folds. Less than .5 % is "
        "negligible, a *tie*, as is what the wider of two 90 % intervals cannot tell from zero: "
        "that of the mean over runs, or that for other samples of rows (Nadeau and Bengio 2003). "
        "*Ties count for neither side*: a model is ahead if it is so in more than half of the "
        "cells and behind in none, in part if it is ahead in more cells than behind. Models have "
        "the *same* level of fairness only where both can reach it. Verdicts are computed, except "
        "those marked †, which are arguments. “As corrected” means without a misprint (E1 to E13); "
        "“of the software” means true of fairml 0.8 and not of the exactly solved model.",
        "Figures: lines of examples are vu.test, fairml's sample; bands are 90 % of “our samples”, "
        "draws of 1000 rows. Bars are 90 % intervals, the wider ones for differences. Gray: less "
        f"than .5 %. [Details]({details}) has protocol, both intervals, misprints and remarks.",
    ]
    if results.settings.rows is not None:
        blocks.append(f"**Larger data sets are cut to {results.settings.rows} random rows.**")
    return [*blocks, *_skipped(results.skipped)]


def _protocol(results: Results) -> Blocks:
    settings = results.settings
    bounds = ", ".join(f"{r:g}".replace("0.", ".") for r in settings.bounds)
    return [
        "## Protocol",
        f"The paper has 50 runs of {settings.folds}-fold cross-validation, the same folds for all "
        f"models, and r = {bounds}. Runs behind this page: {_runs(results)}. All models are solved "
        "exactly. FRRM standardizes S, as fairml does. “Our samples” are draws of Examples 1 and "
        "2 with 1000 rows; vu.test is fairml's sample, probably that of the paper.",
        "*ZLM and ZLRM* are compared at three levels: the largest |COV(ŷ, S_i)| of the other "
        "models, as printed; their largest |COR(ŷ, S_i)|, which `zlm` and `zlrm` of fairml bound, "
        "by the limit on covariances in the units of S at which it is reached, as fairml finds it; "
        "and FRRM's R²_S.",
        "*Dependence on S* in validation rows is R² adjusted for chance, "
        "$1-(1-R^2)(n-1)/(n-q-1)$ in each fold, averaged over folds. Without adjustment chance "
        "alone gives $q/(n-1)$, up to .03 here.",
    ]


def _runs(results: Results) -> str:
    """Say how many runs there are of every experiment, by data set where they differ."""
    parts = []
    for name, experiment in EXPERIMENTS.items():
        table = results.tables.get(name)
        if table is None or experiment.maximum == 1:
            continue
        runs = table.groupby("case", sort=False)["run"].nunique()
        runs = runs[[case for case in runs.index if experiment.fewer.get(case) != 1]]
        unit = " folds" if name == "fairlearn" else ""
        if runs.nunique() == 1:
            parts.append(f"`{name}` {runs.iloc[0]}{unit}")
        else:
            listed = ", ".join(f"{case} {number}" for case, number in runs.items())
            parts.append(f"`{name}` {listed}{unit}")
    return "; ".join(parts) or "none"


def _skipped(skipped: Mapping[tuple[str, str], str]) -> Blocks:
    """Say what is not on the page, and why."""
    if not skipped:
        return []
    cases: dict[str, dict[str, str]] = {}
    for (experiment, case), reason in skipped.items():
        cases.setdefault(experiment, {})[case] = reason
    listed = "\n".join(
        f"- `{name}`: skipped on {', '.join(found)} ({'; '.join(dict.fromkeys(found.values()))})"
        for name, found in cases.items()
    )
    return [f"**Some results are not here.** {advice(skipped.values())}".rstrip(), listed]


def _findings(results: Results, judged: Judged, images: Mapping[str, str]) -> Blocks:
    blocks = ["## Findings"]
    for topic, title in TOPICS.items():
        blocks += [f"### {title}", *_figures(results, topic, images)]
        blocks += tables.of_topic(results, topic)
        rows = [
            (one.where, one.text, _verdict(verdict), f"{verdict.measured} {verdict.reason}".strip())
            for one, verdict in judged
            if one.topic == topic
        ]
        blocks += markdown_table(("where", "the paper says", "verdict", "we find"), rows)
    return blocks


def _verdict(verdict: Verdict) -> str:
    icon, style, _ = MARKS[verdict.kind]
    text = verdict.kind.replace("holds of the software, not of the model", "of the software only")
    return f'<span class="verdict {style}">{icon} {text}</span>{" †" if verdict.argument else ""}'


def _figures(results: Results, topic: str, images: Mapping[str, str]) -> Blocks:
    blocks = []
    for number, figure in enumerate(FIGURES, 1):
        if figure.topic != topic:
            continue
        try:
            figure.table(results)
        except SkippedError as reason:
            blocks.append(f"*Figure {number} is skipped: {reason}.*")
            continue
        caption = f"Figure {number}. {figure.caption}"
        if figure.name in images:
            blocks.append(f"![Figure {number}]({images[figure.name]})")
        blocks.append(f"*{caption}*")
    return blocks


def _errata(results: Results) -> Blocks:
    blocks = []
    for title, names, substantive in (
        ("Misprints", ("", "where", "printed", "right", "number"), False),
        ("Remarks of substance", ("", "where", "the paper says", "we find", "number"), True),
    ):
        rows = [
            (e.name, e.where, e.printed, e.right, e.shown(results))
            for e in ERRATA
            if e.substantive == substantive
        ]
        blocks += [f"## {title}", *markdown_table(names, rows)]
    return blocks


def _time(results: Results) -> Blocks:
    seconds: dict[str, float] = {}
    for (experiment, _), taken in results.seconds.items():
        seconds[experiment] = seconds.get(experiment, 0.0) + taken
    listed = ", ".join(f"`{name}` {taken:,.0f}" for name, taken in seconds.items())
    return [
        "## Time",
        f"CPU seconds by experiment: {listed}; together "
        f"{sum(seconds.values()):,.0f}. `make reproduce` computes everything and goes on where it "
        "stopped.",
    ]


def claims_table(judged: Judged) -> pd.DataFrame:
    """Return statements and verdicts as rows."""
    return pd.DataFrame(
        {
            "claim": one.name,
            "where": one.where,
            "text": one.text,
            "verdict": verdict.kind,
            "basis": "argument" if verdict.argument else "computed",
            "measured": verdict.measured,
            "reason": verdict.reason,
        }
        for one, verdict in judged
    )
