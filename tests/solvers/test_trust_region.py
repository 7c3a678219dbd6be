"""Descent into minima of functions that are not convex."""

from __future__ import annotations

import numpy as np
import pytest

from fairridge.solvers.trust_region import _within, descend


def rosenbrock(x):
    return (1.0 - x[0]) ** 2 + 100.0 * (x[1] - x[0] ** 2) ** 2


def rosenbrock_derivatives(x):
    bent = x[1] - x[0] ** 2
    gradient = np.array([-2.0 * (1.0 - x[0]) - 400.0 * x[0] * bent, 200.0 * bent])
    corner = -400.0 * x[0]
    return gradient, np.array([[2.0 - 400.0 * bent + 800.0 * x[0] ** 2, corner], [corner, 200.0]])


def test_it_follows_a_bent_valley() -> None:
    found = descend(
        rosenbrock, rosenbrock_derivatives, np.array([-1.2, 1.0]), np.ones(2), 1e-20, 100
    )
    np.testing.assert_allclose(found, [1.0, 1.0], atol=1e-8)


def test_it_leaves_a_saddle() -> None:
    """x⁴ − x² + y² has a saddle at 0, where the gradient vanishes, and minima at x = ±1/√2."""
    found = descend(
        lambda x: float(x[0] ** 4 - x[0] ** 2 + x[1] ** 2),
        lambda x: (
            np.array([4.0 * x[0] ** 3 - 2.0 * x[0], 2.0 * x[1]]),
            np.diag([12.0 * x[0] ** 2 - 2.0, 2.0]),
        ),
        np.zeros(2),
        np.ones(2),
        1e-20,
        100,
    )
    assert abs(found[0]) == pytest.approx(np.sqrt(0.5), abs=1e-8)


def test_it_ends_where_nothing_is_a_number() -> None:
    found = descend(
        lambda x: np.inf if x[0] != 0.0 else 1.0,
        lambda x: (np.ones(1), np.ones((1, 1))),
        np.zeros(1),
        np.ones(1),
        0.0,
        100,
    )
    assert found == 0.0


@pytest.mark.parametrize("radius", [0.01, 1.0, 100.0])
def test_steps_are_the_best_within_their_radius(radius: float) -> None:
    rng = np.random.default_rng(0)
    values, slope = np.sort(rng.normal(size=4)), rng.normal(size=4)
    step = _within(values, slope, radius)
    assert np.linalg.norm(step) <= 1.02 * radius
    others = rng.normal(size=(2_000, 4))
    others *= radius / np.linalg.norm(others, axis=1)[:, None]
    least = (others @ slope + 0.5 * others**2 @ values).min()
    assert slope @ step + 0.5 * values @ step**2 <= least + 0.02 * abs(least)
