"""What a family must offer: a deviance in the linear predictor, and its derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Protocol

from fairridge._typing import Floats, Integers
from fairridge.families.distances import Distance
from fairridge.families.means import MeansOfRows
from fairridge.families.sums import RowFunction, RowSums

__all__ = ["ClassFamily", "Family", "FreeModels", "Link", "Reads", "Share"]

Share = Literal["deviance", "variance"]
Reads = Literal["numbers", "classes", "times"]
Link = Literal["identity", "log", "logit", "probit", "cloglog", "softmax"]

# Maps a family to the sums over rows of its model at λ = 0.
FreeModels = Callable[["Family"], Callable[[RowFunction], Floats]]


class Family(Protocol):
    """The distribution of a response with m linear predictors."""

    @property
    def name(self) -> str:
        """Short name."""
        ...

    @property
    def reads(self) -> Reads:
        """What a response holds: numbers, codes of classes, or times with events."""
        ...

    @property
    def link(self) -> Link:
        """How η becomes what the model predicts, `mean`."""
        ...

    @property
    def least_squares(self) -> bool:
        """Whether the deviance is the residual sum of squares.

        Then every λ has a closed form in the moments of [S, X, y], an offset
        is taken off the response, and the explained deviance is R².
        """
        ...

    @property
    def proportion(self) -> bool:
        """Whether the mean is the probability of y = 1."""
        ...

    @property
    def has_intercept(self) -> bool:
        """Whether the deviance depends on the intercept."""
        ...

    @property
    def n_predictors(self) -> int:
        """Linear predictors per row, m."""
        ...

    @property
    def separable(self) -> bool:
        """Whether the deviance is a sum over independent rows."""
        ...

    @property
    def share(self) -> Share:
        """What statistical parity compares by default."""
        ...

    @property
    def distance(self) -> Distance:
        """Distance between responses for individual fairness."""
        ...

    def initial_intercepts(self, y: Floats, weight: Floats, offset: Floats | None) -> Floats:
        """Return the m intercepts from which to start."""
        ...

    def unit(self, mean: float) -> float:
        """Return the unit of a row's deviance: 1, or a power of the mean response.

        0 if only the deviance itself tells.
        """
        ...

    def deviance_terms(self, y: Floats, eta: Floats, weight: Floats, order: int) -> RowSums:
        """Return the deviance, its gradient (order ≥ 1) and curvature (order 2)."""
        ...

    def log_size(self, shift: float) -> float:
        """Return log c if a shift of η multiplies deviances by at most c; 0 if it adds to them.

        A family that returns more than 0 takes log c as third argument of
        `unit_deviance`, and divides by c what may be beyond floating point.
        """
        ...

    def to_class_coefficients(self, coordinates: Floats) -> Floats:
        """Map coefficients of the m linear predictors (rows) to those users see."""
        ...

    def to_contrasts(self, coefficients: Floats) -> Floats:
        """Map them back."""
        ...

    def mean(self, eta: Floats) -> Any:
        """Return the expected response for linear predictors of shape (n, m)."""
        ...

    def means(self, codes: tuple[int, ...] | None, reference: float) -> MeansOfRows:
        """Return the means of rows with their derivatives; see `families.means.PredictedMeans`."""
        ...

    def on(self, y: Floats) -> Family:
        """Return the family prepared for these responses.

        Families with independent rows need no preparation and return themselves.
        """
        ...

    def completed(self, free: FreeModels) -> Family:
        """Return the family with its open parameters estimated from the rows.

        Parameters
        ----------
        free : callable
            Fits the model without a bound for a family whose parameters are all
            known, and returns what sums functions over the rows at its η.
        """
        ...

    def loglik(self, deviance: float, y: Floats, weight: Floats, dispersion: float) -> float:
        """Return the log-likelihood of a model with this deviance."""
        ...

    def pearson(self, y: Floats, eta: Floats, weight: Floats) -> float | None:
        """Return Pearson's χ² of the rows; None if the dispersion is fixed at 1."""
        ...


class ClassFamily(Family, Protocol):
    """A family that reads classes, with η of shape (n, 1) for two of them and (n, K) for more."""

    def probabilities(self, eta: Floats) -> Floats:
        """Return the probability of every class, of shape (n, K)."""
        ...

    def likeliest(self, eta: Floats) -> Integers:
        """Return the code of the likeliest class."""
        ...
