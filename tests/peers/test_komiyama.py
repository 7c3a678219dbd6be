"""Komiyama et al.'s model: closed form against a conic solver, penalties, covariances, edges."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.covariance import EmpiricalCovariance, LedoitWolf, ShrunkCovariance

from fairridge import FairRidgeRegressor, KomiyamaRegressor
from fairridge.exceptions import BoundWarning
from tests.zoo import LateModule

cp = LateModule("cvxpy")


def generated(seed, n=90, q=2, p=3, noise=1.0):
    rng = np.random.default_rng(seed)
    S = rng.normal(size=(n, q)) @ rng.normal(size=(q, q))
    X = rng.normal(size=(n, p)) + S @ rng.normal(size=(q, p))
    y = X @ rng.normal(size=p) + S @ rng.normal(size=q) + noise * rng.normal(size=n)
    return S, X, y


def decorrelated(S, X, y):
    S, X, y = S - S.mean(0), X - X.mean(0), y - y.mean()
    return S, X - S @ np.linalg.lstsq(S, X, rcond=None)[0], y


def fit(S, X, y, r, **options):
    return KomiyamaRegressor(r, **options).fit(X, y, sensitive_features=S)


def relaxed(S, X, y, r):
    """Solve the paper's relaxed problem, equation (5), with a conic solver.

    A minimum is flat, so the solver finds it to about half its digits only. It
    is then asked again for what is missing, in units a ten-thousandth as large.
    """
    S, U, y = decorrelated(S, X, y)
    n, q = len(y), S.shape[1]
    roots = [np.linalg.cholesky(Z.T @ Z / n).T for Z in (S, U)]
    target = np.concatenate(
        [np.linalg.solve(R.T, Z.T @ y / n) for R, Z in zip(roots, (S, U), strict=True)]
    )
    linear, target = 2.0 * target / np.linalg.norm(target), np.linalg.norm(target)
    forms = np.ones(len(linear)), np.where(np.arange(len(linear)) < q, 1.0 / r, 0.0)
    place, unit = np.zeros(len(linear)), 1.0
    for _ in range(2):
        move, gamma = cp.Variable(len(linear)), cp.Variable()
        values = [place @ (form * place) - linear @ place for form in forms]
        slopes = [(2.0 * form * place - linear) / unit for form in forms]
        bounds = [
            cp.sum_squares(cp.multiply(np.sqrt(form), move)) + slope @ move + gap <= gamma
            for form, slope, gap in zip(
                forms, slopes, (0.0, (values[1] - values[0]) / unit**2), strict=True
            )
        ]
        cp.Problem(cp.Minimize(gamma), bounds).solve(solver=cp.CLARABEL)
        place, unit = place + unit * move.value, 1e-4
    place = place * target
    return np.linalg.solve(roots[0], place[:q]), np.linalg.solve(roots[1], place[q:])


@pytest.mark.slow
@pytest.mark.parametrize("r", [0.01, 0.05, 0.5])
@pytest.mark.parametrize("seed", range(2))
def test_it_equals_a_conic_solver(seed, r):
    S, X, y = generated(seed)
    model = fit(S, X, y, r)
    alpha, beta = relaxed(S, X, y, r)
    np.testing.assert_allclose(model.alpha_, alpha, rtol=0, atol=1e-6 * np.abs(alpha).max())
    np.testing.assert_allclose(model.beta_, beta, rtol=0, atol=1e-6 * np.abs(beta).max())


@given(st.integers(0, 2**32 - 1), st.floats(1e-6, 0.999), st.sampled_from([0.0, 3.0, 1e4]))
def test_the_multiplier_makes_it_stationary(seed, r, penalty):
    S, X, y = generated(seed, n=50)
    model = fit(S, X, y, r, predictor_penalty=penalty)
    S, U, y = decorrelated(S, X, y)
    mu, scale = model.lambda_, U.std(0)
    residual = y - S @ model.alpha_ - U @ model.beta_
    on_S = S.T @ residual - mu * (1 - r) * S.T @ (S @ model.alpha_)
    on_U = U.T @ residual + mu * r * U.T @ (U @ model.beta_) - penalty * scale**2 * model.beta_
    size = np.linalg.norm(y) * (1.0 + (1.0 + mu) * np.linalg.norm(model.alpha_))
    assert np.abs(on_S / S.std(0)).max() < 1e-9 * size * len(y)
    size = np.linalg.norm(y) + np.linalg.norm(U @ model.beta_)
    assert np.abs(on_U / scale).max() < 1e-8 * size * (1.0 + mu)
    # With this the quadratic form of the Lagrangian is positive, so the point is the minimum.
    largest = np.linalg.eigvalsh((U / scale).T @ (U / scale))[-1]
    assert mu == 0.0 or mu * r <= 1.0 + penalty / largest
    assert abs(model.unfairness_ - r) < 1e-10 or (mu == 0.0 and model.unfairness_ < r)


class TestEnds:
    def test_zero_is_the_limit(self):
        S, X, y = generated(1)
        model = fit(S, X, y, 0.0)
        np.testing.assert_array_equal(model.alpha_, 0.0)
        assert (model.lambda_, model.status_, model.unfairness_) == (np.inf, "converged", 0.0)
        near = fit(S, X, y, 1e-14)
        np.testing.assert_allclose(near.beta_, model.beta_, rtol=1e-6)
        ridge = FairRidgeRegressor(0.0).fit(X, y, sensitive_features=S)
        np.testing.assert_allclose(model.beta_, ridge.beta_, rtol=1e-10)

    def test_one_is_least_squares(self):
        S, X, y = generated(2)
        model = fit(S, X, y, 1.0)
        A = np.column_stack([np.ones(len(y)), S, X])
        expected = np.linalg.lstsq(A, y, rcond=None)[0]
        np.testing.assert_allclose([model.intercept_, *model.coef_], expected, rtol=1e-9)
        assert (model.lambda_, model.status_, model.bound_active_) == (0.0, "inactive", False)


class TestDegenerate:
    def test_predictors_that_explain_nothing(self):
        rng = np.random.default_rng(0)
        Q = np.linalg.qr(np.column_stack([np.ones(40), rng.normal(size=(40, 3))]))[0]
        S, X = Q[:, 1:2], Q[:, 2:3]
        y = 3.0 * S[:, 0] + Q[:, 3]
        with pytest.warns(BoundWarning, match="explains nothing"):
            model = fit(S, X, y, 0.2)
        np.testing.assert_array_equal(model.coef_, 0.0)
        assert model.unfairness_ == 0.0
        free = fit(S, X, y, 1.0)
        assert free.alpha_[0] == pytest.approx(3.0)

    def test_without_predictors_only_the_intercept_is_fair(self):
        S, _, y = generated(5)
        model = KomiyamaRegressor(0.3, sensitive=[0, 1]).fit(S, y)
        np.testing.assert_array_equal(model.alpha_, 0.0)
        assert (model.status_, model.unfairness_) == ("converged", 0.0)
        assert KomiyamaRegressor(1.0, sensitive=[0, 1]).fit(S, y).score(S, y) > 0.1


@pytest.mark.filterwarnings("ignore:with ridge or covariance")
class TestRegularized:
    def test_ridge_regularizes_both_blocks(self):
        S, X, y = generated(11)
        model = fit(S, X, y, 1.0, ridge=20.0)
        S, U, y = decorrelated(S, X, y)
        for coefficients, Z in ((model.alpha_, S), (model.beta_, U)):
            Z = Z / Z.std(0)
            expected = np.linalg.solve(Z.T @ Z + 20.0 * np.eye(Z.shape[1]), Z.T @ y)
            scale = {2: S, 3: U}[Z.shape[1]].std(0)
            np.testing.assert_allclose(coefficients * scale, expected, rtol=1e-9)

    def test_the_bound_holds_for_the_regularized_share(self):
        S, X, y = generated(12)
        with pytest.warns(BoundWarning, match=r"the share itself is 0\.0"):
            model = fit(S, X, y, 0.05, ridge=30.0)
        assert model.status_ == "converged"
        S, U, _ = decorrelated(S, X, y)
        squares, sizes = [], []
        for coefficients, Z in ((model.alpha_, S), (model.beta_, U)):
            squares.append(np.sum((Z @ coefficients) ** 2))
            sizes.append(squares[-1] + 30.0 * np.sum((Z.std(0) * coefficients) ** 2))
        assert sizes[0] / sum(sizes) == pytest.approx(0.05, abs=1e-10)
        assert model.unfairness_ == pytest.approx(squares[0] / sum(squares), rel=1e-9)
        assert model.unfairness_ > 0.0501

    def test_the_empirical_covariance_changes_nothing(self):
        S, X, y = generated(13)
        for r in (0.0, 0.05):
            plain = fit(S, X, y, r)
            for covariance in (EmpiricalCovariance(), lambda Z: Z.T @ Z / len(Z)):
                model = fit(S, X, y, r, covariance=covariance)
                np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-8)

    def test_shrinking_towards_the_identity_is_a_ridge(self):
        S, X, y = generated(14)
        n, t = len(y), 0.2
        shrunk = fit(S, X, y, 1.0, covariance=ShrunkCovariance(shrinkage=t))
        ridge = fit(S, X, y, 1.0, ridge=n * t / (1 - t))
        # (1 − t)V + tI is (1 − t) times V + t/(1 − t)·I.
        np.testing.assert_allclose(shrunk.alpha_ * (1 - t), ridge.alpha_, rtol=1e-8)
        np.testing.assert_allclose(shrunk.beta_ * (1 - t), ridge.beta_, rtol=1e-8)

    def test_the_estimator_is_left_alone(self):
        S, X, y = generated(16)
        estimator = LedoitWolf()
        fit(S, X, y, 0.1, covariance=estimator)
        assert not hasattr(estimator, "covariance_")

    @pytest.mark.parametrize(
        ("covariance", "error", "message"),
        [
            (LedoitWolf, TypeError, "use a covariance estimator"),
            (lambda Z: np.eye(2), ValueError, r"shape \(2, 2\); it must be a \(5, 5\)"),
            (lambda Z: -np.eye(5), ValueError, "negative variance"),
            (lambda Z: np.diag([1.0, 1.0, 1.0, 0.0, 1.0]), ValueError, "no variance to a comb"),
        ],
    )
    def test_what_is_no_covariance(self, covariance, error, message):
        S, X, y = generated(17)
        with pytest.raises(error, match=message):
            fit(S, X, y, 0.1, covariance=covariance)

    def test_weights_and_covariance_exclude_each_other(self):
        S, X, y = generated(18)
        model = KomiyamaRegressor(0.1, covariance=LedoitWolf())
        with pytest.raises(ValueError, match="takes no weights"):
            model.fit(X, y, sensitive_features=S, sample_weight=np.arange(1, len(y) + 1))
        equal = model.fit(X, y, sensitive_features=S, sample_weight=np.full(len(y), 2.0))
        assert equal.status_ == "converged"

    @pytest.mark.parametrize("name", ["ridge", "predictor_penalty"])
    def test_negative_penalties_are_refused(self, name):
        S, X, y = generated(19)
        with pytest.raises(ValueError, match=f"{name}=-1"):
            fit(S, X, y, 0.1, **{name: -1})
