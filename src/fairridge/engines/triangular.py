"""The triangular factor of a tall matrix."""

from __future__ import annotations

import numpy as np

from fairridge._typing import Floats

__all__ = ["triangular_factor"]


def triangular_factor(matrix: Floats) -> Floats:
    """Return R of matrix = QR, of shape (min(m, k), k)."""
    factor: Floats = np.asarray(np.linalg.qr(matrix, mode="r"), dtype=np.float64)
    return factor
