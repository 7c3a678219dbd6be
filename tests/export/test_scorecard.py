"""Scorecards by their definition."""

import numpy as np
import polars as pl
import pytest

from fairridge import FairRidgeClassifier
from fairridge.export import scorecard


@pytest.fixture
def card(fitted):
    return scorecard(fitted("binomial"))


def test_scores_are_log_odds_on_another_scale(fitted, workers):
    model = fitted("binomial")
    scale = {"points_to_double_odds": 40, "base_score": 500, "base_odds": 10}
    exact = scorecard(model, **scale, rounded=False)
    eta = model.decision_function(workers.X)
    factor = 40 / np.log(2)
    expected = 500 - factor * np.log(10) + factor * eta
    np.testing.assert_allclose(exact.score(workers.X), expected, rtol=1e-12)
    np.testing.assert_allclose(
        exact.probability(exact.score(workers.X)), model.predict_proba(workers.X)[:, 1], rtol=1e-9
    )
    assert exact.rounding_bound == 0.0
    np.testing.assert_array_equal(exact.rounding_error(workers.X), 0.0)


def test_rounded_points_are_integers_that_add_up(card, fitted, workers):
    points, score = card.points(workers.X), card.score(workers.X)
    assert (points == np.rint(points)).all()
    np.testing.assert_array_equal(score, np.rint(card.base_points) + points.sum(axis=1))
    exact = scorecard(fitted("binomial"), rounded=False).score(workers.X)
    np.testing.assert_allclose(card.rounding_error(workers.X), score - exact, atol=1e-9)
    assert np.abs(score - exact).max() <= card.rounding_bound
    assert 0.0 < card.rounding_bound <= 0.5 * (1 + workers.X.shape[1])
    wrong = np.abs(
        card.probability(score) - fitted("binomial").predict_proba(workers.X)[:, 1]
    ).max()
    assert 0.0 < wrong <= card.probability_bound


def test_the_table_has_points_of_levels_and_of_units(card, fitted, workers):
    model = fitted("binomial")
    table = card.to_frame()
    assert table["attribute"].tolist() == [
        "(base)", "sex", "sex", "age", "skill", "hours",
        "region", "region", "region", "region", "manager",
    ]  # fmt: skip
    by_level = table.set_index(["attribute", "level"])
    coefficient = model.coef_[0, model.coef_names_ == "sex[m]"][0]
    points = card.factor * coefficient
    assert by_level.loc[("sex", "m"), "points"] == pytest.approx(points)
    assert by_level.loc[("sex", "m"), "rounded"] == np.rint(points)
    assert by_level.loc[("age", ""), "reference"] == pytest.approx(workers.X["age"].mean())
    assert set(table["role"]) == {"", "sensitive", "predictor"}
    # By hand: base points, plus levels, plus units above the mean.
    row = workers.X.iloc[0]
    total = np.rint(card.base_points)
    for line in card.lines:
        if line.level == "" and not np.isnan(line.reference):
            total += np.rint(line.points * (float(row[line.attribute]) - line.reference))
        elif row[line.attribute] == line.level:
            total += np.rint(line.points)
    assert card.score(workers.X.head(1))[0] == total


def test_the_favorable_class_may_be_the_first(fitted, workers):
    model = fitted("binomial")
    bad = scorecard(model, favorable="no", rounded=False)
    good = scorecard(model, favorable="yes", rounded=False)
    assert bad.favorable == "no"
    middle = 600 - bad.factor * np.log(50)
    np.testing.assert_allclose(
        bad.score(workers.X) - middle, middle - good.score(workers.X), rtol=1e-9, atol=1e-9
    )
    np.testing.assert_allclose(
        bad.probability(bad.score(workers.X)), model.predict_proba(workers.X)[:, 0], rtol=1e-9
    )
    with pytest.raises(ValueError, match="favorable='maybe' is not a class of this model"):
        scorecard(model, favorable="maybe")


def test_proportions_have_a_scorecard(fitted, workers):
    model = fitted("quasi-binomial")
    card = scorecard(model, rounded=False)
    np.testing.assert_allclose(
        card.probability(card.score(workers.X)), model.predict(workers.X), rtol=1e-9
    )


@pytest.mark.parametrize("family", ["gaussian", "multinomial"])
def test_other_families_have_none(fitted, family):
    with pytest.raises(ValueError, match=f"log odds of two outcomes.*is a {family} model"):
        scorecard(fitted(family))


def test_bad_scales_are_named(fitted):
    with pytest.raises(ValueError, match="points_to_double_odds=0 must be a positive number"):
        scorecard(fitted("binomial"), points_to_double_odds=0)


def test_frames_come_back_in_the_users_library(workers):
    X = workers.X[["sex", "skill"]]
    for frame in (X, pl.from_pandas(X)):
        model = FairRidgeClassifier(0.1, sensitive=["sex"]).fit(frame, workers.y["binomial"])
        assert type(scorecard(model).to_frame()) is type(frame)
