"""Cox's proportional hazards model for right-censored times."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fairridge.engines import AbsoluteDifference, Distance
from fairridge.families.base import RowSums, Share

__all__ = ["Cox", "CoxDistance"]

Floats = NDArray[np.float64]
Integers = NDArray[np.intp]


@dataclass(frozen=True)
class CoxDistance:
    """d = |Δtime|·|Δstatus|: pairs of one event and one censored row.

    For a 0/1 status these are all pairs less the pairs within each status.
    """

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
class _RiskSets:
    """Rows in order of decreasing time, and the ends of their ties.

    Attributes
    ----------
    order : ndarray of int
        Rows by decreasing time.
    last : ndarray of int
        For each row in that order, the position of the last row with the same
        time: the risk set is everything up to there.
    group, starts, ends : ndarray of int
        Number of each row's distinct time; first and last position of each.
    """

    order: Integers
    last: Integers
    group: Integers
    starts: Integers
    ends: Integers


def _risk_sets(time: Floats) -> _RiskSets:
    order = np.argsort(-time, kind="stable")
    changes = np.flatnonzero(np.diff(time[order])) + 1
    starts = np.concatenate([[0], changes])
    ends = np.concatenate([changes, [len(time)]]) - 1
    group = np.repeat(np.arange(len(starts)), ends - starts + 1)
    return _RiskSets(order, ends[group], group, starts, ends)


@dataclass(frozen=True)
class Cox:
    """Hazard h(t) = h₀(t)e^η, with deviance −2 log partial likelihood.

    Parameters
    ----------
    ties : {"breslow", "efron"}
        How events at the same time are treated.
    """

    ties: Literal["breslow", "efron"] = "breslow"
    name = "cox"
    n_predictors = 1
    separable = False
    share: Share = "variance"

    def __post_init__(self) -> None:
        if self.ties not in ("breslow", "efron"):
            raise ValueError(f"ties={self.ties!r} is not known; use 'breslow' or 'efron'.")

    @property
    def distance(self) -> Distance:
        """Distance between responses for individual fairness: |Δtime|·|Δstatus|."""
        return CoxDistance()

    def start(self, y: Floats, weight: Floats, offset: Floats | None) -> Floats:
        """Return 0: the partial likelihood has no intercept."""
        return np.zeros(1)

    def mean(self, eta: Floats) -> Floats:
        """Return the linear predictor itself, the log hazard ratio."""
        return eta

    def by_class(self, coordinates: Floats) -> Floats:
        """Return the coefficients as they are: one linear predictor, one row."""
        return coordinates

    def by_predictor(self, coefficients: Floats) -> Floats:
        """Return the coefficients as they are."""
        return coefficients

    def loglik(self, deviance: float, y: Floats, weight: Floats, dispersion: float) -> float:
        """Return the log partial likelihood."""
        return -0.5 * deviance

    def pearson(self, y: Floats, eta: Floats, weight: Floats) -> float | None:
        """Return None: the dispersion is fixed at 1."""
        return None

    def rows(self, y: Floats, eta: Floats, weight: Floats, order: int) -> RowSums:
        """Return the deviance and its derivatives in η.

        With r = w e^η and R_k the sum of r over the risk set of the k-th event
        time, D = −2 Σ_k (Σ_{events} wη − d_k log R_k) for Breslow's ties. For
        Efron's, the j-th of m tied events sees R_k − (j/m) times the sum of r
        over the tied events.
        """
        terms = _Terms.of(self, y, eta[:, 0], weight)
        if order == 0:
            return RowSums(terms.deviance)
        gradient = terms.gradient[:, None]
        if order == 1:
            return RowSums(terms.deviance, gradient)
        return RowSums(terms.deviance, gradient, terms.curvature[:, None, None], terms.coupling)

    def baseline_hazard(self, y: Floats, eta: Floats, weight: Floats) -> tuple[Floats, Floats]:
        """Return distinct event times, increasing, and Breslow's cumulative hazard H₀ there."""
        terms = _Terms.of(Cox("breslow"), y, eta[:, 0], weight)
        used = terms.mass > 0
        times = y[terms.sets.order[terms.sets.starts[terms.event_group[used]]], 0][::-1]
        increments = (terms.mass[used] / terms.risk[used])[::-1] * np.exp(-terms.shift)
        return times, np.cumsum(increments)


def _sums(group: Integers, values: Floats, n_groups: int) -> Floats:
    return np.bincount(group, weights=values, minlength=n_groups).astype(np.float64, copy=False)


@lru_cache(maxsize=8)
def _cached_sets(key: bytes) -> _RiskSets:
    return _risk_sets(np.frombuffer(key))


@dataclass(frozen=True)
class _Terms:
    """The sums of one evaluation, one entry per denominator of the likelihood.

    Breslow has one denominator per event time; Efron one per event among ties.
    """

    sets: _RiskSets
    r: Floats  # w e^η in order of decreasing time, scaled by e^shift
    event: Floats  # 0/1 in that order
    weight: Floats
    eta: Floats
    shift: float
    event_group: Integers  # group of each denominator
    mass: Floats  # weight of the events it serves
    fraction: Floats  # share of the tied events taken out of it
    tied: Floats  # Σ r over the tied events of each group
    risk: Floats  # the denominators

    @classmethod
    def of(cls, family: Cox, y: Floats, eta: Floats, weight: Floats) -> _Terms:
        sets = _cached_sets(np.ascontiguousarray(y[:, 0]).tobytes())
        order = sets.order
        eta, weight, event = eta[order], weight[order], y[order, 1]
        shift = float(eta.max())
        r = weight * np.exp(eta - shift)
        n_groups = len(sets.starts)
        mass_of = _sums(sets.group, weight * event, n_groups)
        tied = _sums(sets.group, r * event, n_groups)
        if family.ties == "breslow":
            groups = np.flatnonzero(mass_of > 0)
            mass, fraction = mass_of[groups], np.zeros(len(groups))
        else:
            # One denominator per tied event, each with the mean weight of the ties.
            counts = _sums(sets.group, event, n_groups).astype(np.intp)
            groups = np.repeat(np.arange(n_groups), counts)
            first = np.concatenate([[0], np.cumsum(counts)[:-1]])
            rank = np.arange(len(groups)) - first[groups]
            mass, fraction = mass_of[groups] / counts[groups], rank / counts[groups]
        total = np.cumsum(r)[sets.ends]
        risk = total[groups] - fraction * tied[groups]
        return cls(sets, r, event, weight, eta, shift, groups, mass, fraction, tied, risk)

    @property
    def deviance(self) -> float:
        log_risk = np.log(self.risk) + self.shift
        return float(-2.0 * ((self.weight * self.event) @ self.eta - self.mass @ log_risk))

    def _hazards(self) -> tuple[Floats, Floats]:
        """Σ mass/risk, and Σ fraction·mass/risk, over each group's own and earlier times."""
        n_groups = len(self.sets.starts)
        ratio = self.mass / self.risk
        own = _sums(self.event_group, ratio, n_groups)
        taken = _sums(self.event_group, ratio * self.fraction, n_groups)
        # Groups run by decreasing time: earlier times are later groups.
        return np.cumsum(own[::-1])[::-1], taken

    def _row_hazard(self) -> Floats:
        """Cumulative hazard each row has been exposed to, times r."""
        cumulative, taken = self._hazards()
        group = self.sets.group
        return self.r * (cumulative[group] - self.event * taken[group])

    @property
    def gradient(self) -> Floats:
        out = np.empty_like(self.r)
        out[self.sets.order] = -2.0 * (self.weight * self.event - self._row_hazard())
        return out

    @property
    def curvature(self) -> Floats:
        out = np.empty_like(self.r)
        out[self.sets.order] = 2.0 * self._row_hazard()
        return out

    def coupling(self, Z: Floats) -> Floats:
        """2 Σ mass·z̄z̄ᵀ, z̄ the mean of Z over each denominator."""
        weighted = Z[self.sets.order] * self.r[:, None]
        events = weighted * self.event[:, None]
        tied = np.add.reduceat(events, self.sets.starts, axis=0)
        total = np.cumsum(weighted, axis=0, out=weighted)[self.sets.ends]
        groups = self.event_group
        means = total[groups] - self.fraction[:, None] * tied[groups]
        means *= (np.sqrt(2.0 * self.mass) / self.risk)[:, None]
        return means.T @ means
