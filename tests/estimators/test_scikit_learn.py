"""The model is a scikit-learn estimator: checks, pipelines, searches, copies."""

import os
import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
)
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from fairridge import FairRidgeClassifier, FairRidgeRegressor
from tests.zoo import LateModule

estimator_checks = LateModule("sklearn.utils.estimator_checks")

CV = KFold(4, shuffle=True, random_state=0)


@pytest.fixture
def frame(workers):
    return pd.DataFrame(workers.columns).astype({"rank": "category"})


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.mark.filterwarnings("ignore::fairridge.exceptions.DataWarning")
def test_every_check_of_scikit_learn_passes():
    results = estimator_checks.check_estimator(
        FairRidgeRegressor(sensitive=[0]), on_skip=None, on_fail="raise"
    )
    skipped = {check["check_name"] for check in results if check["status"] != "passed"}
    without_array_api = {"check_array_api_input"}
    assert skipped == (set() if os.environ.get("SCIPY_ARRAY_API") else without_array_api)
    assert len(results) > 40


NOT_READ = {"check_estimators_nan_inf": "X[0, 0] is of S, which blind models do not read"}
NO_CONTROL = {"check_fit2d_1feature": "one column leaves none for the controls"}
# A looser bound: of one predictor S may explain more than 5 %, which leaves the constant.
BLIND = {"blind": True, "unfairness": 0.9}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("estimator", "options", "expected"),
    [
        (FairRidgeRegressor, {"controls": [1]}, NO_CONTROL),
        (FairRidgeClassifier, BLIND | {"definition": "mean-parity"}, NOT_READ),
    ],
)
def test_every_check_passes_for_other_bounds(estimator, options, expected):
    # One check is on separated data: λ₂ determines what the model predicts for other rows.
    # It would not determine the coefficients of controls.
    penalty = 0.0 if "controls" in options else 1.0
    model = estimator(sensitive=[0], predictor_penalty=penalty, **options)
    results = estimator_checks.check_estimator(
        model, expected_failed_checks=expected, on_skip=None, on_fail="raise"
    )
    failed = {check["check_name"] for check in results if check["status"] == "xfail"}
    assert failed == set(expected)
    assert len(results) > 40


def test_it_prints_what_was_set():
    assert repr(FairRidgeRegressor(0.1, sensitive=["sex"])) == (
        "FairRidgeRegressor(sensitive=['sex'], unfairness=0.1)"
    )


def test_a_clone_has_the_parameters_and_nothing_else(numbers):
    model = FairRidgeRegressor(0.2, sensitive=[0], predictor_penalty=3.0, unknown="base")
    copy = clone(model.fit(numbers.Z, numbers.y))
    assert copy.get_params() == model.get_params()
    assert not [name for name in vars(copy) if name.endswith("_") or name.startswith("_")]


def test_a_pickled_model_holds_no_rows():
    rng = np.random.default_rng(70)

    def size(n):
        Z = rng.normal(size=(n, 4))
        return len(pickle.dumps(FairRidgeRegressor(sensitive=[0]).fit(Z, Z.sum(1) ** 2)))

    assert size(20_000) < size(50) + 200


@pytest.mark.parametrize("output", ["pandas", "polars"])
def test_a_pipeline_passes_names_on(frame, workers, output):
    numeric = ["age", "hours", "skill"]
    scale = ColumnTransformer(
        [("scaled", StandardScaler(), numeric)],
        remainder="passthrough",
        verbose_feature_names_out=False,
    ).set_output(transform=output)
    model = FairRidgeRegressor(0.1, sensitive=["sex", "age"])
    pipeline = Pipeline([("prepare", scale), ("fair", model)]).fit(frame, workers.y)
    assert pipeline["fair"].sensitive_names_.tolist() == ["sex[m]", "age"]
    by_hand = frame.copy()
    by_hand[numeric] = StandardScaler().fit_transform(frame[numeric])
    expected = FairRidgeRegressor(0.1, sensitive=["sex", "age"]).fit(by_hand, workers.y)
    np.testing.assert_allclose(pipeline.predict(frame), expected.predict(by_hand), rtol=1e-9)
    assert pipeline.score(frame, workers.y) == pytest.approx(expected.explained_deviance_, rel=1e-9)


@pytest.mark.usefixtures("routing")
class TestRouting:
    """Sensitive features travel through pipelines and searches as metadata."""

    @staticmethod
    def asking(r=0.05, **others):
        return (
            FairRidgeRegressor(r)
            .set_fit_request(sensitive_features=True, **others)
            .set_predict_request(sensitive_features=True)
            .set_score_request(sensitive_features=True, **others)
        )

    @pytest.fixture
    def S(self, workers):
        return pd.DataFrame({name: workers.columns[name] for name in workers.sensitive})

    @pytest.fixture
    def X(self, workers):
        return pd.DataFrame({name: workers.columns[name] for name in ("hours", "skill", "manager")})

    def by_hand(self, X, y, S, r, weight=None):
        scores = []
        for train, test in CV.split(X):
            part = [None if weight is None else weight[rows] for rows in (train, test)]
            model = FairRidgeRegressor(r).fit(
                X.iloc[train], y[train], sensitive_features=S.iloc[train], sample_weight=part[0]
            )
            scores.append(
                model.score(
                    X.iloc[test], y[test], sensitive_features=S.iloc[test], sample_weight=part[1]
                )
            )
        return scores

    def test_a_pipeline_hands_sensitive_features_on(self, X, S, workers):
        scaler = StandardScaler().set_output(transform="pandas")
        pipeline = make_pipeline(scaler, self.asking())
        pipeline.fit(X, workers.y, sensitive_features=S)
        scaled = clone(scaler).fit_transform(X)
        expected = FairRidgeRegressor().fit(scaled, workers.y, sensitive_features=S)
        np.testing.assert_allclose(
            pipeline.predict(X, sensitive_features=S),
            expected.predict(scaled, sensitive_features=S),
            rtol=1e-12,
        )
        assert pipeline.score(X, workers.y, sensitive_features=S) == pytest.approx(
            expected.explained_deviance_, rel=1e-10
        )

    def test_weights_are_routed_too(self, X, S, workers):
        weight = np.random.default_rng(71).integers(0, 3, 90)
        search = GridSearchCV(
            self.asking(sample_weight=True), {"unfairness": [0.02, 0.5]}, cv=CV
        ).fit(X, workers.y, sensitive_features=S, sample_weight=weight)
        expected = [np.mean(self.by_hand(X, workers.y, S, r, weight)) for r in (0.02, 0.5)]
        np.testing.assert_allclose(search.cv_results_["mean_test_score"], expected, rtol=1e-9)

    def test_a_request_that_was_not_made_is_an_error(self, X, S, workers):
        pipeline = make_pipeline(StandardScaler(), FairRidgeRegressor())
        with pytest.raises(UnsetMetadataPassedError, match="sensitive_features"):
            pipeline.fit(X, workers.y, sensitive_features=S)
