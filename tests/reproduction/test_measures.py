"""Measures of many models at once, against other libraries and by hand."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.metrics import f1_score

from fairridge import FairRidgeRegressor
from reproduction.data import Data
from reproduction.measures import (
    Fold,
    acceptance_gap,
    classification_counts,
    errors,
    explained_share,
    f1,
    group_counts,
    largest_covariance,
    pooled,
)


@pytest.fixture(scope="module")
def fold():
    rng = np.random.default_rng(3)
    Z = rng.normal(size=(60, 5)) @ rng.normal(size=(5, 5)) + 10.0
    y = Z @ rng.normal(size=5) + rng.normal(size=60)
    data = Data(pd.DataFrame(Z, columns=list("abcde")), pd.Series(y), ["a", "b"])
    return Fold.of(data, np.arange(45), np.arange(45, 60))


@pytest.fixture(scope="module")
def eta():
    return np.random.default_rng(4).normal(size=(60, 3)) + 5.0


def test_linear_predictors(fold):
    model, (Z, y) = FairRidgeRegressor(sensitive=fold.sensitive), fold.training
    path = model.path(Z, y, unfairness=[0.0, 0.1, 1.0])
    found = fold.linear_predictors(path)
    rows = np.column_stack([fold.S, fold.X])
    for k, r in enumerate(path.unfairness):
        np.testing.assert_allclose(found[:, k], path.at(r).predict(rows), rtol=1e-9)


def test_squared_errors(fold, eta):
    found = errors(fold, eta)
    for prefix, rows in (("train_", fold.train), ("", fold.test)):
        expected = ((fold.y[rows, None] - eta[rows]) ** 2).sum(axis=0)
        np.testing.assert_allclose(found[prefix + "squares"], expected, rtol=1e-9)
        assert found[prefix + "n"] == len(rows)


def test_shares_and_covariances(fold, eta):
    eta = eta + fold.S[:, :1]
    for k, one in enumerate(eta.T):
        share = LinearRegression().fit(fold.S, one).score(fold.S, one)
        assert explained_share(eta, fold.S)[k] == pytest.approx(share, rel=1e-9)
        covariances = np.cov(np.column_stack([fold.S, one]).T)[:2, 2]
        largest = largest_covariance(eta, fold.S)[k]
        assert largest == pytest.approx(np.abs(covariances).max(), rel=1e-9)


def test_collinear_and_constant_attributes_add_nothing(fold, eta):
    S = np.column_stack([fold.S, fold.S.sum(axis=1), np.ones(60)])
    np.testing.assert_allclose(explained_share(eta, S), explained_share(eta, fold.S), rtol=1e-9)


def test_a_constant_model_has_no_share(fold):
    assert explained_share(np.ones((60, 1)), fold.S).tolist() == [0.0]


def test_f1_is_scikit_learns():
    rng = np.random.default_rng(5)
    eta, y = rng.normal(size=(50, 2)), rng.integers(0, 2, 50).astype(float)
    found = f1(classification_counts(eta, y))
    np.testing.assert_allclose(found, [f1_score(y, one > 0) for one in eta.T])
    # Nothing accepted.
    assert f1(classification_counts(-np.ones((50, 1)), y)).tolist() == [0.0]


def test_gaps_between_groups():
    # Column 0 splits the rows 6:4, column 1 is a number, column 2 marks a single row.
    S = np.column_stack([np.repeat([0.0, 1.0], [6, 4]), np.arange(10.0), np.eye(10)[0]])
    eta = np.column_stack([np.repeat([1.0, -1.0], 5), np.ones(10)])
    counts = group_counts(eta, S)
    assert counts[0, :, 0].tolist() == [6, 5, 4, 0]
    assert counts[:, :, 1].sum() == 0
    np.testing.assert_allclose(acceptance_gap(counts, minimum=0.2), [5 / 6, 0.0])
    assert np.isnan(acceptance_gap(counts[:, :, 1:2])).all()
    # Folds add up.
    parts = group_counts(eta[:5], S[:5]) + group_counts(eta[5:], S[5:])
    np.testing.assert_allclose(acceptance_gap(parts, minimum=0.2), [5 / 6, 0.0])


def test_errors_are_pooled_over_rows():
    folds = [
        {"squares": np.array([2.0]), "n": np.array([1.0]), "train_squares": np.array([8.0]),
         "train_n": np.array([2.0]), "active": np.array([1.0])},
        {"squares": np.array([6.0]), "n": np.array([3.0]), "train_squares": np.array([10.0]),
         "train_n": np.array([4.0]), "active": np.array([0.0])},
    ]  # fmt: skip
    found = {key: value.tolist() for key, value in pooled(folds).items()}
    assert found == {"rmse": [np.sqrt(2.0)], "train_rmse": [np.sqrt(3.0)], "active": [0.5]}
