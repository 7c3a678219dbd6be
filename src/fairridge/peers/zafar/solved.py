"""The model at one limit on covariances, and where the next limit is."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fairridge._typing import Floats
from fairridge.peers.zafar.bounded import ModelMinimum
from fairridge.solvers import Point

__all__ = ["Solved"]


# Slope of the correlation in the limit, in logarithms, below which it does not guide.
LEAST_SLOPE = 0.02


@dataclass(frozen=True)
class Solved:
    """The model at one limit on covariances.

    Attributes
    ----------
    limit : float
        The limit.
    point : Point
        Where the search ended, θ: the level, then w.
    theta : ndarray of shape (1+d,)
        The same after a last step, too small to be looked at.
    model : ModelMinimum
        The multipliers there, and how θ changes with the limit.
    top : float
        max_j |normalsⱼᵀw|.
    is_rough : bool
        Whether some digits are missing.
    """

    limit: float
    point: Point
    theta: Floats
    model: ModelMinimum
    top: float
    is_rough: bool

    @property
    def is_active(self) -> bool:
        """Whether the limit costs anything."""
        return bool(self.model.multipliers.any())

    @property
    def ratio(self) -> float:
        """The largest correlation, where the normals have been scaled for that."""
        size = float(np.linalg.norm(self.theta[1:]))
        return self.top / size if size > 0.0 else 0.0

    def gap(self, ratio: float) -> float:
        """How far the ratio is from another one, in logarithms."""
        return math.log(self.ratio / ratio)

    @property
    def slope(self) -> float:
        """How the logarithm of the ratio grows with that of the limit."""
        w, move = self.theta[1:], self.model.direction[1:]
        return 1.0 - self.top * float(w @ move) / float(w @ w)

    def limit_for(self, ratio: float) -> float:
        """Return the limit at which a Newton step in logarithms reaches a ratio."""
        return self.top * math.exp(-self.gap(ratio) / max(self.slope, LEAST_SLOPE))
