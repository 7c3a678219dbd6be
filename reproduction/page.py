"""The page of a reproduction: summary, findings, tables, errata, as Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from reproduction import tables
from reproduction.claims import Claim, Verdict
from reproduction.data import advice
from reproduction.errata import ERRATA
from reproduction.experiments import EXPERIMENTS
from reproduction.figures import FIGURES
from reproduction.results import Results, SkippedError
from reproduction.summary import summary
from reproduction.tables import Blocks, markdown_table

Judged = Sequence[tuple[Claim, Verdict]]

TITLE = "The paper, reproduced"
TOPICS = {
    "auxiliary": "NCLM's problem and the auxiliary model (§2)",
    "models": "NCLM and FRRM (§1, §3)",
    "extensions": "Extensions (§4)",
    "linear": "Linear models (§5.1)",
    "logistic": "Logistic models (§5.2)",
    "others": "Other models (§5.3)",
    "conclusions": "What the paper concludes (Abstract, §5, §6)",
}


def markdown_page(results: Results, judged: Judged, images: Mapping[str, str]) -> str:
    """Write the whole page; `images` says where the figures are."""
    kinds = {one.name: verdict.kind for one, verdict in judged}
    blocks = [
        f"# {TITLE}",
        *summary(results, kinds),
        *_how(results),
        *_findings(results, judged, images),
        *tables.criticism(results),
        *_errata(results),
        *tables.today(results),
        *_time(results),
    ]
    return "\n\n".join(blocks) + "\n"


def _how(results: Results) -> Blocks:
    settings = results.settings
    bounds = ", ".join(f"{r:g}".replace("0.", ".") for r in settings.bounds)
    remarks = "; ".join(f"`{e.name}` has {e.remark}" for e in EXPERIMENTS.values() if e.remark)
    blocks = [
        "## How to read this page",
        "Sections, equations and figures are those of Scutari, Panero and Proissl (2022), "
        "“Achieving fairness with a simple ridge penalty”. The protocol is theirs: "
        f"{settings.runs} runs of {settings.folds}-fold cross-validation, the same folds for all "
        f"models, r = {bounds}. ({remarks}.) All models are solved exactly. FRRM standardizes S, "
        "as fairml does. “Our samples” are "
        f"{settings.runs} draws of Examples 1 and 2 with 1000 rows; vu.test is fairml's "
        "sample, probably that of the paper.",
        "*Differences* are paired over runs, with 90 % intervals. They reflect "
        "fold assignment, as in the paper, not new samples. Less than .5 % is a tie and called "
        "equal. A *cell* is one data set at one bound.",
        "*Dependence on S* in validation rows is R² adjusted for chance, 1 − (1 − R²)(n − 1)/(n − "
        "q − 1) in each fold, averaged over folds. Without adjustment chance alone gives q/(n − "
        "1), up to .03 here.",
        "*Verdicts* are computed, except those marked †, which are arguments. “As corrected” "
        "means true without a misprint listed in the [errata](#errata); “of the software” means "
        "true of fairml 0.8 and not of the exactly solved model. A statement of several parts "
        "holds in part if at least half do.",
    ]
    if settings.rows is not None:
        blocks.append(f"**Larger data sets are cut to {settings.rows} random rows.**")
    return [*blocks, *_skipped(results.skipped)]


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
    return f"**{verdict.kind}**" + (" †" if verdict.argument else "")


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
    rows = [(e.name, e.where, e.printed, e.right, e.shown(results)) for e in ERRATA]
    return ["## Errata", *markdown_table(("", "where", "printed", "right", "number"), rows)]


def _time(results: Results) -> Blocks:
    seconds: dict[str, float] = {}
    for (experiment, _), taken in results.seconds.items():
        seconds[experiment] = seconds.get(experiment, 0.0) + taken
    listed = ", ".join(f"`{name}` {taken:,.0f}" for name, taken in seconds.items())
    return [
        "## Time",
        f"{results.wall_text()}CPU seconds by experiment: {listed}; together "
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
