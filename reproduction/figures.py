"""The figures: a tidy table for each, and how it is drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure as Drawn

from reproduction import example_figures as examples
from reproduction.claims import linear as linear_claims
from reproduction.claims.base import short
from reproduction.drawing import (
    BLUE,
    FAINT,
    GREEN,
    ORANGE,
    PALETTE,
    PAPER,
    VIOLET,
    axes,
    bound_ticks,
    key,
    legend,
    marked,
    patch,
    tie_band,
)
from reproduction.results import Results, SkippedError, pick
from reproduction.statistics import cells, interval


@dataclass(frozen=True)
class Figure:
    """One figure: its numbers from results, and what is drawn from them."""

    name: str
    topic: str
    caption: str
    table: Callable[[Results], pd.DataFrame]
    draw: Callable[[pd.DataFrame], Drawn]


def over_runs(
    table: pd.DataFrame, measure: str, keys: Sequence[str] = ("case", "model", "r")
) -> pd.DataFrame:
    """Return means over runs with half the widths of their 90 % intervals, on the same rows."""
    rows = []
    for found, group in table.groupby(list(keys), sort=False):
        one = interval(group[measure], group["run"])
        rows.append((*found, one.mean, one.half))
    return pd.DataFrame(rows, columns=[*keys, "mean", "half"])


def _differences(table: pd.DataFrame, ours: str, pairs: dict[str, str], measure: str) -> Any:
    """Return paired differences in percent, one curve for each of the other models.

    With the intervals for other samples of rows, by which they are judged.
    """
    parts = []
    for label, other in pairs.items():
        found = cells(table, ours, other, measure)
        found["half"] = found[["half", "new"]].max(axis=1)
        found[["mean", "half"]] *= 100.0
        parts.append(found.drop(columns="new").assign(model=label, kind="difference"))
    return pd.concat(parts)


# ------------------------------------------------------------------ linear models


def _rmse_table(measure: str) -> Callable[[Results], pd.DataFrame]:
    def table(results: Results) -> pd.DataFrame:
        rows = linear_claims.paper_cases(results)
        parts = [over_runs(rows, measure).assign(kind="level")]
        pairs = {name: name for name in ("NCLM", "ZLM", "ZLM, |COR|")}
        parts.append(_differences(rows, "FRRM", pairs, measure))
        if "matched" in results.tables:
            pairs = {"ZLM, same share": "ZLM, covariance"}
            matched = results.of("matched", *rows["case"].unique())
            parts.append(_differences(matched, "FRRM", pairs, measure))
        return pd.concat(parts)

    return table


def _draw_rmse(label: str) -> Callable[[pd.DataFrame], Drawn]:
    def draw(table: pd.DataFrame) -> Drawn:
        cases, ticks = list(table["case"].unique()), np.unique(table["r"])
        shown = table[(table["kind"] == "difference") & (table["r"] > 0.0)]["mean"]
        limits = float(shown.min()) - 1.0, float(shown.max()) + 1.5
        figure, grid = axes(2, len(cases), width=1.5 * len(cases) + 0.9, height=4.9, share="none")
        for column, case in enumerate(cases):
            top, bottom = grid[:, column]
            here = pick(table, case=case)
            level, difference = (pick(here, kind=kind) for kind in ("level", "difference"))
            difference = difference[difference["r"] > 0.0]
            for k, model in enumerate(("NCLM", "FRRM", "ZLM", "ZLM, |COR|")):
                marked(top, pick(level, model=model), ticks, PALETTE[model], 0.1 * (k - 1.5))
            marked(top, pick(level, model="ZLM, dropping"), ticks, GREEN, 0.0,
                   marker="s", mfc="white", ls="")  # fmt: skip
            none = pick(level, model="intercept only")["mean"]
            top.axhline(float(none.iloc[0]), color=FAINT, lw=1.0, ls=":")
            top.set_title(case)
            tie_band(bottom)
            for k, (model, color, style) in enumerate(_PAIRS):
                rows = pick(difference, model=model)
                if len(rows):
                    marked(bottom, rows, ticks, color, 0.13 * (k - 1.5), ls=style,
                           mfc="white" if style == "--" else color)  # fmt: skip
            bound_ticks(bottom, ticks, "bound $r$")
            bottom.set_ylim(*limits)
            bottom.tick_params(labelleft=not column)
        grid[0, 0].set_ylabel(label)
        grid[1, 0].set_ylabel("FRRM relative\nto the other, in %")
        handles = {name: key(PALETTE[name], marker="o") for name in ("NCLM", "FRRM", "ZLM")}
        handles = {name.replace("ZLM", "ZLM, equal |COV|"): one for name, one in handles.items()}
        handles |= {"ZLM, equal |COR|": key(VIOLET, marker="o"),
                    "ZLM as in fairml ($r$ = 0)": key(GREEN, "", "s"),
                    "intercept only": key(FAINT, ":"),
                    "ZLM at equal $R^2_S$ (below)": key(GREEN, "--", "o"),
                    "called equal": patch("#E6E6E6")}  # fmt: skip
        legend(figure, handles, columns=3)
        return figure

    return draw


_PAIRS = (("NCLM", ORANGE, "-"), ("ZLM", GREEN, "-"), ("ZLM, |COR|", VIOLET, "-"),
          ("ZLM, same share", GREEN, "--"))  # fmt: skip


# ---------------------------------------------------------------- logistic models


def _f1_table(results: Results) -> pd.DataFrame:
    rows = results["logistic"]
    rows = rows[rows["case"] != "BANK"]  # whose bounds are inactive
    if rows.empty:
        raise SkippedError("no data with an active bound")
    parts = [over_runs(rows, "f1").assign(kind="level")]
    pairs = {name: name for name in ("ZLRM", "ZLRM, |COR|")}
    parts.append(_differences(rows, "FGRRM", pairs, "f1"))
    if "logistic-matched" in results.tables:
        matched = results["logistic-matched"]
        parts.append(_differences(matched, "FGRRM", {"ZLRM, same share": "ZLRM, matched"}, "f1"))
    return pd.concat(parts)


def _draw_f1(table: pd.DataFrame) -> Drawn:
    cases, ticks = list(table["case"].unique()), np.unique(table["r"])
    figure, grid = axes(2, len(cases), width=2.3 * len(cases) + 1.2, height=5.2, share="none")
    for column, case in enumerate(cases):
        top, bottom = grid[:, column]
        here = pick(table, case=case)
        level, difference = (pick(here, kind=kind) for kind in ("level", "difference"))
        for k, model in enumerate(("ZLRM", "ZLRM, |COR|", "FGRRM")):
            marked(top, pick(level, model=model), ticks, PALETTE[model], 0.1 * (k - 1))
        top.set_title(short(case))
        tie_band(bottom)
        for k, (model, color, style) in enumerate(_CLASS_PAIRS):
            rows = pick(difference, model=model)
            if len(rows):
                marked(bottom, rows, ticks, color, 0.13 * (k - 1), ls=style,
                       mfc="white" if style == "--" else color)  # fmt: skip
        bound_ticks(bottom, ticks, "bound $r$")
    grid[0, 0].set_ylabel("predictive F1")
    grid[1, 0].set_ylabel("F1 of FGRRM relative\nto ZLRM, in %")
    handles = {"FGRRM": key(BLUE, marker="o"), "ZLRM, equal |COV|": key(GREEN, marker="o"),
               "ZLRM, equal |COR|": key(VIOLET, marker="o")}  # fmt: skip
    legend(figure, handles | {"ZLRM at equal $R^2$ on $S$ (below)": key(GREEN, "--", "o"),
                              "called equal": patch("#E6E6E6")}, columns=3)  # fmt: skip
    return figure


_CLASS_PAIRS = (("ZLRM", GREEN, "-"), ("ZLRM, |COR|", VIOLET, "-"),
                ("ZLRM, same share", GREEN, "--"))  # fmt: skip


# ------------------------------------------------------------------- other models


def _steinberg_table(results: Results) -> pd.DataFrame:
    table = results["steinberg"]
    found = cells(table, "FRRM", "Steinberg", "rmse", by="step")
    reached = pick(table, model="Steinberg").groupby(["case", "step"], sort=False)
    found["reached"] = reached["train_dependence"].mean().to_numpy()
    return found


def _draw_steinberg(table: pd.DataFrame) -> Drawn:
    figure, grid = axes(1, table["case"].nunique(), width=8.2, height=2.8)
    for ax, (case, rows) in zip(grid[0], table.groupby("case", sort=False), strict=True):
        tie_band(ax)
        ax.axvline(0.1, color=PAPER, lw=1.0, ls="--")
        ax.errorbar(rows["reached"], 100 * rows["mean"], 100 * rows["new"], color=BLUE,
                    marker="o", ms=3.5, lw=1.2)  # fmt: skip
        ax.set_title(case)
        ax.set_xlabel("$R^2_S$ reached in training")
        ax.set_ylim(-0.8, 0.8)
    grid[0, 0].set_ylabel("RMSE of FRRM relative\nto Steinberg's, in %")
    legend(figure, {"difference at equal $R^2_S$": key(BLUE, marker="o"),
                    "paper: FRRM dominates left of this": key(PAPER, "--"),
                    "called equal": patch("#E6E6E6")})  # fmt: skip
    return figure


FIGURES = (
    Figure(
        "bias",
        "auxiliary",
        "Example 1 (paper, Fig. 1). Relative difference between R²_S with and without the "
        "covariance of Sα and Ũβ, over the ridge penalty of the auxiliary model.",
        examples.bias_table,
        examples.draw_bias,
    ),
    Figure(
        "profiles",
        "models",
        "Example 1 (paper, Figs. 2 and 3). Coefficients of NCLM and FRRM over the bound, on one "
        "scale: FRRM leaves β at least squares, NCLM inflates it.",
        lambda results: examples.profile_table(results, "profiles", ("NCLM", "FRRM")),
        examples.draw_profiles,
    ),
    Figure(
        "ridge",
        "extensions",
        "Example 1 (paper, Fig. 4). Coefficients of FRRM with a ridge on β (solid) and without "
        "(dashed), in the units of the printed objective and of fairml's option.",
        examples.ridge_table,
        examples.draw_ridge,
    ),
    Figure(
        "definitions",
        "extensions",
        "Example 1 (paper, Fig. 5). Equality of opportunity and individual fairness along the path "
        "of FRRM. We infer that the paper's green curve is the sequential R²_EO.",
        examples.definitions_table,
        examples.draw_definitions,
    ),
    Figure(
        "fgrrm",
        "extensions",
        "Example 2 (paper, Fig. 6). Coefficients of FGRRM and of ZLRM, which the paper describes "
        "without a figure. The two bounds are different quantities.",
        examples.logistic_table,
        examples.draw_logistic,
    ),
    Figure(
        "families",
        "extensions",
        "What fair models with a ridge explain (§4, in words): four families, and what is bounded: "
        "three definitions, and two pseudo-R² of classes. Other penalties are in the details.",
        examples.families_table,
        examples.draw_families,
    ),
    Figure(
        "rmse",
        "linear",
        "Predictive RMSE (paper, Fig. 7); lower is better. Top: means. Bottom: paired differences; "
        "below zero FRRM is better.",
        _rmse_table("rmse"),
        _draw_rmse("predictive RMSE"),
    ),
    Figure(
        "training-rmse",
        "linear",
        "Training RMSE (paper, Fig. 8), drawn likewise.",
        _rmse_table("train_rmse"),
        _draw_rmse("training RMSE"),
    ),
    Figure(
        "f1",
        "logistic",
        "Predictive F1 (paper, Fig. 9); higher is better. Top: means. Bottom: paired "
        "differences; above zero FGRRM is better.",
        _f1_table,
        _draw_f1,
    ),
    Figure(
        "steinberg",
        "others",
        "FRRM and the model of Steinberg et al. (paper, Fig. 10), as paired differences of "
        "predictive RMSE at the same R²_S; one point per penalty γ, the right-most γ = 0.",
        _steinberg_table,
        _draw_steinberg,
    ),
)
