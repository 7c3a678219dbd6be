"""Each definition's value, against its formula written out over the rows."""

import numpy as np
import pytest

from fairridge import FairRidgeRegressor, cross_validate
from fairridge.exceptions import BoundWarning
from fairridge.fairness import (
    AbsoluteDifference,
    Combined,
    IndividualFairness,
    StatisticalParity,
)
from fairridge.search.setup import resolve_definition


@pytest.fixture
def data():
    rng = np.random.default_rng(21)
    S = rng.normal(loc=[3.0, -1.0], size=(150, 2))
    X = rng.normal(size=(150, 3)) + S @ rng.normal(size=(2, 3)) * 0.4
    y = X @ [1.0, 2.0, -1.0] + S @ [1.5, -2.0] + rng.normal(size=150)
    return np.column_stack([S, X]), y


def model_of(data, definition, r, **options):
    Z, y = data
    return FairRidgeRegressor(r, sensitive=[0, 1], definition=definition, **options).fit(Z, y)


def parts(model, Z):
    S = Z[:, :2] - Z[:, :2].mean(0)
    sensitive = S @ model.alpha_
    return sensitive, model.predict(Z) - sensitive


@pytest.mark.parametrize("predictor_penalty", [0.0, 20.0])
def test_statistical_parity_is_the_share_of_explained_variance(data, predictor_penalty):
    r = 0.02
    model = model_of(data, "statistical-parity", r, predictor_penalty=predictor_penalty)
    sensitive, rest = parts(model, data[0])
    assert abs(sensitive.var() / (sensitive.var() + rest.var()) - r) < 1e-10
    assert abs(sensitive.var() / model.predict(data[0]).var() - r) < 1e-10
    assert model.unfairness_components_["r_squared_sensitive"] == pytest.approx(r)


@pytest.mark.parametrize("predictor_penalty", [0.0, 20.0])
def test_equality_of_opportunity_is_the_sequential_share(data, predictor_penalty):
    (Z, y), r = data, 0.3
    model = model_of(data, "equality-of-opportunity", r, predictor_penalty=predictor_penalty)
    fitted = model.predict(Z)

    def explained(columns):
        A = np.column_stack([np.ones(len(y)), *columns])
        return (A @ np.linalg.lstsq(A, fitted, rcond=None)[0]).var()

    of_sensitive = explained([Z[:, :2]])
    of_both = explained([Z[:, :2], y])
    assert abs(of_sensitive / of_both - r) < 1e-10
    assert model.unfairness_components_["r_squared_sensitive"] == pytest.approx(
        of_sensitive / fitted.var()
    )
    assert model.unfairness_components_["r_squared_response"] == pytest.approx(
        (of_both - of_sensitive) / fitted.var()
    )


@pytest.mark.parametrize("family", ["gaussian", "quasi-binomial"])
def test_predictors_orthogonal_to_what_s_leaves_of_the_response_explain_none_of_it(family):
    """x varies in one group and y in the other: COV(Uβ, y⊥) = 0, and every α ≠ 0 has share 1."""
    s, y, c = np.array([0.0, 1.0, 1.0, 0.0]), np.array([0.75, 0.75, 0.75, 0.25]), 2.23238623
    x = np.array([c, 1.0 - c, 2.0 - c, c])
    model = FairRidgeRegressor(
        1e-6, family=family, definition="equality-of-opportunity", predictor_penalty=1.0
    ).fit(x[:, None], y, sensitive_features=s[:, None])
    assert (model.lambda_, model.unfairness_, model.status_) == (np.inf, 0.0, "converged")


def pairwise(model, Z, y, distance):
    treated = Z[:, :2] @ model.alpha_
    gaps = (treated[:, None] - treated[None, :]) ** 2
    return (distance(y[:, None], y[None, :]) * gaps).sum()


DISTANCES = {
    "default": (None, lambda a, b: abs(a - b)),
    "absolute": ("absolute", lambda a, b: abs(a - b)),
    "squared": ("squared", lambda a, b: (a - b) ** 2),
    "class": ("class", lambda a, b: (a != b).astype(float)),
    "object": (AbsoluteDifference(np.tanh), lambda a, b: abs(np.tanh(a) - np.tanh(b))),
    "callable": (lambda a, b: np.minimum(abs(a - b), 2.0), lambda a, b: np.minimum(abs(a - b), 2)),
}


@pytest.mark.parametrize("name", DISTANCES)
def test_individual_fairness_is_relative_to_the_unconstrained_model(data, name):
    Z, y = data
    ours, plain = DISTANCES[name]
    model = model_of(data, IndividualFairness(ours), 0.2, predictor_penalty=5.0)
    free = model_of(data, IndividualFairness(ours), 1.0, predictor_penalty=5.0)
    share = pairwise(model, Z, y, plain) / pairwise(free, Z, y, plain)
    assert abs(share - 0.2) < 1e-10
    assert model.unfairness_components_["pairwise"] == pytest.approx(pairwise(model, Z, y, plain))


def test_a_function_that_cannot_reach_the_bound_is_said(data):
    with pytest.warns(BoundWarning, match="no penalty meets unfairness=0.2"):
        model = model_of(data, lambda fit: 0.4 + fit.sensitive_variance, 0.2)
    assert (model.status_, model.converged_) == ("infeasible", False)
    np.testing.assert_array_equal(model.alpha_, 0.0)


def test_a_definition_that_is_not_monotone_is_said(data):
    def hill(fit):
        x = fit.sensitive_variance / fit.unconstrained().sensitive_variance
        return 4 * x * (1 - x)

    with pytest.warns(BoundWarning, match="2 penalties"):
        model = model_of(data, hill, 0.5)
    assert model.unfairness_ == pytest.approx(0.5)
    free = model_of(data, hill, 1.0)
    assert (free.lambda_, free.status_) == (0.0, "inactive")
    small = model.alpha_ @ model.alpha_ < 0.5 * free.alpha_ @ free.alpha_
    assert small  # the side on which the bound holds


@pytest.mark.parametrize(
    ("definition", "error"),
    [("fairness", ValueError), (3, TypeError), (StatisticalParity, TypeError)],
)
def test_unknown_definitions_are_refused(definition, error):
    with pytest.raises(error, match="definition="):
        resolve_definition(definition)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"definitions": []}, "at least one"),
        ({"definitions": ["individual"], "weights": [1, 2]}, "one weight each"),
        ({"definitions": ["individual"], "weights": [-1]}, "zero or positive"),
        ({"definitions": ["individual"], "how": "median"}, "how="),
        ({"definitions": ["individual"], "how": "max", "weights": [1]}, "no weights"),
    ],
)
def test_impossible_combinations_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Combined(**arguments)


def test_an_unknown_distance_is_refused():
    with pytest.raises(ValueError, match="distance='euclid'"):
        IndividualFairness("euclid")


# ---------------------------------------------------------- what a definition says of itself


class Spread:
    """A definition that knows nothing of this library."""

    def value(self, fit):
        return fit.sensitive_variance / (fit.sensitive_variance + fit.predictor_variance)


def test_any_object_with_a_value_is_a_definition(data):
    Z, y = data
    model = model_of(data, Spread(), 0.1)
    np.testing.assert_allclose(model.alpha_, model_of(data, StatisticalParity(), 0.1).alpha_)
    assert model.unfairness_components_ == {"Spread": pytest.approx(0.1)}
    cross_validate(model, Z, y, unfairness=[0.1], cv=2)
