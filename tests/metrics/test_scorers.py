"""Unfairness as a scorer of scikit-learn."""

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from fairridge import FairRidgeClassifier, FairRidgeRegressor, cross_validate
from fairridge.exceptions import BoundWarning
from fairridge.metrics import make_fairness_scorer, refit_within
from tests.zoo import r_squared


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(7)
    n = 400
    sex = rng.choice(["f", "m"], n)
    skill = rng.normal(size=n) + 0.8 * (sex == "m")
    wage = 2.0 * skill + 1.5 * (sex == "m") + rng.normal(size=n)
    X = pd.DataFrame({"sex": sex, "skill": skill, "luck": rng.normal(size=n)})
    return X, wage, (wage > np.median(wage)).astype(int)


def indicator(X):
    return (X["sex"] == "m").to_numpy(dtype=float)[:, None]


def pipeline(last):
    encoder = ColumnTransformer([("sex", OneHotEncoder(drop="first"), ["sex"])],
                                remainder="passthrough")  # fmt: skip
    return make_pipeline(encoder, last)


def test_mean_parity_is_r_squared_of_predictions_on_s(people):
    X, y, high = people
    scorer = make_fairness_scorer(sensitive="sex", adjusted=False)
    plain = pipeline(LinearRegression()).fit(X, y)
    assert scorer(plain, X, y) == pytest.approx(-r_squared(plain.predict(X), indicator(X)))
    classes = pipeline(LogisticRegression()).fit(X, high)
    probability = classes.predict_proba(X)[:, 1]
    assert scorer(classes, X, high) == pytest.approx(-r_squared(probability, indicator(X)))


def test_opportunity_is_about_rows_of_a_class(people):
    X, _, high = people
    classes = pipeline(LogisticRegression()).fit(X, high)
    for positive, rows in ((None, high == 1), (0, high == 0)):
        scorer = make_fairness_scorer(
            "mean-opportunity", sensitive="sex", positive=positive, adjusted=False
        )
        probability = classes.predict_proba(X)[rows, 1]
        wanted = -r_squared(probability, indicator(X)[rows])
        assert scorer(classes, X, high) == pytest.approx(wanted)
    with pytest.raises(ValueError, match="positive='c' is not a class of the model"):
        make_fairness_scorer("mean-opportunity", sensitive="sex", positive="c")(classes, X, high)
    with pytest.raises(ValueError, match="label 8, which is not a class of the model: these are 0"):
        make_fairness_scorer("mean-opportunity", sensitive="sex")(classes, X, 8 * high)
    with pytest.raises(TypeError, match="rows of a class"):
        make_fairness_scorer("mean-opportunity", sensitive="sex")(
            pipeline(LinearRegression()).fit(X, high), X, high
        )


def test_weights_and_rows_without_weight(people):
    X, y, _ = people
    scorer = make_fairness_scorer(sensitive="sex")
    plain = pipeline(LinearRegression()).fit(X, y)
    weight = np.ones(len(y))
    weight[:100] = 0.0
    assert scorer(plain, X, y, sample_weight=weight) == pytest.approx(scorer(plain, X[100:]))


def test_exposures_weight_rates_as_in_the_fit(people):
    X, _, _ = people
    rng = np.random.default_rng(3)
    years = rng.uniform(0.1, 3.0, len(X))
    counts = rng.poisson(np.exp(0.3 * X["skill"] - 0.5) * years)
    model = FairRidgeRegressor(0.05, sensitive="sex", family="poisson", definition="mean-parity")
    model.fit(X, counts, exposure=years)
    scorer = make_fairness_scorer(sensitive="sex", adjusted=False)
    score = scorer(model, X, counts, exposure=years)
    assert -score == pytest.approx(model.unfairness_, rel=1e-8)
    with pytest.raises(ValueError, match=r"fitted with an exposure.*pass exposure=…"):
        scorer(model, X, counts)
    with config_context(enable_metadata_routing=True):
        routed = cross_val_score(
            model.set_fit_request(exposure=True), X, counts,
            scoring=make_fairness_scorer(sensitive="sex").set_score_request(exposure=True),
            cv=KFold(3), params={"exposure": years},
        )  # fmt: skip
    ours = cross_validate(
        model, X, counts, unfairness=[0.05], folds=KFold(3).split(X), exposure=years
    ).to_frame()
    np.testing.assert_allclose(-routed, ours["share_of_means"], rtol=1e-6)
    gaussian = FairRidgeRegressor(sensitive="sex").fit(X, counts)
    with pytest.raises(ValueError, match="exposure is for families with the log link"):
        scorer(gaussian, X, counts, exposure=years)


def test_s_that_is_routed_reaches_model_and_scorer(people):
    X, y, _ = people
    numbers, S = X[["skill", "luck"]], X["sex"].to_frame()
    with config_context(enable_metadata_routing=True):
        model = FairRidgeRegressor().set_fit_request(sensitive_features=True)
        model.set_predict_request(sensitive_features=True)
        scorer = make_fairness_scorer().set_score_request(sensitive_features=True)
        search = GridSearchCV(
            model, {"unfairness": [0.0, 0.5]}, scoring=scorer, cv=2, refit=False
        ).fit(numbers, y, sensitive_features=S)
    shares = -search.cv_results_["mean_test_score"]
    assert abs(shares[0]) < 0.05
    assert shares[1] > 0.15


@pytest.mark.slow
def test_a_search_takes_the_most_accurate_model_within_a_bound(people):
    X, _, high = people
    grid = {"unfairness": [0.0, 0.02, 0.05, 0.1, 0.2, 0.4]}
    scoring = {"accuracy": "neg_log_loss", "unfairness": make_fairness_scorer(sensitive="sex")}
    search = GridSearchCV(
        FairRidgeClassifier(sensitive="sex", definition="mean-parity"), grid, scoring=scoring,
        cv=3, refit=refit_within(0.08, score="accuracy"),
    ).fit(X, high)  # fmt: skip
    results = search.cv_results_
    within = -results["mean_test_unfairness"] <= 0.08
    assert 0 < within.sum() < len(within)
    best = max(np.flatnonzero(within), key=lambda k: results["mean_test_accuracy"][k])
    assert search.best_index_ == best
    assert search.best_estimator_.unfairness == search.best_params_["unfairness"]


def test_pipelines_of_others_are_searched_too(people):
    X, y, _ = people
    columns = ColumnTransformer([("kept", StandardScaler(), ["skill", "luck"])])
    search = GridSearchCV(
        make_pipeline(columns, LinearRegression()),
        {"columntransformer": [columns, clone_with(columns, ["luck"])]},
        scoring={"score": "r2", "unfairness": make_fairness_scorer(sensitive="sex")},
        cv=2,
        refit=refit_within(0.05),
    ).fit(X, y)
    assert search.best_index_ == 1  # skill is a proxy of sex


def clone_with(columns, names):
    return ColumnTransformer([("kept", columns.transformers[0][1], names)])


def test_no_model_within_the_bound(people):
    results = {
        "mean_test_score": np.array([0.9, 0.8]),
        "mean_test_unfairness": np.array([-0.3, -0.2]),
    }
    with pytest.warns(BoundWarning, match=r"at most 0.1; the fairest one, which has 0.2, is taken"):
        assert refit_within(0.1)(results) == 1
    assert refit_within(0.25)(results) == 1
    assert refit_within(0.3)(results) == 0


def test_equal_scores_are_decided_by_fairness():
    results = {
        "mean_test_score": np.array([0.9, 0.9, np.nan]),
        "mean_test_unfairness": np.array([-0.3, -0.2, -0.1]),
    }
    assert refit_within(0.5)(results) == 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: make_fairness_scorer("parity"), "definition='parity'"),
        (lambda: refit_within(-0.1), "unfairness"),
        (lambda: refit_within(0.1)({"mean_test_r2": [1.0]}), "no scorer 'score', only 'r2'"),
        (
            lambda: refit_within(0.1)({"mean_test_score": [np.nan]}),
            "all candidates have NaN for 'score'",
        ),
    ],
)
def test_what_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_a_scorer_that_does_not_know_s(people):
    X, y, _ = people
    with pytest.raises(ValueError, match="name columns of X as make_fairness_scorer"):
        make_fairness_scorer()(pipeline(LinearRegression()).fit(X, y), X, y)
    with pytest.raises(ValueError, match="'race'"):
        make_fairness_scorer(sensitive="race")(pipeline(LinearRegression()).fit(X, y), X, y)
