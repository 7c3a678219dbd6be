"""Bounds on what S explains of the predicted means beyond controls."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from fairridge import (
    FairRidgeSurvival,
    cross_validate,
    load,
    save,
    sources,
)
from fairridge.exceptions import BoundWarning
from tests import zoo
from tests.zoo import means, r_squared

N = 300
S, C = ["sex", "age"], ["level", "years"]
FAMILIES = ["gaussian", "poisson", "binomial", "multinomial"]


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(9)
    sex = rng.choice(["f", "m"], N)
    age = rng.normal(size=N) + 0.3 * (sex == "m")
    level = np.array(["low", "middle", "high"])[
        np.digitize(rng.normal(size=N) + 0.6 * (sex == "m"), [-0.5, 0.7])
    ]
    years = rng.normal(size=N) + 0.5 * age
    x = rng.normal(size=(N, 2)) + 0.4 * years[:, None] + np.outer(sex == "m", [0.5, -0.3])
    frame = pd.DataFrame(
        {"years": years, "sex": sex, "x1": x[:, 0], "level": level, "age": age, "x2": x[:, 1]}
    )
    eta = 0.7 * (sex == "m") + 0.4 * age + 0.6 * (level == "high") + 0.4 * years
    return frame, eta + x @ [0.5, -0.4] - 0.5


def respond(family, eta):
    return zoo.responses(eta, 4, labels=(0, 1))[family]


def fair(family, r, **options):
    fixed = {"sensitive": S, "controls": C, "definition": "mean-parity"}
    return zoo.model_of(family, r, **fixed | options)


def dummies(frame, names):
    return pd.get_dummies(frame[names], drop_first=True).to_numpy(float)


def share(mu, frame, names=S, controls=C, weight=None):
    """Partial R², added over classes."""
    given = dummies(frame, controls) if controls else None
    return r_squared(mu, dummies(frame, names), weight, given)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("r", [0.0, 0.01, 0.05, 1.0])
def test_users_measure_the_partial_r_squared(people, family, r):
    frame, eta = people
    model = fair(family, r).fit(frame, respond(family, eta))
    value = share(means(model, frame), frame)
    assert model.unfairness_ == pytest.approx(value, abs=1e-9)
    if r < 1.0:
        assert value == pytest.approx(r, abs=1e-9)
    assert model.status_ == ("inactive" if r == 1.0 else "converged")
    assert model.lambda_ == {0.0: np.inf, 1.0: 0.0}.get(r, model.lambda_)
    parts = model.unfairness_components_
    whole = share(means(model, frame), frame, controls=())
    assert parts["r_squared_unconditional"] == pytest.approx(whole, abs=1e-9)
    assert whole > r or r == 1.0
    explained = [r_squared(c, dummies(frame, S)) for c in dummies(frame, ["level", "years"]).T]
    assert parts["controls_explained_by_sensitive"] == pytest.approx(np.mean(explained))


@pytest.mark.parametrize("family", ["gaussian", "binomial", "poisson"])
@pytest.mark.parametrize("r", [0.0, 0.02])
def test_no_other_model_fits_better(people, family, r):
    """SLSQP, from several starts, balanced and with as little explained by S given the controls."""
    frame, eta = (part[:120] for part in people)
    y = respond(family, eta)
    model = fair(family, r).fit(frame, y)
    A = np.column_stack([np.ones(len(y)), *(dummies(frame, k) for k in (S, C, ["x1", "x2"]))])
    given = np.linalg.qr(A[:, [0, 3, 4, 5]])[0]
    of_S = A[:, 1:3] - given @ (given.T @ A[:, 1:3])
    Q = np.linalg.qr(of_S)[0]
    mean = {
        "gaussian": np.asarray,
        "binomial": expit,
        "poisson": lambda t: np.exp(np.minimum(t, 30.0)),
    }[family]

    def explained(theta):
        return Q.T @ mean(A @ theta)

    def deviance(theta):
        t = A @ theta
        if family == "gaussian":
            return np.sum((y - t) ** 2)
        # SLSQP may try anything.
        b = np.exp(np.minimum(t, 30.0)) if family == "poisson" else np.logaddexp(0.0, t)
        return 2.0 * np.sum(b - y * t)

    here = np.linalg.lstsq(A, model._linear_predictor(frame, None, None), rcond=None)[0]
    limit = np.sum(explained(here) ** 2)
    bound = (
        {"type": "eq", "fun": explained}
        if r == 0.0
        else {"type": "ineq", "fun": lambda t: limit - np.sum(explained(t) ** 2)}
    )
    rng = np.random.default_rng(0)
    found = [
        minimize(
            deviance,
            start,
            method="SLSQP",
            constraints=[bound, {"type": "eq", "fun": lambda t: np.sum(mean(A @ t) - y)}],
            options={"maxiter": 500, "ftol": 1e-13},
        )
        for start in (here, *0.1 * rng.normal(size=(3, A.shape[1])))
    ]
    feasible = [f.fun for f in found if np.sum(explained(f.x) ** 2) <= limit + 1e-8]
    assert abs(deviance(here) - min(feasible)) <= 1e-5 * abs(min(feasible))


def test_gaussian_models_have_the_radial_penalty(people):
    frame, eta = people
    y = respond("gaussian", eta)
    for r in (0.0, 0.03, 0.9):
        ours = fair("gaussian", r).fit(frame, y)
        theirs = fair("gaussian", r, definition="statistical-parity", penalty="radial")
        np.testing.assert_allclose(ours.coef_, theirs.fit(frame, y).coef_, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("family", FAMILIES)
def test_without_a_bound_controls_change_nothing(people, family):
    frame, eta = people
    y = respond(family, eta)
    model, expected = (fair(family, 1.0, controls=c).fit(frame, y) for c in (C, None))
    np.testing.assert_allclose(means(model, frame), means(expected, frame), rtol=1e-6)
    assert model.loglik_ == pytest.approx(expected.loglik_, rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("family", ["gaussian", "binomial"])
def test_weights_files_and_saved_models(people, family, tmp_path):
    frame, eta = people
    y, weight = respond(family, eta), np.random.default_rng(3).integers(0, 3, N)
    rep = np.repeat(np.arange(N), weight)
    model = fair(family, 0.02).fit(frame, y, sample_weight=weight)
    repeated = fair(family, 0.02).fit(frame.iloc[rep], y[rep])
    np.testing.assert_allclose(model.coef_, repeated.coef_, rtol=1e-6, atol=1e-9)
    assert share(means(model, frame), frame, weight=weight) == pytest.approx(0.02, abs=1e-9)
    frame.assign(y=y, w=weight).to_parquet(tmp_path / "rows.parquet")
    source = sources.parquet(
        tmp_path / "rows.parquet", response="y", sensitive=S, weight="w", batch_rows=90
    )
    there = fair(family, 0.02, sensitive=None).fit(source)
    np.testing.assert_allclose(means(there, frame), means(model, frame), rtol=1e-7)
    assert there.unfairness_components_ == pytest.approx(model.unfairness_components_, abs=1e-8)
    save(model, tmp_path / "m.json")
    again = load(tmp_path / "m.json")
    np.testing.assert_array_equal(means(again, frame), means(model, frame))
    text = str(again.summary())
    assert re.search(r"Definition: +mean-parity\b", text)
    assert re.search(r"Given: +\S", text)
    assert "Without controls" in text
    assert "S explains of controls" in text


@pytest.mark.parametrize("family", ["gaussian", "binomial"])
def test_paths_and_folds(people, family):
    frame, eta = people
    y = respond(family, eta)
    single = fair(family, 0.02).fit(frame, y)
    path = fair(family, 0.5).path(frame, y, unfairness=[0.0, 0.02, 0.9])
    assert path.status == ("converged", "converged", "inactive")
    np.testing.assert_allclose(path.at(0.02).coef_, single.coef_, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(path.beta[1], single.beta_, rtol=1e-6, atol=1e-9)
    fold = (np.arange(200), np.arange(200, N))
    found = cross_validate(fair(family, 0.5), frame, y, unfairness=[0.02], folds=[fold])
    model = fair(family, 0.02).fit(frame[:200], y[:200])
    value = share(means(model, frame[200:]), frame[200:])
    n = N - 200 - 3
    expected = 1.0 - (1.0 - value) * (n - 1) / (n - 3)
    assert found.records[0]["achieved"] == pytest.approx(expected, abs=1e-7)
    assert found.records[0]["train_achieved"] == pytest.approx(0.02, abs=1e-9)


@pytest.mark.parametrize("family", ["gaussian", "binomial", "multinomial"])
def test_attributes_may_have_bounds_of_their_own(people, family):
    frame, eta = people
    bounds = {"sex": 0.005, "age": 0.02}
    model = fair(family, bounds).fit(frame, respond(family, eta))
    for name, r in bounds.items():
        assert share(means(model, frame), frame, [name]) == pytest.approx(r, abs=1e-9)
        assert model.unfairness_[name] == pytest.approx(r, abs=1e-9)
    parts = model.unfairness_components_
    assert parts["r_squared_sensitive"] == pytest.approx(share(means(model, frame), frame))
    assert "r_squared_unconditional" in parts


def test_controls_may_be_all_predictors(people):
    frame, eta = people
    rows = frame.drop(columns=["x1", "x2"])
    model = fair("binomial", 0.01).fit(rows, respond("binomial", eta))
    assert model.status_ == "converged"
    assert share(means(model, rows), rows) == pytest.approx(0.01, abs=1e-9)
    # A gaussian model has nothing but S beyond the controls.
    y, D = respond("gaussian", eta), np.column_stack([np.ones(N), dummies(rows, C)])
    with pytest.warns(BoundWarning, match="All predictors are controls"):
        model = fair("gaussian", 0.01).fit(rows, y)
    expected = D @ np.linalg.lstsq(D, y, rcond=None)[0]
    np.testing.assert_allclose(model.predict(rows), expected, rtol=1e-9)
    assert model.unfairness_ == 0.0


def test_controls_may_explain_all_of_s(people):
    frame, eta = people
    twins = frame.assign(male=(frame["sex"] == "m").astype(float), years=frame["age"])
    model = fair("binomial", 0.0, controls=["male", "years"])
    with pytest.warns(UserWarning, match="linear combinations"):
        model.fit(twins, respond("binomial", eta))
    assert model.status_ == "inactive"
    assert model.unfairness_ == 0.0
    assert model.unfairness_components_["r_squared_unconditional"] > 0.05


def test_what_does_not_apply_is_refused(people):
    frame, eta = people
    with pytest.raises(ValueError, match="works with penalty='ridge' only"):
        fair("binomial", 0.05, penalty="lasso").fit(frame, respond("binomial", eta))
    times = np.column_stack([np.exp(-eta), np.ones(N)])
    model = FairRidgeSurvival(0.05, sensitive=S, controls=C, definition="mean-parity")
    with pytest.raises(ValueError, match="mean"):
        model.fit(frame, times)
