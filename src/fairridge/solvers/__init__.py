"""Small numerical functions on small matrices."""

from fairridge.solvers.basis import FairBasis, fair_basis
from fairridge.solvers.factor import Factor, factorize
from fairridge.solvers.fit import Fit
from fairridge.solvers.spectrum import Spectrum, spectrum_of

__all__ = ["Factor", "FairBasis", "Fit", "Spectrum", "factorize", "fair_basis", "spectrum_of"]
