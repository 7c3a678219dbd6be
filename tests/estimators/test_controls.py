"""Bounds on what S explains beyond controls."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

from fairridge import (
    FairRidgeClassifier,
    FairRidgeRegressor,
    cross_validate,
    load,
    save,
    sources,
)
from fairridge.exceptions import BoundWarning
from fairridge.fairness import StatisticalParity
from tests import zoo

N = 250
CONTROLS = [1, 2]


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(3)
    S = np.column_stack([rng.normal(size=N), rng.random(N) < 0.5]).astype(float)
    C = 0.5 * S @ rng.normal(size=(2, 2)) + rng.normal(size=(N, 2))
    X = 0.5 * S @ rng.normal(size=(2, 3)) + 0.4 * C @ rng.normal(size=(2, 3))
    X += rng.normal(size=(N, 3))
    eta = X @ [1.0, -0.5, 0.3] + C @ [0.6, 0.2] + S @ [0.8, 0.7]
    return S, np.column_stack([X[:, 0], C, X[:, 1:]]), eta


def responses(eta):
    return zoo.responses(eta, 8, labels=(0.0, 1.0))


def fitted(rows, family, r, **options):
    S, Z, eta = rows
    model = zoo.model_of(family, r, **{"controls": CONTROLS} | options)
    return model.fit(Z, responses(eta)[family], sensitive_features=S)


def scores(model, rows):
    S, Z, _ = rows
    return model.intercept_ + np.column_stack([S, Z]) @ np.ravel(model.coef_)


def left(values, columns, weight=None):
    """Residuals of least squares."""
    return values - LinearRegression().fit(columns, values, sample_weight=weight).predict(columns)


def partial_share(eta, S, C, weight=None):
    w = np.ones(len(S)) if weight is None else weight
    of_eta, of_S = left(eta, C, w), left(S, C, w)
    return 1.0 - w @ left(of_eta, of_S, w) ** 2 / (w @ of_eta**2)


# ------------------------------------------------------------------- the share


@pytest.mark.parametrize("family", ["gaussian", "cox"])
@pytest.mark.parametrize("r", [0.0, 0.05, 0.2, 1.0])
def test_the_bound_is_the_partial_r_squared(rows, family, r):
    S, Z, _ = rows
    model = fitted(rows, family, r)
    share = partial_share(scores(model, rows), S, Z[:, CONTROLS])
    assert model.unfairness_ == pytest.approx(share, abs=1e-9)
    if r < 1.0:
        assert share == pytest.approx(r, abs=1e-9)
    assert model.status_ == ("inactive" if r == 1.0 else "converged")


def deviance(family, y, eta):
    if family == "binomial":
        return 2.0 * np.sum(np.logaddexp(0.0, eta) - y * eta)
    return 2.0 * np.sum(np.exp(eta) - y * eta)  # but for terms of y alone


@pytest.mark.parametrize("family", ["binomial", "poisson"])
@pytest.mark.parametrize("r", [0.0, 0.05, 0.2, 1.0])
def test_shares_of_deviance_keep_the_controls_in_all_terms(rows, family, r):
    S, Z, eta = rows
    y, model = responses(eta)[family], fitted(rows, family, r)
    C = Z[:, CONTROLS]
    S_left, X_left = left(S, C), left(np.delete(Z, CONTROLS, axis=1), C)
    U = left(X_left, S_left)
    columns = np.column_stack([np.ones(N), C, S_left, U])
    theta = np.linalg.lstsq(columns, scores(model, rows), rcond=None)[0]
    np.testing.assert_allclose(columns @ theta, scores(model, rows), atol=1e-9)
    without = np.where(np.isin(np.arange(8), [3, 4]), 0.0, theta)
    null = np.where(np.arange(8) >= 3, 0.0, theta)
    full, reduced, least = (deviance(family, y, columns @ t) for t in (theta, without, null))
    share = (full - reduced) / (full - least)
    assert model.unfairness_ == pytest.approx(share, abs=1e-9)
    if r < 1.0:
        assert share == pytest.approx(r, abs=1e-9)


@pytest.mark.parametrize("family", ["gaussian", "binomial", "poisson", "cox"])
def test_without_a_bound_controls_change_nothing(rows, family):
    expected = fitted(rows, family, 1.0, controls=None)
    model = fitted(rows, family, 1.0)
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-6, atol=1e-8)
    assert model.deviance_ == pytest.approx(expected.deviance_, rel=1e-10)
    assert model.loglik_ == pytest.approx(expected.loglik_, rel=1e-9)
    assert model.dispersion_ == pytest.approx(expected.dispersion_, rel=1e-9)
    assert model.explained_deviance_ == pytest.approx(expected.explained_deviance_, rel=1e-9)


def test_at_zero_controls_and_predictors_fit_what_s_leaves(rows):
    S, Z, eta = rows
    y, C = responses(eta)["gaussian"], Z[:, CONTROLS]
    model = fitted(rows, "gaussian", 0.0)
    U = left(left(np.delete(Z, CONTROLS, axis=1), C), left(S, C))
    both = np.column_stack([C, U])
    expected = LinearRegression().fit(both, y).predict(both)
    np.testing.assert_allclose(scores(model, rows), expected, rtol=1e-9)


@pytest.mark.parametrize("family", ["gaussian", "binomial"])
def test_what_the_controls_cover_up_is_reported(rows, family):
    S, Z, _ = rows
    model = fitted(rows, family, 0.0)
    parts, eta = model.unfairness_components_, scores(model, rows)
    whole = 1.0 - left(eta, S).var() / eta.var()
    assert whole > 0.03
    assert parts["r_squared_unconditional"] == pytest.approx(whole, abs=1e-9)
    of_controls = [1.0 - left(c, S).var() / c.var() for c in Z[:, CONTROLS].T]
    assert parts["controls_explained_by_sensitive"] == pytest.approx(np.mean(of_controls))
    text = str(model.summary(details=True))
    assert re.search(r"Definition: +statistical-parity\b", text)
    assert re.search(r"Given: +\S", text)
    assert "Without controls" in text
    assert "S explains of controls" in text


@pytest.mark.parametrize("penalty", ["radial", "lasso", "elastic-net"])
@pytest.mark.parametrize("family", ["gaussian", "binomial"])
def test_all_penalties_meet_the_bound(rows, family, penalty):
    model = fitted(rows, family, 0.05, penalty=penalty)
    assert model.status_ == "converged"
    assert model.unfairness_ == pytest.approx(0.05, abs=1e-9)


def test_several_classes(rows):
    S, Z, eta = rows
    y = np.digitize(eta + np.random.default_rng(0).logistic(size=N), [-0.5, 1.0])
    for penalty in ("ridge", "lasso"):
        model = FairRidgeClassifier(0.05, controls=CONTROLS, penalty=penalty)
        model.fit(Z, y, sensitive_features=S)
        assert model.status_ == "converged"
        assert model.unfairness_ == pytest.approx(0.05, abs=1e-9)
        assert model.unfairness_components_["r_squared_unconditional"] > 0.0


def test_controls_are_not_penalized(rows):
    _, Z, eta = rows
    y = responses(eta)["gaussian"]
    model = fitted(rows, "gaussian", 0.0, predictor_penalty=1e12)
    expected = LinearRegression().fit(Z[:, CONTROLS], y).predict(Z[:, CONTROLS])
    np.testing.assert_allclose(scores(model, rows), expected, atol=1e-6)
    logistic = fitted(rows, "binomial", 0.0, predictor_penalty=1e12)
    order = [2 + k for k in CONTROLS]
    assert np.abs(logistic.coef_[0, order]).min() > 0.01
    assert np.abs(np.delete(logistic.coef_[0], order)).max() < 1e-6


@pytest.mark.parametrize("family", ["gaussian", "poisson", "binomial", "cox"])
def test_weights_are_repeated_rows(rows, family):
    S, Z, eta = rows
    y, weight = responses(eta)[family], np.random.default_rng(3).integers(0, 3, N)
    rep = np.repeat(np.arange(N), weight)
    model = fitted(rows, family, 0.05)
    weighted = model.fit(Z, y, sensitive_features=S, sample_weight=weight).coef_
    repeated = model.fit(Z[rep], y[rep], sensitive_features=S[rep]).coef_
    np.testing.assert_allclose(weighted, repeated, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("family", ["gaussian", "binomial"])
def test_a_path_has_the_models_of_single_fits(rows, family):
    S, Z, eta = rows
    single = fitted(rows, family, 0.05)
    path = single.path(Z, responses(eta)[family], sensitive_features=S, unfairness=[0.0, 0.05, 0.9])
    assert path.status == ("converged", "converged", "inactive")
    np.testing.assert_allclose(path.at(0.05).coef_, single.coef_, rtol=1e-6)
    assert (np.diff(path.deviance) < 0.0).all()


@pytest.mark.parametrize("family", ["gaussian", "binomial"])
def test_folds_measure_the_partial_share(rows, family):
    S, Z, eta = rows
    y, fold = responses(eta)[family], (np.arange(150), np.arange(150, N))
    model = FairRidgeRegressor if family == "gaussian" else FairRidgeClassifier
    model = model(0.05, controls=CONTROLS)
    found = cross_validate(
        model, Z, y, sensitive_features=S, unfairness=[0.05], folds=[fold]
    ).to_frame()
    model.fit(Z[:150], y[:150], sensitive_features=S[:150])
    predicted = scores(model, (S[150:], Z[150:], None))
    share = partial_share(predicted, S[150:], Z[150:][:, CONTROLS])
    n = N - 150 - len(CONTROLS)
    expected = 1.0 - (1.0 - share) * (n - 1) / (n - 3)
    assert found["achieved"].iloc[0] == pytest.approx(expected, abs=1e-7)
    assert found["train_achieved"].iloc[0] == pytest.approx(0.05, abs=1e-9)


# --------------------------------------------------------------------- columns


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(9)
    sex = rng.choice(["f", "m"], N)
    level = rng.choice(["low", "middle", "high"], N, p=[0.3, 0.4, 0.3])
    frame = pd.DataFrame(
        {"level": level, "sex": sex, "hours": rng.normal(38.0, 4.0, N) + 3.0 * (sex == "m")}
    )
    wage = 0.2 * frame["hours"] + (level == "high") + (sex == "m") + rng.normal(size=N)
    return frame, wage.to_numpy()


def test_the_levels_of_a_categorical_are_one_control(people, tmp_path):
    frame, wage = people
    model = FairRidgeRegressor(0.05, sensitive=["sex"], controls=["level"]).fit(frame, wage)
    dummies = pd.get_dummies(frame["level"]).to_numpy(float)[:, 1:]
    S = (frame[["sex"]] == "m").to_numpy(float)
    assert partial_share(model.predict(frame), S, dummies) == pytest.approx(0.05, abs=1e-9)
    save(model, tmp_path / "m.json")
    again = load(tmp_path / "m.json")
    assert again.controls == ["level"]
    np.testing.assert_array_equal(again.predict(frame), model.predict(frame))
    frame.assign(wage=wage).to_parquet(tmp_path / "p.parquet")
    source = sources.parquet(tmp_path / "p.parquet", response="wage", sensitive=["sex"])
    there = FairRidgeRegressor(0.05, controls=["level"]).fit(source)
    np.testing.assert_allclose(there.predict(frame), model.predict(frame), rtol=1e-9)


def test_collinear_controls_count_once(rows):
    S, Z, eta = rows
    y = responses(eta)["gaussian"]
    twice = np.column_stack([Z, Z[:, 1] + Z[:, 2]])
    with pytest.warns(UserWarning, match="linear combinations"):
        model = FairRidgeRegressor(0.05, controls=[1, 2, 5]).fit(twice, y, sensitive_features=S)
    expected = fitted(rows, "gaussian", 0.05)
    np.testing.assert_allclose(
        model.predict(twice, sensitive_features=S),
        expected.predict(Z, sensitive_features=S),
        rtol=1e-9,
    )


def test_controls_may_explain_all_of_s(rows):
    S, Z, eta = rows
    both = np.column_stack([Z, S])
    with pytest.warns(UserWarning, match="linear combinations"):
        model = FairRidgeRegressor(0.0, controls=[5, 6]).fit(
            both, responses(eta)["gaussian"], sensitive_features=S
        )
    assert model.status_ == "inactive"
    assert model.unfairness_ == 0.0
    assert model.unfairness_components_["r_squared_unconditional"] > 0.1


@pytest.mark.parametrize("family", ["gaussian", "binomial"])
def test_nothing_but_controls_leaves_bounds_no_middle(rows, family):
    S, Z, eta = rows
    only = S, Z[:, :2], eta
    fair, free = (fitted(only, family, r, controls=[0, 1]) for r in (0.0, 1.0))
    with pytest.warns(BoundWarning, match=r"All predictors are controls.*0\.3 means 0"):
        between = fitted(only, family, 0.3, controls=[0, 1])
    np.testing.assert_allclose(between.coef_, fair.coef_, rtol=1e-6, atol=1e-9)
    assert free.unfairness_ == pytest.approx(1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", BoundWarning)
        fitted(only, family, 0.3, controls=[0])
        fitted(only, family, 1.0, controls=[0, 1])


# -------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    "definition", ["equality-of-opportunity", "individual", "mean-opportunity"]
)
def test_other_definitions_are_refused(rows, definition):
    with pytest.raises(ValueError, match="has no version given controls"):
        fitted(rows, "binomial", 0.05, definition=definition)


def test_other_measures_are_taken(rows):
    model = fitted(rows, "binomial", 0.05, definition=StatisticalParity(measure="variance"))
    S, Z, _ = rows
    share = partial_share(scores(model, rows), S, Z[:, CONTROLS])
    assert share == pytest.approx(0.05, abs=1e-9)


@pytest.mark.parametrize(
    ("controls", "error", "message"),
    [
        (["nothing"], ValueError, "X has no column 'nothing'"),
        (["sex"], ValueError, "controls names column 'sex', which is sensitive"),
        ([], ValueError, r"controls=\[\] names no column"),
        (["level", "level"], ValueError, "controls names column 'level' more than once"),
        ([7], ValueError, "controls names column 7, but X has 3"),
        ([1.5], TypeError, "controls holds 1.5"),
    ],
)
def test_what_is_no_control_is_named(people, controls, error, message):
    frame, wage = people
    with pytest.raises(error, match=message):
        FairRidgeRegressor(0.05, sensitive=["sex"], controls=controls).fit(frame, wage)
