"""Conjugate gradients solve what a factorization solves."""

import numpy as np
import pytest

from fairridge.solvers.conjugate_gradients import conjugate_gradients


@pytest.fixture
def system():
    rng = np.random.default_rng(0)
    root = rng.normal(size=(30, 12)) * np.logspace(-2, 2, 12)
    return root.T @ root + 0.1 * np.eye(12), rng.normal(size=(12, 2))


def test_the_solution(system):
    A, b = system
    found, count = conjugate_gradients(
        lambda x: A @ x, b, np.diag(A)[:, None] + np.zeros_like(b), tol=1e-13, most=500
    )
    np.testing.assert_allclose(found, np.linalg.solve(A, b), rtol=1e-9)
    assert count < 60


def test_the_diagonal_makes_it_fast(system):
    A, b = system
    diagonal = np.diag(A)[:, None] + np.zeros_like(b)
    counts = [
        conjugate_gradients(lambda x: A @ x, b, scale, tol=1e-10, most=5000)[1]
        for scale in (diagonal, np.ones_like(b))
    ]
    assert 2 * counts[0] < counts[1]


def test_no_more_products_than_allowed(system):
    A, b = system
    calls = []

    def product(x):
        calls.append(1)
        return A @ x

    found, count = conjugate_gradients(product, b, np.ones_like(b), tol=1e-13, most=3)
    assert count == len(calls) == 3
    assert np.isfinite(found).all()


def test_nothing_to_solve(system):
    A, b = system
    found, count = conjugate_gradients(
        lambda x: A @ x, np.zeros_like(b), np.ones_like(b), tol=1e-9, most=9
    )
    assert count == 0
    assert not found.any()
