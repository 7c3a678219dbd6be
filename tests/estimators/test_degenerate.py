"""Data with a defect have a defined answer: the minimum-norm one, with one warning."""

import warnings

import numpy as np
import pandas as pd
import pytest

from fairridge import FairRidgeRegressor
from fairridge.exceptions import DataWarning


def solve(S, X, y, r, **options):
    """Fit on a frame with columns s0, s1, … and x0, x1, …; return model and warnings."""
    weight = options.pop("weight", None)
    names = [f"s{k}" for k in range(S.shape[1])]
    frame = pd.DataFrame(
        np.column_stack([S, X]), columns=names + [f"x{k}" for k in range(X.shape[1])]
    )
    with warnings.catch_warnings(record=True) as record:
        warnings.simplefilter("always")
        model = FairRidgeRegressor(r, sensitive=names, **options)
        model.fit(frame, y, sample_weight=weight)
    np.testing.assert_allclose(
        model.predict(frame),
        np.column_stack([S, X]) @ model.coef_ + model.intercept_,
        rtol=1e-9,
        atol=1e-9,
    )
    return model, record


def make(kind):
    """Return S, X, y and the columns the warning must name."""
    rng = np.random.default_rng(60)
    S = rng.normal([1.0, 5.0], 1.0, size=(50, 2))
    X = rng.normal(size=(50, 3)) + 0.5 * S[:, :1]
    y = X.sum(axis=1) + 2.0 * S[:, 0] - S[:, 1] + rng.normal(size=50)
    one = np.ones((50, 1))
    defects = {
        "constant first S": lambda: (np.hstack([7.0 * one, S]), X, ["s0"]),
        "S far from zero and constant": lambda: (np.hstack([S, 1e12 * one]), X, ["s2"]),
        "only S constant": lambda: (0.3 * one, X, ["s0"]),
        "S rescaled": lambda: (np.hstack([S, 1e3 * S[:, :1] + 4.0]), X, ["s2"]),
        "constant X": lambda: (S, np.hstack([X, 0.1 * one]), ["x3"]),
        "X a copy of S": lambda: (S, np.hstack([X, S[:, :1]]), ["x3"]),
        "all X in the span of S": lambda: (S, S @ rng.normal(size=(2, 3)), ["x0", "x1", "x2"]),
        "X twice": lambda: (S, np.hstack([X, X[:, :1]]), ["x3"]),
        "X a combination of S and X": lambda: (S, np.hstack([X, X[:, :1] + S[:, 1:]]), ["x3"]),
        "S and X": lambda: (
            np.hstack([S, S[:, :1] - S[:, 1:]]), np.hstack([X, 2.0 * X[:, 1:2]]), ["s2", "x3"]
        ),
        "more X than rows": lambda: (S[:9, :1], rng.normal(size=(9, 20)), ["x7", "x8"]),
        "more S than rows": lambda: (rng.normal(size=(9, 12)), X[:9], ["s8", "s9", "x0"]),
        "as many columns as rows": lambda: (S[:6], X[:6], []),
    }  # fmt: skip
    S, X, named = defects[kind]()
    return S, X, y[: len(S)], named


KINDS = [
    "constant first S", "S far from zero and constant", "only S constant", "S rescaled",
    "constant X", "X a copy of S", "all X in the span of S", "X twice",
    "X a combination of S and X", "S and X", "more X than rows", "more S than rows",
]  # fmt: skip


@pytest.mark.parametrize("r", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("kind", KINDS)
def test_a_defect_gives_the_minimum_norm_answer_and_one_warning(kind, r, oracle, assert_solves):
    S, X, y, named = make(kind)
    weight = np.random.default_rng(61).uniform(0.5, 2.0, len(y)) if r == 0.3 else None
    model, record = solve(S, X, y, r, weight=weight)
    assert_solves(model, oracle(S, X, y, r, weight=weight), rtol=1e-7)
    assert [warning.category for warning in record] == [DataWarning]
    everything = {f"s{k}" for k in range(S.shape[1])} | {f"x{k}" for k in range(X.shape[1])}
    if S.shape[0] > S.shape[1] + X.shape[1]:
        assert {n for n in everything if repr(n) in str(record[0].message)} == set(named)
    else:
        assert all(repr(name) in str(record[0].message) for name in named)
        assert "s0" not in str(record[0].message)


# Without standardizing, columns of very different size make the dense solution itself inexact.
@pytest.mark.parametrize("kind", [kind for kind in KINDS if "rescaled" not in kind])
def test_a_defect_gives_the_minimum_norm_answer_without_standardizing(kind, oracle, assert_solves):
    S, X, y, _ = make(kind)
    model, record = solve(S, X, y, 0.1, standardize=False)
    assert_solves(model, oracle(S, X, y, 0.1, standardize=False), rtol=1e-7)
    assert len(record) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_a_predictor_penalty_makes_collinear_predictors_nothing_special(
    kind, oracle, assert_solves
):
    S, X, y, named = make(kind)
    model, record = solve(S, X, y, 0.1, predictor_penalty=2.0)
    assert_solves(model, oracle(S, X, y, 0.1, predictor_penalty=2.0), rtol=1e-7)
    assert len(record) == any(name.startswith("s") for name in named)


def test_a_square_system_is_no_defect(oracle, assert_solves):
    S, X, y, _ = make("as many columns as rows")
    model, record = solve(S, X, y, 1.0)
    assert_solves(model, oracle(S, X, y, 1.0), rtol=1e-6)
    assert record == []


@pytest.mark.parametrize("definition", ["equality-of-opportunity", "individual"])
def test_a_constant_response_gives_its_value_and_one_warning(numbers, definition):
    model = FairRidgeRegressor(0.1, sensitive=[0, 1], definition=definition)
    with pytest.warns(DataWarning, match="the response is constant") as record:
        model.fit(numbers.Z, np.full(80, 0.1))
    assert len(record) == 1
    np.testing.assert_array_equal(model.coef_, 0.0)
    np.testing.assert_array_equal(model.predict(numbers.Z), 0.1)
    assert (model.unfairness_, model.deviance_, model.status_) == (0.0, 0.0, "inactive")


def test_a_path_warns_once(numbers):
    Z = np.column_stack([numbers.Z, np.ones(80)])
    with pytest.warns(DataWarning, match="'x6'") as record:
        path = FairRidgeRegressor(sensitive=[0, 1]).path(Z, numbers.y)
    assert len(record) == 1
    assert path.at(0.123).beta_[-1] == 0.0  # and no second warning, which would be an error


@pytest.mark.parametrize("r", [0.05, 1.0])
def test_two_rows_are_the_fewest(r):
    with pytest.warns(DataWarning, match="'x1'"):
        model = FairRidgeRegressor(r, sensitive=[0]).fit([[0.0, 1.0], [1.0, 3.0]], [1.0, 2.0])
    expected = [1.0, 2.0] if r == 1.0 else [1.5, 1.5]
    np.testing.assert_allclose(model.predict([[0.0, 1.0], [1.0, 3.0]]), expected, rtol=1e-12)
