"""Populations to draw from, with what is known of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairridge._typing import Floats

SENSITIVE = [0, 1, 2]
# What S explains of X, the mixing of what is left, and effects on the response.
B = np.array([[0.8, 0.0, -0.5, 0.3], [0.3, 0.4, 0.0, -0.2], [0.5, 0.2, 0.2, 0.0]])
MIX = np.array([[1, 0, 0, 0], [0.5, 1, 0, 0], [0, 0.3, 1, 0], [0.2, 0, 0.4, 1.0]])
ON_S, ON_X = np.array([0.9, 0.5, 0.6]), np.array([0.6, -0.4, 0.5, 0.3])
SHARE = 0.4  # of the first group


@dataclass(frozen=True)
class Sample:
    """Rows of [S, X], of which the first three are sensitive, and a response."""

    Z: Floats
    y: Floats


@dataclass(frozen=True)
class GaussianPopulation:
    """A population of skewed predictors and heteroscedastic errors with known second moments."""

    @property
    def sensitive(self) -> Floats:
        """Covariance of S."""
        v = SHARE * (1.0 - SHARE)
        return np.array([[v, 0.5 * v, 0.0], [0.5 * v, 0.25 * v + 1.0, 0.0], [0.0, 0.0, 0.16]])

    def share(self, coefficients: Floats) -> float:
        """R² on S of a linear predictor, exactly."""
        own = coefficients[:3] + B @ coefficients[3:]
        left = MIX.T @ coefficients[3:]
        explained = float(own @ self.sensitive @ own)
        return explained / (explained + float(left @ left))

    def loss(self, coefficients: Floats) -> float:
        """Mean squared error with the best intercept, exactly."""
        gap = coefficients - np.concatenate([ON_S, ON_X])
        own, left = gap[:3] + B @ gap[3:], MIX.T @ gap[3:]
        return 1.0 + float(own @ self.sensitive @ own) + float(left @ left)


GAUSSIAN = GaussianPopulation()


def draw(family: str, n: int, rng: np.random.Generator) -> Sample:
    """Draw n rows: "gaussian", "binomial" or "counts", whose tails are heavier than Poisson's."""
    first = (rng.random(n) < SHARE).astype(float)
    second = 0.5 * first + rng.normal(size=n)
    S = np.column_stack([first, second, rng.random(n) < 0.2]).astype(float)
    E = rng.exponential(size=(n, 4)) - 1.0
    E *= np.sqrt((0.5 + first) / (0.5 + SHARE))[:, None]
    X = 1.0 + S @ B + E @ MIX.T
    eta = S @ ON_S + X @ ON_X
    if family == "gaussian":
        spread = np.sqrt((0.3 + second**2) / (0.3 + 0.25 * SHARE + 1.0))
        y = 2.0 + eta + spread * rng.normal(size=n)
    elif family == "binomial":
        y = (rng.random(n) < 1.0 / (1.0 + np.exp(2.0 - eta))).astype(float)
    else:
        mean = np.exp(0.3 * np.clip(eta, -4.0, 8.0) - 0.5)
        y = rng.poisson(mean * rng.gamma(1.5, 1.0 / 1.5, size=n)).astype(float)
    return Sample(np.hstack([S, X]), y)


def population_rows(family: str, n: int) -> Sample:
    """Draw many rows that stand for a population, always the same ones."""
    return draw(family, n, np.random.default_rng(987654321))


def share(scores: Floats, S: Floats) -> float:
    """R² of scores on S in some rows."""
    Z = np.column_stack([np.ones(len(S)), S])
    left = scores - Z @ np.linalg.solve(Z.T @ Z, Z.T @ scores)
    return float(1.0 - left @ left / np.sum((scores - scores.mean()) ** 2))


@dataclass(frozen=True)
class LogisticPopulation:
    """Many rows that stand for a population, with the span of [1, S]."""

    rows: Sample
    span: Floats

    @classmethod
    def of(cls, rows: Sample) -> LogisticPopulation:
        """Find the span once for all models."""
        S = rows.Z[:, SENSITIVE]
        return cls(rows, np.linalg.qr(np.column_stack([np.ones(len(S)), S]))[0])

    def judged(self, intercept: float, coefficients: Floats) -> tuple[float, float]:
        """R² of probabilities on S, and the mean log-loss."""
        eta = intercept + self.rows.Z @ coefficients
        mu = 1.0 / (1.0 + np.exp(-eta))
        center = len(mu) * float(mu.mean()) ** 2
        explained = float(np.sum((self.span.T @ mu) ** 2)) - center
        loss = np.mean(np.logaddexp(0.0, np.where(self.rows.y > 0.5, -eta, eta)))
        return explained / (float(mu @ mu) - center), float(loss)
