"""Extrapolation by polynomials through the last of some values."""

from __future__ import annotations

import numpy as np

from fairridge._typing import Floats

# How much larger errors of values and slopes may become.
MAGNIFIED = 100.0


def extrapolation_along(places: Floats, to: float) -> tuple[Floats, Floats]:
    """Return weights of the last values and of their slopes, for the polynomial with both.

    That is Hermite's. As many values are used as magnify errors little, and one at least.

    Parameters
    ----------
    places : ndarray of shape (k,)
        Where the values are; all different.
    to : float
        Where to evaluate the polynomial.
    """
    for first in range(len(places)):
        x = places[first:]
        each, slopes = _lagrange(x, to)
        weights: Floats = (1.0 - 2.0 * (to - x) * slopes) * each**2
        if np.abs(weights).sum() <= MAGNIFIED:
            break
    return weights, (to - x) * each**2


def _lagrange(x: Floats, to: float) -> tuple[Floats, Floats]:
    """Return polynomials that are 1 at one place and 0 at the others, and their slopes there."""
    same = np.eye(len(x), dtype=bool)
    gaps, above = np.where(same, 1.0, x[:, None] - x), np.where(same, 1.0, to - x)
    return (above / gaps).prod(axis=1), np.where(same, 0.0, 1.0 / gaps).sum(axis=1)
