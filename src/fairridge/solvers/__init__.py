"""Pure functions on small matrices."""

from fairridge.solvers.lasso import lasso_minimum
from fairridge.solvers.newton import Objective, Point, minimize
from fairridge.solvers.spectrum import Spectrum, spectrum_of

__all__ = [
    "Objective",
    "Point",
    "Spectrum",
    "lasso_minimum",
    "minimize",
    "spectrum_of",
]
