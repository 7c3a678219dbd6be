"""What all models we compare with promise: checks, frames, attributes, weights, paths, folds."""

import os
import pickle
import re
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone, is_classifier
from sklearn.exceptions import ConvergenceWarning

import fairridge
from fairridge import (
    BarycenterClassifier,
    BarycenterRegressor,
    BlindExactRegressor,
    ConvexFairClassifier,
    ConvexFairRegressor,
    KomiyamaRegressor,
    ReductionsClassifier,
    SteinbergRegressor,
    ZafarClassifier,
    ZafarRegressor,
    cross_validate,
)
from fairridge.data import as_table
from fairridge.exceptions import DataWarning
from tests.zoo import LateModule, r_squared

estimator_checks = LateModule("sklearn.utils.estimator_checks")
plt = LateModule("matplotlib.pyplot")

pytestmark = pytest.mark.slow

LINEAR = {
    "komiyama": KomiyamaRegressor(),
    "zafar": ZafarRegressor(),
    "zafar, covariance": ZafarRegressor(bound="covariance"),
    "zafar of classes": ZafarClassifier(),
    "blind exact": BlindExactRegressor(),
}
OF_GROUPS = {
    "steinberg": SteinbergRegressor(),
    "barycenter": BarycenterRegressor(),
    "barycenter of classes": BarycenterClassifier(),
    "convex": ConvexFairRegressor(),
    "convex of classes": ConvexFairClassifier(),
    "reductions": ReductionsClassifier(),
}
MODELS = LINEAR | OF_GROUPS
AWARE = ["komiyama", "steinberg", "barycenter", "barycenter of classes"]
BLIND = [name for name in MODELS if name not in AWARE]
WITH_COEFFICIENTS = [*LINEAR, "steinberg", "convex", "convex of classes"]
SENSITIVE = ["sex", "region"]
every_model = pytest.mark.parametrize("name", MODELS)


@pytest.fixture(scope="module")
def workers():
    """Columns of mixed types: two discrete sensitive attributes, three predictors."""
    rng = np.random.default_rng(5)
    n = 160
    sex, region = rng.choice(["f", "m"], n), rng.choice([0, 1, 2], n)
    skill = rng.normal(size=n) + 0.8 * (sex == "m")
    job = rng.choice(["clerk", "cook", "nurse"], n)
    hours = rng.integers(10, 50, n)
    wage = 2 * skill + 1.5 * (sex == "m") + 0.5 * (region == 2) + rng.normal(size=n)
    columns = {"sex": sex, "region": region, "skill": skill, "job": job, "hours": hours}
    return columns, wage + 0.03 * hours + 0.5 * (job == "nurse")


@pytest.fixture
def data(workers):
    columns, wage = workers
    return pd.DataFrame(columns), wage


def model_of(name, r=0.1, sensitive=SENSITIVE):
    return clone(MODELS[name]).set_params(unfairness=r, sensitive=sensitive)


@pytest.fixture(scope="module")
def fitted(workers):
    """Each model, fitted to all of the data once."""
    columns, wage = workers
    found = {}

    def of(name):
        if name not in found:
            found[name] = model_of(name).fit(pd.DataFrame(columns), response(name, wage))
        return found[name]

    return of


def response(name, wage):
    return np.where(wage > np.median(wage), "high", "low") if of_classes(name) else wage


def of_classes(name):
    return is_classifier(MODELS[name])


def outcome(model, *args, **options):
    return getattr(model, "predict_proba" if is_classifier(model) else "predict")(*args, **options)


# ------------------------------------------------------------ scikit-learn's own checks


def cut(X):
    """Cut the last column at 1, as a user would before fit: the checks have continuous data."""
    table = as_table(X)
    last = table.shape[1] - 1
    if table.is_numeric_array:
        source = table.source.copy()
        values = source[:, last]
        source[:, last] = np.where(np.isfinite(values), values > 1.0, values)
        return replace(table, source=source, _columns={})
    table._columns[last] = (np.asarray(table.column(last), dtype=float) > 1.0).astype(float)
    return table


class Cut:
    def fit(self, X, y=None, *, sensitive_features=None, sample_weight=None):
        if y is not None:  # else the complaint is about y
            X = cut(X)
        options = {"sensitive_features": sensitive_features, "sample_weight": sample_weight}
        return super().fit(X, y, **options)

    def _linear_predictor(self, X, *others):
        return super()._linear_predictor(cut(X), *others)


class CutSteinberg(Cut, SteinbergRegressor):
    pass


class CutReductions(Cut, ReductionsClassifier):
    pass


class CutBarycenter(Cut, BarycenterRegressor):
    pass


class CutConvexClassifier(Cut, ConvexFairClassifier):
    pass


# The checks put NaN into the first column, and models of X alone do not read S at predict.
CHECKED = {
    "komiyama": KomiyamaRegressor(sensitive=[0]),
    **{
        name: clone(LINEAR[name]).set_params(sensitive=[-1])
        for name in ("zafar", "zafar of classes", "blind exact")
    },
    "steinberg": CutSteinberg(sensitive=[-1]),
    # One round is enough to see how it behaves as an estimator, and spares fairlearn's others.
    "reductions": CutReductions(sensitive=[-1], max_iter=1),
    "barycenter": CutBarycenter(sensitive=[-1]),
    "convex of classes": CutConvexClassifier(sensitive=[-1]),
}


@pytest.mark.filterwarnings("ignore::fairridge.exceptions.BoundWarning")
@pytest.mark.filterwarnings("ignore::fairridge.exceptions.DataWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", CHECKED)
def test_the_checks_of_scikit_learn_pass(name):
    results = estimator_checks.check_estimator(CHECKED[name], on_skip=None, on_fail="raise")
    skipped = {check["check_name"] for check in results if check["status"] != "passed"}
    assert skipped == (set() if os.environ.get("SCIPY_ARRAY_API") else {"check_array_api_input"})
    assert len(results) > 40


# ------------------------------------------------------------------------------- inputs


@every_model
def test_another_frame_library_gives_the_same_model(workers, fitted, name):
    columns, wage = workers
    frame = pl.DataFrame(columns)
    found = clone(fitted(name)).fit(frame, response(name, wage))
    expected = outcome(fitted(name), pd.DataFrame(columns))
    np.testing.assert_allclose(outcome(found, frame), expected, rtol=1e-9, atol=1e-12)
    assert isinstance(found.summary().to_frame(), pl.DataFrame)
    assert found.feature_names_in_.tolist() == list(columns)


@every_model
def test_both_ways_to_name_the_attributes_give_the_same_model(data, fitted, name):
    frame, wage = data
    y, inside = response(name, wage), fitted(name)
    X = frame[["skill", "job", "hours"]]
    S = frame[SENSITIVE]
    beside = model_of(name, sensitive=None).fit(X, y, sensitive_features=S)
    np.testing.assert_allclose(
        outcome(beside, X, sensitive_features=S), outcome(inside, frame), rtol=1e-9, atol=1e-12
    )
    assert beside.unfairness_ == pytest.approx(inside.unfairness_, rel=1e-9)
    assert beside.score(X, y, sensitive_features=S) == pytest.approx(inside.score(frame, y))
    if name in BLIND:
        np.testing.assert_array_equal(outcome(beside, X), outcome(inside, X))
    else:
        with pytest.raises(ValueError, match=r"predict without them|pass sensitive_features here"):
            beside.predict(X)


@pytest.mark.parametrize("name", ["reductions", "convex", "convex of classes"])
def test_a_blind_model_needs_other_columns_than_sensitive_ones(data, name):
    frame, wage = data
    with pytest.raises(ValueError, match=r"X has 2 feature\(s\) and all of them are sensitive"):
        model_of(name).fit(frame[SENSITIVE], response(name, wage))


@pytest.mark.parametrize("name", OF_GROUPS)
def test_a_continuous_attribute_is_an_error_and_many_levels_of_text_are_groups(data, name):
    frame, wage = data
    y = response(name, wage)
    with pytest.raises(ValueError, match=r"'skill' has 160 distinct numbers.*cut it"):
        model_of(name, sensitive=["sex", "skill"]).fit(frame, y)
    frame["sex"] = [f"level {k % 23}" for k in range(len(frame))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        many = model_of(name, 1.0, "sex").fit(frame.drop(columns="job"), y)
    assert np.isfinite(many.unfairness_)


@every_model
def test_bad_parameters_are_named(data, name):
    frame, wage = data
    y = response(name, wage)
    with pytest.raises(ValueError, match=r"unfairness=-1.* is not a bound"):
        model_of(name, -1.5).fit(frame, y)
    with pytest.raises(ValueError, match="use path"):
        model_of(name, [0.1, 0.2]).fit(frame, y)
    with pytest.raises(ValueError, match="unknown='skip' is not known"):
        model_of(name).set_params(unknown="skip").fit(frame, y)
    with pytest.raises(ValueError, match="either sensitive="):
        model_of(name, sensitive=None).fit(frame, y)
    with pytest.raises(ValueError, match="X has no column 'race'"):
        model_of(name, sensitive="race").fit(frame, y)
    if "max_iter" in MODELS[name].get_params():
        with pytest.raises(ValueError, match="max_iter=0 must be"):
            model_of(name).set_params(max_iter=0).fit(frame, y)


@pytest.mark.parametrize("name", OF_GROUPS)
def test_one_group_is_a_warning_and_no_constraint(data, name):
    frame, wage = data
    frame["sex"] = "f"
    with pytest.warns(DataWarning):
        found = model_of(name, 0.0, "sex").fit(frame, response(name, wage))
    assert found.status_ in ("inactive", "converged")
    assert found.unfairness_ == 0.0


@pytest.mark.parametrize("name", WITH_COEFFICIENTS)
@pytest.mark.parametrize("r", [0.0, 0.05, 1.0])
def test_columns_that_say_nothing_new_change_nothing(data, name, r):
    frame, wage = data
    y = response(name, wage)
    more = frame.assign(twice=2 * frame["skill"], nothing=4.0)
    sensitive = SENSITIVE
    if name in LINEAR:
        more["again"], sensitive = -frame["region"], [*SENSITIVE, "again"]
    with pytest.warns(DataWarning) as record:
        found = model_of(name, r, sensitive).fit(more, y)
    said = "\n".join(str(one.message) for one in record)
    assert "'twice', 'nothing'" in said
    assert ("'again'" in said) == (name in LINEAR)
    expected = model_of(name, r).fit(frame, y)
    np.testing.assert_allclose(outcome(found, more), outcome(expected, frame), rtol=1e-6, atol=1e-8)
    assert found.unfairness_ == pytest.approx(expected.unfairness_, abs=1e-8)


@pytest.mark.filterwarnings("ignore::fairridge.exceptions.DataWarning")
@pytest.mark.parametrize("name", [n for n in WITH_COEFFICIENTS if not of_classes(n)])
def test_more_columns_than_rows_are_fitted_and_a_constant_response_is_predicted(name):
    rng = np.random.default_rng(9)
    Z = np.column_stack([np.tile([0, 1], 10), rng.normal(size=(20, 30))])
    for r in (0.0, 0.05, 1.0):
        model = model_of(name, r, [0]).fit(Z, rng.normal(size=20))
        assert np.isfinite(model.predict(Z)).all()
        assert model.unfairness_ <= r + 1e-9
    model = model_of(name, 0.05, [0]).fit(Z[:, :3], np.full(20, 3.0))
    np.testing.assert_allclose(model.predict(Z[:, :3]), 3.0)
    assert model.status_ == "inactive"


# ------------------------------------------------------------------- weights and offsets


@every_model
def test_a_whole_weight_is_a_repeated_row_and_zero_an_absent_one(data, name):
    frame, wage = data
    y = response(name, wage)
    weight = np.random.default_rng(6).integers(1, 4, len(y))
    weight[::5] = 0
    # The values of absent rows do not matter, not even a group or a level of their own.
    frame.loc[weight == 0, ["sex", "job"]] = "?"
    found = model_of(name, sensitive="sex").fit(frame, y, sample_weight=weight)
    rows = np.repeat(np.arange(len(y)), weight)
    expected = model_of(name, sensitive="sex").fit(frame.iloc[rows], y[rows])
    kept = frame[weight > 0]
    np.testing.assert_allclose(outcome(found, kept), outcome(expected, kept), rtol=1e-7, atol=1e-9)
    assert found.unfairness_ == pytest.approx(expected.unfairness_, rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("name", [n for n in WITH_COEFFICIENTS if not of_classes(n)])
def test_an_offset_is_taken_from_the_response(data, name):
    frame, y = data
    shift = np.random.default_rng(42).normal(size=len(y))
    found = model_of(name, sensitive="sex").fit(frame, y, offset=shift)
    expected = model_of(name, sensitive="sex").fit(frame, y - shift)
    np.testing.assert_allclose(
        found.predict(frame, offset=shift), expected.predict(frame) + shift, rtol=1e-7
    )


# ------------------------------------------------------------------- copies and company


@every_model
def test_a_pickled_model_predicts_the_same_and_holds_no_rows(name):
    rng = np.random.default_rng(7)

    def model_of_rows(n):
        Z = np.column_stack([rng.integers(0, 2, n), rng.integers(0, 5, (n, 2))])
        y = Z[:, 0] + Z[:, 1] + rng.normal(size=n)
        return model_of(name, 1.0, [0]).fit(Z, response(name, y)), Z

    (small, _), (large, Z) = model_of_rows(60), model_of_rows(4000)
    again = pickle.loads(pickle.dumps(large))
    np.testing.assert_array_equal(outcome(again, Z), outcome(large, Z))
    assert str(again.summary()) == str(large.summary())
    # The maps of the barycenter know the distinct predictions of each group: here 25 at most.
    assert len(pickle.dumps(large)) < len(pickle.dumps(small)) + 1500


# -------------------------------------------------------------------------------- folds


@every_model
def test_folds_are_those_of_models_fitted_by_hand(data, name):
    frame, wage = data
    y, rows = response(name, wage), np.arange(len(wage))
    train, test = rows[rows % 2 == 0], rows[rows % 2 == 1]
    found = cross_validate(
        model_of(name), frame, y, unfairness=[0.02], folds=[(train, test)]
    ).records[0]
    model = model_of(name, 0.02).fit(frame.iloc[train], y[train])
    S = np.column_stack([frame["sex"] == "m", frame["region"]]).astype(float)
    if name in WITH_COEFFICIENTS:
        assert found["train_achieved"] == pytest.approx(model.unfairness_, abs=1e-8)
    else:  # other models are measured by their predictions
        means = outcome(model, frame.iloc[train])
        assert found["train_achieved"] == pytest.approx(r_squared(means, S[train]), abs=1e-8)
    predicted = outcome(model, frame.iloc[test])
    if of_classes(name):
        chance = predicted[np.arange(len(test)), (y[test] == model.classes_[1]).astype(int)]
        loss = -2.0 * np.mean(np.log(np.maximum(chance, np.finfo(float).eps)))
    else:
        loss = np.sqrt(np.mean((y[test] - predicted) ** 2))
    assert found["loss"] == pytest.approx(loss, rel=1e-6)
    if name not in LINEAR:
        return
    eta = model.decision_function(frame.iloc[test]) if of_classes(name) else predicted
    S = S[test]
    if name.startswith("zafar"):
        measure = np.cov if model.bound == "covariance" else np.corrcoef
        achieved = max(abs(measure(s, eta)[0, 1]) for s in S.T)
    else:
        n = len(eta)
        achieved = 1.0 - (1.0 - r_squared(eta, S)) * (n - 1) / (n - 3)
    assert found["achieved"] == pytest.approx(achieved, rel=1e-5, abs=1e-9)


# -------------------------------------------------------------------------------- paths


@every_model
def test_a_path_holds_fitted_models(data, name):
    frame, wage = data
    y = response(name, wage)
    bounds = [0.0, 0.3, 1.0] if name in LINEAR else [0.3, 1.0]
    path = model_of(name).path(frame, y, unfairness=bounds)
    assert path.to_frame()["unfairness"].tolist() == bounds
    # A map of probabilities is nearest to them, not best at a threshold.
    slack = 0.01 if name == "barycenter of classes" else 1e-9
    assert (np.diff(path.score) >= -slack).all()
    assert (path.achieved <= np.add(bounds, 0.011)).all()
    for k, r in enumerate(bounds[:-1]):
        at, alone = path.at(r), model_of(name, r).fit(frame, y)
        np.testing.assert_allclose(outcome(at, frame), outcome(alone, frame), rtol=1e-6, atol=1e-9)
        assert at.unfairness_ == pytest.approx(path.achieved[k], rel=1e-9)
        assert path.status[k] == alone.status_
    kinds = ["constraints", "accuracy"]
    if name in WITH_COEFFICIENTS:
        kinds.append("coefficients")
    else:
        with pytest.raises(ValueError, match="has no coefficients"):
            path.plot("coefficients")
        with pytest.raises(ValueError, match=r"not on the path; its bounds are 0\.3, 1"):
            path.at(0.2)
    for kind in kinds:
        axes = path.plot(kind)
        assert axes.get_xlabel() == "bound on unfairness, r"
        plt.close(axes.figure)


@pytest.mark.parametrize("name", LINEAR)
def test_a_whole_path_is_fair_from_end_to_end(data, name):
    frame, wage = data
    path = model_of(name).path(frame, response(name, wage))
    assert len(path) == 101
    tol = getattr(MODELS[name], "tol", 1e-12)
    assert (path.achieved <= np.maximum(path.unfairness, 1e-13) + tol).all()
    assert (np.diff(path.deviance) <= 1e-8 * path.deviance[0]).all()
    assert set(path.status) <= {"converged", "inactive"}
    between = path.at(0.0512)
    assert between.unfairness_ <= 0.0512 + tol


# ---------------------------------------------------------------- coefficients, summaries


@pytest.mark.parametrize("name", LINEAR)
def test_both_kinds_of_coefficients_are_one_model(data, fitted, name):
    frame, found = data[0], fitted(name)
    S = np.column_stack([frame["sex"] == "m", frame["region"]]).astype(float)
    X = np.column_stack(
        [frame["skill"], frame["job"] == "cook", frame["job"] == "nurse", frame["hours"]]
    ).astype(float)
    centered = S - S.mean(0)
    B = np.linalg.lstsq(centered, X - X.mean(0), rcond=None)[0]
    U = X - X.mean(0) - centered @ B
    eta = found.fair_intercept_ + S @ found.alpha_ + U @ found.beta_
    used = X if name in BLIND else np.column_stack([S, X])
    raw = found.intercept_ + used @ np.ravel(found.coef_)
    scores = found.decision_function(frame) if is_classifier(found) else found.predict(frame)
    np.testing.assert_allclose(eta, scores, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(raw, scores, rtol=1e-9, atol=1e-9)
    names = ["skill", "job[cook]", "job[nurse]", "hours"]
    assert list(found.sensitive_names_) == ["sex[m]", "region"]
    assert list(found.predictor_names_) == names
    assert list(found.coef_names_) == ([] if name in BLIND else ["sex[m]", "region"]) + names


@every_model
def test_the_summary_says_what_was_asked_and_what_came_out(fitted, name):
    found = fitted(name)
    text = str(found.summary())
    assert type(found).__name__ in fairridge.__all__
    assert type(found).__name__ in text
    assert "Bound r:" in text or re.search(r"limit +reached", text)
    assert found.status_ in text
    assert all(len(line) <= 90 for line in text.splitlines())
    if name.startswith("zafar"):
        text = str(found.summary(details=True))
        for part in (f"maximal-{found.bound}", f"{found.bound} with sex[m]", "Price of the bound"):
            assert part in text
