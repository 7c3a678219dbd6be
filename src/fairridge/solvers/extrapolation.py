"""Extrapolation by polynomials through the last of some values."""

from __future__ import annotations

import numpy as np

from fairridge._typing import Floats

# How much larger errors of the values may become.
MAGNIFIED = 1000.0


def extrapolation(places: Floats, to: float) -> Floats:
    """Return weights of the last values, for the polynomial through them.

    Of values that lie close together, relative to how far away `to` is, only
    as many are used as magnify errors little.

    Parameters
    ----------
    places : ndarray of shape (k,)
        Where the values are; all different.
    to : float
        Where to evaluate the polynomial.
    """
    for first in range(len(places) - 1):
        x = places[first:]
        same = np.eye(len(x), dtype=bool)
        gaps, above = np.where(same, 1.0, x[:, None] - x), np.where(same, 1.0, to - x)
        weights: Floats = (above / gaps).prod(axis=1)
        if np.abs(weights).sum() <= MAGNIFIED:
            return weights
    return np.ones(1)
