"""Cox's model on rows that come by decreasing time, some at a time.

At an event the risk set is every row that came before, or with it. With
r = w e^η, what a batch must know of the rows before it is R = Σr, R₁ = Σrz and
R₂ = Σrzzᵀ. Its own events then add, with H = Σ mass/risk over them,

    gradient  Zᵀg + 2H R₁,    Hessian  Zᵀdiag(c)Z + 2H R₂ − 2Σ mass·z̄z̄ᵀ,

where g and c are the derivatives within the batch and z̄ the mean of z over the
whole risk set. So one sweep gives what all rows at once would.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairridge._typing import Floats
from fairridge.families.risk_sets import CoxTerms, Ties
from fairridge.families.sums import FamilyFunction, GLMSums

__all__ = ["BaselineHazard", "BaselineSweep", "CoxSweep"]


@dataclass(frozen=True)
class _Chunk:
    """Rows whose ties are all here: response, columns [1, z], η and weights."""

    y: Floats
    Z: Floats
    eta: Floats
    weight: Floats

    def __getitem__(self, rows: slice) -> _Chunk:
        return _Chunk(self.y[rows], self.Z[rows], self.eta[rows], self.weight[rows])

    def after(self, other: _Chunk) -> _Chunk:
        """Return other rows, then these."""
        pairs = ((other.y, self.y), (other.Z, self.Z), (other.eta, self.eta))
        y, Z, eta = (np.concatenate(pair) for pair in pairs)
        return _Chunk(y, Z, eta, np.concatenate([other.weight, self.weight]))


class _Sweep:
    """Holds rows back until all that share their time have come."""

    def __init__(self) -> None:
        self._waiting: _Chunk | None = None

    def add(self, y: Floats, Z: Floats, eta: Floats, weight: Floats) -> None:
        """Take the next rows."""
        chunk = _Chunk(y, Z, eta, weight)
        if self._waiting is not None:
            chunk = chunk.after(self._waiting)
        time = chunk.y[:, 0]
        if (np.diff(time) > 0).any():
            row = int(np.argmax(np.diff(time) > 0))
            raise ValueError(
                f"a Cox model needs rows in order of decreasing time, but {time[row]:g} is "
                f"followed by {time[row + 1]:g}; sort the files by time, descending."
            )
        cut = int(np.argmax(time == time[-1]))
        if cut:
            self._sum(chunk[:cut])
        self._waiting = chunk[cut:]

    def _end(self) -> None:
        if self._waiting is not None:
            self._sum(self._waiting)
            self._waiting = None

    def _sum(self, chunk: _Chunk) -> None:
        raise NotImplementedError


class CoxSweep(_Sweep):
    """Sums the deviance and its derivatives.

    Parameters
    ----------
    ties : {"breslow", "efron"}
        How events at the same time are treated.
    order : int
        0 for the deviance, 1 with its gradient, 2 with its Hessian.
    """

    def __init__(self, ties: Ties, order: int) -> None:
        super().__init__()
        self._ties = ties
        self._order = order
        self._shift = -np.inf
        self._risk = 0.0
        self._first: Floats | float = 0.0
        self._second: Floats | float = 0.0
        self._deviance = 0.0
        self._gradient: Floats | float = 0.0
        self._hessian: Floats | float = 0.0

    def _sum(self, chunk: _Chunk) -> None:
        terms = CoxTerms.of(
            self._ties, chunk.y, chunk.eta[:, 0], chunk.weight, self._risk, self._shift
        )
        self._deviance += terms.deviance
        Z, hazard = chunk.Z, 2.0 * terms.hazard
        if self._order > 0:
            self._gradient = self._gradient + terms.gradient @ Z + hazard * self._first
        if self._order > 1:
            own = (Z * terms.curvature[:, None]).T @ Z - terms.coupling(Z, self._first)
            self._hessian = self._hessian + own + hazard * self._second
        self._rescale(terms.shift)
        r = chunk.weight * np.exp(chunk.eta[:, 0] - terms.shift)
        if self._order > 1:
            self._second = self._second + (Z * r[:, None]).T @ Z
        self._first = self._first + r @ Z
        self._risk += float(r.sum())

    def _rescale(self, shift: float) -> None:
        """Express what is known of earlier rows in units of e^shift."""
        factor = float(np.exp(self._shift - shift))
        self._risk, self._shift = self._risk * factor, shift
        self._first, self._second = self._first * factor, self._second * factor

    def finish(self) -> GLMSums:
        """Return the sums over all rows."""
        self._end()
        gradient, hessian = np.asarray(self._gradient), np.asarray(self._hessian)
        return GLMSums(
            self._deviance,
            gradient.reshape(1, -1),
            hessian[None, :, None, :] if self._order > 1 else None,
        )


class BaselineHazard(FamilyFunction):
    """Event times and the log of Breslow's H₀ there, as a function of all rows or in a sweep."""

    def __call__(self, y: Floats, eta: Floats, weight: Floats) -> Floats:
        """Return two rows: times, increasing, and log hazards."""
        return np.vstack(self.family.baseline_hazard(y, eta, weight))

    def sweep(self) -> BaselineSweep:
        """Start a sweep over rows by decreasing time."""
        return BaselineSweep()


class BaselineSweep(_Sweep):
    """Collects what the baseline hazard adds at each event time."""

    def __init__(self) -> None:
        super().__init__()
        self._risk, self._shift = 0.0, -np.inf
        self._jumps: list[tuple[Floats, Floats]] = []

    def _sum(self, chunk: _Chunk) -> None:
        eta = chunk.eta[:, 0]
        terms = CoxTerms.of("breslow", chunk.y, eta, chunk.weight, self._risk, self._shift)
        self._jumps.append(terms.jumps(chunk.y))
        own = float(chunk.weight @ np.exp(eta - terms.shift))
        self._risk = self._risk * float(np.exp(self._shift - terms.shift)) + own
        self._shift = terms.shift

    def finish(self) -> Floats:
        """Return two rows: times, increasing, and log hazards."""
        self._end()
        times, jumps = (np.concatenate(parts)[::-1] for parts in zip(*self._jumps, strict=True))
        return np.vstack([times, np.logaddexp.accumulate(jumps)])
