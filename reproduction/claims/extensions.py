"""Claims about extensions of the model (section 4), and about what it takes to solve it."""

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
    grade_samples,
    percent,
    profile,
    spread,
    statements,
    tiny,
)
from reproduction.results import Results, pick


@claim("4.2", "frrm-ridge")
def claim_11_ridge_on_beta(results: Results) -> Verdict:
    """λ₂ = 10: β is smaller and still constant in r, λ(r) is larger and α smaller than without."""
    table = results["profiles"]
    good, parts = 0, []
    for model in ("FRRM, λ₂ = 10", "FRRM, λ₂ = 10 in fairml's units"):
        shrunk = [profile(table, model, t)[:, 0] / profile(table, "FRRM", t)[:, 0] for t in BETA]
        constant = all(np.ptp(profile(table, model, t), axis=1).max() < 1e-12 for t in BETA)
        plain, ridged = profile(table, "FRRM", "λ"), profile(table, model, "λ")
        active = np.isfinite(plain) & (plain > 0)
        larger = bool((ridged[active] > plain[active]).all())
        sizes = [
            np.sqrt(sum(profile(table, name, t) ** 2 for t in ALPHA)) for name in (model, "FRRM")
        ]
        smaller = bool((sizes[0][active] < sizes[1][active]).all())
        norm = float(np.mean(shrunk))
        good += sum([constant, norm < 1.0, larger, smaller])
        parts.append(f"{model.removeprefix('FRRM, ')}: β shrinks to {percent(norm)}")
    return Verdict(
        grade(good, 8),
        f"{'; '.join(parts)}. In all samples, {statements(good, 8)}",
        "With 1000 rows λ₂ = 10 in the printed objective is hardly visible; fairml measures λ in "
        "units of n/sd(y).",
    )


@claim("4.3", "definitions")
def claim_12_definitions_increase(results: Results) -> Verdict:
    """R²_S, R²_EO and D_IF all increase monotonically in r."""
    table = results["definitions"]
    found = {}
    for name in table["definition"].unique():
        curves = pick(table, definition=name).groupby("run", sort=False)["value"]
        found[name] = [bool((np.diff(curve) > -1e-10).all()) for _, curve in curves]
    sequential = found.pop("equality of opportunity")
    good, total = sum(map(sum, found.values())), sum(map(len, found.values()))
    listed = "; ".join(f"{name} {sum(one)} of {len(one)}" for name, one in found.items())
    return Verdict(
        grade(good, total),
        f"Monotone curves: {listed}. That is {good} of {total}. With R²_EO from sequential sums of "
        f"squares instead, {sum(sequential)} of {len(sequential)}.",
        "The printed R²_EO takes the coefficients of ŷ on S and y jointly. These do not vanish "
        "with α, because y depends on S.",
    )


@claim("4.3")
def claim_13_individual_fairness_largest_at_zero(results: Results) -> Verdict:
    """f(α, y, S) takes its largest value at λ = 0."""
    largest = checked(results, "individual")["value"]
    beyond = int((largest > 1 + 1e-9).sum())
    return Verdict(
        grade(len(largest) - beyond, len(largest)),
        f"In {beyond} of {len(largest)} small random problems f is larger at some λ > 0, "
        f"by up to {percent(max(0.0, float(largest.max() - 1)))}.",
        "A ridge shrinks α, but not every quadratic form in α.",
    )


@claim("4.3", "definitions")
def claim_14_opportunity_vanishes(results: Results) -> Verdict:
    """Equality of opportunity holds exactly as λ → ∞: R²_EO → 0."""
    table = pick(results["definitions"], r=0.0)
    printed = pick(table, definition="equality of opportunity, as printed")["value"]
    sequential = pick(table, definition="equality of opportunity")["value"]
    return Verdict(
        either(printed.max() < 1e-10),
        f"At λ = ∞ R²_EO as printed is {spread(printed)}; from sequential sums of squares it is "
        f"{sequential.max():.1g}.",
        "At α = 0 the predictions are uncorrelated with S, which is statistical parity. Given y "
        "they are not: y itself depends on S.",
    )


@claim("4.3")
def claim_50_conditional_covariance_decreases(results: Results) -> Verdict:
    """|COV(ŷ, S | y)| decreases as λ increases."""
    table = pick(results["formulas"], check="conditional")
    names = ("rises", "smallest", "last")
    rises, smallest, last = (pick(table, quantity=name)["value"] for name in names)
    good = int((rises == 0).sum())
    return Verdict(
        grade(good, len(rises)),
        f"It never rises in {good} of {len(rises)} curves of the example. Relative to λ = 0 it "
        f"falls to {spread(smallest)} and ends at {spread(last)}.",
        "At λ = ∞ ŷ is uncorrelated with S, but not given y: there COV(ŷ, S | y) is "
        "−COV(y, S)·VAR(Uβ)/VAR(y). From COV(y, S)(1 − R²) at λ = 0 it changes its sign on the "
        "way.",
    )


@claim("4.3")
def claim_36_combined_definitions(results: Results) -> Verdict:
    """The maximum or a convex combination of R²_S and R²_EO can be bounded instead."""
    table = checked(results, "bounds")
    off = table[table["quantity"].isin(["maximum", "mean"])]["value"]
    return Verdict(
        grade(int((off < 1e-8).sum()), len(off)),
        f"Largest distance from the bound: {off.max():.1e} in {len(off)} cases.",
        "One more scalar root.",
    )


@claim("4.2")
def claim_37_other_penalties(results: Results) -> Verdict:
    """Other penalties, such as the LASSO or the elastic net, can control R²_S too."""
    table = checked(results, "bounds")
    off = table[table["quantity"].isin(["lasso", "elastic net"])]["value"]
    return Verdict(
        grade(int((off < 1e-8).sum()), len(off)),
        f"Largest distance from the bound: {off.max():.1e} in {len(off)} cases.",
    )


@claim("4.1")
def claim_38_kernel_features(results: Results) -> Verdict:
    """Kernels: fit the model in feature spaces Z(S) and Z(U) of decorrelated U."""
    printed = checked(results, "features", "mapped after")["value"]
    after = checked(results, "features", "decorrelated after")["value"]
    good = 1 + int(printed.max() < 1e-10)  # columns of any kind can be fitted
    return Verdict(
        grade(good, 2),
        f"S explains up to {percent(float(printed.max()))} of a kernel feature of U, and "
        f"{tiny(after.max())} of one that is decorrelated after the map. The model can be fitted, "
        f"and its predictors are free of S: {statements(good, 2)}",
        "The map undoes the orthogonality that the bound relies on. Decorrelate in feature space.",
    )


@claim("4.4")
def claim_15_deviance_bound_is_variance_bound(results: Results) -> Verdict:
    """For a gaussian model the bound on the deviance is the bound on R²_S."""
    table = checked(results, "deviance")
    off = np.abs(table["value"] - table["r"])
    by_r = {r: float(group["value"].mean()) for r, group in table.groupby("r", sort=False)}
    listed = ", ".join(f"{value:.3f} at R²_S = {r:g}" for r, value in by_r.items())
    return Verdict(
        grade(int((off < 1e-8).sum()), len(off)),
        f"Share of deviance of the FRRM: {listed}.",
        "What a shrunken Sα explains of the deviance is not its variance: they agree at λ = 0 "
        "only.",
    )


@claim("4.4", "fgrrm")
def claim_16_fgrrm_coefficients_grow(results: Results) -> Verdict:
    """Logistic example: α grows from zero to its unconstrained value, and β increases monotonically
    in r."""
    table = results["logistic-profiles"]
    alphas = np.array([profile(table, "FGRRM", term) for term in ALPHA])
    betas = np.array([profile(table, "FGRRM", term) for term in BETA])
    steps = np.diff(betas, axis=2)
    fall = float(-(steps / betas[:, :, -1:]).min())
    good = int((alphas[:, :, 0] == 0).all()) + int((np.diff(alphas, axis=2) > -1e-8).all())
    good += int(fall < 1e-8) + int((betas[:, :, -1] > betas[:, :, 0]).all())
    monotone = int((steps > -1e-8).all(axis=2).sum())
    grows = float(np.median(betas[:, :, -1] / betas[:, :, 0]))
    return Verdict(
        grade(good, 4),
        f"{statements(good, 4)} α grows in all samples: "
        f"{bool((np.diff(alphas, axis=2) > -1e-8).all())}. "
        f"{monotone} of {steps.shape[0] * steps.shape[1]} β are monotone; the largest fall "
        f"between two r is {percent(max(fall, 0.0), 3)} of the coefficient. From r = 0 to 1 they "
        f"grow by a factor of {grows:.2f}.",
        "The rescaling of all coefficients dominates, but at small r single β can fall a little.",
    )


@claim("4.4")
def claim_17_quasi_binomial_beta_constant(results: Results) -> Verdict:
    """A quasi-binomial model makes β constant in r."""
    table = results["logistic-profiles"]
    quasi = np.array([profile(table, "FGRRM, quasi-binomial", term) for term in BETA])
    few = pick(table, model="FGRRM, quasi-binomial")["r"]
    shared = table[table["r"].isin(few)]
    plain = np.array([profile(shared, "FGRRM", term) for term in BETA])
    growth = float(np.median(quasi[:, :, -1] / quasi[:, :, 0]))
    same = float(np.abs(quasi / plain - 1).max())
    return Verdict(
        either(abs(growth - 1) < 1e-6),
        f"β grows by a factor of {growth:.2f} from r = 0 to 1, and agrees with the binomial "
        f"model's to {tiny(same)}.",
        "The scale factor does not enter the estimating equations; only standard errors differ.",
    )


@claim("4.4", "fgrrm")
def claim_18_zlrm_beta_not_monotone(results: Results) -> Verdict:
    """ZLRM: β changes non-monotonically in r."""
    table = results["logistic-profiles"]
    betas = np.array([profile(table, "ZLRM", term) for term in BETA])
    size = np.abs(betas).max(axis=2, keepdims=True)
    steps = np.diff(betas, axis=2) / size
    turns = (steps > 1e-6).any(axis=2) & (steps < -1e-6).any(axis=2)
    return Verdict(
        grade_samples(int(turns.any(axis=0).sum()), turns.shape[1]),
        f"At least one β turns in {int(turns.any(axis=0).sum())} of {turns.shape[1]} samples "
        f"({int(turns.sum())} of {turns.size} coefficients).",
        "Bounds on single covariances become active one after the other.",
    )


@claim("3.1, 6")
def claim_31_root_in_a_finite_interval(results: Results) -> Verdict:
    """FRRM needs only a root in one variable, bounded in a finite interval."""
    inside = checked(results, "bracket", "corrected")["value"]
    return Verdict(
        grade(int(inside.sum()), len(inside)),
        f"λ(r) is in the corrected interval in {int(inside.sum())} of {len(inside)} cases.",
        "True, with the corrected interval. Newton's method on the secular equation needs none.",
    )


@claim("3")
def claim_32_dimension_of_problem_gamma(results: Results) -> Verdict:
    """The dimension of problem (γ), by which NCLM is solved numerically, grows linearly in the
    number of variables."""
    gradient = checked(results, "nclm gradient")["value"].max()
    bound = checked(results, "nclm bound")["value"].max()
    return Verdict(
        "holds",
        f"(γ) has the unknowns α, β and γ: one for every variable, and one more. A closed form in "
        f"one number solves the same problem for 3, 30 and 100 predictors: gradient condition "
        f"within {tiny(gradient)}, bound within {tiny(bound)}.",
        "True of that formulation, and not of NCLM: with one quadratic constraint the S-lemma "
        "gives the optimum from least squares and one number.",
    )


@claim("3")
def claim_51_problem_gamma_for_other_models(results: Results) -> Verdict:
    """Problem (γ) cannot be translated to regression models other than a linear one."""
    return Verdict(
        "cannot be checked",
        "",
        "No experiment shows that something cannot be done. (γ) needs a squared error: the "
        "deviance of other models is not quadratic in (α, β). This library has NCLM for linear "
        "models only, too.",
    )


@claim("3")
def claim_35_problem_gamma_at_zero(results: Results) -> Verdict:
    """Problem (γ) is undefined at r = 0, and can make NCLM numerically unstable as r → 0."""
    bound = pick(checked(results, "nclm bound"), r=1e-8)["value"].max()
    first = max(float(np.abs(profile(results["profiles"], "NCLM", t)[:, 0]).max()) for t in ALPHA)
    gap = max(
        float(np.abs(p[:, 0] - p[:, -1]).max())
        for p in (profile(results["profiles"], "NCLM", t) for t in BETA)
    )
    stable = bound < 1e-10 and first == 0.0 and gap < 1e-10
    good = 2 - int(stable)  # (γ) contains VAR(S)/r
    return Verdict(
        grade(good, 2),
        f"(γ) contains VAR(S)/r. Of NCLM in closed form, at r = 1e-8 the bound is met to "
        f"{tiny(bound)}; at r = 0 α = {first:.1g}, and β is that of least squares to {tiny(gap)}. "
        + statements(good, 2),
        "True of the formulation, which divides by r; not of NCLM, whose closed form has that "
        "limit.",
    )
