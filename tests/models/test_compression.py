"""Wide data in features: the singular basis of U, and the way back."""

from fractions import Fraction

import numpy as np
import pytest

from fairridge.data import Rows, Slab
from fairridge.engines import MemoryEngine
from fairridge.models.spaces import compress
from fairridge.solvers.spectrum import dependent_columns

EXACT = np.vectorize(Fraction, otypes=[object])


def engine_of(S, X, y, weight=None):
    names = tuple(f"z{k}" for k in range(S.shape[1] + X.shape[1]))
    return MemoryEngine(Rows((Slab(S),), (Slab(X),), names, y[:, None], y[:, None], weight))


@pytest.fixture
def data():
    """12 rows, 2 sensitive columns, 30 predictors of very different sizes and means."""
    rng = np.random.default_rng(1)
    S = rng.normal([3.0, -1.0], 1.0, size=(12, 2))
    X = rng.normal(size=(12, 30)) * np.exp(rng.normal(size=30)) + 5.0 * rng.normal(size=30)
    X[:, ::4] += S[:, :1]
    return S, X, rng.normal(size=12)


def decorrelated(S, X, weight):
    """Return √w(X − x̄ − (S − s̄)B), by least squares."""
    root = np.sqrt(weight)[:, None]
    S, X = ((Z - np.average(Z, axis=0, weights=weight)) * root for Z in (S, X))
    return X - S @ np.linalg.lstsq(S, X, rcond=None)[0]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("standardize", [True, False])
def test_features_are_a_rotation_of_the_scaled_columns(data, standardize, weighted):
    S, X, y = data
    weight = np.random.default_rng(2).uniform(0.5, 2.0, 12) if weighted else None
    found = compress(engine_of(S, X, y, weight), standardize=standardize, predictor_penalty=1.0)
    w = np.ones(12) if weight is None else weight
    U = decorrelated(S, X, w)
    scale = np.sqrt((U**2).sum(axis=0) / w.sum()) if standardize else np.ones(30)
    root = np.sqrt(w)[:, None]
    features = found.engine.rows.predictors[0].values * root
    assert features.shape == (12, 9)  # 12 rows less one mean and two columns of S
    np.testing.assert_allclose(features @ features.T, U / scale @ (U / scale).T, atol=1e-11)
    np.testing.assert_allclose(features.T @ root, 0.0, atol=1e-11)
    np.testing.assert_allclose(features.T @ (S * root), 0.0, atol=1e-11)
    # Coefficients of features give the same fitted values, and have the same norm.
    delta = np.random.default_rng(3).normal(size=(2, 3, 9))
    beta = found.expand(delta)
    np.testing.assert_allclose(beta @ U.T, delta @ features.T, atol=1e-10)
    np.testing.assert_allclose(
        ((beta * scale) ** 2).sum(axis=-1), (delta**2).sum(axis=-1), rtol=1e-11
    )


def exact_coefficients(S, X, y, penalty):
    """Solve (UUᵀ + λ₂I)c = y in rational numbers; β = Uᵀc."""
    S, X, y = (EXACT(a) - EXACT(a).sum(axis=0) / len(y) for a in (S, X, y))
    s = S[:, 0]
    U, y = X - np.outer(s, s @ X) / (s @ s), y - s * (s @ y) / (s @ s)
    # Ones and s make the matrix regular, and y has no part along them.
    G = U @ U.T + np.outer(s, s) + EXACT(np.ones((len(y), len(y))))
    A = np.column_stack([G + Fraction(penalty) * EXACT(np.eye(len(y))), y])
    for i in range(len(A)):
        A[i] = A[i] / A[i, i]
        others = np.arange(len(A)) != i
        A[others] = A[others] - np.outer(A[others, i], A[i])
    return (U.T @ A[:, -1]).astype(np.float64)


@pytest.mark.parametrize("smallest", [1e-1, 1e-8])
@pytest.mark.parametrize("penalty", [0.0, 1e-6])
def test_nearly_dependent_rows_keep_their_digits(smallest, penalty):
    rng = np.random.default_rng(5)
    left, right = (np.linalg.qr(rng.normal(size=(k, 9)))[0] for k in (9, 20))
    X = (left * np.geomspace(1.0, smallest, 9)) @ right.T * 3.0 + rng.normal(size=20)
    S, y = rng.normal(size=(9, 1)), rng.normal(size=9)
    found = compress(engine_of(S, X, y), standardize=False, predictor_penalty=penalty)
    spectrum = found.basis.predictors
    beta = found.expand(spectrum.ridge(found.basis.on_predictors[:, 0], penalty))
    expected = exact_coefficients(S, X, y, penalty)
    lost = 1e-14 / smallest if penalty == 0.0 else 1e-10
    np.testing.assert_allclose(beta, expected, atol=lost * np.abs(expected).max(), rtol=0.0)


@pytest.mark.parametrize("size", [1, 70])
def test_dependent_columns_do_not_depend_on_blocks(size):
    rng = np.random.default_rng(7)
    columns = rng.normal(size=(80, 75))
    columns = np.insert(columns, 20, columns[:, 3] - columns[:, 11], axis=1)
    columns = np.insert(columns, 72, columns[:, :70].sum(axis=1), axis=1)
    columns = np.hstack([np.zeros((80, 1)), columns])
    blocks = [columns[:, k : k + size] for k in range(0, columns.shape[1], size)]
    assert dependent_columns(blocks, columns.shape[1], 75) == (0, 21, 73)
