"""Figures 1 to 6 of the paper: the examples, and the extensions that it names."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure as Drawn

from reproduction.drawing import (
    BLACK,
    BLUE,
    FAINT,
    GREEN,
    ORANGE,
    PALETTE,
    PAPER,
    VERMILION,
    VIOLET,
    axes,
    band,
    bound_ticks,
    key,
    legend,
    names_at_ends,
    patch,
    quantile_rows,
)
from reproduction.examples import NAMES
from reproduction.families import INDIVIDUAL, OPPORTUNITY, PARITY, UNBOUNDED
from reproduction.profiles import FAIRML, PRINTED
from reproduction.results import Results, pick

# Light to dark with r.
SHADES = ("#9ECAE1", "#4292C6", "#2171B5", "#08306B")
DEFINITIONS = {
    "statistical parity": ("$R^2_S$", "NCLM", "-"),
    "equality of opportunity": ("$R^2_{EO}$, sequential", "ZLM", "-"),
    "equality of opportunity, as printed": ("$R^2_{EO}$, as printed", "ZLM", ":"),
    "individual fairness": ("$D_{IF}$", "fairlearn", "-"),
}
EXAMPLES = ("example", "vu.test")


def bias_table(results: Results) -> pd.DataFrame:
    """Relative differences over λ, for both signs."""
    table = results["bias"]
    table = table[table["case"].isin(EXAMPLES) & table["penalty"].between(1.0, 1e4)]
    case = "vu.test" if (table["case"] == "vu.test").any() else "example"
    shown = pick(table, case=case, run=0).drop_duplicates("penalty").set_index("penalty")["optimal"]
    parts = []
    for sign in ("printed", "correct"):
        off = table.assign(value=100 * (table[sign] - 1.0).abs())
        part = quantile_rows(off, ("r", "penalty"))
        parts.append(part.assign(sign=sign, optimal=part["penalty"].map(shown)))
    return pd.concat(parts)


def draw_bias(table: pd.DataFrame) -> Drawn:
    """One axis in percent for both signs, so that sizes can be compared."""
    figure, grid = axes(1, 2, width=8.2, height=3.5, share="all")
    titles = {"printed": "As printed, $-2\\,\\mathrm{COV}$", "correct": "With $+2\\,\\mathrm{COV}$"}
    for ax, (sign, title) in zip(grid[0], titles.items(), strict=True):
        part = pick(table, sign=sign)
        optimal = pick(part, optimal=1)["penalty"]
        ax.axvspan(optimal.min(), optimal.max(), color="#E4E4E4", linewidth=0)
        ax.axhspan(3, 5, color=PAPER, alpha=0.15, linewidth=0)
        ax.axhline(16, color=PAPER, lw=1.2, ls="--")
        for r, shade in zip(part["r"].unique(), SHADES, strict=True):
            band(ax, pick(part, r=r), "penalty", shade)
        ax.set_xscale("log")
        ax.set_title(title)
        ax.set_xlabel(r"ridge penalty $\lambda$ of the auxiliary model")
        ax.set_ylim(0, 40)
    grid[0, 0].set_ylabel("relative difference of $R^2_S$ in %")
    handles = {f"$r$ = {r:g}": key(s) for r, s in zip(table["r"].unique(), SHADES, strict=True)}
    handles |= {"one-standard-error range": patch("#E4E4E4"),
                "paper: 3–5 % ($r$ = .01, .02)": patch(PAPER, 0.25),
                "paper: up to 16 % ($r$ = .1)": key(PAPER, "--")}  # fmt: skip
    legend(figure, handles, 4)
    return figure


def profile_table(results: Results, experiment: str, models: tuple[str, ...]) -> pd.DataFrame:
    """Coefficients over r."""
    rows = results[experiment]
    rows = rows[rows["model"].isin(models) & rows["term"].isin(NAMES)]
    # ZLRM has no sensitive attributes among its predictors.
    rows = rows[(rows["model"] != "ZLRM") | rows["term"].str.startswith("X")]
    return quantile_rows(rows, ("model", "term", "r"))


def draw_profiles(table: pd.DataFrame) -> Drawn:
    """NCLM and FRRM on one scale."""
    figure, grid = axes(1, 2, width=8.2, height=3.9, share="all")
    for ax, model in zip(grid[0], ("NCLM", "FRRM"), strict=True):
        _coefficients(ax, pick(table, model=model))
        ax.set_title(f"{model} (Fig. {2 if model == 'NCLM' else 3})")
        ax.set_xlabel("bound $r$ on $R^2_S$")
    for x, text in ((0.3, "plateau"), (0.85, "constant from")):
        grid[0, 0].axvline(x, color=PAPER, lw=1.0, ls="--")
        grid[0, 0].annotate(f"paper: {text}\n$r$ = {x:g}", (x, 0.99), fontsize=7.5, color=PAPER,
                            xycoords=("data", "axes fraction"), va="top", ha="right",
                            xytext=(-3, 0), textcoords="offset points")  # fmt: skip
    grid[0, 0].set_ylabel("coefficient")
    grid[0, 0].set_ylim(top=1.14 * float(table["high"].max()))
    ends = pick(table, model="FRRM", r=1.0)
    names_at_ends(grid[0, 1], _ends(ends))
    legend(figure, _coefficient_keys())
    return figure


def _ends(rows: pd.DataFrame) -> dict[str, tuple[float, str]]:
    letters = {"S": r"\alpha", "X": r"\beta"}
    return {
        f"${letters[row.term[0]]}_{row.term[1]}$": (row.value, PALETTE[row.term])
        for row in rows.itertuples()
    }


def _coefficient_keys() -> dict[str, object]:
    return {r"$\alpha$ (sensitive attributes)": key("#444444"),
            r"$\beta$ (predictors)": key("#444444", "--"),
            "90 % of our samples": patch("#444444", 0.15)}  # fmt: skip


def _coefficients(ax: object, rows: pd.DataFrame) -> None:
    for term, part in rows.groupby("term", sort=False):
        band(ax, part, "r", PALETTE[term], ls="-" if term[0] == "S" else "--")  # type: ignore[arg-type]
    ax.axhline(0.0, color=FAINT, lw=0.8)  # type: ignore[attr-defined]


def ridge_table(results: Results) -> pd.DataFrame:
    """FRRM without and with the ridge on β, in two units."""
    return profile_table(results, "profiles", ("FRRM", *(f"FRRM, {o}" for o in (PRINTED, FAIRML))))


def draw_ridge(table: pd.DataFrame) -> Drawn:
    """Solid with the ridge on β, dashed without, one color per coefficient."""
    figure, grid = axes(1, 2, width=8.2, height=3.5, share="all")
    titles = {PRINTED: r"$\lambda_2 = 10$ in eq. (15): no visible difference",
              FAIRML: r"$\lambda_2 = 10$ in fairml's units"}  # fmt: skip
    for ax, (option, title) in zip(grid[0], titles.items(), strict=True):
        for term in NAMES:
            for model, style in (("FRRM", "--"), (f"FRRM, {option}", "-")):
                rows = pick(table, model=model, term=term)
                ax.plot(rows["r"], rows["value"], color=PALETTE[term], ls=style, lw=1.5)
        ax.set_title(title)
        ax.set_xlabel("bound $r$ on $R^2_S$")
        names_at_ends(ax, _ends(pick(table, model=f"FRRM, {option}", r=1.0)))
    grid[0, 0].set_ylabel("coefficient")
    legend(figure, {r"with $\lambda_2$": key("#444444"), r"$\lambda_2 = 0$": key("#444444", "--")})
    return figure


def definitions_table(results: Results) -> pd.DataFrame:
    """Three definitions along the path of FRRM."""
    return quantile_rows(results["definitions"], ("definition", "r"))


def draw_definitions(table: pd.DataFrame) -> Drawn:
    """Draw all definitions over R²_S, with 1 as the largest meaningful value."""
    figure, grid = axes(1, 1, width=6.6, height=3.6)
    ax = grid[0, 0]
    ax.axhline(1.0, color=BLACK, lw=0.8, ls="--")
    ax.annotate("largest value that a share can have", (0.98, 1.0), fontsize=8, ha="right",
                xytext=(0, 3), textcoords="offset points")  # fmt: skip
    handles = {}
    for name, (label, color, style) in DEFINITIONS.items():
        band(ax, pick(table, definition=name), "r", PALETTE[color], ls=style)
        handles[label] = key(PALETTE[color], style)
    ax.set_xlabel("$R^2_S = r$ of FRRM")
    ax.set_ylabel("value of the definition")
    legend(figure, handles)
    return figure


def logistic_table(results: Results) -> pd.DataFrame:
    """Coefficients of FGRRM and ZLRM."""
    return profile_table(results, "logistic-profiles", ("FGRRM", "ZLRM"))


def draw_logistic(table: pd.DataFrame) -> Drawn:
    """FGRRM and ZLRM, whose bounds are different things."""
    figure, grid = axes(1, 2, width=8.2, height=3.7, share="all")
    labels = {"FGRRM": "bound $r$ on the share of deviance, eq. (17)",
              "ZLRM": r"bound on $\max_j|\mathrm{COR}(\eta, S_j)|$"}  # fmt: skip
    for ax, (model, label) in zip(grid[0], labels.items(), strict=True):
        rows = pick(table, model=model)
        _coefficients(ax, rows)
        ax.set_title(f"{model} (Fig. 6)" if model == "FGRRM" else f"{model} (not in the paper)")
        ax.set_xlabel(label)
        names_at_ends(ax, _ends(pick(rows, r=1.0)))
    grid[0, 0].set_ylabel("coefficient")
    legend(figure, _coefficient_keys())
    return figure


# ------------------------------------------------------- families and penalties


def families_table(results: Results) -> pd.DataFrame:
    """Return what models with a ridge explain of the deviance, relative to those unbounded."""
    table = pick(results["families"], penalty="ridge")
    keys = ["case", "penalty", "definition"]
    free = table[table["r"] == UNBOUNDED].set_index(keys)["explained"]
    bounded = table[table["r"] < UNBOUNDED].set_index(keys)
    bounded["relative"] = 100.0 * bounded["explained"] / free.reindex(bounded.index)
    return bounded.reset_index()


def draw_families(table: pd.DataFrame) -> Drawn:
    """Draw one panel per family: definitions by color."""
    cases, ticks = list(table["case"].unique()), np.unique(table["r"])
    figure, grid = axes(1, len(cases), width=8.2, height=3.1, share="none")
    colors = {PARITY: BLUE, OPPORTUNITY: GREEN, INDIVIDUAL: ORANGE, "nagelkerke": VERMILION,
              "tjur": VIOLET}  # fmt: skip
    for ax, case in zip(grid[0], cases, strict=True):
        for name, rows in pick(table, case=case).groupby("definition", sort=False):
            x = np.searchsorted(ticks, rows["r"])
            ax.plot(x, rows["relative"], color=colors[name], marker="o", ms=3.2, lw=1.6)
        ax.set_title(case)
        bound_ticks(ax, ticks, "bound $r$")
    grid[0, 0].set_ylabel("explained deviance,\nin % of unbounded")
    names = {PARITY: "parity", OPPORTUNITY: "opportunity", "nagelkerke": "Nagelkerke",
             "tjur": "Tjur"}  # fmt: skip
    handles = {names.get(name, name): key(color, marker="o") for name, color in colors.items()}
    legend(figure, handles)
    return figure
