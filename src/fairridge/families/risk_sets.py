"""Who was still at risk at each event: the sums behind Cox's partial likelihood."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from fairridge._typing import Floats, Integers

Ties = Literal["breslow", "efron"]

# Exponents that differ by at most this can be summed in one scale: e³⁰⁰ is far from overflow.
EXPONENT_SPAN = 300.0


@dataclass(frozen=True)
class RiskSets:
    """Rows in order of decreasing time, and the ends of their ties."""

    order: Integers  # rows by decreasing time
    # Number of each row's distinct time; first and last position of each. The risk set of a
    # time is everything up to its end.
    group: Integers
    starts: Integers
    ends: Integers

    @classmethod
    def of(cls, y: Floats) -> RiskSets:
        """Sort the rows by their times, the first column of y."""
        time = y[:, 0]
        order = np.argsort(-time, kind="stable")
        changes = np.flatnonzero(np.diff(time[order])) + 1
        starts = np.concatenate([[0], changes])
        ends = np.concatenate([changes, [len(time)]]) - 1
        group = np.repeat(np.arange(len(starts)), ends - starts + 1)
        return cls(order, group, starts, ends)


def _sums(group: Integers, values: Floats, n_groups: int) -> Floats:
    return np.bincount(group, weights=values, minlength=n_groups).astype(np.float64, copy=False)


@dataclass(frozen=True)
class _Scales:
    """e^shift for each group; groups whose largest η differ by at most EXPONENT_SPAN share one."""

    stretches: tuple[slice, ...]
    shift: Floats

    @classmethod
    def of(cls, highest: Floats) -> _Scales:
        """Divide groups by the largest η of their risk sets, which never decreases."""
        stretches, start = [], 0
        while start < len(highest):
            stop = int(np.searchsorted(highest, highest[start] + EXPONENT_SPAN, side="right"))
            stretches.append(slice(start, stop))
            start = stop
        shift = [np.full(s.stop - s.start, highest[s.stop - 1]) for s in stretches]
        return cls(tuple(stretches), np.concatenate(shift))

    def cumulated(self, values: Floats, before: Floats | float = 0.0) -> Floats:
        """Add up values of groups, each in its own scale, and what came before the first."""
        out = np.empty_like(values)
        for stretch in self.stretches:
            np.cumsum(values[stretch], axis=0, out=out[stretch])
            if stretch.start > 0:
                last = stretch.start - 1
                before = out[last] * np.exp(self.shift[last] - self.shift[stretch.start])
            out[stretch] += before
        return out

    @property
    def backward(self) -> _Scales:
        """The inverse scales, of groups in reversed order."""
        n = len(self.shift)
        stretches = tuple(slice(n - s.stop, n - s.start) for s in self.stretches[::-1])
        return _Scales(stretches, -self.shift[::-1])


@dataclass(frozen=True)
class CoxTerms:
    """The sums of one evaluation, one entry per denominator of the likelihood."""

    # Breslow has one denominator per event time; Efron one per event among ties.

    sets: RiskSets
    scales: _Scales
    r: Floats  # w e^(η − shift) in order of decreasing time
    event: Floats  # 0/1 in that order
    weight: Floats
    eta: Floats
    known: float  # e^(scale of rows with longer times − scale of the first group)
    event_group: Integers  # group of each denominator
    mass: Floats  # weight of the events it serves
    fraction: Floats  # share of the tied events taken out of it
    risk: Floats  # the denominators

    @classmethod
    def of(
        cls,
        ties: Ties,
        y: Floats,
        eta: Floats,
        weight: Floats,
        at_risk: float = 0.0,
        least_shift: float = -np.inf,
        sets: RiskSets | None = None,
    ) -> CoxTerms:
        """Sum up; `at_risk` is Σ r over rows with longer times, scaled by e^least_shift."""
        sets = sets or RiskSets.of(y)
        order, n_groups = sets.order, len(sets.starts)
        eta, weight, event = eta[order], weight[order], y[order, 1]
        scales = _Scales.of(np.maximum(np.maximum.accumulate(eta)[sets.ends], least_shift))
        known = float(np.exp(least_shift - scales.shift[0]))
        r = weight * np.exp(eta - scales.shift[sets.group])
        mass_of = _sums(sets.group, weight * event, n_groups)
        tied = _sums(sets.group, r * event, n_groups)
        if ties == "breslow":
            groups = np.flatnonzero(mass_of > 0)
            mass, fraction = mass_of[groups], np.zeros(len(groups))
        else:
            # One denominator per tied event, each with the mean weight of the ties.
            counts = _sums(sets.group, event, n_groups).astype(np.intp)
            groups = np.repeat(np.arange(n_groups), counts)
            first = np.concatenate([[0], np.cumsum(counts)[:-1]])
            rank = np.arange(len(groups)) - first[groups]
            mass, fraction = mass_of[groups] / counts[groups], rank / counts[groups]
        total = scales.cumulated(_sums(sets.group, r, n_groups), at_risk * known)
        risk = total[groups] - fraction * tied[groups]
        return cls(sets, scales, r, event, weight, eta, known, groups, mass, fraction, risk)

    @property
    def shift(self) -> float:
        """Log of the scale of the last group."""
        return float(self.scales.shift[-1])

    @property
    def deviance(self) -> float:
        """−2 log partial likelihood of these events."""
        # Relative to the largest η of each risk set, so that large η leave all digits.
        relative = self.eta - self.scales.shift[self.sets.group]
        return float(-2.0 * ((self.weight * self.event) @ relative - self.mass @ np.log(self.risk)))

    def jumps(self, y: Floats) -> tuple[Floats, Floats]:
        """Return distinct event times, decreasing, and log of what H₀ adds at each."""
        # A log, because H₀ belongs to η = 0, which may be far from every row.
        sets, used = self.sets, self.event_group[self.mass > 0]
        times = y[sets.order[sets.starts[used]], 0]
        return times, np.log((self.mass / self.risk)[self.mass > 0]) - self.scales.shift[used]

    @property
    def hazard(self) -> float:
        """Σ mass/risk: what rows with longer times are exposed to, over their r as it came."""
        return float(self._hazards()[0][0]) * self.known

    def _hazards(self) -> tuple[Floats, Floats]:
        """Σ mass/risk, and Σ fraction·mass/risk, over each group's own and earlier times."""
        n_groups = len(self.sets.starts)
        ratio = self.mass / self.risk
        at_times = _sums(self.event_group, ratio, n_groups)
        taken = _sums(self.event_group, ratio * self.fraction, n_groups)
        # Groups run by decreasing time: earlier times are later groups, with larger scales.
        return self.scales.backward.cumulated(at_times[::-1])[::-1], taken

    def _row_hazard(self) -> Floats:
        """Cumulative hazard each row has been exposed to, times r."""
        cumulative, taken = self._hazards()
        group = self.sets.group
        return self.r * (cumulative[group] - self.event * taken[group])

    @property
    def gradient(self) -> Floats:
        """Derivative of the deviance in η of each row."""
        return self._by_row(-2.0 * (self.weight * self.event - self._row_hazard()))

    @property
    def curvature(self) -> Floats:
        """Second derivative of the deviance in η, the part within each row."""
        return self._by_row(2.0 * self._row_hazard())

    def _by_row(self, values: Floats) -> Floats:
        """Undo the order of decreasing time."""
        out = np.empty_like(values)
        out[self.sets.order] = values
        return out

    def at_risk(self, Z: Floats, before: Floats | float = 0.0) -> Floats:
        """Return Σ rz over the rows of each denominator."""
        # `before` is Σ rz over rows with longer times, scaled as they came.
        weighted = Z[self.sets.order] * self.r[:, None]
        tied = np.add.reduceat(weighted * self.event[:, None], self.sets.starts, axis=0)
        within = np.add.reduceat(weighted, self.sets.starts, axis=0)
        total = self.scales.cumulated(within, before * self.known)
        groups = self.event_group
        return total[groups] - self.fraction[:, None] * tied[groups]

    def coupling(self, Z: Floats, before: Floats | float = 0.0) -> Floats:
        """2 Σ mass·z̄z̄ᵀ, z̄ the mean of Z over each denominator."""
        means = self.at_risk(Z, before)
        means *= (np.sqrt(2.0 * self.mass) / self.risk)[:, None]
        return means.T @ means
