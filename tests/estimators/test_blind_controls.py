"""Models that do not use S to predict, with bounds on what S explains beyond controls."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.linear_model import LinearRegression

from fairridge import (
    FairRidgeClassifier,
    FairRidgeRegressor,
    FairRidgeSurvival,
    cross_validate,
    load,
    save,
    sources,
)
from fairridge.exceptions import BoundWarning
from fairridge.export import to_sklearn
from fairridge.inference.scores import explained_scores
from tests import zoo
from tests.zoo import means, r_squared

N = 300
S, C, X = ["sex", "age"], ["level", "years"], ["x1", "x2", "x3"]
FAMILIES = ["gaussian", "poisson", "binomial", "multinomial", "cox"]


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(11)
    sex = rng.choice(["f", "m"], N)
    age = rng.normal(size=N) + 0.3 * (sex == "m")
    level = np.array(["low", "middle", "high"])[
        np.digitize(rng.normal(size=N) + 0.6 * (sex == "m"), [-0.5, 0.7])
    ]
    years = rng.normal(size=N) + 0.5 * age
    x = rng.normal(size=(N, 3)) + 0.4 * years[:, None] + np.outer(sex == "m", [0.7, -0.4, 0.0])
    x += np.outer(age, [0.0, 0.4, 0.3])
    frame = pd.DataFrame({"years": years, "sex": sex, "x1": x[:, 0], "level": level, "age": age})
    frame = frame.assign(x2=x[:, 1], x3=x[:, 2])
    eta = 0.7 * (sex == "m") + 0.4 * age + 0.6 * (level == "high") + 0.4 * years
    return frame, eta + x @ [0.5, 0.4, 0.3] - 0.5


def respond(family, eta):
    return zoo.responses(eta, 4, labels=(0, 1))[family]


def blind(family, r, **options):
    return zoo.model_of(family, r, **{"sensitive": S, "controls": C, "blind": True} | options)


def dummies(frame, names):
    return pd.get_dummies(frame[names], drop_first=True).to_numpy(float)


def scores(model, frame):
    return model._linear_predictor(frame, None, None)


def share(values, frame, weight=None):
    """Partial R² on S given the controls, added over classes."""
    return r_squared(values, dummies(frame, S), weight, dummies(frame, C))


# ------------------------------------------------------------------- the bound


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("r", [0.0, 0.02, 1.0])
def test_the_bound_is_the_partial_r_squared_of_the_linear_predictor(people, family, r):
    frame, eta = people
    model = blind(family, r).fit(frame, respond(family, eta))
    value = share(scores(model, frame), frame)
    assert model.unfairness_ == pytest.approx(value, abs=1e-9)
    if r < 1.0:
        assert value == pytest.approx(r, abs=1e-9)
    assert model.status_ == ("inactive" if r == 1.0 else "converged")
    assert model.lambda_ == {0.0: np.inf, 1.0: 0.0}.get(r, model.lambda_)
    parts = model.unfairness_components_
    whole = r_squared(scores(model, frame), dummies(frame, S))
    assert parts["r_squared_unconditional"] == pytest.approx(whole, abs=1e-9)


@pytest.mark.parametrize("family", FAMILIES[:4])
@pytest.mark.parametrize("r", [0.0, 0.02])
def test_mean_parity_is_the_partial_r_squared_of_predicted_means(people, family, r):
    frame, eta = people
    model = blind(family, r, definition="mean-parity").fit(frame, respond(family, eta))
    assert model.status_ == "converged"
    assert share(means(model, frame), frame) == pytest.approx(r, abs=1e-9)


@pytest.mark.parametrize("definition", ["statistical-parity", "mean-parity"])
def test_weights_are_repeated_rows(people, definition):
    frame, eta = people
    y, weight = respond("binomial", eta), np.random.default_rng(0).integers(0, 3, N)
    model = blind("binomial", 0.02, definition=definition)
    weighted = model.fit(frame, y, sample_weight=weight).coef_
    rep = np.repeat(np.arange(N), weight)
    again = blind("binomial", 0.02, definition=definition).fit(frame.iloc[rep], y[rep])
    np.testing.assert_allclose(weighted, again.coef_, rtol=1e-6, atol=1e-9)


# ----------------------------------------------------------------- which model


@pytest.mark.parametrize("penalty", [0.0, 4.0])
def test_a_gaussian_model_is_the_blind_model_of_residuals(people, penalty):
    """In closed form: controls first, then the blind model of what they leave."""
    frame, eta = people
    y, c = respond("gaussian", eta), dummies(frame, C)

    def left(values):
        return values - LinearRegression().fit(c, values).predict(c)

    model = blind("gaussian", 0.02, predictor_penalty=penalty).fit(frame, y)
    expected = FairRidgeRegressor(0.02, blind=True, predictor_penalty=penalty).fit(
        left(frame[X].to_numpy()), left(y), sensitive_features=left(dummies(frame, S))
    )
    found = dict(zip(model.coef_names_, model.coef_, strict=True))
    np.testing.assert_allclose([found[name] for name in X], expected.coef_, rtol=1e-8, atol=1e-11)
    assert model.lambda_ == pytest.approx(expected.lambda_, rel=1e-8)
    assert model.deviance_ == pytest.approx(expected.deviance_, rel=1e-9)


@pytest.mark.parametrize("family", ["gaussian", "binomial", "poisson"])
@pytest.mark.parametrize("penalty", [0.0, 4.0])
def test_it_solves_its_equations(people, family, penalty):
    """½∂D/∂b + λ(P X)ᵀP η + λ₂VAR(x̃)b = 0, P the projection on what controls leave of S."""
    frame, eta = people
    y = respond(family, eta)
    model = blind(family, 0.02, predictor_penalty=penalty).fit(frame, y)
    A = np.column_stack([np.ones(N), dummies(frame, C), dummies(frame, X)])
    given = np.linalg.qr(A[:, :4])[0]
    of_S, of_X = (Z - given @ (given.T @ Z) for Z in (dummies(frame, S), dummies(frame, X)))
    P = np.linalg.qr(of_S)[0]
    score = scores(model, frame)
    b = np.linalg.lstsq(A, score, rcond=None)[0]
    mean = {"gaussian": np.asarray, "binomial": expit, "poisson": np.exp}[family](score)
    gradient = A.T @ (mean - y) + model.lambda_ * A.T @ (P @ (P.T @ (of_X @ b[4:])))
    gradient[4:] += penalty * of_X.var(axis=0) * b[4:]
    assert model.lambda_ > 0.0
    assert np.abs(gradient).max() < 1e-7 * np.abs(A.T @ np.abs(mean - y)).max()


@pytest.mark.parametrize("r", [0.0, 0.02])
def test_no_other_balanced_model_of_means_fits_better(people, r):
    """SLSQP, with as little explained by S beyond the controls."""
    frame, eta = (part[:150] for part in people)
    y = respond("binomial", eta)
    model = blind("binomial", r, definition="mean-parity").fit(frame, y)
    A = np.column_stack([np.ones(len(y)), dummies(frame, C), dummies(frame, X)])
    given = np.linalg.qr(A[:, :4])[0]
    of_S = dummies(frame, S)
    P = np.linalg.qr(of_S - given @ (given.T @ of_S))[0]

    def explained(theta):
        return P.T @ expit(A @ theta)

    def deviance(theta):
        return 2.0 * np.sum(np.logaddexp(0.0, A @ theta) - y * (A @ theta))

    here = np.linalg.lstsq(A, scores(model, frame), rcond=None)[0]
    limit = np.sum(explained(here) ** 2)
    bounds = [
        {"type": "eq", "fun": lambda t: np.sum(expit(A @ t) - y) / len(y)},
        {"type": "eq", "fun": explained}
        if r == 0.0
        else {"type": "ineq", "fun": lambda t: 1e3 * (limit - np.sum(explained(t) ** 2))},
    ]
    starts = [here, np.zeros(A.shape[1]), here + 0.3]
    found = [
        minimize(deviance, start, method="SLSQP", constraints=bounds, options={"ftol": 1e-12})
        for start in starts
    ]
    best = min(one.fun for one in found if one.success)
    assert deviance(here) <= best * (1.0 + 1e-6)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("definition", ["statistical-parity", "mean-parity"])
@pytest.mark.filterwarnings("ignore:.*constant.*:UserWarning")
def test_constant_controls_change_nothing(people, family, definition):
    if family == "cox" and definition == "mean-parity":
        pytest.skip("hazards are not means")
    frame, eta = people
    y, frame = respond(family, eta), frame.assign(one=1.0)
    options = {"definition": definition, "predictor_penalty": 2.0}
    model = blind(family, 0.01, controls=["one"], **options).fit(frame, y)
    plain = blind(family, 0.01, controls=None, **options).fit(frame, y)
    np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-6, atol=1e-9)
    assert model.unfairness_ == pytest.approx(plain.unfairness_, abs=1e-10)


def test_without_predictors_that_s_does_not_explain_only_controls_are_left(people):
    frame, eta = people
    y = respond("binomial", eta)
    few = frame[[*S, *C, "x1"]]
    floor = blind("binomial", 0.9).fit(few, y).unfairness_
    assert floor > 0.05  # of one predictor S explains the same share at every λ
    with pytest.warns(BoundWarning, match="Only predictions from the controls alone meet"):
        model = blind("binomial", 0.5 * floor).fit(few, y)
    assert model.status_ == "infeasible"
    alone = FairRidgeClassifier(1.0, sensitive=S, blind=True).fit(few[[*S, *C]], y)
    np.testing.assert_allclose(scores(model, few), scores(alone, few[[*S, *C]]), atol=1e-7)


# -------------------------------------------------------------- what else it can


def test_new_rows_need_no_sensitive_attributes(people, tmp_path):
    frame, eta = people
    model = blind("binomial", 0.02).fit(frame, respond("binomial", eta))
    assert not any(name.startswith(tuple(S)) for name in model.coef_names_)
    without = frame.drop(columns=S)
    expected = model.predict_proba(without)
    np.testing.assert_array_equal(model.predict_proba(frame), expected)
    save(model, tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    np.testing.assert_array_equal(again.predict_proba(without), expected)
    assert (again.blind, list(again.controls)) == (True, C)
    np.testing.assert_allclose(to_sklearn(model).predict_proba(without), expected, rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("definition", ["statistical-parity", "mean-parity"])
def test_rows_in_files_give_the_same_model(people, tmp_path, definition):
    frame, eta = people
    y = respond("poisson", eta)
    frame.assign(y=y.astype(float)).to_parquet(tmp_path / "rows.parquet", row_group_size=70)
    rows = sources.parquet(tmp_path / "rows.parquet", response="y", sensitive=S)
    there = blind("poisson", 0.02, sensitive=None, definition=definition).fit(rows)
    here = blind("poisson", 0.02, definition=definition).fit(frame, y)
    np.testing.assert_allclose(there.coef_, here.coef_, rtol=1e-6, atol=1e-9)
    errors = (there.inference(rows), here.inference(frame, y))
    np.testing.assert_allclose(*(one.standard_errors for one in errors), rtol=1e-5)


@pytest.mark.parametrize("definition", ["statistical-parity", "mean-parity"])
def test_paths_and_folds(people, definition):
    frame, eta = people
    y = respond("binomial", eta)
    path = blind("binomial", 0.02, definition=definition).path(frame, y, unfairness=[0.0, 0.02])
    np.testing.assert_allclose(path.achieved, [0.0, 0.02], atol=1e-9)
    one = blind("binomial", 0.02, definition=definition).fit(frame, y)
    np.testing.assert_allclose(path.at(0.02).coef_, one.coef_, rtol=1e-6, atol=1e-8)
    result = cross_validate(one, frame, y, unfairness=[0.02], cv=3).to_frame()
    np.testing.assert_allclose(result["train_achieved"], 0.02, atol=1e-8)


def test_several_bounds(people):
    frame, eta = people
    y = respond("binomial", eta)
    bounds = {"sex": 0.01, "age": 0.005}
    model = blind("binomial", bounds, definition="mean-parity").fit(frame, y)
    for name, r in bounds.items():
        own = r_squared(means(model, frame), dummies(frame, [name]), None, dummies(frame, C))
        assert own <= r + 1e-9
        assert model.unfairness_[name] == pytest.approx(own, abs=1e-9)


def test_what_does_not_apply_is_refused(people):
    frame, eta = people
    y = respond("binomial", eta)
    with pytest.raises(ValueError, match="needs S to predict: blind=True takes"):
        blind("binomial", 0.05, definition="individual").fit(frame, y)
    with pytest.raises(ValueError, match="works with penalty='ridge' only"):
        blind("binomial", 0.05, penalty="lasso").fit(frame, y)
    times = np.column_stack([np.exp(-eta), np.ones(N)])
    model = FairRidgeSurvival(0.05, sensitive=S, controls=C, blind=True, definition="mean-parity")
    with pytest.raises(ValueError, match="mean"):
        model.fit(frame, times)


# ---------------------------------------------------------------- certificates


def test_scores_given_controls_are_those_of_the_basis_of_residuals(people):
    frame, eta = people
    fit = blind("gaussian", 0.05).fit(frame, eta + np.random.default_rng(2).normal(size=N))
    training = fit._read(frame, eta, None, None, None)
    problem = fit._problem_on(training.engine, training.response)
    (solution,) = problem.solve(np.array([0.05]))
    (read,) = explained_scores([solution.fit], training.engine)
    assert read.share == pytest.approx(share(scores(fit, frame), frame), rel=1e-6)
    assert read.share == pytest.approx(solution.achieved, rel=1e-9)


@pytest.mark.parametrize("certification", ["auto", "held-out"])
@pytest.mark.parametrize("is_blind", [True, False])
def test_bounds_on_means_given_controls_are_certified(people, is_blind, certification):
    frame, eta = people
    frame, eta = pd.concat([frame] * 8, ignore_index=True), np.tile(eta, 8)
    y = respond("binomial", eta)
    options = {"definition": "mean-parity", "blind": is_blind, "certification": certification}
    model = blind("binomial", 0.05, confidence=0.9, **options).fit(frame, y)
    found = model.certificate_
    assert found.granted
    assert 0.0 < found.training_bound < 0.05
    assert found.upper <= 0.05


def test_means_of_several_classes_beside_controls(people):
    frame, eta = people
    y = respond("multinomial", eta)
    options = {"definition": "mean-parity", "predictor_penalty": 0.1, "standardize": False}
    model = blind("multinomial", 0.9, **options).fit(frame, y)
    assert model.status_ == "inactive"
