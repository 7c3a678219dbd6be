"""Misprints of the paper and remarks on its text, each with a number that shows it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from reproduction.claims.auxiliary import bias_range
from reproduction.claims.base import BETA, checked, number, percent, profile, tiny
from reproduction.results import Results, SkippedError, pick

Evidence = Callable[[Results], str]


@dataclass(frozen=True)
class Erratum:
    """Something that is not as printed: a misprint, or a matter of substance."""

    name: str
    where: str
    printed: str
    right: str
    evidence: Evidence
    substantive: bool = False

    def shown(self, results: Results) -> str:
        """Return the evidence, or that its results are missing."""
        try:
            return self.evidence(results)
        except SkippedError as reason:
            return f"skipped: {reason}"


def _sign(results: Results) -> str:
    ranges = [bias_range(results, "example", 0.1, sign)[1] for sign in ("printed", "correct")]
    return f"largest bias at r = .10: {percent(ranges[0])} as printed, {percent(ranges[1])} right"


def _bracket(results: Results) -> str:
    names = ("printed", "corrected")
    inside = [float(checked(results, "bracket", name)["value"].mean()) for name in names]
    return (
        f"λ(r) inside in {percent(inside[0], 0)} of cases as printed, {percent(inside[1], 0)} right"
    )


def _norm(results: Results) -> str:
    off = [
        float(checked(results, "independent", f"λ {name}")["value"].max())
        for name in ("printed", "corrected")
    ]
    return f"relative error of λ(r): up to {off[0]:,.0f} as printed, {tiny(off[1])} right"


def _opportunity(results: Results) -> str:
    rows = pick(results["definitions"], case="example", r=0.0)
    value = pick(rows, definition="equality of opportunity, as printed")["value"]
    return f"as printed {number(float(value.median()), 2)} at α = 0; a share is at most 1"


def _parity(results: Results) -> str:
    table = pick(results["formulas"], check="opportunity")
    partial = float(pick(table, quantity="partial R²")["value"].median())
    off = float(pick(table, quantity="distance")["value"].max())
    return f"coefficients agree to {tiny(off)}; ρ² = {number(partial, 2)} in Example 1"


def _individual(results: Results) -> str:
    table = pick(results["formulas"], check="pairs")
    share = [float(pick(table, quantity=n)["value"].median()) for n in ("printed", "Berk")]
    return (
        f"the tenth of pairs with the closest outcomes has {percent(share[0])} of the weight, and "
        f"{percent(share[1])} with Berk's exp(−Δ²)"
    )


def _double_ridge(results: Results) -> str:
    table = pick(results["formulas"], check="double ridge")
    off = table.groupby("r")["value"].median()
    return f"β differs from (15) by {percent(off[0.05], 0)} at r = .05 and depends on r"


def _deviance(results: Results) -> str:
    value = checked(results, "deviance").groupby("r")["value"].mean()[0.05]
    return f"{number(value, 2)} at R²_S = .05"


def _quasi(results: Results) -> str:
    table = results["logistic-profiles"]
    quasi = np.array([profile(table, "FGRRM, quasi-binomial", term) for term in BETA])
    growth = float(np.median(quasi[:, :, -1] / quasi[:, :, 0]))
    return f"β grow by a factor of {number(growth, 2)} from r = 0 to 1"


def _inactive(results: Results) -> str:
    free = profile(results["profiles"], "NCLM", "achieved")[:, -1]
    return f"R²_S(OLS) = {number(float(np.median(free)), 2)} in Example 1: r = .85 is active"


def _bank(results: Results) -> str:
    table = pick(results.of("logistic", "BANK"), model="FGRRM")
    share = table[table["r"] == table["r"].max()]["train_dependence"].mean()
    return f"S explains {percent(float(share), 2)} of η without a bound"


def _size(results: Results) -> str:
    rows = results.of("datasets", "BANK")["rows"]
    return f"{int(rows.iloc[0])} rows in fairml's file"


def _small(results: Results) -> str:
    table = pick(results["bias"], case="example", run=0, r=0.01)
    near = table.iloc[(np.log(table["penalty"] / 100.0)).abs().argmin()]
    return f"SᵀÛ = 0; ‖SᵀŨ‖ is {percent(float(near['covariance']), 0)} of ‖SᵀX‖ at λ = 100"


ERRATA = (
    Erratum("E1", "§2.2", "VAR(Sα + Ũβ) = … − 2COV(Sα, Ũβ)", "+ 2COV", _sign),
    Erratum(
        "E2",
        "§3.1",
        "αᵀVAR(S)α from (l + 2λ)/(l + λ)²; equations “… c = d”",
        "VAR(Sα) has l/(l + λ)², and c and d are exchanged: λ(r) lies between l(√(Σz²/l/(nc)) − "
        "1) for the smallest and the largest l, z = AᵀSᵀy",
        _bracket,
    ),
    Erratum(
        "E3",
        "§3.2, (13), (14)",
        "‖Sᵀy‖²; COR(ŷ, S) ∝ √(r/(1 − r))",
        "‖Sᵀy‖; COR(ŷ, S) ∝ √r",
        _norm,
    ),
    Erratum(
        "E4",
        "§4.3",
        "R²_EO from the joint regression of ŷ on y and S",
        "sequential sums of squares, as in fairml",
        _opportunity,
    ),
    Erratum(
        "E5",
        "§4.3",
        "R²_EO (sequential) bounds equality of opportunity",
        "it is statistical parity on another scale: R²_EO = R²_S/(R²_S + (1 − R²_S)ρ²), ρ² the "
        "partial R² of y on Û given S",
        _parity,
        substantive=True,
    ),
    Erratum(
        "E6",
        "§4.3",
        "D_IF “along the lines of” Berk et al., with d increasing in |yᵢ − yⱼ|",
        "the d of Berk et al. decreases: similar outcomes weigh most. Here, as in fairml, "
        "dissimilar ones do",
        _individual,
        substantive=True,
    ),
    Erratum(
        "E7", "§4.2", "double ridge with Xβ", "Ûβ: (15) does not follow from Xβ", _double_ridge
    ),
    Erratum(
        "E8",
        "§4.4",
        "Gaussian: (17) simplifies to R²_S ≤ r",
        "they agree at λ = 0",
        _deviance,
        substantive=True,
    ),
    Erratum(
        "E9",
        "§4.4",
        "quasi-Binomial: β constant",
        "its β are the Binomial ones",
        _quasi,
        substantive=True,
    ),
    Erratum("E10", "§5.1", "inactive “whenever R²_S(OLS) ≥ r”", "≤ r, as in §3", _inactive),
    Erratum(
        "E11",
        "§5.2",
        "BANK: equal because of one attribute",
        "the bound is inactive for every r ≥ .01",
        _bank,
        substantive=True,
    ),
    Erratum("E12", "§5.2", "BANK has 41188 observations", "differs from fairml 0.8's file", _size),
    Erratum(
        "E13",
        "§2, §2.2",
        "“BᵀX” explained by S; Ũ = X − B_λX; COV(S, Ũ) ∝ SᵀÛ; VAR(Û) “of X”",
        "SB; X − SB_λ; SᵀŨ; of Û",
        _small,
    ),
)
