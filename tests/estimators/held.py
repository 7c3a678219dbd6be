"""Separated models by plain Newton steps: the ridge that holds them, on standardized columns."""

import numpy as np
from scipy.special import logsumexp, softmax

from tests.zoo import statsmodels_family

RIDGE = 1e-6


def standardized(*blocks, weight=None):
    """Return [S, U] of S and X, or X alone: centered, U without S, each with a variance of 1."""
    weight = np.ones(len(blocks[0])) if weight is None else weight
    blocks = [np.asarray(block, dtype=float) for block in blocks]
    S, *X = (block - np.average(block, axis=0, weights=weight) for block in blocks)
    root = np.sqrt(weight)[:, None]
    U = [x - S @ np.linalg.lstsq(root * S, root * x, rcond=None)[0] for x in X]
    Z = np.column_stack([S, *U])
    return Z / np.sqrt(np.average(Z**2, axis=0, weights=weight))


def newton(value, derivatives, start):
    """Minimize by Newton's method with halved steps."""
    theta, best = start, value(start)
    for _ in range(300):
        gradient, hessian = derivatives(theta)
        step = -np.linalg.solve(hessian, gradient)
        while not value(theta + step) <= best + 1e-13 * abs(best) and np.abs(step).max() > 1e-12:
            step = 0.5 * step
        theta = theta + step
        best = value(theta)
        if np.abs(step).max() <= 1e-12 * (1.0 + np.abs(theta).max()):
            break
    return theta


def held_glm(family, Z, y, *, weight=None, offset=0.0, ridge=RIDGE):
    """Return means and deviance at the minimum of D + ridge·Σw·‖θ‖², intercept free."""
    family, n = statsmodels_family(family), len(y)
    weight = np.ones(n) if weight is None else weight
    A = np.column_stack([np.ones(n), Z])
    K = ridge * weight.sum() * np.diag(np.arange(A.shape[1]) > 0)

    def deviance(theta):
        with np.errstate(all="ignore"):
            return family.deviance(y, family.fitted(A @ theta + offset), freq_weights=weight)

    def derivatives(theta):
        eta = A @ theta + offset
        mu, slope = family.fitted(eta), family.link.inverse_deriv(eta)
        curvature = slope / family.variance(mu)
        gradient = K @ theta - A.T @ (weight * (y - mu) * curvature)
        return gradient, A.T @ ((weight * slope * curvature)[:, None] * A) + K

    start = np.append(family.link(np.average(y, weights=weight)), np.zeros(Z.shape[1]))
    theta = newton(lambda t: deviance(t) + t @ K @ t, derivatives, start)
    return family.fitted(A @ theta + offset), deviance(theta)


def held_cox(Z, y, ridge=RIDGE):
    """Return coefficients and deviance at the minimum of D + ridge·n·‖θ‖², without ties."""
    time, event = y[:, 0], y[:, 1] > 0.0
    at_risk = np.where(time[None] >= time[event][:, None], 0.0, -np.inf)
    weight = ridge * len(Z)

    def deviance(theta):
        eta = Z @ theta
        return 2.0 * np.sum(logsumexp(at_risk + eta, axis=1) - eta[event])

    def derivatives(theta):
        P = softmax(at_risk + Z @ theta, axis=1)
        means = P @ Z
        gradient = (means - Z[event]).sum(axis=0) + weight * theta
        hessian = (Z.T * P.sum(axis=0)) @ Z - means.T @ means
        return gradient, hessian + weight * np.eye(len(theta))

    theta = newton(lambda t: deviance(t) + weight * t @ t, derivatives, np.zeros(Z.shape[1]))
    return theta, deviance(theta)
