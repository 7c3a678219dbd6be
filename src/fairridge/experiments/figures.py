"""The paper's figures: a tidy table for each, and what to draw from it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairridge.experiments.profiles import FAIRML, PRINTED
from fairridge.experiments.results import Results
from fairridge.experiments.statistics import interval
from fairridge.experiments.synthetic import NAMES
from fairridge.experiments.table import Row, Table
from fairridge.report.experiments import Curve, Panel, Sheet

__all__ = ["FIGURES", "Figure"]

Floats = NDArray[np.float64]

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
    """One figure of the paper.

    Attributes
    ----------
    name, title : str
        Its file name, and its heading.
    caption : str
        What it shows.
    table : callable
        From results to the numbers in it.
    sheet : callable
        From those to what is drawn.
    """

    name: str
    title: str
    caption: str
    table: Callable[[Results], Table]
    sheet: Callable[[Table], Sheet]


# -------------------------------------------------------------------- examples


def over_samples(table: Table, *keys: str, value: str = "value") -> Table:
    """Return the first sample's values, with the range of 90 % of the samples."""
    rows: list[Row] = []
    for key, group in table.groups(*keys).items():
        values = group.column(value)
        low, high = np.quantile(values, [0.05, 0.95])
        rows.append(
            dict(zip(keys, key, strict=True)) | {"value": values[0], "low": low, "high": high}
        )
    return Table.of(rows)


def _bias_table(results: Results) -> Table:
    rows: list[Row] = []
    table = results["bias"].where(lambda row: 1.0 <= row["penalty"] <= 1e5, case="example")
    shown = {row["penalty"]: row["optimal"] for row in table.where(run=0)}
    for sign in ("printed", "correct"):
        found = over_samples(table, "r", "penalty", value=sign)
        rows += [{"sign": sign, **row, "optimal": shown[row["penalty"]]} for row in found]
    return Table.of(rows)


def _bias_sheet(table: Table) -> Sheet:
    titles = {"printed": "as printed, −2COV", "correct": "with +2COV"}
    panels = []
    for sign, title in titles.items():
        part = table.where(sign=sign)
        optimal = part.where(optimal=1).column("penalty")
        curves = tuple(
            _curve(part.where(r=r), "penalty", f"r = {r:g}", shade)
            for r, shade in zip(part.distinct("r"), SHADES, strict=True)
        )
        shade = (float(optimal.min()), float(optimal.max())) if len(optimal) else None
        panels.append(Panel(title, curves, shade, 1.0))
    return Sheet(
        tuple(panels), "penalty of the auxiliary model, λ", "ratio of the two R²_S", "log", 2
    )


def _profile_table(experiment: str, *models: str) -> Callable[[Results], Table]:
    def table(results: Results) -> Table:
        rows = results[experiment].where(
            lambda row: row["model"] in models and row["term"] in NAMES
        )
        # ZLRM has no sensitive attributes among its predictors.
        rows = rows.where(lambda row: row["model"] != "ZLRM" or row["term"][0] == "X")
        return over_samples(rows, "model", "term", "r")

    return table


def _profile_sheet(table: Table) -> Sheet:
    panels = tuple(
        Panel(
            model,
            tuple(
                _curve(part, "r", term, term, "-" if term[0] == "S" else "--")
                for (term,), part in rows.groups("term").items()
            ),
            level=0.0,
        )
        for (model,), rows in table.groups("model").items()
    )
    return Sheet(panels, BOUND, "coefficient", columns=2, legend="ends")


def _ridge_sheet(table: Table) -> Sheet:
    """Solid with the ridge on β, dashed without, one color per coefficient."""
    panels = []
    for option in (PRINTED, FAIRML):
        curves = [
            _curve(table.where(model=model, term=term), "r", label, term, style)
            for term in NAMES
            for model, style, label in (("FRRM", "--", ""), (f"FRRM, {option}", "-", term))
        ]
        plain = [Curve(c.label, c.x, c.y, color=c.color, style=c.style) for c in curves]
        panels.append(Panel(option, tuple(plain), level=0.0))
    return Sheet(tuple(panels), BOUND, "coefficient", columns=2, legend="ends", share_y=True)


def _definitions_table(results: Results) -> Table:
    return over_samples(results["definitions"], "definition", "r")


def _definitions_sheet(table: Table) -> Sheet:
    curves = tuple(
        _curve(table.where(definition=name), "r", name, color, style)
        for name, (color, style) in DEFINITIONS.items()
    )
    return Sheet((Panel("", curves),), "bound on R²_S, r", "value of the definition")


def _curve(rows: Table, x: str, label: str, color: str, style: str = "-") -> Curve:
    return Curve(
        label, rows.column(x), rows.column("value"), rows.column("low"), rows.column("high"),
        color, style,
    )  # fmt: skip


# ------------------------------------------------------------ cross-validation


def over_runs(table: Table, measure: str, *keys: str, x: str = "r") -> Table:
    """Return means over runs with their 90 % confidence intervals."""
    rows: list[Row] = []
    for key, group in table.groups(*keys).items():
        found = interval(group.column(measure))
        known = dict(zip(keys, key, strict=True))
        at = {} if x in keys else {x: float(group.column(x).mean())}
        rows.append(known | at | {"mean": found.mean, "low": found.low, "high": found.high})
    return Table.of(rows)


def _validated(experiment: str, measure: str, *models: str) -> Callable[[Results], Table]:
    def table(results: Results) -> Table:
        rows = results[experiment].where(lambda row: row["model"] in models)
        return over_runs(rows, measure, "case", "model", "r")

    return table


def _validation_sheet(y_label: str, columns: int = 3) -> Callable[[Table], Sheet]:
    def sheet(table: Table) -> Sheet:
        panels = tuple(
            Panel(
                case.replace(", classes", ""),
                tuple(
                    _marked(rows, "r", model) for (model,), rows in group.groups("model").items()
                ),
            )
            for (case,), group in table.groups("case").items()
        )
        return Sheet(panels, BOUND, y_label, "even", columns)

    return sheet


def _marked(rows: Table, x: str, model: str) -> Curve:
    return Curve(
        model, rows.column(x), rows.column("mean"), rows.column("low"), rows.column("high"),
        model.split(",")[0], marker=True,
    )  # fmt: skip


def _fairness_table(results: Results) -> Table:
    rows = results["linear"].where(
        lambda row: row["model"] in ("NCLM", "FRRM") and row["active"] == 1.0
    )
    return over_runs(rows, "unfairness", "case", "model", "r")


def _fairness_sheet(table: Table) -> Sheet:
    panels = []
    for (case,), group in table.groups("case").items():
        ticks = np.unique(group.column("r"))
        bound = Curve("bound", ticks, ticks, color="#9A9A9A", style=":")
        curves = [_marked(rows, "r", model) for (model,), rows in group.groups("model").items()]
        panels.append(Panel(case, (bound, *curves)))
    return Sheet(tuple(panels), BOUND, "R² of ŷ on S in validation", "even", 3)


def _steinberg_table(results: Results) -> Table:
    return over_runs(results["steinberg"], "rmse", "case", "model", "step", x="train_unfairness")


def _steinberg_sheet(table: Table) -> Sheet:
    panels = tuple(
        Panel(
            case,
            tuple(
                _marked(rows, "train_unfairness", model)
                for (model,), rows in group.groups("model").items()
            ),
        )
        for (case,), group in table.groups("case").items()
    )
    return Sheet(panels, "R²_S reached in training", "predictive RMSE", columns=3)


def _fairlearn_table(results: Results) -> Table:
    return over_runs(results["fairlearn"], "f1", "case", "model", "r")


def _fairlearn_sheet(table: Table) -> Sheet:
    panels = []
    styles = {
        "fairlearn": ("fairlearn, ε as the bound", "--"),
        "fairlearn, eps": ("fairlearn, ε as eps", ":"),
    }
    for (case,), group in table.groups("case").items():
        if case == "BANK":
            continue
        ours = _marked(group.where(model="FGRRM"), "r", "FGRRM")
        curves = [ours]
        for model, (label, style) in styles.items():
            level = group.where(model=model).column("mean")[0]
            curves.append(Curve(label, ours.x, np.full(len(ours.x), level), color="fairlearn",
                                style=style))  # fmt: skip
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
