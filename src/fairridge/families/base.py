"""What a family must offer: a deviance in the linear predictor, and its derivatives."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from math import isfinite
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from fairridge._typing import Floats, Integers
from fairridge.families.distances import AbsoluteDifference, Distance
from fairridge.families.sums import PredictedMeans, RowFunction, RowSums

Share = Literal["deviance", "variance"]
Reads = Literal["numbers", "classes", "times"]
Link = Literal["identity", "log", "logit", "probit", "cloglog", "softmax"]

# Maps a family to the sums over rows of its model at λ = 0.
FreeModels = Callable[["Family"], Callable[[RowFunction], Floats]]


class Family(ABC):
    """The distribution of a response with m linear predictors.

    Attributes
    ----------
    name : str
        Short name.
    reads : {"numbers", "classes", "times"}
        What a response holds: numbers, codes of classes, or times with events.
    link : str
        How η becomes what the model predicts, `mean`.
    least_squares : bool
        Whether the deviance is the residual sum of squares. Then every λ has a
        closed form in the moments of [S, X, y], an offset is taken off the
        response, and the explained deviance is R².
    proportion : bool
        Whether the mean is the probability of y = 1.
    has_intercept : bool
        Whether the deviance depends on the intercept.
    has_minimum : bool
        Whether no columns separate the responses, as every row gets worse both ways.
    separable : bool
        Whether the deviance is a sum over independent rows.
    is_open : bool
        Whether it has a parameter that `completed` estimates.
    share : {"deviance", "variance"}
        What statistical parity compares by default.
    distance : Distance
        Distance between responses for individual fairness.

    See Also
    --------
    RowSums : What `deviance_terms` returns.
    Poisson : A short one.

    References
    ----------
    .. [1] Scutari, Panero and Proissl (2022), section 4.4.
    .. [2] "Other responses" in docs/model.md.

    Examples
    --------
    >>> from fairridge.families import Family, Poisson
    >>> print(isinstance(Poisson(), Family), Poisson().link)
    True log
    """

    name: str
    reads: Reads = "numbers"
    link: Link
    least_squares = False
    proportion = False
    has_intercept = True
    has_minimum = False
    separable = True
    share: Share = "deviance"
    distance: Distance = AbsoluteDifference()

    @property
    def n_predictors(self) -> int:
        """Linear predictors per row, m."""
        return 1

    @property
    def ratio(self) -> str:
        """What a power of e of a coefficient is, such as "odds ratio"; "" if nothing."""
        return "odds ratio" if self.link in ("logit", "softmax") else ""

    @abstractmethod
    def initial_intercepts(self, y: Floats, weight: Floats, offset: Floats | None) -> Floats:
        """Return the m intercepts from which to start."""

    @abstractmethod
    def deviance_terms(self, y: Floats, eta: Floats, weight: Floats, order: int) -> RowSums:
        """Return the deviance, its gradient (order ≥ 1) and curvature (order 2)."""

    @abstractmethod
    def mean(self, eta: Floats) -> Floats:
        """Return the expected response for linear predictors of shape (n, m)."""

    def unit(self, mean: float) -> float:
        """Return the unit of a row's deviance: 1, or a power of the mean response.

        0 if only the deviance itself has a scale.
        """
        return 1.0

    def log_size(self, eta: float, mean: float) -> float:
        """Return log c if deviances at η, far from a mean response, grow like c; 0 if like η.

        A family that returns more than 0 takes log c as third argument of
        `unit_deviance`, and divides by c what may be beyond floating point.
        """
        return 0.0

    def to_class_coefficients(self, coordinates: Floats) -> Floats:
        """Map coefficients of the m linear predictors (rows) to those users see."""
        return coordinates

    def to_contrasts(self, coefficients: Floats) -> Floats:
        """Map them back."""
        return coefficients

    def means(
        self,
        among: tuple[tuple[int, int], ...] | None,
        reference: tuple[float, ...] | None = None,
        *,
        totals: bool = False,
    ) -> PredictedMeans:
        """Return the means of rows with their derivatives; see `PredictedMeans`."""
        return PredictedMeans(self, among, reference, totals)

    def on(self, y: Floats) -> Family:
        """Return the family prepared for these responses.

        Families with independent rows need no preparation and return themselves.
        """
        return self

    @property
    def is_open(self) -> bool:
        """Whether it has a parameter that `completed` estimates."""
        return False

    def completed(self, free: FreeModels) -> Family:
        """Return the family with its open parameters estimated from the rows.

        Parameters
        ----------
        free : callable
            Fits the model without a bound for a family whose parameters are all
            known, and returns what sums functions over the rows at its η.

        Returns
        -------
        Family
            Itself, if nothing is open.
        """
        return self

    def loglik(self, deviance: float, y: Floats, weight: Floats, dispersion: float) -> float:
        """Return the log-likelihood of a model with this deviance.

        By default −½ deviance/dispersion: a quasi log-likelihood, unless the
        dispersion is fixed at 1.
        """
        return -0.5 * deviance / dispersion if dispersion > 0.0 else 0.0

    def pearson(self, y: Floats, eta: Floats, weight: Floats) -> float | None:
        """Return Pearson's χ² of the rows; None if the dispersion is fixed at 1."""
        return None


class ClassFamily(Family):
    """A family that reads classes, with η of shape (n, 1) for two of them and (n, K) for more."""

    @abstractmethod
    def probabilities(self, eta: Floats) -> Floats:
        """Return the probability of every class, of shape (n, K)."""

    @abstractmethod
    def likeliest(self, eta: Floats) -> Integers:
        """Return the code of the likeliest class."""


def modeled_class(classes: NDArray[Any]) -> Any:
    """Return the label that is modeled, by the order of codes; None of several classes."""
    return classes.tolist()[1] if len(classes) == 2 else None


class SinglePredictor(Family):
    """A family of numbers given by its unit deviance d(y, η), convex in η: derive your own.

    With equal linear predictors the deviance is least at the mean of the responses, as it is
    for every likelihood, or quasi-likelihood, of a mean.

    Attributes
    ----------
    name : str
        Short name.
    link : str
        How η becomes the mean.

    See Also
    --------
    Family : The other facts that a family may state.

    References
    ----------
    .. [1] "Extend" in docs/api.md has a family of counts that are at least 1.

    Examples
    --------
    >>> from fairridge.families import Gamma, SinglePredictor
    >>> print(isinstance(Gamma(), SinglePredictor))
    True
    """

    @abstractmethod
    def unit_deviance(self, y: Floats, eta: Floats) -> Floats:
        """Return d(y, η) for each row."""

    @abstractmethod
    def derivatives(self, y: Floats, eta: Floats) -> tuple[Floats, Floats]:
        """Return ∂d/∂η and ∂²d/∂η² for each row."""

    def first_derivative(self, y: Floats, eta: Floats) -> Floats:
        """Return ∂d/∂η alone for each row."""
        return self.derivatives(y, eta)[0]

    @abstractmethod
    def to_eta(self, mu: Floats) -> Floats:
        """Return η for a mean."""

    def check_values(self, y: Floats) -> None:
        """Raise if a response is impossible; by default every number is possible."""

    def check(self, y: Floats) -> None:
        """Raise if a response is impossible, or if all of them leave nothing to fit."""
        self.check_values(y)

    def initial_intercepts(self, y: Floats, weight: Floats, offset: Floats | None) -> Floats:
        """Return an intercept near that of the null model."""
        intercept = float(self.to_eta(np.asarray(np.average(y[:, 0], weights=weight))))
        return np.array(
            [intercept - (0.0 if offset is None else np.average(offset, weights=weight))]
        )

    def null_level(self, y: Floats, weight: Floats, offset: Floats | None) -> float:
        """Return the intercept of the null model, which keeps the offset; it may be infinite."""
        with np.errstate(divide="ignore"):
            intercept = float(self.to_eta(np.asarray(np.average(y[:, 0], weights=weight))))
        if offset is None or not np.isfinite(intercept) or offset.min() == offset.max():
            return intercept - (0.0 if offset is None else float(offset[0]))

        def slope(x: float) -> float:
            return float(weight @ self.first_derivative(y[:, 0], x + offset))

        # At the one end all means are below that of the response, at the other above it.
        low, high = intercept - float(offset.max()), intercept - float(offset.min())
        if slope(low) >= 0.0:
            return low
        return high if slope(high) <= 0.0 else float(brentq(slope, low, high))

    def deviance_terms(self, y: Floats, eta: Floats, weight: Floats, order: int) -> RowSums:
        """Return the deviance, its gradient (order ≥ 1) and curvature (order 2)."""
        y, eta = y[:, 0], eta[:, 0]
        deviance: Any = weight @ self.unit_deviance(y, eta)
        if order == 0:
            return RowSums(deviance)
        if order == 1:
            return RowSums(deviance, (weight * self.first_derivative(y, eta))[:, None])
        first, second = self.derivatives(y, eta)
        return RowSums(deviance, (weight * first)[:, None], (weight * second)[:, None, None])


ClassWeights = tuple[float, ...] | None


def check_class_weights(weights: ClassWeights, n_classes: int) -> None:
    """Raise unless every class has a positive weight."""
    if weights is None:
        return
    if len(weights) != n_classes or not all(isfinite(w) and w > 0.0 for w in weights):
        raise ValueError(
            f"class_weights={weights!r} must be {n_classes} positive numbers, one per class."
        )


def with_class_weights(family: Any, weights: ClassWeights) -> Any:
    """Return a family with other weights of classes; families that have none stay as they are."""
    if getattr(family, "class_weights", None) == weights:
        return family
    return replace(family, class_weights=weights)


def weight_of_two(weights: tuple[float, ...], y: Any) -> Any:
    """Return the weight of rows of classes 0 and 1; of a proportion, what is between."""
    return weights[0] + (weights[1] - weights[0]) * y
