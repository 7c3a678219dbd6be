"""The ridge penalty λ‖α‖² on standardized sensitive attributes: the paper's choice."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairridge._typing import Floats
from fairridge.solvers import Spectrum


@dataclass(frozen=True)
class Ridge:
    """λ‖α‖²: every direction i of S shrinks by lᵢ/(lᵢ+λ) (paper, section 3.1).

    See Also
    --------
    Radial : The same shrinkage in all directions.
    ElasticNet : Drops attributes.

    References
    ----------
    .. [1] Scutari, Panero and Proissl (2022), section 3.1.
    .. [2] "Penalties on α" in docs/model.md.

    Examples
    --------
    >>> import numpy as np
    >>> from fairridge import FairRidgeRegressor
    >>> rng = np.random.default_rng(0)
    >>> S, X, noise = rng.normal(size=(3, 100, 1))
    >>> y = (S + X + noise)[:, 0]
    >>> from fairridge.penalties import Ridge
    >>> model = FairRidgeRegressor(0.05, penalty=Ridge()).fit(X, y, sensitive_features=S)
    >>> print(f"{model.lambda_:.1f}")
    340.6
    """

    name = "ridge"
    l1 = 0.0

    def quadratic(self, spectrum: Spectrum) -> Floats:
        """Return the identity."""
        return np.eye(len(spectrum.scale))

    def coefficients(self, spectrum: Spectrum, projection: Floats, lambda_: Floats) -> Floats:
        """Return α(λ) on the scaled columns, one row per λ."""
        return spectrum.ridge(projection, lambda_)

    def ceiling(self, spectrum: Spectrum, projection: Floats) -> float:
        """Return ∞: a ridge never reaches zero."""
        return np.inf

    def length(
        self, spectrum: Spectrum, projection: Floats, lambda_: Floats
    ) -> tuple[Floats, Floats]:
        """Return ‖Sα(λ)‖, Sα(λ) = (lᵢcᵢ/(lᵢ+λ))ᵢ, and the derivative of its logarithm."""
        rates = 1.0 / (spectrum.eigenvalues + lambda_[:, None])
        return shrinking_length(spectrum.eigenvalues * rates * projection, rates)


def shrinking_length(parts: Floats, rates: Floats) -> tuple[Floats, Floats]:
    """Length of a vector whose parts shrink, and the derivative of its logarithm."""
    # Squares of the parts may be too small to be numbers; their ratios are not.
    # `parts` has one vector per row, and `rates` has −d log partⱼ/dλ.
    largest = np.abs(parts).max(axis=1, initial=0.0)
    shares = (parts / np.where(largest > 0.0, largest, 1.0)[:, None]) ** 2
    total = shares.sum(axis=1)
    slope = (shares * rates).sum(axis=1) / np.where(total > 0.0, total, 1.0)
    return largest * np.sqrt(total), -slope
