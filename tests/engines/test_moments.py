"""Moments and triangular factors of rows in memory, against the obvious computation."""

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from fairridge.data import Rows, Slab
from fairridge.engines import MemoryEngine, blocks


def rows_of(Z, weight=None):
    names = tuple(f"c{k}" for k in range(Z.shape[1] - 1))
    y = Z[:, -1:]
    return Rows((Slab(Z[:, :2]),), (Slab(Z[:, 2:-1]),), names, y, y, weight)


@pytest.fixture
def Z():
    return np.random.default_rng(1).normal(size=(5000, 7)) + np.arange(7)


def test_a_mean_far_from_zero_costs_no_digits(Z):
    near = MemoryEngine(rows_of(Z)).moments()
    far = MemoryEngine(rows_of(Z + 2.0**30)).moments()
    np.testing.assert_allclose(far.scatter, near.scatter, rtol=1e-6, atol=1e-3)


def test_a_constant_column_has_exactly_zero_scatter(Z):
    Z[:, 3] = 0.1
    for weight in (None, np.random.default_rng(2).uniform(0.0, 3.0, len(Z))):
        assert MemoryEngine(rows_of(Z, weight)).moments().scatter[3, 3] == 0.0


def test_residual_products_vanish_at_least_squares(Z):
    engine = MemoryEngine(rows_of(Z))
    moments = engine.moments()
    k = 6
    b = np.linalg.solve(moments.scatter[:k, :k], moments.scatter[:k, k])
    products = engine.residual_products(b, moments.mean[:k], float(moments.mean[k]))
    np.testing.assert_allclose(products, 0.0, atol=1e-8)
    off = engine.residual_products(b + 0.1, moments.mean[:k], float(moments.mean[k]))
    np.testing.assert_allclose(off, -moments.scatter[:k, :k] @ np.full(k, 0.1), rtol=1e-8)


def test_the_sums_do_not_depend_on_the_number_of_threads(Z, monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 32_000)
    with threadpool_limits(1, "blas"):
        single = MemoryEngine(rows_of(Z)).moments().scatter
    with threadpool_limits(2, "blas"):
        double = MemoryEngine(rows_of(Z)).moments().scatter
    np.testing.assert_array_equal(single, double)


@pytest.mark.parametrize(
    ("value", "word"),
    [(np.nan, "NaN"), (-np.inf, "infinity"), (1e200, "large")],
)
def test_numbers_that_cannot_be_squared_name_their_column(Z, value, word):
    Z[4321, 4] = value
    with pytest.raises(ValueError, match=f"'c4'.*{word}"):
        MemoryEngine(rows_of(Z)).moments()
