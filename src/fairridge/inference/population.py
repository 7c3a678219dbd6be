"""How unfair a fitted model is in the population that its rows came from.

The model is fixed: only the rows on which its scores are evaluated differ
between the sample and the population, in S and X, not in y. With h = Sα, t = Uβ
and T = E[t²], a row moves the odds ω = E[h²]/T of R² on S by

    φ_ω = (h² + 2ht − ωt²)/T = φ_ρ/(1 − ρ)²,  ρ = ω/(1 + ω),

in which h² is the row's part in Σ_S, 2ht that in B, and t² that in Σ_U. On the
scale of √ω that is φ_ω/(2√ω), whose variance c does not depend on ω much; the
limits follow from the noncentral χ² of `certificate`, with Student's quantile for that of
the normal distribution, as c is estimated with ν degrees of freedom.

- A bound that binds holds in the sample, whose ω is then the same in every sample.
  Errors add to what S explains: ω of the population is larger on average, by qc.
- Without one, the odds of the sample vary about those of the population, and they
  are the larger ones on average, by qc. Odds below the upper quantile of cχ²_q cannot
  be distinguished from zero.
- At r = 0, h = 0, and n·ω is a sum of q squares with unequal variances, for which
  Satterthwaite's multiple of a χ² stands.

Given controls, h and t are those of residuals on the controls: the coefficients of these
regressions move neither E[h²] nor T nor E[ht] to first order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import norm, t

from fairridge._arrays import DeviceConstants
from fairridge._typing import Floats
from fairridge.inference.certificate import odds_behind, quantile_of_odds
from fairridge.inference.estimates import Interval, check_probability
from fairridge.inference.given import Given
from fairridge.inference.rows import RowsOfModel, over_predictors
from fairridge.inference.scores import share_of


@dataclass(frozen=True)
class Explaining(DeviceConstants):
    """How much of h each row explains: its squares give degrees of freedom; see `scores`."""

    frequency: bool  # whether a row of weight w stands for w identical rows
    given: Given  # the model given its controls

    def direct(self, at: RowsOfModel) -> Floats:
        """Return w h² of each row, or h², summed over linear predictors."""
        h = self.given.seen(at).h
        explained = over_predictors(h * h)
        return explained if self.frequency else at.rows.weight * explained


@dataclass(frozen=True)
class Population:
    """What the sample shows of R² on S in the population."""

    odds: float  # ω in the sample
    spread: float  # c
    columns: float  # q times the number of linear predictors, or degrees of freedom at r = 0
    degrees: float  # ν = (Σa)²/Σa² − 1, but at least 1, if that is less than those of the rows
    binds: bool  # whether the sample has these odds because of a bound

    def unfairness(self, confidence: float) -> Interval:
        """Return R² on S in the population, with an interval."""
        check_probability("confidence", confidence)
        if not np.isfinite(self.odds) or self.spread == 0.0:
            share = share_of(self.odds)
            return Interval(share, share, share, confidence)
        tail = 0.5 - confidence / 2.0
        wider = float(t.isf(tail, self.degrees) / norm.isf(tail)) ** 2
        known = {"columns": self.columns, "spread": wider * self.spread}
        drift = self.columns * self.spread
        if self.binds:
            ends = [quantile_of_odds(end, self.odds, **known) for end in (tail, 1.0 - tail)]
            middle = self.odds + drift
        else:
            ends = [odds_behind(end, self.odds, **known) for end in (1.0 - tail, tail)]
            ends[1] = max(ends[1], quantile_of_odds(1.0 - tail, 0.0, **known))
            middle = max(self.odds - drift, 0.0)
        return Interval(share_of(middle), share_of(ends[0]), share_of(ends[1]), confidence)


def fair_spread(covariance: Floats) -> tuple[float, float]:
    """Return c and q of the multiple of χ² with the mean and variance of ω at r = 0."""
    # The covariance is that of α, times Σ_S/T: its eigenvalues are the variances whose squares add
    # up.
    first, second = float(np.trace(covariance)), float(np.trace(covariance @ covariance))
    return (second / first, first * first / second) if second > 0.0 else (0.0, 1.0)
