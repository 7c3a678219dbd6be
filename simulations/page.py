"""Tables and plots of the simulations, as a page of the documentation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from fairridge.outputs import writing
from simulations import (
    audits,
    certificates,
    coverage,
    decisions,
    guarantees,
    intervals,
    monitoring,
    rates,
    stacking,
)
from simulations.runner import EXPERIMENTS

WHAT = {
    "raw S": "coefficients of S",
    "raw X": "coefficients of X",
    "alpha": "α",
    "log": "log λ",
}
# Rows of tables on the page; all tables are files beside it.
SHOWN = {"guarantees": 20}
INTRODUCTION = (
    "# Simulations\n\n"
    "What the inference promises, measured on samples of known populations. This page is "
    "generated in a clone of the repository:\n\n"
    "```bash\nmake simulate\n```\n\n"
    "S has a binary attribute, a numeric one that depends on it, and another binary one; four "
    "predictors are skewed and spread differently by group, and gaussian errors are "
    "heteroscedastic. The seeds are fixed. “±” is one Monte Carlo standard error, and bars in the "
    "pictures are two.\n"
)


def write_page(frames: dict[str, pd.DataFrame], folder: Path, images: str) -> list[str]:
    """Write tables as CSV files, plots, and the page; return the names of the files.

    Parameters
    ----------
    frames : dict of str to frame
        All samples by experiment.
    folder : Path
        Where to write.
    images : str
        Folder of the plots, relative to the page.
    """
    (folder / images).mkdir(parents=True, exist_ok=True)
    parts, written = [INTRODUCTION], []
    for name, frame in frames.items():
        table = EXPERIMENTS[name].table(frame)
        figure = PLOTS[name](table)
        path = f"{images}/{name}.png"
        with writing(folder / path) as file:
            figure.savefig(file, dpi=120, format="png")
        plt.close(figure)
        parts.append(f"## {EXPERIMENTS[name].TITLE}\n\n{TEXTS[name]}\n")
        parts.append(f"![{EXPERIMENTS[name].TITLE}]({path})\n")
        shown = TABLES[name](table)
        if name in SHOWN:
            parts.append(markdown(shown.head(SHOWN[name])))
        whole = f"{images}/{name}.csv"
        with writing(folder / whole) as file:
            file.write(shown.to_csv(index=False).encode())
        parts.append(f"[All {len(shown)} rows]({whole})\n")
        written += [path, whole]
    with writing(folder / "simulations.md") as file:
        file.write("\n".join(parts).encode())
    return [*written, "simulations.md"]


def markdown(table: pd.DataFrame) -> str:
    """Lay a frame out as a table."""
    lines = [table.columns, ["---"] * table.shape[1], *table.itertuples(index=False)]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines) + "\n"


def percent(values: Any, errors: Any = None) -> list[str]:
    """Write shares as percentages, with their errors."""
    if errors is None:
        return [f"{100 * value:.1f} %" for value in values]
    return [f"{100 * v:.1f} ± {100 * e:.1f} %" for v, e in zip(values, errors, strict=True)]


def dots(
    ax: Any, table: pd.DataFrame, places: list[str], by: str, value: str, line: float
) -> list[Any]:
    """Draw shares with two Monte Carlo errors around them; return what stands where.

    Parameters
    ----------
    ax : matplotlib Axes
        Where to draw.
    table : frame
        Shares in the column `value`, with their `error`.
    places, by : list of str and str
        Columns that differ along the axis, and between colors.
    line : float
        What the shares are to be, or not to exceed, in percent.
    """
    labels = list(dict.fromkeys(zip(*(table[name] for name in places), strict=True)))
    colors = list(dict.fromkeys(table[by]))
    for k, color in enumerate(colors):
        part = table[table[by] == color]
        at = [labels.index(key) for key in zip(*(part[name] for name in places), strict=True)]
        ax.errorbar(
            np.array(at) + 0.15 * (k - (len(colors) - 1) / 2),
            100 * part[value],
            yerr=200 * part["error"],
            fmt="o",
            markersize=4,
            label=color,
        )
    ax.axhline(line, color="gray", linewidth=1)
    return labels


# ---------------------------------------------------------------------- guarantees


def guarantees_table(table: pd.DataFrame) -> pd.DataFrame:
    beyond = table["excess"] > guarantees.BEYOND
    measured = percent(table["broken"], table["error"])
    return pd.DataFrame(
        {
            "promise": table["promise"],
            "population": table["population"],
            "may fail": [f"{100 * value:g} %" for value in table["allowed"]],
            "fails": [f"**{v}**" if bad else v for v, bad in zip(measured, beyond, strict=True)],
            "refused": percent(table["refused"]),
            "warned": percent(table["warned"]),
            "samples": table["samples"],
        }
    )


def guarantees_plot(table: pd.DataFrame) -> Any:
    figure, ax = plt.subplots(figsize=(9, 4))
    for promise in dict.fromkeys(table["promise"]):
        part = table[table["promise"] == promise]
        ax.plot(part.index, 100 * (part["broken"] - part["allowed"]), "o", label=promise)
    ax.axhline(0.0, color="gray", linewidth=1)
    ax.set_xlabel("rows of the table")
    ax.set_ylabel("fails less may fail, % of samples")
    ax.legend(fontsize=6, ncols=2)
    figure.tight_layout()
    return figure


# ---------------------------------------------------------------------- coverage


def coverage_table(table: pd.DataFrame) -> pd.DataFrame:
    shown = table.assign(shown=percent(table["coverage"]), what=table["what"].map(WHAT))
    wide = shown.pivot_table(
        index=["family", "method"], columns="what", values="shown", aggfunc="first", sort=False
    )
    return wide.reindex(columns=list(WHAT.values())).fillna("").reset_index()


def coverage_plot(table: pd.DataFrame) -> Any:
    families = list(dict.fromkeys(table["family"]))
    figure, axes = plt.subplots(1, len(families), figsize=(9, 3), sharey=True, squeeze=False)
    table = table.assign(what=table["what"].map(WHAT))
    for ax, family in zip(axes[0], families, strict=True):
        methods = dots(ax, table[table["family"] == family], ["method"], "what", "coverage", 95)
        ax.set_title(family)
        names = [method.replace(" as", "\nas") for (method,) in methods]
        ax.set_xticks(range(len(names)), names, fontsize=7)
    axes[0][0].set_ylabel("coverage, %")
    axes[0][-1].legend(fontsize=7)
    figure.tight_layout()
    return figure


# ---------------------------------------------------------------------- certificates


def certificates_table(table: pd.DataFrame) -> pd.DataFrame:
    found = _by(table.assign(shown=_exceeds(table)), ["family", "n", "bound"], "way")
    price = table.loc[table["way"] == "certified", "price"]
    return found.rename(columns={"bound": "r"}).assign(
        **{"price of the certificate": [f"{100 * value:+.1f} %" for value in price]}
    )


def _exceeds(table: pd.DataFrame) -> list[str]:
    """Write how many samples exceed the bound, and in parentheses how many are not granted."""
    shares = percent(table["violated"])
    denied = percent(1.0 - table["granted"])
    return [f"{share} ({none})" for share, none in zip(shares, denied, strict=True)]


def _by(table: pd.DataFrame, rows: list[str], columns: str) -> pd.DataFrame:
    """Lay the texts `shown` out with a column for each value of one of the columns."""
    wide = table.pivot_table(
        index=rows, columns=columns, values="shown", aggfunc="first", sort=False
    )
    found: pd.DataFrame = wide.fillna("").reset_index()
    return found


def certificates_plot(table: pd.DataFrame) -> Any:
    families = list(dict.fromkeys(table["family"]))
    figure, axes = plt.subplots(1, len(families), figsize=(9, 3.2), sharey=True, squeeze=False)
    allowed = 100 * (1.0 - certificates.LEVEL)
    for ax, family in zip(axes[0], families, strict=True):
        own = table[table["family"] == family]
        labels = dots(ax, own, ["n", "bound"], "way", "violated", allowed)
        ax.set_title(family)
        ax.set_xticks(range(len(labels)), [f"{n}\n{r:g}" for n, r in labels], fontsize=7)
        ax.set_xlabel("n, r")
    axes[0][0].set_ylabel("exceeds r, % of all samples")
    axes[0][-1].legend(fontsize=7, loc="upper right", bbox_to_anchor=(1.0, 0.55))
    figure.tight_layout()
    return figure


def rates_table(table: pd.DataFrame) -> pd.DataFrame:
    covered = table[list(rates.COEFFICIENTS)]
    return pd.DataFrame(
        {
            "model": table["model"],
            "n": table["n"],
            "δ": [f"{100 * (1.0 - rates.LEVELS[model]):.0f} %" for model in table["model"]],
            "exceeds r": percent(table["violated"], table["error"]),
            "not granted": percent(1.0 - table["granted"]),
            "mean r′": [f"{value:.4f}" for value in table["training_bound"]],
            "mean R² in the population": [f"{value:.4f}" for value in table["reached"]],
            "coverage of coefficients": [
                "" if np.isnan(low) else f"{100 * low:.1f} to {100 * high:.1f} %"
                for low, high in zip(covered.min(axis=1), covered.max(axis=1), strict=True)
            ],
            "samples": table["seeds"],
        }
    )


def rates_plot(table: pd.DataFrame) -> Any:
    figure, ax = plt.subplots(figsize=(7, 3))
    allowed = [100 * (1.0 - rates.LEVELS[model]) for model in table["model"]]
    labels = dots(ax, table.assign(by="certified"), ["model", "n"], "by", "violated", np.nan)
    ax.scatter(range(len(allowed)), allowed, marker="_", color="gray", s=400)
    ax.set_xticks(range(len(labels)), [f"{model}\n{n} rows" for model, n in labels], fontsize=7)
    ax.set_ylabel("exceeds r, % of all samples")
    figure.tight_layout()
    return figure


# ---------------------------------------------------------------------- stacking


def stacking_table(table: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "model": ["blind" if blind else "with S" for blind in table["blind"]],
            "n": table["n"],
            "learners": table["way"],
            "exceeds r": percent(table["violated"], table["error"]),
            "mean r′": [f"{value:.4f}" for value in table["training_bound"]],
            "mean R² in the population": [f"{value:.4f}" for value in table["reached"]],
            "samples": table["seeds"],
        }
    )


def stacking_plot(table: pd.DataFrame) -> Any:
    figure, ax = plt.subplots(figsize=(7, 3))
    kinds = ["blind" if blind else "with S" for blind in table["blind"]]
    allowed = 100 * (1.0 - stacking.LEVEL)
    labels = dots(ax, table.assign(kind=kinds), ["kind", "n"], "way", "violated", allowed)
    ax.set_xticks(range(len(labels)), [f"{kind}\n{n} rows" for kind, n in labels], fontsize=7)
    ax.set_ylabel("exceeds r, % of all samples")
    ax.legend(fontsize=7)
    figure.tight_layout()
    return figure


# ---------------------------------------------------------------------- intervals


def intervals_table(table: pd.DataFrame) -> pd.DataFrame:
    table = table[table["noise"] <= 1.0]
    return pd.DataFrame(
        {
            "model": table["model"],
            "noise": table["noise"],
            "r": table["bound"],
            "R² in the population": [f"{value:.4f}" for value in table["true"]],
            "coverage": percent(table["coverage"], table["error"]),
            "mean width": [f"{value:.4f}" for value in table["width"]],
        }
    )


def intervals_plot(table: pd.DataFrame) -> Any:
    figure, ax = plt.subplots(figsize=(8, 3.2))
    places = ["model", "noise", "bound"]
    labels = dots(ax, table.assign(by="interval"), places, "by", "coverage", 100 * intervals.LEVEL)
    names = [f"{model}\nnoise {noise:g}\nr = {r:g}" for model, noise, r in labels]
    ax.set_xticks(range(len(names)), names, fontsize=6)
    ax.set_ylabel("coverage, %")
    figure.tight_layout()
    return figure


# ---------------------------------------------------------------------- decisions


def decisions_table(table: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "rule": table["rule"],
            "groups": [f"a third of {100 * v:g} %" if v else "two" for v in table["third"]],
            "training + held-out rows": [
                f"{n} + {held}" for n, held in zip(table["n"], table["held"], strict=True)
            ],
            "bound chosen by": table["way"],
            "rule broken": percent(table["broken"], table["error"]),
            "no bound found": percent(1.0 - table["granted"]),
            "mean bound": ["" if np.isnan(value) else f"{value:.3f}" for value in table["chosen"]],
        }
    )


def decisions_plot(table: pd.DataFrame) -> Any:
    figure, ax = plt.subplots(figsize=(9, 3))
    places = ["rule", "third", "n"]
    labels = dots(ax, table, places, "way", "broken", 100 * (1.0 - decisions.LEVEL))
    names = [f"{rule}{', 3 groups' * bool(few)}\n{n} rows" for rule, few, n in labels]
    ax.set_xticks(range(len(labels)), names, fontsize=6)
    ax.set_ylabel("rule broken, % of all samples")
    ax.legend(fontsize=7)
    figure.tight_layout()
    return figure


# ---------------------------------------------------------------------- monitoring


def monitoring_table(table: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "stream": table["stream"].map(monitoring.WORDS),
            "R² on S": table["reached"],
            "way": table["way"],
            "streams with an alarm": percent(table["alarm"], table["error"]),
            "median rows before it": [
                "" if np.isnan(value) else f"{value:,.0f}" for value in table["rows"]
            ],
        }
    )


def monitoring_plot(table: pd.DataFrame) -> Any:
    figure, ax = plt.subplots(figsize=(6, 3))
    table = table[table["stream"].isin(["skewed", "lognormal"])]
    table = table.assign(name=table["way"] + ", " + table["stream"].map(monitoring.WORDS))
    for name in dict.fromkeys(table["name"]):
        part = table[table["name"] == name]
        ax.errorbar(
            part["reached"], 100 * part["alarm"], yerr=200 * part["error"], fmt="o-", label=name
        )
    ax.axhline(100 * monitoring.FALSE_ALARM, color="gray", linewidth=1)
    ax.axvline(monitoring.BOUND, color="gray", linewidth=1, linestyle=":")
    ax.set_xlabel("R² on S in the population")
    ax.set_ylabel("streams with an alarm, %")
    ax.legend(fontsize=7)
    figure.tight_layout()
    return figure


# ---------------------------------------------------------------------- audits


def audits_table(table: pd.DataFrame) -> pd.DataFrame:
    table = table[table["rows"] == table["rows"].min()]  # the picture has the others, too
    shown = table.assign(
        shown=[
            text + (f" ({100 * none:.1f} % have none)" if none else "")
            for text, none in zip(percent(table["coverage"]), 1.0 - table["interval"], strict=True)
        ]
    )
    wide = shown.pivot_table(
        index=["rates", "groups", "rows"],
        columns="measure",
        values="shown",
        aggfunc="first",
        sort=False,
    )
    found: pd.DataFrame = wide.reindex(columns=list(audits.MEASURES)).reset_index()
    return found.rename(columns={"rows": "rows of each"})


def audits_plot(table: pd.DataFrame) -> Any:
    figure, ax = plt.subplots(figsize=(9, 3))
    labels = dots(ax, table, ["rates", "groups", "rows"], "measure", "coverage", 100 * audits.LEVEL)
    names = [f"{rates}\n{groups} × {rows}" for rates, groups, rows in labels]
    ax.set_xticks(range(len(labels)), names, fontsize=7)
    ax.set_ylabel("coverage, %")
    ax.legend(fontsize=7)
    figure.tight_layout()
    return figure


PLOTS = {
    "guarantees": guarantees_plot,
    "coverage": coverage_plot,
    "intervals": intervals_plot,
    "certificates": certificates_plot,
    "rates": rates_plot,
    "stacking": stacking_plot,
    "decisions": decisions_plot,
    "monitoring": monitoring_plot,
    "audits": audits_plot,
}
TABLES = {
    "guarantees": guarantees_table,
    "coverage": coverage_table,
    "intervals": intervals_table,
    "certificates": certificates_table,
    "rates": rates_table,
    "stacking": stacking_table,
    "decisions": decisions_table,
    "monitoring": monitoring_table,
    "audits": audits_table,
}
TEXTS = {
    "guarantees": (
        "Every promise on populations that it was not made for, the worst first. A certificate "
        f"(r = {guarantees.BOUND}, δ = {100 * (1 - guarantees.CONFIDENCE):.0f} %) fails if it is "
        "granted without a warning of heavy tails and the model exceeds r in the population, an "
        "interval if it misses the truth, a test if it finds what is not there, `MeanGap` if it "
        "passes at its boundary, a monitor if it raises an alarm. Shares are of all samples; "
        "those refused have no answer but a reason. ± is the Monte Carlo error of a promise that "
        "just holds, and what is beyond three of them is in bold. Of dependent rows nothing is "
        "promised, and nothing warns of them "
        "([such populations](limits.md#training-is-not-the-population))."
    ),
    "coverage": (
        f"Intervals of nominally 95 % at r = {coverage.BOUND} and n = 1000, for the same model "
        f"fitted to {coverage.MANY:,} rows. HC1 and HC3 are `model.inference`; “λ and U as given” "
        "is the sandwich of a ridge regression that treats both as known; the "
        f"bootstrap refits the model to {coverage.RESAMPLES} resamples. The gaussian and the "
        "binomial model have statistical parity; the counts are overdispersed, and the model "
        "Poisson."
    ),
    "intervals": (
        f"`population_unfairness({intervals.LEVEL})` of models of {intervals.ROWS} rows, with and "
        "without a bound, beside R² on S of the same model in the population, which is known "
        "exactly. S is normal, two predictors depend on it, and so does the response; it has "
        "noise of the given standard deviation, or is binomial. “Fair by itself” is a gaussian "
        "population in which S explains nothing of the response."
    ),
    "certificates": (
        f"Shares of all samples whose model was granted and exceeds r in the population, at "
        f"confidence {certificates.LEVEL}: statistical parity of gaussian models, mean parity of "
        "binomial ones. “Split and test” chooses one candidate on half of the rows and tests it "
        "on the others, as Seldonian algorithms do; “held out, in sequence” is "
        '`certification="held-out"`. In parentheses is the share that was not granted. The price '
        "is the loss in the population relative to the plain model of the same rows. "
        f"Certified models are of {certificates.REPEATS:,} samples in each row, the others and the "
        f"price of the first {certificates.COMPARED}."
    ),
    "rates": (
        f"Certified models for r = {rates.BOUND}. Rates: a Poisson model with exposures that "
        "depend on S, whose intervals of 95 % are compared with the same model of "
        f"{rates.MANY:,} rows. Given controls: binomial models, whose partial R² in the population "
        "is known by quadrature. Blind models meet their bound by weights that the same rows have "
        "chosen, and R² in the population is larger than in training on average, for which "
        "certificates [allow](inference.md#models-that-predict-without-s)."
    ),
    "stacking": (
        f"Stacked classifiers of boosted trees for r = {stacking.BOUND} at confidence "
        f"{stacking.LEVEL}, with a binary S and a response that bends and interacts. “Split”, the "
        "default, learns on one half of the rows and fits the layer to the other; “out-of-fold” "
        "takes out-of-fold scores of all rows for those that the refitted learners give to new "
        "rows, which no proof covers. With S it exceeds r more often than allowed: learners of all "
        "rows vary less than those of four fifths of them, so that S explains about 5 % more of "
        "their scores (mean R² above mean r′). More folds bring the two closer: on the first 100 "
        "samples, 20 folds instead of 5 halved the excess. “Average” deploys the learners of the "
        "folds with the layer of “out-of-fold”, and is refused a certificate. “Learners of the "
        "same rows, called prefit” have seen the rows of the layer, which the certificate is not "
        "about; with S in the layer that does little harm here."
    ),
    "decisions": (
        f"`choose_bound` at confidence {decisions.LEVEL}, beside the largest bound whose decisions "
        "meet the rule on the held-out rows, without a test. Of 1,000 held-out rows the third "
        "group, who are selected two fifths as often as others, has about 20, which cannot be "
        "tested: the answer is undecided, unless small groups are ignored."
    ),
    "monitoring": (
        f"Monitors for the bound {monitoring.BOUND} and a false alarm of "
        f"{monitoring.FALSE_ALARM}, which look every {monitoring.BATCH} rows at "
        f"{monitoring.ROWS:,} rows; of lognormal scores at 40,000 (R² of 0.03) or 20,000. The "
        "repeated test is one of all rows so far, at the same level, at every look. After a "
        "change, rows are counted from there. Mean opportunity and controls: classifiers that "
        "meet their own bound of 0.03, on the population that they were fitted to."
    ),
    "audits": (
        f"Intervals of nominally {100 * audits.LEVEL:g} % for the smallest ratio and the largest "
        "difference between any two groups, in small groups. Selection rates are alike (0.3), "
        "apart (0.5 to 0.1), or rare (0.03, so that most groups of 15 have none selected); scores "
        "are exponential. All pairs hold together (Bonferroni), so that more than 95 % of several "
        "groups is the price of looking for the worst. Where nobody at all is selected there is "
        "no ratio."
    ),
}
