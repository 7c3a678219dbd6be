"""Cox's model on rows that come by decreasing time, some at a time.

At an event the risk set is every row that came before, or with it. With
r = w e^η, what a batch must know of the rows before it is R = Σr, R₁ = Σrz and
R₂ = Σrzzᵀ. Its own events then add, with H = Σ mass/risk over them,

    gradient  Zᵀg + 2H R₁,    Hessian  Zᵀdiag(c)Z + 2H R₂ − 2Σ mass·z̄z̄ᵀ,

where g and c are the derivatives within the batch and z̄ the mean of z over the
whole risk set. So one sweep gives what all rows at once would.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from fairridge._typing import Floats
from fairridge.families.risk_sets import CoxTerms, Ties
from fairridge.families.sums import FamilyFunction, GLMSums


class Sweep(ABC):
    """Holds rows back until all that share their time have come."""

    def __init__(self, ties: Ties) -> None:
        self._ties = ties
        self._waiting: tuple[Floats, ...] = ()
        self._risk, self._shift = 0.0, -np.inf  # R of the rows so far is risk·e^shift

    def add(self, *rows: Floats) -> None:
        """Take response, columns [1, z], η and weights of the next rows."""
        if self._waiting:
            rows = tuple(map(np.concatenate, zip(self._waiting, rows, strict=True)))
        time = rows[0][:, 0]
        rises = np.diff(time) > 0
        if rises.any():
            row = int(np.argmax(rises))
            raise ValueError(
                f"a Cox model needs rows in order of decreasing time, but {time[row]:g} is "
                f"followed by {time[row + 1]:g}; sort the files by time, descending."
            )
        cut = int(np.argmax(time == time[-1]))
        if cut:
            self._sum(*(part[:cut] for part in rows))
        self._waiting = tuple(part[cut:] for part in rows)

    def _sum(self, y: Floats, Z: Floats, eta: Floats, weight: Floats) -> None:
        """Sum up rows whose ties are all here."""
        terms = CoxTerms.of(self._ties, y, eta[:, 0], weight, self._risk, self._shift)
        factor = float(np.exp(self._shift - terms.shift))
        r = weight * np.exp(eta[:, 0] - terms.shift)
        self._take(terms, y, Z, r, factor)
        self._risk, self._shift = self._risk * factor + float(r.sum()), terms.shift

    @abstractmethod
    def _take(self, terms: CoxTerms, y: Floats, Z: Floats, r: Floats, factor: float) -> None:
        """Add the terms of some rows; the scale of earlier rows changes by the factor."""

    def finish(self) -> Any:
        """Return the result for all rows."""
        if self._waiting:
            self._sum(*self._waiting)
        return self._result()

    @abstractmethod
    def _result(self) -> Any:
        """Return what has been added up."""


class CoxSweep(Sweep):
    """Sums the deviance and its derivatives, to `GLMSums`."""

    # The order is 0 for the deviance, 1 with its gradient, 2 with its Hessian.

    def __init__(self, ties: Ties, order: int) -> None:
        super().__init__(ties)
        self._order = order
        self._deviance = 0.0
        self._first = self._second = np.zeros(())  # R₁ and R₂, in the scale of R
        self._gradient = self._hessian = np.zeros(())

    def _take(self, terms: CoxTerms, y: Floats, Z: Floats, r: Floats, factor: float) -> None:
        self._deviance += terms.deviance
        hazard = 2.0 * terms.hazard
        if self._order > 0:
            self._gradient = self._gradient + terms.gradient @ Z + hazard * self._first
        if self._order > 1:
            within = (Z * terms.curvature[:, None]).T @ Z - terms.coupling(Z, self._first)
            self._hessian = self._hessian + within + hazard * self._second
            self._second = self._second * factor + (Z * r[:, None]).T @ Z
        self._first = self._first * factor + r @ Z

    def _result(self) -> GLMSums:
        hessian = self._hessian[None, :, None, :] if self._order > 1 else None
        return GLMSums(self._deviance, self._gradient.reshape(1, -1), hessian)


class BaselineHazard(FamilyFunction):
    """Event times and the log of Breslow's H₀ there, as a function of all rows or in a sweep."""

    def __call__(self, y: Floats, eta: Floats, weight: Floats) -> Floats:
        """Return two rows: times, increasing, and log hazards."""
        return np.vstack(self.family.baseline_hazard(y, eta, weight))

    def sweep(self) -> Sweep:
        """Start a sweep over rows by decreasing time, with the same result."""
        return _BaselineSweep("breslow")


class _BaselineSweep(Sweep):
    """Collects what the baseline hazard adds at each event time."""

    def __init__(self, ties: Ties) -> None:
        super().__init__(ties)
        self._jumps: list[tuple[Floats, Floats]] = []

    def _take(self, terms: CoxTerms, y: Floats, Z: Floats, r: Floats, factor: float) -> None:
        self._jumps.append(terms.jumps(y))

    def _result(self) -> Floats:
        times, jumps = (np.concatenate(parts)[::-1] for parts in zip(*self._jumps, strict=True))
        return np.vstack([times, np.logaddexp.accumulate(jumps)])
