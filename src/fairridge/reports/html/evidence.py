"""What a report says of one model beyond its path: standard errors, and how it scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fairridge._typing import Floats
from fairridge.inference import Inference
from fairridge.metrics.intervals import CONFIDENCE

# Standard error, NaN for isolated levels, and the ends of the interval.
CoefficientError = tuple[float, float, float]


def coefficient_errors(
    inference: Inference | None, kind: Literal["raw", "fair"]
) -> dict[str, CoefficientError]:
    """Return how exactly each coefficient is known, by name; nothing without standard errors."""
    if inference is None:
        return {}
    estimates = getattr(inference, kind)
    ends = estimates.interval(CONFIDENCE, inference.facts.df)
    values = zip(estimates.standard_errors, *ends.T, strict=True)
    return dict(zip(estimates.names, (tuple(map(float, each)) for each in values), strict=True))


@dataclass(frozen=True)
class ScoreTerm:
    """One encoded column of a linear predictor."""

    name: str  # the encoded column
    coefficients: Floats  # raw coefficients, one per class, of shape (K,)
    value: float  # the column in a typical row


@dataclass(frozen=True)
class Scoring:
    """How one score is computed by hand, shown for a typical row."""

    # Classes of the columns of coefficients; ("",) for one linear predictor.
    outcomes: tuple[str, ...]
    intercept: Floats  # intercepts; zero for models that have none, of shape (K,)
    terms: tuple[ScoreTerm, ...]  # all encoded columns, in the order of `coef_names_`
    # Categorical columns with the level whose coefficient is zero.
    base_levels: tuple[tuple[str, str], ...]
    # The row as its columns come: medians, and the commonest levels.
    typical: tuple[tuple[str, str | float], ...]
    # Linear predictors of that row, and what they predict.
    eta: Floats
    prediction: Floats
