"""Individual fairness that compares people with similar outcomes."""

import numpy as np
import pytest

import fairridge
from fairridge import FairRidgeRegressor
from fairridge.fairness import Closeness, IndividualFairness, SameOutcome

N = 150


def rows(seed=0):
    rng = np.random.default_rng(seed)
    S = rng.normal(size=(N, 2)) + 1.0
    X = rng.normal(size=(N, 2)) + 0.4 * S
    eta = X.sum(axis=1) + S @ [1.0, -0.5]
    return np.column_stack([S, X]), eta, rng.uniform(0.2, 2.0, N), rng.normal(size=N), rng


def share(model, free, Z, y, weight, closeness):
    """D_IF over all pairs of rows."""

    def pairs(alpha):
        treated = Z[:, :2] @ alpha
        kernel = closeness(y[:, None], y[None, :]) * np.outer(weight, weight)
        return (kernel * np.subtract.outer(treated, treated) ** 2).sum()

    return pairs(model.alpha_) / pairs(free.alpha_)


def test_close_outcomes_with_weights_and_an_offset():
    Z, eta, weight, offset, rng = rows()
    y = eta + offset + rng.normal(size=N)
    given = {"sample_weight": weight, "offset": offset}
    options = {"sensitive": [0, 1], "definition": IndividualFairness(Closeness())}
    model, free = (FairRidgeRegressor(r, **options).fit(Z, y, **given) for r in (0.3, 1.0))
    # A gaussian model with an offset is the model of y − offset.
    left = y - offset
    deviation = np.sqrt(np.cov(left, aweights=weight, bias=True))
    found = share(model, free, Z, left, weight, lambda a, b: np.exp(-np.abs(a - b) / deviation))
    np.testing.assert_allclose([found, model.unfairness_], 0.3, rtol=1e-9)


def test_equal_counts_with_weights_and_an_offset():
    Z, eta, weight, offset, rng = rows()
    y = rng.poisson(np.exp(0.3 * eta + 0.3 * offset)).astype(float)
    given = {"sample_weight": weight, "offset": 0.3 * offset}
    options = {"sensitive": [0, 1], "definition": IndividualFairness(SameOutcome())}
    model, free = (
        FairRidgeRegressor(r, family="poisson", **options).fit(Z, y, **given) for r in (0.3, 1.0)
    )
    found = share(model, free, Z, y, weight, np.equal)
    np.testing.assert_allclose([found, model.unfairness_], 0.3, rtol=1e-7)


def test_numbers_without_ties_have_no_same_outcomes():
    Z, eta, *_ = rows()
    model = FairRidgeRegressor(0.3, sensitive=[0, 1], definition=IndividualFairness(SameOutcome()))
    with pytest.raises(ValueError, match="no two rows have the same y; use Closeness"):
        model.fit(Z, eta)


@pytest.mark.parametrize("distance", [SameOutcome(), Closeness(0.5)])
def test_a_file_keeps_the_distance(distance, tmp_path):
    Z, eta, *_ = rows()
    model = FairRidgeRegressor(0.3, sensitive=[0, 1], definition=IndividualFairness(distance)).fit(
        Z, np.round(eta)
    )
    fairridge.save(model, tmp_path / "model.json")
    again = fairridge.load(tmp_path / "model.json")
    assert again.definition == IndividualFairness(distance)
    np.testing.assert_array_equal(again.predict(Z), model.predict(Z))
