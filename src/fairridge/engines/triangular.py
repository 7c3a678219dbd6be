"""The triangular factor of a tall matrix."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["triangular_factor"]

Floats = NDArray[np.float64]


def triangular_factor(matrix: Floats) -> Floats:
    """Return R of matrix = QR, of shape (min(m, k), k)."""
    factor: Floats = np.asarray(np.linalg.qr(matrix, mode="r"), dtype=np.float64)
    return factor
