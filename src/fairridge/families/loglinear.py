"""Families with the log link: poisson, gamma and tweedie."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fairridge._arrays import LARGEST_EXPONENT, at_most, bounded_exp, namespace, special
from fairridge._typing import Booleans, Floats
from fairridge.families.base import SinglePredictor


class LogLink(SinglePredictor):
    """μ = e^η and VAR(y) ∝ μ^power, with 1 ≤ power ≤ 2.

    Unit deviances are written in d = η − log y = log(μ/y), so that responses
    of any size leave all digits to what is not explained.
    """

    link = "log"
    power: float
    amounts = False

    @property
    def ratio(self) -> str:
        """A ratio of rates, if responses are counts."""
        return "mean ratio" if self.power > 1.0 else "rate ratio"

    def to_eta(self, mu: Floats) -> Floats:
        """Return log μ."""
        return namespace(mu).log(mu)

    def mean(self, eta: Floats) -> Floats:
        """Return e^η."""
        return bounded_exp(eta)

    def log_size(self, eta: float, mean: float) -> float:
        """Return the larger exponent of (e^η/mean)^(2−power) and (e^η/mean)^(1−power)."""
        shift = eta - math.log(mean)
        return max((2.0 - self.power) * shift, (1.0 - self.power) * shift)

    def null_level(self, y: Floats, weight: Floats, offset: Floats | None) -> float:
        """Return log(Σ w y e^((1−power)·offset) / Σ w e^((2−power)·offset))."""
        above, below = self.log_sums(y, weight, offset)
        return float(above - below)

    def log_sums(self, y: Floats, weight: Floats, offset: Floats | None) -> Floats:
        """Return the logarithms of the two sums that make the intercept of the null model.

        Those of disjoint rows merge by log(e^a + e^b).
        """
        shift, power = 0.0 * weight if offset is None else offset, float(self.power)
        above = _log_sum((1.0 - power) * shift, weight * y[:, 0])
        return np.array([above, _log_sum((2.0 - power) * shift, weight)])

    def initial_intercepts(self, y: Floats, weight: Floats, offset: Floats | None) -> Floats:
        """Return the intercept of the null model."""
        return np.array([self.null_level(y, weight, offset)])

    def check_values(self, y: Floats) -> None:
        """Refuse negative responses."""
        if (y < 0.0).any():
            raise ValueError(
                f"a {self.name} response must be zero or positive; y has {y[np.argmax(y < 0.0)]:g}."
            )

    def check(self, y: Floats) -> None:
        """Refuse impossible responses, and responses that are all zero."""
        self.check_values(y)
        if not y.any():
            raise ValueError(f"y is 0 in every row: a {self.name} model needs some that is not.")


def power_pearson(family: LogLink, y: Floats, eta: Floats, weight: Floats) -> float:
    """Σ w (y − μ)²/μ^power."""
    half, eta = 0.5 * float(family.power), eta[:, 0]
    # Divided before it is squared: μ^power may be too small a number, where y = 0.
    residual = y[:, 0] * family.mean(-half * eta) - family.mean((1.0 - half) * eta)
    return float(weight @ residual**2)


@dataclass(frozen=True)
class Poisson(LogLink):
    """Counts, or rates with weights: D = 2Σ(y log(y/μ) − y + μ).

    See Also
    --------
    QuasiPoisson : With a free dispersion.
    NegativeBinomial : For counts that vary more.

    References
    ----------
    .. [1] Scutari, Panero and Proissl (2022), section 4.4.
    .. [2] "Other responses" in docs/model.md.

    Examples
    --------
    >>> import numpy as np
    >>> from fairridge import FairRidgeRegressor
    >>> rng = np.random.default_rng(0)
    >>> S, X, noise = rng.normal(size=(3, 100, 1))
    >>> y = (S + X + noise)[:, 0]
    >>> counts = rng.poisson(np.exp(y / 3))
    >>> model = FairRidgeRegressor(0.02, family="poisson", definition="mean-parity")
    >>> print(f"{model.fit(X, counts, sensitive_features=S).unfairness_:.4f}")
    0.0200
    """

    name = "poisson"
    power = 1.0

    def unit_deviance(self, y: Floats, eta: Floats, log_size: float = 0.0) -> Floats:
        """2y(e^d − 1 − d), and 2e^η where y = 0."""
        d, positive = log_ratio(y, eta)
        explained = y * (_growth(d, log_size) - math.exp(-log_size) * d)
        return 2.0 * namespace(d).where(positive, explained, self.mean(d - log_size))

    def derivatives(self, y: Floats, eta: Floats) -> tuple[Floats, Floats]:
        """2(μ − y) and 2μ."""
        mu = self.mean(eta)
        return 2.0 * (mu - y), 2.0 * mu

    def loglik(self, deviance: float, y: Floats, weight: Floats, dispersion: float) -> float:
        """Return −½ deviance plus the log-likelihood of the saturated model."""
        y, functions = y[:, 0], special(namespace(y))
        constant = functions.xlogy(y, y) - y - functions.gammaln(y + 1.0)
        return -0.5 * deviance + float(weight @ constant)


@dataclass(frozen=True)
class Gamma(LogLink):
    """Positive amounts: D = 2Σ(log(μ/y) + y/μ − 1).

    See Also
    --------
    Tweedie : Amounts with zeros.

    References
    ----------
    .. [1] "Other responses" in docs/model.md.

    Examples
    --------
    >>> import numpy as np
    >>> from fairridge import FairRidgeRegressor
    >>> rng = np.random.default_rng(0)
    >>> S, X, noise = rng.normal(size=(3, 100, 1))
    >>> y = (S + X + noise)[:, 0]
    >>> model = FairRidgeRegressor(0.02, family="gamma", definition="mean-parity")
    >>> print(model.fit(X, np.exp(y), sensitive_features=S).status_)
    converged
    """

    name = "gamma"
    power = 2.0
    has_minimum = True
    pearson = power_pearson

    def unit_deviance(self, y: Floats, eta: Floats, log_size: float = 0.0) -> Floats:
        """2(d + e^−d − 1)."""
        d, _ = log_ratio(y, eta)
        return 2.0 * (math.exp(-log_size) * d + _growth(-d, log_size))

    def derivatives(self, y: Floats, eta: Floats) -> tuple[Floats, Floats]:
        """2(1 − y/μ) and 2y/μ."""
        ratio = y * self.mean(-eta)
        return 2.0 * (1.0 - ratio), 2.0 * ratio

    def check_values(self, y: Floats) -> None:
        """Refuse amounts that are not positive."""
        if (y <= 0.0).any():
            raise ValueError(
                f"a gamma response must be positive; y has {y[np.argmax(y <= 0.0)]:g}."
            )

    def loglik(self, deviance: float, y: Floats, weight: Floats, dispersion: float) -> float:
        """Gamma density with shape 1/dispersion."""
        if dispersion == 0.0:
            return float("inf")
        shape = 1.0 / dispersion
        known = shape * math.log(shape) - shape - math.lgamma(shape)
        constant = known - namespace(y).log(y[:, 0])
        return float(weight @ constant) - 0.5 * shape * deviance


@dataclass(frozen=True)
class Tweedie(LogLink):
    """Amounts with exact zeros: compound Poisson–gamma, VAR(y) ∝ μ^power.

    Its density has no closed form; `loglik` is the quasi log-likelihood
    −½ deviance/dispersion with Pearson's dispersion.

    Parameters
    ----------
    power : float, default=1.5
        Strictly between 1 (poisson) and 2 (gamma).

    See Also
    --------
    Gamma : Amounts without zeros.
    Poisson : Counts.

    References
    ----------
    .. [1] Jørgensen (1987), Exponential dispersion models, Journal of the Royal Statistical
        Society B 49, 127–162.
    .. [2] "Other responses" in docs/model.md.

    Examples
    --------
    >>> import numpy as np
    >>> from fairridge import FairRidgeRegressor
    >>> rng = np.random.default_rng(0)
    >>> S, X, noise = rng.normal(size=(3, 100, 1))
    >>> y = (S + X + noise)[:, 0]
    >>> from fairridge.families import Tweedie
    >>> costs = np.where(y > 0, np.exp(y), 0.0)
    >>> model = FairRidgeRegressor(0.02, family=Tweedie(power=1.6), definition="mean-parity")
    >>> print(model.fit(X, costs, sensitive_features=S).status_)
    converged
    """

    power: float = 1.5
    name = "tweedie"
    amounts = True
    pearson = power_pearson

    def __post_init__(self) -> None:
        if not 1.0 < self.power < 2.0:
            raise ValueError(
                f"power={self.power!r} must lie strictly between 1 and 2; "
                "for 1 use family='poisson', for 2 family='gamma'."
            )

    def unit_deviance(self, y: Floats, eta: Floats, log_size: float = 0.0) -> Floats:
        """2y^b((e^(bd) − 1)/b − (e^(ad) − 1)/a), a = 1 − p, b = 2 − p; 2e^(bη)/b where y = 0."""
        a, b = 1.0 - float(self.power), 2.0 - float(self.power)
        d, positive = log_ratio(y, eta)
        up, down = (_growth(c * d, log_size) / c for c in (b, a))
        at_zero = self.mean(b * d - log_size) / b
        return 2.0 * namespace(d).where(positive, y**b * (up - down), at_zero)

    def derivatives(self, y: Floats, eta: Floats) -> tuple[Floats, Floats]:
        """2(μ^(2−p) − y μ^(1−p)) and its derivative, positive for 1 < p < 2."""
        a, b = 1.0 - float(self.power), 2.0 - float(self.power)
        up, down = self.mean(b * eta), y * self.mean(a * eta)
        return 2.0 * (up - down), 2.0 * (b * up - a * down)

    def unit(self, mean: float) -> float:
        """Return mean^(2−p), by which the deviance scales."""
        return float(mean ** (2.0 - self.power))


def log_ratio(y: Floats, eta: Floats) -> tuple[Floats, Booleans]:
    """Return log(μ/y), or η where y = 0, and where y is positive."""
    xp, positive = namespace(eta), y > 0.0
    return eta - xp.log(xp.where(positive, y, 1.0)), positive


def _log_sum(exponents: Floats, factors: Floats) -> float:
    """Return log Σ factor·e^exponent, −∞ if all factors are zero."""
    xp = namespace(factors)
    exponents = xp.where(factors > 0.0, exponents, -math.inf)
    largest = float(xp.max(exponents))
    if largest == -math.inf:
        return largest
    return largest + math.log(float(factors @ xp.exp(exponents - largest)))


def _growth(x: Floats, log_size: float) -> Floats:
    """Return (e^x − 1)e^−log_size, or a finite number that serves as infinity would."""
    if log_size == 0.0:
        return namespace(x).expm1(at_most(x, LARGEST_EXPONENT))
    return bounded_exp(x - log_size) - math.exp(-log_size)
