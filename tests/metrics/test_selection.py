"""Decisions by capacity, and groups that are too small a share to be compared."""

import numpy as np
import pandas as pd
import pytest

from fairridge import FairRidgeRegressor, audit, report
from fairridge.data import as_table
from fairridge.metrics.favorable import check_top, select_top
from fairridge.metrics.groups import groupings
from fairridge.rules import AdverseImpact, JudgedRows

ONES = np.ones(5)


def test_the_highest_scores_are_selected():
    score = np.array([0.1, 0.9, 0.5, 0.7, 0.3])
    assert select_top(score, ONES, 2).tolist() == [False, True, False, True, False]
    assert select_top(score, ONES, 0.4).tolist() == [False, True, False, True, False]
    assert select_top(score, ONES, 0.59).sum() == 2
    assert select_top(score, ONES, 0.6).sum() == 3
    assert select_top(score, ONES, 99).all()


def test_equal_scores_are_decided_alike():
    score = np.array([0.9, 0.5, 0.5, 0.5, 0.1])
    assert select_top(score, ONES, 2).tolist() == [True, False, False, False, False]
    assert select_top(score, ONES, 4).tolist() == [True, True, True, True, False]
    assert not select_top(np.zeros(5), ONES, 0.5).any()


def test_weights_count():
    score = np.array([0.9, 0.8, 0.7])
    assert select_top(score, np.array([3.0, 1.0, 4.0]), 0.5).tolist() == [True, True, False]
    assert select_top(score, np.array([3.0, 1.0, 4.0]), 3).tolist() == [True, False, False]


@pytest.mark.parametrize("top", [0, 1.0, True, "0.2"])
def test_neither_share_nor_count(top):
    with pytest.raises(ValueError, match=r"top=.* must be a share between 0 and 1"):
        check_top(top)


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    n = 400
    sex = pd.DataFrame({"sex": np.where(np.arange(n) % 2, "m", "f")})
    score = rng.random(n)
    return rng.random(n) < score, score, sex


@pytest.mark.parametrize(("top", "count", "favorable"), [(0.25, 100, "high"), (30, 30, "low")])
def test_an_audit_of_the_top(people, top, count, favorable):
    y, score, sex = people
    found = audit(y, score, sensitive_features=sex, top=top, favorable=favorable)
    ranked = np.sort(score if favorable == "high" else -score)[::-1]
    chosen = (score if favorable == "high" else -score) >= ranked[count - 1]
    assert found.overall.selection_rate.value == pytest.approx(count / 400)
    for group in found["sex"].groups:
        rate = chosen[sex["sex"] == group.group].mean()
        assert group.selection_rate.value == pytest.approx(rate)
    assert found.threshold is None
    assert found.top == top
    assert f"selected: the top {'25.0%' if top == 0.25 else '30'}" in str(found)


def test_one_way_to_select(people):
    y, score, sex = people
    with pytest.raises(ValueError, match="two ways to select; give one of them"):
        audit(y, score, sensitive_features=sex, top=0.1, threshold=0.5)
    with pytest.raises(ValueError, match="labels, which have no top"):
        audit(y, y, sensitive_features=sex, top=0.1)


def test_groups_below_a_share_are_left_out(people):
    y, score, _ = people
    region = np.array(["north"] * 355 + ["south"] * 40 + ["west"] * 5)
    options = {"sensitive_features": pd.DataFrame({"region": region}), "small": 0}
    small = {
        share: [
            group.group
            for group in audit(y, score, minimum_share=share, **options)["region"].groups
            if group.small
        ]
        for share in (0.0, 0.02, 0.2)
    }
    assert small == {0.0: [], 0.02: ["west"], 0.2: ["south", "west"]}
    text = str(audit(y, score, minimum_share=0.02, **options))
    assert "* fewer than 0 rows or 2.0% of all rows: left out" in text
    with pytest.raises(ValueError, match="minimum_share=1"):
        audit(y, score, minimum_share=1, **options)


def test_rounding_separates_no_rows():
    exposure = np.arange(1, 200) / 7.0
    score = np.append(0.1 * exposure / exposure, 0.05)
    assert len(set(score)) > 2
    assert not select_top(score, np.ones(200), 150).any()
    assert select_top(score, np.ones(200), 199).tolist() == [True] * 199 + [False]


@pytest.mark.parametrize(("top", "favorable", "high"), [(0.25, "high", True), (40, "low", False)])
def test_audits_reports_and_rules_select_the_same_rows(top, favorable, high):
    """Weights and exposures count alike everywhere: rows are selected by one function."""
    rng = np.random.default_rng(3)
    X = pd.DataFrame({"sex": rng.choice(["f", "m"], 200), "x": rng.normal(size=200).round(1)})
    y, weight = rng.poisson(np.exp(0.3 * X["x"])), rng.integers(1, 4, 200).astype(float)
    exposure = rng.uniform(0.2, 1.0, 200)
    given = {"sample_weight": weight, "exposure": exposure}
    model = FairRidgeRegressor(0.1, sensitive="sex", family="poisson").fit(X, y, **given)
    found = audit(
        y,
        model.predict(X, exposure=exposure),
        sensitive_features=X["sex"],
        top=top,
        favorable=favorable,
        **given,
    )
    page = report(model, X, y, new_rows=True, top=top, favorable=favorable, **given)
    shown = page.contents.samples[0].audits[0]
    rates = model.predict(X)
    rows = JudgedRows(
        rates if high else -rates, None, groupings(as_table(X[["sex"]]), weight), weight * exposure
    )
    parts = {part.name: part.mean.value for part in AdverseImpact(top=top).parts(rows)[0]}
    for one, other in zip(found["sex"].groups, shown["sex"].groups, strict=True):
        assert one.selection_rate == other.selection_rate
        assert parts[one.group] == pytest.approx(one.selection_rate.value)
    assert 0.0 < found.overall.selection_rate.value < 1.0
