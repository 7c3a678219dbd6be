"""The negative binomial family: counts whose variance grows with the square of their mean."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.optimize import brentq

from fairridge._arrays import LARGEST_EXPONENT, at_least, at_most, namespace, special
from fairridge._typing import Floats
from fairridge.families.base import FreeModels, SinglePredictor
from fairridge.families.loglinear import LogLink, Poisson, log_ratio
from fairridge.families.sums import any_arrays

# Below this κ, ψ(y + 1/κ) − ψ(1/κ) is a series, because the difference has lost its digits.
SERIES_DISPERSION = 1e-2
# log κ below which a model is a Poisson model.
SMALLEST_LOG_DISPERSION = np.log(1e-12)


@dataclass(frozen=True)
class NegativeBinomial(LogLink):
    """Counts with VAR(y) = μ + κμ² and μ = e^η (NB2).

    D = 2Σ(y log(y/μ) − (y + 1/κ) log((1 + κy)/(1 + κμ))).

    Parameters
    ----------
    dispersion : float, optional
        κ ≥ 0; 0 is the Poisson family. By default κ is estimated by maximum
        likelihood together with the coefficients of the model without a bound,
        and then held for all bounds. `family_.dispersion` of a fitted model has
        the estimate, which is 0 if counts vary less than Poisson counts.

    See Also
    --------
    Poisson : For counts whose variance is their mean.
    QuasiPoisson : A variance proportional to the mean.

    References
    ----------
    .. [1] Hilbe (2011), Negative binomial regression, 2nd edition: NB2.
    .. [2] "Other responses" in docs/model.md.

    Examples
    --------
    >>> import numpy as np
    >>> from fairridge import FairRidgeRegressor
    >>> rng = np.random.default_rng(0)
    >>> S, X, noise = rng.normal(size=(3, 100, 1))
    >>> y = (S + X + noise)[:, 0]
    >>> from fairridge.families import NegativeBinomial
    >>> counts = rng.poisson(np.exp(y / 3))
    >>> model = FairRidgeRegressor(0.02, family=NegativeBinomial(0.5), definition="mean-parity")
    >>> print(model.fit(X, counts, sensitive_features=S).family_.dispersion)
    0.5
    """

    dispersion: float | None = None
    name = "negative-binomial"
    # As μ → 0; the null model without κ, from which to start, is that of a Poisson model.
    power = 1.0
    null_level = SinglePredictor.null_level

    def __post_init__(self) -> None:
        if self.dispersion is not None and not 0.0 <= self.dispersion < np.inf:
            raise ValueError(
                f"dispersion={self.dispersion!r} must be zero or positive, or None to estimate it."
            )

    @property
    def kappa(self) -> float:
        """κ; 0 until it is estimated."""
        return 0.0 if self.dispersion is None else float(self.dispersion)

    def unit_deviance(self, y: Floats, eta: Floats, log_size: float = 0.0) -> Floats:
        """2y(log(1 + s(e^d − 1))/s − d), d = log(μ/y), s = κy/(1 + κy); 2log(1 + κμ)/κ at y = 0.

        For s > ½ that is 2(log(1 + c(e^−d − 1))/c + d)/κ with c = 1 − s: written
        in the smaller of the two, the limits at κ = 0 and ∞ keep all digits.
        """
        kappa = self.kappa
        if kappa == 0.0:
            return Poisson().unit_deviance(y, eta, log_size)
        d, positive = log_ratio(y, eta)
        xp, small = namespace(d), kappa * y < 1.0
        share = xp.where(small, xp.where(positive, kappa * y, 0.5), 1.0) / (1.0 + kappa * y)
        x = xp.where(small, d, -d)
        bent = xp.log1p(share * xp.expm1(at_most(x, LARGEST_EXPONENT)))
        bent += at_least(x - LARGEST_EXPONENT, 0.0)
        bent = bent / share + xp.where(small, -d, d)
        at_zero = xp.log1p(kappa * self.mean(eta)) + at_least(eta - LARGEST_EXPONENT, 0.0)
        return 2.0 * xp.where(positive, xp.where(small, y, 1.0 / kappa) * bent, at_zero / kappa)

    def log_size(self, eta: float, mean: float) -> float:
        """Return 0: deviances grow with η itself; without dispersion as Poisson's do."""
        return super().log_size(eta, mean) if self.kappa == 0.0 else 0.0

    def derivatives(self, y: Floats, eta: Floats) -> tuple[Floats, Floats]:
        """2(μ − y)/(1 + κμ) and 2μ(1 + κy)/(1 + κμ)²."""
        mu = self.mean(eta)
        below = 1.0 + self.kappa * mu
        return 2.0 * (mu - y) / below, 2.0 * (mu / below) * ((1.0 + self.kappa * y) / below)

    def loglik(self, deviance: float, y: Floats, weight: Floats, dispersion: float) -> float:
        """Return −½ deviance plus the log-likelihood of the saturated model."""
        kappa = self.kappa
        if kappa == 0.0:
            return Poisson().loglik(deviance, y, weight, dispersion)
        xp, positive = namespace(y), y[:, 0] > 0.0
        some = xp.where(positive, y[:, 0], 1.0)
        each = xp.log(some) + special(xp).betaln(some, 1.0 / kappa)
        each += xp.log1p(kappa * some) / kappa + some * xp.log1p(1.0 / (kappa * some))
        return -0.5 * deviance - float(weight @ xp.where(positive, each, 0.0))

    # ------------------------------------------------------------- estimating κ

    @property
    def is_open(self) -> bool:
        """Whether κ is to be estimated."""
        return self.dispersion is None

    def completed(self, free: FreeModels) -> NegativeBinomial:
        """Return the family with κ estimated.

        The slope of the log-likelihood in κ, at the coefficients that belong to
        κ, has its root where both are at their maximum.
        """
        if self.dispersion is not None:
            return self
        poisson = NegativeBinomial(0.0)
        excess, squares = free(poisson)(_excess)
        if excess <= 0.0:
            return poisson

        @cache
        def slope(log_kappa: float) -> float:
            family = NegativeBinomial(float(np.exp(log_kappa)))
            return float(free(family)(family.slope)[0])

        low = high = float(np.log(excess / squares))  # right if every μ were
        while slope(high) > 0.0:
            low, high = high, high + 1.0
        while slope(low) <= 0.0:
            low, high = low - 1.0, low
            if low < SMALLEST_LOG_DISPERSION:
                return poisson
        return NegativeBinomial(float(np.exp(brentq(slope, low, high, xtol=1e-9))))

    @any_arrays
    def slope(self, y: Floats, eta: Floats, weight: Floats) -> Floats:
        """Return Σ w ∂ℓ/∂log κ, for κ > 0."""
        kappa, y, mu = self.kappa, y[:, 0], self.mean(eta[:, 0])
        xp = namespace(mu)
        above, below = 1.0 + kappa * y, 1.0 + kappa * mu
        # log(above/below), about 1 from the side on which it cannot be −∞.
        gap = kappa * (y - mu)
        size = xp.log1p(xp.abs(gap) / xp.minimum(above, below))
        each = gap / below - xp.where(gap > 0.0, size, -size) - _digamma_gap(kappa, y)
        return np.array([float(weight @ each)]) / kappa


@any_arrays
def _excess(y: Floats, eta: Floats, weight: Floats) -> Floats:
    """Return Σ w((y − μ)² − y), twice the slope of ℓ in κ at κ = 0, and Σ wμ²."""
    mu = namespace(eta).exp(at_most(eta[:, 0], 0.5 * LARGEST_EXPONENT))
    return np.array([float(weight @ ((y[:, 0] - mu) ** 2 - y[:, 0])), float(weight @ mu**2)])


def _digamma_gap(kappa: float, y: Floats) -> Floats:
    """Return ψ(y + 1/κ) − ψ(1/κ) − log(1 + κy)."""
    if kappa > SERIES_DISPERSION:
        xp, below = namespace(y), float(special(np).digamma(1.0 / kappa))
        return special(xp).digamma(y + 1.0 / kappa) - below - xp.log1p(kappa * y)
    # From ψ(x) = log x − 1/(2x) − 1/(12x²) + 1/(120x⁴) − …
    share = kappa * y / (1.0 + kappa * y)
    gap = kappa / 2.0 * share + kappa**2 / 12.0 * share * (2.0 - share)
    return gap - kappa**4 / 120.0 * (1.0 - (1.0 - share) ** 4)
