"""Data of every kind, and a slow dense solution to compare with."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.optimize import brentq

RANKS = ("low", "mid", "high")
# What is nothing but rounding, in a dense computation with centered, scaled columns.
NOTHING = 1e-9


@pytest.fixture
def categorical_of(library):
    """Return a function from values and declared levels to a column of each library in turn."""
    return {
        "pandas": lambda values, levels: pd.Categorical(values, levels, ordered=True),
        "polars": lambda values, levels: pl.Series(values, dtype=pl.Enum(list(levels))),
        "pyarrow": _arrow_categorical,
    }[library]


def _arrow_categorical(values, levels):
    codes = [None if value is None else list(levels).index(value) for value in values]
    return pa.DictionaryArray.from_arrays(
        pa.array(codes, pa.int16()), pa.array(list(levels)), ordered=True
    )


@pytest.fixture
def workers():
    """Two sensitive attributes and five predictors of all types, as lists and arrays.

    `S` and `X` are what they encode to, by hand; `y` is the response.
    """
    rng = np.random.default_rng(20)
    n = 90
    sex, region = rng.choice(["f", "m"], n), rng.choice(["east", "north", "west"], n)
    rank = rng.choice(RANKS, n)
    age, hours = rng.integers(20, 65, n), rng.integers(0, 50, n).astype(np.int16)
    manager = rng.random(n) < 0.4
    skill = rng.normal(size=n) + 0.8 * (sex == "m")
    columns = {
        "sex": sex.tolist(), "age": age, "region": region.tolist(), "rank": rank.tolist(),
        "hours": hours, "manager": manager, "skill": skill,
    }  # fmt: skip
    S = np.column_stack([sex == "m", age]).astype(float)
    X = np.column_stack(
        [region == "north", region == "west", rank == "mid", rank == "high", hours, manager, skill]
    ).astype(float)
    y = 2.0 * skill + 1.5 * (sex == "m") + 0.05 * age + (rank == "high") + rng.normal(size=n)
    return SimpleNamespace(
        columns=columns,
        S=S,
        X=X,
        y=y,
        sensitive=["sex", "age"],
        sensitive_names=["sex[m]", "age"],
        predictor_names=[
            "region[north]", "region[west]", "rank[mid]", "rank[high]", "hours", "manager", "skill"
        ],
    )  # fmt: skip


@pytest.fixture
def worker_columns(workers, categorical_of):
    """The columns of `workers` with the rank declared as a categorical of each library."""
    return workers.columns | {"rank": categorical_of(workers.columns["rank"], RANKS)}


@pytest.fixture
def numbers():
    """Two sensitive columns, four predictors and a response, all floats."""
    rng = np.random.default_rng(21)
    S = rng.normal(size=(80, 2)) @ [[1.0, 0.4], [0.0, 2.0]] + [3.0, -1.0]
    X = rng.normal(size=(80, 4)) + S @ rng.normal(size=(2, 4)) * 0.5
    y = X @ [1.0, -2.0, 0.5, 1.0] + S @ [2.0, -1.0] + rng.normal(size=80)
    return SimpleNamespace(Z=np.column_stack([S, X]), S=S, X=X, y=y, sensitive=[0, 1])


@pytest.fixture
def oracle():
    """Return the fair ridge regression by explicit, dense, minimum-norm least squares."""
    return _oracle


def _oracle(S, X, y, r, *, weight=None, predictor_penalty=0.0, standardize=True):
    S, X, y = (np.asarray(part, dtype=np.float64) for part in (S, X, y))
    weight = np.ones(len(y)) if weight is None else np.asarray(weight, dtype=np.float64)
    total, root = weight.sum(), np.sqrt(weight)
    means = [np.average(part, axis=0, weights=weight) for part in (S, X, y)]
    s, x, t = ((part - mean).T * root for part, mean in zip((S, X, y), means, strict=True))
    s, x = _without_noise(s.T, S), _without_noise(x.T, X)
    s_scale = _deviations(s, total)
    u = x - (s / s_scale) @ (np.linalg.pinv(s / s_scale, rcond=NOTHING) @ x)
    u[:, np.linalg.norm(u, axis=0) <= NOTHING * np.linalg.norm(x, axis=0)] = 0.0
    u_scale = _deviations(u, total)
    if not standardize:
        s_scale, u_scale = np.ones(s.shape[1]), np.ones(u.shape[1])
    s, u = s / s_scale, u / u_scale
    beta = _ridge(u, t, predictor_penalty)

    def share(alpha):
        ours, theirs = np.sum((s @ alpha) ** 2), np.sum((u @ beta) ** 2)
        return ours / (ours + theirs) if ours + theirs > 0.0 else 0.0

    lambda_, alpha = _at_bound(lambda penalty: _ridge(s, t, penalty), share, r)
    scores = s @ alpha + u @ beta
    return SimpleNamespace(
        alpha=alpha / s_scale,
        beta=beta / u_scale,
        lambda_=lambda_,
        unfairness=share(alpha),
        intercept=means[2] - means[0] @ (alpha / s_scale),
        deviance=float(np.sum((t - scores) ** 2)),
        fitted=means[2] + scores / np.where(root > 0, root, np.nan),
    )


def _without_noise(centered, raw):
    """Set what centering leaves of a constant column to zero."""
    size = np.linalg.norm(centered, axis=0)
    return np.where(size <= NOTHING * (1e-300 + np.linalg.norm(raw, axis=0)), 0.0, centered)


def _deviations(centered, total):
    deviation = np.sqrt((centered**2).sum(axis=0) / total)
    return np.where(deviation > 0.0, deviation, 1.0)


def _ridge(Z, t, penalty):
    if penalty == 0.0:
        return np.linalg.pinv(Z, rcond=NOTHING) @ t
    return np.linalg.solve(Z.T @ Z + penalty * np.eye(Z.shape[1]), Z.T @ t)


def _at_bound(alpha, share, r):
    free = alpha(0.0)
    if r == 1.0 or share(free) <= r:
        return 0.0, free
    if r == 0.0 or share(free) == 1.0:  # without any U, only no S at all is fair
        return np.inf, np.zeros_like(free)
    ends = (-30.0, 60.0)
    root = brentq(lambda log: share(alpha(np.exp(log))) - r, *ends, xtol=1e-14, rtol=1e-14)
    return float(np.exp(root)), alpha(np.exp(root))


@pytest.fixture
def assert_solves():
    """Return a check of a fitted model against the dense solution."""

    def check(model, expected, rtol=1e-8):
        scale = 1.0 + np.abs(expected.beta).max(initial=0.0)
        np.testing.assert_allclose(model.beta_, expected.beta, rtol=rtol, atol=rtol * scale)
        np.testing.assert_allclose(model.alpha_, expected.alpha, rtol=rtol, atol=rtol * scale)
        np.testing.assert_allclose(model.lambda_, expected.lambda_, rtol=1e-6)
        np.testing.assert_allclose(model.unfairness_, expected.unfairness, rtol=rtol, atol=1e-12)
        np.testing.assert_allclose(model.fair_intercept_, expected.intercept, rtol=rtol, atol=rtol)
        np.testing.assert_allclose(model.deviance_, expected.deviance, rtol=1e-8, atol=1e-8)

    return check
