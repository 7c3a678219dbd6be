"""Statements about the linear experiments (section 5.1)."""

from __future__ import annotations

import pandas as pd

from reproduction.claims.base import (
    Kind,
    Verdict,
    between,
    claim,
    either,
    grade,
    number,
    of_software,
    percent,
    positive,
    tally,
    tie,
    tiny,
)
from reproduction.data import SOURCES
from reproduction.linear import PAPER
from reproduction.results import Results, SkippedError, pick
from reproduction.statistics import cells, count

NAMED = ("NLSY", "COMPAS", "LSAC")
# Beyond this, dependence on S in validation is called more than was asked for.
SLACK = 0.01


def paper_cases(results: Results) -> pd.DataFrame:
    """Return the linear experiments on the paper's data sets."""
    return results.of("linear", *PAPER)


def compare_matched(table: pd.DataFrame, ours: str, theirs: str, measure: str) -> pd.DataFrame:
    """Compare models at equal R² on S for r > 0; `reached`: the other can be as dependent on S.

    Where it cannot, it is unconstrained.
    """
    table = positive(table)
    found = cells(table, ours, theirs, measure)
    shares = [
        pick(table, model=name).groupby(["case", "r"], sort=False)["train_dependence"].mean()
        for name in (ours, theirs)
    ]
    found["reached"] = (shares[1] > 0.98 * shares[0]).to_numpy()
    return found


@claim("§5", "linear")
def zero_covariance_is_parity(results: Results) -> Verdict:
    """If |COV(η, S_j)| = 0 then ŷ is independent of S_j: statistical parity."""
    rows = pick(results.of("logistic", "ADULT, isolated"), model="FGRRM")
    fair = float(pick(rows, r=0.0)["gap"].mean())
    free = float(pick(rows, r=rows["r"].max())["gap"].mean())
    return Verdict(
        either(fair < 0.01),
        f"Acceptance rates of FGRRM on ADULT differ by {number(fair, 2)} between sexes or quarters "
        f"of age at r = 0 (by {number(free, 2)} at r = .5). Equal means of η are not equal "
        "distributions.",
    )


@claim("§5", "linear")
def covariance_controls_the_share(results: Results) -> Verdict:
    """The size of |COV(η, S_i)| controls the proportion of variance that S_i explains."""
    ratios = share_ratios(results)
    return Verdict(
        either(max(ratios) / min(ratios) < 1.1),
        f"With the same largest |COV(ŷ, S_i)|, R²_S of ZLM is {number(min(ratios), 1)} to "
        f"{number(max(ratios), 1)} times that of FRRM in training.",
        "The proportion is COV²/(VAR(S_i)·VAR(η)): it needs VAR(η).",
    )


def share_ratios(results: Results) -> list[float]:
    """R²_S of ZLM under the paper's protocol over FRRM's, where both bounds are active."""
    ratios = []
    for _, group in positive(paper_cases(results)).groupby(["case", "r"], sort=False):
        ours, zafar = (pick(group, model=name) for name in ("FRRM", "ZLM"))
        if min(ours["active"].mean(), zafar["active"].mean()) > 0.5:
            ratios.append(float(zafar["train_dependence"].mean() / ours["train_dependence"].mean()))
    if not ratios:
        raise SkippedError("no cell has two active bounds")
    return ratios


@claim("§5.1, §5.2", "linear")
def sizes_of_the_data(results: Results) -> Verdict:
    """C&C 810 × 101, COMPAS 5855 × 13, NLSY 4908 × 13, GCR 1000 × 42, ADULT 30162 × 14, BANK
    41188 × 19; six data sets."""
    good, total, off = 0, 0, []
    for row in results["datasets"].itertuples():
        said = SOURCES[row.case].paper
        if not said:
            continue
        n, p = (int(part) for part in said.split(" × "))
        fits = (row.rows == n, p in (row.predictors, row.predictors + 1, row.predictor_columns))
        total, good = total + 2, good + sum(fits)
        if not all(fits):
            off.append(f"{row.case} has {row.rows} × {row.predictors}")
    return Verdict(
        grade(good, total),
        f"{good} of {total} numbers agree, as variables or columns"
        f"{'; ' + ', '.join(off) if off else ''}. The text names seven data sets.",
    )


@claim("§5.1", "linear")
def agrees_with_komiyama(results: Results) -> Verdict:
    """Results for NCLM largely agree with those of Komiyama et al."""
    return Verdict("not checkable", "The paper gives no numbers of either.", argument=True)


@claim("§5.1, Fig. 7", "linear")
def frrm_below_nclm(results: Results) -> Verdict:
    """FRRM consistently achieves a smaller predictive RMSE than NCLM for r > 0."""
    found = cells(positive(paper_cases(results)), "FRRM", "NCLM", "rmse")
    others = found[found["case"] != "C&C"]["mean"]
    apart = f"; {between(others, 2)} outside C&C" if len(others) else ""
    return Verdict(
        grade(count(found, "lower"), len(found)),
        f"{tally(found).capitalize()} cells{apart}.{tie(found)}",
    )


@claim("§5.1, Fig. 7", "linear")
def frrm_below_zlm(results: Results) -> Verdict:
    """FRRM has a smaller RMSE than ZLM on NLSY, COMPAS and LSAC for r > 0; on C&C and GCR it is
    lower by a negligible amount. (At the same level of fairness.)"""
    matched = matched_cells(results)
    protocol = cells(positive(paper_cases(results)), "FRRM", "ZLM", "rmse")
    signs = int((matched["mean"] < 0).sum())
    ahead = all(
        count(matched[matched["case"] == case], "lower")
        for case in NAMED
        if case in set(matched["case"])
    )
    kind: Kind = (
        "holds"
        if ahead and not count(matched, "higher")
        else grade(len(matched) - count(matched, "higher"), len(matched))
    )
    return Verdict(
        "holds in part" if kind == "holds" and not ahead else kind,
        f"At equal R²_S FRRM's mean is smaller in {signs} of {len(matched)} cells: {tally(matched)}"
        f", {between(matched['mean'])}. (In {int((~matched['reached']).sum())} of them ZLM is "
        f"unconstrained and below FRRM's R²_S.) At equal largest |COV| ({tally(protocol)}) ZLM is "
        f"up to {percent(protocol['mean'].max())} ahead, and less fair.",
    )


def matched_cells(
    results: Results, measure: str = "rmse", bound: str = "covariance"
) -> pd.DataFrame:
    """Compare FRRM with ZLM at the same R²_S in training, for r > 0."""
    table = results.of("matched", *PAPER)
    return compare_matched(table, "FRRM", f"ZLM, {bound}", measure)


@claim("§5.1, Fig. 7", "linear")
def models_at_zero(results: Results) -> Verdict:
    """At r = 0 FRRM and NCLM are the same model; ZLM estimates an intercept only, with a much
    higher RMSE."""
    table = pick(paper_cases(results), r=0.0)
    names = ("FRRM", "NCLM", "ZLM", "intercept only", "ZLM, dropping")
    by = {
        name: pick(table, model=name).groupby("case", sort=False)["rmse"].mean() for name in names
    }
    same = float((by["FRRM"] / by["NCLM"] - 1.0).abs().max()) < 1e-6
    off = {name: by[name] / by["FRRM"] - 1.0 for name in names[2:]}
    model = bool((abs(by["ZLM"] / by["intercept only"] - 1.0) < 0.01).all())
    software = bool((abs(by["ZLM, dropping"] / by["intercept only"] - 1.0) < 0.01).all())
    return Verdict(
        of_software(either(same and model), same and software),
        f"{'The first part holds' if same else 'FRRM and NCLM differ'}. ZLM's limit keeps every "
        f"b with COV(Xb, S) = 0: RMSE {between(off['ZLM'])} above FRRM's. fairml drops each "
        f"correlated predictor, which leaves the intercept: {between(off['ZLM, dropping'])}.",
    )


@claim("§5.1, Fig. 8", "linear")
def training_error_below_nclm(results: Results) -> Verdict:
    """In training FRRM and ZLM outperform NCLM for r > 0 on NLSY, LSAC and GCR, and for r > .05 on
    COMPAS."""
    table = positive(paper_cases(results))
    found = cells(table[table["case"] != "C&C"], "FRRM", "NCLM", "train_rmse")
    found = found[(found["case"] != "COMPAS") | (found["r"] > 0.05)]
    below = int((found["mean"] < -1e-9).sum())
    return Verdict(
        of_software(grade(below, len(found)), fairml_reverses(results)),
        f"FRRM's error is smaller in {below} of {len(found)} cells ({between(found['mean'], 2)}): "
        "FRRM meets NCLM's constraint, so NCLM's optimum is never worse. fairml's NCLM "
        "misses it on vu.test and COMPAS (Table 2); its answers on the other data are not recorded "
        "here.",
    )


def fairml_reverses(results: Results) -> bool:
    """Whether fairml's NCLM trains worse than its FRRM anywhere, against the exact order."""
    table = results.tables.get("fairml")
    if table is None:
        return False
    wide = table.pivot_table(index=["case", "r"], columns="model", values=["rss", "exact_rss"])
    theirs = wide["rss"]["NCLM"] > wide["rss"]["FRRM"] * (1 + 1e-6)
    exact = wide["exact_rss"]["NCLM"] <= wide["exact_rss"]["FRRM"] * (1 + 1e-9)
    return bool((theirs & exact).any())


@claim("§5.1", "linear")
def frrm_more_robust(results: Results) -> Verdict:
    """That FRRM outperforms NCLM there suggests that it is numerically more robust."""
    reverses = fairml_reverses(results)
    table = results["fairml"]
    off = table["rss"] / table["exact_rss"] - 1.0
    worst = off.groupby(table["model"]).max()
    return Verdict(
        of_software("does not hold", reverses),
        f"fairml's residual sum of squares exceeds the optimum by up to "
        f"{percent(worst['NCLM'])} for NCLM and {percent(worst['FRRM'], 2)} for FRRM. In closed "
        "form both are exact.",
    )


@claim("§5.1", "linear")
def small_eigenvalues(results: Results) -> Verdict:
    """VAR(S) is full rank, with an eigenvalue below 10⁻⁶ in COMPAS, LSAC, NLSY and GCR."""
    table = results.of("datasets", "COMPAS", "LSAC", "NLSY", "GCR")
    small = table[table["eigenvalue_one_hot"] < 1e-6]
    contrasts = table["eigenvalue_contrasts"]
    return Verdict(
        "holds in part" if len(small) == len(table) else grade(len(small), len(table)),
        f"With one column per level {len(small)} of {len(table)} are singular, by construction; "
        f"with contrasts the smallest eigenvalue is {tiny(contrasts.min())}.",
    )


@claim("§5.1", "linear")
def fairness_in_validation(results: Results) -> Verdict:
    """All algorithms achieve the desired level of fairness in training and validation whenever the
    bound is active."""
    table = paper_cases(results)
    table = table[table["model"].isin(["FRRM", "NCLM", "ZLM"]) & (table["active"] == 1.0)]
    by = table.groupby(["case", "model", "r"], sort=False)[
        ["dependence", "train_dependence", "share"]
    ].mean()
    excess = by["dependence"] - by["train_dependence"]
    good, per_case = int((excess <= SLACK).sum()), excess.groupby("case", sort=False).max()
    bad = [f"{case} (up to {number(v, 3)})" for case, v in per_case.items() if v > SLACK]
    share = float((by["share"] - by["train_dependence"]).max())
    return Verdict(
        grade(good, len(excess)),
        f"Adjusted R² on S in validation exceeds that in training by at most .01 in {good} of "
        f"{len(excess)} cells; more on {', '.join(bad) or 'no data set'}. By fairml's share the "
        f"excess is at most {number(share, 3)}, but that share is 0 at α = 0 by construction.",
    )
