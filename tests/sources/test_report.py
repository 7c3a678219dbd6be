"""Reports on new rows that are not in memory have the numbers of the same rows in memory."""

import pytest

from fairridge import (
    FairRidgeClassifier,
    FairRidgeRegressor,
    FairRidgeSurvival,
    FairStackingRegressor,
    report,
    sources,
)
from tests.zoo import first_of

from .conftest import COLUMNS, SENSITIVE, assert_same_audit, make_people

EACH = {"definition": "mean-parity", "unfairness": {"age": 0.01, "sex": 0.02}}
# Response, parameters, weight and offset.
MODELS = {
    "controls": ("wage", {"controls": ["skill", "region"]}, "weight", None),
    "blind": ("hired", {"blind": True}, None, None),
    "three classes": ("job", {"definition": "mean-parity"}, "weight", None),
    "rates": ("visits", {"family": "poisson"}, "weight", "exposure"),
    "each": ("visits", EACH | {"family": "poisson"}, None, None),
}


@pytest.fixture(scope="module")
def training():
    return make_people(1500, seed=5)


def fitted(training, response, options, offset=None):
    classes = response in ("hired", "job")
    model = (FairRidgeClassifier if classes else FairRidgeRegressor)(
        **({"unfairness": 0.05} | options), sensitive=SENSITIVE
    )
    given = {"offset": training[offset]} if offset else {}
    return model.fit(training[COLUMNS], training[response], **given)


def reports(home, people, model, response, weight=None, offset=None, **options):
    columns = [*COLUMNS, response, *(name for name in (weight, offset) if name)]
    roles = {"response": response, "sensitive": SENSITIVE, "weight": weight, "offset": offset}
    ours = report(model, home(people[columns], **roles), new_rows=True, **options)
    given = {"sample_weight": weight, "offset": offset}
    given = {name: people[column] for name, column in given.items() if column}
    theirs = report(model, people[COLUMNS], people[response], new_rows=True, **given, **options)
    return ours, theirs


@pytest.mark.parametrize("name", first_of(MODELS, 2))
def test_every_number_is_that_of_rows_in_memory(home, people, training, name):
    response, options, weight, offset = MODELS[name]
    model = fitted(training, response, options, offset)
    ours, theirs = reports(home, people, model, response, weight, offset)
    shown, known = (dict(page.contents.subject.record) for page in (ours, theirs))
    place = "Fingerprint of the new rows (SHA-256)"
    assert shown.pop(place) == "none: the rows are not in memory"
    assert known.pop(place)
    assert shown == known
    assert_same_audit(ours.contents, theirs.contents)
    page = ours.html.replace("exact", "").splitlines()
    assert len(page) == len(theirs.html.splitlines())


def test_what_is_decided_is_that_of_rows_in_memory(home, people, training):
    options = {"threshold": 0.4, "positive": "no", "favorable": "low", "bins": 3, "small": 500}
    model = fitted(training, "hired", {})
    ours, theirs = reports(home, people, model, "hired", **options, title="A page")
    assert_same_audit(ours.contents, theirs.contents)
    assert "A page" in ours.html


def test_it_says_how_far_bins_may_be_off(training):
    people = make_people(6000, seed=9)
    model = fitted(training, "hired", {})
    roles = {"response": "hired", "sensitive": SENSITIVE}
    source = sources.frame(people[[*COLUMNS, "hired"]], **roles, batch_rows=1000)
    page = report(model, source, new_rows=True)
    theirs = report(model, people[COLUMNS], people["hired"], new_rows=True)
    errors = page.contents.main.audits[0].score_bins
    accuracy, known = ({m.key: m for m in each.contents.accuracy} for each in (page, theirs))
    assert 0.0 < abs(accuracy["auc"].value - known["auc"].value) <= errors.auc < 0.001
    assert f"AUC, from bins, off by at most {errors.auc:.1e}" in page.html
    assert f"Measures of sorted predictions come from {errors.bins:,} bins; off by" in page.html
    assert accuracy["loss"].value == pytest.approx(known["loss"].value, rel=1e-10)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({}, TypeError, "a report on training rows needs these in memory"),
        ({"new_rows": True, "y": [1.0]}, ValueError, "leave y out: these rows have"),
        ({"new_rows": True, "top": 0.2}, TypeError, "top needs the rows in memory"),
    ],
)
def test_what_a_source_has_or_cannot_have_is_refused(people, training, given, error, message):
    model = fitted(training, "wage", {})
    roles = {"response": "wage", "sensitive": SENSITIVE}
    source = sources.frame(people[[*COLUMNS, "wage"]], **roles)
    with pytest.raises(error, match=message):
        report(model, source, **given)


def test_models_that_score_no_batches_are_refused(people, training):
    roles = {"response": "wage", "sensitive": SENSITIVE}
    source = sources.frame(people[[*COLUMNS, "wage"]], **roles)
    stack = FairStackingRegressor(None, 0.05, sensitive=SENSITIVE, cv=2)
    stack.fit(training[COLUMNS], training["wage"])
    with pytest.raises(TypeError, match="takes a linear model of fairridge"):
        report(stack, source, new_rows=True)
    array = FairRidgeRegressor(0.05, sensitive=[0])
    array.fit(training[["age", "skill"]].to_numpy(), training["wage"])
    with pytest.raises(ValueError, match="fitted to an array without column names"):
        report(array, source, new_rows=True)
    few = sources.frame(people[["age", "skill", "wage"]], response="wage", sensitive=["age"])
    with pytest.raises(ValueError, match="these rows lack column 'sex'"):
        report(fitted(training, "wage", {}), few, new_rows=True)
    times = training[["cost"]].assign(event=1).rename(columns={"cost": "time"})
    cox = FairRidgeSurvival(0.05, sensitive=SENSITIVE).fit(training[COLUMNS], times)
    with pytest.raises(ValueError, match="a report on times needs the rows in memory"):
        report(cox, source, new_rows=True)
    with pytest.raises(ValueError, match="compared with responses: pass y"):
        report(fitted(training, "wage", {}), people[COLUMNS], new_rows=True)
