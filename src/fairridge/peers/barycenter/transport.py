"""Maps of the groups' predictions to their Wasserstein barycenter.

The barycenter of distributions on the line has the mean of their quantile
functions as its quantile function, Q̄ = Σ p_g Q_g. Empirical distributions have
atoms, and the atom v of group g covers the interval from P_g(< v) to P_g(≤ v).
It is mapped to the mean of Q̄ over that interval: ties need no jitter, and the
mapped groups have exactly the same mean, that of all predictions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairridge._typing import Floats, Integers

# Predictions that differ by less than this, relative to their spread, are equal but for rounding.
TIE = 1e-10


@dataclass(frozen=True)
class Transport:
    """A nondecreasing map from one group's predictions to the barycenter."""

    support: Floats  # distinct predictions of the group in training, increasing, of shape (m,)
    image: Floats  # where they go, of shape (m,)

    def __call__(self, values: Floats) -> Floats:
        """Map predictions: linear between those of training, constant beyond them."""
        return np.interp(values, self.support, self.image)


def barycenter_maps(
    values: Floats, codes: Integers, weight: Floats, n_groups: int
) -> tuple[Transport, ...]:
    """Return the map of every group."""
    # Groups are coded 0 to n_groups − 1, each with rows; weights are positive.
    center = float(np.average(values, weights=weight))
    tie = TIE * float(np.abs(values - center).max()) + 1e-15 * abs(center)
    share = np.bincount(codes, weights=weight, minlength=n_groups) / weight.sum()
    supports, probabilities, integrals = [], [], []
    for g in range(n_groups):
        inside = codes == g
        support, mass = _atoms(values[inside], weight[inside], tie)
        below = np.concatenate([[0.0], np.cumsum(mass)])
        supports.append(support)
        probabilities.append(below / below[-1])
        # ∫Q_g from 0 to each probability; Q_g is constant between them, so this is all of it.
        moment = np.cumsum((support - center) * mass)
        integrals.append(np.concatenate([[0.0], moment]) / below[-1])

    def integral(u: Floats) -> Floats:
        """∫Q̄ from 0 to u."""
        parts = [share[g] * np.interp(u, probabilities[g], integrals[g]) for g in range(n_groups)]
        return np.sum(parts, axis=0)

    return tuple(
        # The image is nondecreasing but for rounding.
        Transport(
            support,
            center + np.maximum.accumulate(np.diff(integral(ends)) / np.diff(ends)),
        )
        for support, ends in zip(supports, probabilities, strict=True)
    )


def _atoms(values: Floats, weight: Floats, tie: float) -> tuple[Floats, Floats]:
    """Return distinct values and their weights, rounding apart."""
    order = np.argsort(values, kind="stable")
    values, weight = values[order], weight[order]
    starts = np.flatnonzero(np.append(True, np.diff(values) > tie))
    mass = np.add.reduceat(weight, starts)
    return np.add.reduceat(weight * values, starts) / mass, mass
