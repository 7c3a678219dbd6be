"""The quasi-Poisson family: counts with more, or less, than Poisson variance."""

from __future__ import annotations

from dataclasses import dataclass

from fairridge.families.base import Family
from fairridge.families.loglinear import Poisson, power_pearson


@dataclass(frozen=True)
class QuasiPoisson(Poisson):
    """Poisson coefficients with a free dispersion: VAR(y) = φμ.

    Only standard errors and the log-likelihood, a quasi log-likelihood with
    Pearson's dispersion, differ from the Poisson family.

    See Also
    --------
    Poisson : The same coefficients.
    NegativeBinomial : A variance that grows faster than the mean.

    References
    ----------
    .. [1] Wedderburn (1974), Quasi-likelihood functions, Biometrika 61, 439–447.
    .. [2] "Other responses" in docs/model.md.

    Examples
    --------
    >>> import numpy as np
    >>> from fairridge import FairRidgeRegressor
    >>> rng = np.random.default_rng(0)
    >>> S, X, noise = rng.normal(size=(3, 100, 1))
    >>> y = (S + X + noise)[:, 0]
    >>> counts = rng.poisson(np.exp(y / 3))
    >>> model = FairRidgeRegressor(0.02, family="quasi-poisson", definition="mean-parity")
    >>> print(model.fit(X, counts, sensitive_features=S).family_.name)
    quasi-poisson
    """

    name = "quasi-poisson"
    loglik = Family.loglik
    pearson = power_pearson
