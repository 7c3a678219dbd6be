"""Stacked models in files, with exposure, and with metadata for their learners."""

import json

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression, PoissonRegressor
from sklearn.pipeline import make_pipeline

import fairridge
from fairridge import FairRidgeRegressor
from fairridge.stacking import FairStackingClassifier, FairStackingRegressor
from tests.stacking.test_stacking import N, encoder, people

OPTIONS = {"cv": 2, "random_state": 0}


@pytest.fixture(scope="module")
def hired():
    frame, eta, rng = people()
    return frame, np.where(rng.random(N) < 1 / (1 + np.exp(-eta)), "yes", "no")


@pytest.fixture(scope="module")
def claims():
    frame, eta, rng = people()
    exposure = rng.uniform(0.1, 2.0, N)
    return frame, rng.poisson(exposure * np.exp(eta / 2)), exposure


@pytest.fixture(scope="module")
def stack(hired):
    return FairStackingClassifier(None, 0.01, sensitive="sex", blind=True, **OPTIONS).fit(*hired)


@pytest.mark.slow
def test_saved_models_predict_the_same(hired, stack, tmp_path):
    X, y = hired
    path = tmp_path / "stack.json"
    fairridge.save(stack, path)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["stack.json", "stack.json.skops"]
    again = fairridge.load(path)
    new = X.drop(columns="sex")
    np.testing.assert_array_equal(again.predict_proba(new), stack.predict_proba(new))
    assert again.get_params()["blind"] is True
    assert again.unfairness_ == stack.unfairness_
    assert again.fingerprint_ == stack.fingerprint_
    assert str(again.summary()) == str(stack.summary())
    assert list(again.feature_names_in_) == list(X.columns)
    with pytest.raises(ValueError, match="scores of the training rows are not saved"):
        again.inference(X, y)
    refitted = again.fit(X, y)
    np.testing.assert_array_equal(refitted.predict_proba(X), stack.predict_proba(X))


@pytest.mark.slow
def test_nothing_is_unpickled_unless_it_is_trusted(stack, hired, tmp_path):
    path = tmp_path / "stack.json"
    fairridge.save(stack, path, learners="joblib")
    with pytest.raises(ValueError, match=r"a pickle.*trusted=True"):
        fairridge.load(path)
    with pytest.raises(ValueError, match="a pickle"):
        fairridge.load(path, trusted=["all"])
    again = fairridge.load(path, trusted=True)
    np.testing.assert_array_equal(again.predict(hired[0]), stack.predict(hired[0]))
    with pytest.raises(ValueError, match="learners='pickle'"):
        fairridge.save(stack, path, learners="pickle")


class Shares(ClassifierMixin, BaseEstimator):
    """A learner of a type that no library knows."""

    def fit(self, X, y):
        self.classes_, counts = np.unique(y, return_counts=True)
        self.shares_ = counts / counts.sum()
        return self

    def predict_proba(self, X):
        tilt = np.tanh(np.asarray(X["skill"], dtype=float))[:, None] * [-0.1, 0.1]
        return self.shares_ + tilt


@pytest.mark.slow
def test_types_of_others_are_named_before_they_are_made(hired, tmp_path):
    X, y = hired
    path = tmp_path / "stack.json"
    model = FairStackingClassifier(Shares(), sensitive="sex", **OPTIONS).fit(X, y)
    fairridge.save(model, path)
    name = f"{__name__}.Shares"
    with pytest.raises(ValueError, match=rf"not known to be harmless: {name}"):
        fairridge.load(path)
    again = fairridge.load(path, trusted=[name])
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


@pytest.mark.slow
def test_files_that_do_not_belong_together_are_refused(stack, tmp_path):
    path = tmp_path / "stack.json"
    fairridge.save(stack, path)
    learners = tmp_path / "stack.json.skops"
    content = learners.read_bytes()
    learners.write_bytes(content + b"x")
    with pytest.raises(ValueError, match="not the file it names"):
        fairridge.load(path)
    learners.unlink()
    with pytest.raises(ValueError, match="not beside it"):
        fairridge.load(path)
    learners.write_bytes(content)
    document = json.loads(path.read_text())
    document["columns"]["blind"] = False
    path.write_text(json.dumps(document))
    with pytest.raises(ValueError, match="checksum"):
        fairridge.load(path)
    with pytest.raises(sklearn.exceptions.NotFittedError):
        fairridge.save(FairStackingClassifier(sensitive="sex"), path)


@pytest.mark.slow
def test_exposure_makes_learners_see_rates_and_is_an_offset(claims):
    X, y, exposure = claims
    learner = make_pipeline(
        encoder(), PoissonRegressor(alpha=1e-3, solver="newton-cholesky", tol=1e-10)
    )
    folds = [(np.arange(N) % 2 != k, np.arange(N) % 2 == k) for k in range(2)]
    folds = [tuple(map(np.flatnonzero, fold)) for fold in folds]
    model = FairStackingRegressor(learner, 0.01, sensitive="sex", family="poisson", cv=folds)
    model.fit(X, y, exposure=exposure)
    expected = np.empty(N)
    for train, test in folds:
        rates = learner.fit(
            X.iloc[train], (y / exposure)[train], poissonregressor__sample_weight=exposure[train]
        )
        expected[test] = np.log(rates.predict(X.iloc[test]))
    np.testing.assert_allclose(model.scores_[:, 0], expected)
    by_hand = FairRidgeRegressor(0.01, family="poisson", definition="mean-parity").fit(
        pd.DataFrame({"score": expected}), y, sensitive_features=X["sex"], offset=np.log(exposure)
    )
    np.testing.assert_allclose(model.layer_.coef_, by_hand.coef_, rtol=1e-7)
    # One unit of exposure is the default, and predictions grow with it.
    np.testing.assert_allclose(model.predict(X, exposure=exposure), model.predict(X) * exposure)
    with pytest.raises(ValueError, match="fitted with an exposure"):
        model.score(X, y)
    assert model.score(X, y, exposure=exposure) > model.score(X, y, exposure=np.ones(N))


class Asking(LogisticRegression):
    """A learner that asks for metadata of rows."""

    seen: tuple = ()

    def fit(self, X, y, sample_weight=None, place=None):
        type(self).seen += (place,)
        return super().fit(X, y, sample_weight=sample_weight)


def test_metadata_reach_the_learners_that_ask_for_them(hired):
    X, y = hired
    Z, place = X[["skill", "age"]], np.arange(N)
    weight = (np.arange(N) % 3 > 0).astype(float)
    learner = Asking(max_iter=500)
    model = FairStackingClassifier(learner, cv=2, random_state=0)
    given = {"sensitive_features": X["sex"], "sample_weight": weight}
    with pytest.raises(ValueError, match="enable_metadata_routing"):
        model.fit(Z, y, **given, place=place)
    with sklearn.config_context(enable_metadata_routing=True):
        learner.set_fit_request(place=True, sample_weight=False)
        model.set_fit_request(sensitive_features=True, sample_weight=True)
        Asking.seen = ()
        model.fit(Z, y, **given, place=place)
        with pytest.raises(TypeError, match="unexpected argument"):
            model.fit(Z, y, **given, rumor=place)
    *folds, everyone = Asking.seen
    np.testing.assert_array_equal(everyone, np.flatnonzero(weight))
    np.testing.assert_array_equal(np.sort(np.concatenate(folds)), everyone)


@pytest.mark.slow
def test_progress_counts_the_fits(hired, capsys):
    X, y = hired
    learner = make_pipeline(encoder(), LogisticRegression(max_iter=500))
    model = FairStackingClassifier(learner, sensitive="sex", progress=True, n_jobs=2, cv=3)
    model.fit(X, y)
    assert "4/4" in capsys.readouterr().err
    model.set_params(progress=False).fit(X, y)
    assert not capsys.readouterr().err
