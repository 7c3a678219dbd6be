"""Penalties on α: their own problem against scikit-learn, and what they do to a model."""

import numpy as np
import pytest
from sklearn.linear_model import ElasticNet as TheirElasticNet
from sklearn.linear_model import Lasso as TheirLasso
from sklearn.linear_model import Ridge as TheirRidge
from sklearn.linear_model import lars_path

from fairridge import FairRidgeClassifier, FairRidgeRegressor, penalties
from fairridge.exceptions import DataWarning
from fairridge.penalties import ElasticNet, Lasso, Radial, Ridge
from fairridge.search.setup import resolve_penalty
from fairridge.solvers import spectrum_of

NOT_PENALTIES = {"Spectrum", "Penalty", "SecularPenalty"}
# Every penalty of the package must be here, with each of its options.
INSTANCES = {
    "ElasticNet": [ElasticNet(), ElasticNet(0.1), ElasticNet(0.9)],
    "Lasso": [Lasso()],
    "Radial": [Radial()],
    "Ridge": [Ridge()],
}
ALL = [instance for instances in INSTANCES.values() for instance in instances]
EXACT = {"tol": 1e-14, "max_iter": 1_000_000, "fit_intercept": False}


def test_every_penalty_is_here():
    assert {name for name in penalties.__all__ if name not in NOT_PENALTIES} == set(INSTANCES)


@pytest.fixture(scope="module")
def rows():
    """Centered S with unequal scales, its scaled version, and a response in its span and out."""
    rng = np.random.default_rng(40)
    S = rng.normal(size=(120, 4)) @ rng.normal(size=(4, 4)) * [1.0, 5.0, 0.2, 1.0]
    S = S - S.mean(0)
    s = S / S.std(0)
    y = s @ [1.0, -2.0, 0.0, 0.5] + rng.normal(size=120)
    return S, s, y - y.mean()


@pytest.fixture(scope="module")
def spectrum(rows):
    S, _, y = rows
    found, P, _ = spectrum_of(S, S.std(0), 1e-12)
    return found, P.T @ y


def coefficients(penalty, spectrum, *lambdas):
    return penalty.coefficients(*spectrum, np.array(lambdas))


@pytest.mark.parametrize("lambda_", [0.0, 1e-3, 30.0])
@pytest.mark.parametrize("penalty", ALL, ids=str)
def test_the_coefficients_are_optimal(rows, spectrum, penalty, lambda_):
    _, s, y = rows
    a = coefficients(penalty, spectrum, lambda_)[0]
    K = penalty.quadratic(spectrum[0])
    slope = 2.0 * s.T @ (s @ a - y) + 2.0 * lambda_ * K @ a
    weight = 2.0 * lambda_ * penalty.l1
    resting = np.maximum(np.abs(slope) - weight, 0.0)
    violation = np.where(a != 0.0, np.abs(slope + weight * np.sign(a)), resting)
    assert violation.max() < 1e-9 * np.abs(s.T @ y).max()


@pytest.mark.parametrize("penalty", ALL, ids=str)
def test_the_ceiling_is_the_smallest_penalty_without_coefficients(spectrum, penalty):
    ceiling = penalty.ceiling(*spectrum)
    if penalty.l1 == 0.0:
        assert ceiling == np.inf
        assert coefficients(penalty, spectrum, 1e9).all()
    else:
        at, below = coefficients(penalty, spectrum, ceiling, ceiling * (1 - 1e-6))
        np.testing.assert_array_equal(at, 0.0)
        assert np.count_nonzero(below) == 1
    np.testing.assert_array_equal(coefficients(penalty, spectrum, np.inf), 0.0)


@pytest.mark.parametrize("lambda_", [0.5, 80.0])
def test_the_answers_are_those_of_scikit_learn(rows, spectrum, lambda_):
    _, s, y = rows
    lasso = TheirLasso(lambda_ / 120, **EXACT).fit(s, y).coef_
    net = TheirElasticNet(lambda_ / 120, l1_ratio=0.3, **EXACT).fit(s, y).coef_
    ridge = TheirRidge(lambda_, fit_intercept=False, solver="cholesky").fit(s, y).coef_
    for ours, theirs in ((Lasso(), lasso), (ElasticNet(0.3), net), (Ridge(), ridge)):
        np.testing.assert_allclose(coefficients(ours, spectrum, lambda_)[0], theirs, atol=1e-9)


def test_an_elastic_net_of_one_is_a_lasso(spectrum):
    np.testing.assert_array_equal(
        coefficients(ElasticNet(1.0), spectrum, 3.0), coefficients(Lasso(), spectrum, 3.0)
    )


@pytest.mark.parametrize("penalty", [Ridge(), Radial()], ids=str)
def test_length_is_that_of_the_fit_with_its_relative_slope(rows, spectrum, penalty):
    _, s, _ = rows
    lambdas = np.array([0.0, 0.7, 20.0])
    length, slope = penalty.length(*spectrum, lambdas)
    fitted = coefficients(penalty, spectrum, *lambdas) @ s.T
    np.testing.assert_allclose(length, np.linalg.norm(fitted, axis=1), rtol=1e-10)
    step = 1e-5
    ends = [np.log(penalty.length(*spectrum, lambdas + h)[0]) for h in (-step, step)]
    np.testing.assert_allclose(slope, (ends[1] - ends[0]) / (2 * step), rtol=1e-5)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("ridge", Ridge()),
        ("radial", Radial()),
        ("lasso", Lasso()),
        ("elastic-net", ElasticNet(0.5)),
    ],
)
def test_short_names_are_known(name, expected):
    assert resolve_penalty(name) == expected
    assert resolve_penalty(expected) is expected
    assert expected.name == name


@pytest.mark.parametrize("penalty", ["l2", None, 3, Ridge, ElasticNet])
def test_unknown_penalties_are_refused(penalty):
    with pytest.raises(ValueError, match="There are ridge, radial, lasso, elastic-net"):
        resolve_penalty(penalty)


@pytest.mark.parametrize("l1_ratio", [0.0, -0.1, 1.1, float("nan")])
def test_an_impossible_share_of_absolute_values_is_refused(l1_ratio):
    with pytest.raises(ValueError, match=r"must lie in \(0, 1\]"):
        ElasticNet(l1_ratio)


# ------------------------------------------------------------------- in a model


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(41)
    S = rng.normal(size=(200, 4)) @ (np.eye(4) + 0.3) * [1.0, 10.0, 1.0, 0.1] + 3.0
    X = rng.normal(size=(200, 3)) + S[:, :1] * 0.3
    y = X.sum(axis=1) + (S / S.std(0)) @ [1.0, -0.7, 0.0, 0.4] + rng.normal(size=200)
    return np.column_stack([S, X]), y


def fit(data, r, penalty, **options):
    Z, y = data
    return FairRidgeRegressor(r, sensitive=[0, 1, 2, 3], penalty=penalty, **options).fit(Z, y)


@pytest.mark.parametrize("predictor_penalty", [0.0, 10.0])
def test_a_gaussian_lasso_is_that_of_scikit_learn_on_standardized_S(data, predictor_penalty):
    (Z, y), r = data, 0.1
    model = fit(data, r, "lasso", predictor_penalty=predictor_penalty)
    s = (Z[:, :4] - Z[:, :4].mean(0)) / Z[:, :4].std(0)
    theirs = TheirLasso(model.lambda_ / 200, **EXACT).fit(s, y - y.mean())
    np.testing.assert_allclose(model.alpha_ * Z[:, :4].std(0), theirs.coef_, atol=1e-9)
    assert model.unfairness_ == pytest.approx(r, abs=1e-10)


def test_predictors_do_not_depend_on_the_penalty_in_gaussian_models(data):
    models = [fit(data, 0.1, penalty) for penalty in ALL]
    for model in models[1:]:
        np.testing.assert_array_equal(model.beta_, models[0].beta_)


def test_without_unfairness_a_lasso_has_the_largest_penalty_of_lars(data):
    Z, y = data
    s = (Z[:, :4] - Z[:, :4].mean(0)) / Z[:, :4].std(0)
    largest = lars_path(s, y - y.mean(), method="lasso")[0][0] * 200
    for l1_ratio in (1.0, 0.25):
        model = fit(data, 0.0, ElasticNet(l1_ratio))
        np.testing.assert_array_equal(model.alpha_, 0.0)
        assert model.lambda_ == pytest.approx(largest / l1_ratio, rel=1e-10)


def test_the_radial_penalty_fits_best_at_equal_unfairness(data):
    r = 0.1
    radial = fit(data, r, "radial")
    for penalty in ALL:
        other = fit(data, r, penalty)
        assert other.unfairness_ == pytest.approx(r, abs=1e-10)
        assert radial.deviance_ <= other.deviance_ * (1 + 1e-12)


def test_a_lasso_drops_attributes_one_by_one(data):
    Z, y = data
    path = FairRidgeRegressor(sensitive=[0, 1, 2, 3], penalty="lasso").path(Z, y)
    kept = np.count_nonzero(path.alpha, axis=1)
    assert kept[0] == 0
    assert kept[-1] == 4
    assert (np.diff(kept) >= 0).all()
    assert set(kept) >= {1, 2, 3}


@pytest.mark.parametrize("penalty", ALL, ids=str)
def test_collinear_attributes_are_bounded_under_every_penalty(data, penalty):
    Z, y = data
    doubled = np.column_stack([Z, Z[:, 0] + Z[:, 1]])
    for model, response in (
        (FairRidgeRegressor(0.1, sensitive=[0, 1, 2, 3, 7], penalty=penalty), y),
        (FairRidgeClassifier(0.1, sensitive=[0, 1, 2, 3, 7], penalty=penalty), y > y.mean()),
    ):
        with pytest.warns(DataWarning, match="sensitive column"):
            model.fit(doubled, response)
        assert model.unfairness_ == pytest.approx(0.1, abs=1e-10)
        assert model.converged_
