"""How much of predictions a flexible learner of S explains, on rows that it has not seen.

R² of a regression on S sees linear dependence only: predictions that follow the square of age,
or single out one group of an intersection, can have an R² of zero. Here g(S) is learned on
other rows than it is judged on. With f the predictions less their mean, and m(S) what S explains of
them, the share is E[m²]/E[f²], and estimated by

    Σ f g / Σ f²,

because E[f g] = E[m g]: what g has of the noise of other rows is independent of f, and charges
S with nothing, as 1 − Σ(f − g)²/Σf² would, which is negative where groups are many. What g does not
find is missing: the share is at least this. Of a row that is alone in its group nothing is known,
and the upper end of the interval has it explained altogether. As an estimate of E[m²] the product
has the influence 2 f g − g² of a row, because each row is also among those that others learn from.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import norm
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import KFold

from fairridge._typing import Floats, Integers
from fairridge.metrics.groups import few_values
from fairridge.metrics.intervals import UNDEFINED, Estimate

# Rows below which trees tell nothing, and rows that groups must have on average to be compared
# by their means.
MIN_LEARNED_ROWS, MIN_ROWS_PER_GROUP = 100, 15
# Rows that trees are learned on at most: there are few columns, and all rows judge what they say.
MAX_LEARNED_ROWS = 10_000
# Largest product of numbers of values that codes of groups are made of.
MAX_CODE = 1 << 62


def learned_share(predicted: Floats, S: Floats, weight: Floats, confidence: float) -> Estimate:
    """Return the cross-fitted share of predictions that S explains, with its interval."""
    # Few combinations of values are groups, and g the mean of the others in a row's group;
    # otherwise g is learned by a regression and boosted trees in five folds.
    n, total = len(predicted), float(weight.sum())
    center = predicted - np.average(predicted, weights=weight)
    size = np.abs(predicted).max(initial=0.0)
    if np.abs(center).max(initial=0.0) <= 1e-12 * size:
        return Estimate(0.0)
    codes, alone = _few_groups(S), np.zeros(n, dtype=bool)
    if codes is not None:
        learned = _means_of_others(center, codes, weight)
        alone = np.bincount(codes)[codes] == 1
    elif n >= MIN_LEARNED_ROWS:
        learned = _by_trees(center, S, weight)
    else:
        return UNDEFINED
    whole, share = center**2, weight / total
    unit = float(share @ whole)
    ratio = float(share @ (center * learned)) / unit
    influence = (2.0 * center * learned - learned**2) / unit - ratio * whole / unit
    influence -= share @ influence
    half = float(norm.isf(0.5 - confidence / 2.0) * np.sqrt(share**2 @ influence**2))
    found = max(ratio, 0.0)  # no share is negative
    unknown = float(share[alone] @ whole[alone]) / unit
    return Estimate(found, max(ratio - half, 0.0), min(found + half + unknown, 1.0))


def _few_groups(S: Floats) -> Integers | None:
    """Return groups of rows with the same S; None if they have too few rows on average."""
    most, size = len(S) // MIN_ROWS_PER_GROUP, 1
    codes = np.zeros(len(S), dtype=np.intp)
    for column in S.T:  # rows as a whole are sorted many times more slowly
        values = few_values(column, most)
        if values is None:
            return None
        if size * len(values) > MAX_CODE:
            codes, size = np.unique(codes, return_inverse=True)[1], len(S)
        codes, size = codes * len(values) + np.searchsorted(values, column), size * len(values)
    codes = np.unique(codes, return_inverse=True)[1]
    return codes if codes.max() < most else None


def _means_of_others(values: Floats, codes: Integers, weight: Floats) -> Floats:
    """Return the mean of the other rows of each row's group; 0, that of all, if it is alone."""
    sums, weights = np.bincount(codes, weight * values), np.bincount(codes, weight)
    counts = np.bincount(codes)
    others = np.where(counts[codes] > 1, weights[codes] - weight, np.inf)
    return (sums[codes] - weight * values) / others


def _by_trees(values: Floats, S: Floats, weight: Floats) -> Floats:
    """Return what a regression on S, and boosted trees of what it leaves, predict by folds."""
    # The trees are small and their leaves large: what they invent counts against them.
    learned = np.empty_like(values)
    # Quantiles of weighted rows are slow, and those of equal weights the same without.
    equal = bool((weight == weight[0]).all())
    least = max(20, min(len(values), MAX_LEARNED_ROWS) // 25)
    rng, Z = np.random.default_rng(0), np.column_stack([np.ones(len(S)), S])
    for others, test in KFold(shuffle=True, random_state=0).split(S):
        several = len(others) > MAX_LEARNED_ROWS
        train = rng.choice(others, MAX_LEARNED_ROWS, replace=False) if several else others
        root = np.sqrt(weight[train])
        linear = Z @ np.linalg.lstsq(Z[train] * root[:, None], values[train] * root, rcond=1e-10)[0]
        trees = HistGradientBoostingRegressor(
            max_iter=50, max_leaf_nodes=6, min_samples_leaf=least, early_stopping=False
        )
        given = None if equal else weight[train]
        trees.fit(S[train], (values - linear)[train], sample_weight=given)
        learned[test] = linear[test] + trees.predict(S[test])
    return learned
