"""How the odds of a share in the sample and in the population are related.

ω = ρ/(1 − ρ) is the squared length of q coefficients of scores on S, in units in
which S has variance I and what S does not explain has variance 1. Those of a
sample and of its population differ by q numbers of variance c, which are about
normal, so that

    ω/c ~ χ′²_q(ω′/c)

for ω′ of the rows that a bound holds for exactly, and ω of the other ones. If c is
not known but estimated with ν degrees of freedom, that is ĉ ~ c·χ²_ν/ν,

    ω/ĉ ~ q·F′_{q,ν}(ω′/ĉ),

a noncentral F. For ω′ = 0 this is the usual F of q coefficients. For ω′ > 0 it
divides ω′ by χ²_ν/ν as well as the noise: if ĉ is uncertain because few people
explain most of h, E[h²] in the numerator of ω′ is, too, and for the same people.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq
from scipy.stats import chi2, f, ncf, ncx2, norm

# Noncentrality at which ncx2 and its normal limit agree to nine digits.
MANY = 1e6
# Noncentrality above which ncf is slow; ν decides there.
MOST = 1e9


def quantile_of_odds(
    probability: float, odds: float, *, columns: float, spread: float, degrees: float = np.inf
) -> float:
    """Return the quantile of ω, given ω′.

    Parameters
    ----------
    probability : float
        Probability of an ω that is not larger.
    odds : float
        ω′.
    columns : float
        q.
    spread : float
        c, or ĉ.
    degrees : float, default=inf
        ν; infinite if c is known.
    """
    shift = odds / spread
    if np.isfinite(degrees):
        if shift == 0.0:
            return float(spread * columns * f.ppf(probability, columns, degrees))
        near = min(shift, MOST)
        return float(odds / near * columns * ncf.ppf(probability, columns, degrees, near))
    if shift == 0.0:
        return float(spread * chi2.ppf(probability, columns))
    if shift < MANY:
        return float(spread * ncx2.ppf(probability, columns, shift))
    # The root is normal.
    return float(spread * ((np.sqrt(shift) + norm.ppf(probability)) ** 2 + (columns - 1)))


def odds_behind(
    probability: float, odds: float, *, columns: float, spread: float, degrees: float = np.inf
) -> float:
    """Return the ω′ whose quantile is the given ω; 0 if the quantile at 0 is larger.

    Parameters
    ----------
    probability : float
        Probability of an ω that is not larger.
    odds : float
        ω.
    columns, spread, degrees
        As in `quantile_of_odds`.
    """

    def excess(root: float) -> float:
        other = root * root
        quantile = quantile_of_odds(
            probability, other, columns=columns, spread=spread, degrees=degrees
        )
        return quantile - odds

    if excess(0.0) >= 0.0:
        return 0.0
    end = np.sqrt(odds) + np.sqrt(spread)
    while excess(end) < 0.0:
        end *= 2.0
    return float(brentq(excess, 0.0, end, xtol=1e-13 * end, rtol=1e-12)) ** 2
