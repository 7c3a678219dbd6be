"""How far predicted survival is from what happened: the Brier score of censored times."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.integrate import trapezoid

from fairridge._typing import Floats

# Times that the score is averaged over.
SCORE_TIMES = 50


def brier_terms(
    time: Floats, event: Floats, survival: Floats, times: Floats, weight: Floats
) -> Floats:
    """Return what rows add to the Brier score at each of some times, which lie before the last."""
    # With G the Kaplan–Meier estimate of not being censored yet, the score BS(t) is the weighted
    # mean of S(t|x)² 1{T ≤ t, event}/G(T−) + (1 − S(t|x))² 1{T > t}/G(t) (Graf et al. 1999), and
    # without censoring that of (1{T > t} − S(t|x))².
    known, free = _uncensored(time, event, weight)
    before = np.where(event > 0.0, free[np.searchsorted(known, time, side="left")], 1.0)
    died = (time[:, None] <= times) & (event[:, None] > 0.0)
    alive = time[:, None] > times
    at_times = free[np.searchsorted(known, times, side="right")]
    after = np.where(alive.any(axis=0), at_times, 1.0)
    return survival**2 * died / before[:, None] + (1.0 - survival) ** 2 * alive / after


@dataclass(frozen=True)
class PredictedSurvival:
    """Times of rows, events, and the survival that was predicted for them."""

    time: Floats  # of shape (n,)
    event: Floats  # 1 for an event and 0 for censoring, of shape (n,)
    survival: Floats  # predicted S(t|x), of shape (n, m)
    times: Floats  # where it was predicted, of shape (m,)

    def take(self, rows: Any) -> PredictedSurvival:
        """Return some of the rows."""
        return replace(
            self, time=self.time[rows], event=self.event[rows], survival=self.survival[rows]
        )

    def terms(self, weight: Floats) -> Floats | None:
        """Return what rows add to the integrated score; None if all have left before its end."""
        # How often they are censored is estimated from these rows alone: of groups that are
        # censored differently the others say nothing.
        if self.time.max() <= self.times[-1] and not self.event[self.time.argmax()]:
            return None
        terms = brier_terms(self.time, self.event, self.survival, self.times, weight)
        return mean_over_times(terms, self.times)


def mean_over_times(terms: Floats, times: Floats) -> Floats:
    """Return the mean of functions of time, with values in the last axis, between its ends."""
    return np.asarray(trapezoid(terms, times) / (times[-1] - times[0]))


def times_of_events(time: Floats, event: Floats) -> Floats:
    """Return times to measure at: quantiles of the events before the last time."""
    known = np.unique(time[(event > 0.0) & (time < time.max())])
    levels = np.linspace(0.0, 1.0, SCORE_TIMES)
    return np.unique(np.quantile(known, levels)) if len(known) else known


def survival_at(times: Floats, eta: Floats, baseline: tuple[Floats, Floats]) -> Floats:
    """Return S(t|x) = exp(−H₀(t)e^η), one column per time; see `integrated_brier_score`."""
    steps = np.searchsorted(baseline[0], times, side="right")
    log_hazard = np.concatenate([[-np.inf], baseline[1]])[steps]
    return np.asarray(np.exp(-np.exp(np.minimum(eta[:, None] + log_hazard, 700.0))))


def integrated_brier_score(
    time: Floats,
    event: Floats,
    eta: Floats,
    weight: Floats,
    baseline: tuple[Floats, Floats],
) -> float:
    """Return the mean Brier score of S(t|x) = exp(−H₀(t)e^η) between the first and last events."""
    # `baseline` are event times and log H₀ there. NaN with fewer than two distinct events before
    # the last time.
    times = times_of_events(time, event)
    if len(times) < 2:
        return float("nan")
    terms = brier_terms(time, event, survival_at(times, eta, baseline), times, weight)
    return float(weight @ mean_over_times(terms, times) / weight.sum())


def _uncensored(time: Floats, event: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Return times, and the Kaplan–Meier estimate of not being censored before and after each."""
    # Events come first.
    times, codes = np.unique(time, return_inverse=True)
    lost = np.bincount(codes, weights=weight * (event == 0.0))
    died = np.bincount(codes, weights=weight * (event > 0.0))
    at_risk = np.cumsum((lost + died)[::-1])[::-1] - died
    steps = 1.0 - np.divide(lost, at_risk, out=np.zeros_like(lost), where=at_risk > 0.0)
    return times, np.concatenate([[1.0], np.cumprod(steps)])
