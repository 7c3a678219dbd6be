"""Following minima to bounds on means, and back where no bound binds any more."""

import numpy as np

from fairridge.solvers.mean_ridge import Means, MeanState, reach


def test_without_goals_the_free_minimum_is_reached():
    """The last bound that bound may have been dropped: then nothing is left to hold."""
    H, best = np.array([[2.0, 0.5], [0.5, 1.0]]), np.array([1.0, -2.0])

    def evaluate(theta, multipliers):
        away = theta - best
        J = np.array([[1.0, 0.0]])
        return Means(theta, float(away @ H @ away), H @ away, H, [J @ theta], [J], 1.0, np.zeros(2))

    start = MeanState(evaluate(np.array([0.1, 0.1]), [np.ones(1)]), [np.ones(1)])
    found = reach(evaluate, start, [], 50, np.inf)
    np.testing.assert_allclose(found.at.theta, best, rtol=1e-9)
    np.testing.assert_array_equal(found.multipliers[0], 0.0)
