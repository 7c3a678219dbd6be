"""Families and penalties that are not the library's."""

import numpy as np
import pytest
from scipy.special import lambertw
from scipy.stats import poisson

from fairridge import FairRidgeClassifier, FairRidgeRegressor, cross_validate, save
from fairridge.families import SinglePredictor

N = 800


class TruncatedPoisson(SinglePredictor):
    """Counts that are at least 1."""

    name, link = "truncated-poisson", "log"

    def mean(self, eta):
        return np.exp(eta) / -np.expm1(-np.exp(eta))

    def to_eta(self, mu):
        with np.errstate(divide="ignore"):
            return np.log(np.maximum((mu + lambertw(-mu * np.exp(-mu))).real, 0.0))

    def loglik_of_rows(self, y, eta):
        return y * eta - np.log(np.expm1(np.exp(eta)))

    def unit_deviance(self, y, eta):
        best = np.zeros_like(y)
        best[y > 1] = self.loglik_of_rows(y[y > 1], self.to_eta(y[y > 1]))
        return 2 * (best - self.loglik_of_rows(y, eta))

    def derivatives(self, y, eta):
        mean = self.mean(eta)
        return 2 * (mean - y), 2 * mean * (1 + np.exp(eta) - mean)


class WeightedRidge:
    """A ridge with a weight for each column of S, which is never asked about λ = ∞."""

    name, l1 = "weighted-ridge", 0.0

    def __init__(self, weights):
        self.K = np.diag(weights)

    def quadratic(self, spectrum):
        return self.K

    def coefficients(self, spectrum, projection, lambda_):
        assert np.isfinite(lambda_).all()
        A, squares = spectrum.vectors, spectrum.eigenvalues
        gram, products = A * squares @ A.T, A @ (np.sqrt(squares) * projection)
        return np.array([np.linalg.solve(gram + x * self.K, products) for x in lambda_])

    def ceiling(self, spectrum, projection):
        return np.inf


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(N, 4))
    Z[:, 2] += 0.6 * Z[:, 0]
    eta = 0.4 + Z @ [0.3, -0.2, 0.4, 0.1]
    counts = poisson.ppf(rng.uniform(np.exp(-np.exp(eta)), 1.0), np.exp(eta))
    return Z, counts, Z @ [1.0, 0.5, 1.0, 0.5] + rng.normal(size=N)


def test_a_family_of_a_user_is_fitted_like_those_of_the_library(rows):
    Z, counts, _ = rows
    model = FairRidgeRegressor(1.0, sensitive=[0, 1], family=TruncatedPoisson()).fit(Z, counts)
    found = model.inference(Z, counts)
    known = dict(
        zip(found.names, zip(found.estimate, found.standard_errors, strict=True), strict=True)
    )
    for name, truth in {"(intercept)": 0.4, "x0": 0.3, "x1": -0.2, "x2": 0.4, "x3": 0.1}.items():
        estimate, error = known[name]
        assert abs(estimate - truth) < 4.0 * error
        assert error < 0.1


@pytest.mark.parametrize("definition", ["statistical-parity", "mean-parity"])
def test_a_family_of_a_user_meets_bounds(rows, definition):
    Z, counts, _ = rows
    model = FairRidgeRegressor(
        0.02, sensitive=[0, 1], family=TruncatedPoisson(), definition=definition
    )
    assert model.fit(Z, counts).unfairness_ == pytest.approx(0.02, rel=1e-6)
    found = cross_validate(model, Z, counts, unfairness=[0.02], cv=3).to_frame()
    assert (found["loss"] > 0.0).all()


def test_a_family_of_a_user_is_no_part_of_a_file(rows, tmp_path):
    Z, counts, _ = rows
    model = FairRidgeRegressor(0.05, sensitive=[0], family=TruncatedPoisson()).fit(Z, counts)
    with pytest.raises((TypeError, ValueError), match="TruncatedPoisson"):
        save(model, tmp_path / "model.json")


@pytest.mark.parametrize("r", [0.0, 0.02])
def test_a_penalty_of_a_user_that_is_a_ridge_gives_the_same_model(rows, r):
    Z, _, y = rows
    options = {"unfairness": r, "sensitive": [0, 1]}
    for kind, response in ((FairRidgeRegressor, y), (FairRidgeClassifier, (y > 0).astype(int))):
        found = kind(**options, penalty=WeightedRidge([1.0, 1.0])).fit(Z, response)
        same = kind(**options).fit(Z, response)
        np.testing.assert_allclose(found.coef_, same.coef_, rtol=1e-6, atol=1e-8)


def test_a_penalty_of_a_user_works_along_paths_and_has_no_standard_errors(rows):
    Z, _, y = rows
    model = FairRidgeRegressor(0.05, sensitive=[0, 1], penalty=WeightedRidge([1.0, 9.0]))
    path = model.path(Z, y, unfairness=[0.0, 0.02, 0.05])
    np.testing.assert_allclose(path.achieved, [0.0, 0.02, 0.05], atol=1e-8)
    with pytest.raises(ValueError, match="'weighted-ridge' has no standard errors"):
        model.fit(Z, y).inference(Z, y)
    plain = FairRidgeRegressor(0.05, sensitive=[0, 1]).fit(Z, y)
    (first, second), (alike, other) = np.abs(model.alpha_), np.abs(plain.alpha_)
    assert second / first < 0.5 * other / alike
