"""The triangular factor of a tall matrix."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairridge._typing import Floats

__all__ = ["Triangle", "triangular_factor"]


def triangular_factor(matrix: Floats) -> Floats:
    """Return R of matrix = QR, of shape (min(m, k), k)."""
    factor: Floats = np.asarray(np.linalg.qr(matrix, mode="r"), dtype=np.float64)
    return factor


@dataclass(frozen=True)
class Triangle:
    """R of a QR decomposition of some rows; with other rows it merges by another one."""

    R: Floats

    def __add__(self, other: Triangle) -> Triangle:
        return Triangle(triangular_factor(np.vstack([self.R, other.R])))
