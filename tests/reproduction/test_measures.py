"""Measures of many models at once, against other libraries and by hand."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.metrics import f1_score, log_loss
from sklearn.model_selection import KFold

from fairridge import FairRidgeRegressor, KomiyamaRegressor, ZafarRegressor
from reproduction.data import Data, decided_rows
from reproduction.matching import matched_path
from reproduction.measures import (
    Coefficients,
    Fold,
    attribute_groups,
    by_fold,
    class_scores,
    constant_path,
    errors,
    folds_of,
    gaps,
)
from reproduction.others import f1


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    Z = rng.normal(size=(60, 5)) @ rng.normal(size=(5, 5)) + 10.0
    y = Z @ rng.normal(size=5) + rng.normal(size=60)
    return Data(pd.DataFrame(Z, columns=list("abcde")), pd.Series(y), ["a", "b"])


@pytest.fixture(scope="module")
def fold(data):
    return Fold.of(data, np.arange(45), np.arange(45, 60))


@pytest.fixture(scope="module")
def path(fold):
    Z = np.column_stack([fold.S, fold.X])[fold.train]
    model = FairRidgeRegressor(sensitive=fold.sensitive)
    return model.path(Z, fold.y[fold.train], unfairness=[0.0, 0.1, 1.0])


def test_linear_predictors(fold, path):
    found = fold.linear_predictors(path)
    rows = np.column_stack([fold.S, fold.X])
    for k, r in enumerate(path.unfairness):
        np.testing.assert_allclose(found[:, k], path.at(r).predict(rows), rtol=1e-9)


def test_errors_and_dependence(fold, path):
    eta, found = fold.linear_predictors(path), errors(fold, path)
    train, test = fold.train, fold.test
    for k, one in enumerate(eta.T):
        for prefix, rows in (("train_", train), ("", test)):
            expected = np.sqrt(np.mean((fold.y[rows] - one[rows]) ** 2))
            assert found[f"{prefix}rmse"][k] == pytest.approx(expected, rel=1e-9)
        in_training, in_validation = (
            LinearRegression().fit(fold.S[rows], one[rows]).score(fold.S[rows], one[rows])
            for rows in (train, test)
        )
        assert found["train_dependence"][k] == pytest.approx(in_training, abs=1e-9)
        adjusted = 1.0 - (1.0 - in_validation) * (15 - 1) / (15 - 2 - 1)
        assert found["dependence"][k] == pytest.approx(adjusted, abs=1e-9)
    for name, matrix in (("covariance", np.cov), ("correlation", np.corrcoef)):
        for k, one in enumerate(eta[train].T):
            expected = np.abs(matrix(np.column_stack([fold.S[train], one]).T)[:2, 2]).max()
            assert found[name][k] == pytest.approx(expected, rel=1e-8, abs=1e-12)
    np.testing.assert_allclose(found["train_dependence"][:2], [0.0, 0.1], atol=1e-9)
    assert found["active"].tolist() == [1.0, 1.0, 0.0]
    assert found["share"][0] == 0.0  # whatever the predictions do in validation
    assert found["dependence"][0] != 0.0


def test_the_share_of_fairml_takes_s_and_u_for_orthogonal(fold, path):
    """U as in the training rows, by hand."""
    S, X = (Z - Z[fold.train].mean(axis=0) for Z in (fold.S, fold.X))
    U = X - S @ np.linalg.lstsq(S[fold.train], X[fold.train], rcond=None)[0]
    of_S = np.var(S[fold.test] @ path.alpha.T, axis=0)
    expected = of_S / (of_S + np.var(U[fold.test] @ path.beta.T, axis=0))
    np.testing.assert_allclose(errors(fold, path)["share"], expected, rtol=1e-9)


@pytest.mark.filterwarnings("ignore::fairridge.exceptions.DataWarning")
@pytest.mark.parametrize("model", [FairRidgeRegressor, KomiyamaRegressor, ZafarRegressor])
def test_a_few_rows_stand_for_all_in_training(data, model):
    """Joined from the other folds, and collinear: one column twice."""
    frame = data.frame.assign(f=data.frame["e"] * 2.0 - 3.0)
    cuts = [tuple(cut) for cut in KFold(4, shuffle=True, random_state=1).split(frame)]
    for fold in folds_of(Data(frame, data.labels, data.sensitive), cuts):
        Z, y, weight = fold.training.standing()
        assert len(Z) == 14  # of 45
        few = model(sensitive=[0, 1]).path(Z, y, unfairness=[0.0, 0.1, 1.0], sample_weight=weight)
        rows = frame.iloc[fold.train]
        full = model(sensitive=["a", "b"]).path(rows, data.y[fold.train], unfairness=few.unfairness)
        for name in ("alpha", "beta", "intercept", "deviance"):
            expected = getattr(full, name)
            atol = 1e-10 * np.abs(expected).max()
            np.testing.assert_allclose(getattr(few, name), expected, rtol=1e-8, atol=atol)


def test_an_intercept_only_depends_on_nothing(fold):
    found = errors(fold, constant_path(fold))
    assert found["train_dependence"].tolist() == [0.0]
    expected = np.std(fold.y[fold.train])
    assert found["train_rmse"][0] == pytest.approx(expected)


def test_scores_of_classes_are_scikit_learns(data, fold):
    rng = np.random.default_rng(5)
    y = rng.integers(0, 2, 60).astype(float)
    classes = Fold.of(Data(data.frame, pd.Series(y), data.sensitive), fold.train, fold.test)
    sizes = (2, (2, 2), (2, 3))
    values = (rng.normal(size=size) for size in sizes)
    models = Coefficients(*values, np.ones(2), ("converged",) * 2)
    models.intercept[:] -= (classes.S @ models.alpha.T).mean(axis=0)
    eta = classes.linear_predictors(models)
    found = class_scores(classes, models, eta)
    for prefix, rows in (("train_", fold.train), ("", fold.test)):
        for k, one in enumerate(eta[rows].T):
            assert found[f"{prefix}f1"][k] == pytest.approx(f1_score(y[rows], one > 0))
            probability = 1 / (1 + np.exp(-one))
            expected = 2 * log_loss(y[rows], probability, labels=[0, 1])
            assert found[f"{prefix}deviance"][k] == pytest.approx(expected, rel=1e-6)


def test_f1_of_random_predictions():
    y = np.array([1.0, 1.0, 0.0, 0.0])
    for likely in ([1, 0, 1, 0], [1, 1, 0, 0], [1, 1, 1, 1]):
        assert f1(np.array(likely, dtype=float), y) == pytest.approx(f1_score(y, likely))
    assert f1(np.zeros(4), y) == 0.0
    assert f1(np.full(4, 0.5), y) == pytest.approx(0.5)


def test_gaps_between_groups():
    frame = pd.DataFrame({"sex": ["f", "m"] * 100, "age": np.arange(200.0), "x": 0.0})
    data = Data(frame, pd.Series(np.zeros(200)), ["sex", "age"])
    groups = attribute_groups(data)
    assert [len(group.labels) for group in groups] == [2, 4]
    fold = Fold.of(data, np.arange(200), np.arange(200))
    by_sex, by_age = (
        np.where(frame["sex"] == "m", 1.0, -1.0),
        np.where(frame["age"] > 149, 1.0, -1.0),
    )
    eta = np.column_stack([by_sex, by_age, np.ones(200)])
    np.testing.assert_allclose(gaps(fold, eta, groups), [1.0, 1.0, 0.0])


def test_every_fold_has_its_rows():
    folds = [
        {"a": {"rmse": np.array([1.0, 2.0])}, "b": {"rmse": np.array([v])}} for v in (3.0, 5.0)
    ]
    found = by_fold(folds, np.array([0.0, 0.1]))
    assert found.to_dict("list") == {
        "model": ["a", "a", "b"] * 2, "fold": [0] * 3 + [1] * 3, "r": [0.0, 0.1, 0.0] * 2,
        "rmse": [1.0, 2.0, 3.0, 1.0, 2.0, 5.0],
    }  # fmt: skip


@pytest.mark.parametrize("bound", ["covariance", "correlation"])
def test_zafars_model_at_a_given_share(bound):
    rng = np.random.default_rng(6)
    S = rng.normal(size=(500, 3)) * [1.0, 5.0, 0.1]
    X = S @ rng.normal(size=(3, 4)) / [[1, 5, 0.1, 1]] + rng.normal(size=(500, 4))
    y = X @ rng.normal(size=4) + rng.normal(size=500)
    Z = np.column_stack([S, X])
    data = Data(pd.DataFrame(Z, columns=list("abcdefg")), pd.Series(y), list("abc"))
    fold = Fold.of(data, np.arange(500), np.arange(500))
    model = ZafarRegressor(bound=bound, sensitive=[0, 1, 2])
    unbounded = 1e12 if bound == "covariance" else 1.0
    free = float(fold.training_shares(model.path(Z, y, unfairness=[unbounded]))[0])
    targets = np.array([0.0, 0.01, 0.05, 0.2, 1.0])
    found = fold.training_shares(matched_path(fold, model, Z, y, targets))
    np.testing.assert_allclose(found, np.minimum(targets, free), rtol=5e-3, atol=1e-12)


def test_rows_of_deciding_levels():
    frame = pd.DataFrame({"work": ["a"] * 4 + ["b"] * 4 + ["c"] * 4, "x": range(12)})
    labels = pd.Series(["n", "n", "y", "y"] + ["n"] * 4 + ["n", "n", "n", "y"])
    assert decided_rows(frame, labels).tolist() == [False] * 4 + [True] * 8
