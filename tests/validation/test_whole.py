"""Folds that start from the models of all rows: the same models, in fewer passes."""

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import KFold
from threadpoolctl import threadpool_limits

from fairridge import FairRidgeClassifier, FairRidgeRegressor, ZafarClassifier
from fairridge.estimators._training import read_training
from fairridge.validation.one_fold import WholeModel

BOUNDS = np.array([0.0, 0.02, 0.1, 1.0])


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    with threadpool_limits(1, "blas"):
        yield


@pytest.fixture(scope="module")
def frame():
    """A rare level makes folds differ from the whole."""
    rng = np.random.default_rng(7)
    n = 600
    sex = rng.integers(0, 2, n).astype(float)
    age = rng.normal(40.0, 10.0, n)
    town = np.where(rng.random(n) < 0.03, "z", rng.choice(list("ab"), n))
    skill = rng.normal(size=n) + 0.8 * sex + 0.03 * age
    return pd.DataFrame({"sex": sex, "age": age, "skill": skill, "town": town})


@pytest.fixture(scope="module")
def eta(frame):
    return 0.9 * frame["skill"] + 0.8 * frame["sex"] + (frame["town"] == "z") - 2.0


def response(family, eta):
    rng = np.random.default_rng(8)
    noisy = eta.to_numpy() + rng.logistic(size=len(eta))
    if family == "poisson":
        return rng.poisson(np.exp(0.5 * eta.to_numpy()))
    return np.digitize(noisy, [-0.5, 1.0]) if family == "multinomial" else (noisy > 0.0).astype(int)


def models(family):
    if family == "poisson":
        return FairRidgeRegressor(family="poisson", sensitive=["sex", "age"])
    if family == "zafar":
        return ZafarClassifier(bound="covariance", sensitive=["sex", "age"])
    blind = family == "blind"
    return FairRidgeClassifier(sensitive=["sex", "age"], separation="warn", blind=blind)


SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in ("poisson", "multinomial", "blind")]
FAMILIES = [*SLOW, "binomial", "zafar"]


@pytest.mark.parametrize("family", FAMILIES)
def test_models_of_folds_are_those_of_a_search_from_nothing(frame, eta, family):
    model, y = models(family), response(family, eta)
    training = read_training(model, frame, y, None, None, None)
    whole = WholeModel.of(model, training)
    assert whole.warm_start is not None
    for train, test in list(KFold(6, shuffle=True, random_state=1).split(frame))[:2]:
        started, searched = (
            model._solve(one.problem(training.fold(train, test)[0]), BOUNDS)
            for one in (whole, WholeModel(model, training))
        )
        for ours, cold in zip(started, searched, strict=True):
            assert ours.choice.status == cold.choice.status
            assert ours.fit.lambda_ == pytest.approx(cold.fit.lambda_, rel=1e-7)
            for name in ("alpha", "beta", "intercept"):
                expected = getattr(cold.fit, name)
                atol = 1e-8 * (1.0 + np.abs(expected).max())
                np.testing.assert_allclose(getattr(ours.fit, name), expected, rtol=1e-7, atol=atol)
