"""Following minima to bounds on means, and back where no bound binds any more."""

import numpy as np
import pytest

from fairridge.fairness import MeanParity
from fairridge.families import Binomial, Multinomial, Poisson
from fairridge.solvers.mean_ridge import (
    Goal,
    Means,
    MeanState,
    Milestone,
    ahead,
    reach,
)
from tests.inference.problems import draw, problem_of


def test_without_goals_the_free_minimum_is_reached():
    """The last bound that bound may have been dropped: then nothing is left to hold."""
    H, best = np.array([[2.0, 0.5], [0.5, 1.0]]), np.array([1.0, -2.0])

    def evaluate(theta, multipliers, like=None):
        away = theta - best
        J = np.array([[1.0, 0.0]])
        return Means(theta, float(away @ H @ away), H @ away, H, [J @ theta], [J], 1.0, np.zeros(2))

    start = MeanState(evaluate(np.array([0.1, 0.1]), [np.ones(1)]), [np.ones(1)])
    found = reach(evaluate, start, [], 50, np.inf)
    np.testing.assert_allclose(found.at.theta, best, rtol=1e-9)
    np.testing.assert_array_equal(found.multipliers[0], 0.0)


@pytest.fixture(params=[Binomial(), Poisson(), Multinomial(3)], ids=repr)
def objective(request):
    """Means of rows, as one problem with a bound on them sees them."""
    family = request.param
    problem = problem_of(family, draw(family, n=400), definition=MeanParity(), kind="means")
    return problem._free_objective


def minimum(objective, root):
    goals = [Goal(0, root**2), objective.totals]
    return reach(objective.evaluate, objective.start, goals, 50, np.inf), goals


def test_minima_move_with_the_root_of_the_share_as_their_slopes_say(objective):
    """As far as the Hessian does that they have, which may be that of the point before."""
    root, h = 0.5 * float(np.sqrt(objective.shares[0])), 1e-4
    passed = Milestone.of(*minimum(objective, root))
    (before, _), (after, _) = (minimum(objective, root + step) for step in (-h, h))
    theta, multipliers = passed.slopes
    both = before.multipliers, after.multipliers
    difference = (after.at.theta - before.at.theta) / (2 * h)
    np.testing.assert_allclose(theta, difference, atol=1e-4 * np.abs(difference).max())
    slopes, *pairs = (np.concatenate(part) for part in (multipliers, *both))
    difference = (pairs[1] - pairs[0]) / (2 * h)
    np.testing.assert_allclose(slopes, difference, atol=1e-4 * np.abs(difference).max())


def test_slopes_lead_nearer_than_the_last_minimum_is(objective):
    roots = np.sqrt(objective.shares[0]) * np.array([0.8, 0.7, 0.6])
    way = [Milestone.of(*minimum(objective, root)) for root in roots]
    next_, goals = minimum(objective, 0.8 * roots[-1])
    away = np.abs(way[-1].state.at.theta - next_.at.theta).max()
    found = ahead(objective.evaluate, way, goals)
    assert np.abs(found.at.theta - next_.at.theta).max() < 0.01 * away


def test_a_point_next_to_another_takes_its_hessian(objective):
    """Its equations are right all the same: g + Σ Jᵀπ, what S explains, and the variance."""
    state, _ = minimum(objective, 0.5 * float(np.sqrt(objective.shares[0])))
    theta = state.at.theta * 1.001
    whole = objective.evaluate(theta, state.multipliers)
    like = objective.evaluate(theta, state.multipliers, state.at)

    def stationarity(at):
        pairs = zip(state.multipliers, at.jacobians, strict=True)
        return at.gradient + sum(pi @ J for pi, J in pairs)

    np.testing.assert_allclose(stationarity(like), stationarity(whole), atol=1e-12)
    for ours, theirs in zip(like.explained, whole.explained, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-13)
    assert like.variance == pytest.approx(whole.variance, rel=1e-12)
    assert like.deviance == pytest.approx(whole.deviance, rel=1e-12)
    assert like.hessian is state.at.hessian
