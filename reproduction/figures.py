"""The paper's figures: a tidy table for each, and what to draw from it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from reproduction.drawing import Curve, Panel, Sheet
from reproduction.examples import NAMES
from reproduction.profiles import FAIRML, PRINTED
from reproduction.results import Results, pick
from reproduction.statistics import interval

BOUND = "bound on unfairness, r"
# Light to dark with r.
SHADES = ("#9ECAE1", "#4292C6", "#2171B5", "#08306B")
DEFINITIONS = {
    "statistical parity": ("NCLM", "-"),
    "equality of opportunity": ("ZLM", "-"),
    "equality of opportunity, as printed": ("ZLM", ":"),
    "individual fairness": ("fairlearn", "-"),
}


@dataclass(frozen=True)
class Figure:
    """One figure of the paper: its numbers from results, and what is drawn from them."""

    name: str
    title: str
    caption: str
    table: Callable[[Results], pd.DataFrame]
    sheet: Callable[[pd.DataFrame], Sheet]


def _groups(table: pd.DataFrame, key: str) -> list[tuple[str, pd.DataFrame]]:
    """Return the rows by their values in a column, in order of appearance."""
    return list(table.groupby(key, sort=False))


# -------------------------------------------------------------------- examples


def over_samples(table: pd.DataFrame, keys: Sequence[str], value: str = "value") -> pd.DataFrame:
    """Return the first sample's values, with the range of 90 % of the samples."""
    rows = []
    for key, group in table.groupby(list(keys), sort=False):
        values = group[value].to_numpy()
        low, high = np.quantile(values, [0.05, 0.95])
        known = dict(zip(keys, key, strict=True))
        rows.append(known | {"value": values[0], "low": low, "high": high})
    return pd.DataFrame(rows)


def _bias_table(results: Results) -> pd.DataFrame:
    table = pick(results["bias"], case="example")
    table = table[table["penalty"].between(1.0, 1e5)]
    shown = pick(table, run=0).drop_duplicates("penalty").set_index("penalty")["optimal"]
    parts = []
    for sign in ("printed", "correct"):
        part = over_samples(table, ("r", "penalty"), value=sign)
        part.insert(0, "sign", sign)
        parts.append(part.assign(optimal=part["penalty"].map(shown)))
    return pd.concat(parts)


def _bias_sheet(table: pd.DataFrame) -> Sheet:
    titles = {"printed": "as printed, −2COV", "correct": "with +2COV"}
    panels = []
    for sign, title in titles.items():
        part = pick(table, sign=sign)
        optimal = pick(part, optimal=1)["penalty"]
        curves = tuple(
            _curve(pick(part, r=r), "penalty", f"r = {r:g}", shade)
            for r, shade in zip(part["r"].unique(), SHADES, strict=True)
        )
        shade = (float(optimal.min()), float(optimal.max())) if len(optimal) else None
        panels.append(Panel(title, curves, shade, 1.0))
    return Sheet(
        tuple(panels), "penalty of the auxiliary model, λ", "ratio of the two R²_S", "log", 2
    )


def _profile_table(experiment: str, *models: str) -> Callable[[Results], pd.DataFrame]:
    def table(results: Results) -> pd.DataFrame:
        rows = results[experiment]
        rows = rows[rows["model"].isin(models) & rows["term"].isin(NAMES)]
        # ZLRM has no sensitive attributes among its predictors.
        rows = rows[(rows["model"] != "ZLRM") | rows["term"].str.startswith("X")]
        return over_samples(rows, ("model", "term", "r"))

    return table


def _profile_sheet(table: pd.DataFrame) -> Sheet:
    panels = []
    for model, rows in _groups(table, "model"):
        curves = [
            _curve(part, "r", term, term, "-" if term[0] == "S" else "--")
            for term, part in _groups(rows, "term")
        ]
        panels.append(Panel(model, tuple(curves), level=0.0))
    return Sheet(tuple(panels), BOUND, "coefficient", columns=2, legend="ends")


def _ridge_sheet(table: pd.DataFrame) -> Sheet:
    """Solid with the ridge on β, dashed without, one color per coefficient."""
    panels = []
    for option in (PRINTED, FAIRML):
        curves = []
        for term in NAMES:
            for model, style, label in (("FRRM", "--", ""), (f"FRRM, {option}", "-", term)):
                rows = pick(table, model=model, term=term)
                x, y = rows["r"].to_numpy(), rows["value"].to_numpy()
                curves.append(Curve(label, x, y, color=term, style=style))
        panels.append(Panel(option, tuple(curves), level=0.0))
    return Sheet(tuple(panels), BOUND, "coefficient", columns=2, legend="ends", share_y=True)


def _definitions_table(results: Results) -> pd.DataFrame:
    return over_samples(results["definitions"], ("definition", "r"))


def _definitions_sheet(table: pd.DataFrame) -> Sheet:
    curves = tuple(
        _curve(pick(table, definition=name), "r", name, color, style)
        for name, (color, style) in DEFINITIONS.items()
    )
    return Sheet((Panel("", curves),), "bound on R²_S, r", "value of the definition")


def _curve(rows: pd.DataFrame, x: str, label: str, color: str, style: str = "-") -> Curve:
    x_, y, low, high = (rows[name].to_numpy() for name in (x, "value", "low", "high"))
    return Curve(label, x_, y, low, high, color, style)


# ------------------------------------------------------------ cross-validation


def over_runs(
    table: pd.DataFrame, measure: str, keys: Sequence[str] = ("case", "model", "r"), x: str = "r"
) -> pd.DataFrame:
    """Return means over runs with their 90 % confidence intervals."""
    rows = []
    for key, group in table.groupby(list(keys), sort=False):
        found = interval(group[measure])
        known = dict(zip(keys, key, strict=True))
        at = {} if x in keys else {x: float(group[x].mean())}
        rows.append(known | at | {"mean": found.mean, "low": found.low, "high": found.high})
    return pd.DataFrame(rows)


def _validated(experiment: str, measure: str, *models: str) -> Callable[[Results], pd.DataFrame]:
    def table(results: Results) -> pd.DataFrame:
        rows = results[experiment]
        return over_runs(rows[rows["model"].isin(models)], measure)

    return table


def _panels(table: pd.DataFrame, x: str = "r") -> tuple[Panel, ...]:
    """One panel per data set, one marked curve per model."""
    return tuple(
        Panel(
            case.replace(", classes", ""),
            tuple(_marked(rows, x, model) for model, rows in _groups(group, "model")),
        )
        for case, group in _groups(table, "case")
    )


def _marked(rows: pd.DataFrame, x: str, model: str) -> Curve:
    x_, y, low, high = (rows[name].to_numpy() for name in (x, "mean", "low", "high"))
    return Curve(model, x_, y, low, high, model.split(",")[0], marker=True)


def _validation_sheet(y_label: str) -> Callable[[pd.DataFrame], Sheet]:
    return lambda table: Sheet(_panels(table), BOUND, y_label, "even")


def _fairness_table(results: Results) -> pd.DataFrame:
    rows = results["linear"]
    rows = rows[rows["model"].isin(["NCLM", "FRRM"]) & (rows["active"] == 1.0)]
    return over_runs(rows, "unfairness")


def _fairness_sheet(table: pd.DataFrame) -> Sheet:
    panels = []
    for panel in _panels(table):
        ticks = np.unique(np.concatenate([curve.x for curve in panel.curves]))
        bound = Curve("bound", ticks, ticks, color="#9A9A9A", style=":")
        panels.append(Panel(panel.title, (bound, *panel.curves)))
    return Sheet(tuple(panels), BOUND, "R² of ŷ on S in validation", "even")


def _steinberg_table(results: Results) -> pd.DataFrame:
    keys = ("case", "model", "step")
    return over_runs(results["steinberg"], "rmse", keys, x="train_unfairness")


def _steinberg_sheet(table: pd.DataFrame) -> Sheet:
    panels = _panels(table, "train_unfairness")
    return Sheet(panels, "R²_S reached in training", "predictive RMSE")


def _fairlearn_table(results: Results) -> pd.DataFrame:
    return over_runs(results["fairlearn"], "f1")


def _fairlearn_sheet(table: pd.DataFrame) -> Sheet:
    panels = []
    styles = {
        "fairlearn": ("fairlearn, ε as the bound", "--"),
        "fairlearn, eps": ("fairlearn, ε as eps", ":"),
    }
    for case, group in _groups(table, "case"):
        if case == "BANK":
            continue
        ours = _marked(pick(group, model="FGRRM"), "r", "FGRRM")
        curves = [ours]
        for model, (label, style) in styles.items():
            level = np.full(len(ours.x), pick(group, model=model)["mean"].iloc[0])
            curves.append(Curve(label, ours.x, level, color="fairlearn", style=style))
        panels.append(Panel(case.replace(", classes", ""), tuple(curves)))
    return Sheet(tuple(panels), BOUND, "predictive F1", "even", 2)


_LINEAR = ("NCLM", "FRRM", "ZLM")
_LOGISTIC = ("ZLRM", "FGRRM")
_BARS = "Bars are 90 % confidence intervals over runs; most are smaller than the points."

FIGURES = (
    Figure(
        "bias",
        "Bias in the auxiliary model",
        "Ratio between R²_S with the covariance of Sα and Ũβ, and without, over the ridge penalty "
        "of the auxiliary model. Gray: the penalties that the one-standard-error rule chooses "
        "for the three predictors. Bands hold 90 % of the samples.",
        _bias_table,
        _bias_sheet,
    ),
    Figure(
        "nclm",
        "Coefficients of NCLM",
        "One sample of the example; bands hold 90 % of the samples. Solid: sensitive attributes.",
        _profile_table("profiles", "NCLM"),
        _profile_sheet,
    ),
    Figure(
        "frrm",
        "Coefficients of FRRM",
        "As before.",
        _profile_table("profiles", "FRRM"),
        _profile_sheet,
    ),
    Figure(
        "frrm-ridge",
        "FRRM with a ridge on β",
        "λ₂ = 10 (solid) against λ₂ = 0 (dashed), in the objective as printed and in the units of "
        "fairml's option.",
        _profile_table("profiles", "FRRM", f"FRRM, {PRINTED}", f"FRRM, {FAIRML}"),
        _ridge_sheet,
    ),
    Figure(
        "definitions",
        "Three definitions of fairness",
        "R²_EO and D_IF along the path of FRRM in R²_S = r.",
        _definitions_table,
        _definitions_sheet,
    ),
    Figure(
        "fgrrm",
        "Coefficients of FGRRM and of ZLRM",
        "The logistic example. ZLRM is bounded by the largest correlation of η with a sensitive "
        "attribute; the paper describes it without a figure.",
        _profile_table("logistic-profiles", "FGRRM", "ZLRM"),
        _profile_sheet,
    ),
    Figure(
        "rmse",
        "Predictive RMSE of NCLM, FRRM and ZLM",
        "Lower is better. " + _BARS,
        _validated("linear", "rmse", *_LINEAR),
        _validation_sheet("predictive RMSE"),
    ),
    Figure(
        "training-rmse",
        "Training RMSE of NCLM, FRRM and ZLM",
        "Lower is better. " + _BARS,
        _validated("linear", "train_rmse", *_LINEAR),
        _validation_sheet("training RMSE"),
    ),
    Figure(
        "fairness",
        "Fairness on validation rows",
        "Where the bound is active. Not a figure of the paper, which says it in words. " + _BARS,
        _fairness_table,
        _fairness_sheet,
    ),
    Figure(
        "corrected",
        "Predictive RMSE on corrected data, and with another response",
        "C&C with all 1993 complete communities and without identifiers as predictors; GCR with "
        "the right gender, and with credit risk as the response; LSAC without its `age`, which is "
        "not one. " + _BARS,
        _validated("corrected", "rmse", *_LINEAR),
        _validation_sheet("predictive RMSE"),
    ),
    Figure(
        "f1",
        "Predictive F1 of ZLRM and FGRRM",
        "Higher is better. " + _BARS,
        _validated("logistic", "f1", *_LOGISTIC),
        _validation_sheet("predictive F1"),
    ),
    Figure(
        "steinberg",
        "FRRM and the model of Steinberg et al.",
        "Each point of Steinberg's model is one penalty γ, the right-most γ = 0. FRRM has the R²_S "
        "that it reached as its bound. Lower is better.",
        _steinberg_table,
        _steinberg_sheet,
    ),
    Figure(
        "fairlearn",
        "FGRRM and fairlearn's reductions",
        "fairlearn at ε = .1, read in two ways. Higher is better; the levels of fairness are not "
        "the same.",
        _fairlearn_table,
        _fairlearn_sheet,
    ),
)
