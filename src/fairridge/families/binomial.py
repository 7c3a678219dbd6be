"""Binomial and quasi-binomial families, and their links between η and a probability μ = P(y = 1).

A link is given by its losses −log μ and −log(1 − μ) with their derivatives in
η, each written so that it keeps its digits however far η is from zero.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal

import numpy as np

from fairridge._arrays import (
    LARGEST_EXPONENT,
    at_least,
    at_most,
    bounded_exp,
    joined,
    namespace,
    special,
)
from fairridge._typing import Floats, Integers
from fairridge.families.base import (
    ClassFamily,
    ClassWeights,
    SinglePredictor,
    check_class_weights,
    weight_of_two,
)
from fairridge.families.distances import AbsoluteDifference, ClassDifference

# Where the hazard of a normal variable is a continued fraction, and how many terms that takes.
TAIL_START, FRACTION_TERMS = 5.0, 24
ROOT_2, ROOT_2_OVER_PI = math.sqrt(2.0), math.sqrt(2.0 / math.pi)


class ProbabilityLink(ABC):
    """How η becomes a probability, and the deviance of outcomes."""

    @abstractmethod
    def mean(self, eta: Floats) -> Floats:
        """Return μ."""

    def complement(self, eta: Floats) -> Floats:
        """Return 1 − μ; that of a symmetric link is μ at −η."""
        return self.mean(-eta)

    @abstractmethod
    def to_eta(self, mu: Floats) -> Floats:
        """Return η."""

    @abstractmethod
    def deviance(self, y: Floats, eta: Floats, log_size: float = 0.0) -> Floats:
        """Return −2(y log μ + (1 − y) log(1 − μ)), divided by e^log_size."""

    def log_size(self, eta: float) -> float:
        """Return log c if deviances at a large η grow like c; 0 if like η."""
        return 0.0

    @abstractmethod
    def derivatives(self, y: Floats, eta: Floats) -> tuple[Floats, Floats]:
        """Return its first and second derivative in η."""

    def first_derivative(self, y: Floats, eta: Floats) -> Floats:
        """Return the first alone."""
        return self.derivatives(y, eta)[0]


class Logit(ProbabilityLink):
    """μ = 1/(1 + e^−η)."""

    def mean(self, eta: Floats) -> Floats:
        """Return 1/(1 + e^−η)."""
        xp = namespace(eta)
        if xp is not np:
            return special(xp).expit(eta)
        # SciPy's expit has the same digits, but takes four times as long: it is not vectorized.
        with np.errstate(over="ignore"):
            return np.asarray(1.0 / (1.0 + np.exp(-eta)))

    def to_eta(self, mu: Floats) -> Floats:
        """Return log(μ/(1 − μ))."""
        return special(namespace(mu)).logit(mu)

    def deviance(self, y: Floats, eta: Floats, log_size: float = 0.0) -> Floats:
        """2(log(1 + e^η) − yη)."""
        xp = namespace(eta)
        size = xp.abs(eta)
        # The difference is exact for outcomes 0 and 1, so that a separated one keeps its digits.
        wrong = 0.5 * (eta + size) - y * eta
        return 2.0 * math.exp(-log_size) * (xp.log1p(xp.exp(-size)) + wrong)

    def derivatives(self, y: Floats, eta: Floats) -> tuple[Floats, Floats]:
        """2(μ − y) and 2μ(1 − μ)."""
        mu = self.mean(eta)
        return 2.0 * (mu - y), 2.0 * mu * (1.0 - mu)

    def first_derivative(self, y: Floats, eta: Floats) -> Floats:
        """2(μ − y)."""
        return 2.0 * (self.mean(eta) - y)


class Probit(ProbabilityLink):
    """μ = Φ(η), the normal distribution function."""

    def mean(self, eta: Floats) -> Floats:
        """Return Φ(η)."""
        return special(namespace(eta)).ndtr(eta)

    def to_eta(self, mu: Floats) -> Floats:
        """Return Φ⁻¹(μ)."""
        return special(namespace(mu)).ndtri(mu)

    def deviance(self, y: Floats, eta: Floats, log_size: float = 0.0) -> Floats:
        """−2(y log Φ(η) + (1 − y) log Φ(−η))."""
        log_ndtr = special(namespace(eta)).log_ndtr
        return -2.0 * math.exp(-log_size) * (y * log_ndtr(eta) + (1.0 - y) * log_ndtr(-eta))

    def derivatives(self, y: Floats, eta: Floats) -> tuple[Floats, Floats]:
        """−2(yh(−η) − (1 − y)h(η)) and 2(yh(−η)(h(−η) + η) + (1 − y)h(η)(h(η) − η))."""
        # h = φ/Φ(−·) is the hazard of a standard normal variable.
        (up, up_excess), (down, down_excess) = _hazard(eta), _hazard(-eta)
        first = 2.0 * ((1.0 - y) * up - y * down)
        return first, 2.0 * ((1.0 - y) * up * up_excess + y * down * down_excess)


class ComplementaryLogLog(ProbabilityLink):
    """μ = 1 − exp(−e^η): an event of a Poisson process with intensity e^η."""

    def mean(self, eta: Floats) -> Floats:
        """Return 1 − exp(−e^η)."""
        return -namespace(eta).expm1(-bounded_exp(eta))

    def complement(self, eta: Floats) -> Floats:
        """Return exp(−e^η)."""
        return namespace(eta).exp(-bounded_exp(eta))

    def to_eta(self, mu: Floats) -> Floats:
        """Return log(−log(1 − μ))."""
        xp = namespace(mu)
        return xp.log(-xp.log1p(-mu))

    def log_size(self, eta: float) -> float:
        """Return η, by whose exponential t grows."""
        return max(eta, 0.0)

    def deviance(self, y: Floats, eta: Floats, log_size: float = 0.0) -> Floats:
        """−2(y log(1 − e^−t) − (1 − y)t) with t = e^η, which may exceed what numbers can be."""
        xp, t = namespace(eta), bounded_exp(eta)
        tiny = eta < -30.0  # there 1 − e^−t = t·e^(−t/2), and t itself may be zero
        middle = xp.log(-xp.expm1(-xp.where(tiny, 1.0, at_most(t, 1.0))))
        log_mean = xp.where(t < 1.0, middle, xp.log1p(-xp.exp(-at_least(t, 1.0))))
        log_mean = xp.where(tiny, eta - 0.5 * t, log_mean)
        return 2.0 * ((1.0 - y) * bounded_exp(eta - log_size) - math.exp(-log_size) * y * log_mean)

    def derivatives(self, y: Floats, eta: Floats) -> tuple[Floats, Floats]:
        """2((1 − y)t − ya) and 2((1 − y)t + ya(t + a − 1)), with a = t/(e^t − 1)."""
        xp, t = namespace(eta), bounded_exp(eta)
        used = at_most(at_least(t, 1e-300), LARGEST_EXPONENT)
        a = used / xp.expm1(used)
        # t + a − 1, from its series where that is a difference of nearly equal numbers.
        s = at_most(t, 0.03)
        series = s / 2.0 + s**2 / 12.0 - s**4 / 720.0 + s**6 / 30240.0
        excess = xp.where(t < 0.03, series, used + a - 1.0)
        return 2.0 * ((1.0 - y) * t - y * a), 2.0 * ((1.0 - y) * t + y * a * excess)


LINKS: dict[str, ProbabilityLink] = {
    "logit": Logit(),
    "probit": Probit(),
    "cloglog": ComplementaryLogLog(),
}


def _hazard(x: Floats) -> tuple[Floats, Floats]:
    """Return h(x) = φ(x)/Φ(−x), and h(x) − x."""
    xp, near = namespace(x), at_most(x, TAIL_START)
    # erfcx is infinite for x < −37, where h has long been zero.
    hazard = ROOT_2_OVER_PI / special(xp).erfcx(near / ROOT_2)
    excess = hazard - near
    far = x > TAIL_START
    if xp.any(far):
        # h(x) − x = 1/(x + 2/(x + 3/(x + …))), without a difference of large numbers.
        if xp is np:  # where they are few, and only they need cost anything
            hazard[far], excess[far] = _far_hazard(x[far])
        else:
            tail, fraction = _far_hazard(at_least(x, TAIL_START))
            hazard, excess = xp.where(far, tail, hazard), xp.where(far, fraction, excess)
    return hazard, excess


def _far_hazard(x: Floats) -> tuple[Floats, Floats]:
    tail = x
    for k in range(FRACTION_TERMS, 0, -1):
        fraction = k / tail
        tail = x + fraction
    return tail, fraction


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
