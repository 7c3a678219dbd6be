"""Projection on slabs: brute force, optimality, and the limit at which a ratio is reached."""

from itertools import product

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from fairridge.peers.zafar.slabs import limit_at_ratio, project_on_slabs, span_of


def by_enumeration(Y, x, limit):
    """Try every set of active bounds with every sign; keep the nearest feasible point."""
    best, q = None, Y.shape[1]
    for signs in product((-1.0, 0.0, 1.0), repeat=q):
        A = np.flatnonzero(signs)
        wanted = limit * np.array(signs)[A]
        nu = np.linalg.lstsq(Y[:, A].T @ Y[:, A], Y[:, A].T @ x - wanted, rcond=1e-10)[0]
        v = x - Y[:, A] @ nu
        feasible = (np.abs(Y.T @ v) <= limit + 1e-9).all()
        if feasible and (best is None or np.linalg.norm(x - v) < np.linalg.norm(x - best)):
            best = v
    return best


def optimality(Y, x, limit, found):
    """Largest violation of the conditions of optimality, relative to the sizes involved."""
    v, nu = found
    A, unit = nu != 0.0, np.linalg.norm(Y, axis=0).max() * np.linalg.norm(x)
    assert (np.sign(Y[:, A].T @ v) == np.sign(nu[A])).all()
    return max(
        np.maximum(np.abs(Y.T @ v) - limit, 0.0).max() / unit,
        np.abs(np.abs(Y[:, A].T @ v) - limit).max(initial=0.0) / unit,
        np.abs(x - Y @ nu - v).max() / np.linalg.norm(x),
    )


@st.composite
def slabs(draw):
    """Normals of unequal length, some of them dependent, zero or repeated; a point and a limit."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    k, q = draw(st.integers(1, 9)), draw(st.integers(1, 7))
    Y = rng.normal(size=(k, q)) * 10.0 ** rng.uniform(-2, 2, q)
    kind = draw(st.sampled_from(["independent", "levels", "repeated", "low rank", "zero"]))
    if kind == "levels":
        Y[:, -1] = -Y[:, :-1].sum(1)
    elif kind == "repeated":
        Y[:, -1] = -2.0 * Y[:, 0]
    elif kind == "low rank":
        Y = Y[:, :1] @ rng.integers(-2, 3, (1, q)) + Y[:, -1:] @ rng.integers(-2, 3, (1, q))
    elif kind == "zero":
        Y[:, 0] = 0.0
    x = rng.normal(size=k)
    top = np.abs(Y.T @ x).max()
    assume(top > 0.0)
    return Y, x, top * 10.0 ** draw(st.floats(-8.0, 0.1))


@given(slabs())
def test_every_projection_is_optimal(problem):
    assert optimality(*problem, project_on_slabs(*problem)) < 1e-11


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", ["independent", "levels"])
def test_it_equals_enumeration(seed, kind):
    rng = np.random.default_rng(seed)
    Y, x = rng.normal(size=(5, 4)), rng.normal(size=5)
    if kind == "levels":
        Y[:, 3] = -Y[:, :3].sum(1)
    for share in (0.9, 0.5, 0.2, 0.05, 1e-4):
        limit = share * np.abs(Y.T @ x).max()
        expected = by_enumeration(Y, x, limit)
        np.testing.assert_allclose(project_on_slabs(Y, x, limit)[0], expected, atol=1e-8)


def ratio(Y, v):
    return np.abs(Y.T @ v).max() / np.linalg.norm(v)


@given(slabs(), st.floats(-5.0, 0.0))
# A short column has a distant bound, whose rounding is not that of others.
@example((np.array([[1e-3, -2.4, 28.7]]), np.array([1.3]), 37.0), -1e-12)
def test_the_limit_for_a_ratio_is_found(problem, exponent):
    Y, x, _ = problem
    Y = Y / np.linalg.norm(Y, axis=0).max()
    wanted = 10.0**exponent
    limit = limit_at_ratio(Y, x, wanted)
    if np.isinf(limit):
        assert ratio(Y, x) <= wanted
    elif limit > 0.0:
        assert abs(ratio(Y, project_on_slabs(Y, x, limit)[0]) - wanted) < 1e-12
    else:
        # Nothing is outside the span of Y, and no limit however small has so small a ratio.
        span = span_of(Y)
        assert np.linalg.norm(x - span @ (span.T @ x)) <= 1e-9 * np.linalg.norm(x)
        tiny = 1e-9 * np.abs(Y.T @ x).max()
        assert ratio(Y, project_on_slabs(Y, x, tiny)[0]) >= wanted * (1 - 1e-6)
