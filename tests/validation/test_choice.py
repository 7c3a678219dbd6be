"""The bound chosen by a rule on decisions."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import skew
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from fairridge import (
    BarycenterRegressor,
    FairRidgeClassifier,
    FairRidgeRegressor,
    choose_bound,
    load,
    report,
    save,
)
from fairridge.exceptions import BoundWarning
from fairridge.metrics.groups import Grouping
from fairridge.metrics.intervals import Estimate
from fairridge.rules import AdverseImpact, Group, JudgedRows, MeanGap, OddsGap, OpportunityGap

BOUNDS = [0.0, 0.01, 0.03, 0.1, 0.3, 1.0]


def people(n, seed, gap=0.9):
    rng = np.random.default_rng(seed)
    s = (rng.random(n) < 0.4).astype(float)
    frame = pd.DataFrame({"sex": np.where(s > 0, "m", "f"), "age": rng.normal(size=n)})
    frame["skill"] = rng.normal(size=n) + 0.7 * s
    eta = -0.2 + gap * s + 0.8 * frame["skill"] + 0.3 * frame["age"]
    good = rng.random(n) < 1 / (1 + np.exp(-eta))
    return frame, np.where(good, "repaid", "default"), eta + rng.normal(size=n)


@pytest.fixture(scope="module")
def rows():
    return people(2500, 0), people(2500, 1)


def chosen(rows, model, rule, **options):
    (X, labels, numbers), (held, labels_held, numbers_held) = rows
    classes = isinstance(model, FairRidgeClassifier)
    responses = (labels, labels_held) if classes else (numbers, numbers_held)
    return choose_bound(
        model, X, responses[0], held, responses[1], rule=rule, unfairness=BOUNDS, **options
    )


def test_the_largest_bound_that_passes_in_sequence(rows):
    found = chosen(rows, FairRidgeClassifier(sensitive=["sex"]), AdverseImpact(0.8))
    tested = found.tested
    assert found.granted
    assert 0.0 <= found.unfairness < 1.0
    assert tested["passed"].tolist() == [True] * (len(tested) - 1) + [False]
    assert tested["unfairness"].tolist()[-2] == found.unfairness
    assert (tested["p_value"][:-1] <= 0.1).all()
    assert tested["p_value"].iloc[-1] > 0.1
    assert found.model.unfairness == found.unfairness
    held, _, _ = rows[1]
    selected = found.model.predict_proba(held)[:, 1] > 0.5
    rates = pd.Series(selected).groupby(held["sex"].to_numpy()).mean()
    assert tested["value"].iloc[-2] == pytest.approx(rates.min() / rates.max())


def test_a_favorable_class_must_be_known(rows):
    with pytest.raises(ValueError, match=r"favorable='good' is not known.*'default', 'repaid'"):
        chosen(rows, FairRidgeClassifier(sensitive=["sex"]), AdverseImpact(favorable="good"))


@pytest.mark.parametrize("rule", [OpportunityGap(), OddsGap(0.1)])
def test_rules_on_classes_refuse_numbers(rows, rule):
    with pytest.raises(TypeError, match=f"{type(rule).__name__} is for classifiers"):
        chosen(rows, FairRidgeRegressor(sensitive=["sex"]), rule)


def test_none_may_pass(rows):
    with pytest.warns(BoundWarning, match="no bound meets the rule with confidence 0.99") as warned:
        found = chosen(rows, FairRidgeRegressor(sensitive=["sex"]), MeanGap(1e-4), confidence=0.99)
    assert "No other bound was tried. Hold out more rows" in str(warned[0].message)
    assert (found.granted, found.unfairness, found.model) == (False, None, None)
    assert len(found.tested) == 1
    assert "no bound meets the rule" in str(found)


def test_means_of_few_skewed_scores_do_not_pass():
    """Welch's test of 30 such amounts at its boundary passes twice as often as promised."""
    rng = np.random.default_rng(0)
    n = np.array([600, 30])
    group = Grouping("area", ("city", "village"), np.repeat([0, 1], n))
    even, rule = rng.normal(5.0, 0.1, n.sum()), MeanGap(1.0)
    assert rule.compared(JudgedRows(even, None, (group,), np.ones(n.sum())), 0.1).p_value < 1e-6
    amounts = even.copy()
    amounts[-30:] = 4.0 + rng.lognormal(-0.5, 1.0, 30)
    (_, village), *_ = rule.parts(JudgedRows(amounts, None, (group,), np.ones(n.sum())))
    found = rule.compared(JudgedRows(amounts, None, (group,), np.ones(n.sum())), 0.1)
    needed = 25.0 * skew(amounts[-30:], bias=False) ** 2
    assert (found.p_value, found.skewed, village.n_rows) == (1.0, True, 30)
    rows_of_village = found.rows_needed * (30 / found.n_rows)
    assert needed <= rows_of_village <= 1.05 * needed + 1.0
    assert "scores are too skewed for means of so few rows" in str(found)
    assert (
        not AdverseImpact(0.8)
        .compared(JudgedRows(even > 5.0, None, (group,), np.ones(630)), 0.1)
        .skewed
    )


def test_held_out_labels_are_classes_of_the_model(rows):
    (X, y, _), (held, y_held, _) = rows
    strange = np.where(y_held == "repaid", "REPAID", y_held)
    ours, rule = FairRidgeClassifier(sensitive=["sex"]), AdverseImpact(0.8)
    with pytest.raises(ValueError, match="label 'REPAID', which is not a class of the model"):
        choose_bound(ours, X, y, held, strange, rule=rule, unfairness=BOUNDS)
    other = LogisticRegression().fit(X[["age", "skill"]], y)
    groups = {"sensitive_features": X[["sex"]], "sensitive_features_held": held[["sex"]]}
    parts = X[["age", "skill"]], y, held[["age", "skill"]], strange
    with pytest.raises(ValueError, match="label 'REPAID', which is not a class of the model"):
        choose_bound(other, *parts, rule=OpportunityGap(0.3), **groups)


def test_weights_are_for_both_or_for_held_out_rows(rows):
    (X, _, _), _ = rows
    with pytest.raises(ValueError, match=r"training rows only: pass sample_weight_held=…"):
        chosen(
            rows, FairRidgeRegressor(sensitive=["sex"]), MeanGap(0.5), sample_weight=np.ones(len(X))
        )


def test_unsuitable_arguments(rows):
    (X, _, numbers), (held, _, held_numbers) = rows
    plain, new = X[["age", "skill"]], held[["age", "skill"]]
    with pytest.raises(ValueError, match=r"Ridge does not say which columns.*pass sensitive_feat"):
        choose_bound(
            Ridge().fit(plain, numbers), plain, numbers, new, held_numbers, rule=MeanGap(1)
        )
    groups = {"sensitive_features": X[["sex"]], "sensitive_features_held": held[["sex"]]}
    with pytest.raises(NotFittedError):
        choose_bound(Ridge(), plain, numbers, new, held_numbers, rule=MeanGap(1), **groups)
    with pytest.raises(ValueError, match="confidence=1"):
        chosen(rows, FairRidgeRegressor(sensitive=["sex"]), MeanGap(0.5), confidence=1)
    few = X.iloc[:40].assign(sex=["m"] * 20 + ["f"] * 20)
    with pytest.raises(ValueError, match="at least 30 rows"):
        choose_bound(
            FairRidgeRegressor(sensitive=["sex"]),
            few,
            numbers[:40],
            few,
            numbers[40:80],
            rule=MeanGap(1),
        )


@pytest.mark.slow
def test_a_granted_model_breaks_the_rule_rarely():
    """δ = 0.1: 40 samples, and a population of 40,000 rows."""
    population, _, _ = people(40_000, 999)
    broken = 0
    for seed in range(40):
        samples = people(800, 2 * seed), people(800, 2 * seed + 1)
        try:
            found = chosen(samples, FairRidgeClassifier(sensitive=["sex"]), AdverseImpact(0.8))
        except BoundWarning:
            continue
        selected = pd.Series(found.model.predict_proba(population)[:, 1] > 0.5)
        rates = selected.groupby(population["sex"].to_numpy()).mean()
        broken += rates.min() / rates.max() < 0.8
    assert broken / 40 <= 0.1 + 3 * np.sqrt(0.1 * 0.9 / 40)


# ---------------------------------------------------------------------- groups that are too small


def with_a_small_group(n, seed, few):
    """The last rows belong to a third group, of whom hardly anybody is selected."""
    X, y, numbers = people(n, seed)
    sex = X["sex"].to_numpy(dtype=object)
    sex[-few:] = "x"
    X.loc[X.index[-few:], "skill"] -= 3.0
    return X.assign(sex=sex), y, numbers


@pytest.fixture(scope="module")
def small():
    return with_a_small_group(1500, 0, 60), with_a_small_group(1500, 1, 20)


def test_groups_that_cannot_be_tested_leave_the_answer_open(small):
    model = FairRidgeClassifier(sensitive=["sex"])
    with pytest.warns(BoundWarning, match=r"undecided.*sex = x \(20 held-out rows, 30 are needed"):
        found = chosen(small, model, AdverseImpact(0.5))
    assert (found.granted, found.undecided) == (False, True)
    assert (found.unfairness, found.model, found.p_value) == (None, None, None)
    (group,) = found.untested
    assert group == {"attribute": "sex", "group": "x", "n_rows": 20, "rows_needed": 30}
    assert found.steps[0]["passed"]
    assert "undecided" in str(found)
    assert "sex = x (20 held-out rows" in str(found)


def test_small_groups_can_be_left_out_of_the_statement(small):
    model = FairRidgeClassifier(sensitive=["sex"])
    with pytest.warns(BoundWarning, match=r"leaves out groups that were not tested: sex = x"):
        found = chosen(small, model, AdverseImpact(0.5), untested="ignore")
    assert (found.granted, found.undecided) == (True, False)
    assert [group["group"] for group in found.untested] == ["x"]
    assert "for the groups that were tested" in " ".join(str(found).split())
    with pytest.raises(ValueError, match="untested='drop' is not known"):
        chosen(small, model, AdverseImpact(0.5), untested="drop")


def test_opportunities_are_tested_among_those_who_qualified(small):
    """Of 40 rows of the third group, fewer than 30 have the favorable outcome."""
    model = FairRidgeClassifier(sensitive=["sex"])
    held = with_a_small_group(1500, 3, 40)
    count = int(((held[0]["sex"] == "x") & (held[1] == "repaid")).sum())
    assert count < 30
    with pytest.warns(BoundWarning, match=rf"sex = x \({count} held-out rows"):
        chosen((small[0], held), model, OpportunityGap(0.9))


def test_rows_of_weight_zero_are_absent_from_counts(small):
    (X, y, _), (held, y_held, _) = small
    weight = np.ones(1500)
    weight[-20:-2] = 0.0
    given = {"sample_weight_held": weight, "rule": AdverseImpact(0.5), "unfairness": BOUNDS}
    with pytest.warns(BoundWarning, match=r"sex = x \(2 held-out rows"):
        choose_bound(FairRidgeClassifier(sensitive=["sex"]), X, y, held, y_held, **given)


def test_one_large_weight_makes_a_group_small(rows):
    model = FairRidgeClassifier(sensitive=["sex"])
    (X, y, _), (held, y_held, _) = rows
    weight = np.ones(len(held))
    weight[np.flatnonzero(held["sex"] == "m")[0]] = 1e5
    given = {"sample_weight_held": weight, "rule": AdverseImpact(0.8), "unfairness": BOUNDS}
    with pytest.warns(BoundWarning, match=r"undecided.*sex = m \(1 held-out rows"):
        found = choose_bound(model, X, y, held, y_held, **given)
    # No two groups of the only attribute are left, so that nothing is tested.
    assert (found.granted, found.undecided, found.steps) == (False, True, ())
    assert "undecided: groups could not be tested" in str(found)
    assert "could not be tested" in found._repr_html_()
    with pytest.raises(ValueError, match="at least 30 rows each"):
        choose_bound(model, X, y, held, y_held, untested="ignore", **given)


# ---------------------------------------------------------------------- what is said


def test_a_failure_names_groups_sizes_and_the_rows_that_would_do(rows):
    found = chosen(rows, FairRidgeClassifier(sensitive=["sex"]), AdverseImpact(0.8))
    failed, nearest = found.failed, found.nearest
    step = found.steps[-1]
    assert (failed.attribute, failed.group, failed.other) == ("sex", "f", "m")
    assert failed.n_rows == int((rows[1][0]["sex"] == "f").sum())
    assert failed.value == pytest.approx(step["value"])
    assert failed.p_value == pytest.approx(step["p_value"])
    assert failed.low < failed.value < failed.high
    assert failed.low < 0.8  # which is why it failed
    assert nearest.low >= 0.8
    assert nearest.p_value == found.p_value == found.steps[-2]["p_value"]
    assert found.rule == AdverseImpact(0.8)
    text = str(found)
    for piece in ("Rule: AdverseImpact", "Confidence: 0.9", "sex = f (", "Failed at r = "):
        assert piece in text


def share_of_a_hundred(count):
    p = count / 100
    return Group("sex", "f", 100, 0.5, Estimate(p, size=100.0, error=np.sqrt(p * (1 - p) / 99)))


def test_the_rows_that_are_needed_would_do():
    rule = AdverseImpact(0.8)
    first, second = (share_of_a_hundred(count) for count in (45, 50))
    times = rule._times_needed(first, second, 0.1)
    assert rule.test(first, second) > 0.1
    assert rule.test(first.times(times), second.times(times)) <= 0.1
    assert rule.test(first.times(0.99 * times), second.times(0.99 * times)) > 0.1
    worse = share_of_a_hundred(30)
    assert rule._times_needed(worse, second, 0.1) is None


def test_people_of_few_kinds_may_agree():
    """Rows of two binary columns are the same again and again, and still other people."""
    rng = np.random.default_rng(0)

    def draw(n):
        X = pd.DataFrame(rng.integers(0, 2, size=(n, 2)), columns=["s", "x"])
        return X, (rng.random(n) < 0.4 + 0.2 * X["x"]).astype(int)

    (X, y), (held, y_held) = draw(900), draw(900)
    model = FairRidgeClassifier(sensitive=["s"])
    options = {"rule": AdverseImpact(0.01, threshold=0.1), "unfairness": [0.0, 0.1]}
    assert choose_bound(model, X, y, held, y_held, **options).granted
    with pytest.raises(ValueError, match="900 of 900 held-out rows are training rows"):
        choose_bound(model, X, y, X.iloc[::-1], y.iloc[::-1], **options)


@pytest.mark.slow
def test_a_report_says_by_what_rule_a_bound_was_chosen(small, tmp_path):
    model = FairRidgeClassifier(sensitive=["sex"])
    with pytest.warns(BoundWarning, match="leaves out groups"):
        found = chosen(small, model, AdverseImpact(0.5), untested="ignore")
    save(found.model, tmp_path / "model.json")
    loaded = load(tmp_path / "model.json")
    X, y, _ = small[1]
    page = report(loaded, X, y, new_rows=True)
    record = dict(page.contents.subject.record)
    assert record["Choice of r: rule"].startswith("AdverseImpact(")
    assert record["Choice of r: confidence"] == "0.9"
    assert float(record["Choice of r: p-value of the bound"]) <= 0.1
    assert "sex = x (20 held-out rows" in record["Choice of r: not tested"]
    trained = report(loaded, small[0][0], small[0][1], cv=0, bootstrap=0)
    own = dict(trained.contents.subject.record)
    assert own["Choice of r: rule"] == record["Choice of r: rule"]
    assert own["Choice of r: p-value of the bound"] == record["Choice of r: p-value of the bound"]
    again = report(loaded.fit(X, y), X, y, cv=0, bootstrap=0)
    assert not any("Choice" in name for name, _ in again.contents.subject.record)


# ------------------------------------------------------------ models of any library


@pytest.mark.slow
def test_the_bound_of_a_pipeline_is_that_of_its_last_step(rows):
    (X, y, _), (held, y_held, _) = rows
    numbers = StandardScaler()
    columns = ColumnTransformer(
        [("sex", OneHotEncoder(drop="first"), ["sex"]), ("numbers", numbers, ["age", "skill"])]
    )
    model = make_pipeline(columns, FairRidgeClassifier(sensitive=[0]))
    found = choose_bound(
        model, X, y, held, y_held, rule=AdverseImpact(0.8), unfairness=BOUNDS
    )  # fmt: skip
    direct = chosen(rows, FairRidgeClassifier(sensitive=["sex"]), AdverseImpact(0.8))
    assert found.unfairness == direct.unfairness
    np.testing.assert_allclose(found.tested["p_value"], direct.tested["p_value"], rtol=1e-6)
    assert [name for name, _ in found.model.steps] == [name for name, _ in model.steps]
    np.testing.assert_allclose(found.model.predict_proba(held), direct.model.predict_proba(held))
    assert found.model[-1].chosen_["Rule"] == direct.model.chosen_["Rule"]


def test_a_model_without_a_bound_is_tested_as_it_is(rows):
    (X, y, _), (held, y_held, _) = rows
    plain, new = X[["age", "skill"]], held[["age", "skill"]]
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(plain, y)
    options = {"sensitive_features": X[["sex"]], "sensitive_features_held": held[["sex"]]}
    found = choose_bound(model, plain, y, new, y_held, rule=AdverseImpact(0.5), **options)
    assert found.granted
    assert found.unfairness is None
    assert found.model is model
    assert "the model meets the rule with confidence 0.9" in str(found)
    selected = pd.Series(model.predict_proba(new)[:, 1] > 0.5)
    rates = selected.groupby(held["sex"].to_numpy()).mean()
    assert found.tested["value"][0] == pytest.approx(rates.min() / rates.max())
    with pytest.warns(BoundWarning, match="the model does not meet the rule .* 0.9: sex = f"):
        refused = choose_bound(model, plain, y, new, y_held, rule=AdverseImpact(0.95), **options)
    assert not refused.granted
    assert refused.model is None
    assert refused.failed.rows_needed is None
    assert "Failed: sex = f" in str(refused)


def test_other_models_with_a_bound_are_fitted_for_each(rows):
    (X, _, y), (held, _, y_held) = rows
    found = choose_bound(
        BarycenterRegressor(sensitive=["sex"]), X, y, held, y_held, rule=MeanGap(0.4),
        unfairness=[0.0, 0.3, 1.0],
    )  # fmt: skip
    assert found.unfairness == 0.0
    assert found.model.unfairness == 0.0
    step = found.tested.iloc[0]
    means = pd.Series(found.model.predict(held)).groupby(held["sex"].to_numpy()).mean()
    assert step["value"] == pytest.approx(means.max() - means.min())


# ------------------------------------------------------------ capacity and shares


def test_rules_on_the_lowest_numbers(rows):
    model = FairRidgeRegressor(sensitive=["sex"])
    rule = AdverseImpact(0.5, top=0.2, favorable="low")
    found = chosen(rows, model, rule)
    held, _, _ = rows[1]
    predicted = found.model.predict(held)
    selected = pd.Series(predicted <= np.sort(predicted)[499])
    rates = selected.groupby(held["sex"].to_numpy()).mean()
    place = found.tested["unfairness"].tolist().index(found.unfairness)
    assert found.tested["value"][place] == pytest.approx(rates.min() / rates.max())


def test_equalized_odds_look_at_both_rates(rows):
    model = FairRidgeClassifier(sensitive=["sex"])
    found = chosen(rows, model, OddsGap(0.25), confidence=0.8)
    held, labels, _ = rows[1]
    step = found.tested.iloc[0]
    fitted = model.set_params(unfairness=step["unfairness"]).fit(rows[0][0], rows[0][1])
    selected = fitted.predict_proba(held)[:, 1] > 0.5
    gaps = []
    for label in ("repaid", "default"):
        among = labels == label
        rates = pd.Series(selected[among]).groupby(held["sex"].to_numpy()[among]).mean()
        gaps.append(rates.max() - rates.min())
    assert step["value"] == pytest.approx(max(gaps))
    assert "qualified" in (found.failed or found.nearest).group


@pytest.mark.slow
def test_groups_below_the_minimum_share_are_not_looked_at(rows):
    (X, y, _), (held, y_held, _) = rows
    few = [
        frame.assign(sex=frame["sex"].where(np.arange(len(frame)) >= 20, "d"))
        for frame in (X, held)
    ]
    options = {"rule": AdverseImpact(0.7), "unfairness": BOUNDS}
    model = FairRidgeClassifier(sensitive=["sex"])
    with pytest.warns(BoundWarning, match="undecided"):
        refused = choose_bound(model, few[0], y, few[1], y_held, **options)
    assert [group["group"] for group in refused.untested] == ["d"]
    options["rule"] = AdverseImpact(0.7, minimum_share=0.02)
    found = choose_bound(model, few[0], y, few[1], y_held, **options)
    assert found.granted
    assert found.untested == ()
    assert found.passed_over == ("sex = d (0.8%)",)
    assert "Below the minimum share: sex = d (0.8%)" in str(found)
    assert found.model.chosen_["Below the minimum share"] == "sex = d (0.8%)"


def test_what_is_not_a_rule_is_refused_by_name():
    X, y = np.ones((4, 2)), np.array([0, 1, 0, 1])
    with pytest.raises(TypeError, match=r"rule='four-fifths' is not a rule; .*AdverseImpact\(\)"):
        choose_bound(FairRidgeClassifier(sensitive=[0]), X, y, X, y, rule="four-fifths")
