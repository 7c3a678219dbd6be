"""Bounds that hold in the population, without giving up rows.

A model that is fitted at r′ has R²_S = r′ in training. With odds
ω = ρ/(1 − ρ), the odds in the population are distributed about as

    ω ~ c·χ′²_q(ω′/c),   c = VAR(mean φ_ρ) / (4ω′(1 − ρ′)⁴),

a noncentral χ² with q degrees of freedom, where

    φ_ρ = ((1 − ρ)(h² + 2ht) − ρt²) / (V_h + V_t),   h = Sα, t = Uβ,

is the influence of a row on ρ. For normal data c = 1/(n(1 − ρ)). The certified
bound is the largest r′ at which the upper quantile of ρ is r or less.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil

import numpy as np
from scipy.optimize import brentq
from scipy.stats import chi2, ncx2, norm

from fairridge._typing import Floats
from fairridge.fairness import StatisticalParity, is_variance_share
from fairridge.models import Fit
from fairridge.search import PenalizedProblem, solve

__all__ = ["Certificate", "certified_bound", "certify", "rows_needed", "upper_bound"]


Spread = Callable[[float], float]

# As r′ → 0 the direction of α and with it c has a limit; this is near enough.
LEAST_BOUND = 1e-4
# Values of r′ between which c is interpolated.
GRID = 10
MOST_ROWS = 1e15
# Noncentrality at which ncx2 and its normal limit agree to nine digits.
MANY = 1e6


@dataclass(frozen=True)
class Certificate:
    """What a bound in training promises for the population.

    The confidence is over samples of training rows from the same population.

    Attributes
    ----------
    bound : float
        r, which is to hold in the population.
    training_bound : float
        r′ ≤ r, to fit with.
    confidence : float
        1 − δ.
    upper : float
        The value that R²_S in the population exceeds with probability δ at most.
    method : str
        "closed form".
    n_rows : int
        Number of rows.
    granted : bool
        Whether `upper` is at most `bound`.
    rows_needed : int
        Rows that would do for the fit at r = 0, if not granted; else `n_rows`.
    """

    bound: float
    training_bound: float
    confidence: float
    upper: float
    method: str
    n_rows: int
    granted: bool
    rows_needed: int


def upper_bound(
    training_bound: float, *, sensitive_columns: int, confidence: float, spread: float
) -> float:
    """Return the value that R²_S in the population exceeds with probability 1 − confidence.

    Parameters
    ----------
    training_bound : float
        r′, the value in training.
    sensitive_columns : int
        q, encoded columns of S.
    confidence : float
        1 − δ.
    spread : float
        c; 1/(n(1 − r′)) for normal data.
    """
    shift = training_bound / (1.0 - training_bound) / spread
    if shift == 0.0:
        quantile = chi2.ppf(confidence, sensitive_columns)
    elif shift < MANY:
        quantile = ncx2.ppf(confidence, sensitive_columns, shift)
    else:  # its root is normal
        quantile = (np.sqrt(shift) + norm.ppf(confidence)) ** 2 + (sensitive_columns - 1)
    upper = float(quantile) * spread
    return upper / (1.0 + upper)


def certified_bound(
    unfairness: float,
    *,
    sensitive_columns: int,
    spread: Spread,
    confidence: float = 0.95,
    largest: float = 1.0,
) -> float | None:
    """Return the largest bound in training that certifies a bound in the population.

    Parameters
    ----------
    unfairness : float
        r, which is to hold in the population.
    sensitive_columns : int
        q, encoded columns of S.
    spread : callable
        c as a function of r′; ``lambda r: 1 / (n * (1 - r))`` before there are data.
    confidence : float, default=0.95
        1 − δ.
    largest : float, default=1
        R²_S of the unconstrained model in training, which no bound above it changes.

    Returns
    -------
    float or None
        r′; None if even r′ = 0 is not certified.
    """
    _check(unfairness, sensitive_columns, confidence)

    def excess(training: float) -> float:
        found = upper_bound(
            training,
            sensitive_columns=sensitive_columns,
            confidence=confidence,
            spread=spread(training),
        )
        return found - unfairness

    if excess(0.0) > 0.0:
        return None
    if largest < unfairness and excess(largest) <= 0.0:
        return unfairness
    return float(brentq(excess, 0.0, min(unfairness, largest), xtol=1e-12))


def rows_needed(
    unfairness: float,
    *,
    sensitive_columns: int,
    confidence: float = 0.95,
    training_bound: float | None = None,
) -> int:
    """Return how many rows certify a bound, for normal data.

    Parameters
    ----------
    unfairness : float
        r, which is to hold in the population.
    sensitive_columns : int
        q, encoded columns of S.
    confidence : float, default=0.95
        1 − δ.
    training_bound : float, optional
        r′ < r, to fit with; by default 0, the fewest rows.
    """
    _check(unfairness, sensitive_columns, confidence)
    training = 0.0 if training_bound is None else float(training_bound)
    if not 0.0 <= training < unfairness:
        raise ValueError(
            f"training_bound={training_bound!r} must be at least 0 and below unfairness="
            f"{unfairness!r}: no number of rows certifies more."
        )

    def excess(log_rows: float) -> float:
        spread = 1.0 / (np.exp(log_rows) * (1.0 - training))
        found = upper_bound(
            training, sensitive_columns=sensitive_columns, confidence=confidence, spread=spread
        )
        return found - unfairness

    most = float(np.log(MOST_ROWS))
    if excess(most) > 0.0:
        raise ValueError(f"more than {MOST_ROWS:.0e} rows are needed; lower training_bound.")
    if excess(0.0) <= 0.0:
        return 1
    return ceil(float(np.exp(brentq(excess, 0.0, most, xtol=1e-13))) * (1.0 - 1e-9))


def certify(
    problem: PenalizedProblem,
    definition: StatisticalParity,
    unfairness: float,
    confidence: float = 0.95,
) -> Certificate:
    """Find the bound to fit with so that another one holds in the population.

    Parameters
    ----------
    problem : PenalizedProblem
        The model on its rows, for every λ.
    definition : StatisticalParity
        Of the variance: R² of the linear predictor on S.
    unfairness : float
        r, which is to hold in the population.
    confidence : float, default=0.95
        1 − δ, over samples of rows from the population.
    """
    if not isinstance(definition, StatisticalParity) or not is_variance_share(
        definition, problem.family
    ):
        raise ValueError(
            f"{definition.name} of a {problem.family.name} model cannot be certified: a share of "
            "deviance is linear in α near 0, so that its value in the population varies too much. "
            "Use StatisticalParity(measure='variance')."
        )
    q, n = problem.basis.sensitive.rank, problem.engine.n_rows
    _check(unfairness, q, confidence)
    least = min(LEAST_BOUND, unfairness / 2.0)
    bounds = np.append(np.geomspace(least, unfairness, GRID), 1.0)
    solutions = solve(problem, definition, bounds)
    free = solutions.pop().achieved
    shares = np.array([one.achieved for one in solutions])
    found = spreads([one.fit for one in solutions], shares)

    def spread(training: float) -> float:
        return float(np.interp(training, shares, found))

    options = {"sensitive_columns": q, "confidence": confidence}
    training = certified_bound(unfairness, spread=spread, largest=free, **options)  # type: ignore[arg-type]
    granted = training is not None
    training = training or 0.0
    share = min(training, free)
    upper = upper_bound(share, spread=spread(share), **options)  # type: ignore[arg-type]
    odds = unfairness / (1.0 - unfairness)
    enough = n if granted else ceil(n * spread(0.0) * float(chi2.ppf(confidence, q)) / odds)
    return Certificate(unfairness, training, confidence, upper, "closed form", n, granted, enough)


def spreads(fits: list[Fit], shares: Floats) -> Floats:
    """Return c of several models of the same rows, in one pass over these.

    Parameters
    ----------
    fits : list of Fit
        The models.
    shares : ndarray
        Their R²_S in training, above 0.
    """
    basis, family, count = fits[0].basis, fits[0].family, len(fits)
    m = family.n_predictors
    totals = np.array([fit.sensitive_variance + fit.predictor_variance for fit in fits])
    parts = []
    for fit in fits:
        for alpha, beta in ((fit.alpha, 0.0 * fit.beta), (0.0 * fit.alpha, fit.beta)):
            raw = np.atleast_2d(basis.raw_coefficients(alpha, beta))
            parts.append(family.to_contrasts(raw))
    raw = np.vstack([*parts, np.zeros((1, len(basis.center)))])

    def squares(y: Floats, eta: Floats, weight: Floats) -> Floats:
        values = (eta[:, :-1] - eta[:, -1:]).reshape(len(eta), count, 2, m)
        h, t = values[:, :, 0], values[:, :, 1]
        own = (1.0 - shares) * (h * h + 2.0 * h * t).sum(axis=2)
        influence = (own - shares * (t * t).sum(axis=2)) / totals
        return np.asarray(((weight[:, None] * influence) ** 2).sum(axis=0))

    total = fits[0].engine.sum_over_rows(squares, basis.center, np.zeros(len(raw)), raw)
    return total / basis.weight**2 / (4.0 * shares * (1.0 - shares) ** 3)


def _check(unfairness: float, sensitive_columns: int, confidence: float) -> None:
    for name, value in (("unfairness", unfairness), ("confidence", confidence)):
        if not 0.0 < value < 1.0:
            raise ValueError(f"{name}={value!r} must lie strictly between 0 and 1.")
    if sensitive_columns < 1:
        raise ValueError(f"sensitive_columns={sensitive_columns!r} must be at least 1.")
