"""The reductions approach, and decorrelation, compared with fairlearn itself."""

import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from fairridge import FairRidgeRegressor, ReductionsClassifier
from tests.zoo import LateModule

preprocessing = LateModule("fairlearn.preprocessing")
reductions = LateModule("fairlearn.reductions")

SENSITIVE = ["sex", "race"]
MOMENTS = {"demographic-parity": "DemographicParity", "equalized-odds": "EqualizedOdds"}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(2)
    n = 300
    sex, race = rng.choice(["f", "m"], n), rng.choice(["a", "b"], n)
    skill = rng.normal(size=n) + 0.8 * (sex == "m")
    job = rng.choice(["clerk", "cook", "nurse"], n)
    score = 2 * skill + (sex == "m") + 0.5 * (race == "b") + rng.normal(size=n)
    frame = pd.DataFrame({"sex": sex, "race": race, "skill": skill, "job": job})
    return frame, np.where(score > 1.0, "yes", "no")


def encoded(frame):
    dummies = pd.get_dummies(frame[["skill", "job"]], drop_first=True, dtype=float)
    return dummies.to_numpy()


def by_fairlearn(frame, y, constraint, bound, base):
    moment = getattr(reductions, MOMENTS[constraint])(difference_bound=bound)
    mitigator = reductions.ExponentiatedGradient(base, moment)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        mitigator.fit(encoded(frame), (y == "yes").astype(int), sensitive_features=frame[SENSITIVE])
        return mitigator._pmf_predict(encoded(frame))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("constraint", "bound", "estimator"),
    [
        ("demographic-parity", 0.05, None),
        pytest.param("equalized-odds", 0.1, None, marks=pytest.mark.slow),
        pytest.param(
            "equalized-odds",
            0.15,
            DecisionTreeClassifier(max_depth=3, random_state=0),
            marks=pytest.mark.slow,
        ),
    ],
)
def test_it_is_fairlearns_mixture(data, constraint, bound, estimator):
    frame, y = data
    model = ReductionsClassifier(
        bound, sensitive=SENSITIVE, constraint=constraint, estimator=estimator
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = model.fit(frame, y).predict_proba(frame)
    base = estimator or LogisticRegression(C=1e4, solver="newton-cholesky", max_iter=1000)
    expected = by_fairlearn(frame, y, constraint, bound, base)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-15)
    assert found.min() >= 0.0
    assert model.weights_.sum() == pytest.approx(1.0)
    assert len(model.weights_) == len(model.estimators_)


@pytest.fixture(scope="module")
def fair(data):
    return ReductionsClassifier(0.05, sensitive=SENSITIVE).fit(*data)


@pytest.mark.slow
def test_the_randomized_classifier_meets_the_bound(data, fair):
    frame, y = data
    chance = fair.predict_proba(frame)[:, 1]
    rates = pd.Series(chance).groupby(frame["sex"] + frame["race"]).mean()
    gap = np.abs(rates - chance.mean()).max()
    assert gap == pytest.approx(fair.unfairness_, rel=1e-12)
    assert gap <= 0.06
    hard = pd.Series(fair.predict(frame) == "yes").astype(float)
    expected = np.abs(hard.groupby(frame["sex"] + frame["race"]).mean() - hard.mean()).max()
    assert fair.unfairness_components_["predicted"] == pytest.approx(expected, rel=1e-12)
    free = ReductionsClassifier(1.0, sensitive=SENSITIVE).fit(frame, y)
    assert free.unfairness_ > 0.15
    assert free.status_ == "inactive"
    assert free.training_score_ > fair.training_score_


@pytest.mark.slow
def test_equalized_odds_compares_within_classes(data):
    frame, y = data
    model = ReductionsClassifier(0.05, sensitive="sex", constraint="equalized-odds").fit(frame, y)
    chance = pd.Series(model.predict_proba(frame)[:, 1])
    within = chance.groupby([y, frame["sex"]]).mean()
    gaps = [np.abs(within[label] - chance[y == label].mean()).max() for label in ("no", "yes")]
    assert model.unfairness_ == pytest.approx(max(gaps), rel=1e-12)
    assert model.unfairness_ <= 0.06


@pytest.mark.slow
def test_predictions_are_the_more_likely_class_every_time(data, fair):
    frame, y = data
    chance = fair.predict_proba(frame)[:, 1]
    first = fair.predict(frame)
    np.testing.assert_array_equal(first, np.where(chance > 0.5, "yes", "no"))
    np.testing.assert_array_equal(fair.predict(frame), first)
    np.testing.assert_array_equal(fair.decision_function(frame) > 0, first == "yes")
    assert fair.score(frame, y) == pytest.approx(np.mean(first == y))
    assert fair.training_score_ == fair.score(frame, y)


@pytest.mark.slow
def test_several_attributes_are_one(data, fair):
    frame, y = data
    merged = frame.assign(both=frame["sex"] + frame["race"]).drop(columns=SENSITIVE)
    model = ReductionsClassifier(0.05, sensitive="both").fit(merged, y)
    np.testing.assert_allclose(model.predict_proba(merged), fair.predict_proba(frame), atol=1e-12)
    assert fair.groups_.tolist() == [
        "sex=f, race=a", "sex=f, race=b", "sex=m, race=a", "sex=m, race=b"
    ]  # fmt: skip


def test_the_summary_has_rates_by_group(data, fair):
    frame, y = data
    table = fair.summary().to_frame()
    expected = pd.Series(y == "yes").groupby(frame["sex"] + frame["race"]).mean()
    assert table["rate"].tolist() == pytest.approx(expected.tolist())
    assert np.abs(table["expected"] - fair.predict_proba(frame)[:, 1].mean()).max() <= 0.06
    assert "demographic-parity" in str(fair.summary())


def test_without_fairlearn_it_says_how_to_get_it(data, monkeypatch):
    monkeypatch.setitem(sys.modules, "fairlearn.reductions", None)
    with pytest.raises(ImportError, match=r"needs fairlearn: pip install 'fairridge\[fairlearn\]'"):
        ReductionsClassifier(sensitive=SENSITIVE).fit(*data)


def test_predicting_does_not_need_fairlearn(data, fair, monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] == "fairlearn"]:
        monkeypatch.setitem(sys.modules, name, None)
    assert fair.predict(data[0]).shape == (300,)


def test_more_than_two_classes_are_an_error(data):
    frame, y = data
    y = np.where(frame["job"] == "cook", "maybe", y)
    with pytest.raises(ValueError, match=r"Only binary classification is supported.*3 classes"):
        ReductionsClassifier(sensitive=SENSITIVE).fit(frame, y)


def test_weights_that_count_no_rows_are_an_error(data):
    frame, y = data
    weight = np.ones(len(y))
    weight[7] = 0.5
    with pytest.raises(ValueError, match=r"sample_weight has 0\.5.*use whole numbers"):
        ReductionsClassifier(sensitive=SENSITIVE).fit(frame, y, sample_weight=weight)


def test_too_few_rounds_are_a_warning(data):
    model = ReductionsClassifier(0.0, sensitive=SENSITIVE, max_iter=1)
    with pytest.warns(ConvergenceWarning, match="did not converge in max_iter=1 rounds"):
        model.fit(*data)
    assert model.status_ == "not-converged"
    assert not model.converged_
    assert model.n_iter_ == 1


def test_groups_that_are_the_classes_are_an_error_in_plain_words():
    x = np.concatenate([np.linspace(0.0, 0.4, 15), np.linspace(0.6, 1.0, 15)])
    group = np.repeat([0, 1], 15)
    with pytest.raises(ValueError, match="groups are the classes of y"):
        ReductionsClassifier(sensitive=[0]).fit(np.column_stack([group, x]), group)


def test_bad_parameters_are_named(data, fair):
    frame, y = data
    with pytest.raises(ValueError, match="constraint='parity' is not known"):
        ReductionsClassifier(sensitive=SENSITIVE, constraint="parity").fit(frame, y)
    with pytest.raises(ValueError, match="takes no offset"):
        fair.predict(frame, offset=np.ones(len(y)))


def test_at_zero_a_linear_model_is_that_after_the_correlation_remover(data):
    frame, y = data
    inputs = frame[["skill"]].assign(sex=(frame["sex"] == "m").astype(float))
    answer = inputs["skill"] + inputs["sex"] + (y == "yes")
    remover = preprocessing.CorrelationRemover(sensitive_feature_ids=["sex"])
    removed = remover.fit_transform(inputs)
    theirs = LinearRegression().fit(removed, answer).predict(removed)
    ours = FairRidgeRegressor(0, sensitive=["sex"]).fit(inputs, answer).predict(inputs)
    np.testing.assert_allclose(ours, theirs, atol=1e-8)
