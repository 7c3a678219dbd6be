"""The radial penalty: all directions of S shrink alike."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairridge._typing import Floats
from fairridge.solvers import Spectrum


@dataclass(frozen=True)
class Radial:
    """λ αᵀSᵀSα: in gaussian models α = α_OLS/(1+λ).

    Among all α with the same VAR(Sα) this one fits the training data best,
    with β fixed: it keeps the direction of Sα_OLS, whereas a ridge turns it towards
    the directions in which S varies most.

    See Also
    --------
    Ridge : The default.

    References
    ----------
    .. [1] "Penalties on α" in docs/model.md.

    Examples
    --------
    >>> import numpy as np
    >>> from fairridge import FairRidgeRegressor
    >>> rng = np.random.default_rng(0)
    >>> S, X, noise = rng.normal(size=(3, 100, 1))
    >>> y = (S + X + noise)[:, 0]
    >>> from fairridge.penalties import Radial
    >>> model = FairRidgeRegressor(0.05, penalty=Radial()).fit(X, y, sensitive_features=S)
    >>> print(f"{model.unfairness_:.4f}")
    0.0500
    """

    name = "radial"
    l1 = 0.0

    def quadratic(self, spectrum: Spectrum) -> Floats:
        """Return SᵀS of the scaled columns."""
        return (spectrum.vectors * spectrum.eigenvalues) @ spectrum.vectors.T

    def coefficients(self, spectrum: Spectrum, projection: Floats, lambda_: Floats) -> Floats:
        """Return α_OLS/(1+λ) on the scaled columns, one row per λ."""
        return spectrum.ridge(projection, 0.0) / (1.0 + lambda_[:, None])

    def ceiling(self, spectrum: Spectrum, projection: Floats) -> float:
        """Return ∞: α never reaches zero."""
        return np.inf

    def length(
        self, spectrum: Spectrum, projection: Floats, lambda_: Floats
    ) -> tuple[Floats, Floats]:
        """Return ‖Sα(λ)‖ = ‖c‖/(1+λ) and the derivative of its logarithm, for several λ."""
        shrinkage = 1.0 / (1.0 + lambda_)
        return float(np.linalg.norm(projection)) * shrinkage, -shrinkage
