"""What must hold for every definition, found by name in the package."""

import numpy as np
import pytest

from fairridge import FairRidgeRegressor, fairness, penalties
from tests.zoo import crossed

NOT_DEFINITIONS = {
    "AbsoluteDifference", "CallableDefinition", "ClassDifference", "Closeness", "Definition",
    "PairwiseDistance", "SameOutcome", "SquaredDifference", "VarianceShare", "is_variance_share",
}  # fmt: skip
NOT_PENALTIES = {"Spectrum", "Penalty", "SecularPenalty"}
ARGUMENTS = {"Combined": (["statistical-parity", "individual"],)}
DEFINITIONS = [name for name in fairness.__all__ if name not in NOT_DEFINITIONS]
PENALTIES = [name for name in penalties.__all__ if name not in NOT_PENALTIES]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(33)
    S = rng.normal(size=(200, 3)) @ rng.normal(size=(3, 3)) + 2.0
    X = rng.normal(size=(200, 4)) + S @ rng.normal(size=(3, 4)) * 0.3
    return np.column_stack([S, X]), X.sum(1) + S @ [1.0, -2.0, 1.0] + rng.normal(size=200)


def definition_of(name):
    return getattr(fairness, name)(*ARGUMENTS.get(name, ()))


def apply_to_numbers(definition, penalty):
    """Whether a definition bounds gaussian models, and under this penalty."""
    other_response = definition.reads not in (None, "numbers")
    return not other_response and (penalty == "Ridge" or not definition.penalizes_means)


COMBINATIONS = [(d, p) for d in DEFINITIONS for p in PENALTIES]
APPLY = [pair for pair in COMBINATIONS if apply_to_numbers(definition_of(pair[0]), pair[1])]
REFUSED = sorted(set(COMBINATIONS) - set(APPLY))


def model_of(pair, r=0.05):
    return FairRidgeRegressor(
        r,
        sensitive=[0, 1, 2],
        definition=definition_of(pair[0]),
        penalty=getattr(penalties, pair[1])(),
    )


@pytest.fixture(params=APPLY, ids="-".join)
def model(request):
    return model_of(request.param)


@pytest.mark.parametrize("pair", REFUSED, ids="-".join)
def test_what_does_not_apply_is_refused(pair, data):
    with pytest.raises(ValueError, match=r"definition='mean-(parity|opportunity|odds)'"):
        model_of(pair).fit(*data)


@crossed(
    definition=DEFINITIONS,
    penalty=PENALTIES,
    r=[1e-6, 0.01, 0.2, 0.6],
    allowed=lambda definition, penalty, r: (definition, penalty) in APPLY,
)
def test_the_bound_is_met(data, definition, penalty, r):
    fitted = model_of((definition, penalty), r).fit(*data)
    assert fitted.unfairness_ <= r + 1e-10
    if fitted.bound_active_:
        assert abs(fitted.unfairness_ - r) <= 1e-10
        assert fitted.lambda_ > 0
    else:
        assert fitted.lambda_ == 0
    assert fitted.converged_
    assert fitted.unfairness_components_
    assert all(np.isfinite(value) for value in fitted.unfairness_components_.values())


def test_zero_is_exactly_fair(model, data):
    fitted = model.set_params(unfairness=0.0).fit(*data)
    np.testing.assert_array_equal(fitted.alpha_, 0.0)
    assert fitted.unfairness_ == 0.0
    Z, _ = data
    S = Z[:, :3] - Z[:, :3].mean(0)
    np.testing.assert_allclose(S.T @ fitted.predict(Z), 0.0, atol=1e-9)


def test_one_is_least_squares(model, data):
    Z, y = data
    fitted = model.set_params(unfairness=1.0).fit(Z, y)
    assert (fitted.lambda_, fitted.status_) == (0.0, "inactive")
    A = np.column_stack([np.ones(len(y)), Z])
    np.testing.assert_allclose(
        np.r_[fitted.intercept_, fitted.coef_], np.linalg.lstsq(A, y, rcond=None)[0], atol=1e-10
    )


@pytest.mark.slow
def test_a_path_equals_its_models(model, data):
    bounds = [0.0, 0.003, 0.5, 1.0]
    path = model.path(*data, unfairness=bounds)
    for k, r in enumerate(bounds):
        single = model.set_params(unfairness=r).fit(*data)
        np.testing.assert_allclose(path.alpha[k], single.alpha_, rtol=1e-10, atol=1e-13)
        np.testing.assert_array_equal(path.beta[k], single.beta_)
        at = path.at(r)
        np.testing.assert_allclose(at.predict(data[0]), single.predict(data[0]), atol=1e-10)
        assert (at.unfairness, at.status_) == (r, single.status_)
