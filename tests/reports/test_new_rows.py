"""Reports on rows that a model was not fitted to: what they say.

Shares and intervals are in `tests/contracts/test_same_numbers.py`.
"""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import log_loss, r2_score, roc_auc_score

import fairridge
from fairridge import FairRidgeClassifier, FairRidgeRegressor
from fairridge.validation.report.new_rows import stability_index
from tests.zoo import model_of


@pytest.fixture(scope="module")
def halves(people, people_X):
    first = np.arange(len(people)) % 2 == 0
    return first, people_X[first], people_X[~first]


@pytest.fixture(scope="module")
def classifier(people, halves):
    first, X, _ = halves
    model = FairRidgeClassifier(0.02, definition="mean-parity", sensitive=["sex", "age"])
    return model.fit(X, people["binomial"][first])


@pytest.fixture(scope="module")
def validated(classifier, people, halves):
    first, _, X = halves
    return fairridge.report(classifier, X, people["binomial"][~first], new_rows=True, bootstrap=40)


def measure(report, key):
    (found,) = [
        one for one in (*report.contents.measures, *report.contents.accuracy) if one.key == key
    ]
    return found


def test_it_says_whether_the_bound_holds(validated, classifier, people, halves):
    assert "bound" in validated.summary
    first, _, X = halves
    moved = X.assign(age=X["age"].iloc[0] + np.where(X["sex"] == "male", 400.0, 0.0))
    worse = fairridge.report(classifier, moved, people["binomial"][~first], new_rows=True)
    assert "predicted probabilities. That is above the bound." in worse.summary
    assert worse.contents.bounds[0].found.verdict(0.02) == "above"
    assert "have shifted" in worse.summary
    assert worse.contents.drift[0].name == "age"
    certain = fairridge.report(
        FairRidgeClassifier(0.6, definition="mean-parity", sensitive=["sex", "age"]).fit(
            X, people["binomial"][~first]
        ),
        X, people["binomial"][~first], new_rows=True,
    )  # fmt: skip
    assert "That is within the bound." in certain.summary


def test_an_interval_around_the_bound_decides_nothing():
    """S explains about as much as the bound allows: the value alone would say within, or above."""
    rng, n = np.random.default_rng(4), 400
    X = pd.DataFrame({"s": rng.choice(["a", "b"], n), "x": rng.normal(size=n)})
    y = X["x"] + 0.6 * (X["s"] == "a") + 0.3 * rng.normal(size=n)
    model = FairRidgeRegressor(0.03, sensitive="s").fit(X, y)
    own = fairridge.report(model, X, y, new_rows=True)
    found = measure(own, "share_of_eta")
    assert found.low < 0.03 < found.high
    assert found.value == pytest.approx(0.03)
    assert "That is undecided: the interval has the bound in it." in own.summary


def test_drift_is_the_population_stability_index(classifier, people, halves):
    first, X, new = halves
    y = people["binomial"][~first]
    changed = new.assign(region="west")
    found = fairridge.report(classifier, changed, y, new_rows=True, bootstrap=0).contents
    region = next(one for one in found.drift if one.name == "region")
    before = X["region"].value_counts(normalize=True)
    old, now = before.to_numpy(), np.maximum((before.index == "west").astype(float), 1e-4)
    assert region.psi == pytest.approx(((now - old) * np.log(now / old)).sum())
    assert (region.part, region.now) == ("west", 1.0)
    assert region.before == pytest.approx(before["west"])
    assert found.drift[0] == region
    # The training rows themselves have not moved.
    own = fairridge.report(classifier, X, people["binomial"][first], new_rows=True, bootstrap=0)
    assert all(one.psi == pytest.approx(0.0, abs=1e-12) for one in own.contents.drift)


@pytest.mark.parametrize("family", ["gaussian", "poisson", "binomial"])
def test_accuracy_and_drift_count_weights_and_offsets(people, people_X, family):
    first, y = np.arange(len(people)) % 2 == 0, people[family]
    weight = np.random.default_rng(0).integers(1, 4, len(people)).astype(float)
    given = {"sample_weight": weight}
    if family != "binomial":
        given["offset"] = np.linspace(-0.3, 0.3, len(people))
    own, new = ({key: value[rows] for key, value in given.items()} for rows in (first, ~first))
    model = model_of(family, 0.03, sensitive=["sex", "age"])
    X, held, y_held = people_X[first], people_X[~first], y[~first]
    model.fit(X, y[first], **own)
    found = fairridge.report(model, held, y_held, new_rows=True, bootstrap=0, **new).contents
    measures = {one.key: one.value for one in found.accuracy}
    key = {"gaussian": "r_squared", "poisson": "d_squared", "binomial": "accuracy"}[family]
    if family == "gaussian":  # R² is that of the response less its offset
        left = y_held - new["offset"]
        eta = model.predict(held, offset=new["offset"]) - new["offset"]
        score = r2_score(left, eta, sample_weight=weight[~first])
    else:
        score = model.score(held, y_held, **new)
    assert measures[key] == pytest.approx(score)
    if family == "binomial":
        P = model.predict_proba(held)
        loss = 2.0 * log_loss(y_held, P, sample_weight=weight[~first])
        assert measures["loss"] == pytest.approx(loss)
        area = roc_auc_score(y_held, P[:, 1], sample_weight=weight[~first])
        assert measures["auc"] == pytest.approx(area)
    p, q = (
        pd.Series(weight[rows]).groupby(people_X["region"][rows].to_numpy()).sum()
        for rows in (first, ~first)
    )
    p, q = p / p.sum(), q / q.sum()
    psi = {one.name: one.psi for one in found.drift}
    assert psi["region"] == pytest.approx(((q - p) * np.log(q / p)).sum())


def test_chance_alone_makes_as_much_drift_as_it_says():
    rng = np.random.default_rng(0)
    n, m = 400, 700
    found = [
        stability_index(rng.multinomial(m, [0.1] * 10) / m, rng.multinomial(n, [0.1] * 10) / n)
        for _ in range(400)
    ]
    assert np.mean(found) == pytest.approx(9 * (1 / n + 1 / m), rel=0.1)


def test_the_page_is_the_same_every_time_and_needs_no_script(validated, classifier, people, halves):
    first, _, X = halves
    y = people["binomial"][~first]
    again = fairridge.report(classifier, X, y, new_rows=True, bootstrap=40)
    assert again.html == validated.html
    assert "<script" not in validated.html
    assert "PSI" in validated.html
    assert validated._repr_html_().startswith("<iframe")
    assert repr(validated).startswith("NewRowsReport(")


def test_bad_input_is_named(classifier, people, halves):
    first, _, X = halves
    y = people["binomial"][~first].astype(str)
    with pytest.raises(
        ValueError, match="y has the label 'maybe', which is not a class of the model"
    ):
        fairridge.report(classifier, X, np.where(y == y.iloc[0], "maybe", y), new_rows=True)
    with pytest.raises(ValueError, match=r"region.*'north pole', which was not there at fit"):
        fairridge.report(classifier, X.assign(region="north pole"), y, new_rows=True)
    with pytest.raises(ValueError, match="pass y"):
        fairridge.report(classifier, X, None, new_rows=True)
    with pytest.raises(ValueError, match="not fitted"):
        fairridge.report(FairRidgeRegressor(sensitive=["sex"]), X, y, new_rows=True)
    with pytest.raises(ValueError, match=r"these are not the data.*new_rows=True"):
        fairridge.report(classifier, X, people["binomial"][~first])


def test_levels_unknown_to_the_model_leave_the_columns_uncompared():
    rng = np.random.default_rng(71)
    X = pd.DataFrame({"s": rng.choice(["a", "b"], 200), "x": rng.normal(size=200)})
    y = X["x"] + rng.normal(size=200)
    model = FairRidgeRegressor(0.1, sensitive="s", unknown="mean").fit(X, y)
    text = "some rows have levels unknown to the model"
    assert text not in fairridge.report(model, X, y, new_rows=True).html
    new = X.assign(s=np.where(np.arange(200) == 0, "q", X["s"]))
    assert text in fairridge.report(model, new, y, new_rows=True).html


def test_columns_of_arrays_are_called_by_where_they_stand(people):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(len(people), 2)), people["sex"] == "male"]).astype(float)
    model = FairRidgeRegressor(0.05, sensitive=[2]).fit(X, people["gaussian"])
    for options in ({"new_rows": True}, {"cv": 0}):
        page = fairridge.report(model, X, people["gaussian"], bootstrap=0, **options)
        assert page.contents.subject.sensitive == ("x2",)
        assert page.contents.subject.predictors == ("x0", "x1")
        assert page.contents.main.audits[0].attributes[0].attribute == "x2"
