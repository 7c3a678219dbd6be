"""Stacked models: learners below, a fair ridge on top."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import (
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    RidgeClassifier,
)
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import (
    KFold,
    StratifiedKFold,
    TimeSeriesSplit,
    cross_val_predict,
    train_test_split,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import fairridge
from fairridge import FairRidgeClassifier
from fairridge.rules import AdverseImpact
from fairridge.stacking import FairStackingClassifier, FairStackingRegressor
from tests.zoo import LateModule

estimator_checks = LateModule("sklearn.utils.estimator_checks")

N = 600
TREE = DecisionTreeClassifier(max_depth=4, random_state=0)
CERTIFIED = {"sensitive": "sex", "confidence": 0.9, "random_state": 0}


def people(n=N, seed=0):
    """A frame with a sensitive category and number, a category, and numbers; and y."""
    rng = np.random.default_rng(seed)
    sex = rng.integers(0, 2, n)
    age = rng.uniform(20, 60, n)
    skill = rng.normal(size=n) + 0.8 * sex
    town = rng.integers(0, 3, n)
    eta = np.abs(skill) + 0.7 * sex + 0.02 * (age - 40) + 0.4 * (town == 1) - 1
    frame = pd.DataFrame(
        {
            "skill": skill,
            "sex": np.array(["f", "m"])[sex],
            "town": np.array(["a", "b", "c"])[town],
            "age": age,
        }
    )
    return frame, eta, rng


@pytest.fixture(scope="module")
def hired():
    frame, eta, rng = people()
    return frame, np.where(rng.random(N) < 1 / (1 + np.exp(-eta)), "yes", "no")


@pytest.fixture(scope="module")
def wage():
    frame, eta, rng = people()
    return frame, eta + 0.3 * rng.normal(size=N)


def encoder():
    return make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["sex", "town"]), remainder="passthrough"
    )


class Counted(ClassifierMixin, BaseEstimator):
    """A learner that counts its fits, and remembers which columns it saw."""

    fits = 0
    seen: tuple = ()

    def fit(self, X, y):
        type(self).fits += 1
        type(self).seen = tuple(X.columns)
        self.classes_, counts = np.unique(y, return_counts=True)
        self.shares_ = counts / counts.sum()
        self.center_ = X["skill"].mean()
        return self

    def predict_proba(self, X):
        second = 1 / (1 + np.exp(-(X["skill"].to_numpy() - self.center_)))
        return np.column_stack([1 - second, second])


def test_layer_is_the_fair_ridge_of_out_of_fold_logits(hired):
    X, y = hired
    folds = StratifiedKFold(4, shuffle=True, random_state=3)
    learner = make_pipeline(encoder(), TREE)
    model = FairStackingClassifier(learner, 0.02, sensitive="sex", cv=folds).fit(X, y)

    p = np.clip(cross_val_predict(learner, X, y, cv=folds, method="predict_proba"), 1e-5, 1 - 1e-5)
    logit = np.log(p[:, 1] / p[:, 0])
    np.testing.assert_allclose(model.scores_[:, 0], logit, atol=1e-12)
    by_hand = FairRidgeClassifier(0.02, definition="mean-parity").fit(
        pd.DataFrame({"score": logit}), y, sensitive_features=X[["sex"]]
    )
    np.testing.assert_allclose(model.layer_.coef_, by_hand.coef_, rtol=1e-9)
    assert model.unfairness_ == pytest.approx(0.02, abs=1e-8)
    assert list(model.classes_) == ["no", "yes"]

    # New rows are scored by the learner that is refitted to all rows.
    q = np.clip(clone(learner).fit(X, y).predict_proba(X), 1e-5, 1 - 1e-5)
    expected = by_hand.predict_proba(
        pd.DataFrame({"score": np.log(q[:, 1] / q[:, 0])}), sensitive_features=X[["sex"]]
    )
    np.testing.assert_allclose(model.predict_proba(X), expected, rtol=1e-8)
    assert model.score(X, y) == np.mean(model.predict(X) == y)


def test_average_deploys_the_learners_of_the_folds(hired):
    X, y = hired
    folds = StratifiedKFold(3, shuffle=True, random_state=3)
    learner = make_pipeline(encoder(), TREE)
    model = FairStackingClassifier(learner, sensitive="sex", cv=folds, deploy="average").fit(X, y)
    assert [len(learners) for learners in model.learners_] == [3]
    logits = []
    for train, _ in folds.split(X, y):
        p = clone(learner).fit(X.iloc[train], y[train]).predict_proba(X)
        p = np.clip(p, 1e-5, 1 - 1e-5)
        logits.append(np.log(p[:, 1] / p[:, 0]))
    score = model.layer_inputs(X)["X"]["score of DecisionTreeClassifier"]
    np.testing.assert_allclose(score, np.mean(logits, axis=0), atol=1e-12)


@pytest.mark.slow
def test_learner_is_fitted_cv_plus_one_times_for_a_whole_path(hired):
    X, y = hired
    Counted.fits = 0
    model = FairStackingClassifier(Counted(), sensitive="sex", cv=5, random_state=0)
    path = model.path(X, y)
    assert Counted.fits == 6
    assert len(path) == 101
    at = path.at(0.013)
    assert Counted.fits == 6
    assert at.unfairness == 0.013
    assert at.unfairness_ == pytest.approx(0.013, abs=1e-8)
    fitted = clone(model).set_params(unfairness=0.013).fit(X, y)
    np.testing.assert_allclose(at.predict_proba(X), fitted.predict_proba(X), rtol=1e-7)
    assert np.all(path.achieved <= path.unfairness + 1e-8)
    assert "score of Counted" in path.to_frame().columns
    assert not hasattr(model, "layer_")


@pytest.mark.slow
def test_blind_learners_see_x_only_and_predict_without_s(hired):
    X, y = hired
    model = FairStackingClassifier(
        Counted(), 0.01, sensitive=["sex", "age"], blind=True, cv=3, random_state=0,
    ).fit(X, y)  # fmt: skip
    assert Counted.seen == ("skill", "town")
    expected = ["score of Counted", "expected sex[m]", "expected age"]
    assert list(model.layer_inputs(X)["X"].columns) == expected
    assert model.unfairness_ == pytest.approx(0.01, abs=1e-6)
    proba = model.predict_proba(X)
    np.testing.assert_array_equal(model.predict_proba(X.drop(columns=["sex", "age"])), proba)
    np.testing.assert_array_equal(model.predict_proba(X.drop(columns="age")), proba)
    # What is not read may be anything.
    np.testing.assert_array_equal(model.predict_proba(X.assign(sex="x")), proba)
    with pytest.raises(ValueError, match="has no column 'skill'"):
        model.predict(X.drop(columns="skill"))


def test_proxies_are_out_of_fold_regressions_of_s(wage):
    X, y = wage
    folds = KFold(3, shuffle=True, random_state=1)
    proxy = make_pipeline(
        make_column_transformer((OneHotEncoder(), ["town"]), remainder="passthrough"),
        LinearRegression(),
    )
    model = FairStackingRegressor(
        proxy, sensitive="sex", blind=True, proxy=proxy, cv=folds
    ).fit(X, y)  # fmt: skip
    Z = X.drop(columns="sex")
    np.testing.assert_allclose(model.scores_[:, 0], cross_val_predict(proxy, Z, y, cv=folds))
    expected = cross_val_predict(proxy, Z, (X["sex"] == "m").astype(float), cv=folds)
    np.testing.assert_allclose(model.scores_[:, 1], expected)


def test_text_reaches_trees_as_categories(hired):
    X, y = hired
    trees = HistGradientBoostingClassifier(max_iter=10, random_state=0)
    options = {"unfairness": 0.05, "sensitive": "sex", "cv": 3, "random_state": 0}
    as_text = FairStackingClassifier(trees, **options).fit(X, y)
    typed = X.assign(town=X["town"].astype("category"))
    as_categories = FairStackingClassifier(trees, **options).fit(typed, y)
    np.testing.assert_allclose(as_text.scores_, as_categories.scores_)
    unseen = X.head(3).assign(town=["elsewhere", None, "east"])
    assert np.isfinite(as_text.predict_proba(unseen)).all()


def test_errors_of_learners_name_the_step_and_columns_of_text(hired):
    X, y = hired
    options = {"sensitive": "sex", "cv": 2, "random_state": 0}
    with pytest.raises(ValueError, match=r"learner LogisticRegression .*'town'.*an encoder"):
        FairStackingClassifier(LogisticRegression(), **options).fit(X, y)
    pipeline = make_pipeline(SimpleImputer(), TREE)
    message = r"SimpleImputer → DecisionTreeClassifier cannot be fitted, in its step SimpleImputer"
    with pytest.raises(ValueError, match=message):
        FairStackingClassifier(pipeline, **options).fit(X, y)
    numbers = X.drop(columns="town").assign(sex=(X["sex"] == "m") * 1.0)
    with pytest.raises(ValueError, match=r"cannot be fitted: .*min_samples_leaf[^:]*$") as found:
        FairStackingClassifier(DecisionTreeClassifier(min_samples_leaf=-1), **options).fit(
            numbers, y
        )
    assert "Text is in" not in str(found.value)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["additive", "product"])
def test_proxies_are_small_trees_unless_larger_ones_predict_better(kind):
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(4_000, 4))
    eta = Z @ [1.0, -1.0, 0.5, 0.0] if kind == "additive" else 4.0 * np.sign(Z[:, :3].prod(axis=1))
    S = (rng.random(len(Z)) < 1.0 / (1.0 + np.exp(-eta))).astype(float)
    model = FairStackingRegressor(LinearRegression(), blind=True, cv=2, random_state=0)
    model.fit(Z, Z[:, 0] + rng.normal(size=len(Z)), sensitive_features=S)
    assert model._features.proxies[0].learners[0][-1].max_iter == (
        50 if kind == "additive" else 100
    )


@pytest.mark.parametrize(
    ("definition", "counted"), [("mean-opportunity", ["yes"]), ("mean-odds", ["no", "yes"])]
)
def test_proxies_of_opportunity_are_of_s_among_the_rows_of_a_class(wage, definition, counted):
    X, y = wage
    y = np.where(y > np.median(y), "yes", "no")
    folds = KFold(3, shuffle=True, random_state=1)
    linear = make_pipeline(
        make_column_transformer((OneHotEncoder(), ["town"]), remainder="passthrough"),
        LinearRegression(),
    )
    learner = make_pipeline(
        make_column_transformer((OneHotEncoder(), ["town"]), remainder="passthrough"),
        LogisticRegression(),
    )
    model = FairStackingClassifier(
        learner, 0.001, definition=definition, sensitive="sex", blind=True, proxy=linear, cv=folds
    ).fit(X, y)
    male = (X["sex"] == "m").to_numpy().astype(float)
    names = [f"expected sex[m] if {label}" for label in counted]
    assert list(model.layer_inputs(X)["X"].columns)[1:] == names
    for k, label in enumerate(counted, start=1):
        among = y == label
        target = among * (male - male[among].mean())
        expected = cross_val_predict(linear, X.drop(columns="sex"), target, cv=folds)
        np.testing.assert_allclose(model.scores_[:, k], expected, atol=1e-12)
    assert model.unfairness_ <= 0.001 + 1e-8


@pytest.mark.slow
def test_blind_opportunity_holds_for_new_people_where_parity_costs_more():
    """People whose branch differs by sex, judged on rows that no learner has seen."""
    rng = np.random.default_rng(3)
    n = 12_000
    male = rng.random(n) < 0.5
    X = pd.DataFrame({"branch": rng.normal(size=n) + male, "skill": rng.normal(size=n)})
    p = 1.0 / (1.0 + np.exp(-X["branch"] - X["skill"] + 0.5))
    y, S = (rng.random(n) < p).to_numpy().astype(int), pd.DataFrame({"male": male.astype(float)})
    new = np.arange(n) >= 4_000
    trees = HistGradientBoostingClassifier(max_iter=20, random_state=0)
    proxy = HistGradientBoostingRegressor(max_iter=20, random_state=0)

    def fitted(definition, r):
        model = FairStackingClassifier(
            trees, r, definition=definition, blind=True, proxy=proxy, cv=3, random_state=0
        ).fit(X[~new], y[~new], sensitive_features=S[~new])
        return model.predict_proba(X[new])[:, 1]

    def gap(score):
        among = y[new] == 1
        selected = score > np.quantile(score, 0.5)
        men = male[new]
        return selected[among & men].mean() - selected[among & ~men].mean()

    free, fair = fitted("mean-opportunity", 1.0), fitted("mean-opportunity", 0.0)
    assert gap(free) > 0.2
    assert abs(gap(fair)) < 0.25 * gap(free)
    parity = fitted("mean-parity", 0.0)
    assert roc_auc_score(y[new], fair) > roc_auc_score(y[new], parity) + 0.01


@pytest.mark.slow
def test_default_learner_reads_categories_and_missing_numbers(hired):
    X, y = hired
    X = X.astype({"town": "category"}).assign(skill=X["skill"].where(X["skill"] < 2))
    model = FairStackingClassifier(sensitive="sex", cv=3, random_state=0).fit(X, y)
    trees = model.learners_[0][0][-1]
    assert isinstance(trees, HistGradientBoostingClassifier)
    assert trees.early_stopping is False  # all rows are learned from, however many
    np.testing.assert_array_equal(trees.is_categorical_, [False, True, True, False])
    new = X.assign(town="elsewhere")  # unseen levels are as missing
    gone = X.assign(town=pd.Series([None] * N, dtype=object))
    np.testing.assert_array_equal(model.predict_proba(new), model.predict_proba(gone))


def test_interactions_and_several_learners_are_predictors(hired):
    X, y = hired
    flat = make_pipeline(encoder(), LogisticRegression(max_iter=500))
    model = FairStackingClassifier(
        [("tree", make_pipeline(encoder(), TREE)), flat, flat], 0.02, sensitive="sex",
        interactions=True, cv=3, random_state=0,
    )  # fmt: skip
    with pytest.warns(fairridge.exceptions.DataWarning):  # one learner is there twice
        model.fit(X, y)
    inputs = model.layer_inputs(X)["X"]
    names = ["tree", "LogisticRegression", "LogisticRegression (2)"]
    scores = [f"score of {name}" for name in names]
    assert list(inputs.columns) == scores + [f"sex[m] × {score}" for score in scores]
    product = (X["sex"] == "m") * inputs["score of tree"]
    np.testing.assert_allclose(inputs["sex[m] × score of tree"], product)
    assert model.unfairness_ == pytest.approx(0.02, abs=1e-6)


@pytest.mark.parametrize("options", [{}, {"blind": True}, {"interactions": True, "cv": 2}])
@pytest.mark.parametrize("kind", ["frame", "array", "polars", "apart"])
def test_layer_predicts_from_scores_as_from_frames(kind, options, hired):
    X, y = hired
    X = X[["skill", "age", "sex"]].assign(sex=(X["sex"] == "m").astype(float))
    made = {"array": pd.DataFrame.to_numpy, "polars": pl.from_pandas}.get(kind, lambda rows: rows)
    given = {"sensitive_features": made(X[["sex"]])} if kind == "apart" else {}
    rows = made(X.drop(columns="sex") if given else X)
    chosen = {"sensitive": None if given else [2]}
    model = FairStackingClassifier(TREE, random_state=0, **chosen, **options).fit(rows, y, **given)
    wanted = model.layer_.predict_proba(**model.layer_inputs(rows, **given))
    np.testing.assert_allclose(model.predict_proba(rows, **given), wanted, rtol=1e-12)


@pytest.mark.slow
def test_several_classes_have_log_odds_against_the_first(wage):
    X, eta = wage
    y = np.digitize(eta, np.quantile(eta, [0.4, 0.7]))
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    learner = make_pipeline(encoder(), LogisticRegression(max_iter=500))
    model = FairStackingClassifier(learner, 0.01, sensitive=["sex", "age"], cv=folds).fit(X, y)
    p = cross_val_predict(learner, X, y, cv=folds, method="predict_proba")
    logs = np.log(np.clip(p, 1e-5, 1 - 1e-5))
    np.testing.assert_allclose(model.scores_, logs[:, 1:] - logs[:, :1], atol=1e-9)
    assert model.predict_proba(X).shape == (N, 3)
    assert model.unfairness_ == pytest.approx(0.01, abs=1e-6)
    assert model.score(X, y) > 0.5


def test_decision_functions_are_scores_too(hired):
    X, y = hired
    learner = make_pipeline(encoder(), RidgeClassifier())
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    model = FairStackingClassifier(learner, sensitive="sex", cv=folds).fit(X, y)
    expected = cross_val_predict(learner, X, y, cv=folds, method="decision_function")
    np.testing.assert_allclose(model.scores_[:, 0], expected)
    assert model.decision_function(X).shape == (N,)


@pytest.mark.slow
def test_counts_enter_as_logarithms_of_means(wage):
    X, eta = wage
    with pytest.raises(TypeError, match="FairStackingClassifier"):
        FairStackingRegressor(LogisticRegression(), sensitive="sex").fit(X, eta)
    y = np.random.default_rng(1).poisson(np.exp(eta / 2))
    folds = KFold(3, shuffle=True, random_state=0)
    learner = make_pipeline(encoder(), PoissonRegressor())
    model = FairStackingRegressor(learner, 0.02, sensitive="sex", family="poisson", cv=folds)
    model.fit(X, y)
    np.testing.assert_allclose(
        model.scores_[:, 0], np.log(cross_val_predict(learner, X, y, cv=folds))
    )
    assert model.unfairness_ == pytest.approx(0.02, abs=1e-6)
    assert (model.predict(X) > 0).all()
    trees = FairStackingRegressor(sensitive="sex", family="gamma", cv=2, random_state=0)
    assert trees.fit(X, y + 1.0).learners_[0][0][-1].loss == "poisson"
    assert trees.set_params(family="gaussian").fit(X, y).learners_[0][0][-1].loss == "squared_error"


def test_weights_reach_learners_and_layer(hired):
    X, y = hired
    weight = np.random.default_rng(0).integers(0, 3, N)
    folds = [(np.arange(N) % 2 != k, np.arange(N) % 2 == k) for k in range(2)]
    folds = [tuple(map(np.flatnonzero, fold)) for fold in folds]
    learner = make_pipeline(encoder(), LogisticRegression(C=1e6, max_iter=2000, tol=1e-10))
    model = FairStackingClassifier(learner, sensitive="sex", cv=folds)
    model.fit(X, y, sample_weight=weight)
    again = np.repeat(np.arange(N), weight)
    repeated = [(np.isin(again, a), np.isin(again, b)) for a, b in folds]
    repeated = [tuple(map(np.flatnonzero, fold)) for fold in repeated]
    other = clone(model).set_params(cv=repeated).fit(X.iloc[again], y[again])
    np.testing.assert_allclose(model.predict_proba(X), other.predict_proba(X), atol=1e-4)
    np.testing.assert_array_equal(model.layer_rows_, np.flatnonzero(weight))
    unweighted = clone(model).fit(X, y)
    assert np.abs(model.predict_proba(X) - unweighted.predict_proba(X)).max() > 1e-2
    neighbors = make_pipeline(encoder(), KNeighborsClassifier())
    with pytest.raises(ValueError, match="KNeighborsClassifier takes no sample_weight"):
        clone(model).set_params(estimators=neighbors).fit(X, y, sample_weight=weight)


@pytest.mark.slow
def test_rows_that_no_fold_tests_are_not_in_the_layer(wage):
    X, y = wage
    model = FairStackingRegressor(sensitive="sex", cv=TimeSeriesSplit(3)).fit(X, y)
    np.testing.assert_array_equal(model.layer_rows_, np.arange(N // 4, N))
    assert model.n_rows_ == len(model.scores_) == N - N // 4
    assert model.inference(X, y).estimate.shape == (3,)


def test_learners_see_numbers_of_classes_and_plain_names(hired):
    X, y = hired
    S = X[["sex"]].assign(sex_m=np.arange(N) % 7)
    model = FairStackingClassifier(Counted(), 0.05, cv=2, random_state=0)
    model.fit(X[["skill", "age"]], y, sensitive_features=S)
    assert Counted.seen == ("skill", "age", "sex_m", "sex_m_")
    assert model.learners_[0][0].classes_.tolist() == [0, 1]
    assert list(model.classes_) == ["no", "yes"]


def test_prefit_learners_know_the_columns_that_they_see(hired):
    X, y = hired
    numbers, S = X[["skill", "age"]], X["sex"]
    learner = LogisticRegression().fit(numbers, y)
    model = FairStackingClassifier(learner, 0.03, prefit=True)
    message = r"learner 'LogisticRegression' knows .*, and would see .*sex.*blind=True"
    with pytest.raises(ValueError, match=message):
        model.fit(numbers, y, sensitive_features=S)
    with pytest.raises(TypeError, match="FairStackingClassifier takes no offset"):
        model.fit(X, y, offset=np.zeros(len(y)))
    blind = FairStackingClassifier(learner, 0.03, prefit=True, blind=True, random_state=0)
    assert blind.fit(numbers, y, sensitive_features=S).unfairness_ <= 0.03 + 1e-9


def test_prefit_learners_are_used_as_they_are(hired):
    X, y = hired
    learner = make_pipeline(encoder(), TREE).fit(X[:300], y[:300])
    model = FairStackingClassifier(learner, 0.03, sensitive="sex", prefit=True)
    model.fit(X[300:], y[300:])
    assert model.learners_[0][0] is learner
    p = np.clip(learner.predict_proba(X[300:]), 1e-5, 1 - 1e-5)
    np.testing.assert_allclose(model.scores_[:, 0], np.log(p[:, 1] / p[:, 0]))
    with pytest.raises(ValueError, match="needs estimators"):
        FairStackingClassifier(sensitive="sex", prefit=True).fit(X, y)


def test_certificates_are_of_rows_that_learners_have_not_seen():
    X, eta, rng = people(4000, seed=1)
    y = rng.random(4000) < 1 / (1 + np.exp(-eta))
    Counted.fits = 0
    model = FairStackingClassifier(Counted(), 0.05, deploy="average", **CERTIFIED).fit(X, y)
    assert Counted.fits == 1
    assert len(model.layer_rows_) == 2000
    certificate = model.certificate_
    assert certificate.granted
    assert certificate.n_rows == 2000
    assert certificate.training_bound < 0.05
    assert model.unfairness_ == pytest.approx(certificate.training_bound, abs=1e-6)
    text = " ".join(str(model.summary()).split())
    assert "fitted to other rows than the 2000 of the layer" in text
    assert "approximate" not in text


def test_out_of_fold_certificates_are_called_approximate():
    X, eta, rng = people(4000, seed=1)
    y = rng.random(4000) < 1 / (1 + np.exp(-eta))
    model = FairStackingClassifier(Counted(), 0.05, certification="out-of-fold", **CERTIFIED)
    assert model.fit(X, y).certificate_.n_rows == 4000
    text = " ".join(str(model.summary()).split())
    assert "out-of-fold scores for those of new rows" in text
    with pytest.raises(ValueError, match="deploy='average' has no out-of-fold certificate"):
        model.set_params(deploy="average").fit(X, y)


def test_certificates_with_a_learned_map_are_called_approximate(hired):
    X, y = hired
    options = CERTIFIED | {"sensitive": "age", "proxy": DecisionTreeRegressor(max_depth=2)}
    model = FairStackingClassifier(Counted(), 0.3, sensitive_map="learned", **options).fit(X, y)
    text = " ".join(str(model.summary()).split())
    assert "out-of-fold values of the learned columns of S" in text


@pytest.mark.slow
def test_learned_map_removes_dependence_that_is_not_linear():
    rng = np.random.default_rng(0)
    n = 3000
    everyone = pd.DataFrame({"age": rng.uniform(-1, 1, 3 * n), "skill": rng.normal(size=3 * n)})
    X, new = everyone[:n], everyone[n:]
    y = X["skill"] + 2 * X["age"] ** 2 + 0.3 * rng.normal(size=n)
    shares = {}
    for name, sensitive_map in {"none": None, "learned": "learned"}.items():
        model = FairStackingRegressor(
            None, 0.0, sensitive="age", sensitive_map=sensitive_map, cv=3, random_state=0
        ).fit(X, y)
        shares[name] = np.corrcoef(model.predict(new), new["age"] ** 2)[0, 1] ** 2
    assert shares["none"] > 0.1
    assert shares["learned"] < 0.1 * shares["none"]
    assert list(model.layer_inputs(X)["sensitive_features"].columns) == [
        "age",
        "expected prediction by S, round 1",
        "expected prediction by S, round 2",
    ]


@pytest.mark.slow
def test_rules_choose_the_bound_of_stacked_models(hired):
    X, y = hired
    model = FairStackingClassifier(sensitive="sex", cv=3, random_state=0).fit(X, y)
    new, eta, rng = people(800, seed=5)
    y_new = np.where(rng.random(800) < 1 / (1 + np.exp(-eta)), "yes", "no")

    found = fairridge.choose_bound(
        FairStackingClassifier(sensitive="sex", cv=3, random_state=0), X, y, new, y_new,
        rule=AdverseImpact(ratio=0.3), unfairness=[0.0, 0.02, 0.2],
    )  # fmt: skip
    assert found.granted
    assert found.model.predict(new).shape == (800,)
    assert found.model.unfairness == found.unfairness
    with pytest.raises(ValueError, match="training rows"):
        fairridge.choose_bound(model, X, y, X, y, rule=AdverseImpact())
    with pytest.raises(TypeError, match="layer_inputs"):
        fairridge.attribution(model)


@pytest.mark.slow
def test_cross_validation_fits_learners_once_for_all_bounds(hired):
    X, y = hired
    model = FairStackingClassifier(Counted(), sensitive="sex", cv=2, random_state=0)
    options = {"cv": 2, "random_state": 0}
    Counted.fits = 0
    found = fairridge.cross_validate(model, X, y, unfairness=[0.01, 0.1], **options).to_frame()
    assert Counted.fits == 2 * 3
    alone = fairridge.cross_validate(model, X, y, unfairness=[0.1], **options).to_frame()
    both = found[found["unfairness"] == 0.1]
    np.testing.assert_allclose(both["loss"], alone["loss"], rtol=1e-6)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"estimators": LinearRegression()}, TypeError, "is not a classifier"),
        ({"estimators": []}, ValueError, "at least one"),
        ({"estimators": "trees"}, TypeError, "no fit"),
        ({"cv": 1}, ValueError, "at least 2"),
        ({"cv": [([0, 1], [2]), ([0, 1], [2])]}, ValueError, "disjoint"),
        ({"deploy": "both"}, ValueError, "deploy='both'"),
        ({"blind": 1}, ValueError, "blind=1"),
        ({"certification": "hope"}, ValueError, "certification='hope'"),
        ({"sensitive_map": "splines"}, ValueError, "sensitive_map='splines'"),
        ({"proxy": LogisticRegression(), "blind": True}, TypeError, "is a classifier"),
        ({"sensitive": None}, ValueError, "which attributes are sensitive"),
        ({"sensitive": "race"}, ValueError, "no column 'race'"),
        (
            {"sensitive": ["skill", "sex", "town", "age"], "blind": True},
            ValueError,
            "nothing but S",
        ),
    ],
)
def test_bad_parameters_have_one_clear_error(hired, options, error, message):
    X, y = hired
    model = FairStackingClassifier(**{"sensitive": "sex", "random_state": 0} | options)
    with pytest.raises(error, match=message):
        model.fit(X, y)


# Trees count rows, not weights, in a leaf.
COUNTS = {"check_sample_weight_equivalence_on_dense_data": "leaves of trees count rows"}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (FairStackingRegressor(LinearRegression(), sensitive=[0], cv=3), {}),
        (FairStackingClassifier(sensitive=[0], cv=2), COUNTS),
    ],
)
def test_every_check_of_scikit_learn_passes(model, expected):
    results = estimator_checks.check_estimator(
        model, expected_failed_checks=expected, on_skip=None, on_fail="raise"
    )
    assert len(results) > 40


ADULT_TARGETS = {
    0.002: (0.002, 0.0),
    0.01: (0.002, 0.912),
    0.02: (0.002, 0.0),
    0.05: (0.004, 0.924),
}


@pytest.mark.slow
def test_adult_keeps_bound_and_accuracy_on_held_out_rows():
    """Five splits: R² on sex is what was asked for, and AUC that of boosted trees nearly."""
    adult = fairridge.datasets.load_adult(backend="pandas")
    y = np.asarray(adult.y) == ">50K"
    found = {r: [] for r in ADULT_TARGETS}
    blind, linear = {"refit": [], "average": []}, []
    for seed in range(5):
        X, new, own, theirs = train_test_split(adult.X, y, test_size=0.3, random_state=seed)
        man = new["sex"] == "Male"
        path = FairStackingClassifier(sensitive="sex", random_state=seed).path(
            X, own, unfairness=list(found)
        )
        for r, scores in found.items():
            p = path.at(r).predict_proba(new)[:, 1]
            scores.append((np.corrcoef(p, man)[0, 1] ** 2, roc_auc_score(theirs, p)))
        for deploy, scores in blind.items():
            model = FairStackingClassifier(
                None, 0.01, sensitive="sex", blind=True, deploy=deploy, random_state=seed
            )
            p = model.fit(X, own).predict_proba(new.drop(columns="sex"))[:, 1]
            scores.append(roc_auc_score(theirs, p))
        plain = FairRidgeClassifier(0.01, sensitive="sex", definition="mean-parity", blind=True)
        p = plain.fit(X, own).predict_proba(new.drop(columns="sex"))[:, 1]
        linear.append(roc_auc_score(theirs, p))
    for r, (tolerance, least) in ADULT_TARGETS.items():
        share, auc = np.mean(found[r], axis=0)
        assert share == pytest.approx(r, abs=tolerance)
        assert auc >= least
    assert np.mean(blind["refit"]) >= np.mean(linear) + 0.01
    assert np.mean(blind["average"]) >= 0.91
