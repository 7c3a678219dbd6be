"""Newton's method for a penalized deviance, on functions whose minimum is known."""

import numpy as np
import pytest
from scipy.special import expit

from fairridge.solvers import Objective, Point
from fairridge.solvers import minimize as minimized


class Logistic:
    """Deviance of a logistic regression, counting evaluations."""

    def __init__(self, Z, y):
        self.Z, self.y, self.orders = Z, y, []

    def __call__(self, theta, order):
        self.orders.append(order)
        eta = self.Z @ theta
        mu = expit(eta)
        deviance = 2.0 * np.sum(np.logaddexp(0.0, eta) - self.y * eta)
        gradient = 2.0 * self.Z.T @ (mu - self.y)
        hessian = 2.0 * (self.Z * (mu * (1.0 - mu))[:, None]).T @ self.Z
        return deviance, gradient, hessian if order > 1 else None


@pytest.fixture
def logistic():
    rng = np.random.default_rng(30)
    Z = np.column_stack([np.ones(150), rng.normal(size=(150, 4))])
    return Logistic(Z, (rng.random(150) < expit(Z @ [0.3, 1.0, -1.0, 0.5, 0.0])) * 1.0)


def minimize(objective, start, max_iter):
    return minimized(objective, start, max_iter)[0]


def objective_of(evaluate, width, *, ridge=0.0, l1=0.0, fixed=(), **options):
    penalized = np.arange(width) > 0
    return Objective(
        evaluate,
        np.diag(ridge * penalized),
        l1 * penalized,
        np.array([k for k in range(width) if k not in fixed], dtype=np.intp),
        np.ones(width),
        **options,
    )


def at(evaluate, theta):
    return Point(theta, *evaluate(theta, 2))


def slope(objective, theta):
    return objective.evaluated(theta, 1)[1] + 2.0 * objective.quadratic @ theta


@pytest.mark.parametrize("size", [30.0, 1e5])
def test_a_start_without_curvature_is_never_called_a_minimum(logistic, size):
    # Where all probabilities are 0 or 1 the Hessian vanishes, but the gradient does not.
    objective = objective_of(logistic, 5)
    start = at(logistic, size * np.array([1.0, -1.0, 1.0, 1.0, -1.0]))
    found = minimize(objective, start, 100)
    assert found.converged == (np.abs(slope(objective, found.theta)).max() < 1e-6)


def test_an_infinite_value_is_stepped_back_from():
    def wall(theta, order):
        if theta[0] <= 0.0:
            return np.inf, np.full(1, np.nan), np.full((1, 1), np.nan) if order > 1 else None
        return (
            2.0 * (theta[0] - np.log(theta[0])),
            2.0 * (1.0 - 1.0 / theta),
            np.array([[2.0 / theta[0] ** 2]]) if order > 1 else None,
        )

    found = minimize(objective_of(wall, 1), at(wall, np.array([5.0])), 100)
    assert found.converged
    np.testing.assert_allclose(found.theta, 1.0, rtol=1e-10)


def separated(gap):
    x = np.concatenate([np.linspace(-2, -gap, 20), np.linspace(gap, 2, 20)])
    return Logistic(np.column_stack([np.ones(40), x]), (x > 0) * 1.0)


@pytest.mark.parametrize("gap", [0.1, 1.0])
def test_a_deviance_without_a_minimum_is_noticed_once_its_curvature_is_lost(gap):
    evaluate = separated(gap)
    typical = np.diag(evaluate(np.zeros(2), 2)[2])

    def is_flat(point):
        return np.diag(point.hessian)[1] < 1e-7 * typical[1]

    objective = objective_of(evaluate, 2, is_flat=is_flat)
    found = minimize(objective, at(evaluate, np.zeros(2)), 100)
    assert found.separated
    assert not found.converged
    assert np.isfinite(found.theta).all()
    assert len(evaluate.orders) < 40
