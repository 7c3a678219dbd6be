"""What two gradients tell of a Hessian between them."""

from __future__ import annotations

import numpy as np

from fairridge._typing import Floats

# Curvature along a step, relative to the old one, that is of another region altogether.
STEEPER = 1e10


def updated_hessian(hessian: Floats, move: Floats, change: Floats) -> Floats:
    """Let an old Hessian explain how the gradient changed (Broyden, Fletcher, Goldfarb, Shanno)."""
    along = hessian @ move
    with np.errstate(over="ignore", invalid="ignore"):  # a trial point may lie anywhere
        old, bent = float(move @ along), float(move @ change)
    if not 0.1 * old < bent < STEEPER * old:
        return hessian  # a long way, or rounding: nothing to learn
    change, along = change / np.sqrt(bent), along / np.sqrt(old)
    return hessian + np.outer(change, change) - np.outer(along, along)
