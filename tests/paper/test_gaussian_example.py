"""The shape of the paper's figures for its gaussian example (sections 3 and 4)."""

import numpy as np
import pytest

from fairridge import FairRidgeRegressor
from fairridge.fairness import EqualityOfOpportunity, IndividualFairness


@pytest.fixture(scope="module")
def model():
    return FairRidgeRegressor(sensitive=[0, 1, 2])


@pytest.fixture(scope="module")
def data(paper_example):
    S, X, y = paper_example
    return np.column_stack([S, X]), y


def test_profile_of_the_coefficients(model, data):
    Z, y = data
    path = model.path(Z, y)
    free = np.linalg.lstsq(np.column_stack([np.ones(len(y)), Z]), y, rcond=None)[0]
    np.testing.assert_array_equal(path.beta, np.tile(path.beta[0], (101, 1)))
    np.testing.assert_allclose(path.beta[0], free[4:], rtol=1e-10)
    np.testing.assert_array_equal(path.alpha[0], 0.0)
    active = path.lambda_ > 0
    assert 0.8 < path.unfairness[~active].min() < 0.95
    assert (np.diff(np.linalg.norm(path.alpha[active], axis=1)) > 0).all()
    assert (np.diff(path.lambda_[active][1:]) < 0).all()


def test_a_ridge_on_the_predictors(model, data):
    plain = model.path(*data)
    ridged = FairRidgeRegressor(sensitive=[0, 1, 2], predictor_penalty=10.0).path(*data)
    np.testing.assert_array_equal(ridged.beta, np.tile(ridged.beta[0], (101, 1)))
    assert np.linalg.norm(ridged.beta[0]) < np.linalg.norm(plain.beta[0])
    both = (plain.lambda_ > 0) & np.isfinite(plain.lambda_)
    assert (ridged.lambda_[both] > plain.lambda_[both]).all()
    assert (np.abs(ridged.alpha[both]) < np.abs(plain.alpha[both])).all()


def test_all_definitions_grow_with_the_bound(data):
    Z, y = data
    for definition in (EqualityOfOpportunity(), IndividualFairness()):
        values = {}

        def recorded(fit, definition=definition, values=values):
            return values.setdefault(fit.lambda_, definition.value(fit))

        path = FairRidgeRegressor(sensitive=[0, 1, 2]).path(Z, y)
        measured = FairRidgeRegressor(sensitive=[0, 1, 2], definition=recorded)
        measured.path(Z, y, unfairness=[0.5])  # its scan runs from λ = 0 to ∞
        assert len(values) > 50
        assert (np.diff([values[x] for x in sorted(values)]) <= 1e-12).all()
        assert (np.diff(path.achieved[path.lambda_ > 0]) > 0).all()
