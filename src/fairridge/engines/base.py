"""What an engine must be able to do: sums over rows, and nothing else."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fairridge.engines.moments import Moments
from fairridge.engines.pairwise import Distance

__all__ = ["Engine"]

Floats = NDArray[np.float64]


class Engine(Protocol):
    """Rows [S, X, y] somewhere, known only through sums over them."""

    @property
    def names(self) -> tuple[str, ...]:
        """Encoded names of S, then of X."""
        ...

    @property
    def n_sensitive(self) -> int:
        """Number of encoded sensitive columns, q."""
        ...

    @property
    def passes(self) -> int:
        """How often the rows have been read so far."""
        ...

    def moments(self) -> Moments:
        """Return the weighted moments of [S, X, y]."""
        ...

    def triangle(self, center: Floats, scale: Floats) -> Floats:
        """Return R with RᵀR = Σ w zzᵀ for z = ([S, X, y] − center) / scale, by orthogonal steps."""
        ...

    def residual_products(self, coefficients: Floats, center: Floats, level: float) -> Floats:
        """Return Σ w z(y − level − zᵀb) for z = [S, X] − center."""
        ...

    def pairwise(self, distance: Distance) -> Floats:
        """Return M with αᵀMα = Σᵢⱼ vᵢvⱼ d(yᵢ, yⱼ)(sᵢα − sⱼα)²."""
        ...

    def columns(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Return S, X, y and the weights as dense arrays, for a definition that needs rows."""
        ...
