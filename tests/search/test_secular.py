"""The secular equation, against bisection."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairridge.search.secular import secular_roots


def ridge(eigenvalues, projection):
    def explained(lambda_):
        d = eigenvalues + lambda_[:, None]
        fitted = (eigenvalues * projection / d) ** 2
        return fitted.sum(1), -2 * (fitted / d).sum(1)

    return explained


@given(
    st.integers(0, 10_000),
    st.integers(1, 6),
    st.floats(0, 12),
    st.lists(st.floats(1e-12, 0.999999), min_size=1, max_size=5),
)
def test_roots_meet_every_target(seed, q, decades, shares):
    rng = np.random.default_rng(seed)
    explained = ridge(10.0 ** rng.uniform(-decades, 0, q), rng.normal(size=q) + 0.01)
    top = explained(np.zeros(1))[0][0]
    targets = np.array(shares) * top
    roots, converged = secular_roots(explained, targets)
    assert converged.all()
    np.testing.assert_allclose(explained(roots)[0], targets, rtol=1e-12)


def test_few_steps_are_enough():
    explained = ridge(np.array([1.0, 0.3, 0.01]), np.array([1.0, -2.0, 0.5]))
    calls = []

    def counted(lambda_):
        calls.append(len(lambda_))
        return explained(lambda_)

    secular_roots(counted, np.geomspace(1e-6, 1.0, 50))
    assert len(calls) <= 9


def test_special_targets():
    explained = ridge(np.array([2.0, 1.0]), np.array([1.0, 1.0]))
    roots, converged = secular_roots(explained, np.array([0.0, 2.0, 5.0, np.inf]))
    np.testing.assert_array_equal(roots, [np.inf, 0.0, 0.0, 0.0])
    assert converged.all()


def test_nothing_to_shrink_needs_no_penalty():
    roots, converged = secular_roots(ridge(np.ones(2), np.zeros(2)), np.array([0.0, 1.0]))
    np.testing.assert_array_equal(roots, [0.0, 0.0])
    assert converged.all()


def test_too_few_steps_are_said():
    explained = ridge(np.array([1.0, 1e-6]), np.array([1.0, 5.0]))
    _, converged = secular_roots(explained, np.array([1e-9]), max_iter=1)
    assert not converged.any()


@pytest.mark.parametrize("target", [1e-30, 1e-3, 0.5])
def test_one_attribute_has_a_closed_form(target):
    roots, _ = secular_roots(ridge(np.array([4.0]), np.array([1.0])), np.array([target]))
    np.testing.assert_allclose(roots, 4.0 / np.sqrt(target) - 4.0, rtol=1e-12)
