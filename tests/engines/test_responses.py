"""Rows at one linear predictor are summed by their responses, to the same numbers."""

import numpy as np
import pytest

from fairridge.data import Rows, Slab
from fairridge.engines import MemoryEngine
from fairridge.families import Binomial, Gamma, Multinomial, Poisson

N = 3000
RESPONSES = {
    Binomial(): lambda rng: rng.integers(0, 2, N),
    Poisson(): lambda rng: rng.poisson(2.0, N),
    Gamma(): lambda rng: rng.choice([0.5, 1.0, 2.0], N),
    Multinomial(3): lambda rng: rng.integers(0, 3, N),
}


def engine_for(y, offset=None):
    rng = np.random.default_rng(5)
    S, X = rng.normal(size=(N, 2)) + 3.0, rng.normal(size=(N, 4))
    y = np.asarray(y, dtype=float)[:, None]
    names = tuple("abcdef")
    rows = Rows((Slab(S),), (Slab(X),), names, y, y, rng.uniform(0.5, 2.0, N), offset)
    return MemoryEngine(rows, many_passes=True)


@pytest.mark.parametrize("family", RESPONSES, ids=lambda family: family.name)
def test_the_null_model_has_the_sums_of_all_rows(family):
    y = RESPONSES[family](np.random.default_rng(6))
    level = np.linspace(-0.3, 0.4, family.n_predictors)
    center, raw = np.full(6, 0.5), np.zeros((family.n_predictors, 6))

    def deviance(y, eta, weight):
        return np.array([family.deviance_terms(y, eta, weight, 0).deviance])

    # An offset of zero changes nothing, but rows then differ in more than their responses.
    plain = engine_for(y, offset=np.zeros(N))
    counted = engine_for(y)
    for engine in (plain, counted):
        engine.moments()
    assert plain._responses is None
    assert len(counted._responses.values) == len(np.unique(y))
    expected = plain.derivatives(family, center, level, raw, 2)
    found = counted.derivatives(family, center, level, raw, 2)
    np.testing.assert_allclose(found.deviance, expected.deviance, rtol=1e-12)
    np.testing.assert_allclose(found.gradient, expected.gradient, rtol=1e-10, atol=1e-9)
    np.testing.assert_allclose(found.hessian, expected.hessian, rtol=1e-10, atol=1e-9)
    np.testing.assert_allclose(
        counted.sum_over_rows(deviance, center, level, raw),
        plain.sum_over_rows(deviance, center, level, raw),
        rtol=1e-12,
    )
