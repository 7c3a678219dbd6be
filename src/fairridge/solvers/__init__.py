"""Small numerical functions on small matrices."""

from fairridge.solvers.basis import FairBasis, fair_basis
from fairridge.solvers.compression import Compression, compress, is_wide
from fairridge.solvers.coordinates import Coordinates
from fairridge.solvers.factor import Factor, factorize
from fairridge.solvers.fit import ExpandedFit, Fit, Separation
from fairridge.solvers.lasso import lasso_minimum
from fairridge.solvers.newton import Objective, Point, minimize
from fairridge.solvers.spectrum import Spectrum, shrinking_length, spectrum_of

__all__ = [
    "Compression",
    "Coordinates",
    "ExpandedFit",
    "Factor",
    "FairBasis",
    "Fit",
    "Objective",
    "Point",
    "Separation",
    "Spectrum",
    "compress",
    "factorize",
    "fair_basis",
    "is_wide",
    "lasso_minimum",
    "minimize",
    "shrinking_length",
    "spectrum_of",
]
