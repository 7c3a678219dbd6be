"""Bets against "S explains at most r of a score", on rows as they come.

With f the score, h = sᵀa for a direction a, and both of variance 1, R² of f on
S is at most r only if for every a

    COV(h, f) − (√r/2)(VAR(h) + VAR(f)) ≤ 0

(Cauchy–Schwarz, then the inequality of means). In m independent rows
Σ(h − h̄)(f − f̄), and the sums of squares likewise, are unbiased for m − 1 times
the covariance and the variances, so that

    d = Σ(h − h̄)(f − f̄) − (√r/2)(Σ(h − h̄)² + Σ(f − f̄)²)   has E(d) ≤ 0.

A gambler who stakes a share of the wealth on d multiplies it by 1 + σd ≥ 0. With
a, the scales and σ taken from earlier rows only, this has an expectation of at
most 1 (Chugg, Cortes-Gomez, Wilder and Ramdas 2023 for two groups). Given
controls, h and f are residuals of regressions on the controls, which earlier
rows tell too. Of several scores, each with its h, d is the sum: the bound is on
their joint share, and Cauchy–Schwarz holds for sums of products, too.

One part w_j of a wealth of 1 is set aside for a gambler who starts at bet j, for
every j, with Σw_j = 1 and w_j about 1/(j log²j). What all gamblers have, and what
is still set aside, make up

    M_t = A_t + Σ_{j>t} w_j,   A_t = (1 + σ_t d_t)(A_{t−1} + w_t),

whose expectation never grows while the bound holds, so that it ever reaches 1/α
with a probability of at most α (Ville's inequality). After a change at bet j the
gamblers who start there have lost nothing before: that costs log(1/w_j), and not
what years under the bound have cost the others (Shin, Ramdas and Rinaldo 2024).
The wealth is divided between stakes, and between memories that are long and short.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from fairridge._arrays import LARGEST_EXPONENT
from fairridge._typing import Floats

# Rows of a bet, and bets between two looks at what was learned.
BET_ROWS, BETS_PER_LOOK = 8, 8
# Looks before the first bet: one to learn a direction, one to see what it may lose.
WARM_UP = 2
# Rows after which what was learned counts half: a long and a short memory.
HALF_LIVES = (np.inf, 2000.0)
# The stakes of different gamblers, as parts of the largest.
STAKES = 0.5 ** np.arange(5)
# Part of the wealth that the largest stake may cost, if losses have a limit...
LARGEST_LOSS = 0.9
# ...and that the largest loss so far would cost, if they have none. Two rows that are twelve
# standard deviations apart lose about this much, in units of the variance of the score.
USUAL_LOSS, MIN_WORST_LOSS = 0.5, 4.0
# Of correlations, for columns that are collinear.
RIDGE = 1e-6
# What is left of a wealth that is lost.
LEAST_FACTOR = 1e-12


@dataclass(frozen=True)
class StreamColumns:
    """What the columns of a stream are: controls, S, and scores."""

    n_controls: int
    attributes: tuple[slice, ...]  # the columns of each sensitive attribute
    reach: Floats  # how far two rows can be apart, by column; infinity if that is unknown
    n_scores: int = 1

    @property
    def n_columns(self) -> int:
        """Controls, S and scores."""
        return len(self.reach)

    @property
    def limited(self) -> bool:
        """Whether what a bet may lose is known before."""
        return self.n_controls == 0 and bool(np.isfinite(self.reach).all())

    def range_of(self, direction: Floats) -> float:
        """Return how far apart two rows can be in a direction of S; one level excludes others."""
        ends = (np.append(direction[own] * self.reach[own], 0.0) for own in self.attributes)
        return float(sum(np.ptp(values) for values in ends))


@dataclass(frozen=True)
class EProcess:
    """What gamblers have learned and won, all of it numbers."""

    log_wealths: Floats  # log A of each gambler, of shape (memories, stakes)
    # log M, and the largest that it ever was.
    log_wealth: float
    largest: float
    products: Floats  # sums of centered products of columns, of shape (memories, k, k)
    counts: Floats  # what to divide them by, of shape (memories,)
    worst: Floats  # the largest loss that a bet would have had, of shape (memories,)
    # Times at which products were added, and bets that lost more than gamblers had.
    looks: int
    surprises: int
    # Sums Σ w(1, z)(1, z)ᵀ of rows z for bets that are still to be placed; of shape (bets, k+1,
    # k+1).
    waiting: Floats
    size: int  # rows in the last of these
    weighted: bool  # whether rows had different weights

    @classmethod
    def new(cls, k: int) -> EProcess:
        """Return a wealth of 1, before anything was seen of k columns."""
        memories = len(HALF_LIVES)
        return cls(
            np.full((memories, len(STAKES)), -LARGEST_EXPONENT),  # as JSON writes log 0
            0.0,
            0.0,
            np.zeros((memories, k, k)),
            np.zeros(memories),
            np.zeros(memories),
            0,
            0,
            np.zeros((1, k + 1, k + 1)),
            0,
            False,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return numbers and lists by name."""
        return {item.name: np.asarray(getattr(self, item.name)).tolist() for item in fields(self)}

    @classmethod
    def from_dict(cls, state: dict[str, Any], k: int) -> EProcess:
        """Read what `to_dict` wrote; raise KeyError if it is not that of k columns."""
        new = cls.new(k)
        found: dict[str, Any] = {}
        for item in fields(cls):
            own = np.asarray(getattr(new, item.name))
            value = np.asarray(state[item.name], dtype=np.float64)
            # Any number of bets may wait.
            first = 1 if item.name == "waiting" else 0
            if value.shape[first:] != own.shape[first:] or not np.isfinite(value).all():
                raise KeyError(item.name)
            found[item.name] = value.astype(own.dtype) if own.ndim else own.dtype.type(value).item()
        if not 1 <= len(found["waiting"]) <= BETS_PER_LOOK:
            raise KeyError("waiting")
        return cls(**found)


@dataclass(frozen=True)
class Directions:
    """Where gamblers look: coefficients of h and f, by memory and score."""

    h: Floats
    f: Floats


def add_rows(
    process: EProcess, columns: StreamColumns, r: float, values: Floats, weight: Floats
) -> EProcess:
    """Look at more rows, in their order."""
    weighted = process.weighted or bool((weight != 1.0).any())
    process = replace(process, weighted=weighted)
    ones = np.column_stack([np.ones(len(values)), values])
    place = 0
    while place < len(ones):
        last = place + BETS_PER_LOOK * BET_ROWS - _held(process)
        process = _with_waiting(process, ones[place:last], weight[place:last])
        if _held(process) == BETS_PER_LOOK * BET_ROWS:
            process = _look(process, columns, r)
        place = last
    return process


def _held(process: EProcess) -> int:
    """Return the number of rows that wait."""
    return BET_ROWS * (len(process.waiting) - 1) + process.size


def _with_waiting(process: EProcess, ones: Floats, weight: Floats) -> EProcess:
    """Add rows to the sums that wait, in their order, so that no batch differs from another."""
    products = weight[:, None, None] * (ones[:, :, None] * ones[:, None, :])
    # The last sum is one more term of its bet.
    terms = np.concatenate([process.waiting[-1:], products])
    starts = np.append(0, np.arange(BET_ROWS - process.size + 1, len(terms), BET_ROWS))
    sums = np.add.reduceat(terms, starts, axis=0)
    held = _held(process) + len(ones)
    waiting = np.concatenate([process.waiting[:-1], sums])
    return replace(process, waiting=waiting, size=held - BET_ROWS * (len(waiting) - 1))


def _look(process: EProcess, columns: StreamColumns, r: float) -> EProcess:
    """Place all bets that wait, and learn from their rows."""
    total = process.waiting[:, 0, 0]
    sums = process.waiting[:, 0, 1:]
    # W Σw(z − z̄)(z − z̄)ᵀ/m, a sum over pairs of rows with the products of their weights.
    scatters = (
        total[:, None, None] * process.waiting[:, 1:, 1:] - sums[:, :, None] * sums[:, None, :]
    )
    scatters = scatters / BET_ROWS
    worst = process.worst
    if process.looks >= 1:
        there = directions(process, columns)
        gains = _gains(there, scatters, r)
        if process.looks >= WARM_UP:
            process = _bet(process, gains, _largest_losses(process, columns, there, r))
        worst = np.maximum(worst, (-gains).max(axis=0))
    kept = 0.5 ** (BETS_PER_LOOK * BET_ROWS / np.array(HALF_LIVES))
    return replace(
        process,
        products=kept[:, None, None] * process.products + scatters.sum(axis=0),
        counts=kept * process.counts + float(total @ total) * (BET_ROWS - 1) / BET_ROWS**2,
        worst=worst,
        looks=process.looks + 1,
        waiting=np.zeros_like(process.waiting[:1]),
        size=0,
    )


def directions(process: EProcess, columns: StreamColumns) -> Directions:
    """Regress scores on S, and both on the controls; all h, and all f, then have the variance 1."""
    k, m = columns.n_columns, columns.n_scores
    C, S, Y = slice(0, columns.n_controls), slice(columns.n_controls, k - m), slice(k - m, k)
    h, f = np.zeros((len(HALF_LIVES), m, k)), np.zeros((len(HALF_LIVES), m, k))
    for one, (products, count) in enumerate(zip(process.products, process.counts, strict=True)):
        covariance = products / count
        # Of a level that no row has had yet the variance is 0 up to rounding.
        spread = np.sqrt(np.maximum(np.diag(covariance), 0.0))
        spread = np.where(spread > 0.0, spread, 1.0)
        R = covariance / np.outer(spread, spread)
        ridged = R[:-m, :-m] + RIDGE * np.eye(k - m)
        sizes = spread[Y] / np.linalg.norm(spread[Y])
        h[one, :, S] = (np.linalg.solve(ridged, R[:-m, Y])[S] * sizes).T
        f[one, :, Y] = np.diag(sizes)
        for residuals in (h[one], f[one]):
            if columns.n_controls:
                residuals[:, C] = -np.linalg.solve(ridged[C, C], R[C] @ residuals.T).T
            variance = float(np.einsum("ai,ij,aj->", residuals, R, residuals))
            residuals /= spread * (np.sqrt(variance) if variance > RIDGE else 1.0)
    return Directions(h, f)


def _gains(there: Directions, scatters: Floats, r: float) -> Floats:
    """Return d of every bet (rows) and memory (columns)."""
    hf, hh, ff = (
        np.einsum("lai,bij,laj->bl", left, scatters, right)
        for left, right in ((there.h, there.f), (there.h, there.h), (there.f, there.f))
    )
    return hf - np.sqrt(r) / 2.0 * (hh + ff)


def _largest_losses(
    process: EProcess, columns: StreamColumns, there: Directions, r: float
) -> Floats:
    """Return what a bet of each memory may lose, divided by the part that may be lost."""
    # With h and f within ranges H and F, Σ(h − h̄)² ≤ mH²/4, and so on. Without limits it is the
    # largest loss before.
    if not columns.limited or process.weighted:
        return np.maximum(process.worst, MIN_WORST_LOSS) / USUAL_LOSS
    H = np.array([[columns.range_of(direction) for direction in each] for each in there.h])
    F = np.abs(there.f) @ columns.reach
    losses = H * F + np.sqrt(r) / 2.0 * (H * H + F * F)
    return BET_ROWS / 4.0 * losses.sum(axis=1) / LARGEST_LOSS


def _bet(process: EProcess, gains: Floats, losses: Floats) -> EProcess:
    """Multiply the wealths, one bet after the other."""
    # With C_t = Π_{i≤t} (1 + σd_i), A_t = C_t (A_0 + Σ_{i≤t} w_i/C_{i−1}).
    factors = 1.0 + gains[:, :, None] * (STAKES / np.maximum(losses, LEAST_FACTOR)[:, None])
    surprises = int((factors <= 0.0).any(axis=(1, 2)).sum())
    grown = np.cumprod(np.maximum(factors, LEAST_FACTOR), axis=0)
    before = np.concatenate([np.ones_like(grown[:1]), grown[:-1]])
    first = (process.looks - WARM_UP) * BETS_PER_LOOK
    aside = set_aside(np.arange(first, first + len(gains) + 1))
    started = np.cumsum((aside[:-1] - aside[1:])[:, None, None] / before, axis=0)
    wealths = np.log(grown) + np.logaddexp(process.log_wealths, np.log(started))
    highest = wealths.max(axis=(1, 2))
    mean = highest + np.log(np.exp(wealths - highest[:, None, None]).mean(axis=(1, 2)))
    totals = np.logaddexp(mean, np.log(aside[1:]))
    return replace(
        process,
        log_wealths=wealths[-1],
        log_wealth=float(totals[-1]),
        largest=max(process.largest, float(totals.max())),
        surprises=process.surprises + surprises,
    )


def set_aside(bets: Any) -> Floats:
    """Return what is left for gamblers who start after so many bets: 1/log₂(j + 2)."""
    return 1.0 / np.log2(np.asarray(bets) + 2.0)
