"""The figure of the paper's section 2.2: a ridge in the auxiliary regression."""

import numpy as np
import pytest

from fairridge import KomiyamaRegressor
from reproduction.bias import BOUNDS, nclm_coefficients, ridge

PENALTIES = [0.0, 1.0, 30.0, 100.0, 500.0, 1000.0, 1e9]


@pytest.fixture(scope="module")
def centered(paper_example):
    return [columns - columns.mean(axis=0) for columns in paper_example]


@pytest.fixture(scope="module")
def variances(centered):
    """VAR(Sα), VAR(Ũβ) and COV(Sα, Ũβ), one row per penalty and one column per bound."""
    S, X, y = centered
    rows = []
    for penalty in PENALTIES:
        U = X - S @ ridge(S, X, penalty)
        for r in BOUNDS:
            alpha, beta = nclm_coefficients(S, U, y, r)
            rows.append([np.var(S @ alpha), np.var(U @ beta), np.mean((S @ alpha) * (U @ beta))])
    return np.moveaxis(np.array(rows).reshape(len(PENALTIES), len(BOUNDS), 3), -1, 0)


def test_the_model_believes_that_it_meets_the_bound(variances):
    sensitive, predictors, covariance = variances
    nominal = sensitive / (sensitive + predictors)
    np.testing.assert_allclose(nominal, np.tile(BOUNDS, (len(PENALTIES), 1)))
    actual = sensitive / (sensitive + predictors + 2.0 * covariance)
    np.testing.assert_allclose(actual[0], BOUNDS, rtol=1e-12)
    assert (np.diff(actual / nominal, axis=0) < 0.0).all()


def test_without_a_ridge_it_is_the_model_itself(paper_example, variances):
    S, X, y = paper_example
    for variance, r in zip(variances[0, 0], BOUNDS, strict=True):
        model = KomiyamaRegressor(r).fit(X, y, sensitive_features=S)
        assert variance == pytest.approx(np.var(S @ model.alpha_), rel=1e-10)
