"""The fair basis from a triangular factor, against U written out."""

import numpy as np
import pytest

from fairridge.data import Rows, Slab
from fairridge.engines import MemoryEngine
from fairridge.models.basis import _condition_of_triangle, factorize, fair_basis


def basis_of(S, X, y, standardize=True):
    names = tuple(f"c{k}" for k in range(S.shape[1] + X.shape[1]))
    engine = MemoryEngine(Rows((Slab(S),), (Slab(X),), names, y[:, None], y[:, None]))
    factor = factorize(engine)
    return factor, fair_basis(factor, standardize=standardize, penalized=True)


def written_out(S, X):
    S, X = S - S.mean(0), X - X.mean(0)
    B = np.linalg.pinv(S) @ X
    return S, X - S @ B, B


@pytest.fixture
def data():
    rng = np.random.default_rng(11)
    S = rng.normal(size=(300, 2)) @ [[1.0, 0.5], [0.0, 20.0]] + 5.0
    X = rng.normal(size=(300, 4)) + S @ rng.normal(size=(2, 4)) * 0.2
    return S, X, X.sum(1) + S[:, 0] + rng.normal(size=300)


@pytest.mark.parametrize("far", [0.0, 1e6])
def test_collinear_sensitive_columns_and_predictors_in_their_span(data, far):
    S, X, y = data
    S = np.column_stack([S, S[:, 0] - 2 * S[:, 1], np.full(len(S), 3.0)]) + far
    X = np.column_stack([X, S[:, 0] + 3 * S[:, 1], X[:, 0] + X[:, 1]])
    factor, basis = basis_of(S, X, y)
    assert not factor.of_scatter
    assert basis.sensitive.rank == 2
    assert basis.sensitive.dependent == (2, 3)
    assert basis.predictors.rank == 4
    assert basis.predictors.dependent == (4, 5)
    assert basis.explained[4] == 1.0
    _, U, _ = written_out(data[0], data[1])
    np.testing.assert_allclose(basis.predictors.scatter()[:4, :4], U.T @ U, rtol=1e-6, atol=1e-4)


def test_the_condition_of_hundreds_of_levels_is_not_overestimated():
    """LAPACK's estimate of sums of absolute values exceeds it a thousandfold."""
    levels = np.eye(301)[np.arange(3010) % 301][:, 1:]
    levels = (levels - levels.mean(axis=0)) / levels.std(axis=0)
    root = np.linalg.qr(levels, mode="r")
    expected = np.linalg.cond(root) ** 2
    assert 0.8 * expected < _condition_of_triangle(root) < 1.01 * expected
