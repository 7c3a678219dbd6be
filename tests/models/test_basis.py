"""The fair basis from a triangular factor, against U written out."""

import numpy as np
import pytest

from fairridge.data import Rows, Slab
from fairridge.engines import MemoryEngine
from fairridge.fairness.equality_of_opportunity import response_variance
from fairridge.models.basis import _condition_of_triangle, factorize, fair_basis
from fairridge.models.spaces import Coordinates


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


@pytest.mark.parametrize("standardize", [True, False])
def test_the_basis_equals_explicit_decorrelation(data, standardize):
    S, X, y = data
    _, basis = basis_of(S, X, y, standardize)
    centered, U, B = written_out(S, X)
    np.testing.assert_allclose(basis.B, B, atol=1e-12)
    np.testing.assert_allclose(basis.sensitive.scatter(), centered.T @ centered, rtol=1e-10)
    np.testing.assert_allclose(basis.predictors.scatter(), U.T @ U, rtol=1e-9, atol=1e-8)
    np.testing.assert_allclose(basis.target_scatter, [[((y - y.mean()) ** 2).sum()]])
    scale = (centered.std(0), U.std(0)) if standardize else (np.ones(2), np.ones(4))
    np.testing.assert_allclose(basis.sensitive.scale, scale[0])
    np.testing.assert_allclose(basis.predictors.scale, scale[1])
    np.testing.assert_allclose(basis.explained, 1 - U.var(0) / X.var(0))


def test_ridge_in_the_singular_basis_equals_the_normal_equations(data):
    S, X, y = data
    _, basis = basis_of(S, X, y)
    _, U, _ = written_out(S, X)
    spectrum = basis.predictors
    ours = spectrum.original(spectrum.ridge(basis.on_predictors[:, 0], 7.0))
    scaled = U / U.std(0)
    direct = np.linalg.solve(scaled.T @ scaled + 7.0 * np.eye(4), scaled.T @ y) / U.std(0)
    np.testing.assert_allclose(ours, direct, rtol=1e-9)


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


def test_the_response_variance_is_the_sequential_sum_of_squares(data):
    S, X, y = data
    _, basis = basis_of(S, X, y)
    centered, U, _ = written_out(S, X)
    beta = np.array([1.0, -2.0, 0.5, 3.0])
    rest = y - y.mean() - centered @ np.linalg.lstsq(centered, y - y.mean(), rcond=None)[0]
    expected = np.cov(U @ beta, rest, ddof=0)[0, 1] ** 2 / rest.var()
    np.testing.assert_allclose(response_variance(basis, beta), expected)


def test_a_condition_beyond_floating_point_is_infinite():
    """Its square overflows: many collinear 0/1 columns can have such a triangle."""
    assert _condition_of_triangle(np.diag([1.0, 1e-200])) == np.inf
    assert _condition_of_triangle(np.diag([1.0, 0.1])) == pytest.approx(100.0)


def test_the_condition_of_hundreds_of_levels_is_not_overestimated():
    """LAPACK's estimate of sums of absolute values exceeds it a thousandfold."""
    levels = np.eye(301)[np.arange(3010) % 301][:, 1:]
    levels = (levels - levels.mean(axis=0)) / levels.std(axis=0)
    root = np.linalg.qr(levels, mode="r")
    expected = np.linalg.cond(root) ** 2
    assert 0.8 * expected < _condition_of_triangle(root) < 1.01 * expected


@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("collinear", [False, True])
def test_coordinates_and_raw_coefficients_are_each_others(data, standardize, collinear):
    S, X, y = data
    X = np.column_stack([X, X[:, 0] - X[:, 1]]) if collinear else X
    _, basis = basis_of(S, X, y, standardize)
    coordinates = Coordinates(basis, 2, by_column=False)
    theta = np.random.default_rng(0).normal(size=coordinates.size)
    raw = coordinates.raw(theta)
    np.testing.assert_allclose(coordinates.theta(raw), theta, rtol=1e-10, atol=1e-12)
    # η is that of S and of what it leaves of X.
    level, alpha, beta = coordinates.split(theta.reshape(2, -1))
    centered, U, _ = written_out(S, X)
    columns = np.hstack([centered, X - X.mean(0)])
    known = level + centered @ alpha.T + U @ beta.T
    np.testing.assert_allclose(raw[:, 0] + columns @ raw[:, 1:].T, known, atol=1e-10)
