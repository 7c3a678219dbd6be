"""Statements about extensions of the model (section 4)."""

from __future__ import annotations

import numpy as np
import pandas as pd

from reproduction.claims.base import (
    ALPHA,
    BETA,
    Verdict,
    ahead,
    between,
    bound,
    checked,
    claim,
    corrected,
    either,
    grade,
    grade_samples,
    number,
    percent,
    positive,
    profile,
    spread,
    tally,
    tiny,
)
from reproduction.families import MEASURES, PARITY
from reproduction.profiles import FAIRML, PRINTED
from reproduction.results import Results, SkippedError, pick
from reproduction.statistics import cells

TINY_FALL = 0.001
FIVE_PERCENT = 0.05


@claim("§4.1", "extensions")
def kernel_features(results: Results) -> Verdict:
    """With kernels, FRRM is fitted in the feature spaces Z(S) and Z(Û)."""
    printed = float(checked(results, "features", "mapped after")["value"].max())
    after = float(checked(results, "features", "decorrelated after")["value"].max())
    return Verdict(
        corrected(printed < 1e-10, after < 1e-10),
        f"S explains up to {percent(printed, 0)} of a kernel feature of Û, and nothing of one "
        "that is decorrelated after the map.",
    )


@claim("§4.1", "extensions")
def kernels_meet_the_bound(results: Results) -> Verdict:
    """FRRM can be fitted with kernels and a ridge penalty."""
    table = results.of("beyond", "kernels")
    excess, error = (pick(table, quantity=name)["value"] for name in ("excess", "error"))
    return Verdict(
        either(float(excess.max()) < 1e-8),
        f"The bound is met to {tiny(float(excess.max()))}. On Example 1, which is linear, the RMSE "
        f"for new rows is {percent(float(error.median()))} above that of FRRM.",
    )


@claim("§4.1", "extensions")
def gaussian_process(results: Results) -> Verdict:
    """The approach suggests Gaussian process regressions, which are closely related."""
    table = results.of("beyond", "Gaussian process")
    off = float(table["value"].max())
    return Verdict(
        either(off < 1e-8),
        "FRRM with λ₂ = 10 has means and standard deviations of a Gaussian process with a linear "
        f"kernel, to {tiny(off)} in {table['run'].nunique()} samples.",
    )


@claim("§4.2, Ex. 1, Fig. 4", "extensions")
def ridge_on_beta(results: Results) -> Verdict:
    """With λ₂ = 10 β is smaller and still constant in r, λ(r) larger, α smaller."""
    good, parts = 0, []
    table = results["profiles"]
    for option in (PRINTED, FAIRML):
        model = f"FRRM, {option}"
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
        good += int(norm < 1.0) + int(constant) + int(larger) + int(smaller)
        parts.append(percent(norm, 0))
    return Verdict(
        grade(good, 8),
        f"β shrinks to {parts[0]} in the units of (15), too small to see, and to {parts[1]} "
        "in those of fairml's option.",
    )


@claim("§4.2, eq. (15)", "extensions")
def no_unaddressed_collinearity(results: Results) -> Verdict:
    """λ₂ ensures that no collinearity is left, since S and Û are orthogonal."""
    free = float(checked(results, "collinear", "S, λ₁ = 0")["value"].min())
    of_U = float(checked(results, "collinear", "U, λ₂ = 10")["value"].max())
    return Verdict(
        "holds" if free < 1e8 else "holds in part" if of_U < 1e8 else "does not hold",
        f"With a column twice, the block of Û has a condition number below {of_U:.0f}; that of S "
        f"is {tiny(free)} where the bound is inactive, because λ₁ = 0.",
    )


@claim("§4.2", "extensions")
def other_penalties(results: Results) -> Verdict:
    """The LASSO and the elastic net can control R²_S, too."""
    table = checked(results, "bounds")
    off = table[table["quantity"].isin(["lasso", "elastic net"])]["value"]
    return Verdict(
        grade(int((off < 1e-8).sum()), len(off)),
        f"The bound is met to {tiny(off.max())} in {len(off)} cases.",
    )


@claim("§4.2", "extensions")
def lasso_selects(results: Results) -> Verdict:
    """A LASSO penalty performs feature selection on the sensitive attributes."""
    table = pick(results["families"], penalty="lasso", definition=PARITY, active=1.0)
    table = positive(table)
    some = table["dropped"].between(1, table["attributes"] - 1)
    least = table[table["r"] == table["r"].min()]
    listed = ", ".join(
        f"{row.case} {row.attributes - row.dropped} of {row.attributes}"
        for row in least.itertuples()
    )
    return Verdict(
        grade(int(some.groupby(table["case"]).any().sum()), table["case"].nunique()),
        f"Columns of S that are left at r = {bound(float(table['r'].min()))}: {listed}.",
    )


@claim("§4.2", "extensions")
def elastic_net_predicts_better(results: Results) -> Verdict:
    """The elastic net will often provide better predictive accuracy."""
    table = positive(results["today"])
    found = {
        name: cells(table, "elastic net", model, "rmse")
        for name, model in (("LASSO", "lasso"), ("ridge", "FRRM"))
    }
    if any(one.empty for one in found.values()):
        raise SkippedError("no elastic net beside the LASSO and the ridge")
    kinds = {name: ahead(one, "lower") for name, one in found.items()}
    good = sum(kind == "holds" for kind in kinds.values())
    some = any(kind != "does not hold" for kind in kinds.values())
    listed = "; ".join(
        f"against the {name}: {tally(one)} cells, {between(one['mean'], 2)}"
        for name, one in found.items()
    )
    return Verdict(
        "holds" if good == 2 else "holds in part" if some else "does not hold",
        f"RMSE on the five data sets, {listed}.",
    )


@claim("§4.3, Ex. 1, Fig. 5", "extensions")
def definitions_increase_together(results: Results) -> Verdict:
    """R²_S, R²_EO and D_IF all increase monotonically in r."""
    table = pick(results["definitions"], case="example")
    found = {}
    for name in table["definition"].unique():
        curves = pick(table, definition=name).groupby("run", sort=False)["value"]
        found[name] = [bool((np.diff(curve) > -1e-10).all()) for _, curve in curves]
    printed = found.pop("equality of opportunity, as printed")
    right = all(map(all, found.values()))
    return Verdict(
        corrected(all(printed) and right, right),
        f"R²_EO as printed is monotone in {sum(printed)} of {len(printed)} samples; the "
        f"sequential one (E4), which fairml computes, in all, as are the others.",
    )


@claim("§4.3", "extensions")
def opportunity_vanishes(results: Results) -> Verdict:
    """FRRM achieves equality of opportunity as λ → ∞, and |COV(ŷ, S | y)| falls as λ grows."""
    table = pick(results["definitions"], case="example", r=0.0)
    printed = pick(table, definition="equality of opportunity, as printed")["value"]
    curves = pick(results["formulas"], check="conditional")
    rises, smallest, last = (
        pick(curves, quantity=name)["value"] for name in ("rises", "smallest", "last")
    )
    good = int(printed.max() < 1e-10) + int((rises == 0).all())
    return Verdict(
        grade(good, 2),
        f"At λ = ∞ R²_EO is {spread(printed)}. |COV(ŷ, S | y)| falls to "
        f"{percent(float(smallest.median()), 0)} of its value at λ = 0 and ends at "
        f"{percent(float(last.median()), 0)}.",
        "At α = 0 ŷ is uncorrelated with S, hence not given y, which depends on S.",
    )


@claim("§4.3", "extensions")
def combined_definitions(results: Results) -> Verdict:
    """The maximum or a convex combination of R²_S and R²_EO can be bounded."""
    table = checked(results, "bounds")
    off = table[table["quantity"].isin(["maximum", "mean"])]["value"]
    met = bool((off < 1e-8).all())
    rows = pick(
        results["definitions"], case="example", definition="equality of opportunity, as printed"
    )
    least = rows.assign(both=rows[["r", "value"]].max(axis=1)).groupby("run")["both"].min()
    return Verdict(
        corrected(met and bool((least < FIVE_PERCENT).all()), met),
        f"With the sequential R²_EO (E4), to {tiny(off.max())}. With R²_EO as printed the maximum "
        f"is {number(float(least.median()), 2)} or more at any λ (median).",
    )


@claim("§4.3", "extensions")
def individual_fairness_in_combinations(results: Results) -> Verdict:
    """D_IF can be included in a convex combination with other definitions."""
    off = pick(checked(results, "bounds"), quantity="with D_IF")["value"]
    if off.empty:
        raise SkippedError("no combination with D_IF")
    return Verdict(
        either(float(off.max()) < 1e-8),
        f"The mean of R²_S, the sequential R²_EO and D_IF meets its bound to {tiny(off.max())}.",
    )


@claim("§4.3", "extensions")
def individual_fairness_largest_at_zero(results: Results) -> Verdict:
    """f(α, y, S) takes its maximum at λ = 0."""
    largest = checked(results, "individual")["value"]
    beyond = int((largest > 1 + 1e-9).sum())
    more = f"; in the others f grows by up to {percent(float(largest.max() - 1), 2)}"
    return Verdict(
        "holds in part" if 0 < beyond < len(largest) / 2 else either(beyond == 0),
        f"In {len(largest) - beyond} of {len(largest)} random problems with 20 rows"
        f"{more if beyond else ''}. A ridge shrinks α, but not every quadratic form in it.",
    )


@claim("§4.4, eq. (16), (17)", "extensions")
def deviance_bound_is_variance_bound(results: Results) -> Verdict:
    """For a Gaussian GLM (17) simplifies to R²_S ≤ r."""
    table = checked(results, "deviance")
    off = np.abs(table["value"] - table["r"])
    by_r = table.groupby("r")["value"].mean()
    return Verdict(
        either(bool(off.max() < 1e-8)),
        f"At R²_S = .05 the left side of (17) is {number(by_r[0.05], 2)}, at .2 "
        f"{number(by_r[0.2], 2)}.",
        "They agree at λ = 0 only. fairml bounds R²_S.",
    )


@claim("§4.4, eq. (17)", "extensions")
def bounds_odds_and_rates(results: Results) -> Verdict:
    """(17) bounds the difference that Sα makes in odds, in the intensity, or in hazards."""
    table = results["families"]
    table = pick(table, penalty="ridge", definition=PARITY)
    table = table[table["case"].isin(["Binomial", "Poisson", "Cox"])]
    falls = sum(int((np.diff(one["spread"]) < -1e-8).any()) for _, one in table.groupby("case"))
    at = pick(table, r=FIVE_PERCENT, active=1.0)
    factor = {row.case: float(np.exp(row.spread)) for row in at.itertuples()}
    if not factor:
        raise SkippedError("no active bound of .05")
    alike = max(factor.values()) / min(factor.values()) < 1.01
    listed = ", ".join(f"{case} {number(value, 2)}" for case, value in factor.items())
    return Verdict(
        "does not hold" if falls else "holds" if alike else "holds in part",
        "The difference grows with r, but r is a share of deviance and says not how large it is. "
        f"Factor of a standard deviation of Sα at r = .05: {listed}.",
    )


@claim("§4.4", "extensions")
def beta_not_constant(results: Results) -> Verdict:
    """β are not constant in r in logistic and log-linear models."""
    table = pick(positive(results["families"]), penalty="ridge", definition=PARITY)
    moved = {case: float(pick(table, case=case)["moved"].max()) for case in ("Binomial", "Poisson")}
    return Verdict(
        grade(sum(value > 0.01 for value in moved.values()), 2),
        f"β move by up to {percent(moved['Binomial'])} in a logistic model (German credit), and by "
        f"up to {percent(moved['Poisson'])} in a log-linear one (health insurance).",
    )


@claim("§4.4", "extensions")
def other_families(results: Results) -> Verdict:
    """The bound extends to Poisson and Cox models, elastic nets for GLMs, and the pseudo-R² of
    Nagelkerke and Tjur."""
    table = results["families"]
    asked = table["case"].isin(["Poisson", "Cox"]) & (table["definition"] == PARITY)
    asked |= (table["case"] != "Gaussian") & (table["penalty"] == "elastic-net")
    asked |= table["definition"].isin(MEASURES)
    met, total, worst = bounds_met(table[asked])
    return Verdict(
        grade(met, total),
        f"The bound is met in {met} of {total} active cells, to {tiny(worst)}.",
    )


def bounds_met(table: pd.DataFrame) -> tuple[int, int, float]:
    """Count the active bounds that are met, and all; with the largest excess."""
    binding = table[table["active"] == 1.0]
    excess = np.maximum(binding["achieved"] - binding["r"], 0.0)
    return int((excess < 1e-8).sum()), len(binding), float(excess.max())


@claim("§4.4", "extensions")
def tests_and_intervals(results: Results) -> Verdict:
    """GLMs bring confidence intervals, significance tests and meta-analysis."""
    table = results.of("beyond", "intervals", "tests", "meta-analysis")
    sums = table.groupby("quantity")["value"].sum()
    share = sums["covered"] / sums["coefficients"]
    false = sums["noise rejected"] / sums["of noise"]
    true = sums["predictors rejected"] / sums["of predictors"]
    off = float(pick(table, quantity="distance")["value"].median())
    # What chance leaves of a share of 5 %, in 99 of 100 times, times the root of the trials.
    slack = 2.6 * np.sqrt(0.05 * 0.95)
    good = abs(share - 0.95) < slack / np.sqrt(sums["coefficients"])
    sized = abs(false - 0.05) < slack / np.sqrt(sums["of noise"])
    return Verdict(
        grade(int(good) + int(sized) + int(off < 1.0), 3),
        f"{percent(share, 0)} of {int(sums['coefficients'])} intervals (95 %) cover the fair "
        f"model of 200,000 rows. Tests at 5 % reject {percent(false, 0)} of "
        f"{int(sums['of noise'])} columns of noise, and {percent(true, 0)} of predictors of FGRRM. "
        f"Models of four parties, "
        f"combined, differ from that of all rows by {number(off, 1)} of its standard errors "
        "(median).",
    )


@claim("§4.4, Ex. 2, Fig. 6", "extensions")
def fgrrm_coefficients_grow(results: Results) -> Verdict:
    """α_FGRRM grow from zero, and β increase monotonically in r."""
    table = results["logistic-profiles"]
    alphas = np.array([profile(table, "FGRRM", term) for term in ALPHA])
    betas = np.array([profile(table, "FGRRM", term) for term in BETA])
    steps = np.diff(betas, axis=2) / betas[:, :, -1:]
    fall = max(0.0, float(-steps.min()))
    grow = bool((alphas[:, :, 0] == 0).all() and (np.diff(alphas, axis=2) > -1e-8).all())
    good = int(grow) + int(fall < TINY_FALL) + int((betas[:, :, -1] > betas[:, :, 0]).all())
    growth = float(np.median(betas[:, :, -1] / betas[:, :, 0]))
    return Verdict(
        grade(good, 3),
        f"β grow by a factor of {number(growth, 2)}; the largest fall between two r is "
        f"{percent(fall, 3)} of a coefficient, too small to see.",
    )


@claim("§4.4, Ex. 2", "extensions")
def zlrm_beta_not_monotone(results: Results) -> Verdict:
    """β of ZLRM change non-monotonically in r."""
    table = results["logistic-profiles"]
    betas = np.array([profile(table, "ZLRM", term) for term in BETA])
    steps = np.diff(betas, axis=2) / np.abs(betas).max(axis=2, keepdims=True)
    turns = ((steps > 1e-6).any(axis=2) & (steps < -1e-6).any(axis=2)).any(axis=0)
    return Verdict(
        grade_samples(int(turns.sum()), len(turns)),
        f"At least one β turns in {int(turns.sum())} of {len(turns)} samples.",
    )


@claim("§4.4, Ex. 2", "extensions")
def quasi_binomial_beta_constant(results: Results) -> Verdict:
    """A quasi-Binomial GLM would make β constant in r."""
    table = results["logistic-profiles"]
    quasi = np.array([profile(table, "FGRRM, quasi-binomial", term) for term in BETA])
    growth = float(np.median(quasi[:, :, -1] / quasi[:, :, 0]))
    return Verdict(
        either(abs(growth - 1) < 1e-6),
        f"β grow by the same factor, {number(growth, 2)}: the scale does not enter the "
        "estimating equations.",
    )
