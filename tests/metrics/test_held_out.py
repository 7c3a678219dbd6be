"""Fairness on other rows, against least squares and pairs written out."""

import numpy as np
import pytest

from fairridge.fairness import (
    EqualityOfOpportunity,
    IndividualFairness,
    StatisticalParity,
)
from fairridge.fairness.scatter_shares import explained_by_sensitive, sequential_share

PARITY, OPPORTUNITY, INDIVIDUAL = StatisticalParity(), EqualityOfOpportunity(), IndividualFairness()


def scatter_of(*columns):
    Z = np.column_stack(columns)
    Z = Z - Z.mean(axis=0)
    return Z.T @ Z


def explained(target, columns):
    """Sum of squares that least squares on the columns and an intercept explains."""
    Z = np.column_stack([np.ones(len(target)), columns])
    size = np.linalg.norm(Z, axis=0)
    Z = Z / np.where(size > 0.0, size, 1.0)
    fitted = Z @ np.linalg.lstsq(Z, target, rcond=None)[0]
    return np.sum((fitted - fitted.mean(axis=0)) ** 2)


def data_of(m, t, seed=0):
    """S of three columns, m linear predictors and t targets that depend on each other."""
    rng = np.random.default_rng(seed)
    S = rng.normal(size=(80, 3)) @ rng.normal(size=(3, 3)) + 5.0
    eta = S @ rng.normal(size=(3, m)) + 2.0 * rng.normal(size=(80, m))
    y = eta @ rng.normal(size=(m, t)) + S @ rng.normal(size=(3, t)) + rng.normal(size=(80, t))
    return S, eta, y


@pytest.mark.parametrize(("m", "t"), [(1, 1), (3, 3), (4, 1)])
def test_shares_equal_least_squares(m, t):
    S, eta, y = data_of(m, t)
    scatter = scatter_of(S, eta, y)
    total = np.sum((eta - eta.mean(axis=0)) ** 2)
    first, both = explained(eta, S), explained(eta, np.column_stack([S, y]))
    assert explained_by_sensitive(scatter, 3, m) == pytest.approx(first / total, rel=1e-10)
    assert sequential_share(scatter, 3, m) == pytest.approx(first / both, rel=1e-10)


@pytest.mark.parametrize("share", [explained_by_sensitive, sequential_share])
def test_ends_of_the_range(share):
    S, _, y = data_of(1, 1)
    alone = S @ [1.0, 2.0, 3.0]
    other = np.random.default_rng(1).normal(size=80)
    Z = np.column_stack([np.ones(80), S])
    other = other - Z @ np.linalg.lstsq(Z, other, rcond=None)[0]
    assert share(scatter_of(S, alone, y), 3, 1) == pytest.approx(1.0, rel=1e-12)
    assert share(scatter_of(S, other, y), 3, 1) == pytest.approx(0.0, abs=1e-12)
    assert share(scatter_of(S, np.zeros(80), y), 3, 1) == 0.0
    assert share(scatter_of(np.zeros((80, 3)), other, y), 3, 1) == pytest.approx(0.0, abs=1e-12)


def test_the_adjustment_counts_the_rank_of_s():
    S, eta, _ = data_of(2, 1)
    share = explained(eta, S) / np.sum((eta - eta.mean(axis=0)) ** 2)
    expected = 1.0 - (1.0 - share) * 79 / 76
    for more in (S[:, :0], S[:, :1], np.full((80, 1), 0.5), S @ [[1.0], [2.0], [-1.0]]):
        wide = np.column_stack([S, more])
        q = wide.shape[1]
        found = explained_by_sensitive(scatter_of(wide, eta), q, 2, n_rows=80)
        assert found == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("n", "defined"), [(1, False), (4, False), (5, True)])
def test_few_rows_leave_nothing_to_adjust(n, defined):
    S, eta, _ = data_of(1, 1)
    found = explained_by_sensitive(scatter_of(S[:n], eta[:n]), 3, 1, n_rows=n)
    assert np.isnan(found) != defined


@pytest.mark.parametrize("seed", range(2))
def test_a_response_that_s_explains_adds_nothing(seed):
    # What S leaves of it is rounding, of either sign.
    S, eta, _ = data_of(1, 1, seed)
    found = sequential_share(scatter_of(S, eta, S @ [1.0, -2.0, 0.3]), 3, 1)
    assert 0.5 < found <= 1.0 + 1e-12
