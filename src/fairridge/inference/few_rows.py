"""Coefficients of levels of few rows: degrees of freedom, and what their variances lack.

Residuals of rows with leverage h are small by 1 − h, of a level of k rows by 1 − 1/k, and
their squares are few. If responses vary alike, and the one of row i adds aᵢ to a coefficient, a
sum of squares Σ bᵢeᵢ² in place of its variance has

    mean Σ bᵢ(1 − hᵢ) of Σ aᵢ²,   2·mean²/variance ≥ (Σ bᵢ(1 − hᵢ))²/Σ bᵢ²(1 − hᵢ),

bᵢ being aᵢ², or aᵢ²/(1 − hᵢ)² for HC3. The first corrects the variance, the second are
degrees of freedom (Bell and McCaffrey 2002): k − 1 for a level of k rows. Theirs has
Σ bᵢbⱼHᵢⱼ² over pairs of rows, which is at most Σ bᵢ²(hᵢ − hᵢ²), and takes one pass more for
every coefficient.

Other coefficients keep the degrees of freedom of all rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from fairridge._arrays import namespace
from fairridge._typing import Floats
from fairridge.engines import binary_columns
from fairridge.families.sums import any_arrays
from fairridge.inference.analysis import Analysis
from fairridge.inference.estimates import Estimates
from fairridge.inference.influence import Branch
from fairridge.inference.passes import LEAST_LEFT, Weighing
from fairridge.inference.rows import RowsOfModel

# Rows of a level, and degrees of freedom of a coefficient, below which they are few.
FEW_ROWS = 20
# The part of the variance of a coefficient that rows of leverage 1 may have: that of a level of
# one row is all theirs.
MOST_HIDDEN = 0.9


@any_arrays
def _sums(onto: Floats, weighing: Weighing, covariance: str, at: RowsOfModel) -> Floats:
    """Return Σ a², that over rows of leverage 1, Σ b(1 − h) and Σ b²(1 − h), of shape (4, c)."""
    # `onto` maps z to what the score of a row adds to coefficients, of shape (1+q+p, c).
    weight = at.rows.weight
    xp = namespace(weight)
    # A row of weight w counts w times, or stands for w rows.
    one = xp.ones_like(weight)
    size, times = (one, weight) if weighing.frequency else (weight, one)
    left = weighing.left(at)
    added = (size**2 * at.curvature)[:, None] * at.rows.times(onto) ** 2
    alone, nothing = (left < LEAST_LEFT)[:, None], xp.zeros_like(added)
    squares = added / left[:, None] ** (2 if covariance == "HC3" else 0)
    squares, hidden = xp.where(alone, nothing, squares), xp.where(alone, added, nothing)
    each = added, hidden, squares * left[:, None], squares**2 * left[:, None]
    sums: Floats = xp.stack([times @ terms for terms in each])
    return sums


def with_few_rows(
    analysis: Analysis,
    branch: Branch,
    estimates: tuple[Estimates, Estimates],
) -> tuple[Estimates, Estimates]:
    """Correct the errors of raw and fair coefficients of few rows; give them degrees of freedom."""
    family, state = analysis.family, analysis.state
    simple = family.separable and family.n_predictors == 1
    if not (simple and _has_rare_levels(analysis, analysis.n_rows)):
        return estimates
    width, maps = state.theta.shape[1], analysis.maps(branch)[:2]
    onto = np.hstack([each[:width] for each in maps])
    scheme = analysis.scheme
    weighing = Weighing(scheme.frequency, (state.leverage_root(), analysis.basis.weight))
    each = branch.of_rows(family, partial(_sums, onto, weighing, scheme.covariance))
    sums = analysis.fit.engine.sum_over_columns(each, branch.center)
    if scheme.clusters is not None:
        sums[2:] = 0.0  # residuals of a cluster are not independent: only single rows are found
    factor, df = analysis.finite_sample
    first, second = np.split(sums, [maps[0].shape[1]], axis=1)
    return (
        _corrected(estimates[0], first, factor, df),
        _corrected(estimates[1], second, factor, df),
    )


def _corrected(estimates: Estimates, sums: Floats, factor: float, df: float | None) -> Estimates:
    """Correct estimates by their sums; λ, which comes last, has none."""
    count = len(estimates.names)
    sums = np.pad(sums, ((0, 0), (0, count - sums.shape[1])))
    true, hidden, shown, squares = sums
    none = (true > 0.0) & (hidden > MOST_HIDDEN * true)
    degrees = np.full(count, np.inf)
    np.divide(shown**2, squares, out=degrees, where=(squares > 0.0) & ~none)
    few, scale = degrees < FEW_ROWS, np.ones(count)
    lacking = (few | (hidden > 0.0)) & (shown > 0.0) & ~none
    np.divide(true, factor * shown, out=scale, where=lacking)
    scale = np.sqrt(np.maximum(scale, 1.0))
    isolated = none if estimates.isolated is None else none | estimates.isolated
    return replace(
        estimates,
        covariance=estimates.covariance * np.outer(scale, scale),
        isolated=isolated if isolated.any() else None,
        df=np.where(few, degrees, np.inf if df is None else df),
    )


def notes_on_few_rows(estimates: Estimates) -> Iterator[str]:
    """Say which coefficients have no standard errors, and which have few degrees of freedom."""
    if estimates.df is None:
        return
    names = np.array(estimates.names)
    none = np.zeros(len(names), dtype=bool) if estimates.isolated is None else estimates.isolated
    few = (estimates.df < FEW_ROWS) & ~none
    if none.any():
        yield (
            f"No standard errors of {', '.join(map(repr, names[none].tolist()))}: each belongs to "
            "one row, whose residual is zero whatever its response. Merge rare levels "
            "(min_frequency=…), or leave the row out."
        )
    if few.any():
        each = zip(names[few].tolist(), estimates.df[few].tolist(), strict=True)
        yield (
            "Few rows tell of some coefficients, whose intervals and tests have fewer degrees of "
            f"freedom: {', '.join(f'{name!r} ({df:.1f})' for name, df in each)}."
        )


def _has_rare_levels(analysis: Analysis, n_rows: float) -> bool:
    """Whether a 0/1 column, or the base of a categorical one, has few rows."""
    basis, names = analysis.basis, analysis.problem.engine.names
    share, codes = basis.center, binary_columns(basis.center, basis.deviations**2)
    bases: dict[str, float] = {}
    for name, of_level in zip(names, share, strict=True):
        column = attribute_of(name)
        if column is not None:
            bases[column] = bases.get(column, 1.0) - float(of_level)
    shares = np.concatenate([share[codes], 1.0 - share[codes], list(bases.values())])
    return bool(((shares > 1e-9) & (n_rows * shares < FEW_ROWS)).any())


def attribute_of(name: str) -> str | None:
    """Return the categorical column that an encoded column is a level of, if it is one."""
    column, bracket, _ = name.partition("[")
    return column if bracket and name.endswith("]") else None
