"""Cox's proportional hazards model for right-censored times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn, get_args

import numpy as np

from fairridge._typing import Floats
from fairridge.arguments import check_option
from fairridge.families.base import Family
from fairridge.families.cox_sweep import CoxSweep
from fairridge.families.distances import AbsoluteDifference
from fairridge.families.risk_sets import CoxTerms, RiskSets, Ties
from fairridge.families.sums import RowSums


@dataclass(frozen=True)
class CoxDistance:
    """d = |Δtime|·|Δstatus|: pairs of one event and one censored row."""

    # For a 0/1 status these are all pairs less the pairs within each status.

    def form(self, S: Floats, y: Floats, v: Floats) -> Floats:
        """Return M for times and events y of shape (n, 2)."""
        within = AbsoluteDifference()
        total = within.form(S, y[:, :1], v)
        for status in (0.0, 1.0):
            rows = y[:, 1] == status
            if rows.any():
                total -= within.form(S[rows], y[rows, :1], v[rows])
        return total


@dataclass(frozen=True)
class Cox(Family):
    """Hazard h(t) = h₀(t)e^η, with deviance −2 log partial likelihood.

    Parameters
    ----------
    ties : {"breslow", "efron"}
        How events at the same time are treated. With Efron's formula an event
        of weight m is not the same as m repeated events, which are ties.

    See Also
    --------
    fairridge.FairRidgeSurvival : Fits it.

    References
    ----------
    .. [1] Cox (1972), Regression models and life-tables, Journal of the Royal Statistical
        Society B 34, 187–220.
    .. [2] "Other responses" in docs/model.md.

    Examples
    --------
    >>> from fairridge.families import Cox
    >>> print(Cox(ties="efron").reads)
    times
    """

    ties: Ties = "breslow"
    name = "cox"
    reads = "times"
    link = "identity"
    has_intercept = False
    separable = False
    share = "variance"
    distance = CoxDistance()

    @property
    def ratio(self) -> str:
        """A ratio of hazards."""
        return "hazard ratio"

    def __post_init__(self) -> None:
        check_option("ties", self.ties, get_args(Ties))

    def initial_intercepts(self, y: Floats, weight: Floats, offset: Floats | None) -> Floats:
        """Return 0: the partial likelihood has no intercept."""
        return np.zeros(1)

    def mean(self, eta: Floats) -> Floats:
        """Return the linear predictor itself, the log hazard ratio."""
        return eta

    def means(
        self,
        among: tuple[tuple[int, int], ...] | None,
        reference: tuple[float, ...] | None = None,
        *,
        totals: bool = False,
    ) -> NoReturn:
        """Refuse: hazards are relative to those of others."""
        raise ValueError("a cox model predicts no means: use definition='statistical-parity'.")

    def deviance_terms(self, y: Floats, eta: Floats, weight: Floats, order: int) -> RowSums:
        """Return the deviance and its derivatives in η.

        With r = w e^η and R_k the sum of r over the risk set of the k-th event
        time, D = −2 Σ_k (Σ_{events} wη − d_k log R_k) for Breslow's ties. For
        Efron's, the j-th of m tied events, j = 0, …, m − 1, sees R_k − (j/m)
        times the sum of r over the tied events and counts with their mean
        weight. m is the number of rows, not the sum of their weights, as in R
        survival.
        """
        terms = CoxTerms.of(self.ties, y, eta[:, 0], weight, sets=self.sets)
        if order == 0:
            return RowSums(terms.deviance)
        gradient = terms.gradient[:, None]
        if order == 1:
            return RowSums(terms.deviance, gradient)
        return RowSums(terms.deviance, gradient, terms.curvature[:, None, None], terms.coupling)

    @property
    def sets(self) -> RiskSets | None:
        """Risk sets, if the rows are known; see `on`."""
        return None

    def on(self, y: Floats) -> Cox:
        """Return the family for these responses alone, with their risk sets found once."""
        return _CoxOnRows(self.ties, sets=RiskSets.of(y))

    def sweep(self, order: int) -> CoxSweep:
        """Start a sweep over rows that come by decreasing time."""
        return CoxSweep(self.ties, order)

    def baseline_hazard(self, y: Floats, eta: Floats, weight: Floats) -> tuple[Floats, Floats]:
        """Return distinct event times, increasing, and the log of Breslow's H₀ there."""
        terms = CoxTerms.of("breslow", y, eta[:, 0], weight, sets=self.sets)
        times, increments = terms.jumps(y)
        return times[::-1], np.logaddexp.accumulate(increments[::-1])


@dataclass(frozen=True)
class _CoxOnRows(Cox):
    """The model of given rows."""

    sets: RiskSets | None = None
