"""Claims about the examples and the formulas (sections 2 to 4)."""

from __future__ import annotations

import numpy as np

from reproduction.claims.base import (
    ALPHA,
    BETA,
    Verdict,
    checked,
    claim,
    either,
    grade,
    percent,
    profile,
    spread,
    statements,
)
from reproduction.results import Results, pick
from reproduction.settings import Floats


@claim("2.2", "bias")
def claim_01_ridge_leaves_a_covariance(results: Results) -> Verdict:
    """With a ridge in the auxiliary model COV(S, Ũ) is not zero; it vanishes as λ → 0 and reaches
    COV(S, X) as λ → ∞."""
    table = pick(results["bias"], case="example", run=0, r=0.01)
    ratio, penalty = table["covariance"].to_numpy(), table["penalty"].to_numpy()
    rises = bool((np.diff(ratio) > 0).all())
    good = int(rises) + int(ratio[0] < 1e-3) + int(ratio[-1] > 1 - 1e-3)
    return Verdict(
        grade(good, 3),
        f"‖COV(S, Ũ)‖/‖COV(S, X)‖ rises from {ratio[0]:.1e} at λ = {penalty[0]:.0e} "
        f"to {ratio[-1]:.6f} at λ = {penalty[-1]:.0e}. {statements(good, 3)}",
        "It is A diag(λ/(l+λ)) AᵀSᵀX: every direction grows with λ.",
    )


def _relative(results: Results, case: str, r: float, sign: str) -> Floats:
    """Range of the relative difference over the optimal λ: (smallest, largest) per sample."""
    rows = pick(results["bias"], case=case, r=r, optimal=1)
    ends = []
    for _, sample in rows.groupby("run", sort=False):
        off = np.abs(sample[sign] - 1.0)
        ends.append((off.min(), off.max()))
    return np.array(ends)


@claim("2.2", "bias")
def claim_02_size_of_the_bias(results: Results) -> Verdict:
    """Example 1: the two R²_S differ, and the more the larger r is: over the one-standard-error
    range of λ by 3 % to 5 % for r = .01 and .02, and by up to 16 % for r = .10."""
    parts, inside, largest = [], 0, []
    for r, low, high in ((0.01, 0.03, 0.05), (0.02, 0.03, 0.05), (0.1, 0.0, 0.16)):
        found = np.median(_relative(results, "example", r, "printed"), axis=0)
        inside += int(found[0] >= low - 0.005 and found[1] <= high + 0.005)
        largest.append(float(found[1]))
        right = np.median(_relative(results, "example", r, "correct"), axis=0)
        parts.append(
            f"r = {r:g}: {percent(found[0])} to {percent(found[1])} "
            f"({percent(right[0])} to {percent(right[1])} with the right sign)"
        )
    biased = int(largest[0] > 0.01) + int(sorted(largest) == largest)
    return Verdict(
        grade(biased + inside, 5),
        f"Medians over samples. {'; '.join(parts)}. A bias of more than 1 %, that it grows with r, "
        f"and three ranges to within .5 %: {statements(biased + inside, 5)}",
        "The bias is there, grows with r and is of that order. Its size follows the penalty, "
        "and the paper gives neither the number of rows nor the scale of λ. The formula has the "
        "wrong sign: VAR(Sα + Ũβ) contains +2COV, so R²_S is overstated where the figure shows "
        "it understated.",
    )


@claim("2.2", "bias")
def claim_33_collinearity_adds_bias(results: Results) -> Verdict:
    """Higher degrees of collinearity result in even stronger bias."""
    cases = ("example", "correlations of 0.6")
    weak, strong = (np.median(_relative(results, case, 0.1, "correct"), axis=0) for case in cases)
    same = [_at_penalty(results, case, 0.1, 100.0) for case in cases]
    good = int(strong[1] > weak[1]) + int(same[1] > same[0])
    return Verdict(
        grade(good, 2),
        f"Correlations of .6 instead of .3, at r = .10. At λ = 100: {percent(same[1])} against "
        f"{percent(same[0])}. With the λ that cross-validation chooses for each: "
        f"{percent(strong[0])} to {percent(strong[1])} against "
        f"{percent(weak[0])} to {percent(weak[1])}. {statements(good, 2)}",
        "Two effects work against each other: S explains more of X, but cross-validation then "
        "chooses a smaller penalty.",
    )


def _at_penalty(results: Results, case: str, r: float, penalty: float) -> float:
    """Relative difference at the λ of the grid that is nearest, median over samples."""
    rows = pick(results["bias"], case=case, r=r)
    grid = np.unique(rows["penalty"])
    nearest = float(grid[np.abs(np.log(grid / penalty)).argmin()])
    return float(np.median(np.abs(pick(rows, penalty=nearest)["correct"] - 1.0)))


@claim("3", "nclm")
def claim_03_nclm_inactive_from_85_percent(results: Results) -> Verdict:
    """NCLM: α → 0 as r → 0. The constraint is inactive and the coefficients constant for r ≥ .85 in
    the example."""
    table = results["profiles"]
    first = max(float(np.abs(profile(table, "NCLM", term)[:, 0]).max()) for term in ALPHA)
    free = profile(table, "NCLM", "achieved")[:, -1]
    good = int(first == 0.0) + int(abs(np.median(free) - 0.85) < 0.05)
    return Verdict(
        grade(good, 2),
        f"α at r = 0: {first:.1g}. R²_S of least squares, from which on nothing changes: "
        f"{spread(free, 3)}. {statements(good, 2)}",
        "The threshold is R²_S(OLS), which varies between samples.",
    )


@claim("3", "nclm")
def claim_04_nclm_beta_not_monotone(results: Results) -> Verdict:
    """NCLM: β is not monotone in r. It rises above its least-squares value, has a plateau near r ≈
    .3, and then falls."""
    table = results["profiles"]
    ratio = profile(table, "NCLM", "X1") / profile(table, "NCLM", "X1")[:, -1:]
    grid = np.array(pick(table, model="NCLM", term="X1", run=0)["r"])
    peak, height = grid[ratio.argmax(axis=1)], ratio.max(axis=1)
    falls = (np.diff(ratio, axis=1) < -1e-12).any(axis=1)
    good = int((height > 1.001).all() and falls.all()) + int(abs(np.median(peak) - 0.3) <= 0.1)
    return Verdict(
        grade(good, 2),
        f"β/β_OLS is largest at r = {spread(peak)}, where it is {spread(height, 3)}. "
        + statements(good, 2),
        "All β are multiplied by the same 1/(1 − μr), which the closed form gives.",
    )


@claim("3.1", "frrm")
def claim_05_frrm_beta_constant(results: Results) -> Verdict:
    """FRRM: β equals its least-squares estimate for every r."""
    table = results["profiles"]
    off = max(
        float(np.abs(values - values[:, -1:]).max())
        for values in (profile(table, "FRRM", term) for term in BETA)
    )
    return Verdict(
        either(off < 1e-12), f"Largest change of β over r: {off:.1g}.", "S and U are orthogonal."
    )


@claim("3.1")
def claim_06_frrm_has_one_root(results: Results) -> Verdict:
    """FRRM: αᵀVAR(S)α falls monotonically in λ, so λ(r) is the only root."""
    increases = checked(results, "root", "increases")["value"]
    crossings = checked(results, "root", "crossings")["value"]
    good = int(not increases.any()) + int((crossings == 1).all())
    return Verdict(
        grade(good, 2),
        f"{len(increases)} random problems: VAR(Sα) grew nowhere on a grid of 400 λ in "
        f"{int((increases == 0).sum())}; {int((crossings == 1).sum())} of {len(crossings)} bounds "
        f"were crossed once. {statements(good, 2)}",
        "VAR(Sα) = Σ l z²/(l+λ)²/n, each term of which falls in λ.",
    )


@claim("3.1")
def claim_07_equations_bracket_lambda(results: Results) -> Verdict:
    """The two eigenvalue equations bracket λ(r)."""
    shares = {
        name: float(checked(results, "bracket", name)["value"].mean())
        for name in ("printed", "exchanged", "corrected")
    }
    total = len(checked(results, "bracket", "printed"))
    kind = grade(round(shares["printed"] * total), total)
    return Verdict(
        kind,
        f"λ(r) lies in the bracket as printed in {percent(shares['printed'])} of {total} cases, "
        f"with c and d exchanged in {percent(shares['exchanged'])}, as corrected in "
        f"{percent(shares['corrected'])}.",
        "Σ z²(l+2λ)/(l+λ)² is the deviance explained, not VAR(Sα); and c and d are exchanged in "
        "the equations. The bracket l(√(Σw/(nc)) − 1), between the smallest and largest l and "
        "with w = z²/l, always holds.",
    )


@claim("3.1")
def claim_34_one_positive_solution_each(results: Results) -> Verdict:
    """The two eigenvalue equations are quadratic with one positive solution each."""
    counts = {
        name: pick(results["formulas"], check="solutions", quantity=name)["value"]
        for name in ("printed", "exchanged")
    }
    good = {name: int((values == 1).sum()) for name, values in counts.items()}
    total = len(counts["printed"])
    return Verdict(
        grade(good["printed"], total),
        f"One positive solution in {good['printed']} of {total} equations of random problems as "
        f"printed, and in {good['exchanged']} with c and d exchanged.",
        "The product of the two roots is l(ld − c)/d: one is positive if c > ld. Else none is, "
        "because the discriminant is 4c(c − ld).",
    )


@claim("3.1", "frrm")
def claim_08_frrm_at_zero(results: Results) -> Verdict:
    """r = 0 is admissible in FRRM and gives α = 0 exactly."""
    largest = checked(results, "root", "alpha at zero")["value"].max()
    return Verdict(either(largest == 0.0), f"Largest |α| at r = 0: {largest:.1g}.", "λ = ∞ there.")


@claim("3.2")
def claim_09_closed_form_for_independent_s(results: Results) -> Verdict:
    """Independent S: λ(r) and α in closed form; COR(ŷ, S) is proportional to √(r/(1−r))."""

    def worst(quantity: str) -> float:
        return float(checked(results, "independent", quantity)["value"].max())

    def varies(quantity: str) -> float:
        samples = checked(results, "independent", quantity).groupby("run", sort=False)["value"]
        return max(float(np.ptp(values) / np.mean(values)) for _, values in samples)

    printed = [worst("λ printed"), worst("α printed"), varies("COR/√(r/(1−r))")]
    corrected = [worst("λ corrected"), worst("α corrected"), varies("COR/√r")]
    good = sum(off < 1e-6 for off in printed)
    return Verdict(
        grade(good, 3),
        f"Relative error of λ(r) up to {printed[0]:.2g} as printed, {corrected[0]:.1e} as "
        f"corrected; of α {printed[1]:.2g} and {corrected[1]:.1e}. COR/√(r/(1−r)) varies over r "
        f"by up to {percent(printed[2])}, COR/√r by {corrected[2]:.1e}. As printed, "
        + statements(good, 3),
        "Both formulas need ‖Sᵀy‖, not its square; and VAR(ŷ) grows with r, too, which leaves √r.",
    )


@claim("3.2")
def claim_10_quartic_for_two_attributes(results: Results) -> Verdict:
    """Two correlated S: λ(r) is a root of a 4th-degree polynomial."""
    off = checked(results, "quartic")["value"]
    kind = grade(int((off < 1e-6).sum()), len(off))
    return Verdict(
        kind,
        f"Its largest root agrees with λ(r) to {off.max():.1e} in {len(off)} cases.",
        "As printed.",
    )
