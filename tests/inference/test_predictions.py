"""Predictions of new rows with intervals."""

import numpy as np
import pandas as pd
import pytest

from fairridge import FairRidgeClassifier, FairRidgeRegressor, FairRidgeSurvival
from tests.zoo import LateModule

from .test_models import COLUMNS, SENSITIVE, make_people

sm = LateModule("statsmodels.api")


@pytest.fixture(scope="module")
def people():
    return make_people(n=500)


def encoded(people):
    levels = [people["region"] == level for level in ("south", "west")]
    columns = [people["sex"] == "male", people["age"], people["skill"], *levels]
    return np.column_stack([np.ones(len(people)), *columns]).astype(float)


def test_without_a_bound_intervals_are_those_of_statsmodels(people):
    new, Z = people[COLUMNS].head(20), encoded(people)
    data = people[COLUMNS], people["wage"]
    found = FairRidgeRegressor(1.0, sensitive=SENSITIVE).fit(*data).inference(*data).predict(new)
    theirs = sm.OLS(people["wage"].to_numpy(), Z).fit(cov_type="HC1", use_t=True)
    expected = theirs.get_prediction(Z[:20]).summary_frame()
    assert isinstance(found, pd.DataFrame)
    for ours, name in zip(found, ("mean", "mean_ci_lower", "mean_ci_upper"), strict=True):
        np.testing.assert_allclose(found[ours], expected[name], rtol=1e-8)
    data = people[COLUMNS], people["visits"]
    poisson = FairRidgeRegressor(1.0, family="poisson", sensitive=SENSITIVE)
    given = {"offset": people["exposure"]}
    inference = poisson.fit(*data, **given).inference(*data, **given, covariance="HC0")
    found = inference.predict(new, offset=people["exposure"].head(20))
    glm = sm.GLM(data[1].to_numpy(), Z, sm.families.Poisson(), offset=people["exposure"].to_numpy())
    theirs = glm.fit(cov_type="HC0", tol=1e-12).get_prediction(
        Z[:20], offset=people["exposure"].to_numpy()[:20]
    )
    expected = theirs.summary_frame()
    for ours, name in zip(found, ("mean", "mean_ci_lower", "mean_ci_upper"), strict=True):
        np.testing.assert_allclose(found[ours], expected[name], rtol=1e-5)


@pytest.mark.parametrize("options", [{}, {"blind": True}, {"controls": ["skill"]}], ids=str)
def test_means_are_those_that_the_model_predicts(people, options):
    data = people[COLUMNS], people["hired"]
    model = FairRidgeClassifier(0.01, sensitive=SENSITIVE, **options).fit(*data)
    new = people[COLUMNS].head(9)
    new = new.drop(columns=SENSITIVE) if "blind" in options else new
    found = model.inference(*data).predict(new, confidence=0.9)
    np.testing.assert_allclose(found["mean"], model.predict_proba(new)[:, 1])
    assert (found["lower"] < found["mean"]).all()
    assert (found["mean"] < found["upper"]).all()
    with pytest.raises(ValueError, match="'skill'"):
        model.inference(*data).predict(new.assign(skill=np.nan))


def test_several_classes_have_intervals_of_their_own(people):
    data = people[COLUMNS], people["job"]
    model = FairRidgeClassifier(0.02, sensitive=SENSITIVE).fit(*data)
    inference, new = model.inference(*data), people[COLUMNS].head(3)
    found = inference.predict(new)
    np.testing.assert_allclose(found[list(model.classes_)], model.predict_proba(new))
    # Draws of coefficients, transformed: the delta method agrees to its order.
    drawn = np.random.default_rng(0).multivariate_normal(
        inference.estimate, inference.covariance, 20_000
    )
    eta = np.einsum("dck,nk->dnc", drawn.reshape(-1, 3, 6), encoded(new)[:, [0, *places(model)]])
    P = np.exp(eta) / np.exp(eta).sum(axis=2, keepdims=True)
    for k, label in enumerate(model.classes_):
        lower, upper = np.quantile(P[:, :, k], [0.025, 0.975], axis=0)
        np.testing.assert_allclose(found[f"{label}_lower"], lower, atol=0.01)
        np.testing.assert_allclose(found[f"{label}_upper"], upper, atol=0.01)


def places(model):
    names = ["sex[male]", "age", "skill", "region[south]", "region[west]"]
    return [1 + names.index(name) for name in model.coef_names_]


def test_hazards_have_no_means(people):
    times = np.random.default_rng(0).exponential(size=len(people))
    y = np.column_stack([times, np.ones(len(people))])
    model = FairRidgeSurvival(0.02, sensitive=SENSITIVE).fit(people[COLUMNS], y)
    with pytest.raises(ValueError, match="predicts no means"):
        model.inference(people[COLUMNS], y).predict(people[COLUMNS])
