"""Intervals contain what they are for as often as they say."""

import numpy as np
import pytest

from fairridge.fairness import StatisticalParity
from fairridge.families import Binomial, Gaussian

from .problems import inferred

B = np.array([[0.6, -0.3], [0.2, 0.5]])


def sample(family, n, rng):
    """Skewed predictors whose spread depends on the group, and heteroscedastic responses."""
    S = np.column_stack([rng.random(n) < 0.4, rng.normal(size=n)]).astype(float)
    X = S @ B + (1 + S[:, :1]) * (rng.exponential(size=(n, 2)) - 1)
    eta = S @ [1.0, 0.5] + X @ [0.5, -0.5] - 0.4
    if family.least_squares:
        y = eta + (0.5 + 0.5 * S[:, 0]) * rng.normal(size=n)
    else:
        y = (rng.random(n) < 1 / (1 + np.exp(-eta))).astype(float)
    return S, X, y[:, None], y[:, None]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "r"), [(Gaussian(), 0.0), (Gaussian(), 0.05), (Binomial(), 0.05)], ids=str
)
def test_coverage_of_nominal_intervals(family, r):
    rng, definition, repeats = np.random.default_rng(8), StatisticalParity(), 400
    truth = inferred(family, sample(family, 400_000, rng), definition, r)
    hits = np.zeros((repeats, 5))
    for k in range(repeats):
        found = inferred(family, sample(family, 600, rng), definition, r)
        lower, upper = found.confidence_interval(0.95).T
        hits[k] = (lower <= truth.estimate) & (truth.estimate <= upper)
    # 0.95 within four Monte Carlo standard errors, and what 600 rows are short of infinity.
    assert (np.abs(hits.mean(axis=0) - 0.95) < 4 * np.sqrt(0.95 * 0.05 / repeats) + 0.005).all()


@pytest.mark.slow
def test_the_population_value_is_in_its_interval_and_above_the_bound_half_of_the_time():
    rng, definition, repeats = np.random.default_rng(9), StatisticalParity(), 400
    S, X, *_ = sample(Gaussian(), 400_000, rng)
    covariance = np.cov(np.hstack([S, X]).T)
    hits = np.zeros((repeats, 2))
    for k in range(repeats):
        found = inferred(Gaussian(), sample(Gaussian(), 600, rng), definition, 0.05)
        interval = found.population_unfairness(0.9)
        both = covariance @ found.estimate[1:]
        explained = both[:2] @ np.linalg.solve(covariance[:2, :2], both[:2])
        value = explained / (found.estimate[1:] @ both)
        hits[k] = interval.lower <= value <= interval.upper, value > 0.05
    error = np.sqrt(0.09 / repeats)
    assert abs(hits[:, 0].mean() - 0.9) < 4 * error
    assert abs(hits[:, 1].mean() - 0.5) < 0.1
