"""Lasso and elastic net: penalties that select among sensitive attributes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairridge._delegation import delegated
from fairridge._typing import Floats
from fairridge.solvers import Spectrum, lasso_minimum


@dataclass(frozen=True)
class ElasticNet:
    """2λ(l1_ratio·‖α‖₁ + ½(1 − l1_ratio)‖α‖²), glmnet's convention (paper, section 4.2).

    S ⟂ U, so in gaussian models this is a lasso in q dimensions on SᵀS.

    Parameters
    ----------
    l1_ratio : float, default=0.5
        Share of the absolute values, in (0, 1].

    See Also
    --------
    Lasso : Absolute values alone.
    Ridge : Squares alone.

    References
    ----------
    .. [1] Scutari, Panero and Proissl (2022), section 4.2.
    .. [2] "Penalties on α" in docs/model.md.

    Examples
    --------
    >>> import numpy as np
    >>> from fairridge import FairRidgeRegressor
    >>> rng = np.random.default_rng(0)
    >>> S, X, noise = rng.normal(size=(3, 100, 1))
    >>> y = (S + X + noise)[:, 0]
    >>> from fairridge.penalties import ElasticNet
    >>> model = FairRidgeRegressor(0.05, penalty=ElasticNet(0.3)).fit(X, y, sensitive_features=S)
    >>> print(f"{model.unfairness_:.4f}")
    0.0500
    """

    l1_ratio: float = 0.5
    l1 = delegated("l1_ratio")
    name = "elastic-net"

    def __post_init__(self) -> None:
        if not 0.0 < self.l1_ratio <= 1.0:
            raise ValueError(
                f"l1_ratio={self.l1_ratio!r} must lie in (0, 1]; for 0 use penalty='ridge'."
            )

    def quadratic(self, spectrum: Spectrum) -> Floats:
        """Return (1 − l1_ratio)·I."""
        return (1.0 - self.l1_ratio) * np.eye(len(spectrum.scale))

    def coefficients(self, spectrum: Spectrum, projection: Floats, lambda_: Floats) -> Floats:
        """Return α(λ) on the scaled columns, one row per λ; λ = 0 is least squares."""
        gram = (spectrum.vectors * spectrum.eigenvalues) @ spectrum.vectors.T
        products = spectrum.vectors @ (np.sqrt(spectrum.eigenvalues) * projection)
        out = np.zeros((len(lambda_), len(spectrum.scale)))
        for k, penalty in enumerate(lambda_):
            if penalty == 0.0:
                out[k] = spectrum.ridge(projection, 0.0)
            elif penalty < self.ceiling(spectrum, projection):
                H = gram + penalty * self.quadratic(spectrum)
                out[k] = lasso_minimum(H, products, np.full(len(products), penalty * self.l1))
        return out

    def ceiling(self, spectrum: Spectrum, projection: Floats) -> float:
        """Return max |Sᵀy| / l1_ratio."""
        products = spectrum.vectors @ (np.sqrt(spectrum.eigenvalues) * projection)
        return float(np.abs(products).max(initial=0.0)) / self.l1_ratio


@dataclass(frozen=True)
class Lasso(ElasticNet):
    """2λ‖α‖₁: attributes leave the model one by one as r falls.

    Parameters
    ----------
    l1_ratio : float, default=1.0
        Share of the absolute values; 1 is the lasso.

    See Also
    --------
    ElasticNet : With squares beside the absolute values.

    References
    ----------
    .. [1] Scutari, Panero and Proissl (2022), section 4.2.
    .. [2] "Penalties on α" in docs/model.md.

    Examples
    --------
    >>> import numpy as np
    >>> from fairridge import FairRidgeRegressor
    >>> rng = np.random.default_rng(0)
    >>> S, X, noise = rng.normal(size=(3, 100, 1))
    >>> y = (S + X + noise)[:, 0]
    >>> S = np.column_stack([S, rng.normal(size=100)])
    >>> model = FairRidgeRegressor(0.05, penalty="lasso").fit(X, y, sensitive_features=S)
    >>> print((model.alpha_ != 0).tolist())
    [True, False]
    """

    l1_ratio: float = 1.0
    name = "lasso"
