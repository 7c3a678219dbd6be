"""Systems that rounding has left without an exact solution."""

import numpy as np
import pytest

from fairridge.solvers.spectrum import solve_definite


def test_a_definite_system_is_solved():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(6, 4)) * [1e-8, 1.0, 1e5, 10.0]
    b = A.T @ rng.normal(size=6)
    np.testing.assert_allclose(A.T @ A @ solve_definite(A.T @ A, b), b, rtol=1e-6)


@pytest.mark.parametrize("size", [0.0, -1e-30])
def test_no_curvature_and_no_slope_is_no_step(size):
    H = np.full((2, 2), size)
    np.testing.assert_array_equal(solve_definite(H, np.zeros(2)), 0.0)


def test_a_direction_without_curvature_leaves_the_others_alone():
    H = np.diag([4.0, 0.0, 1e-20])
    step = solve_definite(H, np.array([8.0, 0.0, 1e-20]))
    np.testing.assert_allclose(step, [2.0, 0.0, 1.0])
    assert np.isfinite(solve_definite(H, np.ones(3))).all()
