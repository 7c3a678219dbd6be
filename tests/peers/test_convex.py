"""Generalized linear models with a convex penalty between groups within outcomes."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.linear_model import LinearRegression

from fairridge import ConvexFairClassifier, ConvexFairRegressor, cross_validate
from fairridge.exceptions import DataWarning
from fairridge.peers.convex.definition import outcome_bins, pair_form


def by_pairs(X, groups, outcomes, weight):
    """M from the definition: every pair of rows, one by one."""
    means = []
    for outcome in np.unique(outcomes):
        present = np.unique(groups[outcomes == outcome])
        for a, b in combinations(present, 2):
            first = np.flatnonzero((outcomes == outcome) & (groups == a))
            second = np.flatnonzero((outcomes == outcome) & (groups == b))
            total, size = np.zeros((X.shape[1], X.shape[1])), 0.0
            for i in first:
                for j in second:
                    gap = X[i] - X[j]
                    total += weight[i] * weight[j] * np.outer(gap, gap)
                    size += weight[i] * weight[j]
            means.append(total / size)
    return np.mean(means, axis=0) if means else np.zeros((X.shape[1], X.shape[1]))


@pytest.fixture(scope="module")
def workers():
    rng = np.random.default_rng(3)
    n = 240
    sex, race = rng.choice(["f", "m"], n), rng.choice(["a", "b", "c"], n)
    skill = rng.normal(size=n) + 0.8 * (sex == "m")
    tenure = 3.0 * rng.normal(size=n) + (race == "c") + 10.0
    y = 2 * skill + tenure + 1.5 * (sex == "m") + 2.0 * rng.normal(size=n)
    return pd.DataFrame({"sex": sex, "race": race, "skill": skill, "tenure": tenure}), y


SENSITIVE = ["sex", "race"]
PREDICTORS = ["skill", "tenure"]


def groups_of(frame):
    return np.unique(frame["sex"] + frame["race"], return_inverse=True)[1]


def labels_of(y, classes):
    return np.digitize(y, np.quantile(y, np.arange(1, classes) / classes))


# ------------------------------------------------------------------- the quadratic form


@given(
    seed=st.integers(0, 10_000),
    n_groups=st.integers(1, 4),
    n_outcomes=st.integers(1, 3),
    n=st.integers(2, 25),
)
@settings(max_examples=40)
def test_moments_give_what_all_pairs_give(seed, n_groups, n_outcomes, n):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) + 100.0
    groups, outcomes = rng.integers(0, n_groups, n), rng.integers(0, n_outcomes, n)
    weight = rng.uniform(0.5, 2.0, n)
    np.testing.assert_allclose(
        pair_form(X, groups, outcomes, weight),
        by_pairs(X, groups, outcomes, weight),
        rtol=1e-9,
        atol=1e-10,
    )


def test_bins_have_equal_weight_and_keep_equal_values_together():
    y = np.array([5.0, 1.0, 2.0, 4.0, 3.0, 6.0])
    np.testing.assert_array_equal(outcome_bins(y, np.ones(6), 3), [2, 0, 0, 1, 1, 2])
    np.testing.assert_array_equal(outcome_bins(y, np.ones(6), 1), 0)
    tied = np.array([0.0, 0.0, 0.0, 1.0])
    assert len(np.unique(outcome_bins(tied, np.ones(4), 10))) == 2
    weight = np.array([3.0, 1.0, 1.0, 1.0, 1.0, 1.0])
    repeated = np.repeat(np.arange(6), weight.astype(int))
    np.testing.assert_array_equal(
        outcome_bins(y, weight, 3)[repeated], outcome_bins(y[repeated], np.ones(8), 3)
    )


# ---------------------------------------------------------------------------- gaussian


def penalty_matrix(frame, y, bins):
    X = frame[PREDICTORS].to_numpy()
    ones = np.ones(len(y))
    return pair_form(X, groups_of(frame), outcome_bins(y, ones, bins), ones)


@pytest.mark.parametrize(("strength", "bins"), [(0.0, 10), (0.7, 10), (0.7, 1), (30.0, 4)])
def test_a_strength_solves_the_normal_equations(workers, strength, bins):
    frame, y = workers
    model = ConvexFairRegressor(sensitive=SENSITIVE, strength=strength, bins=bins).fit(frame, y)
    X = frame[PREDICTORS].to_numpy()
    X, centered = X - X.mean(axis=0), y - y.mean()
    M = by_pairs(X, groups_of(frame), outcome_bins(y, np.ones(len(y)), bins), np.ones(len(y)))
    b = np.linalg.solve(X.T @ X / len(y) + strength * M, X.T @ centered / len(y))
    np.testing.assert_allclose(model.beta_, b, rtol=1e-9)
    np.testing.assert_allclose(model.predict(frame), y.mean() + X @ b, rtol=1e-9)
    assert model.deviance_ == pytest.approx(np.sum((centered - X @ b) ** 2), rel=1e-9)
    assert model.lambda_ == strength
    assert model.status_ == ("converged" if strength else "inactive")


@pytest.mark.parametrize("r", [0.02, 0.99])
def test_the_bound_is_the_ratio_of_penalties(workers, r):
    frame, y = workers
    model = ConvexFairRegressor(r, sensitive=SENSITIVE).fit(frame, y)
    M = penalty_matrix(frame, y, 10)
    free = LinearRegression().fit(frame[PREDICTORS], y).coef_
    assert model.beta_ @ M @ model.beta_ == pytest.approx(r * (free @ M @ free), rel=1e-9)
    assert model.unfairness_ == pytest.approx(r, rel=1e-9)
    assert model.unfairness_components_["pairwise"] == pytest.approx(model.beta_ @ M @ model.beta_)
    again = ConvexFairRegressor(sensitive=SENSITIVE, strength=model.lambda_).fit(frame, y)
    np.testing.assert_allclose(again.beta_, model.beta_, rtol=1e-9)


def test_the_ends_are_least_squares_and_a_constant(workers):
    frame, y = workers
    free = ConvexFairRegressor(1.0, sensitive=SENSITIVE).fit(frame, y)
    expected = LinearRegression().fit(frame[PREDICTORS], y).predict(frame[PREDICTORS])
    np.testing.assert_allclose(free.predict(frame), expected, rtol=1e-10)
    assert free.status_ == "inactive"
    fair = ConvexFairRegressor(0.0, sensitive=SENSITIVE).fit(frame, y)
    np.testing.assert_allclose(fair.predict(frame), y.mean(), rtol=1e-12)
    assert fair.lambda_ == np.inf
    assert fair.unfairness_ == 0.0


def test_groups_without_a_common_outcome_leave_nothing_to_compare():
    Z = np.column_stack([np.repeat([0, 1], 10), np.linspace(0.0, 1.0, 20) ** 2])
    y = np.repeat([0.0, 1.0], 10) + 0.01 * Z[:, 1]
    with pytest.warns(DataWarning, match="no two groups share an outcome"):
        model = ConvexFairRegressor(0.1, sensitive=[0], bins=2).fit(Z, y)
    assert model.status_ == "inactive"
    assert model.unfairness_ == 0.0
    assert model.score(Z, y) == pytest.approx(
        LinearRegression().fit(Z[:, 1:], y).score(Z[:, 1:], y)
    )


def test_bad_parameters_are_named(workers):
    frame, y = workers
    with pytest.raises(ValueError, match=r"strength=-1.* at least 0"):
        ConvexFairRegressor(sensitive=SENSITIVE, strength=-1).fit(frame, y)
    with pytest.raises(ValueError, match=r"strength=3 fixes the penalty; set strength=None"):
        ConvexFairRegressor(sensitive=SENSITIVE, strength=3).path(frame, y)
    with pytest.raises(ValueError, match="bins=True must be a whole number"):
        ConvexFairRegressor(sensitive=SENSITIVE, bins=True).fit(frame, y)


def test_validation_rows_compare_with_the_unpenalized_model(workers):
    frame, y = workers
    rows = np.arange(len(y))
    fold = (rows[rows % 3 > 0], rows[rows % 3 == 0])
    result = cross_validate(
        ConvexFairRegressor(sensitive=SENSITIVE), frame, y, unfairness=[0.1, 1.0], folds=[fold]
    ).to_frame()
    train, test = (frame.iloc[part] for part in fold)
    models = [ConvexFairRegressor(r, sensitive=SENSITIVE).fit(train, y[fold[0]]) for r in (0.1, 1)]
    M = penalty_matrix(test, y[fold[1]], 10)
    ours, free = (model.beta_ @ M @ model.beta_ for model in models)
    assert result["achieved"][0] == pytest.approx(ours / free, rel=1e-9)
    assert result["achieved"][1] == pytest.approx(1.0)
    rmse = np.sqrt(np.mean((models[0].predict(test) - y[fold[1]]) ** 2))
    assert result["loss"][0] == pytest.approx(rmse, rel=1e-9)


# ------------------------------------------------------------------------- classifiers


def logistic_loss(theta, X, codes, classes, strength, M):
    """Mean −2 log-likelihood of a symmetric softmax, plus the penalty of every class."""
    theta = theta.reshape(classes, -1)
    theta = theta - theta.mean(axis=0)
    if classes == 2:  # one linear predictor, of the second class
        b = theta[1, 1:] - theta[0, 1:]
        penalty = b @ M @ b
    else:
        penalty = np.einsum("ki,ij,kj->", theta[:, 1:], M, theta[:, 1:])
    eta = theta[:, 0] + X @ theta[:, 1:].T
    eta -= eta.max(axis=1, keepdims=True)
    loglik = eta[np.arange(len(codes)), codes] - np.log(np.exp(eta).sum(axis=1))
    return -2.0 * loglik.mean() + strength * penalty


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("strength", [0.02, 0.5])
def test_a_strength_minimizes_loss_and_penalty(workers, classes, strength):
    frame, y = workers
    codes = labels_of(y, classes)
    model = ConvexFairClassifier(sensitive=SENSITIVE, strength=strength).fit(frame, codes)
    X = frame[PREDICTORS].to_numpy()
    M = by_pairs(X, groups_of(frame), codes, np.ones(len(y)))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    M = M / np.outer(*[frame[PREDICTORS].std(ddof=0)] * 2)
    args = (X, codes, classes, strength, M)
    found = minimize(logistic_loss, np.zeros(3 * classes), args, method="BFGS", tol=1e-9)
    theta = found.x.reshape(classes, -1)
    eta = theta[:, 0] + X @ theta[:, 1:].T
    probability = np.exp(eta) / np.exp(eta).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(frame), probability, atol=2e-6)
    assert (
        model.deviance_ / len(y) + strength * model.unfairness_components_["pairwise"]
        <= found.fun + 1e-10
    )


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("r", [0.05, 0.6])
def test_the_bound_is_met_by_the_linear_predictors(workers, classes, r):
    frame, y = workers
    codes = labels_of(y, classes)
    model = ConvexFairClassifier(r, sensitive=SENSITIVE).fit(frame, codes)
    free = ConvexFairClassifier(1.0, sensitive=SENSITIVE).fit(frame, codes)

    def penalty(fitted):
        eta = fitted.decision_function(frame).reshape(len(y), -1)
        # Linear predictors stand for the columns: their form with b = 1, class by class.
        form = by_pairs(eta, groups_of(frame), codes, np.ones(len(y)))
        return np.trace(form)

    assert penalty(model) == pytest.approx(r * penalty(free), rel=1e-7)
    assert model.unfairness_ == pytest.approx(r, abs=1e-9)
    assert model.status_ == "converged"


def test_at_zero_everyone_has_the_frequencies(workers):
    frame, y = workers
    labels = np.array(["low", "mid", "high"])[labels_of(y, 3)]
    model = ConvexFairClassifier(0.0, sensitive=SENSITIVE).fit(frame, labels)
    expected = [np.mean(labels == label) for label in model.classes_]
    np.testing.assert_allclose(model.predict_proba(frame), [expected] * len(y), rtol=1e-9)
    assert model.explained_deviance_ == pytest.approx(0.0, abs=1e-10)


def test_separated_classes_are_a_warning_that_names_the_column():
    rng = np.random.default_rng(6)
    group = np.tile([0, 1], 30)
    x = np.concatenate([rng.uniform(-2, -1, 30), rng.uniform(1, 2, 30)])
    frame = pd.DataFrame({"group": group, "x": x, "z": rng.normal(size=60)})
    y = x > 0
    for r in (0.5, 1.0):
        with pytest.warns(DataWarning, match=r"'x'.* separate the responses.*strength="):
            ConvexFairClassifier(r, sensitive="group").fit(frame, y)
    # Any penalty makes the coefficients finite.
    model = ConvexFairClassifier(sensitive="group", strength=1e-3).fit(frame, y)
    assert model.converged_
    assert np.abs(model.beta_).max() < 50.0


def test_an_offset_is_added(workers):
    frame, y = workers
    codes = labels_of(y, 2)
    shift = np.full(len(y), 0.7)
    plain = ConvexFairClassifier(0.3, sensitive=SENSITIVE).fit(frame, codes)
    moved = ConvexFairClassifier(0.3, sensitive=SENSITIVE).fit(frame, codes, offset=shift)
    np.testing.assert_allclose(moved.beta_, plain.beta_, rtol=1e-7)
    assert moved.fair_intercept_ == pytest.approx(plain.fair_intercept_ - 0.7, rel=1e-7)


def test_a_fit_that_is_cut_short_says_so(workers):
    frame, y = workers
    model = ConvexFairClassifier(sensitive=SENSITIVE, strength=0.01, max_iter=1)
    with pytest.warns(UserWarning, match="did not converge"):
        model.fit(frame, labels_of(y, 2))
    assert model.status_ == "not-converged"
    assert not model.converged_


def test_a_level_without_events_is_named_and_an_outlier_is_not():
    rng = np.random.default_rng(7)
    n = 400
    group, x = rng.integers(0, 2, n), rng.normal(size=n)
    y = x + rng.logistic(size=n) > 0
    rare = np.where(~y & (np.arange(n) % 40 < 2), "never", "often")
    gain = np.where(np.arange(n) == 7, 500.0, rng.normal(size=n))
    frame = pd.DataFrame({"group": group, "x": x, "rare": rare, "gain": gain})
    with pytest.warns(DataWarning, match=r"^column\(s\) 'rare\[often\]' separate"):
        ConvexFairClassifier(0.5, sensitive="group").fit(frame, y)
    ConvexFairClassifier(0.5, sensitive="group").fit(frame.drop(columns="rare"), y)
