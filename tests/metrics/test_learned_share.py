"""How much of predictions a flexible learner of S explains."""

import numpy as np
import pandas as pd
import pytest

from fairridge import FairRidgeRegressor, audit, report
from fairridge.metrics.learned_share import learned_share


def test_groups_are_judged_by_the_means_of_their_other_rows():
    rng = np.random.default_rng(0)
    S, f, w = rng.integers(0, 3, (60, 1)), rng.normal(size=60), rng.uniform(0.5, 2, 60)
    f = f + (S[:, 0] == 1)
    found = learned_share(f, S.astype(float), w, 0.95)
    center = f - np.average(f, weights=w)
    learned = np.array([
        np.average(center[same], weights=w[same])
        for k in range(60)
        for same in [(S[:, 0] == S[k, 0]) & (np.arange(60) != k)]
    ])  # fmt: skip
    expected = np.sum(w * center * learned) / np.sum(w * center**2)
    assert found.value == pytest.approx(expected, abs=1e-12)
    assert found.low < found.value < found.high


@pytest.mark.slow
def test_dependence_that_no_line_sees_is_found():
    rng = np.random.default_rng(1)
    age = rng.uniform(-1, 1, 2000)
    f = age**2 + 0.2 * rng.normal(size=2000)
    found = audit(None, f, sensitive_features=pd.DataFrame({"age": age}))
    truth = np.var(age**2) / np.var(f)
    assert found.r_squared < 0.01
    assert found.learned_share.low < truth < found.learned_share.high + 0.05
    assert found.learned_share.value == pytest.approx(truth, abs=0.1)
    assert "share explained by a flexible learner of S" in str(found)
    sex, race = rng.integers(0, 2, (2, 2000))
    both = (sex ^ race) + rng.normal(size=2000)  # the groups of each differ in nothing
    crossed = audit(None, both, sensitive_features=pd.DataFrame({"sex": sex, "race": race}))
    assert crossed.r_squared < 0.01
    assert crossed.learned_share.value == pytest.approx(0.2, abs=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.0, 0.05])
def test_many_groups_are_not_charged_with_their_noise(share):
    """Race × age are 360 groups, of whom 22 people on average tell a mean."""
    low, high, values = 0, 0, []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        age, race = rng.normal(60, 15, 8000).round(), rng.choice(4, 8000, p=[0.6, 0.2, 0.1, 0.1])
        of_age = (((age - 60) / 15) ** 2 - 1) / np.sqrt(2)
        f = np.sqrt(share) * of_age + np.sqrt(1 - share) * rng.normal(size=8000)
        found = learned_share(f, np.column_stack([race, age]).astype(float), np.ones(8000), 0.95)
        low, high = low + (found.low <= share), high + (share <= found.high)
        values.append(found.value)
    # Of people who are alone in their group nothing is learned: a seventh of it is missing, for
    # which the upper end allows.
    assert low >= 38
    assert high >= 36
    assert 0.8 * share - 0.002 < np.mean(values) < share + 0.005


def test_the_upper_end_has_rows_that_are_alone_explained_altogether():
    rng = np.random.default_rng(4)
    S = np.repeat([0.0, 1.0], 100)
    f = 2.0 * S + rng.normal(size=200)
    S[0] = 2.0
    found = learned_share(f, S[:, None], np.ones(200), 0.95)
    alone = (f[0] - f.mean()) ** 2 / np.sum((f - f.mean()) ** 2)
    assert 0.0 < found.low < found.value < found.high < 1.0
    below, above = found.value - found.low, found.high - found.value
    assert above - below == pytest.approx(alone, abs=1e-12)


def test_few_rows_and_constant_predictions_are_no_error():
    S = np.random.default_rng(0).normal(size=(50, 1))
    assert np.isnan(learned_share(S[:, 0], S, np.ones(50), 0.95).value)
    assert learned_share(np.full(50, 0.1), S, np.ones(50), 0.95).value == 0.0
    quiet = audit(None, S[:, 0], sensitive_features=S > 0, learned=False)
    assert np.isnan(quiet.learned_share.value)
    assert "flexible learner" not in str(quiet)


@pytest.mark.slow
def test_reports_say_what_a_flexible_learner_explains():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.uniform(-1, 1, 400), "skill": rng.normal(size=400)})
    X["skill"] += 2 * X["age"] ** 2
    y = X["skill"] + 0.3 * rng.normal(size=400)
    model = FairRidgeRegressor(0.0, sensitive="age").fit(X, y)
    page = report(model, X, y, cv=2, bootstrap=0)
    assert page.contents.learned.low > 0.1
    assert "A flexible learner of the sensitive attributes" in page.html
