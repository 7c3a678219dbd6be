"""The secular equation, against bisection."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairridge.penalties import Ridge
from fairridge.search.gaussian import secular_roots
from fairridge.solvers import Spectrum


def ridge(eigenvalues, projection):
    spectrum = Spectrum(eigenvalues, np.eye(len(eigenvalues)), np.ones(len(eigenvalues)), ())
    return lambda lambda_: Ridge().length(spectrum, projection, lambda_)


@given(
    st.integers(0, 10_000),
    st.integers(1, 6),
    st.floats(0, 12),
    st.lists(st.floats(1e-12, 0.999999), min_size=1, max_size=5),
)
def test_roots_meet_every_target(seed, q, decades, shares):
    rng = np.random.default_rng(seed)
    length = ridge(10.0 ** rng.uniform(-decades, 0, q), rng.normal(size=q) + 0.01)
    top = length(np.zeros(1))[0][0]
    targets = np.sqrt(shares) * top
    roots, converged = secular_roots(length, targets)
    assert converged.all()
    np.testing.assert_allclose(length(roots)[0], targets, rtol=1e-12)


def test_few_steps_are_enough():
    length = ridge(np.array([1.0, 0.3, 0.01]), np.array([1.0, -2.0, 0.5]))
    calls = []

    def counted(lambda_):
        calls.append(len(lambda_))
        return length(lambda_)

    secular_roots(counted, np.geomspace(1e-3, 1.0, 50))
    assert len(calls) <= 9


@pytest.mark.parametrize("target", [1e-160, 0.7])
def test_one_attribute_has_a_closed_form(target):
    roots, _ = secular_roots(ridge(np.array([4.0]), np.array([1.0])), np.array([target]))
    np.testing.assert_allclose(roots, 4.0 / target - 4.0, rtol=1e-12)
