"""What all models of groups promise: scikit-learn's checks, inputs, errors, weights, copies."""

import copy
import os
import pickle
import re
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import fairridge
from fairridge import (
    BarycenterClassifier,
    BarycenterRegressor,
    ConvexFairClassifier,
    ConvexFairRegressor,
    ReductionsClassifier,
    SteinbergRegressor,
    cross_validate,
)
from fairridge.data import as_table
from fairridge.exceptions import DataWarning
from tests.zoo import LateModule

estimator_checks = LateModule("sklearn.utils.estimator_checks")
plt = LateModule("matplotlib.pyplot")

pytestmark = pytest.mark.slow

# Hundreds of fits each.
REDUCTIONS = pytest.param(ReductionsClassifier, marks=pytest.mark.slow)
MODELS = (
    SteinbergRegressor,
    REDUCTIONS,
    BarycenterRegressor,
    BarycenterClassifier,
    ConvexFairRegressor,
    ConvexFairClassifier,
)
BLIND = (REDUCTIONS, ConvexFairRegressor, ConvexFairClassifier)
AWARE = (SteinbergRegressor, BarycenterRegressor, BarycenterClassifier)
FRAMES = {"polars": pl.DataFrame, "pyarrow": pa.table}


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


@pytest.fixture(scope="module")
def fitted(workers):
    """Each model, fitted to all of the data once."""
    columns, wage = workers
    found = {}

    def of(model):
        if model not in found:
            made = model(0.1, sensitive=["sex", "region"])
            found[model] = made.fit(pd.DataFrame(columns), response(model, wage))
        return found[model]

    return of


def response(model, wage):
    cls = model if isinstance(model, type) else type(model)
    return np.where(wage > np.median(wage), "high", "low") if is_classifier(cls()) else wage


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


class CutBarycenterClassifier(Cut, BarycenterClassifier):
    def _fair_predictions(self, X, *others):
        return super()._fair_predictions(cut(X), *others)

    def _linear_predictor(self, X, *others):
        return BarycenterClassifier._linear_predictor(self, X, *others)


class CutConvexRegressor(Cut, ConvexFairRegressor):
    pass


class CutConvexClassifier(Cut, ConvexFairClassifier):
    pass


CHECKED = {
    "steinberg": (CutSteinberg(sensitive=[-1]), {}),
    # One round is enough to see how it behaves as an estimator, and spares fairlearn's others.
    "reductions": (CutReductions(sensitive=[-1], max_iter=1), {}),
    "barycenter": (CutBarycenter(sensitive=[-1]), {}),
    "barycenter-classifier": (CutBarycenterClassifier(sensitive=[-1]), {}),
    "convex-regressor": (CutConvexRegressor(sensitive=[-1]), {}),
    "convex-classifier": (CutConvexClassifier(sensitive=[-1]), {}),
}


@pytest.mark.filterwarnings("ignore::fairridge.exceptions.DataWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", CHECKED)
def test_the_checks_of_scikit_learn_pass(name):
    model, expected = CHECKED[name]
    results = estimator_checks.check_estimator(
        model, expected_failed_checks=expected, on_skip=None, on_fail="raise"
    )
    status = {check["check_name"]: check["status"] for check in results}
    skipped = {check for check, found in status.items() if found == "skipped"}
    assert {check for check, found in status.items() if found == "xfail"} == set(expected)
    assert skipped == (set() if os.environ.get("SCIPY_ARRAY_API") else {"check_array_api_input"})
    assert len(results) > 40


@pytest.mark.parametrize("model", MODELS)
def test_it_is_public(model):
    assert model.__name__ in fairridge.__all__


# ------------------------------------------------------------------------------- inputs


@pytest.mark.parametrize("library", FRAMES)
@pytest.mark.parametrize("model", MODELS)
def test_every_frame_library_gives_the_same_model(workers, fitted, model, library):
    columns, wage = workers
    frame = FRAMES[library](columns)
    found = clone(fitted(model)).fit(frame, response(model, wage))
    expected = outcome(fitted(model), pd.DataFrame(columns))
    np.testing.assert_allclose(outcome(found, frame), expected, rtol=1e-9, atol=1e-12)
    table = found.summary().to_frame()
    assert type(table) is type(frame)
    assert found.feature_names_in_.tolist() == list(columns)


@pytest.mark.parametrize("model", MODELS)
def test_both_ways_to_name_the_attributes_give_the_same_model(data, fitted, model):
    frame, wage = data
    y, inside = response(model, wage), fitted(model)
    X, S = frame[["skill", "job", "hours"]], frame[["sex", "region"]]
    beside = model(0.1).fit(X, y, sensitive_features=S)
    np.testing.assert_allclose(
        outcome(beside, X, sensitive_features=S), outcome(inside, frame), rtol=1e-9, atol=1e-12
    )
    assert beside.unfairness_ == pytest.approx(inside.unfairness_, rel=1e-9)
    assert beside.score(X, y, sensitive_features=S) == pytest.approx(inside.score(frame, y))


@pytest.mark.parametrize("model", BLIND)
def test_a_blind_model_does_not_need_the_attributes_again(data, fitted, model):
    frame, wage = data
    y, inside = response(model, wage), fitted(model)
    X, S = frame[["skill", "job", "hours"]], frame[["sex", "region"]]
    expected = outcome(inside, frame)
    np.testing.assert_array_equal(outcome(inside, X), expected)
    scrambled = frame.assign(sex="unheard of", region=np.nan)[list(frame)[::-1]]
    np.testing.assert_array_equal(outcome(inside, scrambled), expected)
    assert inside.score(X, y) == inside.score(frame, y)
    beside = model(0.1).fit(X, y, sensitive_features=S)
    np.testing.assert_allclose(outcome(beside, X), expected, rtol=1e-9)
    with pytest.raises(ValueError, match="has no column 'skill'"):
        inside.predict(frame.drop(columns="skill"))
    with pytest.raises(ValueError, match="has column 'more'"):
        inside.predict(frame.assign(more=1))


@pytest.mark.parametrize("model", AWARE)
def test_an_aware_model_needs_them(data, model):
    frame, wage = data
    X, S = frame[["skill", "hours"]], frame[["sex"]]
    fitted = model().fit(X, response(model, wage), sensitive_features=S)
    with pytest.raises(ValueError, match="pass sensitive_features here too"):
        fitted.predict(X)


@pytest.mark.parametrize("model", BLIND)
def test_a_blind_model_needs_other_columns_than_sensitive_ones(data, model):
    frame, wage = data
    with pytest.raises(ValueError, match=r"X has 2 feature\(s\) and all of them are sensitive"):
        model(sensitive=["sex", "region"]).fit(frame[["sex", "region"]], response(model, wage))


# ------------------------------------------------------------------------------- errors


@pytest.mark.parametrize("model", MODELS)
def test_a_continuous_attribute_is_an_error_that_names_it(data, model):
    frame, wage = data
    with pytest.raises(ValueError, match=r"'skill' has 160 distinct numbers.*cut it"):
        model(sensitive=["sex", "skill"]).fit(frame, response(model, wage))


@pytest.mark.parametrize("model", MODELS)
def test_many_levels_are_groups_where_they_are_text(data, model):
    frame, wage = data
    frame["sex"] = [f"level {k % 23}" for k in range(len(frame))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted = model(1.0, sensitive="sex").fit(frame.drop(columns="job"), response(model, wage))
    assert np.isfinite(fitted.unfairness_)


@pytest.mark.parametrize("column", ["sex", "region", "skill"])
@pytest.mark.parametrize("model", MODELS)
def test_a_missing_value_is_an_error_that_names_the_column(data, model, column):
    frame, wage = data
    frame[column] = frame[column].astype(object)
    frame.loc[3, column] = None
    with pytest.raises(ValueError, match=f"'{column}' has 1 missing value"):
        model(sensitive=["sex", "region"]).fit(frame, response(model, wage))


@pytest.mark.parametrize("model", MODELS)
def test_bad_parameters_are_named(data, model):
    frame, wage = data
    y = response(model, wage)
    with pytest.raises(ValueError, match=r"unfairness=1\.5 is not a bound"):
        model(1.5, sensitive="sex").fit(frame, y)
    with pytest.raises(ValueError, match="use path"):
        model([0.1, 0.2], sensitive="sex").fit(frame, y)
    with pytest.raises(ValueError, match="unknown='skip' is not known"):
        model(sensitive="sex", unknown="skip").fit(frame, y)
    with pytest.raises(ValueError, match="either sensitive="):
        model().fit(frame, y)
    if "max_iter" in model().get_params():
        with pytest.raises(ValueError, match="max_iter=0 must be"):
            model(sensitive="sex", max_iter=0).fit(frame, y)


@pytest.mark.parametrize("model", MODELS)
def test_an_unseen_level_is_an_error_or_the_base(data, fitted, model):
    frame, found = data[0], copy.copy(fitted(model))
    other = frame.assign(job="pilot")
    with pytest.raises(ValueError, match="'job' has the level 'pilot'"):
        found.predict(other)
    found.unknown = "base"
    np.testing.assert_array_equal(outcome(found, other), outcome(found, frame.assign(job="clerk")))


@pytest.mark.parametrize("model", MODELS)
def test_one_group_is_a_warning_and_no_constraint(data, model):
    frame, wage = data
    frame["sex"] = "f"
    with pytest.warns(DataWarning):
        fitted = model(0.0, sensitive="sex").fit(frame, response(model, wage))
    assert fitted.status_ in ("inactive", "converged")
    assert fitted.unfairness_ == 0.0


# ------------------------------------------------------------------------------ weights


@pytest.mark.parametrize("model", MODELS)
def test_a_row_of_weight_zero_is_absent(data, model):
    frame, wage = data
    y = response(model, wage)
    weight = np.ones(len(y), dtype=int)
    weight[::5] = 0
    # Its values do not matter, not even a group or a level of its own.
    frame.loc[weight == 0, "sex"] = "?"
    frame.loc[weight == 0, "job"] = "pilot"
    found = model(0.1, sensitive="sex").fit(frame, y, sample_weight=weight)
    kept = frame[weight > 0]
    expected = model(0.1, sensitive="sex").fit(kept, y[weight > 0])
    np.testing.assert_allclose(outcome(found, kept), outcome(expected, kept), rtol=1e-8, atol=1e-10)
    assert found.n_rows_ == len(kept)


@pytest.mark.parametrize("model", MODELS)
def test_a_whole_weight_is_a_repeated_row(data, model):
    frame, wage = data
    y = response(model, wage)
    weight = np.random.default_rng(6).integers(1, 4, len(y))
    found = model(0.1, sensitive="sex").fit(frame, y, sample_weight=weight)
    rows = np.repeat(np.arange(len(y)), weight)
    expected = model(0.1, sensitive="sex").fit(frame.iloc[rows], y[rows])
    np.testing.assert_allclose(
        outcome(found, frame), outcome(expected, frame), rtol=1e-7, atol=1e-9
    )
    assert found.unfairness_ == pytest.approx(expected.unfairness_, rel=1e-7)


# ------------------------------------------------------------------- copies and company


@pytest.mark.parametrize("model", MODELS)
def test_a_pickled_model_predicts_the_same_and_holds_no_rows(model):
    rng = np.random.default_rng(7)

    def fitted(n):
        Z = np.column_stack([rng.integers(0, 2, n), rng.integers(0, 5, (n, 2))])
        y = Z[:, 0] + Z[:, 1] + rng.normal(size=n)
        return model(1.0, sensitive=[0]).fit(Z, response(model, y)), Z

    (small, _), (large, Z) = fitted(60), fitted(4000)
    again = pickle.loads(pickle.dumps(large))
    np.testing.assert_array_equal(outcome(again, Z), outcome(large, Z))
    assert str(again.summary()) == str(large.summary())
    # The maps of the barycenter know the distinct predictions of each group: here 25 at most.
    assert len(pickle.dumps(large)) < len(pickle.dumps(small)) + 1500


@pytest.mark.parametrize("model", MODELS)
def test_fitting_twice_gives_the_same(data, fitted, model):
    frame, wage = data
    first, second = fitted(model), clone(fitted(model)).fit(frame, response(model, wage))
    np.testing.assert_array_equal(outcome(first, frame), outcome(second, frame))


@pytest.mark.parametrize("model", MODELS)
def test_it_works_in_pipelines_and_searches(data, model):
    frame, wage = data
    y = response(model, wage)
    rows = np.arange(len(y))
    fold = rows[rows % 2 == 0], rows[rows % 2 == 1]
    pipeline = make_pipeline("passthrough", model(sensitive=["sex"]))
    grid = {f"{model.__name__.lower()}__unfairness": [0.3]}
    search = GridSearchCV(pipeline, grid, cv=[fold], refit=False).fit(frame, y)
    train, test = ((frame.iloc[part], y[part]) for part in fold)
    by_hand = model(0.3, sensitive="sex").fit(*train).score(*test)
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], by_hand, rtol=1e-9)


@pytest.mark.parametrize("model", MODELS)
def test_cross_validation_takes_it(data, model):
    frame, wage = data
    rows = np.arange(len(wage))
    result = cross_validate(
        model(sensitive=["sex"]),
        frame,
        response(model, wage),
        unfairness=[0.02, 1.0],
        folds=[(rows[rows % 2 == 0], rows[rows % 2 == 1])],
    ).to_frame()
    assert result["unfairness"].tolist() == [0.02, 1.0]
    assert result["train_achieved"][0] < result["train_achieved"][1]
    assert np.isfinite(result["loss"]).all()


@pytest.mark.parametrize("model", MODELS)
def test_a_path_holds_fitted_models(data, model):
    frame, wage = data
    y = response(model, wage)
    bounds = [0.3, 1.0]
    path = model(sensitive=["sex"]).path(frame, y, unfairness=bounds)
    assert len(path) == 2
    assert path.to_frame()["unfairness"].tolist() == bounds
    # A map of probabilities is nearest to them, not best at a threshold.
    slack = 0.01 if model is BarycenterClassifier else 1e-9
    assert (np.diff(path.score) >= -slack).all()
    assert (path.achieved <= np.add(bounds, 0.011)).all()
    at = path.at(0.3)
    alone = model(0.3, sensitive=["sex"]).fit(frame, y)
    np.testing.assert_allclose(outcome(at, frame), outcome(alone, frame), rtol=1e-6, atol=1e-9)
    assert at.unfairness_ == pytest.approx(path.achieved[0], rel=1e-9)
    kinds = ["constraints", "accuracy"]
    if model in (ReductionsClassifier, BarycenterRegressor, BarycenterClassifier):
        with pytest.raises(ValueError, match="has no coefficients"):
            path.plot("coefficients")
        with pytest.raises(ValueError, match=r"not on the path; its bounds are 0\.3, 1"):
            path.at(0.2)
    else:
        kinds.append("coefficients")
    for kind in kinds:
        axes = path.plot(kind)
        assert axes.get_xlabel() == "bound on unfairness, r"
        plt.close(axes.figure)


@pytest.mark.parametrize("model", MODELS)
def test_the_summary_says_what_was_asked_and_what_came_out(fitted, model):
    text = str(fitted(model).summary())
    assert model.__name__ in text
    assert "Bound r:" in text or re.search(r"limit +reached", text)
    assert fitted(model).status_ in text
    assert all(len(line) <= 90 for line in text.splitlines())
