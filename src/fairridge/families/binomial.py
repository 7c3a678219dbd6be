"""Binomial and quasi-binomial families with the logit link."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, xlogy

from fairridge.engines import AbsoluteDifference, ClassDifference, Distance
from fairridge.families._single import SinglePredictor, quasi_loglik
from fairridge.families.base import Reads

__all__ = ["Binomial", "QuasiBinomial"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Binomial(SinglePredictor):
    """P(y = 1) = 1/(1 + e^−η) for y in {0, 1}, with deviance −2 log-likelihood."""

    name = "binomial"
    reads: ClassVar[Reads] = "classes"
    link = "logit"
    proportion = True

    @property
    def distance(self) -> Distance:
        """Distance between responses for individual fairness: 1[yᵢ ≠ yⱼ]."""
        return ClassDifference()

    def unit_deviance(self, y: Floats, eta: Floats) -> Floats:
        """2(log(1 + e^η) − yη)."""
        # As a sum without differences, so that a separated outcome keeps its digits.
        wrong = (1.0 - y) * np.maximum(eta, 0.0) + y * np.maximum(-eta, 0.0)
        return 2.0 * (np.log1p(np.exp(-np.abs(eta))) + wrong)

    def derivatives(self, y: Floats, eta: Floats) -> tuple[Floats, Floats]:
        """2(μ − y) and 2μ(1 − μ)."""
        mu = expit(eta)
        return 2.0 * (mu - y), 2.0 * mu * (1.0 - mu)

    def to_eta(self, mu: Floats) -> Floats:
        """Return log(μ/(1 − μ))."""
        return logit(mu)

    def mean(self, eta: Floats) -> Floats:
        """Return 1/(1 + e^−η)."""
        return expit(eta)

    def check_values(self, y: Floats) -> None:
        """Refuse responses outside [0, 1]."""
        if (y < 0).any() or (y > 1).any():
            raise ValueError(f"a {self.name} response lies in [0, 1]; y has {_outside(y):g}.")

    def check(self, y: Floats) -> None:
        """Refuse responses outside [0, 1], and responses that are all 0 or all 1."""
        self.check_values(y)
        if y.min() == y.max() and y.min() in (0.0, 1.0):
            raise ValueError(
                f"y is {y.min():g} in every row: a {self.name} model needs both outcomes."
            )


@dataclass(frozen=True)
class QuasiBinomial(Binomial):
    """Binomial coefficients with a free dispersion; y is any proportion in [0, 1].

    Only standard errors differ from the binomial family. In particular β
    changes with r just as it does there, contrary to what the paper says of
    this family (section 4.4).
    """

    name = "quasi-binomial"
    reads: ClassVar[Reads] = "numbers"

    @property
    def distance(self) -> Distance:
        """Distance between responses for individual fairness: |yᵢ − yⱼ|."""
        return AbsoluteDifference()

    def unit_deviance(self, y: Floats, eta: Floats) -> Floats:
        """2(log(1 + e^η) − yη), less its value in the saturated model."""
        return super().unit_deviance(y, eta) + 2.0 * (xlogy(y, y) + xlogy(1.0 - y, 1.0 - y))

    def loglik(self, deviance: float, y: Floats, weight: Floats, dispersion: float) -> float:
        """Return the quasi log-likelihood, −½ deviance/dispersion."""
        return quasi_loglik(deviance, dispersion)

    def pearson(self, y: Floats, eta: Floats, weight: Floats) -> float | None:
        """Σ w (y − μ)²/(μ(1 − μ))."""
        mu = self.mean(eta[:, 0])
        return float(weight @ ((y[:, 0] - mu) ** 2 / np.maximum(mu * (1.0 - mu), 1e-300)))


def _outside(y: Floats) -> float:
    return float(y[np.argmax((y < 0) | (y > 1))])
