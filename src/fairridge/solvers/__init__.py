"""Small numerical functions on small matrices."""

from fairridge.solvers.basis import FairBasis, fair_basis
from fairridge.solvers.coordinates import Coordinates
from fairridge.solvers.factor import Factor, factorize
from fairridge.solvers.fit import Fit
from fairridge.solvers.lasso import coordinate_descent
from fairridge.solvers.newton import Objective, Point, minimize
from fairridge.solvers.spectrum import Spectrum, spectrum_of

__all__ = [
    "Coordinates",
    "Factor",
    "FairBasis",
    "Fit",
    "Objective",
    "Point",
    "Spectrum",
    "coordinate_descent",
    "factorize",
    "fair_basis",
    "minimize",
    "spectrum_of",
]
