"""Families with the log link: poisson, gamma and tweedie."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, xlogy

from fairridge.families._single import SinglePredictor

__all__ = ["Gamma", "Poisson", "Tweedie"]

Floats = NDArray[np.float64]


class _LogLink(SinglePredictor):
    """μ = e^η."""

    def link(self, mu: Floats) -> Floats:
        """Return log μ."""
        return np.log(mu)

    def mean(self, eta: Floats) -> Floats:
        """Return e^η."""
        # Beyond e⁷⁰⁰ a finite number serves as infinity would, and times 0 is 0.
        return np.exp(np.minimum(eta, 700.0))

    def start(self, y: Floats, weight: Floats, offset: Floats | None) -> Floats:
        """Return the intercept of the null model, or near it: log(Σy / Σe^offset)."""
        exposure = 1.0 if offset is None else np.average(np.exp(offset), weights=weight)
        return np.array([float(np.log(np.average(y[:, 0], weights=weight) / exposure))])

    @abstractmethod
    def check(self, y: Floats) -> None:
        """Raise where a response is impossible."""


@dataclass(frozen=True)
class Poisson(_LogLink):
    """Counts, or rates with weights: D = 2Σ(y log(y/μ) − y + μ)."""

    name = "poisson"

    def unit_deviance(self, y: Floats, eta: Floats) -> Floats:
        """2(y log y − yη − y + e^η)."""
        return 2.0 * (xlogy(y, y) - y * eta - y + self.mean(eta))

    def derivatives(self, y: Floats, eta: Floats) -> tuple[Floats, Floats]:
        """2(μ − y) and 2μ."""
        mu = self.mean(eta)
        return 2.0 * (mu - y), 2.0 * mu

    def check(self, y: Floats) -> None:
        """Refuse negative counts, and counts that are all zero."""
        _require(y, self.name, positive=False)

    def loglik(self, deviance: float, y: Floats, weight: Floats, dispersion: float) -> float:
        """Return −½ deviance plus the log-likelihood of the saturated model."""
        y = y[:, 0]
        return -0.5 * deviance + float(weight @ (xlogy(y, y) - y - gammaln(y + 1.0)))


@dataclass(frozen=True)
class Gamma(_LogLink):
    """Positive amounts: D = 2Σ(log(μ/y) + y/μ − 1)."""

    name = "gamma"

    def unit_deviance(self, y: Floats, eta: Floats) -> Floats:
        """2(η − log y + y e^−η − 1)."""
        return 2.0 * (eta - np.log(y) + y * self.mean(-eta) - 1.0)

    def derivatives(self, y: Floats, eta: Floats) -> tuple[Floats, Floats]:
        """2(1 − y/μ) and 2y/μ."""
        ratio = y * self.mean(-eta)
        return 2.0 * (1.0 - ratio), 2.0 * ratio

    def check(self, y: Floats) -> None:
        """Refuse amounts that are not positive."""
        _require(y, self.name, positive=True)

    def loglik(self, deviance: float, y: Floats, weight: Floats, dispersion: float) -> float:
        """Gamma density with shape 1/dispersion."""
        if dispersion == 0.0:
            return float("inf")
        shape = 1.0 / dispersion
        constant = shape * np.log(shape) - shape - gammaln(shape) - np.log(y[:, 0])
        return float(weight @ constant) - 0.5 * shape * deviance

    def pearson(self, y: Floats, eta: Floats, weight: Floats) -> float | None:
        """Σ w (y/μ − 1)²."""
        return float(weight @ (y[:, 0] * self.mean(-eta[:, 0]) - 1.0) ** 2)


@dataclass(frozen=True)
class Tweedie(_LogLink):
    """Amounts with exact zeros: compound Poisson–gamma, VAR(y) ∝ μ^power.

    Its density has no closed form; `loglik` is the quasi log-likelihood
    −½ deviance/dispersion with Pearson's dispersion.

    Parameters
    ----------
    power : float, default=1.5
        Strictly between 1 (poisson) and 2 (gamma).
    """

    power: float = 1.5
    name = "tweedie"

    def __post_init__(self) -> None:
        if not 1.0 < self.power < 2.0:
            raise ValueError(
                f"power={self.power!r} must lie strictly between 1 and 2; "
                "for 1 use family='poisson', for 2 family='gamma'."
            )

    def unit_deviance(self, y: Floats, eta: Floats) -> Floats:
        """2(y^(2−p)/((1−p)(2−p)) − y μ^(1−p)/(1−p) + μ^(2−p)/(2−p))."""
        a, b = 1.0 - self.power, 2.0 - self.power
        return 2.0 * (y**b / (a * b) - y * self.mean(a * eta) / a + self.mean(b * eta) / b)

    def derivatives(self, y: Floats, eta: Floats) -> tuple[Floats, Floats]:
        """2(μ^(2−p) − y μ^(1−p)) and its derivative, positive for 1 < p < 2."""
        a, b = 1.0 - self.power, 2.0 - self.power
        up, down = self.mean(b * eta), y * self.mean(a * eta)
        return 2.0 * (up - down), 2.0 * (b * up - a * down)

    def check(self, y: Floats) -> None:
        """Refuse negative amounts, and amounts that are all zero."""
        _require(y, self.name, positive=False)

    def loglik(self, deviance: float, y: Floats, weight: Floats, dispersion: float) -> float:
        """Return −½ deviance/dispersion."""
        return -0.5 * deviance / dispersion if dispersion > 0.0 else 0.0

    def pearson(self, y: Floats, eta: Floats, weight: Floats) -> float | None:
        """Σ w (y − μ)²/μ^power."""
        mu = self.mean(eta[:, 0])
        return float(weight @ ((y[:, 0] - mu) ** 2 / mu**self.power))


def _require(y: Floats, name: str, *, positive: bool) -> None:
    bad = y <= 0 if positive else y < 0
    if bad.any():
        kind = "positive" if positive else "zero or positive"
        raise ValueError(f"a {name} response must be {kind}; y has {y[np.argmax(bad)]:g}.")
    if not y.any():
        raise ValueError(f"y is 0 in every row: a {name} model needs some that is not.")
