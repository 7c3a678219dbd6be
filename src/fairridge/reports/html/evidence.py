"""What a report says of one model beyond its path: errors, certificate, and how it scores."""

from __future__ import annotations

from dataclasses import dataclass, field

from fairridge._typing import Floats
from fairridge.inference import Certificate, Interval


@dataclass(frozen=True)
class CoefficientError:
    """How exactly one coefficient is known.

    Attributes
    ----------
    error : float
        Standard error; NaN for levels that are isolated.
    low, high : float
        Ends of the interval.
    """

    error: float
    low: float
    high: float


@dataclass(frozen=True)
class Uncertainty:
    """Standard errors of the chosen model, and what it is like in the population.

    Attributes
    ----------
    refusal : str
        Why there are no standard errors; "" if there are.
    level : float
        Confidence of the intervals of coefficients.
    covariance : str
        How the covariance was estimated.
    fair, raw : dict of str to CoefficientError
        Of α and β, and of the raw coefficients with "(intercept)"; names of
        several classes begin with "class: ".
    population : Interval or None
        R² of the linear predictor on S in the population.
    no_population : str
        Why there is no such interval; "" if there is one.
    certificate : Certificate or None
        What the bound promises, if `confidence` was set.
    """

    refusal: str = ""
    level: float = 0.95
    covariance: str = ""
    fair: dict[str, CoefficientError] = field(default_factory=dict)
    raw: dict[str, CoefficientError] = field(default_factory=dict)
    population: Interval | None = None
    no_population: str = ""
    certificate: Certificate | None = None


@dataclass(frozen=True)
class ScoreTerm:
    """One encoded column of a linear predictor.

    Attributes
    ----------
    name : str
        The encoded column.
    coefficients : ndarray of shape (K,)
        Raw coefficients, one per class.
    value : float
        The column in a typical row.
    """

    name: str
    coefficients: Floats
    value: float


@dataclass(frozen=True)
class Scoring:
    """How one score is computed by hand, shown for a typical row.

    Attributes
    ----------
    outcomes : tuple of str
        Classes of the columns of coefficients; ("",) for one linear predictor.
    intercept : ndarray of shape (K,)
        Intercepts; zero for models that have none.
    terms : tuple of ScoreTerm
        All encoded columns, in the order of `coef_names_`.
    base_levels : tuple of (str, str)
        Categorical columns with the level whose coefficient is zero.
    typical : tuple of (str, str or float)
        The row as its columns come: medians, and the commonest levels.
    eta, prediction : ndarray
        Linear predictors of that row, and what they predict.
    """

    outcomes: tuple[str, ...]
    intercept: Floats
    terms: tuple[ScoreTerm, ...]
    base_levels: tuple[tuple[str, str], ...]
    typical: tuple[tuple[str, str | float], ...]
    eta: Floats
    prediction: Floats
