"""Bounds on what S explains beyond controls: of linear predictors and means, with and without S.

That bounds hold, and what other functions say of these models, is in tests/contracts/.
"""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.linear_model import LinearRegression

from fairridge import FairRidgeClassifier, FairRidgeRegressor
from fairridge.exceptions import BoundWarning
from tests import zoo
from tests.zoo import means, r_squared

N = 300
S, C, X = ["sex", "age"], ["level", "years"], ["x1", "x2", "x3"]


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


def fair(family, r, **options):
    return zoo.model_of(family, r, **{"sensitive": S, "controls": C} | options)


def dummies(frame, names):
    return pd.get_dummies(frame[names], drop_first=True).to_numpy(float)


def scores(model, frame):
    return model._linear_predictor(frame, None, None)


def left(values, columns):
    """Residuals of least squares."""
    return values - LinearRegression().fit(columns, values).predict(columns)


def share(values, frame, names=S):
    """Partial R² on S given the controls, added over classes."""
    return r_squared(values, dummies(frame, names), None, dummies(frame, C))


def projection(frame):
    """Return an orthonormal basis of what controls leave of S, and controls with a constant."""
    given = np.linalg.qr(np.column_stack([np.ones(len(frame)), dummies(frame, C)]))[0]
    of_S = dummies(frame, S)
    return np.linalg.qr(of_S - given @ (given.T @ of_S))[0], given


# ----------------------------------------------------------------- which model


def test_at_zero_controls_and_predictors_fit_what_s_leaves(people):
    frame, eta = people
    y, c = respond("gaussian", eta), dummies(frame, C)
    model = fair("gaussian", 0.0).fit(frame, y)
    U = left(left(dummies(frame, X), c), left(dummies(frame, S), c))
    both = np.column_stack([c, U])
    expected = LinearRegression().fit(both, y).predict(both)
    np.testing.assert_allclose(scores(model, frame), expected, rtol=1e-9)


@pytest.mark.parametrize("penalty", [0.0, 4.0])
def test_a_gaussian_blind_model_is_that_of_residuals(people, penalty):
    """In closed form: controls first, then the blind model of what they leave."""
    frame, eta = people
    y, c = respond("gaussian", eta), dummies(frame, C)
    options = {"blind": True, "predictor_penalty": penalty}
    model = fair("gaussian", 0.02, **options).fit(frame, y)
    expected = FairRidgeRegressor(0.02, **options).fit(
        left(frame[X].to_numpy(), c), left(y, c), sensitive_features=left(dummies(frame, S), c)
    )
    found = dict(zip(model.coef_names_, model.coef_, strict=True))
    np.testing.assert_allclose([found[name] for name in X], expected.coef_, rtol=1e-8, atol=1e-11)
    assert model.lambda_ == pytest.approx(expected.lambda_, rel=1e-8)
    assert model.deviance_ == pytest.approx(expected.deviance_, rel=1e-9)


@pytest.mark.parametrize(("family", "penalty"), [("binomial", 0.0), ("poisson", 4.0)])
def test_a_blind_model_solves_its_equations(people, family, penalty):
    """½∂D/∂b + λ(P X)ᵀP η + λ₂VAR(x̃)b = 0, P the projection on what controls leave of S."""
    frame, eta = people
    y = respond(family, eta)
    model = fair(family, 0.02, blind=True, predictor_penalty=penalty).fit(frame, y)
    P, given = projection(frame)
    of_X = dummies(frame, X)
    of_X = of_X - given @ (given.T @ of_X)
    A = np.column_stack([np.ones(N), dummies(frame, C), dummies(frame, X)])
    score = scores(model, frame)
    b = np.linalg.lstsq(A, score, rcond=None)[0]
    mean = {"binomial": expit, "poisson": np.exp}[family](score)
    gradient = A.T @ (mean - y) + model.lambda_ * A.T @ (P @ (P.T @ (of_X @ b[4:])))
    gradient[4:] += penalty * of_X.var(axis=0) * b[4:]
    assert model.lambda_ > 0.0
    assert np.abs(gradient).max() < 1e-7 * np.abs(A.T @ np.abs(mean - y)).max()


@pytest.mark.parametrize(
    ("family", "r", "blind"),
    [
        ("gaussian", 0.02, False),
        ("binomial", 0.02, False),
        ("poisson", 0.0, False),
        ("binomial", 0.0, True),
        ("binomial", 0.02, True),
    ],
)
def test_no_other_balanced_model_of_means_fits_better(people, family, r, blind):
    """SLSQP, from several starts, with as little explained by S beyond the controls."""
    frame, eta = (part[:120] for part in people)
    y = respond(family, eta)
    model = fair(family, r, definition="mean-parity", blind=blind).fit(frame, y)
    names = (C, X) if blind else (S, C, X)
    A = np.column_stack([np.ones(len(y)), *(dummies(frame, k) for k in names)])
    here = np.linalg.lstsq(A, scores(model, frame), rcond=None)[0]
    ours, best = zoo.least_deviance(family, A, y, projection(frame)[0], here, r)
    assert abs(ours - best) <= 1e-5 * abs(best)


@pytest.mark.parametrize("family", ["gaussian", "binomial", "cox"])
def test_without_a_bound_controls_change_nothing(people, family):
    frame, eta = people
    y = respond(family, eta)
    expected = fair(family, 1.0, controls=None).fit(frame, y)
    for definition in ("statistical-parity", "mean-parity")[: 1 if family == "cox" else 2]:
        model = fair(family, 1.0, definition=definition).fit(frame, y)
        np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-6, atol=1e-8)
        for name in ("deviance_", "loglik_", "dispersion_", "explained_deviance_"):
            assert getattr(model, name) == pytest.approx(getattr(expected, name), rel=1e-9)


def test_controls_are_not_penalized(people):
    frame, eta = people
    y, c = respond("gaussian", eta), dummies(frame, C)
    model = fair("gaussian", 0.0, predictor_penalty=1e12).fit(frame, y)
    expected = LinearRegression().fit(c, y).predict(c)
    np.testing.assert_allclose(scores(model, frame), expected, atol=1e-6)
    logistic = fair("binomial", 0.0, predictor_penalty=1e12).fit(frame, respond("binomial", eta))
    found = dict(zip(logistic.coef_names_, np.abs(logistic.coef_[0]), strict=True))
    assert min(found[name] for name in ("level[low]", "level[middle]", "years")) > 0.01
    assert max(found[name] for name in X) < 1e-6


# ------------------------------------------------------------------ what is said


@pytest.mark.parametrize(
    ("family", "definition"), [("gaussian", "statistical-parity"), ("binomial", "mean-parity")]
)
def test_what_the_controls_cover_up_is_reported(people, family, definition):
    frame, eta = people
    model = fair(family, 0.0, definition=definition).fit(frame, respond(family, eta))
    parts = model.unfairness_components_
    whole = r_squared(means(model, frame), dummies(frame, S))
    assert whole > 0.03
    assert parts["r_squared_unconditional"] == pytest.approx(whole, abs=1e-9)
    of_controls = [r_squared(c, dummies(frame, S)) for c in dummies(frame, C).T]
    assert parts["controls_explained_by_sensitive"] == pytest.approx(np.mean(of_controls))
    text = str(model.summary(details=True))
    assert re.search(rf"Definition: +{definition}\b", text)
    assert re.search(r"Given: +\S", text)
    assert "Without controls" in text
    assert "S explains of controls" in text


# --------------------------------------------------------------------- columns


def test_collinear_controls_count_once(people):
    frame, eta = people
    y, twice = respond("gaussian", eta), frame.assign(again=2.0 * frame["years"] - 1.0)
    with pytest.warns(UserWarning, match="linear combinations"):
        model = fair("gaussian", 0.05, controls=[*C, "again"]).fit(twice, y)
    expected = fair("gaussian", 0.05).fit(frame, y)
    np.testing.assert_allclose(model.predict(twice), expected.predict(frame), rtol=1e-9)


@pytest.mark.parametrize(
    ("family", "definition"), [("gaussian", "statistical-parity"), ("binomial", "mean-parity")]
)
def test_controls_may_explain_all_of_s(people, family, definition):
    frame, eta = people
    twins = frame.assign(male=(frame["sex"] == "m") * 1.0, years=frame["age"])
    model = fair(family, 0.0, controls=["male", "years"], definition=definition)
    with pytest.warns(UserWarning, match="linear combinations"):
        model.fit(twins, respond(family, eta))
    assert (model.status_, model.unfairness_) == ("inactive", 0.0)
    assert model.unfairness_components_["r_squared_unconditional"] > 0.05


@pytest.mark.parametrize("family", ["gaussian", "binomial"])
def test_nothing_but_controls_leaves_bounds_no_middle(people, family):
    frame, eta = people
    y, only = respond(family, eta), frame.drop(columns=X)
    fair_, free = (fair(family, r).fit(only, y) for r in (0.0, 1.0))
    with pytest.warns(BoundWarning, match=r"All predictors are controls.*0\.3 means 0"):
        between = fair(family, 0.3).fit(only, y)
    np.testing.assert_allclose(between.coef_, fair_.coef_, rtol=1e-6, atol=1e-9)
    assert free.unfairness_ == pytest.approx(1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", BoundWarning)
        fair(family, 0.3, controls=["level"]).fit(only, y)
        if family == "binomial":  # means bend what is added up
            model = fair(family, 0.01, definition="mean-parity").fit(only, y)
            assert share(means(model, only), only) == pytest.approx(0.01, abs=1e-9)


def test_without_predictors_that_s_does_not_explain_only_controls_are_left(people):
    frame, eta = people
    y = respond("binomial", eta)
    few = frame[[*S, *C, "x1"]]
    floor = fair("binomial", 0.9, blind=True).fit(few, y).unfairness_
    assert floor > 0.05  # of one predictor S explains the same share at every λ
    with pytest.warns(BoundWarning, match="Only predictions from the controls alone meet"):
        model = fair("binomial", 0.5 * floor, blind=True).fit(few, y)
    assert model.status_ == "infeasible"
    alone = FairRidgeClassifier(1.0, sensitive=S, blind=True).fit(few[[*S, *C]], y)
    np.testing.assert_allclose(scores(model, few), scores(alone, few[[*S, *C]]), atol=1e-7)


@pytest.mark.parametrize(
    ("controls", "error", "message"),
    [
        (["nothing"], ValueError, "X has no column 'nothing'"),
        (["sex"], ValueError, "controls names column 'sex', which is sensitive"),
        ([], ValueError, r"controls=\[\] names no column"),
        (["level", "level"], ValueError, "controls names column 'level' more than once"),
        ([7], ValueError, "controls names column 7, but X has 7"),
        ([1.5], TypeError, "controls holds 1.5"),
    ],
)
def test_what_is_no_control_is_named(people, controls, error, message):
    with pytest.raises(error, match=message):
        fair("gaussian", 0.05, controls=controls).fit(*people)
