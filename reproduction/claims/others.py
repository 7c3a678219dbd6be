"""Statements about the other models (section 5.3)."""

from __future__ import annotations

from typing import Any

import pandas as pd

from reproduction.claims.base import (
    Kind,
    Verdict,
    ahead,
    between,
    claim,
    either,
    grade,
    number,
    short,
    tally,
    tie,
    tiny,
)
from reproduction.results import Results, pick
from reproduction.statistics import cells, count

# F1 of fairlearn, and the range of FGRRM.
PAPER_F1 = {
    "COMPAS, classes": (0.6787, 0.6891, 0.7029),
    "ADULT, sex": (0.5805, 0.6141, 0.6489),
}
# The same data in section 5.2, where ADULT has age as a second attribute.
OTHER = {"COMPAS, classes": "COMPAS, classes", "ADULT, sex": "ADULT"}
# How near F1 must be: of classifiers drawn at random, and of ranges that depend on where a
# solver stops.
NEAR = 0.01


@claim("§5.3, Fig. 10", "others")
def frrm_below_steinberg(results: Results) -> Verdict:
    """FRRM dominates the model of Steinberg et al. for r < .1 on COMPAS, NLSY and LSAC."""
    table = results["steinberg"]
    keys = ["case", "step"]
    theirs = pick(table, model="Steinberg").groupby(keys, sort=False)["train_dependence"].mean()
    table = table[table.set_index(keys).index.isin(theirs[theirs < 0.1].index)]
    found = cells(table, "FRRM", "Steinberg", "rmse", by="step")
    return Verdict(
        ahead(found, "lower"),
        f"At the same R²_S in training: RMSE {tally(found)} cells ({between(found['mean'], 2)})."
        + tie(found),
    )


@claim("§5.3", "others")
def steinberg_without_penalty(results: Results) -> Verdict:
    """It does not outperform FRRM at γ = 0 either, so FRRM dominates it for larger r."""
    found = cells(pick(results["steinberg"], step=0), "FRRM", "Steinberg", "rmse", by="step")
    never, better = not count(found, "higher"), count(found, "lower") == len(found)
    return Verdict(
        "holds" if never and better else "holds in part" if never else "does not hold",
        f"At γ = 0 both are least squares ({between(found['mean'], 2)}): neither dominates.",
    )


@claim("§5.3", "others")
def penalty_does_not_control(results: Results) -> Verdict:
    """r cannot be controlled exactly, because of the nonlinear relationship of γ and r."""
    table = results["steinberg-bounds"]
    active = table[table["active"] == 1.0]
    off = float((active["achieved"] - active["r"]).abs().max())
    return Verdict(
        either(off > 1e-6),
        f"A search over γ meets {len(active)} of {len(active)} active bounds to {tiny(off)}."
        if off < 1e-6
        else f"A search over γ misses bounds by up to {number(off, 4)}.",
    )


@claim("§5.3", "others")
def limits_of_fairlearn(results: Results) -> Verdict:
    """fairlearn has no statistical parity for regression, and allows a single categorical
    sensitive attribute."""
    return Verdict(
        "holds in part",
        "The first is true of fairlearn 0.15 (its regression has bounded group loss). Of several "
        "attributes it takes the intersections as groups. Numbers are groups of their own.",
        argument=True,
    )


def readings(results: Results, case: str) -> pd.DataFrame:
    """Return fairlearn's mean F1 by reading of ε, predictors, and way to predict."""
    table = pick(results["fairlearn"], case=case, model="fairlearn")
    return table.groupby(["reading", "among", "how"], sort=False)["f1"].mean().reset_index()


def fgrrm_range(results: Results, case: str, source: str = "fairlearn") -> tuple[float, float]:
    """Return the smallest and largest mean F1 of FGRRM over r."""
    table = pick(results.of(source, case), model="FGRRM")
    by_r = table.groupby("r")["f1"].mean()
    return float(by_r.min()), float(by_r.max())


def same_reading(results: Results) -> pd.DataFrame:
    """Return fairlearn's mean F1 of every reading on both data sets, nearest to the paper's first.

    The reading of ε, of the predictors and of predictions is the same on both.
    """
    keys = ["reading", "among", "how"]
    by_case = {case: readings(results, case).set_index(keys)["f1"] for case in PAPER_F1}
    table = pd.DataFrame(by_case).dropna(axis=1, how="all")
    off = sum((table[case] - PAPER_F1[case][0]).abs() for case in table)
    return table.assign(off=off).sort_values("off", kind="stable").reset_index()


def name_of(row: Any) -> str:
    """Write a reading."""
    return (
        f"{'`eps=.1`' if row['reading'] == 'eps' else 'bound .1'}, "
        f"{'with' if row['among'] else 'without'} S, {row['how']}"
    )


@claim("§5.3", "others")
def fairlearn_f1(results: Results) -> Verdict:
    """fairlearn at ε = .1 has F1 = .6787 on COMPAS and .5805 on ADULT (sex)."""
    results.of("fairlearn", *PAPER_F1)
    table = same_reading(results)
    best, cases = table.iloc[0], [case for case in PAPER_F1 if case in table]
    good = sum(abs(best[case] - PAPER_F1[case][0]) < NEAR for case in cases)
    listed = ", ".join(f"{short(case)} {number(best[case], 4)}" for case in cases)
    return Verdict(
        reproduced(good, len(cases)),
        f"Nearest of eight readings, the same on both: {listed} ({name_of(best)}); within .01 on "
        f"{good} of {len(cases)}.",
    )


@claim("§5.3", "others")
def fgrrm_f1_ranges(results: Results) -> Verdict:
    """Over all r, F1 of FGRRM is in [.6891, .7029] on COMPAS and in [.6141, .6489] on ADULT."""
    good, total, parts = 0, 0, []
    for case, (_, *said) in PAPER_F1.items():
        for source, name in (("fairlearn", case), ("logistic", OTHER[case])):
            folds = "all folds of Fig. 9" if source == "logistic" else "folds of fairlearn"
            found = fgrrm_range(results, name, source)
            good += sum(abs(a - b) < NEAR for a, b in zip(found, said, strict=True))
            total += 2
            ends = f"{number(found[0], 4)}–{number(found[1], 4)}"
            parts.append(f"{short(name)} {ends} ({folds})")
    return Verdict(
        reproduced(good, total),
        f"{'; '.join(parts)}: {good} of {total} ends agree to .01.",
        separated=True,
    )


def reproduced(good: int, total: int) -> Kind:
    """Judge printed numbers, which are reproduced or not: not by the truth of a statement."""
    return "not reproduced" if good < total else "holds"


@claim("§5.3", "others")
def fairlearn_below_fgrrm(results: Results) -> Verdict:
    """F1 of fairlearn is smaller than that of FGRRM for every r, on COMPAS and ADULT."""
    results.of("fairlearn", *PAPER_F1)
    table = same_reading(results)
    best, cases = table.iloc[0], [case for case in PAPER_F1 if case in table]
    low = {case: fgrrm_range(results, case)[0] for case in cases}
    good = sum(best[case] < low[case] for case in cases)
    every = sum((table[case] < low[case]).sum() for case in cases)
    return Verdict(
        grade(good, len(cases)),
        f"By the same reading: below on {good} of {len(cases)} data sets; by all eight readings "
        f"in {every} of {len(table) * len(cases)} cases.",
        separated=True,
    )


@claim("§5.3", "others")
def fairlearn_on_bank(results: Results) -> Verdict:
    """fairlearn does not converge on BANK."""
    table = pick(results.of("fairlearn", "BANK"), model="fairlearn")
    stuck = table.groupby("reading", sort=False)["gap"].max() > 0
    listed = [
        f"{'does not converge' if stuck[key] else 'converges'} with {name}"
        for key, name in (("eps", "`eps=.1`"), ("bound", "the bound .1"))
    ]
    return Verdict(either(bool(stuck["eps"])), f"Age as one group per year: {', '.join(listed)}.")
