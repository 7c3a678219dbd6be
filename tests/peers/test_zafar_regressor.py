"""Zafar et al.'s bounds for least squares: a conic solver, optimality, both forms, edges."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.optimize import brentq

from fairridge import FairRidgeRegressor, ZafarRegressor, cross_validate
from fairridge.exceptions import BoundWarning, DataWarning
from tests.zoo import LateModule

cp = LateModule("cvxpy")


def generated(seed, n=80, q=2, p=4):
    rng = np.random.default_rng(seed)
    S = rng.normal(size=(n, q)) @ rng.normal(size=(q, q)) * 10.0 ** rng.uniform(-1, 2, q) + 3.0
    X = rng.normal(size=(n, p)) + S / S.std(0) @ rng.normal(size=(q, p))
    y = X @ rng.normal(size=p) + S / S.std(0) @ rng.normal(size=q) + rng.normal(size=n)
    return S, X, y


def fit(S, X, y, r, **options):
    weight = options.pop("sample_weight", None)
    model = ZafarRegressor(r, **options)
    return model.fit(X, y, sensitive_features=S, sample_weight=weight)


def covariances(S, eta, unit=False):
    """COV(Sⱼ, η) with divisor n − 1; or with S standardized, all divisors n."""
    S = S - S.mean(0)
    return S.T @ (eta - eta.mean()) / (len(S) * S.std(0) if unit else len(S) - 1)


def conic(S, X, y, limit, unit=False):
    """Return the fitted values that a conic solver finds."""
    S, X, y = S - S.mean(0), X - X.mean(0), y - y.mean()
    S = S / S.std(0) * len(S) ** -0.5 if unit else S / (len(S) - 1)
    Q = np.linalg.qr(X)[0]
    w = cp.Variable(Q.shape[1])
    C = S.T @ Q * (len(y) ** -0.5 if unit else 1.0)
    accuracy = {f"tol_{name}": 1e-12 for name in ("gap_abs", "gap_rel", "feas")}
    objective = cp.Minimize(cp.sum_squares(w - Q.T @ y))
    cp.Problem(objective, [cp.abs(C @ w) <= limit]).solve(solver=cp.CLARABEL, **accuracy)
    return Q @ w.value


def residual_of_optimality(model, S, X, y, unit):
    """Violation of ∂‖y − Xb‖²/∂b + 2Σνⱼ·∂COV(Sⱼ, Xb)/∂b = 0, in standardized columns of X."""
    S, Z = S - S.mean(0), (X - X.mean(0)) / X.std(0)
    S = S / S.std(0) / len(S) if unit else S / (len(S) - 1)
    eta = model.predict(X)
    at = S.T @ (eta - eta.mean())
    active = np.abs(at) >= np.abs(at).max() * (1 - 1e-7)
    gradient, C = 2.0 * Z.T @ (y - eta), (S.T @ Z)[active]
    multipliers = np.linalg.lstsq(C.T, gradient, rcond=None)[0]
    assert (multipliers * np.sign(at[active]) >= -1e-6 * np.abs(multipliers).max()).all()
    assert model.lambda_ == pytest.approx(np.abs(multipliers).sum(), rel=1e-6)
    return np.abs(gradient - C.T @ multipliers).max() / len(y)


problems = st.builds(
    generated,
    st.integers(0, 2**32 - 1),
    n=st.integers(15, 80),
    q=st.integers(1, 4),
    p=st.integers(1, 6),
)


# ------------------------------------------------------------------- covariance


@pytest.mark.parametrize("share", [0.001, 0.1, 0.5, 0.9])
@pytest.mark.parametrize("seed", range(3))
def test_covariances_equal_a_conic_solver(seed, share):
    S, X, y = generated(seed)
    free = np.abs(covariances(S, fit(S, X, y, 1.0).predict(X))).max()
    model = fit(S, X, y, share * free, bound="covariance")
    fitted = model.predict(X)
    np.testing.assert_allclose(
        fitted - fitted.mean(), conic(S, X, y, share * free), atol=1e-5 * y.std()
    )


# At the covariance of the unconstrained model itself, rounding decides.
exponents = st.one_of(st.floats(-8.0, -1e-6), st.floats(1e-6, 0.5))


@pytest.mark.slow
@given(problems, exponents)
@pytest.mark.filterwarnings("ignore:only the intercept")
def test_a_covariance_is_met_never_exceeded_and_optimal(problem, exponent):
    S, X, y = problem
    free = np.abs(covariances(S, fit(S, X, y, 1.0).predict(X))).max()
    r = free * 10.0**exponent
    model = fit(S, X, y, r, bound="covariance")
    assert model.unfairness_ <= r
    achieved = np.abs(covariances(S, model.predict(X))).max()
    assert achieved == pytest.approx(model.unfairness_, rel=1e-6, abs=1e-12 * free)
    if exponent > 0:
        assert (model.status_, model.lambda_) == ("inactive", 0.0)
    else:
        assert model.unfairness_ == pytest.approx(r, rel=1e-8)
    # Below, rounding of the covariances hides which of them are at the bound.
    if -6.0 < exponent < 0:
        assert residual_of_optimality(model, S, X, y, unit=False) < 1e-8 * (1.0 + y.std())


# ------------------------------------------------------------------ correlation


@pytest.mark.slow
@given(problems, st.floats(-6.0, 0.0))
@pytest.mark.filterwarnings("ignore:only the intercept")
def test_a_correlation_is_met_never_exceeded_and_optimal(problem, exponent):
    S, X, y = problem
    r = 10.0**exponent
    model = fit(S, X, y, r)
    assert model.unfairness_ <= r
    assert model.unfairness_ >= r - 1e-8 or not (model.bound_active_ and model.beta_.any())
    if not model.beta_.any():
        return
    eta = model.predict(X)
    found = [abs(np.corrcoef(s, eta)[0, 1]) for s in S.T]
    assert max(found) == pytest.approx(model.unfairness_, abs=1e-9)
    np.testing.assert_allclose(list(model.unfairness_components_.values()), found, atol=1e-9)
    if model.bound_active_:
        assert residual_of_optimality(model, S, X, y, unit=True) < 1e-8 * (1.0 + y.std())


@pytest.mark.parametrize("r", [0.02, 0.1, 0.4])
def test_a_correlation_is_the_covariance_at_which_it_is_reached(r):
    S, X, y = generated(5, q=3)
    unit = S.std(0)

    def value(log):
        return max(
            abs(
                np.corrcoef(s, fit(S / unit, X, y, np.exp(log), bound="covariance").predict(X))[
                    0, 1
                ]
            )
            for s in S.T
        )

    free = np.abs(covariances(S / unit, fit(S, X, y, 1.0).predict(X))).max()
    root = brentq(lambda log: value(log) - r, np.log(1e-6 * free), np.log(free), xtol=1e-13)
    by_covariance = fit(S / unit, X, y, np.exp(root), bound="covariance")
    model = fit(S, X, y, r)
    np.testing.assert_allclose(model.coef_, by_covariance.coef_, rtol=1e-8)


def test_units_do_not_matter_to_correlations():
    S, X, y = generated(6)
    model = fit(S, X, y, 0.1)
    other = fit(S * [1e3, -1e-3] + 7.0, X * [2.0, 1.0, 1e-3, 1e3] - 1.0, 5.0 * y, 0.1)
    np.testing.assert_allclose(
        5.0 * model.predict(X), other.predict(X * [2.0, 1.0, 1e-3, 1e3] - 1.0), rtol=1e-9, atol=1e-9
    )
    assert other.unfairness_ == pytest.approx(model.unfairness_, rel=1e-9)


# ------------------------------------------------------------------------- ends


@pytest.mark.parametrize("bound", ["correlation", "covariance"])
def test_zero_is_the_projection(bound):
    S, X, y = generated(7)
    model = fit(S, X, y, 0.0, bound=bound)
    Sc, Xc, yc = S - S.mean(0), X - X.mean(0), y - y.mean()
    C = Sc.T @ Xc
    N = np.linalg.svd(C)[2][2:].T
    b = N @ np.linalg.lstsq(Xc @ N, yc, rcond=None)[0]
    np.testing.assert_allclose(model.beta_, b, rtol=1e-9, atol=1e-12)
    assert model.unfairness_ < 1e-14
    near = fit(S, X, y, 1e-10, bound=bound)
    np.testing.assert_allclose(near.beta_, b, rtol=1e-6)
    assert near.lambda_ == pytest.approx(model.lambda_, rel=1e-6)


def test_zero_can_drop_predictors_as_fairml_does():
    rng = np.random.default_rng(8)
    S, X, y = generated(8)
    with pytest.warns(BoundWarning, match="only the intercept"):
        model = fit(S, X, y, 0.0, at_zero="drop")
    np.testing.assert_array_equal(model.coef_, 0.0)
    assert (model.lambda_, model.intercept_) == (np.inf, pytest.approx(y.mean()))
    assert fit(S, X, y, 0.0).deviance_ < model.deviance_
    # A predictor without any covariance with S stays.
    basis = np.column_stack([np.ones(len(y)), S])
    clean = rng.normal(size=len(y))
    clean -= basis @ np.linalg.lstsq(basis, clean, rcond=None)[0]
    both = np.column_stack([X, clean])
    model = fit(S, both, y, 0.0, at_zero="drop")
    np.testing.assert_array_equal(model.beta_[:-1], 0.0)
    assert model.beta_[-1] == pytest.approx(clean @ (y - y.mean()) / (clean @ clean), rel=1e-9)
    # Other bounds are as ever.
    np.testing.assert_array_equal(
        fit(S, both, y, 0.1, at_zero="drop").beta_, fit(S, both, y, 0.1).beta_
    )


@pytest.mark.parametrize(("bound", "r"), [("correlation", 1.0), ("covariance", np.inf)])
def test_no_bound_is_least_squares_without_the_attributes(bound, r):
    S, X, y = generated(9)
    model = fit(S, X, y, r, bound=bound)
    expected = np.linalg.lstsq(np.column_stack([np.ones(len(y)), X]), y, rcond=None)[0]
    np.testing.assert_allclose([model.intercept_, *model.beta_], expected, rtol=1e-9)
    assert (model.status_, model.lambda_, model.bound_active_) == ("inactive", 0.0, False)


def test_the_price_is_the_derivative_of_the_deviance():
    S, X, y = generated(10)
    free = np.abs(covariances(S, fit(S, X, y, 1.0).predict(X))).max()
    c, h = 0.3 * free, 1e-5 * free
    low, mid, high = (fit(S, X, y, c + k * h, bound="covariance") for k in (-1, 0, 1))
    assert mid.lambda_ == pytest.approx((low.deviance_ - high.deviance_) / (2 * h), rel=1e-6)


# ------------------------------------------------------------------- degenerate


@pytest.mark.filterwarnings("ignore::fairridge.exceptions.DataWarning")
@pytest.mark.parametrize("bound", ["correlation", "covariance"])
@pytest.mark.parametrize("r", [0.0, 0.05, 0.3])
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
    if 0.0 < r < 0.1:
        assert model.bound_active_
        unit = bound == "correlation"
        assert residual_of_optimality(model, S, X, y, unit=unit) < 1e-8


@pytest.mark.parametrize("r", [0.0, 0.05, 1.0])
def test_constant_and_repeated_attributes_change_nothing(r):
    S, X, y = generated(12)
    more = np.column_stack([S, np.full(len(y), 1e5), S[:, 0], -2.0 * S[:, 1]])
    with pytest.warns(DataWarning, match="sensitive column"):
        model = fit(more, X, y, r)
    np.testing.assert_allclose(model.predict(X), fit(S, X, y, r).predict(X), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("r", [0.0, 0.05, 1.0])
def test_collinear_predictors_have_the_minimum_norm(r):
    S, X, y = generated(13)
    more = np.column_stack([X, X[:, 0], np.full(len(y), 5.0)])
    with pytest.warns(DataWarning, match=r"predictor column\(s\) 'x4', 'x5' are constant or"):
        model = fit(S, more, y, r)
    plain = fit(S, X, y, r)
    np.testing.assert_allclose(model.predict(more), plain.predict(X), rtol=1e-8, atol=1e-8)
    assert model.beta_[0] == pytest.approx(model.beta_[4], rel=1e-8)
    assert model.beta_[5] == 0.0


def test_predictors_in_the_span_of_the_attributes_are_no_defect():
    S, X, y = generated(14)
    more = np.column_stack([X, S[:, 0] - S[:, 1]])
    model = fit(S, more, y, 1.0)
    expected = np.linalg.lstsq(np.column_stack([np.ones(len(y)), more]), y, rcond=None)[0]
    np.testing.assert_allclose(model.beta_, expected[1:], rtol=1e-8)
    assert fit(S, more, y, 0.1).unfairness_ == pytest.approx(0.1, abs=1e-8)


def test_only_attributes_as_predictors():
    S, _, y = generated(15)
    with pytest.warns(BoundWarning, match="only the intercept meets unfairness=0.05"):
        model = fit(S, S @ [[1.0], [0.5]], y, 0.05)
    np.testing.assert_array_equal(model.coef_, 0.0)
    assert (model.unfairness_, model.status_) == (0.0, "converged")
    assert model.score(S @ [[1.0], [0.5]], y) == pytest.approx(0.0, abs=1e-12)


def test_no_predictors_at_all():
    S, _, y = generated(16)
    model = ZafarRegressor(0.1, sensitive=[0, 1]).fit(S, y)
    np.testing.assert_allclose(model.predict(S), y.mean())
    assert model.status_ == "inactive"


@pytest.mark.filterwarnings("ignore::fairridge.exceptions.DataWarning")
@pytest.mark.parametrize("bound", ["correlation", "covariance"])
def test_more_columns_than_rows(bound):
    rng = np.random.default_rng(17)
    S, X, y = rng.normal(size=(12, 2)), rng.normal(size=(12, 30)), rng.normal(size=12)
    for r in (0.0, 0.05, 1.0):
        model = fit(S, X, y, r, bound=bound)
        assert np.isfinite(model.coef_).all()
        assert np.isfinite(model.deviance_)
        assert model.unfairness_ <= max(r, 1e-12)
    free = fit(S, X, y, 1.0)
    expected = np.linalg.pinv((X - X.mean(0)) / X.std(0)) @ (y - y.mean()) / X.std(0)
    np.testing.assert_allclose(free.beta_, expected, rtol=1e-7)


@pytest.mark.filterwarnings("ignore::fairridge.exceptions.DataWarning")
def test_a_constant_response():
    S, X, _ = generated(18)
    model = fit(S, X, np.full(len(S), 2.0), 0.05)
    np.testing.assert_allclose(model.predict(X), 2.0)
    assert model.unfairness_ == 0.0


# Of these seeds the sensitive columns are almost collinear too.
@pytest.mark.slow
@example(6772, 0.0)
@example(6772, 1e-3)
@example(996, 0.0)
@given(st.integers(0, 2**32 - 1), st.floats(0.0, 1.0))
def test_almost_collinear_predictors(seed, r):
    S, X, y = generated(seed)
    X = np.column_stack([X, X[:, 0] + 1e-5 * np.random.default_rng(seed).normal(size=len(y))])
    model = fit(S, X, y, r)
    # Large coefficients cancel, so that rounding counts as often as the columns are alike.
    rounding = 1e-15 * np.linalg.cond((X - X.mean(0)) / X.std(0))
    assert model.unfairness_ <= max(r, rounding) < r + 1e-8
    eta = model.predict(X)
    correlation = np.abs(covariances(S, eta, unit=True)).max() / eta.std()
    assert model.unfairness_ == pytest.approx(correlation, rel=0.0, abs=rounding)
    assert np.isfinite(model.coef_).all()


# ------------------------------------------------------------------- parameters


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bound": "variance"}, "bound='variance' is not known"),
        ({"at_zero": "keep"}, "at_zero='keep' is not known"),
        ({"unfairness": 1.5}, "to 1 "),
        ({"unfairness": -0.1, "bound": "covariance"}, "from 0 .* on"),
        ({"unknown": "skip"}, "unknown='skip' is not known"),
    ],
)
def test_bad_parameters_are_named(options, message):
    S, X, y = generated(19)
    with pytest.raises(ValueError, match=message):
        ZafarRegressor(**options).fit(X, y, sensitive_features=S)


def test_covariances_may_exceed_one():
    S, X, y = generated(20)
    model = fit(1e3 * S, X, y, 7.5, bound="covariance")
    assert model.unfairness_ == pytest.approx(7.5, rel=1e-9)


def test_weights_that_sum_to_one_have_no_covariance():
    S, X, y = generated(21)
    weight = np.full(len(y), 1.0 / len(y))
    with pytest.raises(ValueError, match="sum to the number of rows"):
        fit(S, X, y, 0.1, bound="covariance", sample_weight=weight)
    np.testing.assert_allclose(
        fit(S, X, y, 0.1, sample_weight=weight).beta_, fit(S, X, y, 0.1).beta_, rtol=1e-9
    )


def test_the_intercept_is_said_to_be_the_best_of_this_family_only():
    rng = np.random.default_rng(8)
    S = rng.normal(size=(200, 2))
    X = rng.normal(size=(200, 2)) + S @ rng.normal(size=(2, 2))
    y = S @ rng.normal(size=2) + X @ rng.normal(size=2) + rng.normal(size=200)
    with pytest.warns(BoundWarning, match="among the models with limited covariances"):
        ZafarRegressor(0.5).fit(X, y, sensitive_features=S)
    # A model outside the family has such correlations too, and a better fit.
    fitted = X @ [-0.4677, 1.7751]
    assert max(abs(np.corrcoef(fitted, column)[0, 1]) for column in S.T) < 0.5
    assert np.corrcoef(fitted, y)[0, 1] ** 2 > 0.4


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
