"""What a family must offer: a deviance in the linear predictor, and its derivatives."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Literal

from fairridge._typing import Floats, Integers
from fairridge.families.distances import AbsoluteDifference, Distance
from fairridge.families.means import MeansOfRows, PredictedMeans
from fairridge.families.sums import RowFunction, RowSums

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
    separable : bool
        Whether the deviance is a sum over independent rows.
    share : {"deviance", "variance"}
        What statistical parity compares by default.
    distance : Distance
        Distance between responses for individual fairness.
    """

    name: str
    reads: Reads = "numbers"
    link: Link
    least_squares = False
    proportion = False
    has_intercept = True
    separable = True
    share: Share = "deviance"
    distance: Distance = AbsoluteDifference()

    @property
    def n_predictors(self) -> int:
        """Linear predictors per row, m."""
        return 1

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

    def log_size(self, shift: float) -> float:
        """Return log c if a shift of η multiplies deviances by at most c; 0 if it adds to them.

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

    def means(self, codes: tuple[int, ...] | None, reference: float) -> MeansOfRows:
        """Return the means of rows with their derivatives; see `families.means.PredictedMeans`."""
        return PredictedMeans(self, codes, reference)

    def on(self, y: Floats) -> Family:
        """Return the family prepared for these responses.

        Families with independent rows need no preparation and return themselves.
        """
        return self

    def completed(self, free: FreeModels) -> Family:
        """Return the family with its open parameters estimated from the rows.

        Parameters
        ----------
        free : callable
            Fits the model without a bound for a family whose parameters are all
            known, and returns what sums functions over the rows at its η.
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
