"""A bound for each of several attributes, on what it alone explains of the predicted means."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from fairridge import (
    compare,
    cross_validate,
    sources,
)
from tests import zoo
from tests.zoo import crossed, means, r_squared

N = 400
S = ["sex", "age", "race"]
BOUNDS = {"sex": 0.01, "age": 0.03}


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(1)
    sex, race = rng.choice(["f", "m"], N), rng.choice(list("abc"), N)
    age = rng.normal(40.0, 10.0, N) + 4.0 * (sex == "m")
    x = rng.normal(size=(N, 3)) + np.outer(sex == "m", [0.5, 0.0, 0.0]) + 0.02 * age[:, None]
    frame = pd.DataFrame(
        {"sex": sex, "x1": x[:, 0], "age": age, "x2": x[:, 1], "race": race, "x3": x[:, 2]}
    )
    eta = 0.8 * (sex == "m") + 0.03 * (age - 40.0) + 0.5 * (race == "b") + x @ [0.5, 0.4, -0.6]
    return frame, eta - 0.5


def respond(family, eta):
    return zoo.responses(eta, 2, labels=(0, 1))[family]


def fair(family, bounds, **options):
    return zoo.model_of(family, bounds, **{"sensitive": S, "definition": "mean-parity"} | options)


def share(mu, frame, name, weight=None):
    """R² by least squares, added over classes."""
    columns = frame[[name] if isinstance(name, str) else list(name)]
    return r_squared(mu, pd.get_dummies(columns, drop_first=True).to_numpy(float), weight)


SETS = {
    "two": BOUNDS,
    "three": {"race": 0.05, "age": 0.0, "sex": 0.005},
    "zeros": {"age": 0.0, "sex": 0.0},
}


@crossed(
    family=["gaussian", "poisson", "binomial", "multinomial"], bounds=SETS, blind=[False, True]
)
def test_users_measure_each_bound(people, family, blind, bounds):
    bounds = SETS[bounds]
    frame, eta = people
    model = fair(family, bounds, blind=blind).fit(frame, respond(family, eta))
    mu = means(model, frame)
    for name, r in bounds.items():
        value = share(mu, frame, name)
        assert value <= r + 1e-9
        assert abs(model.unfairness_[name] - value) <= 1e-9
        if model.status_[name] == "converged":
            assert abs(value - r) <= 1e-9
            assert model.lambda_[name] == np.inf if r == 0.0 else 0.0 < model.lambda_[name] < np.inf
        else:
            assert model.status_[name] == "inactive"
            assert model.lambda_[name] == 0.0
    assert "converged" in model.status_.values()
    assert model.converged_
    assert model.bound_active_
    assert list(model.unfairness_) == list(model.status_) == list(model.lambda_) == list(bounds)
    joint = model.unfairness_components_["r_squared_sensitive"]
    assert joint == pytest.approx(share(mu, frame, S), abs=1e-9)
    assert joint == pytest.approx(model.dependence_["share_of_means"], abs=1e-9)


@pytest.mark.parametrize("bounds", [(0.01, 0.02), (0.02, 0.01), (0.0, 0.01), (0.0, 0.0)])
def test_of_two_names_for_one_thing_the_stricter_binds(people, bounds):
    frame, eta = people
    y = respond("binomial", eta)
    twin = frame.assign(twin=np.where(frame["sex"] == "m", 2.0, 1.0))
    model = fair("binomial", dict(zip(["sex", "twin"], bounds, strict=True)))
    model.set_params(sensitive=[*S, "twin"])
    with pytest.warns(UserWarning, match="'twin'"):
        model.fit(twin, y)
    expected = fair("binomial", {"sex": min(bounds)}).fit(frame, y)
    np.testing.assert_allclose(means(model, twin), means(expected, frame), rtol=1e-6)
    assert model.converged_


def test_bounds_that_only_the_constant_meets(people):
    """Three predictors are too few for these; none of their directions has such shares."""
    frame, eta = (part[:120] for part in people)
    model = fair("gaussian", {"race": 0.001, "age": 0.0, "sex": 0.005}, blind=True)
    with pytest.warns(ConvergenceWarning, match=r"'race': 0\.001.*raise these bounds"):
        model.fit(frame, respond("gaussian", eta))
    assert not model.converged_
    assert set(model.status_.values()) == {"not-converged"}
    np.testing.assert_allclose(np.ptp(model.predict(frame)), 0.0, atol=1e-9)


# -------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        (
            {"sex": 0.01, "hair": 0.1},
            r"'hair', which is not a sensitive attribute; these are 'sex'",
        ),
        ({"x1": 0.01}, r"'x1', which is not a sensitive attribute"),
        ({0: 0.01}, r"names 0, which is not a sensitive attribute"),
        ({"sex": -0.1}, r"unfairness of 'sex' is -0.1, which is not a bound"),
        ({"sex": 1.1}, r"unfairness of 'sex' is 1.1"),
        ({"sex": "low"}, r"unfairness of 'sex' is 'low'"),
        ({"sex": True}, r"unfairness of 'sex' is True"),
        ({"sex": float("nan")}, r"unfairness of 'sex' is nan"),
        ({}, r"unfairness=\{\} bounds no attribute"),
    ],
)
def test_what_is_no_bound_is_named(people, bounds, message):
    frame, eta = people
    with pytest.raises(ValueError, match=message):
        fair("binomial", bounds).fit(frame, respond("binomial", eta))


def test_what_needs_one_bound_says_so(people, tmp_path):
    frame, eta = people
    y = respond("binomial", eta)
    model = fair("binomial", BOUNDS).fit(frame, y)
    for use in (
        lambda: clone(model).set_params(unfairness=0.1).path(frame, y, unfairness=BOUNDS),
        lambda: cross_validate(model, frame, y, unfairness=BOUNDS),
        lambda: compare(frame, y, sensitive=S, unfairness=BOUNDS),
    ):
        with pytest.raises(ValueError, match="has a bound per attribute"):
            use()
    with pytest.raises(ValueError, match="inference needs one bound for all of S"):
        model.inference(frame, y)


def test_moments_are_not_enough(people, tmp_path):
    frame, eta = people
    frame.assign(y=eta).to_parquet(tmp_path / "rows.parquet")
    moments = sources.moments(sources.parquet(tmp_path / "rows.parquet", response="y", sensitive=S))
    with pytest.raises(ValueError, match="bounds per attribute need the rows"):
        fair("gaussian", BOUNDS, sensitive=None).fit(moments)
