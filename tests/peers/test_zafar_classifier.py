"""Zafar et al.'s bounds for logistic regression: a conic solver, optimality, separation."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from fairridge import ZafarClassifier
from fairridge.exceptions import BoundWarning, DataWarning
from tests.zoo import LateModule

cp = LateModule("cvxpy")


def generated(seed, n=200, q=2, p=4, strength=0.7):
    rng = np.random.default_rng(seed)
    S = rng.normal(size=(n, q)) @ rng.normal(size=(q, q)) * 10.0 ** rng.uniform(-1, 1, q) + 1.0
    X = rng.normal(size=(n, p)) + S / S.std(0) @ rng.normal(size=(q, p)) * 0.5
    eta = strength * (X @ rng.normal(size=p) + S / S.std(0) @ rng.normal(size=q))
    return S, X, (rng.random(n) < expit(eta - np.median(eta))) * 1


def fit(S, X, y, r, **options):
    weight, offset = options.pop("sample_weight", None), options.pop("offset", None)
    model = ZafarClassifier(r, **options)
    return model.fit(X, y, sensitive_features=S, sample_weight=weight, offset=offset)


def bounded(S):
    """S such that Sᵀη is COV(S, η)."""
    return (S - S.mean(0)) / (len(S) - 1)


def deviance(y, eta):
    return 2.0 * np.sum(np.logaddexp(0.0, eta) - y * eta)


def conic(S, X, y, limit):
    """Return the deviance of a conic solver's point, moved inside the bounds."""
    Z = (X - X.mean(0)) / X.std(0)
    level, b = cp.Variable(), cp.Variable(X.shape[1])
    eta = level + Z @ b
    loss = 2.0 * cp.sum(cp.logistic(eta) - cp.multiply(y, eta))
    C = bounded(S).T @ Z
    cp.Problem(cp.Minimize(loss), [cp.abs(C @ b) <= limit]).solve(solver=cp.CLARABEL)
    inside = min(1.0, limit / np.abs(C @ b.value).max())
    return deviance(y, level.value + Z @ (inside * b.value))


def residual_of_optimality(model, S, X, y, *, unit, weight=None, offset=None):
    """Violation of ∂D/∂b + Σνⱼ·∂COV(Sⱼ, Xb)/∂b = 0, per row, in standardized columns of X."""
    weight = np.ones(len(y)) if weight is None else weight
    total = weight.sum()
    Z = (X - np.average(X, axis=0, weights=weight)) / X.std(0)
    S = S - np.average(S, axis=0, weights=weight)
    S = S / np.sqrt(weight @ S**2 / total) / total if unit else S / (total - 1.0)
    S = S * weight[:, None]
    eta = model.decision_function(X)
    at = S.T @ eta
    active = np.abs(at) >= np.abs(at).max() * (1 - 1e-7)
    eta = eta if offset is None else eta + offset
    slope = weight * (expit(eta) - y)
    gradient, C = 2.0 * Z.T @ slope, (S.T @ Z)[active]
    multipliers = np.linalg.lstsq(C.T, -gradient, rcond=None)[0]
    assert (multipliers * np.sign(at[active]) >= -1e-6 * np.abs(multipliers).max()).all()
    assert model.lambda_ == pytest.approx(np.abs(multipliers).sum(), rel=1e-5)
    return max(np.abs(gradient + C.T @ multipliers).max(), 2.0 * abs(slope.sum())) / total


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")  # the conic solver's
@pytest.mark.parametrize("share", [0.02, 0.3, 0.8])
@pytest.mark.parametrize("seed", range(2))
def test_covariances_equal_a_conic_solver(seed, share):
    S, X, y = generated(seed)
    free = fit(S, X, y, np.inf, bound="covariance")
    limit = share * free.unfairness_
    model = fit(S, X, y, limit, bound="covariance")
    assert model.deviance_ == pytest.approx(conic(S, X, y, limit), rel=1e-7)
    assert model.deviance_ == pytest.approx(deviance(y, model.decision_function(X)), rel=1e-12)
    assert residual_of_optimality(model, S, X, y, unit=False) < 1e-8


@pytest.mark.slow
@settings(max_examples=25)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 4),
    st.integers(1, 5),
    st.floats(-5.0, -0.01),
    st.sampled_from(["correlation", "covariance"]),
)
@pytest.mark.filterwarnings("ignore:only the intercept")
def test_bounds_are_met_never_exceeded_and_optimal(seed, q, p, exponent, bound):
    S, X, y = generated(seed, q=q, p=p, strength=0.3)
    r = 10.0**exponent
    model = fit(S, X, y, r, bound=bound)
    assert model.unfairness_ <= r
    eta = model.decision_function(X)
    S = S - S.mean(0)
    found = np.abs(S.T @ (eta - eta.mean())) / (len(y) - 1.0)
    if bound == "correlation" and eta.std() > 0.0:
        found = np.abs(S.T @ (eta - eta.mean())) / (len(y) * S.std(0) * eta.std())
    assert found.max() == pytest.approx(model.unfairness_, abs=1e-9)
    if model.status_ == "converged" and model.beta_.any():
        assert model.unfairness_ >= r - 1e-8
        unit = bound == "correlation"
        assert residual_of_optimality(model, S, X, y, unit=unit) < 1e-8


def test_weights_and_offsets():
    S, X, y = generated(3)
    rng = np.random.default_rng(4)
    weight, offset = rng.uniform(0.2, 3.0, len(y)), rng.normal(size=len(y))
    for bound, r in (("correlation", 0.05), ("covariance", 0.02)):
        model = fit(S, X, y, r, bound=bound, sample_weight=weight, offset=offset)
        unit = bound == "correlation"
        residual = residual_of_optimality(model, S, X, y, unit=unit, weight=weight, offset=offset)
        assert residual < 1e-8
        assert model.unfairness_ == pytest.approx(r, abs=1e-8)


@pytest.mark.parametrize(("bound", "r"), [("correlation", 1.0), ("covariance", np.inf)])
def test_no_bound_is_logistic_regression(bound, r):
    S, X, y = generated(5)
    model = fit(S, X, y, r, bound=bound)
    plain = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-12).fit(X, y)
    np.testing.assert_allclose(model.beta_, plain.coef_[0], rtol=1e-6)
    np.testing.assert_allclose(model.predict_proba(X), plain.predict_proba(X), rtol=1e-6)
    assert (model.status_, model.lambda_) == ("inactive", 0.0)


def test_zero_is_the_fit_without_covariance():
    S, X, y = generated(6)
    Z = X - X.mean(0)
    N = np.linalg.svd((S - S.mean(0)).T @ Z)[2][2:].T
    plain = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-12).fit(Z @ N, y)
    for bound in ("correlation", "covariance"):
        model = fit(S, X, y, 0.0, bound=bound)
        np.testing.assert_allclose(model.beta_, N @ plain.coef_[0], rtol=1e-6)
        assert model.unfairness_ < 1e-13
        near = fit(S, X, y, 1e-9, bound=bound)
        np.testing.assert_allclose(near.beta_, model.beta_, rtol=1e-5)
        assert near.lambda_ == pytest.approx(model.lambda_, rel=1e-5)


def test_zero_can_drop_predictors_as_fairml_does():
    S, X, y = generated(7)
    with pytest.warns(BoundWarning, match="only the intercept"):
        model = fit(S, X, y, 0.0, at_zero="drop")
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], y.mean(), rtol=1e-12)
    assert model.deviance_ > fit(S, X, y, 0.0).deviance_


def test_a_bound_that_only_the_intercept_meets():
    S, X, y = generated(8, p=2)
    with pytest.warns(BoundWarning, match="only the intercept"):
        model = fit(S, X, y, 1e-4)
    np.testing.assert_array_equal(model.coef_, 0.0)
    assert model.lambda_ > 0.0
    assert (model.status_, model.unfairness_) == ("converged", 0.0)


def test_the_price_is_the_derivative_of_the_deviance():
    S, X, y = generated(9)
    free = fit(S, X, y, np.inf, bound="covariance").unfairness_
    c, h = 0.3 * free, 1e-5 * free
    low, mid, high = (fit(S, X, y, c + k * h, bound="covariance") for k in (-1, 0, 1))
    assert mid.lambda_ == pytest.approx((low.deviance_ - high.deviance_) / (2 * h), rel=1e-5)


def test_a_path_costs_no_more_than_its_models_and_equals_them():
    S, X, y = generated(10)
    bounds = [0.0, 0.01, 0.05, 0.1, 0.3, 1.0]
    path = ZafarClassifier().path(X, y, sensitive_features=S, unfairness=bounds)
    singles = [fit(S, X, y, r) for r in bounds]
    for k, single in enumerate(singles):
        np.testing.assert_allclose(path.beta[k], single.beta_, rtol=1e-6, atol=1e-9)
        assert path.status[k] == single.status_
    assert path.at(1.0).n_iter_ <= sum(model.n_iter_ for model in singles)
    assert (np.diff(path.deviance) <= 1e-9 * path.deviance[0]).all()


class TestSeparation:
    @pytest.fixture
    def rare(self):
        """A level of eight rows, none of them positive, that goes with one sex."""
        rng = np.random.default_rng(11)
        n = 400
        sex = rng.choice(["f", "m"], n)
        level = np.where(np.arange(n) < 8, "rare", rng.choice(["a", "b"], n))
        skill = rng.normal(size=n) + 0.6 * (sex == "m")
        y = (rng.random(n) < expit(skill + (sex == "m") - 0.5)) & (level != "rare")
        return pd.DataFrame({"sex": sex, "level": level, "skill": skill}), y * 1

    def test_a_ridge_holds_the_coefficients_and_hardly_changes_the_deviance(self, rare):
        frame, y = rare
        with pytest.warns(DataWarning, match=r"'level\[rare\]' separate .* a ridge of 1e-06"):
            model = ZafarClassifier(1.0, sensitive="sex").fit(frame, y)
        others = frame["level"] != "rare"
        rest = ZafarClassifier(1.0, sensitive="sex").fit(frame[others], y[others])
        assert model.deviance_ == pytest.approx(rest.deviance_, rel=1e-6)
        assert model.converged_
        X = pd.get_dummies(frame[["level", "skill"]])[["level_b", "level_rare", "skill"]]
        X = X.to_numpy(float)
        Z = (X - X.mean(0)) / X.std(0)
        ridge = LogisticRegression(C=1e6 / len(y), solver="newton-cholesky", tol=1e-12).fit(Z, y)
        np.testing.assert_allclose(model.beta_ * X.std(0), ridge.coef_[0], rtol=1e-6)

    @pytest.mark.filterwarnings("ignore::fairridge.exceptions.DataWarning")
    @pytest.mark.filterwarnings("ignore:Solution may be inaccurate")  # the conic solver's
    @pytest.mark.parametrize("bound", ["correlation", "covariance"])
    @pytest.mark.parametrize("r", [0.0, 0.002, 0.02, 0.08])
    def test_bounds_hold_and_no_feasible_model_is_better(self, rare, bound, r):
        frame, y = rare
        model = ZafarClassifier(r, sensitive="sex", bound=bound).fit(frame, y)
        assert model.converged_
        assert model.unfairness_ <= max(r, 1e-12)
        S = (frame["sex"] == "m").to_numpy(float)[:, None]
        X = np.column_stack(
            [frame["level"] == "b", frame["level"] == "rare", frame["skill"]]
        ).astype(float)
        eta = model.decision_function(frame)
        reached = abs(np.cov(S[:, 0], eta)[0, 1])
        assert model.deviance_ <= conic(S, X, y, reached) * (1 + 1e-6)

    @pytest.mark.parametrize("r", [0.0, 0.05, 1.0])
    def test_complete_separation_is_said(self, r):
        rng = np.random.default_rng(12)
        S, X = rng.normal(size=(40, 1)), rng.normal(size=(40, 3))
        fair = X[:, 0] - S[:, 0] * (np.cov(S[:, 0], X[:, 0])[0, 1] / S.var(ddof=1))
        X = np.column_stack([fair, X[:, 1:]])
        y = (fair > 0) * 1
        with pytest.warns(DataWarning, match="'x0'.* separate the classes"):
            model = fit(S, X, y, r)
        assert model.deviance_ < 1e-2 * deviance(y, np.zeros(len(y)))
        assert model.score(X, y) == 1.0
        assert np.isfinite(model.coef_).all()
        assert model.unfairness_ <= max(r, 1e-12)
        assert model.converged_

    def test_too_few_passes_are_said(self):
        S, X, y = generated(13)
        with pytest.warns(ConvergenceWarning, match="raise max_iter"):
            model = fit(S, X, y, 0.05, max_iter=1)
        assert (model.status_, model.converged_) == ("not-converged", False)


def test_labels_of_any_kind():
    S, X, y = generated(14)
    words = np.where(y == 1, "yes", "no")
    model = fit(S, X, words, 0.1)
    np.testing.assert_array_equal(model.classes_, ["no", "yes"])
    assert set(model.predict(X)) <= {"no", "yes"}
    np.testing.assert_array_equal(model.coef_, fit(S, X, y, 0.1).coef_)
    scores = model.decision_function(X)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], expit(scores))
    np.testing.assert_array_equal(model.predict(X) == "yes", scores > 0)


def test_more_than_two_classes_are_refused():
    S, X, _ = generated(15)
    with pytest.raises(ValueError, match=r"Only binary .* FairRidgeClassifier takes more"):
        fit(S, X, np.arange(len(X)) % 3, 0.1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tol": 0.0}, "tol=0.0 must be a number greater than 0"),
        ({"max_iter": 0}, "max_iter=0 must be a whole number, at least 1"),
        ({"bound": None}, "bound=None is not known"),
        ({"unfairness": "much"}, "unfairness='much' is not a bound"),
    ],
)
def test_bad_parameters_are_named(options, message):
    S, X, y = generated(16)
    with pytest.raises(ValueError, match=message):
        ZafarClassifier(**options).fit(X, y, sensitive_features=S)


def test_collinear_attributes_and_predictors_change_nothing():
    S, X, y = generated(17)
    more_S = np.column_stack([S, S.sum(1), np.ones(len(y))])
    more_X = np.column_stack([X, X[:, 1], X[:, 0] - X[:, 2]])
    for r in (0.0, 0.05, 1.0):
        with pytest.warns(DataWarning):
            model = fit(np.column_stack([S, S[:, 0]]), more_X, y, r)
        plain = fit(S, X, y, r)
        np.testing.assert_allclose(
            model.decision_function(more_X), plain.decision_function(X), rtol=1e-6, atol=1e-8
        )
        with pytest.warns(DataWarning):
            assert fit(more_S, more_X, y, r).unfairness_ <= max(r, 1e-13)
