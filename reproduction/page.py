"""The pages of a reproduction, as Markdown: summary and findings; and what they rest on."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

import pandas as pd

from reproduction import tables
from reproduction.claims import Claim, Verdict
from reproduction.claims.base import MARKS, short
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
    kinds = {one.name: found.kind for one, found in judged if found.kind != "not computed"}
    blocks = [
        f"# {TITLE}",
        _tally(judged),
        *summary(results, kinds),
        *_concluded(results, judged),
        *_how(results, details),
        *_findings(results, judged, images),
        "## Misprints",
        *_errata(substantive=False),
        *tables.today(results),
    ]
    return typeset(_linked("\n\n".join(blocks), "", details)) + "\n"


def details_page(results: Results, judged: Judged = (), page: str = "index.html") -> str:
    """Write the second page: all that is measured, protocol, both intervals, what was tried."""
    blocks = [
        f"# {DETAILS_TITLE}",
        f"This page has what [the findings]({page}) rest on.",
        *_measured(judged),
        *tables.differences(results),
        *tables.ties(results),
        *_protocol(results),
        *tables.both_intervals(results),
        *tables.figure_eight(results),
        *tables.extensions(results),
        *tables.fairlearn_readings(results),
        *tables.remarks(results),
        "## Remarks of substance",
        *_errata(substantive=True),
        *_numbers_of_errata(results),
        *_time(results),
    ]
    return typeset(_linked("\n\n".join(blocks), page, "")) + "\n"


def _linked(text: str, page: str, details: str) -> str:
    """Link the numbers of misprints to the page, and those of remarks to the details."""
    places = {e.name: details if e.substantive else page for e in ERRATA}
    return re.sub(
        r'(?<!id=")(?<!>)\bE\d+\b',
        lambda found: f"[{found[0]}]({places[found[0]]}#{found[0]})",
        text,
    )


def _tally(judged: Judged) -> str:
    """Count the verdicts on what the paper says, with icons and colors."""
    counts = Counter(verdict.kind for one, verdict in judged if not one.beside)
    return " ".join(
        f'<span class="verdict {style}">{icon} {counts[kind]} {plural}</span>'
        for kind, (icon, style, plural) in MARKS.items()
        if counts[kind]
    )


def _concluded(results: Results, judged: Judged) -> Blocks:
    """Show what the paper concludes, with what we find."""
    rows = _rows(judged, "conclusions", measured=True)
    return [f"## {TOPICS['conclusions']}", *rows, *tables.better_and_worse(results)]


def _how(results: Results, details: str) -> Blocks:
    fewer = _fewer()
    blocks = [
        "## How to read this page",
        "Sections, equations and figures are those of Scutari, Panero and Proissl (2022), "
        f"“Achieving fairness with a simple ridge penalty”. The protocol is theirs, with {fewer}. "
        "We compare with what the text says, and digitized no figure. A *cell* is one data set at "
        "one bound r > 0. Differences are paired over folds. One is a *tie* if it is less than .5 "
        "%, and *unclear* if the wider of two 90 % intervals (of the mean over runs, or for other "
        "samples of rows) holds zero and more than that. A model is ahead if it is so in more than "
        "half of the cells and behind in none, in part if it is ahead in more cells than behind. "
        "Models have the *same* level of fairness only where both can reach it.",
        f"{_legend()}. † follows from the text; all other verdicts are computed. ‡ rests on three "
        "levels of ADULT that only the ridge for separated data keeps finite. *Variants* are "
        "comparisons that the paper does not make; they and repetitions are not counted above. "
        f"[The details]({details}) say what was measured for every verdict.",
        "Figures: lines of examples are vu.test, fairml's sample; bands are 90 % of “our samples”, "
        "draws of 1000 rows. Bars are 90 % intervals, the wider ones for differences. Gray: less "
        "than .5 %.",
    ]
    if results.settings.rows is not None:
        blocks.append(f"**Larger data sets are cut to {results.settings.rows} random rows.**")
    return [*blocks, *_skipped(results.skipped)]


def _legend() -> str:
    """Say what the icons mean."""
    return ", ".join(f"{icon} {kind}" for kind, (icon, _, _) in MARKS.items())


def _fewer() -> str:
    """Say of which experiments there are fewer runs than in the paper."""
    fold_runs = EXPERIMENTS["fairlearn"].maximum
    adult = EXPERIMENTS["logistic"].fewer["ADULT"]
    same, gamma = (EXPERIMENTS[name].maximum for name in ("matched", "steinberg"))
    return (
        f"{adult} runs of ADULT, {same} at equal R²_S, {gamma} of Steinberg's model and "
        f"{fold_runs} folds of fairlearn instead of 50 runs"
    )


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
            listed = ", ".join(f"{short(str(case))} {number}" for case, number in runs.items())
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
        if topic != "conclusions":
            blocks += [f"### {title}", *_figures(results, topic, images), *_rows(judged, topic)]
    return blocks


def _rows(judged: Judged, topic: str, *, measured: bool = False) -> Blocks:
    """Show one line per verdict, with what we find if asked."""
    rows = []
    for one, verdict in judged:
        if one.topic == topic and verdict.kind != "not computed":
            where = one.where + (f" ({one.beside})" if one.beside else "")
            found = (_verdict(verdict), f"{verdict.measured} {verdict.reason}".strip())
            rows.append((where, one.text, *(found if measured else found[:1])))
    names = ("where", "the paper says", "", "we find")
    return markdown_table(names if measured else names[:3], rows)


def _verdict(verdict: Verdict) -> str:
    icon, style, _ = MARKS[verdict.kind]
    mark = "†" if verdict.argument else "‡" if verdict.separated else ""
    return f'<b class="verdict {style}" title="{verdict.kind}">{icon}{mark}</b>'


def _measured(judged: Judged) -> Blocks:
    """Show what was measured for every verdict."""
    blocks = ["## What was measured"] if judged else []
    for topic, title in TOPICS.items():
        rows = _rows(judged, topic, measured=True)
        blocks += [f"### {title}", *rows] if rows else []
    return blocks


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


def _errata(*, substantive: bool) -> Blocks:
    """Show misprints or remarks, each with a place of its own for links."""
    names = ("", "where", "the paper says", "we find" if substantive else "right")
    rows = [
        (f'<a id="{e.name}"></a>{e.name}', e.where, e.printed, e.right)
        for e in ERRATA
        if e.substantive == substantive
    ]
    return markdown_table(names, rows)


def _numbers_of_errata(results: Results) -> Blocks:
    """Show a number for every misprint and remark."""
    rows = [(e.name, e.where, e.shown(results)) for e in ERRATA]
    return ["## Numbers of misprints and remarks", *markdown_table(("", "where", "number"), rows)]


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
