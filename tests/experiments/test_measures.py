"""Measures from moments, against the rows themselves."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.metrics import f1_score

from fairridge.engines import Moments
from fairridge.experiments.measures import (
    Lines,
    acceptance_gap,
    classification_counts,
    f1,
    group_counts,
    pooled,
)

Q = 2


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(3)
    Z = rng.normal(size=(60, 5)) @ rng.normal(size=(5, 5)) + 10.0
    return Z, Z @ rng.normal(size=5) + rng.normal(size=60)


@pytest.fixture(scope="module")
def moments(rows):
    columns = np.column_stack(rows)
    centered = columns - columns.mean(axis=0)
    return Moments(60, 60.0, columns.mean(axis=0), centered.T @ centered)


@pytest.fixture(scope="module")
def lines():
    rng = np.random.default_rng(4)
    return Lines(rng.normal(size=(3, 5)), rng.normal(size=3), np.full(5, 9.0), Q)


def test_linear_predictors(rows, lines):
    Z, _ = rows
    expected = lines.level + (Z - lines.center) @ lines.raw.T
    np.testing.assert_allclose(lines.predictors(Z), expected)


def test_squared_errors(rows, lines, moments):
    Z, y = rows
    expected = ((y[:, None] - lines.predictors(Z)) ** 2).sum(axis=0)
    np.testing.assert_allclose(lines.squares(moments), expected, rtol=1e-9)


def test_shares_and_covariances(rows, lines, moments):
    Z, _ = rows
    for k, eta in enumerate(lines.predictors(Z).T):
        share = LinearRegression().fit(Z[:, :Q], eta).score(Z[:, :Q], eta)
        assert lines.shares(moments)[k] == pytest.approx(share, rel=1e-9)
        covariances = np.cov(np.column_stack([Z[:, :Q], eta]).T)[:Q, Q]
        assert lines.covariances(moments)[k] == pytest.approx(np.abs(covariances).max(), rel=1e-9)


def test_a_constant_model_has_no_share(moments):
    nothing = Lines(np.zeros((1, 5)), np.zeros(1), np.zeros(5), Q)
    assert nothing.shares(moments).tolist() == [0.0]


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
    np.testing.assert_allclose(acceptance_gap(counts, least=0.2), [5 / 6, 0.0])
    assert np.isnan(acceptance_gap(counts[:, :, 1:2])).all()
    # Folds add up.
    parts = group_counts(eta[:5], S[:5]) + group_counts(eta[5:], S[5:])
    np.testing.assert_allclose(acceptance_gap(parts, least=0.2), [5 / 6, 0.0])


def test_errors_are_pooled_over_rows():
    folds = [
        {"squares": np.array([2.0]), "n": np.array([1.0]), "train_squares": np.array([8.0]),
         "train_n": np.array([2.0]), "active": np.array([1.0])},
        {"squares": np.array([6.0]), "n": np.array([3.0]), "train_squares": np.array([10.0]),
         "train_n": np.array([4.0]), "active": np.array([0.0])},
    ]  # fmt: skip
    found = {key: value.tolist() for key, value in pooled(folds).items()}
    assert found == {"rmse": [np.sqrt(2.0)], "train_rmse": [np.sqrt(3.0)], "active": [0.5]}
