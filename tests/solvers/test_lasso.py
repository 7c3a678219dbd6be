"""A small quadratic problem with absolute values, on its own and as a Newton step."""

import numpy as np
import pytest

from fairridge.solvers import lasso_minimum
from fairridge.solvers.lasso import proximal_step


def violation(H, b, weights, x):
    """Distance from optimality, relative to the largest slope."""
    slope = H @ x - b
    moving = np.abs(slope + weights * np.sign(x))
    resting = np.maximum(np.abs(slope) - weights, 0.0)
    return np.where(x != 0.0, moving, resting).max() / np.abs(b).max()


@pytest.mark.parametrize("gap", [1e-3, 1e-8])
@pytest.mark.parametrize("size", [1e-6, 1.0])
def test_nearly_equal_columns_are_solved_to_all_digits(gap, size):
    rng = np.random.default_rng(56)
    A = rng.normal(size=(40, 4))
    A = np.column_stack([A, A[:, 0] + gap * rng.normal(size=40)])
    H, b = A.T @ A, A.T @ (A @ [1.0, 2.0, 0.0, 0.0, 3.0])
    x = lasso_minimum(H, b, np.full(5, size))
    assert violation(H, b, np.full(5, size), x) < 1e-11


@pytest.mark.parametrize("seed", range(10))
def test_a_step_is_optimal_where_hardly_any_curvature_is_left(seed):
    rng = np.random.default_rng(seed)
    smooth, rough, rank = 3, 4, int(rng.integers(2, 6))
    A = rng.normal(size=(rank, smooth + rough)) * 10.0 ** -rng.integers(0, 7, size=(rank, 1))
    H, theta = A.T @ A, rng.normal(size=smooth + rough)
    gradient = H @ rng.normal(size=smooth + rough)
    l1 = np.append(np.zeros(smooth), np.full(rough, 0.01 * np.abs(gradient).max()))
    x = theta + proximal_step(H, gradient, theta, l1)
    assert violation(H, H @ theta - gradient, l1, x) < 1e-9


def test_a_step_without_curvature_is_finite():
    # A smooth and a penalized coordinate, and nothing to know about either.
    step = proximal_step(np.zeros((2, 2)), np.zeros(2), np.zeros(2), np.array([0.0, 1.0]))
    np.testing.assert_array_equal(step, 0.0)
    H = np.diag([4.0, 0.0, 1.0])
    step = proximal_step(H, np.array([-8.0, 0.0, -3.0]), np.zeros(3), np.array([0.0, 0.0, 1.0]))
    np.testing.assert_allclose(step, [2.0, 0.0, 2.0])
