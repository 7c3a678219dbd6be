"""The paper's two examples: three predictors, three sensitive attributes."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit

from reproduction.data import load
from reproduction.settings import Floats, Settings

# What the examples are: our own samples, and fairml's.
CASES = ("example", "vu.test")

NAMES = ("S1", "S2", "S3", "X1", "X2", "X3")
SENSITIVE = [0, 1, 2]
ROWS = 1000


@dataclass(frozen=True)
class Example:
    """A sample of sensitive attributes, predictors and response."""

    S: Floats
    X: Floats
    y: Floats

    @property
    def Z(self) -> Floats:
        """[S, X], as the models take it with ``sensitive=SENSITIVE``."""
        return np.column_stack([self.S, self.X])

    def centered(self) -> tuple[Floats, Floats, Floats]:
        """Return S, X and y less their means."""
        S, X, y = (values - values.mean(axis=0) for values in (self.S, self.X, self.y))
        return S, X, y


def decorrelated(X: Floats, S: Floats) -> Floats:
    """Return U = X − SB of centered columns, with B from least squares of X on S."""
    return X - S @ np.linalg.lstsq(S, X, rcond=None)[0]


def _columns(rng: np.random.Generator, correlation: float = 0.3) -> tuple[Floats, Floats]:
    """Draw six normal variables with variance 1, all equally correlated."""
    covariance = np.full((6, 6), correlation) + (1.0 - correlation) * np.eye(6)
    Z = rng.multivariate_normal(np.zeros(6), covariance, size=ROWS)
    return Z[:, 3:], Z[:, :3]


def sample_example(settings: Settings, run: int, correlation: float = 0.3) -> Example:
    """Draw Example 1: y = 2X₁ + 3X₂ + 4X₃ + 5S₁ + 6S₂ + 7S₃ + ε, ε ~ N(0, 100).

    The paper does not say how many rows it has; these have 1000, as fairml's
    sample of it.
    """
    rng = settings.generator(run)
    S, X = _columns(rng, correlation)
    y = X @ [2.0, 3.0, 4.0] + S @ [5.0, 6.0, 7.0] + rng.normal(scale=10.0, size=ROWS)
    return Example(S, X, y)


def logistic_example(settings: Settings, run: int) -> Example:
    """Draw Example 2: classes with η = 1 + .5X₁ + .6X₂ + .7X₃ + .8S₁ + .9S₂ + S₃."""
    rng = settings.generator(run)
    S, X = _columns(rng)
    eta = 1.0 + X @ [0.5, 0.6, 0.7] + S @ [0.8, 0.9, 1.0]
    return Example(S, X, (rng.random(ROWS) < expit(eta)).astype(np.float64))


def example_of(case: str, run: int, settings: Settings, classes: bool = False) -> Example:
    """Return fairml's sample of an example (``"vu.test"``), or draw our own."""
    if case != "vu.test":
        return logistic_example(settings, run) if classes else sample_example(settings, run)
    data = load("vu.test, classes" if classes else "vu.test", replace(settings, rows=None))
    return Example(data.S, data.X, data.y)
