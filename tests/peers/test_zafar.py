"""Zafar et al.'s bounds for least squares and logistic regression: a conic solver, optimality."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression, LogisticRegression

from fairridge import FairRidgeRegressor, ZafarClassifier, ZafarRegressor, cross_validate
from fairridge.exceptions import BoundWarning, DataWarning
from tests.zoo import LateModule

cp = LateModule("cvxpy")

MODELS = {"numbers": ZafarRegressor, "classes": ZafarClassifier}
BOUNDS = ["correlation", "covariance"]
both_kinds = pytest.mark.parametrize("kind", MODELS)


def generated(seed, kind="numbers", n=None, q=2, p=4):
    rng = np.random.default_rng(seed)
    n = n or (200 if kind == "classes" else 80)
    S = rng.normal(size=(n, q)) @ rng.normal(size=(q, q)) * 10.0 ** rng.uniform(-1, 2, q) + 3.0
    if kind == "classes":
        X = rng.normal(size=(n, p)) + S / S.std(0) @ rng.normal(size=(q, p)) * 0.5
        eta = 0.4 * (X @ rng.normal(size=p) + S / S.std(0) @ rng.normal(size=q))
        return S, X, (rng.random(n) < expit(eta - np.median(eta))) * 1
    X = rng.normal(size=(n, p)) + S / S.std(0) @ rng.normal(size=(q, p))
    return S, X, X @ rng.normal(size=p) + S / S.std(0) @ rng.normal(size=q) + rng.normal(size=n)


def fit(S, X, y, r, kind="numbers", *, sample_weight=None, offset=None, **options):
    model = MODELS[kind](r, **options)
    return model.fit(X, y, sensitive_features=S, sample_weight=sample_weight, offset=offset)


def linear_predictor(model, X):
    return model.predict(X) if isinstance(model, ZafarRegressor) else model.decision_function(X)


def covariances(S, eta):
    return (S - S.mean(0)).T @ (eta - eta.mean()) / (len(S) - 1)


def correlations(S, eta):
    return np.array([np.corrcoef(s, eta)[0, 1] for s in S.T])


def unconstrained(kind, Z, y):
    if kind == "numbers":
        return LinearRegression().fit(Z, y)
    return LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-12).fit(Z, y)


def deviance(y, eta):
    return 2.0 * np.sum(np.logaddexp(0.0, eta) - y * eta)


def conic(kind, S, X, y, limit):
    """Return the deviance of a conic solver's point, moved inside the bounds."""
    Z, S = (X - X.mean(0)) / X.std(0), (S - S.mean(0)) / (len(S) - 1)
    level, b = cp.Variable(), cp.Variable(X.shape[1])
    eta, loss = level + Z @ b, lambda eta: np.sum((y - eta) ** 2)
    objective = cp.sum_squares(y - eta)
    if kind == "classes":
        objective = 2.0 * cp.sum(cp.logistic(eta) - cp.multiply(y, eta))
        loss = lambda eta: deviance(y, eta)  # noqa: E731
    C = S.T @ Z
    cp.Problem(cp.Minimize(objective), [cp.abs(C @ b) <= limit]).solve(solver=cp.CLARABEL)
    inside = min(1.0, limit / np.abs(C @ b.value).max())
    return loss(level.value + Z @ (inside * b.value))


def residual_of_optimality(model, S, X, y, *, weight=None, offset=None):
    """Violation of ∂D/∂b + Σνⱼ·∂COV(Sⱼ, Xb)/∂b = 0, per row, in standardized columns of X."""
    weight = np.ones(len(y)) if weight is None else weight
    total = weight.sum()
    Z = (X - np.average(X, axis=0, weights=weight)) / X.std(0)
    S = S - np.average(S, axis=0, weights=weight)
    of_unit = np.sqrt(weight @ S**2 / total) * total
    S = S / (of_unit if model.bound == "correlation" else total - 1.0) * weight[:, None]
    eta = linear_predictor(model, X)
    at = S.T @ (eta - eta.mean())
    active = np.abs(at) >= np.abs(at).max() * (1 - 1e-7)
    eta = eta if offset is None else eta + offset
    slope = weight * ((eta if isinstance(model, ZafarRegressor) else expit(eta)) - y)
    gradient, C = 2.0 * Z.T @ slope, (S.T @ Z)[active]
    multipliers = np.linalg.lstsq(C.T, -gradient, rcond=None)[0]
    assert (multipliers * np.sign(at[active]) >= -1e-6 * np.abs(multipliers).max()).all()
    assert model.lambda_ == pytest.approx(np.abs(multipliers).sum(), rel=1e-5)
    violation = max(np.abs(gradient + C.T @ multipliers).max(), 2.0 * abs(slope.sum()))
    return violation / total / (1.0 + y.std())


# --------------------------------------------------------------------- optimality


@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")  # the conic solver's
@both_kinds
@pytest.mark.parametrize("share", [0.02, 0.8])
@pytest.mark.parametrize("seed", range(2))
def test_covariances_equal_a_conic_solver(seed, share, kind):
    S, X, y = generated(seed, kind)
    limit = share * fit(S, X, y, np.inf, kind, bound="covariance").unfairness_
    model = fit(S, X, y, limit, kind, bound="covariance")
    assert model.deviance_ == pytest.approx(conic(kind, S, X, y, limit), rel=1e-7)
    assert residual_of_optimality(model, S, X, y) < 1e-8


@pytest.mark.slow
@settings(max_examples=100)
@given(
    st.sampled_from(list(MODELS)),
    st.sampled_from(BOUNDS),
    st.integers(0, 2**32 - 1),
    st.integers(1, 4),
    st.integers(1, 5),
    # At the covariance of the unconstrained model itself, rounding decides.
    st.one_of(st.floats(-5.0, -1e-6), st.floats(1e-6, 0.5)),
)
@pytest.mark.filterwarnings("ignore:only the intercept")
def test_bounds_are_met_never_exceeded_and_optimal(kind, bound, seed, q, p, exponent):
    S, X, y = generated(seed, kind, q=q, p=p)
    r = min(1.0, 10.0**exponent)
    if bound == "covariance":
        r = fit(S, X, y, np.inf, kind, bound=bound).unfairness_ * 10.0**exponent
    model = fit(S, X, y, r, kind, bound=bound)
    assert model.unfairness_ <= r
    if bound == "covariance" or r == 1.0:
        assert (model.status_ == "inactive") == (exponent > 0)
    if not model.beta_.any():
        return
    eta = linear_predictor(model, X)
    found = np.abs(correlations(S, eta) if bound == "correlation" else covariances(S, eta))
    assert found.max() == pytest.approx(model.unfairness_, rel=1e-6, abs=1e-9)
    np.testing.assert_allclose(
        list(model.unfairness_components_.values()), found, rtol=1e-6, atol=1e-9
    )
    if model.bound_active_:
        assert model.unfairness_ == pytest.approx(r, rel=1e-8, abs=1e-8)
        assert residual_of_optimality(model, S, X, y) < 1e-8
    else:
        assert model.lambda_ == 0.0


@pytest.mark.parametrize("r", [0.02, 0.4])
def test_a_correlation_is_the_covariance_at_which_it_is_reached(r):
    S, X, y = generated(5, q=3)
    S = S / S.std(0)

    def at(log):
        return fit(S, X, y, np.exp(log), bound="covariance")

    def value(log):
        return np.abs(correlations(S, at(log).predict(X))).max()

    free = np.abs(covariances(S, fit(S, X, y, 1.0).predict(X))).max()
    root = brentq(lambda log: value(log) - r, np.log(1e-6 * free), np.log(free), xtol=1e-13)
    np.testing.assert_allclose(fit(S, X, y, r).coef_, at(root).coef_, rtol=1e-8)


def test_weights_and_offsets_of_classes():
    S, X, y = generated(3, "classes")
    rng = np.random.default_rng(4)
    given = {"sample_weight": rng.uniform(0.2, 3.0, len(y)), "offset": rng.normal(size=len(y))}
    for bound, r in (("correlation", 0.05), ("covariance", 0.02)):
        model = fit(S, X, y, r, "classes", bound=bound, **given)
        assert residual_of_optimality(model, S, X, y, weight=given["sample_weight"],
                                      offset=given["offset"]) < 1e-8  # fmt: skip
        assert model.unfairness_ == pytest.approx(r, abs=1e-8)


# --------------------------------------------------------------------------- ends


@both_kinds
@pytest.mark.parametrize(("bound", "r"), [("correlation", 1.0), ("covariance", np.inf)])
def test_no_bound_is_the_model_without_the_attributes(kind, bound, r):
    S, X, y = generated(5, kind)
    model = fit(S, X, y, r, kind, bound=bound)
    plain = unconstrained(kind, X, y)
    np.testing.assert_allclose(model.beta_, np.ravel(plain.coef_), rtol=1e-6)
    np.testing.assert_allclose(model.intercept_, np.ravel(plain.intercept_)[0], rtol=1e-6)
    assert (model.status_, model.lambda_, model.bound_active_) == ("inactive", 0.0, False)


@both_kinds
@pytest.mark.parametrize("bound", BOUNDS)
def test_zero_is_the_model_without_covariance(kind, bound):
    S, X, y = generated(7, kind)
    Z = X - X.mean(0)
    N = np.linalg.svd((S - S.mean(0)).T @ Z)[2][2:].T
    b = N @ np.ravel(unconstrained(kind, Z @ N, y).coef_)
    model = fit(S, X, y, 0.0, kind, bound=bound)
    np.testing.assert_allclose(model.beta_, b, rtol=1e-6)
    assert model.unfairness_ < 1e-13
    near = fit(S, X, y, 1e-9, kind, bound=bound)
    np.testing.assert_allclose(near.beta_, model.beta_, rtol=1e-5)
    assert near.lambda_ == pytest.approx(model.lambda_, rel=1e-5)


@both_kinds
def test_zero_can_drop_predictors_as_fairml_does(kind):
    rng = np.random.default_rng(8)
    S, X, y = generated(8, kind)
    with pytest.warns(BoundWarning, match="only the intercept"):
        model = fit(S, X, y, 0.0, kind, at_zero="drop")
    np.testing.assert_array_equal(model.coef_, 0.0)
    assert model.lambda_ == np.inf
    assert fit(S, X, y, 0.0, kind).deviance_ < model.deviance_
    # A predictor without any covariance with S stays.
    basis = np.column_stack([np.ones(len(y)), S])
    clean = rng.normal(size=len(y))
    clean -= basis @ np.linalg.lstsq(basis, clean, rcond=None)[0]
    both = np.column_stack([X, clean])
    model = fit(S, both, y, 0.0, kind, at_zero="drop")
    np.testing.assert_array_equal(model.beta_[:-1], 0.0)
    alone = unconstrained(kind, clean[:, None], y)
    assert model.beta_[-1] == pytest.approx(np.ravel(alone.coef_)[0], rel=1e-6)
    # Other bounds are as ever.
    np.testing.assert_array_equal(
        fit(S, both, y, 0.1, kind, at_zero="drop").beta_, fit(S, both, y, 0.1, kind).beta_
    )


@both_kinds
def test_a_bound_that_only_the_intercept_meets(kind):
    S, _, y = generated(15, kind)
    with pytest.warns(BoundWarning, match="only the intercept meets unfairness=0.05"):
        model = fit(S, S @ [[1.0], [0.5]], y, 0.05, kind)
    np.testing.assert_array_equal(model.coef_, 0.0)
    assert (model.unfairness_, model.status_) == (0.0, "converged")
    assert model.lambda_ > 0.0


def test_the_intercept_is_said_to_be_the_best_of_this_family_only():
    rng = np.random.default_rng(8)
    S = rng.normal(size=(200, 2))
    X = rng.normal(size=(200, 2)) + S @ rng.normal(size=(2, 2))
    y = S @ rng.normal(size=2) + X @ rng.normal(size=2) + rng.normal(size=200)
    with pytest.warns(BoundWarning, match="among the models with limited covariances"):
        fit(S, X, y, 0.5)
    # A model outside the family has such correlations too, and a better fit.
    fitted = X @ [-0.4677, 1.7751]
    assert np.abs(correlations(S, fitted)).max() < 0.5
    assert np.corrcoef(fitted, y)[0, 1] ** 2 > 0.4


# --------------------------------------------------------------------- degenerate


@pytest.mark.filterwarnings("ignore::fairridge.exceptions.DataWarning")
@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize("r", [0.0, 0.05])
def test_all_levels_of_an_attribute_are_each_bounded(bound, r):
    rng = np.random.default_rng(11)
    codes = rng.integers(0, 3, 200)
    S = (codes[:, None] == np.arange(3)).astype(float)
    X = rng.normal(size=(200, 3)) + S @ rng.normal(size=(3, 3))
    y = X.sum(1) + S @ [0.0, 1.0, 2.0] + rng.normal(size=200)
    model = fit(S, X, y, r, bound=bound)
    eta = model.predict(X)
    found = covariances(S, eta) / (S.std(0) * eta.std() if bound == "correlation" else 1.0)
    assert np.abs(found).max() <= r * 200 / 199 + 1e-12
    assert model.unfairness_ <= max(r, 1e-14)
    if r:
        assert model.bound_active_
        assert residual_of_optimality(model, S, X, y) < 1e-8


def test_no_predictors_at_all():
    S, _, y = generated(16)
    model = ZafarRegressor(0.1, sensitive=[0, 1]).fit(S, y)
    np.testing.assert_allclose(model.predict(S), y.mean())
    assert model.status_ == "inactive"


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
    @pytest.mark.parametrize("bound", BOUNDS)
    @pytest.mark.parametrize("r", [0.0, 0.02])
    def test_bounds_hold_and_no_feasible_model_is_better(self, rare, bound, r):
        frame, y = rare
        model = ZafarClassifier(r, sensitive="sex", bound=bound).fit(frame, y)
        assert model.converged_
        assert model.unfairness_ <= max(r, 1e-12)
        S = (frame["sex"] == "m").to_numpy(float)[:, None]
        X = np.column_stack(
            [frame["level"] == "b", frame["level"] == "rare", frame["skill"]]
        ).astype(float)
        reached = np.abs(covariances(S, model.decision_function(frame)))[0]
        assert model.deviance_ <= conic("classes", S, X, y, reached) * (1 + 1e-6)

    @pytest.mark.parametrize("r", [0.0, 1.0])
    def test_complete_separation_is_said(self, r):
        rng = np.random.default_rng(12)
        S, X = rng.normal(size=(40, 1)), rng.normal(size=(40, 3))
        fair = X[:, 0] - S[:, 0] * (np.cov(S[:, 0], X[:, 0])[0, 1] / S.var(ddof=1))
        X = np.column_stack([fair, X[:, 1:]])
        y = (fair > 0) * 1
        with pytest.warns(DataWarning, match="'x0'.* separate the classes"):
            model = fit(S, X, y, r, "classes")
        assert model.deviance_ < 1e-2 * deviance(y, np.zeros(len(y)))
        assert model.score(X, y) == 1.0
        assert np.isfinite(model.coef_).all()
        assert model.unfairness_ <= max(r, 1e-12)
        assert model.converged_

    def test_too_few_passes_are_said(self):
        S, X, y = generated(13, "classes")
        with pytest.warns(ConvergenceWarning, match="raise max_iter"):
            model = fit(S, X, y, 0.05, "classes", max_iter=1)
        assert (model.status_, model.converged_) == ("not-converged", False)


# --------------------------------------------------------------------- parameters


def test_more_than_two_classes_are_refused():
    S, X, _ = generated(15)
    with pytest.raises(ValueError, match=r"Only binary .* FairRidgeClassifier takes more"):
        fit(S, X, np.arange(len(X)) % 3, 0.1, "classes")


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        ("numbers", {"bound": "variance"}, "bound='variance' is not known"),
        ("numbers", {"at_zero": "keep"}, "at_zero='keep' is not known"),
        ("numbers", {"unfairness": -0.1, "bound": "covariance"}, "from 0 .* on"),
        ("classes", {"tol": 0.0}, "tol=0.0 must be a number greater than 0"),
        ("classes", {"bound": None}, "bound=None is not known"),
    ],
)
def test_bad_parameters_are_named(kind, options, message):
    S, X, y = generated(19, kind)
    with pytest.raises(ValueError, match=message):
        MODELS[kind](**options).fit(X, y, sensitive_features=S)


def test_covariances_have_the_units_of_s_and_weights_that_count_rows():
    S, X, y = generated(20)
    model = fit(1e3 * S, X, y, 7.5, bound="covariance")
    assert model.unfairness_ == pytest.approx(7.5, rel=1e-9)
    weight = np.full(len(y), 1.0 / len(y))
    with pytest.raises(ValueError, match="sum to the number of rows"):
        fit(S, X, y, 0.1, bound="covariance", sample_weight=weight)


def test_bounds_on_covariances_are_cross_validated_as_they_are_fitted():
    """They are in the units of S and y, so that they may be larger than 1."""
    S, X, y = generated(4, n=120, q=1)
    model, folds = ZafarRegressor(bound="covariance"), [(np.arange(80), np.arange(80, 120))]
    bounds = [0.5, 5.0]
    frame = cross_validate(
        model, X, y, sensitive_features=S, unfairness=bounds, folds=folds
    ).to_frame()
    for r, loss, reached in zip(bounds, frame["loss"], frame["train_achieved"], strict=True):
        fitted = fit(S[:80], X[:80], y[:80], r, bound="covariance")
        error = y[80:] - fitted.predict(X[80:])
        assert loss == pytest.approx(np.sqrt(np.mean(error**2)), rel=1e-9)
        assert reached == pytest.approx(fitted.unfairness_, rel=1e-9)
    both = {"zafar": model, "ridge": FairRidgeRegressor()}
    with pytest.raises(ValueError, match=r"unfairness=5\.0 is not a bound: use numbers from 0"):
        cross_validate(both, X, y, sensitive_features=S, unfairness=[5.0])
