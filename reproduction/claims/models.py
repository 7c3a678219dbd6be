"""Statements about NCLM and FRRM (section 3)."""

from __future__ import annotations

import numpy as np

from reproduction.claims.base import (
    ALPHA,
    BETA,
    Verdict,
    checked,
    claim,
    corrected,
    either,
    grade,
    number,
    percent,
    profile,
    spread,
    tiny,
)
from reproduction.results import Results, SkippedError, pick


def _optimum(results: Results) -> tuple[float, float]:
    """How far NCLM's closed form is from stationarity, and from its bound."""
    checks = ("nclm gradient", "nclm bound")
    gradient, bound = (float(checked(results, check)["value"].max()) for check in checks)
    return gradient, bound


@claim("§1", "models")
def nclm_not_in_closed_form(results: Results) -> Verdict:
    """NCLM's coefficient estimates are not in closed form."""
    gradient, bound = _optimum(results)
    return Verdict(
        either(max(gradient, bound) > 1e-6),
        "A closed form exists; we derive it: α_OLS/(1 + μ(1 − r)) and β_OLS/(1 − μr), μ explicit, "
        f"meet the optimality conditions to {tiny(max(gradient, bound))} for 3, 30 and 100 "
        "predictors.",
    )


@claim("§3, point 1", "models")
def dimension_of_problem_7(results: Results) -> Verdict:
    """The dimension of problem (7) scales linearly in the number of variables."""
    return Verdict(
        "holds",
        "(7) has one unknown per coefficient, and γ. (The closed form of its solution has one "
        "unknown, μ.)",
        argument=True,
    )


@claim("§3, point 2", "models")
def problem_7_for_other_models(results: Results) -> Verdict:
    """(7) cannot be translated to other regression models."""
    return Verdict(
        "not checkable",
        "(7) needs an error that is quadratic in (α, β). We know of no translation.",
        argument=True,
    )


@claim("§3, point 3", "models")
def problem_7_at_zero(results: Results) -> Verdict:
    """(7) is undefined at r = 0 and can be numerically unstable as r → 0."""
    bound = float(pick(checked(results, "nclm bound"), r=1e-8)["value"].max())
    share = float(pick(results["fairml"], case="vu.test", model="NCLM", r=0.01)["share"].iloc[0])
    return Verdict(
        "holds" if abs(share / 0.01 - 1.0) > 0.1 else "holds in part",
        f"(7) contains VAR(S)/r. fairml's solver reaches R²_S = {number(share, 4)} at r = .01. "
        f"(The closed form of its solution meets r = 10⁻⁸ to {tiny(bound)}, and r = 0 is its "
        "limit.)",
    )


@claim("§3, point 4", "models")
def nclm_shrinks_or_inflates(results: Results) -> Verdict:
    """Changing r shrinks or inflates β_NCLM."""
    ratios = np.array([_relative_to_ols(results, term) for term in BETA])
    steps = np.diff(ratios, axis=-1)
    rises, falls = bool((steps > 1e-9).any()), bool((steps < -1e-9).any())
    return Verdict(
        grade(int(rises) + int(falls), 2),
        f"As r grows, β/β_OLS rises to {number(ratios.max(), 2)} and falls back to 1. All β are "
        f"multiplied by the same 1/(1 − μr), never less than {number(ratios.min(), 2)}.",
    )


def _relative_to_ols(results: Results, term: str, case: str = "example") -> np.ndarray:
    values = profile(results["profiles"], "NCLM", term, case)
    return values / values[:, -1:]


@claim("§3, Fig. 2", "models")
def nclm_inactive_from_85_percent(results: Results) -> Verdict:
    """α_NCLM → 0 as r → 0; all coefficients stop changing once r ≥ .85."""
    table = results["profiles"]
    first = max(float(np.abs(profile(table, "NCLM", term)[:, 0]).max()) for term in ALPHA)
    free = profile(table, "NCLM", "achieved")[:, -1]
    text, value = "", float(np.median(free))
    try:
        value = float(profile(table, "NCLM", "achieved", "vu.test")[0, -1])
        text = f"They stop at R²_S(OLS) = {number(value, 3)} on vu.test; "
    except SkippedError:
        pass
    good = int(first == 0.0) + int(abs(value - 0.85) < 0.05)
    return Verdict(
        grade(good, 2), f"{text}{spread(free, 3)} in our samples. α is {first:.0f} at r = 0."
    )


@claim("§3, Fig. 2", "models")
def nclm_beta_not_monotone(results: Results) -> Verdict:
    """β_NCLM first rise above β_OLS, plateau around r ≈ .3, and then decrease."""
    table = results["profiles"]
    ratio = _relative_to_ols(results, "X1")
    grid = np.array(pick(table, case="example", model="NCLM", term="X1", run=0)["r"])
    peak, height = grid[ratio.argmax(axis=1)], ratio.max(axis=1)
    falls = (np.diff(ratio, axis=1) < -1e-12).any(axis=1)
    good = int((height > 1.001).all() and falls.all()) + int(abs(np.median(peak) - 0.3) <= 0.1)
    return Verdict(
        grade(good, 2), f"β is largest at r = {spread(peak)}: {spread(height)} times β_OLS."
    )


@claim("§3.1, eq. (11), Fig. 3", "models")
def frrm_beta_constant(results: Results) -> Verdict:
    """β_FRRM is β_OLS for every r."""
    table = results["profiles"]
    values = [profile(table, "FRRM", term) for term in BETA]
    off = max(float(np.abs(one - one[:, -1:]).max()) for one in values)
    return Verdict(either(off < 1e-12), f"Largest change of β over r: {tiny(off)}.")


@claim("§3.1, eq. (12)", "models")
def frrm_has_one_root(results: Results) -> Verdict:
    """αᵀVAR(S)α falls monotonically in λ, so λ(r) is the only root."""
    increases = checked(results, "root", "increases")["value"]
    crossings = checked(results, "root", "crossings")["value"]
    good = not increases.any() and bool((crossings == 1).all())
    return Verdict(
        either(good),
        f"One crossing for {int((crossings == 1).sum())} of {len(crossings)} bounds in "
        f"{len(increases)} random problems.",
    )


@claim("§3.1", "models")
def norm_and_penalty(results: Results) -> Verdict:
    """There is a one-to-one relationship between t(r) and λ(r)."""
    increases = checked(results, "root", "norm increases")["value"]
    return Verdict(
        either(not increases.any()),
        f"‖α‖² falls in λ throughout, in {len(increases)} random problems.",
    )


@claim("§3.1", "models")
def frrm_at_zero(results: Results) -> Verdict:
    """r = 0 is valid in FRRM, with α = 0."""
    largest = float(checked(results, "root", "alpha at zero")["value"].max())
    return Verdict(either(largest == 0.0), f"Largest |α| at r = 0: {tiny(largest)}.")


@claim("§3.1", "models")
def equations_bracket_lambda(results: Results) -> Verdict:
    """Two quadratic equations with one positive solution each bracket λ(r)."""
    names = ("printed", "exchanged", "corrected")
    inside = {name: checked(results, "bracket", name)["value"] for name in names}
    one = {
        name: pick(results["formulas"], check="solutions", quantity=name)["value"] == 1
        for name in names[:2]
    }
    right = bool(inside["corrected"].all())
    return Verdict(
        corrected(bool(inside["printed"].all()), right),
        f"λ(r) is in the bracket as printed in {percent(inside['printed'].mean(), 0)} of "
        f"{len(inside['printed'])} cases, as corrected (E2) in "
        f"{percent(inside['corrected'].mean(), 0)}. One positive solution as printed in "
        f"{percent(one['printed'].mean(), 1)}, with c and d exchanged in "
        f"{percent(one['exchanged'].mean(), 0)}.",
    )


@claim("§3.1, §6", "models")
def root_in_a_finite_interval(results: Results) -> Verdict:
    """FRRM only needs root finding in one variable in a finite interval."""
    inside = checked(results, "bracket", "corrected")["value"]
    return Verdict(
        either(bool(inside.all())),
        "The bracket of E2 is finite. Newton's method on the secular equation needs none.",
    )


@claim("§3.2, eq. (13), (14)", "models")
def closed_form_for_independent_s(results: Results) -> Verdict:
    """For independent S, λ(r) and α are (13) and (14), and COR(ŷ, S) ∝ √(r/(1 − r))."""

    def worst(quantity: str) -> float:
        return float(checked(results, "independent", quantity)["value"].max())

    def varies(quantity: str) -> float:
        samples = checked(results, "independent", quantity).groupby("run", sort=False)["value"]
        return max(float(np.ptp(values) / np.mean(values)) for _, values in samples)

    printed = [worst("λ printed"), worst("α printed"), varies("COR/√(r/(1−r))")]
    right = [worst("λ corrected"), worst("α corrected"), varies("COR/√r")]
    return Verdict(
        corrected(max(printed) < 1e-6, max(right) < 1e-6),
        f"With ‖Sᵀy‖ for its square, and √r (E3), to {tiny(max(right))}. As printed COR/√(r/(1 − "
        f"r)) varies by up to {percent(printed[2], 0)}.",
    )


@claim("§3.2", "models")
def quartic_for_two_attributes(results: Results) -> Verdict:
    """For two correlated attributes λ(r) is a root of a 4th-degree polynomial."""
    off = checked(results, "quartic")["value"]
    return Verdict(
        either(bool(off.max() < 1e-6)), f"Its largest root is λ(r) to {tiny(off.max())}."
    )
