"""U in products alone is U written out."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from fairridge.data import Rows, Slab, SparseSlab
from fairridge.data.rows import sparse_pieces
from fairridge.engines import MemoryEngine
from fairridge.models.spaces.sparse import SparseModel, sparse_features

N, P = 40, 9


@pytest.fixture(params=[True, False], ids=["standardized", "as they are"])
def case(request):
    rng = np.random.default_rng(4)
    X = np.where(rng.random((N, P)) < 0.3, rng.normal(2.0, 1.0, (N, P)), 0.0)
    X[:, 2] = 1e3 + rng.normal(size=N)
    S, y, w = rng.normal(size=(N, 2)), rng.normal(size=(N, 1)), rng.uniform(0.5, 2.0, N)
    X[:, 4] += S[:, 0]
    names = tuple(f"c{k}" for k in range(2 + P))
    pieces = sparse_pieces(sparse.csr_array(X))
    assert [type(piece) for piece in pieces] == [SparseSlab, Slab, SparseSlab, Slab, SparseSlab]
    engine = MemoryEngine(Rows((Slab(S),), pieces, names, y, y, w))
    T = np.column_stack([np.ones(N), S])
    root = np.sqrt(w)[:, None]
    U = X - T @ np.linalg.lstsq(root * T, root * X, rcond=None)[0]
    scale = np.sqrt(w @ U**2 / w.sum()) if request.param else np.ones(P)
    found = sparse_features(engine, standardize=request.param)
    return SimpleNamespace(columns=found.columns, features=found, U=U, V=U / scale, w=w, y=y, T=T)


def test_products(case):
    rng = np.random.default_rng(5)
    gamma, vectors = rng.normal(size=(P, 2)), rng.normal(size=(N, 3))
    np.testing.assert_allclose(case.columns.times(gamma), case.V @ gamma, atol=1e-10)
    np.testing.assert_allclose(case.columns.transposed(vectors), case.V.T @ vectors, atol=1e-9)
    np.testing.assert_allclose(case.columns.squares, case.w @ case.U**2, rtol=1e-10)


def test_what_a_model_asks_of_u(case):
    basis, U, w = case.features.original, case.U, case.w
    beta = np.random.default_rng(6).normal(size=(2, P))
    fitted = U @ beta.T
    np.testing.assert_allclose(basis.predictors.quadratic(beta), w @ fitted**2, rtol=1e-9)
    products = U.T @ (w[:, None] * case.y)
    found = basis.predictors.products(basis.on_predictors)
    np.testing.assert_allclose(found, products, atol=1e-9)
    cross = basis.predictors.rotate(beta) @ basis.on_predictors
    np.testing.assert_allclose(cross, fitted.T @ (w[:, None] * case.y), atol=1e-9)


def test_a_newton_step_is_that_of_the_whole_system(case):
    rng, t, m, ridge = np.random.default_rng(7), 3, 2, 0.7
    root = rng.normal(size=(N, m, m))
    curvature = np.einsum("nab,ncb->nac", root, root) + np.eye(m)
    penalty = np.diag([0.0, 1.0, 2.0])
    gamma, slope = rng.normal(size=(P, m)), rng.normal(size=(N, m))
    model = SparseModel(case.columns, gamma, slope, curvature, ridge, penalty)
    found, _ = model.newton_step(tol=1e-13, most=500)

    # Level and α, which move with γ, stand before it.
    Z = np.hstack([case.columns.span, case.V])
    H = np.einsum("ni,nab,nj->iajb", Z, curvature, Z).reshape(2 * m + m + P * m, -1)
    H[: t * m, : t * m] += np.kron(penalty, np.eye(m))
    H[t * m :, t * m :] += 2.0 * ridge * np.eye(P * m)
    gradient = case.V.T @ slope + 2.0 * ridge * gamma
    right = np.concatenate([np.zeros(t * m), -gradient.ravel()])
    expected = np.linalg.solve(H, right)[t * m :].reshape(P, m)
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-10)


def test_features_are_orthogonal_and_lead_back(case):
    grown = case.features.grown(np.random.default_rng(8).normal(size=(P, 2)))
    grown = grown.grown(np.random.default_rng(9).normal(size=(P, 1)))
    F = grown.engine.rows.predictors[0].values
    assert F.shape == (N, 3)
    np.testing.assert_allclose(grown.directions.T @ grown.directions, np.eye(3), atol=1e-12)
    together = np.hstack([case.T, F])
    gram = together.T @ (case.w[:, None] * together)
    np.testing.assert_allclose(gram[3:, 3:], np.diag(grown.basis.predictors.eigenvalues), atol=1e-9)
    np.testing.assert_allclose(gram[:3, 3:], 0.0, atol=1e-9)
    delta = np.array([1.0, -2.0, 0.5])
    np.testing.assert_allclose(case.U @ grown.expand(delta), F @ delta, atol=1e-9)


def test_a_direction_known_already_adds_nothing(case):
    step = np.random.default_rng(8).normal(size=(P, 1))
    grown = case.features.grown(np.hstack([step, step * (1.0 + 1e-9)]))
    assert grown.directions.shape == (P, 1)
