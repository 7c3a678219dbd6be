"""Searches end: with an answer, or with a reason why there is none."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.base import clone

from fairridge import FairRidgeClassifier, FairRidgeRegressor


def separated(n: int, classes: int, p: int, seed: int = 0):
    """Return S, X and classes that X nearly decides."""
    rng = np.random.default_rng(seed)
    S = np.column_stack([rng.normal(size=n), rng.integers(0, 2, n)])
    X = rng.normal(size=(n, p)) + 0.5 * S[:, :1]
    scores = 5.0 * X @ rng.normal(size=(p, classes)) + 0.3 * rng.gumbel(size=(n, classes))
    return S, X, scores.argmax(axis=1)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:column")
@pytest.mark.parametrize(
    ("n", "classes", "p", "r"),
    [(20, 6, 3, 0.05), (60, 8, 8, 0.01)],
)
def test_separated_classes_have_a_model(n, classes, p, r) -> None:
    """A penalized minimum is found although deviances have only a limit."""
    S, X, y = separated(n, classes, p, seed=1 if n == 20 else 0)
    model = FairRidgeClassifier(r, definition="mean-parity", separation="warn")
    model.fit(X, y, sensitive_features=S)
    assert model.status_ == "converged"
    assert model.unfairness_ == pytest.approx(r, abs=1e-10)
    assert model.n_iter_ < 400


def test_bounds_of_attributes_hold_to_the_tolerance() -> None:
    """Bounds of three attributes bind at once, two of them at zero."""
    rng = np.random.default_rng(20)
    n, p = 400, 20
    S = pd.DataFrame({"a": rng.normal(size=n)})
    S["b"], S["c"] = rng.choice(list("uvwxyz"), n), rng.choice(list("mf"), n)
    numbers = pd.get_dummies(S).to_numpy(float)
    X = rng.normal(size=(n, p)) + 2.0 * numbers @ rng.normal(size=(9, p))
    y = X @ rng.normal(size=p) + numbers @ rng.normal(size=9) + rng.normal(size=n)
    bounds = {"a": 0.0, "b": 1e-3, "c": 0.0}
    model = FairRidgeRegressor(bounds, definition="mean-parity", controls=["x0", "x1"])
    table = pd.DataFrame(X, columns=[f"x{k}" for k in range(p)])
    model.fit(table, y, sensitive_features=S)
    for name, bound in bounds.items():
        assert model.status_[name] == "converged"
        assert model.unfairness_[name] <= bound + 1e-10


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(4))
def test_bounds_of_attributes_are_met_whatever_the_search_finds(seed: int) -> None:
    """A search without passes finds nothing, and still every bound holds."""
    rng = np.random.default_rng(seed)
    S, X, y = separated(20, 4, 3, seed=seed)
    names = pd.DataFrame(S, columns=["a", "b"])
    bounds = {"a": 0.05, "b": float(rng.choice([0.0, 0.01]))}
    model = FairRidgeClassifier(bounds, definition="mean-parity", max_iter=3 + seed)
    model.fit(X, y, sensitive_features=names)
    for name, bound in bounds.items():
        assert model.unfairness_[name] <= bound + 1e-8


@pytest.mark.slow
def test_levels_that_nearly_decide_the_outcome_have_a_minimum():
    """One long step left them without curvature, and parts of the next brought others nothing.

    Levels that do decide it are held by a ridge, and the rest fits as it does without them.
    """
    rng = np.random.default_rng(0)
    n, levels = 10_000, 400
    job, s = rng.integers(0, levels, n), rng.normal(size=n)
    x, effects = rng.normal(size=n) + 0.3 * s, 1.5 * rng.normal(size=levels)
    y = (rng.random(n) < expit(-3.0 + 0.5 * s + 0.5 * x + effects[job])).astype(int)
    frame = pd.DataFrame({"job": pd.Categorical(job.astype(str)), "s": s, "x": x})
    events, sizes = np.bincount(job, y, levels), np.bincount(job, minlength=levels)
    open_ = ((events > 0) & (events < sizes))[job]
    assert open_.mean() < 0.95  # too many rows to leave them out
    model = FairRidgeClassifier(1.0, sensitive="s", max_levels=None)
    with pytest.warns(match="separate"):
        found = clone(model).fit(frame, y)
    kept = frame[open_].assign(job=frame["job"][open_].cat.remove_unused_categories())
    assert found.n_iter_ < 60
    assert found.status_ == "inactive"
    # The ridge that holds the levels that do decide it costs next to nothing.
    assert found.deviance_ == pytest.approx(clone(model).fit(kept, y[open_]).deviance_, rel=1e-4)
    # A bound that it meets by far costs as much: levels are counted, and no search for λ and
    # coefficients together is tried, which would need a minimum.
    with pytest.warns(match="separate"):
        bounded = clone(model).set_params(unfairness=0.9).fit(frame, y)
    assert bounded.n_iter_ <= found.n_iter_ + 1
