"""Names of array types."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["Booleans", "Floats", "Integers"]

Floats = NDArray[np.float64]
Integers = NDArray[np.intp]
Booleans = NDArray[np.bool_]
