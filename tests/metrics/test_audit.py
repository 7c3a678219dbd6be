"""Audits against fairlearn and scikit-learn, by hand, and as users meet them."""

import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import stats
from sklearn.linear_model import LinearRegression
from sklearn.metrics import mean_squared_error, precision_score

from fairridge.exceptions import DataWarning
from fairridge.metrics import audit
from tests.zoo import LateModule

fairlearn = LateModule("fairlearn.metrics")

RATES = {
    "selection_rate": fairlearn.selection_rate,
    "true_positive_rate": fairlearn.true_positive_rate,
    "false_positive_rate": fairlearn.false_positive_rate,
    "mean_prediction": fairlearn.mean_prediction,
}


@pytest.fixture(scope="module")
def loans():
    rng = np.random.default_rng(5)
    n = 600
    frame = pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], n, p=[0.4, 0.6]),
            "race": rng.choice(["a", "b", "c"], n, p=[0.7, 0.2, 0.1]),
            "age": rng.integers(18, 80, n),
        }
    )
    eta = rng.normal(size=n) + 0.8 * (frame["sex"] == "m") + 0.02 * (frame["age"] - 45)
    frame["p"] = 1 / (1 + np.exp(-eta))
    frame["y"] = (rng.random(n) < frame["p"]).astype(int)
    frame["w"] = rng.integers(1, 4, n)
    return frame


def test_rates_and_differences_are_fairlearns(loans):
    weight, attribute = loans["w"], "race"
    labels = (loans["p"] > 0.5).astype(int)
    found = audit(
        loans["y"], loans["p"], sensitive_features=loans[attribute], sample_weight=weight
    )[attribute]
    options = {"sensitive_features": loans[attribute]}
    for name, metric in RATES.items():
        predicted = loans["p"] if name == "mean_prediction" else labels
        frame = fairlearn.MetricFrame(
            metrics=metric,
            y_true=loans["y"],
            y_pred=predicted,
            sample_params={"sample_weight": weight},
            **options,
        )
        ours = {group.group: getattr(group, name).value for group in found.groups}
        for label, theirs in frame.by_group.items():
            np.testing.assert_allclose(ours[label], theirs, rtol=1e-12, err_msg=name)
    options["sample_weight"] = weight
    for name in (
        "demographic_parity_difference",
        "demographic_parity_ratio",
        "equalized_odds_difference",
        "equal_opportunity_difference",
    ):
        theirs = getattr(fairlearn, name)(loans["y"], labels, **options)
        np.testing.assert_allclose(getattr(found, name), theirs, rtol=1e-12, err_msg=name)


def test_precision_and_error_are_scikit_learns(loans):
    found = audit(loans["y"], loans["p"], sensitive_features=loans["sex"], sample_weight=loans["w"])
    for group in (*found["sex"].groups, found.overall):
        rows = loans["sex"].eq(group.group) if group.attribute else loans["sex"].notna()
        part = loans[rows]
        np.testing.assert_allclose(
            group.precision.value,
            precision_score(part["y"], part["p"] > 0.5, sample_weight=part["w"]),
            rtol=1e-12,
        )
        error = mean_squared_error(part["y"], part["p"], sample_weight=part["w"])
        np.testing.assert_allclose(group.rmse, np.sqrt(error), rtol=1e-12)
        np.testing.assert_allclose(
            group.calibration.value, np.average(part["y"] - part["p"], weights=part["w"])
        )
        assert group.count == len(part)
        np.testing.assert_allclose(group.share, part["w"].sum() / loans["w"].sum())


def test_dependence_on_all_attributes_is_a_regression(loans):
    found = audit(loans["y"], loans["p"], sensitive_features=loans[["sex", "race", "age"]])
    S = pd.get_dummies(loans[["sex", "race", "age"]], dtype=float)
    expected = LinearRegression().fit(S, loans["p"]).score(S, loans["p"])
    np.testing.assert_allclose(found.r_squared, expected, rtol=1e-10)
    np.testing.assert_allclose(found.attribution.shares.sum(), expected, rtol=1e-10)
    largest = S.corrwith(loans["p"]).abs()
    np.testing.assert_allclose(found.max_correlation, largest.max(), rtol=1e-12)
    assert found.strongest.column in ("sex[f]", "sex[m]")


def test_absent_rows_may_hold_anything():
    y, p = [0, None, 1, 1], [0.2, np.nan, 0.6, 0.4]
    group = pd.Series(["a", None, "a", "b"], name="g")
    found = audit(y, p, sensitive_features=group, sample_weight=[1, 0, 1, 1], small=0)
    assert [g.count for g in found["g"].groups] == [2, 1]
    assert found["g"].groups[0].mean_prediction.value == pytest.approx(0.4)


def test_four_fifths_by_hand():
    #         a: 8 of 10 selected      b: 4 of 10      c: 1 of 2, too few to compare
    group = ["a"] * 10 + ["b"] * 10 + ["c"] * 2
    predicted = [1] * 8 + [0] * 2 + [1] * 4 + [0] * 6 + [1, 1]
    found = audit(None, predicted, sensitive_features=group, small=5)["s0"]
    assert [g.adverse_impact_ratio for g in found.groups] == pytest.approx([1.0, 0.5, 1.25])
    assert [g.adverse_impact for g in found.groups] == [False, True, False]
    assert [g.small for g in found.groups] == [False, False, True]
    assert found.demographic_parity_difference == pytest.approx(0.4)
    assert found.demographic_parity_ratio == pytest.approx(0.5)


def test_a_named_reference_replaces_the_rest_and_the_best(loans):
    found = audit(
        loans["y"], loans["p"], sensitive_features=loans[["race"]], reference={"race": "b"}
    )["race"]
    by_name = {group.group: group for group in found.groups}
    rate = {name: group.selection_rate.value for name, group in by_name.items()}
    assert found.reference == "b"
    assert by_name["a"].adverse_impact_ratio == pytest.approx(rate["a"] / rate["b"])
    assert np.isnan(by_name["b"].distances.kolmogorov_smirnov)
    only = loans[loans["race"].isin(["a", "b"])]
    pair = audit(only["y"], only["p"], sensitive_features=only["race"])["race"]
    assert by_name["a"].distances.wasserstein == pytest.approx(pair.groups[0].distances.wasserstein)
    with pytest.raises(ValueError, match="reference group 'z' of 'race' has no rows"):
        audit(loans["y"], loans["p"], sensitive_features=loans[["race"]], reference={"race": "z"})
    with pytest.raises(ValueError, match="reference names 'rank'; the attributes are 'race'"):
        audit(loans["y"], loans["p"], sensitive_features=loans[["race"]], reference={"rank": "z"})


def test_numbers_are_audited_as_numbers():
    rng = np.random.default_rng(3)
    sex = rng.choice(["f", "m"], 300)
    y = rng.normal(10, 3, 300)
    prediction = y + rng.normal(0.5, 1.0, 300) + (sex == "m")
    found = audit(y, prediction, sensitive_features=sex)
    assert found.kind == "regression"
    male = found["s0"].groups[1]
    error = (prediction - y)[sex == "m"]
    assert male.bias == pytest.approx(error.mean())
    assert male.rmse == pytest.approx(np.sqrt((error**2).mean()))
    assert np.isnan(male.selection_rate.value)
    frame = found.to_frame()
    assert not {"selection_rate", "adverse_impact", "true_positive_rate"} & set(frame.columns)
    selected = audit(y, prediction, sensitive_features=sex, threshold=12.0)["s0"].groups[1]
    assert selected.selection_rate.value == pytest.approx((prediction[sex == "m"] > 12).mean())


def test_numeric_attributes_are_cut_at_quantiles():
    age = np.arange(100)
    found = audit(None, np.linspace(0, 1, 100), sensitive_features=age, bins=4)["s0"]
    assert [g.group for g in found.groups] == ["[0, 24]", "(24, 49]", "(49, 74]", "(74, 99]"]
    assert [g.count for g in found.groups] == [25] * 4
    two = audit(None, np.linspace(0, 1, 100), sensitive_features=age % 2)["s0"]
    assert [g.group for g in two.groups] == ["0", "1"]
    # Nine tenths share one value: there are fewer groups, none of them empty.
    lumpy = audit(
        None, np.linspace(0, 1, 100), sensitive_features=np.where(age < 90, 1.0, age), bins=4
    )["s0"]
    assert [(g.group, g.count) for g in lumpy.groups] == [("[1, 1]", 90), ("(1, 99]", 10)]
    upper = audit(
        None, np.linspace(0, 1, 100), sensitive_features=np.where(age < 10, age, 50.0), bins=4
    )["s0"]
    assert [(g.group, g.count) for g in upper.groups] == [("[0, 9]", 10), ("(9, 50]", 90)]
    close = audit(None, np.linspace(0, 1, 100), sensitive_features=1.0 + age / 1e6, bins=2)["s0"]
    assert [g.group for g in close.groups] == ["[1, 1.00005]", "(1.00005, 1.0001]"]


def test_quantiles_of_attributes_use_the_weights():
    age, weight = np.arange(10), np.array([9, 1, 1, 1, 1, 1, 1, 1, 1, 1])
    found = audit(
        None, np.linspace(0, 1, 10), sensitive_features=age, sample_weight=weight, bins=2
    )["s0"]
    assert [g.group for g in found.groups] == ["[0, 0]", "(0, 9]"]


def test_calibration_compares_within_tenths_of_all_predictions(loans):
    found = audit(loans["y"], loans["p"], sensitive_features=loans["sex"])
    table = found.calibration_frame()
    assert table["count"].sum() == len(loans)
    edges = np.quantile(loans["p"], np.arange(1, 10) / 10, method="inverted_cdf")
    tenth = np.searchsorted(edges, loans["p"])
    rows = (tenth == 3) & (loans["sex"] == "f")
    line = table[(table["group"] == "f")].iloc[3]
    assert line["count"] == rows.sum()
    assert line["mean_prediction"] == pytest.approx(loans["p"][rows].mean())
    assert line["mean_response"] == pytest.approx(loans["y"][rows].mean())
    assert line["calibration"] == pytest.approx((loans["y"] - loans["p"])[rows].mean())
    assert line["low"] == loans["p"][rows].min()
    with pytest.raises(ValueError, match="no calibration without y_true"):
        audit(None, loans["p"], sensitive_features=loans["sex"]).calibration_frame()


@pytest.mark.parametrize("positive", [None, "no"])
def test_string_labels_are_read_by_the_positive_one(loans, positive):
    y = np.where(loans["y"] == 1, "yes", "no")
    p = loans["p"] if positive != "no" else 1 - loans["p"]
    labels = np.where(loans["p"] > 0.5, "yes", "no")
    found = audit(y, p, sensitive_features=loans["sex"], positive=positive)
    same = audit(y, labels, sensitive_features=loans["sex"], positive=positive)
    columns = np.column_stack([1 - loans["p"], loans["p"]])
    both = audit(y, columns, sensitive_features=loans["sex"], positive=positive)
    assert found.positive == same.positive == both.positive == (positive or "yes")
    for a, b, c in zip(*(x["sex"].groups for x in (found, same, both)), strict=True):
        assert a.selection_rate == b.selection_rate
        assert a.true_positive_rate == b.true_positive_rate
        assert a.mean_prediction.value == pytest.approx(c.mean_prediction.value)


@pytest.mark.filterwarnings("ignore:predictions rank rows")
def test_one_number_is_no_class():
    found = audit([3.5], [3.1], sensitive_features=["a"])
    assert found.kind == "regression"
    assert found.overall.calibration.value == pytest.approx(0.4)
    assert audit([3.5] * 4, [3.1, 3.4] * 2, sensitive_features=["a", "b"] * 2).kind == "regression"
    assert audit([1] * 4, [0.3, 0.6] * 2, sensitive_features=["a", "b"] * 2).kind != "regression"


def test_a_third_label_is_refused_or_named(loans):
    y = np.where(loans["y"] == 1, "yes", "no").astype(object)
    options = {"sensitive_features": loans["sex"], "positive": "yes"}
    for other in ("YES", "yes "):
        y[:5] = other
        with pytest.raises(ValueError, match=f"labels .*{other!r}.*; spell them alike"):
            audit(y, loans["p"], **options)
    y[:5] = "unknown"
    with pytest.warns(DataWarning, match="rows of 'no', 'unknown' count together as not 'yes'"):
        audit(y, loans["p"], **options)


def test_frames_come_back_in_the_library_of_the_attributes(loans):
    for make, kind in ((pl.DataFrame, pl.DataFrame), (pa.table, pa.Table)):
        S = make({"sex": loans["sex"].tolist(), "age": loans["age"].to_numpy()})
        found = audit(loans["y"].to_numpy(), loans["p"].to_numpy(), sensitive_features=S)
        assert isinstance(found.to_frame(), kind)
        assert isinstance(found.attributes_frame(), kind)
        assert isinstance(found.calibration_frame(), kind)
        assert isinstance(found.attribution.to_frame(), kind)
    table = audit(loans["y"], loans["p"], sensitive_features=loans[["sex", "race"]]).to_frame()
    assert table["group"].tolist() == ["f", "m", "a", "b", "c", "all"]
    assert table.iloc[:-1].notna().all(axis=None)


def test_it_prints_groups_and_what_to_look_at(loans):
    rare = loans["race"].where(loans.index > 4, "rare")
    found = audit(
        loans["y"], loans["p"], sensitive_features=pd.DataFrame({"sex": loans["sex"], "race": rare})
    )
    text = str(found)
    assert text.startswith("Audit of 600 rows, classification")
    for piece in ("sex", "race", "selected", "TPR", "means explained by S", "all"):
        assert piece in text
    assert "\n  rare *  " in text
    assert "fewer than 30 rows" in text
    flagged = [g.group for g in found.flagged]
    assert ("below four fifths: sex = f" in text) == ("f" in flagged)
    with pytest.raises(KeyError, match="no attribute 'income'"):
        found["income"]


def test_a_constant_prediction_depends_on_nothing(loans):
    found = audit(loans["y"], np.full(len(loans), 0.3), sensitive_features=loans[["sex", "age"]])
    assert found.r_squared == 0.0
    assert found.max_correlation == 0.0
    assert found.strongest is None
    group = found["sex"].groups[0]
    assert group.distances.kolmogorov_smirnov == 0.0
    assert np.isnan(group.adverse_impact_ratio)
    assert np.isnan(group.precision.value)
    assert found.demographic_parity_difference == 0.0


def test_one_group_has_nothing_to_be_compared_with():
    found = audit([0, 1, 1], [0.2, 0.7, 0.4], sensitive_features=["a"] * 3, small=0)
    part = found["s0"]
    assert np.isnan(part.demographic_parity_difference)
    assert np.isnan(part.groups[0].distances.wasserstein)
    assert found.r_squared == 0.0
    assert "Audit of 3 rows" in str(found)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0, 1], [0.1, np.nan], ["a", "b"]), "y_pred contains NaN"),
        (([0, None], [0.1, 0.2], ["a", "b"]), "y_true contains missing values"),
        (([0, 1], [0.1, 0.2], [1.5, np.inf]), "sensitive attribute 's0' contains infinity"),
        (([0, 1, 1], [0.1, 0.2], ["a", "b"]), "y_true has 3"),
        (([0, 1], [0.1, 3.0], ["a", "b"]), "y_pred ranges from 0.1 to 3, but y_true has two"),
        ((["no", "no"], [0.1, 0.2], ["a", "b"]), "one class only, .*'no'.*positive=…$"),
        (([0, 1], ["x", "y"], ["a", "b"]), "y_pred holds .*not a class of y_true"),
        (([0, 1], [[0.1, 0.2, 0.7]] * 2, ["a", "b"]), "3 columns but there are 2 classes"),
        ((None, [[0.1, 0.9]] * 2, ["a", "b"]), "2 columns but there are no y_true"),
    ],
)
def test_bad_input_is_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        audit(*arguments[:2], sensitive_features=arguments[2])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"confidence": 1.0}, "confidence=1.0 must lie strictly between 0 and 1"),
        ({"bins": 1}, "bins=1 must be an integer, at least 2"),
        ({"small": -1}, "small=-1 must be an integer"),
        ({"positive": 2}, "positive=2 is not a class of y_true"),
        ({"positive": "yes"}, "positive='yes' is not a class of y_true"),
        ({"kind": "ranking"}, "kind='ranking' is not known"),
        ({"sample_weight": [-1.0, 1.0]}, "sample_weight has the negative value"),
    ],
)
def test_bad_options_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        audit([0, 1], [0.1, 0.9], sensitive_features=["a", "b"], **options)


def test_thresholds_are_for_scores():
    with pytest.raises(ValueError, match="y_pred holds labels"):
        audit(["n", "y"], ["n", "y"], sensitive_features=["a", "b"], threshold=0.3)
    points = audit(
        [0, 1, 1],
        [580.0, 640.0, 700.0],
        sensitive_features=["a", "b", "b"],
        threshold=620.0,
        small=0,
    )
    assert [g.selection_rate.value for g in points["s0"].groups] == [0.0, 1.0]
    numbers = audit([0, 1], [-3.0, 4.0], sensitive_features=["a", "b"], kind="regression")
    assert numbers.kind == "regression"
    with pytest.raises(ValueError, match="kind='regression', but y_true holds"):
        audit(["n", "y"], [0.1, 0.3], sensitive_features=["a", "b"], kind="regression")


def test_people_whose_attribute_is_missing_are_a_group(loans):
    """The numbers are those of a level that was written into the column."""
    S = loans[["sex", "age"]].astype({"sex": object, "age": float})
    S.loc[::7, "sex"], S.loc[3::9, "age"] = None, np.nan
    found = audit(loans["y"], loans["p"], sensitive_features=S)
    known = S.assign(sex=S["sex"].fillna("(missing)"))
    expected = audit(loans["y"], loans["p"], sensitive_features=known[["sex"]])
    sex, age = found.attributes
    assert [group.group for group in sex.groups] == ["f", "m", "(missing)"]
    by_name = {group.group: group for group in expected.attributes[0].groups}
    for group in sex.groups:
        assert group.count == by_name[group.group].count
        assert group.selection_rate == by_name[group.group].selection_rate
    assert age.groups[-1].group == "(missing)"
    assert age.groups[-1].count == S["age"].isna().sum()
    there = S["age"].notna()
    alone = audit(loans["y"][there], loans["p"][there], sensitive_features=S.loc[there, ["age"]])
    for own, other in zip(age.groups, alone.attributes[0].groups, strict=False):
        assert (own.group, own.count) == (other.group, other.count)


def test_what_missing_attributes_explain_is_part_of_the_share(loans):
    S = loans[["age"]].astype(float)
    S.loc[::5, "age"] = np.nan
    lost = S["age"].isna().to_numpy()
    columns = np.column_stack([np.where(lost, 0.0, S["age"]), lost])
    expected = LinearRegression().fit(columns, loans["p"]).score(columns, loans["p"])
    found = audit(None, loans["p"], sensitive_features=S)
    assert found.means_share.value == pytest.approx(expected)


def test_totals_of_groups_are_compared():
    rng = np.random.default_rng(1)
    sex, mean = rng.choice(["f", "m"], 200), rng.uniform(0.5, 1.5, 200)
    y, weight = rng.poisson(mean).astype(float), rng.integers(1, 4, 200).astype(float)
    found = audit(y, mean, sensitive_features=pd.DataFrame({"sex": sex}), sample_weight=weight)
    frame = found.to_frame().set_index("group")
    for group, rows in (("f", sex == "f"), ("m", sex == "m"), ("all", sex != "")):
        expected = (weight @ (mean * rows)) / (weight @ (y * rows))
        one = frame.loc[group]
        assert one["predicted_over_observed"] == pytest.approx(expected, rel=1e-12)
        low, high = one["predicted_over_observed_low"], one["predicted_over_observed_high"]
        assert low < expected < high


@pytest.mark.slow
def test_many_levels_take_little_more_memory_than_their_columns():
    """The share that S explains is then that of group means, and distances are SciPy's."""
    rng, n, levels = np.random.default_rng(0), 20_000, 300
    group = rng.integers(0, levels, n)
    p = 0.3 + 0.05 * rng.normal(size=n) + 0.02 * rng.normal(size=levels)[group]
    tracemalloc.start()
    found = audit(None, p, sensitive_features=group.astype(str), kind="regression")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 3 * 8 * n * levels
    means = pd.Series(p).groupby(group).transform("mean").to_numpy()
    assert found.r_squared == pytest.approx(means.var() / p.var(), rel=1e-9)
    assert found.means_share.low < found.learned_share.value < found.means_share.value
    one = found.attributes[0].groups[7]
    inside = group.astype(str) == one.group
    apart = stats.ks_2samp(p[inside], p[~inside]).statistic
    assert one.distances.kolmogorov_smirnov == pytest.approx(apart)
    pooled = (inside.sum() * p[inside].var() + (~inside).sum() * p[~inside].var()) / n
    smd = (p[inside].mean() - p[~inside].mean()) / np.sqrt(pooled)
    assert one.distances.standardized_mean_difference == pytest.approx(smd)
