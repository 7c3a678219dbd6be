"""predictor_penalty="cv": chosen at the bound, by leaving rows out."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import KFold, StratifiedKFold

from fairridge import (
    FairRidgeClassifier,
    FairRidgeRegressor,
    KomiyamaRegressor,
    cross_validate,
    sources,
)

CV = {"sensitive": "sex", "predictor_penalty": "cv"}


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(5)
    n, p = 120, 12
    sex = rng.choice(["f", "m"], n)
    X = rng.normal(size=(n, p)) + 0.5 * (sex == "m")[:, None]
    frame = pd.DataFrame(X, columns=[f"x{k}" for k in range(p)])
    frame.insert(0, "sex", sex)
    return frame, X[:, :3].sum(axis=1) + (sex == "m") + 3.0 * rng.normal(size=n)


def _grid(X, n_values):
    """The documented grid for standardized columns that are not collinear."""
    return len(X) * np.logspace(2.0, -4.0, 25)[:: (24 // (n_values - 1))]


def test_it_is_a_fit_with_the_number_that_is_chosen(people):
    X, y = people
    model = FairRidgeRegressor(0.05, **CV).fit(X, y)
    same = FairRidgeRegressor(0.05, sensitive="sex", predictor_penalty=model.predictor_penalty_)
    same.fit(X, y)
    np.testing.assert_array_equal(model.coef_, same.coef_)
    assert model.predictor_penalty == "cv"
    assert same.predictor_penalty_ == same.predictor_penalty
    assert np.isclose(_grid(X, 25), model.predictor_penalty_).sum() == 1
    assert "by cross-validation" in str(model.summary(details=True))
    assert "by cross-validation" not in str(same.summary(details=True))


def _by_folds(make, X, y, folds, loss, grid):
    losses = []
    for value in grid:
        fits = [(make(value).fit(X.iloc[a], y[a]), b) for a, b in folds]
        losses.append(sum(loss(model, b) for model, b in fits))
    return grid[int(np.argmin(losses))]


@pytest.mark.slow
def test_classifiers_choose_by_stratified_folds(people):
    X, y = people
    y, weight = np.where(y > 1.0, "yes", "no"), {"yes": 2.0}
    options = {"sensitive": "sex", "class_weight": weight}
    model = FairRidgeClassifier(0.02, predictor_penalty="cv", **options).fit(X, y)

    def loss(one, rows):
        p = one.predict_proba(X.iloc[rows])
        codes = (y[rows] == "yes").astype(int)
        return -(np.log(p[np.arange(len(rows)), codes]) * np.where(codes == 1, 2.0, 1.0)).sum()

    best = _by_folds(
        lambda value: FairRidgeClassifier(0.02, predictor_penalty=value, **options),
        X,
        y,
        list(StratifiedKFold(5, shuffle=True, random_state=0).split(y, y)),
        loss,
        _grid(X, 13),
    )
    assert np.isclose(model.predictor_penalty_, best)


def test_weights_scale_it_and_zero_weights_leave_rows_out(people):
    X, y = people
    weight = np.random.default_rng(1).integers(1, 4, len(y)).astype(float)
    model = FairRidgeRegressor(0.05, **CV)
    one = clone(model).fit(X, y, sample_weight=weight)
    assert one.predictor_penalty_ != model.fit(X, y).predictor_penalty_
    tenfold = clone(model).fit(X, y, sample_weight=10.0 * weight)
    np.testing.assert_allclose(tenfold.predictor_penalty_, 10.0 * one.predictor_penalty_)
    np.testing.assert_allclose(tenfold.coef_, one.coef_, rtol=1e-9)
    weight[::3] = 0.0
    kept = weight > 0.0
    absent = clone(model).fit(X, y, sample_weight=weight)
    without = clone(model).fit(X[kept], y[kept], sample_weight=weight[kept])
    np.testing.assert_allclose(absent.predictor_penalty_, without.predictor_penalty_, rtol=1e-12)


def test_a_path_has_one_penalty_chosen_at_the_bound_of_the_model(people):
    X, y = people
    model = FairRidgeRegressor(0.05, **CV)
    chosen = clone(model).fit(X, y)
    for bounds in ([0.05], [0.0, 0.05, 0.5, 1.0]):
        found = model.path(X, y, unfairness=bounds).at(0.05)
        assert found.predictor_penalty == found.predictor_penalty_ == chosen.predictor_penalty_
        np.testing.assert_allclose(found.coef_, chosen.coef_, rtol=1e-12)
    assert not hasattr(model, "predictor_penalty_")


@pytest.mark.parametrize("bounds", [[0.01], [0.5, 0.01]])
def test_cross_validation_chooses_in_each_training_set_at_each_bound(people, bounds):
    X, y = people
    folds = list(KFold(2).split(y))
    frame = cross_validate(
        FairRidgeRegressor(0.3, **CV), X, y, unfairness=bounds, folds=folds
    ).to_frame()
    for number, (train, test) in enumerate(folds):
        one = FairRidgeRegressor(0.01, **CV).fit(X.iloc[train], y[train])
        rmse = np.sqrt(np.square(y[test] - one.predict(X.iloc[test])).mean())
        row = frame[(frame["fold"] == number) & (frame["unfairness"] == 0.01)].iloc[0]
        np.testing.assert_allclose(row["loss"], rmse, rtol=1e-9)


def test_what_cannot_be_chosen_is_refused(people, tmp_path):
    X, y = people
    model = FairRidgeRegressor(0.05, **CV)
    X.assign(y=y).to_parquet(tmp_path / "rows.parquet")
    rows = sources.parquet(tmp_path / "rows.parquet", response="y", sensitive="sex")
    with pytest.raises(ValueError, match="'cv' needs the rows in memory"):
        clone(model).set_params(sensitive=None).fit(rows)
    with pytest.raises(ValueError, match="needs certification='held-out'"):
        clone(model).set_params(confidence=0.9).fit(X, y)
    with pytest.raises(ValueError, match="predictor_penalty='gcv' must be a number"):
        clone(model).set_params(predictor_penalty="gcv").fit(X, y)
    with pytest.raises(ValueError, match="class 'c' has one row"):
        FairRidgeClassifier(0.05, **CV).fit(X, np.array(["a", "b"] * 59 + ["a", "c"]))
    with pytest.raises(ValueError, match="predictor_penalty='cv' must be a number"):
        KomiyamaRegressor(sensitive="sex", predictor_penalty="cv").fit(X, y)
