"""What linear models promise alike: checks, frames, weights, paths, folds."""

import os
import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.base import clone, is_classifier
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from fairridge import (
    BlindExactRegressor,
    FairRidgeClassifier,
    FairRidgeRegressor,
    KomiyamaRegressor,
    ZafarClassifier,
    ZafarRegressor,
    cross_validate,
)
from fairridge.validation import cross_validation
from tests.zoo import LIBRARIES, LateModule

estimator_checks = LateModule("sklearn.utils.estimator_checks")
plt = LateModule("matplotlib.pyplot")

pytestmark = pytest.mark.slow

MODELS = {
    "komiyama": KomiyamaRegressor(),
    "komiyama, penalized": KomiyamaRegressor(predictor_penalty=5.0),
    "zafar": ZafarRegressor(),
    "zafar, covariance": ZafarRegressor(bound="covariance"),
    "zafar, logistic": ZafarClassifier(),
    "zafar, logistic, covariance": ZafarClassifier(bound="covariance"),
    "blind exact": BlindExactRegressor(),
    "blind ridge": FairRidgeRegressor(blind=True),
    "blind ridge, penalized": FairRidgeRegressor(blind=True, predictor_penalty=5.0),
    "blind ridge, logistic": FairRidgeClassifier(blind=True),
    "blind ridge, logistic, means": FairRidgeClassifier(blind=True, definition="mean-parity"),
}
BLIND = [name for name in MODELS if not name.startswith("komiyama")]
GAUSSIAN = [name for name in MODELS if "logistic" not in name]


@pytest.fixture(params=MODELS)
def model(request):
    return clone(MODELS[request.param])


@pytest.fixture(params=BLIND)
def blind(request):
    return clone(MODELS[request.param])


@pytest.fixture(scope="module")
def workers():
    rng = np.random.default_rng(40)
    n = 150
    sex, region = rng.choice(["f", "m"], n), rng.choice(["east", "north", "west"], n)
    age, hours = rng.integers(20, 65, n), rng.normal(40.0, 5.0, n)
    skill = rng.normal(size=n) + 0.8 * (sex == "m") + 0.02 * age
    eta = skill + 0.7 * (sex == "m") + 0.05 * (hours - 40.0) + 0.4 * (region == "west") - 1.5
    columns = {"sex": sex.tolist(), "age": age, "region": region.tolist(), "hours": hours}
    columns["skill"] = skill
    return columns, eta + rng.normal(size=n), (rng.random(n) < expit(eta)) * 1


@pytest.fixture
def data(workers, model):
    return _data(workers, model)


def _data(workers, model):
    columns, numbers, labels = workers
    return pd.DataFrame(columns), labels if is_classifier(model) else numbers


def named(model, r=0.08):
    return model.set_params(sensitive=["sex", "age"], unfairness=r)


# ----------------------------------------------------------------- scikit-learn


@pytest.mark.filterwarnings("ignore::fairridge.exceptions.DataWarning")
@pytest.mark.filterwarnings("ignore:only the intercept")
def test_every_check_of_scikit_learn_passes(model):
    # The checks put NaN into the first column, and models of X alone do not read S at predict.
    if isinstance(model, FairRidgeClassifier):
        # Separated classes leave nothing determined, and a constant model has ties.
        model.set_params(predictor_penalty=1.0, unfairness=0.9)
    sensitive = [0] if isinstance(model, KomiyamaRegressor) else [-1]
    results = estimator_checks.check_estimator(
        model.set_params(sensitive=sensitive), on_skip=None, on_fail="raise"
    )
    skipped = {check["check_name"] for check in results if check["status"] != "passed"}
    without_array_api = {"check_array_api_input"}
    assert skipped == (set() if os.environ.get("SCIPY_ARRAY_API") else without_array_api)
    assert len(results) > 40


def test_a_search_over_the_bound(model, data):
    frame, y = data
    search = GridSearchCV(named(model), {"unfairness": [0.01, 0.9]}, cv=KFold(3)).fit(frame, y)
    assert search.best_params_ == {"unfairness": 0.9}


def test_a_pipeline(model, workers):
    columns, numbers, labels = workers
    Z = np.column_stack([columns["age"], columns["hours"], columns["skill"]])
    y = labels if is_classifier(model) else numbers
    model = model.set_params(sensitive=[0])
    pipeline = make_pipeline(StandardScaler(), model.set_params(unfairness=0.5)).fit(Z, y)
    scaled = StandardScaler().fit_transform(Z)
    np.testing.assert_array_equal(pipeline.predict(Z), clone(model).fit(scaled, y).predict(scaled))


def test_copies_are_equal(model, data):
    frame, y = data
    fitted = named(model).fit(frame, y)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict(frame), fitted.predict(frame))
    assert str(again.summary()) == str(fitted.summary())
    assert clone(fitted).get_params() == fitted.get_params()


# ----------------------------------------------------------------- coefficients


def frame_encoded(frame, names):
    """Write out the encoded columns with these names."""
    parts = [name.rstrip("]").split("[") for name in names]
    columns = [frame[c] if not level else frame[c] == level[0] for c, *level in parts]
    return np.column_stack(columns).astype(float)


def test_both_kinds_of_coefficients_are_one_model(model, data):
    frame, y = data
    fitted = named(model).fit(frame, y)
    S = np.column_stack([frame["sex"] == "m", frame["age"]]).astype(float)
    X = np.column_stack(
        [frame["region"] == "north", frame["region"] == "west", frame["hours"], frame["skill"]]
    ).astype(float)
    centered = S - S.mean(0)
    B = np.linalg.lstsq(centered, X - X.mean(0), rcond=None)[0]
    U = X - X.mean(0) - centered @ B
    eta = fitted.fair_intercept_ + S @ fitted.alpha_ + U @ fitted.beta_
    raw = fitted.intercept_ + frame_encoded(frame, fitted.coef_names_) @ np.ravel(fitted.coef_)
    scores = fitted.decision_function(frame) if is_classifier(fitted) else fitted.predict(frame)
    np.testing.assert_allclose(eta, scores, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(raw, scores, rtol=1e-9, atol=1e-9)
    assert list(fitted.sensitive_names_) == ["sex[m]", "age"]
    assert list(fitted.predictor_names_) == ["region[north]", "region[west]", "hours", "skill"]


def test_blind_models_do_not_use_the_attributes(blind, workers):
    frame, y = _data(workers, blind)
    fitted = named(blind).fit(frame, y)
    assert list(fitted.coef_names_) == list(fitted.predictor_names_)
    assert fitted.alpha_.any()
    other = frame.assign(sex="f", age=0)
    np.testing.assert_array_equal(fitted.predict(other), fitted.predict(frame))


def test_numeric_columns_have_coef(model, workers):
    columns, numbers, labels = workers
    frame = pd.DataFrame({key: columns[key] for key in ("hours", "age", "skill")})
    y = labels if is_classifier(model) else numbers
    fitted = model.set_params(sensitive=["age"], unfairness=0.3).fit(frame, y)
    scores = fitted.decision_function(frame) if is_classifier(fitted) else fitted.predict(frame)
    used = frame[list(fitted.coef_names_)].to_numpy()
    expected = fitted.intercept_ + used @ np.ravel(fitted.coef_)
    np.testing.assert_allclose(scores, expected, rtol=1e-10)


# --------------------------------------------------------------------- S, frames


@pytest.mark.parametrize("library", LIBRARIES)
def test_frames_of_every_library(model, workers, library):
    columns, numbers, labels = workers
    y = labels if is_classifier(model) else numbers
    frame = LIBRARIES[library](columns)
    fitted = named(model).fit(frame, y)
    expected = named(clone(model)).fit(pd.DataFrame(columns), y)
    np.testing.assert_allclose(fitted.coef_, expected.coef_, rtol=1e-10, atol=1e-13)
    assert type(fitted.summary().to_frame()) is type(frame)


def test_attributes_given_apart_are_the_same_model(model, data):
    frame, y = data
    S, X = frame[["sex", "age"]], frame[["region", "hours", "skill"]]
    apart = clone(model).set_params(unfairness=0.08).fit(X, y, sensitive_features=S)
    together = named(model).fit(frame, y)
    np.testing.assert_allclose(apart.coef_, together.coef_, rtol=1e-12, atol=1e-15)
    np.testing.assert_array_equal(apart.predict(X, sensitive_features=S), together.predict(frame))


def test_komiyama_needs_the_attributes_after_fit(workers):
    frame, y = _data(workers, MODELS["komiyama"])
    S, X = frame[["sex", "age"]], frame[["region", "hours", "skill"]]
    fitted = KomiyamaRegressor().fit(X, y, sensitive_features=S)
    with pytest.raises(ValueError, match="cannot predict without them"):
        fitted.predict(X)
    with pytest.raises(ValueError, match="cannot predict without them"):
        fitted.score(X, y)


class TestZafarAfterFit:
    """S is optional then."""

    def test_given_apart_at_fit(self, blind, workers):
        frame, y = _data(workers, blind)
        S, X = frame[["sex", "age"]], frame[["region", "hours", "skill"]]
        fitted = blind.fit(X, y, sensitive_features=S)
        np.testing.assert_array_equal(fitted.predict(X), fitted.predict(X, sensitive_features=S))
        assert fitted.score(X, y) == fitted.score(X, y, sensitive_features=S)
        other = S.assign(sex="unheard of")
        np.testing.assert_array_equal(
            fitted.predict(X, sensitive_features=other), fitted.predict(X)
        )

    def test_columns_of_a_frame_may_be_left_out(self, blind, workers):
        frame, y = _data(workers, blind)
        fitted = named(blind).fit(frame, y)
        rest = frame[["skill", "region", "hours"]]
        np.testing.assert_array_equal(fitted.predict(rest), fitted.predict(frame))
        assert fitted.score(rest, y) == fitted.score(frame, y)
        if is_classifier(fitted):
            np.testing.assert_array_equal(fitted.predict_proba(rest), fitted.predict_proba(frame))

    def test_unseen_levels_of_an_attribute_do_not_matter(self, blind, workers):
        frame, y = _data(workers, blind)
        fitted = named(blind).fit(frame, y)
        other = frame.assign(sex="unheard of")
        np.testing.assert_array_equal(fitted.predict(other), fitted.predict(frame))
        with pytest.raises(ValueError, match="'region' has the level 'south'"):
            fitted.predict(frame.assign(region="south"))
        based = named(clone(blind)).set_params(unknown="base").fit(frame, y)
        np.testing.assert_array_equal(
            based.predict(frame.assign(region="south")), based.predict(frame.assign(region="east"))
        )

    def test_predictors_must_be_complete_and_attributes_are_ignored(self, blind, workers):
        frame, y = _data(workers, blind)
        fitted = named(blind).fit(frame, y)
        expected = fitted.predict(frame)
        for ignored in (frame.assign(age=np.nan), frame.drop(columns="age")):
            np.testing.assert_array_equal(fitted.predict(ignored), expected)
        attributes = {"sensitive_features": frame[["sex", "age"]]}
        np.testing.assert_array_equal(fitted.predict(frame, **attributes), expected)
        with pytest.raises(ValueError, match="has no column 'skill'"):
            fitted.predict(frame[["region", "hours"]])
        Z = frame[["age", "hours", "skill"]].to_numpy(float)
        array = clone(blind).set_params(sensitive=[0], unfairness=0.5).fit(Z, y)
        with pytest.raises(ValueError, match="expecting 3 features"):
            array.predict(Z[:, 1:])

    def test_offsets_are_added(self, blind, workers):
        frame, y = _data(workers, blind)
        fitted = named(blind).fit(frame, y)
        scores = fitted.decision_function if is_classifier(fitted) else fitted.predict
        shift = np.arange(len(frame)) / 10.0
        np.testing.assert_allclose(scores(frame, offset=shift), scores(frame) + shift)


@pytest.mark.filterwarnings("ignore::fairridge.exceptions.DataWarning")
def test_feature_maps(model, workers):
    columns, numbers, labels = workers
    y = labels if is_classifier(model) else numbers
    S, X = (
        np.array(columns["age"], float)[:, None],
        np.column_stack([columns["hours"], columns["skill"]]),
    )
    squares = PolynomialFeatures(2, include_bias=False)
    mapped = clone(model).set_params(predictor_map=squares, sensitive_map=squares, unfairness=0.1)
    mapped.fit(X, y, sensitive_features=S)
    by_hand = clone(model).set_params(unfairness=0.1)
    by_hand.fit(squares.fit_transform(X), y, sensitive_features=squares.fit_transform(S))
    np.testing.assert_allclose(mapped.coef_, by_hand.coef_, rtol=1e-7, atol=1e-10)
    np.testing.assert_array_equal(
        mapped.predict(X, sensitive_features=S),
        by_hand.predict(squares.fit_transform(X), sensitive_features=squares.fit_transform(S)),
    )


# --------------------------------------------------------------- weights, offset


def test_whole_weights_are_repetitions(model, data):
    frame, y = data
    weight = np.random.default_rng(41).integers(0, 4, len(y))
    repeated = np.repeat(np.arange(len(y)), weight)
    weighted = named(model).fit(frame, y, sample_weight=weight)
    expected = named(clone(model)).fit(frame.iloc[repeated], y[repeated])
    np.testing.assert_allclose(weighted.coef_, expected.coef_, rtol=1e-7, atol=1e-10)
    assert weighted.deviance_ == pytest.approx(expected.deviance_, rel=1e-9)
    assert weighted.unfairness_ == pytest.approx(expected.unfairness_, abs=1e-9)


@pytest.mark.parametrize("name", GAUSSIAN)
def test_an_offset_is_taken_from_the_response(workers, name):
    frame, y = _data(workers, MODELS[name])
    shift = np.random.default_rng(42).normal(size=len(y))
    fitted = named(clone(MODELS[name])).fit(frame, y, offset=shift)
    expected = named(clone(MODELS[name])).fit(frame, y - shift)
    np.testing.assert_array_equal(fitted.coef_, expected.coef_)
    np.testing.assert_allclose(
        fitted.predict(frame, offset=shift), expected.predict(frame) + shift, rtol=1e-12
    )


def test_bad_input_is_named(model, data):
    frame, y = data
    with pytest.raises(ValueError, match="negative"):
        named(model).fit(frame, y, sample_weight=-np.ones(len(y)))
    with pytest.raises(ValueError, match="'hours' has 1 missing value"):
        named(model).fit(frame.assign(hours=np.nan), y)
    with pytest.raises(ValueError, match="X has no column 'race'"):
        clone(model).set_params(sensitive="race").fit(frame, y)
    with pytest.raises(ValueError, match="either sensitive="):
        clone(model).set_params(sensitive=None).fit(frame, y)


# ------------------------------------------------------------------------- path


def test_a_path_equals_its_models(model, data):
    frame, y = data
    bounds = [0.0, 0.003, 0.08, 0.3, 1.0]
    path = named(model).path(frame, y, unfairness=bounds)
    for k, r in enumerate(bounds):
        single = named(clone(model), r).fit(frame, y)
        np.testing.assert_allclose(path.beta[k], single.beta_, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(path.alpha[k], single.alpha_, rtol=1e-6, atol=1e-9)
        assert path.status[k] == single.status_
        at = path.at(r)
        assert at.unfairness == r
        np.testing.assert_allclose(at.coef_, single.coef_, rtol=1e-6, atol=1e-9)
    between = path.at(0.05)
    assert between.unfairness_ <= 0.05 + 1e-12
    assert len(path.to_frame()) == 5
    assert list(path.to_frame()["unfairness"]) == bounds


def test_a_whole_path_is_fair_from_end_to_end(model, data):
    frame, y = data
    path = named(model).path(frame, y)
    assert len(path) == 101
    tol = getattr(model, "tol", 1e-12)
    assert (path.achieved <= np.maximum(path.unfairness, 1e-13) + tol).all()
    if not getattr(model, "predictor_penalty", 0.0):  # otherwise the sum with the penalty falls
        assert (np.diff(path.deviance) <= 1e-8 * path.deviance[0]).all()
    assert set(path.status) <= {"converged", "inactive"}


def test_a_path_is_drawn(model, data):
    frame, y = data
    path = named(model).path(frame, y, unfairness=[0.0, 0.1, 0.4, 1.0])
    for kind in ("coefficients", "constraints", "accuracy"):
        assert path.plot(kind).lines
    plt.close("all")


@pytest.mark.parametrize("name", [name for name in MODELS if name.startswith("zafar")])
def test_summaries_say_what_the_bound_is(name, workers):
    zafar = clone(MODELS[name])
    frame, y = _data(workers, zafar)
    text = str(named(zafar).fit(frame, y).summary())
    assert f"maximal-{zafar.bound}" in text
    assert f"{zafar.bound} with sex[m]" in text
    assert "Price of the bound" in text


# ------------------------------------------------------------------------- folds


@pytest.fixture(scope="module")
def folds():
    return list(KFold(4, shuffle=True, random_state=0).split(np.zeros((150, 1))))


def frames_of(model, frame, y, folds, bounds=(0.0, 0.02, 0.2, 1.0)):
    named(model)
    return cross_validate(model, frame, y, unfairness=bounds, folds=folds).to_frame()


@pytest.mark.parametrize("name", GAUSSIAN)
def test_moments_give_the_folds_of_the_general_way(workers, folds, name, monkeypatch):
    frame, y = _data(workers, MODELS[name])
    fast = frames_of(clone(MODELS[name]), frame, y, folds)
    monkeypatch.setattr(cross_validation, "uses_moments", lambda *_: False)
    general = frames_of(clone(MODELS[name]), frame, y, folds)
    assert list(fast["status"]) == list(general["status"])
    for column in fast.select_dtypes("number"):
        finite = np.isfinite(general[column])
        np.testing.assert_array_equal(np.isfinite(fast[column]), finite)
        np.testing.assert_allclose(
            fast[column][finite], general[column][finite], rtol=1e-10, atol=1e-10
        )


def test_folds_are_those_of_models_fitted_by_hand(model, data, folds):
    frame, y = data
    found = frames_of(clone(model), frame, y, folds, bounds=[0.02])
    for (train, test), row in zip(folds, found.itertuples(), strict=True):
        fitted = named(clone(model), 0.02).fit(frame.iloc[train], y[train])
        assert row.train_achieved == pytest.approx(fitted.unfairness_, abs=1e-8)
        if is_classifier(fitted):
            eta = fitted.decision_function(frame.iloc[test])
            loss = np.mean(2.0 * (np.logaddexp(0.0, eta) - y[test] * eta))
        else:
            eta = fitted.predict(frame.iloc[test])
            loss = np.sqrt(np.mean((y[test] - eta) ** 2))
        assert row.loss == pytest.approx(loss, rel=1e-6)
        S = np.column_stack([frame["sex"] == "m", frame["age"]]).astype(float)[test]
        if getattr(fitted, "definition", "") == "mean-parity":
            eta = expit(eta)
        if "correlation" in str(getattr(fitted, "bound", "")):
            expected = max(abs(np.corrcoef(s, eta)[0, 1]) for s in S.T)
        elif hasattr(fitted, "bound"):
            expected = max(abs(np.cov(s, eta)[0, 1]) for s in S.T)
        else:
            A = np.column_stack([np.ones(len(eta)), S])
            residual = eta - A @ np.linalg.lstsq(A, eta, rcond=None)[0]
            n = len(eta)
            expected = 1.0 - residual.var() / eta.var() * (n - 1) / (n - 3)
        assert row.achieved == pytest.approx(expected, rel=1e-5, abs=1e-9)
