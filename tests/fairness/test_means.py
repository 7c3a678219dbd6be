"""Mean parity and mean opportunity: what they bound, and that it is the best model under it."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.special import expit, log_softmax

from fairridge import FairRidgeClassifier, FairRidgeSurvival
from fairridge.datasets import load_adult
from fairridge.fairness import MeanOdds, MeanOpportunity
from tests import zoo

N = 400
SENSITIVE = [0, 1]


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(12)
    S = np.column_stack([rng.random(N) < 0.4, rng.normal(size=N)]).astype(float)
    X = S @ rng.normal(size=(2, 3)) * 0.5 + rng.normal(size=(N, 3))
    eta = 0.6 * (S @ [1.0, 0.7] + X @ [0.8, -0.5, 0.3]) - 0.2
    return np.column_stack([S, X]), eta, 0.3 * rng.normal(size=N)


def responses(eta, offset):
    return zoo.responses(eta + offset, 13, slope=1.0, labels=(0, 1))


def model(family, r, definition="mean-parity", **options):
    return zoo.model_of(family, r, sensitive=SENSITIVE, definition=definition, **options)


def predicted(fitted, Z, offset=None):
    if hasattr(fitted, "predict_proba"):
        return fitted.predict_proba(Z, offset=offset)
    return fitted.predict(Z, offset=offset)[:, None]


def r_squared(mu, S, weight=None, share=1.0):
    """What is explained of the columns of μ, and their variance: plain least squares."""
    weight = np.ones(len(S)) if weight is None else weight
    centered = mu - np.average(mu, axis=0, weights=weight)
    total = share * (weight @ centered**2).sum()
    return total * zoo.r_squared(mu, S, weight), total


FAMILIES = [
    "binomial", "multinomial", "poisson", "quasi-poisson", "gamma", "tweedie",
    "negative-binomial", "quasi-binomial", "gaussian",
]  # fmt: skip
# Means of these are rates, if there is an offset.
LOG = {"poisson", "quasi-poisson", "gamma", "tweedie", "negative-binomial"}


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("r", [0.1, 0.0])
def test_unfairness_is_the_users_own_r_squared(rows, family, r):
    Z, eta, offset = rows
    # A gaussian model is one of y − offset; of classes an offset cancels.
    offset = None if family in ("gaussian", "multinomial") else offset
    y = responses(eta, 0.0 if offset is None else offset)[family]
    weight = np.random.default_rng(2).integers(1, 4, N).astype(float)
    fitted = model(family, r).fit(Z, y, sample_weight=weight, offset=offset)
    mu = predicted(fitted, Z, offset)
    exposure = np.exp(offset) if family in LOG else np.ones(N)
    explained, total = r_squared(mu / exposure[:, None], Z[:, :2], weight * exposure)
    assert fitted.status_ == "converged"
    assert abs(explained / total - fitted.unfairness_) <= 1e-9
    assert abs(fitted.unfairness_ - r) <= 1e-10
    observed = np.eye(mu.shape[1])[y] if mu.shape[1] > 1 else y[:, None]
    np.testing.assert_allclose(weight @ mu, weight @ observed, rtol=1e-10)


def test_mean_opportunity_is_r_squared_among_the_positive(rows):
    Z, eta, _ = rows
    y = np.where(responses(eta, 0.0)["binomial"], "yes", "no")
    for positive, label in ((None, "yes"), ("yes", "yes"), ("no", "no")):
        fitted = model("binomial", 0.03, MeanOpportunity(positive)).fit(Z, y)
        mu = fitted.predict_proba(Z)[:, 1:]
        explained, total = r_squared(mu[y == label], Z[y == label, :2])
        assert abs(explained / total - 0.03) <= 1e-10
        assert abs(fitted.unfairness_ - 0.03) <= 1e-10


def test_mean_opportunity_may_be_that_of_one_of_several_classes(rows):
    Z, eta, _ = rows
    y = responses(eta, 0.0)["multinomial"]
    fitted = model("multinomial", 0.01, MeanOpportunity(2)).fit(Z, y)
    explained, total = r_squared(fitted.predict_proba(Z)[y == 2, 2:3], Z[y == 2, :2])
    assert abs(explained / total - 0.01) <= 1e-10


@pytest.mark.filterwarnings("ignore::fairridge.exceptions.DataWarning")
@pytest.mark.parametrize("seed", range(2))
def test_means_of_one_row_do_not_vary(seed):
    rng = np.random.default_rng(seed)
    S, y = rng.normal(size=(5, 3)), np.arange(5) == 2
    weight = rng.uniform(0.5, 2.0, 5)
    fitted = FairRidgeClassifier(0.1, definition="mean-opportunity", separation="warn")
    fitted.fit(rng.normal(size=(5, 1)), y, sensitive_features=S, sample_weight=weight)
    assert (fitted.unfairness_, fitted.lambda_, fitted.status_) == (0.0, 0.0, "inactive")
    assert fitted.deviance_ <= 0.01  # of separated rows


def two_of_a_class():
    """Return X, y and S: two rows of class 1, which differ in S and are not the last in it."""
    X, y = np.random.default_rng(2).normal(size=(12, 2)), np.zeros(12, dtype=bool)
    y[[4, 7]] = True
    return X, y, np.linspace(-1.0, 1.0, 12)[:, None]


@pytest.mark.filterwarnings("ignore:.*room to spare:fairridge.exceptions.BoundWarning")
@pytest.mark.parametrize("r", [0.3, 0.0])
def test_S_explains_all_of_two_rows_or_nothing(r):
    """Shares of means of two rows are 1, until they are alike."""
    X, y, S = two_of_a_class()
    fitted = FairRidgeClassifier(r, definition="mean-opportunity", predictor_penalty=1.0)
    fitted.fit(X, y, sensitive_features=S)
    assert fitted.status_ == ("jumped" if r else "converged")
    assert fitted.unfairness_ == 0.0
    mu = fitted.predict_proba(X, sensitive_features=S)[:, 1]
    np.testing.assert_allclose(mu[y], mu[y].mean(), rtol=1e-6)
    fair = FairRidgeClassifier(0.0, definition="mean-opportunity", predictor_penalty=1.0)
    fair.fit(X, y, sensitive_features=S)
    np.testing.assert_allclose(fitted.coef_, fair.coef_, rtol=1e-5)
    assert fitted.deviance_ < -2.0 * np.sum(np.log(np.where(y, y.mean(), 1.0 - y.mean())))


def test_gaussian_models_have_the_radial_penalty(rows):
    Z, eta, _ = rows
    y = responses(eta, 0.0)["gaussian"]
    bounds = [0.0, 1e-5, 0.03, 0.4, 1.0]
    ours = model("gaussian", 0.0).path(Z, y, unfairness=bounds)
    theirs = model("gaussian", 0.0, "statistical-parity", penalty="radial").path(
        Z, y, unfairness=bounds
    )
    np.testing.assert_array_equal(ours.alpha, theirs.alpha)
    np.testing.assert_array_equal(ours.lambda_, theirs.lambda_)


# ------------------------------------------------------------------- the best model


@pytest.mark.parametrize("r", [0.1, 0.02, 0.0])
def test_no_model_with_as_little_explained_is_better(rows, r):
    Z, eta, _ = rows
    y = responses(eta, 0.0)["binomial"]
    fitted, A = model("binomial", r).fit(Z, y), np.column_stack([np.ones(N), Z])
    Q = np.linalg.qr(A[:, :3])[0][:, 1:]
    theta = np.append(fitted.intercept_, fitted.coef_)
    ours, best = zoo.least_deviance("binomial", A, y, Q, theta, r)
    assert fitted.deviance_ == pytest.approx(ours, rel=1e-9)
    assert abs(ours - best) <= 1e-6


def test_predictor_penalty_is_part_of_the_objective(rows):
    Z, eta, _ = rows
    y = responses(eta, 0.0)["poisson"]
    fitted = model("poisson", 0.02, predictor_penalty=30.0).fit(Z, y)
    S, X = Z[:, :2] - Z[:, :2].mean(axis=0), Z[:, 2:] - Z[:, 2:].mean(axis=0)
    U = X - S @ np.linalg.lstsq(S, X, rcond=None)[0]
    root = np.linalg.inv(np.linalg.cholesky(S.T @ S / N))

    def objective(t):
        eta = t[0] + S @ t[1:3] + U @ t[3:]
        deviance = 2 * np.sum(np.exp(eta) - y * eta)
        a = root @ S.T @ np.exp(eta) / N
        return deviance + fitted.lambda_ * N * a @ a + 30.0 * np.sum((U.std(axis=0) * t[3:]) ** 2)

    def balanced(t):
        """The level follows from the other coefficients."""
        return np.r_[np.log(y.sum() / np.exp(S @ t[:2] + U @ t[2:]).sum()), t]

    level = fitted.fair_intercept_ + Z[:, :2].mean(axis=0) @ fitted.alpha_
    theta = np.r_[level, fitted.alpha_, fitted.beta_]
    np.testing.assert_allclose(balanced(theta[1:]), theta, rtol=1e-9)
    found = minimize(lambda t: objective(balanced(t)), theta[1:], method="BFGS", tol=1e-8)
    assert objective(theta) <= found.fun + 1e-7
    np.testing.assert_allclose(found.x, theta[1:], atol=1e-5)


# --------------------------------------------------------------------- totals and rates


def excess(fitted, Z, y, weight=None, offset=None):
    """Totals of predictions over those of the response, less one."""
    mu = predicted(fitted, Z, offset)
    weight = np.ones(len(y)) if weight is None else weight
    observed = np.eye(mu.shape[1])[y] if mu.shape[1] > 1 else y[:, None]
    return np.abs(weight @ mu / (weight @ observed) - 1.0).max()


WHATEVER = [
    {"blind": True},
    {"predictor_penalty": 20.0},
    {"predictor_penalty": 20.0, "blind": True},
    {"controls": [4]},
]


@pytest.mark.parametrize(
    ("family", "options"),
    [
        *product(["poisson", "binomial"], WHATEVER),
        ("binomial", {"link": "cloglog", "blind": True}),
        ("multinomial", {"definition": "mean-opportunity"}),
        ("multinomial", {"definition": "mean-odds"}),
    ],
    ids=str,
)
def test_totals_hold_whatever_the_model(rows, family, options):
    Z, eta, offset = rows
    offset = None if family == "multinomial" else offset  # of classes it cancels
    y = responses(eta, 0.0 if offset is None else offset)[family]
    weight = np.random.default_rng(2).random(N)
    for r in (1.0, 0.01, 0.0):
        fitted = model(family, r, **options).fit(Z, y, sample_weight=weight, offset=offset)
        assert excess(fitted, Z, y, weight, offset) <= 1e-10
        assert fitted.status_ in ("converged", "inactive")
        assert fitted.unfairness_ <= r + 1e-10


def test_weights_of_classes_count_in_totals(rows):
    Z, eta, _ = rows
    y = (eta > 0.5).astype(int) ^ (np.random.default_rng(1).random(N) < 0.2)
    fitted = model("binomial", 0.02, class_weight="balanced").fit(Z, y)
    weight = (N / (2.0 * np.bincount(y)))[y]
    mu = fitted.predict_proba(Z)[:, 1]
    assert weight @ mu == pytest.approx(weight @ y, rel=1e-10)
    assert mu.sum() > y.sum()  # those of rare classes are more than there are


def test_odds_add_what_is_explained_among_all_classes(rows):
    Z, eta, _ = rows
    for family in ("binomial", "multinomial"):
        y = responses(eta, 0.0)[family]
        fitted = model(family, 0.03, MeanOdds()).fit(Z, y)
        mu = fitted.predict_proba(Z)
        parts = [r_squared(mu[y == c], Z[y == c, :2]) for c in np.unique(y)]
        explained, total = np.sum(parts, axis=0)
        assert abs(explained / total - 0.03) <= 1e-10
        assert abs(fitted.unfairness_ - 0.03) <= 1e-10


# ---------------------------------------------------------------------- properties


def test_separated_responses():
    """A level without events: the others' probabilities meet the bound."""
    rng = np.random.default_rng(4)
    S, level = rng.normal(size=300), rng.random(300) < 0.05
    x = rng.normal(size=300) + 0.5 * S
    y = ((rng.random(300) < expit(S + x)) & ~level).astype(int)
    data = pd.DataFrame({"s": S, "x": x, "level": level.astype(float)})
    for r in (0.05, 0.0):
        with pytest.warns(UserWarning, match="separate the responses") as caught:
            fitted = FairRidgeClassifier(r, sensitive="s", definition="mean-parity").fit(data, y)
        explained, total = r_squared(fitted.predict_proba(data)[:, 1:], S[:, None])
        assert explained / total <= r + 1e-10
        assert fitted.status_ == "converged"
        assert not any("without violating the bound" in str(warning.message) for warning in caught)


def test_all_responses_separated():
    """Without a finite free model, models under penalties are where to start."""
    rng = np.random.default_rng(5)
    S, x = rng.normal(size=80), rng.normal(size=80)
    y = (x + 0.5 * S > 0).astype(int)
    data = np.column_stack([S, x + 0.3 * S])
    fitted = FairRidgeClassifier(0.01, sensitive=[0], definition="mean-parity").fit(data, y)
    explained, total = r_squared(fitted.predict_proba(data)[:, 1:], S[:, None])
    assert abs(explained / total - 0.01) <= 1e-9


def test_without_predictors_only_the_constant_is_fair():
    rng = np.random.default_rng(6)
    S = rng.integers(0, 2, (100, 1)).astype(float)
    y = (rng.random(100) < 0.3 + 0.4 * S[:, 0]).astype(int)
    X = np.ones((100, 1))
    with pytest.warns(UserWarning, match="constant"):
        fitted = FairRidgeClassifier(0.1, definition="mean-parity").fit(X, y, sensitive_features=S)
    mu = fitted.predict_proba(X, sensitive_features=S)[:, 1]
    np.testing.assert_allclose(mu, y.mean(), atol=1e-9)
    assert fitted.unfairness_ == 0.0
    assert fitted.status_ == "converged"


@pytest.mark.filterwarnings("ignore::fairridge.exceptions.DataWarning")
@pytest.mark.parametrize("seed", [1, 2])
def test_classes_of_few_rows_leave_some_of_S_free(seed):
    """S has one direction in a class of two rows, and none in a class of one."""
    rng = np.random.default_rng(seed)
    S, y = rng.normal(size=(8, 2)), np.array([0, 0, 0, 0, 0, 1, 1, 2])
    fitted = FairRidgeClassifier(0.0, definition="mean-opportunity", separation="warn")
    fitted.fit(np.ones((8, 1)), y, sensitive_features=S)
    A = np.column_stack([np.ones(8), S])

    def log_means(t):
        return log_softmax(A @ t.reshape(3, 3).T, axis=1)

    def excess(t):
        mu = np.exp(log_means(t))
        inner = [
            (S[y == k] - S[y == k].mean(axis=0))[:, :directions].T @ mu[y == k, k]
            for k, directions in ((0, 2), (1, 1))
        ]
        return np.concatenate([mu.sum(axis=0)[:2] - [5, 2], *inner])

    found = [
        minimize(
            lambda t: -2.0 * log_means(t)[np.arange(8), y].sum(),
            0.3 * rng.normal(size=9),
            method="SLSQP",
            constraints={"type": "eq", "fun": excess},
            options={"maxiter": 500, "ftol": 1e-13},
        )
        for _ in range(5)
    ]
    best = min(one.fun for one in found if one.success)
    assert fitted.status_ == "converged"
    assert fitted.unfairness_ == pytest.approx(0.0, abs=1e-12)
    assert fitted.deviance_ <= best + 1e-3  # what a ridge costs


# -------------------------------------------------------------------------- refusals


def test_refusals(rows):
    Z, eta, _ = rows
    y = responses(eta, 0.0)["binomial"]
    times = np.column_stack([np.exp(-eta), y])
    survival = FairRidgeSurvival(sensitive=SENSITIVE, definition="mean-parity")
    with pytest.raises(ValueError, match="a cox model predicts no means"):
        survival.fit(Z, times)
    with pytest.raises(ValueError, match="works with penalty='ridge' only"):
        model("binomial", 0.1, penalty="radial").fit(Z, y)
    with pytest.raises(ValueError, match="rows of one class"):
        model("poisson", 0.1, "mean-opportunity").fit(Z, y)
    with pytest.raises(ValueError, match="definition='mean-odds' is about rows of one class"):
        model("poisson", 0.1, "mean-odds").fit(Z, y)
    with pytest.raises(ValueError, match="positive='maybe' is not a class of y: these are 0, 1"):
        model("binomial", 0.1, MeanOpportunity("maybe")).fit(Z, y)


# -------------------------------------------------------------------------- real data


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::fairridge.exceptions.DataWarning")
def test_adult():
    """What parity of means costs; a ridge on α has .3678 and .3973 at the same R² of means."""
    data = load_adult()
    path = FairRidgeClassifier(sensitive=["sex", "age", "race"], definition="mean-parity").path(
        data.X, data.y, unfairness=[0.05, 0.01, 0.0]
    )
    loss = path.deviance / (2 * len(data.y))
    assert (loss <= [0.361, 0.3890, 0.4130]).all()
    np.testing.assert_allclose(path.achieved, [0.05, 0.01, 0.0], atol=1e-10)
