"""Binomial and quasi-binomial families."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from fairridge._arrays import at_least, joined, namespace, special
from fairridge._typing import Floats, Integers
from fairridge.families.base import (
    ClassFamily,
    ClassWeights,
    SinglePredictor,
    check_class_weights,
    weight_of_two,
)
from fairridge.families.distances import AbsoluteDifference, ClassDifference
from fairridge.families.links import LINKS


@dataclass(frozen=True)
class Binomial(SinglePredictor, ClassFamily):
    """P(y = 1) = μ(η) for y in {0, 1}, with deviance −2 log-likelihood.

    Parameters
    ----------
    link : {"logit", "probit", "cloglog"}, default="logit"
        μ = 1/(1 + e^−η), Φ(η) or 1 − exp(−e^η).
    class_weights : tuple of two floats, optional
        Weights of y = 0 and y = 1 in the deviance, beside those of the rows.
    tie : {0, 1}, default=0
        The outcome that is predicted where both are equally likely.

    See Also
    --------
    QuasiBinomial : For proportions.
    fairridge.FairRidgeClassifier : Fits it.

    References
    ----------
    .. [1] Scutari, Panero and Proissl (2022), section 4.4.
    .. [2] "Other responses" in docs/model.md.

    Examples
    --------
    >>> import numpy as np
    >>> from fairridge.families import Binomial
    >>> print(Binomial(link="probit").mean(np.array([[0.0], [1.96]])).ravel().round(3))
    [0.5   0.975]
    """

    link: Literal["logit", "probit", "cloglog"] = "logit"
    class_weights: ClassWeights = None
    tie: int = 0
    name = "binomial"
    reads = "classes"
    proportion = True
    distance = ClassDifference()

    def __post_init__(self) -> None:
        if self.link not in LINKS:
            known = ", ".join(map(repr, LINKS))
            raise ValueError(f"link={self.link!r} is not known; use one of {known}.")
        check_class_weights(self.class_weights, 2)
        if self.tie not in (0, 1):
            raise ValueError(f"tie={self.tie!r} must be 0 or 1.")

    def unit_deviance(self, y: Floats, eta: Floats, log_size: float = 0.0) -> Floats:
        """−2(y log μ + (1 − y) log(1 − μ))."""
        unit = LINKS[self.link].deviance(y, eta, log_size)
        weights = self.class_weights
        return unit if weights is None else weight_of_two(weights, y) * unit

    def log_size(self, eta: float, mean: float) -> float:
        """Return 0 for links under which deviances grow with η itself."""
        return LINKS[self.link].log_size(eta)

    def derivatives(self, y: Floats, eta: Floats) -> tuple[Floats, Floats]:
        """Its derivatives in η; 2(μ − y) and 2μ(1 − μ) for the logit."""
        first, second = LINKS[self.link].derivatives(y, eta)
        if self.class_weights is None:
            return first, second
        weight = weight_of_two(self.class_weights, y)
        return weight * first, weight * second

    def first_derivative(self, y: Floats, eta: Floats) -> Floats:
        """Return the first derivative alone."""
        first = LINKS[self.link].first_derivative(y, eta)
        weights = self.class_weights
        return first if weights is None else weight_of_two(weights, y) * first

    def initial_intercepts(self, y: Floats, weight: Floats, offset: Floats | None) -> Floats:
        """Return an intercept near that of the null model."""
        if self.class_weights is None:
            return super().initial_intercepts(y, weight, offset)
        # Classes weigh as much as if their rows did; y may be the mean of several rows.
        mean = float(np.average(y[:, 0], weights=weight))
        weighted = self.class_weights[1] * mean / float(weight_of_two(self.class_weights, mean))
        return super().initial_intercepts(np.full_like(y, weighted), weight, offset)

    def to_eta(self, mu: Floats) -> Floats:
        """Return η for a probability."""
        return LINKS[self.link].to_eta(mu)

    def mean(self, eta: Floats) -> Floats:
        """Return μ."""
        return LINKS[self.link].mean(eta)

    def probabilities(self, eta: Floats) -> Floats:
        """Return 1 − μ and μ for η of shape (n, 1)."""
        return joined([LINKS[self.link].complement(eta), self.mean(eta)], axis=1)

    @property
    def threshold(self) -> float:
        """η above which y = 1 is the likelier outcome."""
        return float(self.to_eta(np.asarray(0.5)))

    def likeliest(self, eta: Floats) -> Integers:
        """Return the likelier outcome for η of shape (n, 1)."""
        level = self.threshold
        above = eta[:, 0] >= level if self.tie else eta[:, 0] > level
        xp = namespace(eta)
        return above.astype(np.intp) if xp is np else xp.astype(above, xp.int64)

    def check_values(self, y: Floats) -> None:
        """Refuse responses outside [0, 1]."""
        outside = (y < 0) | (y > 1)
        if outside.any():
            value = float(y[np.argmax(outside)])
            raise ValueError(f"a {self.name} response lies in [0, 1]; y has {value:g}.")

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

    Parameters
    ----------
    link : {"logit", "probit", "cloglog"}, default="logit"
        As in `Binomial`.
    class_weights : tuple of two floats, optional
        As in `Binomial`.
    tie : {0, 1}, default=0
        As in `Binomial`.

    See Also
    --------
    Binomial : For classes.

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
    >>> shares = 1 / (1 + np.exp(-y))
    >>> model = FairRidgeRegressor(0.05, family="quasi-binomial", definition="mean-parity")
    >>> print(model.fit(X, shares, sensitive_features=S).family_.name)
    quasi-binomial
    """

    name = "quasi-binomial"
    reads = "numbers"  # type: ignore[assignment]
    distance = AbsoluteDifference()  # type: ignore[assignment]

    def unit_deviance(self, y: Floats, eta: Floats, log_size: float = 0.0) -> Floats:
        """−2(y log μ + (1 − y) log(1 − μ)), less its value in the saturated model."""
        xlogy = special(namespace(y)).xlogy
        saturated = 2.0 * (xlogy(y, y) + xlogy(1.0 - y, 1.0 - y))
        return super().unit_deviance(y, eta, log_size) + math.exp(-log_size) * saturated

    def pearson(self, y: Floats, eta: Floats, weight: Floats) -> float | None:
        """Σ w (y − μ)²/(μ(1 − μ))."""
        mu = self.mean(eta[:, 0])
        return float(weight @ ((y[:, 0] - mu) ** 2 / at_least(mu * (1.0 - mu), 1e-300)))
