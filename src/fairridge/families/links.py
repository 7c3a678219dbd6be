"""Links between a linear predictor η and a probability μ = P(y = 1).

A link is given by its losses −log μ and −log(1 − μ) with their derivatives in
η, each written so that it keeps its digits however far η is from zero.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from scipy.special import erfcx, expit, log_ndtr, logit, ndtr, ndtri

from fairridge._typing import Floats

__all__ = ["LINKS", "ProbabilityLink"]


# e^x beyond this x would be infinite.
LARGEST_EXPONENT = 700.0
# Where the hazard of a normal variable is a continued fraction, and how many terms that takes.
TAIL, TERMS = 5.0, 24


class ProbabilityLink(ABC):
    """How η becomes a probability, and the deviance of outcomes."""

    @abstractmethod
    def mean(self, eta: Floats) -> Floats:
        """Return μ."""

    @abstractmethod
    def complement(self, eta: Floats) -> Floats:
        """Return 1 − μ."""

    @abstractmethod
    def to_eta(self, mu: Floats) -> Floats:
        """Return η."""

    @abstractmethod
    def deviance(self, y: Floats, eta: Floats) -> Floats:
        """Return −2(y log μ + (1 − y) log(1 − μ))."""

    def scaled_deviance(self, y: Floats, eta: Floats, log_size: float) -> Floats:
        """Return the deviance divided by e^log_size."""
        return np.exp(-log_size) * self.deviance(y, eta)

    def log_size(self, shift: float) -> float:
        """Return log c, where a shift of η multiplies deviances by c at most; 0 where they add."""
        return 0.0

    @abstractmethod
    def derivatives(self, y: Floats, eta: Floats) -> tuple[Floats, Floats]:
        """Return its first and second derivative in η."""


class Logit(ProbabilityLink):
    """μ = 1/(1 + e^−η)."""

    def mean(self, eta: Floats) -> Floats:
        """Return 1/(1 + e^−η)."""
        return expit(eta)

    def complement(self, eta: Floats) -> Floats:
        """Return 1/(1 + e^η)."""
        return expit(-eta)

    def to_eta(self, mu: Floats) -> Floats:
        """Return log(μ/(1 − μ))."""
        return logit(mu)

    def deviance(self, y: Floats, eta: Floats) -> Floats:
        """2(log(1 + e^η) − yη)."""
        # As a sum without differences, so that a separated outcome keeps its digits.
        wrong = (1.0 - y) * np.maximum(eta, 0.0) + y * np.maximum(-eta, 0.0)
        return 2.0 * (np.log1p(np.exp(-np.abs(eta))) + wrong)

    def derivatives(self, y: Floats, eta: Floats) -> tuple[Floats, Floats]:
        """2(μ − y) and 2μ(1 − μ)."""
        mu = expit(eta)
        return 2.0 * (mu - y), 2.0 * mu * (1.0 - mu)


class Probit(ProbabilityLink):
    """μ = Φ(η), the normal distribution function."""

    def mean(self, eta: Floats) -> Floats:
        """Return Φ(η)."""
        return ndtr(eta)

    def complement(self, eta: Floats) -> Floats:
        """Return Φ(−η)."""
        return ndtr(-eta)

    def to_eta(self, mu: Floats) -> Floats:
        """Return Φ⁻¹(μ)."""
        return ndtri(mu)

    def deviance(self, y: Floats, eta: Floats) -> Floats:
        """−2(y log Φ(η) + (1 − y) log Φ(−η))."""
        return -2.0 * (y * log_ndtr(eta) + (1.0 - y) * log_ndtr(-eta))

    def derivatives(self, y: Floats, eta: Floats) -> tuple[Floats, Floats]:
        """−2(yh(−η) − (1 − y)h(η)) and 2(yh(−η)(h(−η) + η) + (1 − y)h(η)(h(η) − η)).

        h = φ/Φ(−·) is the hazard of a standard normal variable.
        """
        (up, up_excess), (down, down_excess) = _hazard(eta), _hazard(-eta)
        first = 2.0 * ((1.0 - y) * up - y * down)
        return first, 2.0 * ((1.0 - y) * up * up_excess + y * down * down_excess)


class ComplementaryLogLog(ProbabilityLink):
    """μ = 1 − exp(−e^η): an event of a Poisson process with intensity e^η."""

    def mean(self, eta: Floats) -> Floats:
        """Return 1 − exp(−e^η)."""
        return -np.expm1(-_exp(eta))

    def complement(self, eta: Floats) -> Floats:
        """Return exp(−e^η)."""
        return np.exp(-_exp(eta))

    def to_eta(self, mu: Floats) -> Floats:
        """Return log(−log(1 − μ))."""
        return np.log(-np.log1p(-mu))

    def deviance(self, y: Floats, eta: Floats) -> Floats:
        """−2(y log(1 − e^−t) − (1 − y)t) with t = e^η."""
        return self.scaled_deviance(y, eta, 0.0)

    def log_size(self, shift: float) -> float:
        """Return the shift, by whose exponential t grows."""
        return max(shift, 0.0)

    def scaled_deviance(self, y: Floats, eta: Floats, log_size: float) -> Floats:
        """Return the deviance divided by e^log_size, which t itself may exceed."""
        t = _exp(eta)
        tiny = eta < -30.0  # there 1 − e^−t = t·e^(−t/2), and t itself may be zero
        middle = np.log(-np.expm1(-np.where(tiny, 1.0, np.minimum(t, 1.0))))
        log_mean = np.where(t < 1.0, middle, np.log1p(-np.exp(-np.maximum(t, 1.0))))
        log_mean = np.where(tiny, eta - 0.5 * t, log_mean)
        return 2.0 * ((1.0 - y) * _exp(eta - log_size) - np.exp(-log_size) * y * log_mean)

    def derivatives(self, y: Floats, eta: Floats) -> tuple[Floats, Floats]:
        """2((1 − y)t − ya) and 2((1 − y)t + ya(t + a − 1)), with a = t/(e^t − 1)."""
        t = _exp(eta)
        used = np.clip(t, 1e-300, LARGEST_EXPONENT)
        a = used / np.expm1(used)
        # t + a − 1, from its series where that is a difference of nearly equal numbers.
        s = np.minimum(t, 0.03)
        series = s / 2.0 + s**2 / 12.0 - s**4 / 720.0 + s**6 / 30240.0
        excess = np.where(t < 0.03, series, used + a - 1.0)
        return 2.0 * ((1.0 - y) * t - y * a), 2.0 * ((1.0 - y) * t + y * a * excess)


LINKS: dict[str, ProbabilityLink] = {
    "logit": Logit(),
    "probit": Probit(),
    "cloglog": ComplementaryLogLog(),
}


def _exp(eta: Floats) -> Floats:
    """Return e^η, or a finite number that serves as infinity would."""
    return np.exp(np.minimum(eta, LARGEST_EXPONENT))


def _hazard(x: Floats) -> tuple[Floats, Floats]:
    """Return h(x) = φ(x)/Φ(−x), and h(x) − x."""
    near = np.minimum(x, TAIL)
    # erfcx is infinite for x < −37, where h has long been zero.
    hazard = np.sqrt(2.0 / np.pi) / erfcx(near / np.sqrt(2.0))
    excess = hazard - near
    far = x > TAIL
    if far.any():
        # h(x) − x = 1/(x + 2/(x + 3/(x + …))), without a difference of large numbers.
        large = x[far]
        tail = large
        for k in range(TERMS, 0, -1):
            fraction = k / tail
            tail = large + fraction
        excess[far] = fraction
        hazard[far] = tail
    return hazard, excess
