"""Derivatives of every family's deviance, against finite differences of it."""

import numpy as np
import pytest

from fairridge import families

NOT_FAMILIES = {"SinglePredictor", "Family", "RowSums"}
# Every family of the package must be here, with each of its options.
INSTANCES = {
    "Binomial": [families.Binomial(link) for link in ("logit", "probit", "cloglog")],
    "Cox": [families.Cox("breslow"), families.Cox("efron")],
    "Gamma": [families.Gamma()],
    "Gaussian": [families.Gaussian()],
    "Multinomial": [families.Multinomial(3), families.Multinomial(5)],
    "NegativeBinomial": [families.NegativeBinomial(kappa) for kappa in (1e-9, 0.7, 30.0)],
    "Poisson": [families.Poisson()],
    "QuasiBinomial": [families.QuasiBinomial(), families.QuasiBinomial("cloglog")],
    "QuasiPoisson": [families.QuasiPoisson()],
    "Tweedie": [families.Tweedie(1.1), families.Tweedie(), families.Tweedie(1.9)],
}
FAMILIES = [
    pytest.param(name, k, id=f"{name}-{k}")
    for name in families.__all__
    if name not in NOT_FAMILIES
    for k in range(len(INSTANCES.get(name, [None])))
]
N = 14


def response(family, rng):
    """Return a response with whatever makes the family difficult: zeros, ties, edges."""
    times = np.column_stack([rng.integers(1, 6, N), rng.random(N) < 0.7])
    return {
        "binomial": lambda: rng.integers(0, 2, (N, 1)),
        "quasi-binomial": lambda: np.append(rng.random(N - 2), [0.0, 1.0])[:, None],
        "cox": lambda: times,
        "gamma": lambda: rng.gamma(1.0, 2.0, (N, 1)),
        "gaussian": lambda: rng.normal(size=(N, 1)),
        "multinomial": lambda: rng.integers(0, family.n_predictors + 1, (N, 1)),
        "negative-binomial": lambda: rng.poisson(2.0, (N, 1)),
        "poisson": lambda: rng.poisson(1.0, (N, 1)),
        "quasi-poisson": lambda: 1.7 * rng.poisson(1.0, (N, 1)),
        "tweedie": lambda: rng.gamma(1.0, 2.0, (N, 1)) * rng.integers(0, 2, (N, 1)),
    }[family.name]().astype(np.float64)


@pytest.fixture(params=[None, 3.0], ids=["near zero", "far from zero"])
def spread(request):
    return request.param or 0.5


@pytest.fixture
def problem(request, spread):
    return problem_of(*request.param, spread)


def problem_of(name, k, spread):
    family, rng = INSTANCES[name][k], np.random.default_rng(17)
    y = response(family, rng)
    eta = spread * rng.normal(size=(N, family.n_predictors))
    return family, y, eta, rng.uniform(0.2, 3.0, N)


def pytest_generate_tests(metafunc):
    if "problem" in metafunc.fixturenames:
        cases = [pytest.param(tuple(case.values), id=case.id) for case in FAMILIES]
        metafunc.parametrize("problem", cases, indirect=True)


def central_difference(function, eta, step=1e-6):
    """Return derivatives of an array-valued function in every entry of η, last axis first."""
    out = []
    for k in range(eta.size):
        shift = np.zeros(eta.size)
        shift[k] = step
        shift = shift.reshape(eta.shape)
        out.append((function(eta + shift) - function(eta - shift)) / (2.0 * step))
    return np.array(out)


def test_every_family_has_an_instance_here():
    assert {name for name in families.__all__ if name not in NOT_FAMILIES} == set(INSTANCES)


def test_the_gradient_is_the_slope_of_the_deviance(problem):
    family, y, eta, weight = problem
    slopes = central_difference(lambda x: family.deviance_terms(y, x, weight, 0).deviance, eta)
    found = family.deviance_terms(y, eta, weight, 1).gradient
    np.testing.assert_allclose(found.ravel(), slopes, rtol=1e-6, atol=1e-6)


def test_the_curvature_is_the_slope_of_the_gradient(problem):
    family, y, eta, weight = problem
    sums = family.deviance_terms(y, eta, weight, 2)
    m = family.n_predictors
    expected = central_difference(
        lambda x: family.deviance_terms(y, x, weight, 1).gradient.ravel(), eta
    )
    found = np.zeros((N, m, N, m))
    found[np.arange(N), :, np.arange(N), :] = sums.curvature
    found = found.reshape(N * m, N * m)
    if sums.coupling is not None:
        found = found - sums.coupling(np.eye(N))
    assert (sums.coupling is None) == family.separable
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def test_the_start_has_the_mean_of_the_response(problem):
    family, y, _, weight = problem
    level = family.initial_intercepts(y, weight, None)
    assert level.shape == (family.n_predictors,)
    gradient = family.deviance_terms(y, np.tile(level, (N, 1)), weight, 1).gradient
    np.testing.assert_allclose(gradient.sum(axis=0), 0.0, atol=1e-10)


def test_coefficients_survive_the_way_to_classes_and_back(problem):
    family, _, _, _ = problem
    inside = np.random.default_rng(20).normal(size=(family.n_predictors, 4))
    np.testing.assert_allclose(
        family.to_contrasts(family.to_class_coefficients(inside)), inside, atol=1e-14
    )


@pytest.mark.parametrize("far", [-800.0, 800.0])
def test_extreme_predictors_give_no_nan(problem, far):
    family, y, eta, weight = problem
    sums = family.deviance_terms(y, eta + far, weight, 1)
    assert not np.isnan(sums.deviance)
    assert sums.deviance != -np.inf
