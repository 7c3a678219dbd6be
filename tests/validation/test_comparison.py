"""All models on one data set, measured alike."""

from html import unescape

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import ks_2samp, wasserstein_distance
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.metrics import log_loss, mean_squared_error, roc_auc_score
from sklearn.model_selection import KFold
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder
from sklearn.svm import LinearSVC

from fairridge import (
    FairRidgeClassifier,
    FairRidgeRegressor,
    FairRidgeSurvival,
    KomiyamaRegressor,
    ReductionsClassifier,
    audit,
    compare,
    cross_validate,
)

FRRM, FGRRM = "fair ridge (FRRM)", "fair ridge (FGRRM)"
NCLM, ZLM = "Komiyama et al. (NCLM)", "Zafar et al. (ZLM)"
BARYCENTER, CONVEX = "Wasserstein barycenter", "convex (Berk et al.)"
FAIRNESS = [
    "train_share_of_means",
    "equality_of_opportunity",
    "individual",
    "max_correlation",
    "kolmogorov_smirnov",
    "wasserstein",
]


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(1)
    n = 240
    sex = rng.choice(["f", "m"], n)
    skill = rng.normal(size=n) + 0.8 * (sex == "m")
    grade = rng.normal(size=n)
    wage = 2.0 * skill + grade + 1.5 * (sex == "m") + rng.normal(size=n)
    return pd.DataFrame({"sex": sex, "skill": skill, "grade": grade}), wage


def numbers_of_people():
    sex = ("sex", OneHotEncoder(drop="first"), ["sex"])
    return ColumnTransformer([sex], remainder="passthrough")


@pytest.fixture(scope="module")
def regression(people):
    return compare(*people, sensitive="sex", unfairness=[0.02, 0.1], cv=2)


@pytest.mark.slow
def test_every_regression_model_is_there(regression):
    table = regression.to_frame()
    assert regression.skipped == {}
    assert list(dict.fromkeys(table["model"])) == [
        "unconstrained",
        FRRM,
        NCLM,
        ZLM,
        "Steinberg et al.",
        BARYCENTER,
        CONVEX,
    ]
    assert len(table) == 1 + 6 * 2
    only_linear = ["share_of_eta", "train_share_of_eta", "share_of_eta_error"]
    numbers = table.select_dtypes("number")
    assert np.isfinite(numbers.drop(columns=only_linear).to_numpy()).all()
    assert set(table["model"][numbers[only_linear].isna().any(axis=1)]) == {BARYCENTER}
    assert (table["seconds"] > 0).all()


def test_measures_are_those_written_out(people):
    X, y = people
    model = FairRidgeRegressor(0.1, sensitive="sex")
    table = compare(X, y, sensitive="sex", unfairness=0.1, models={"ours": model}).to_frame()
    ours = table[table["model"] == "ours"].iloc[0]
    fitted = model.fit(X, y)
    prediction = fitted.predict(X)
    man = (X["sex"] == "m").to_numpy()
    s = man[:, None].astype(float)
    assert ours["train_rmse"] == pytest.approx(np.sqrt(np.mean((prediction - y) ** 2)))
    share = LinearRegression().fit(s, prediction).score(s, prediction)
    assert ours["train_share_of_means"] == pytest.approx(share)
    assert ours["max_correlation"] == pytest.approx(abs(np.corrcoef(prediction, man)[0, 1]))
    ks, distance = (f(prediction[man], prediction[~man]) for f in (ks_2samp, wasserstein_distance))
    assert ours["kolmogorov_smirnov"] == pytest.approx(ks.statistic)
    assert ours["wasserstein"] == pytest.approx(distance)
    free = FairRidgeRegressor(1.0, sensitive="sex").fit(X, y)
    pairs = np.abs(y[:, None] - y[None, :])
    gaps = [((m.alpha_[0] * (s - s.T)) ** 2 * pairs).sum() for m in (fitted, free)]
    assert ours["individual"] == pytest.approx(gaps[0] / gaps[1])
    both = np.column_stack([s, y])
    explained = [
        LinearRegression().fit(columns, prediction).score(columns, prediction)
        for columns in (s, both)
    ]
    assert ours["equality_of_opportunity"] == pytest.approx(explained[0] / explained[1])


def test_scores_of_models_of_other_libraries_are_weighted(people):
    X, y = people
    weight = np.random.default_rng(4).integers(0, 4, len(y)).astype(float)
    folds, codes, scores = list(KFold(3).split(X)), numbers_of_people(), []
    forest = RandomForestRegressor(20, random_state=0)
    table = compare(
        X, y, sensitive="sex", models={"theirs": make_pipeline(codes, forest)},
        sample_weight=weight, folds=folds,
    ).to_frame().set_index("model")  # fmt: skip
    for train, test in folds:
        train, test = train[weight[train] > 0], test[weight[test] > 0]
        forest.fit(codes.fit_transform(X.iloc[train]), y[train], sample_weight=weight[train])
        predicted = forest.predict(codes.transform(X.iloc[test]))
        squares = mean_squared_error(y[test], predicted, sample_weight=weight[test])
        scores.append(np.sqrt(squares))
    assert table.loc["theirs", "rmse"] == pytest.approx(np.mean(scores))


def survival(people, n=240):
    X, wage = people
    rng = np.random.default_rng(5)
    time, end = rng.exponential(np.exp(-0.5 * wage)), rng.exponential(3.0, n)
    return X, np.minimum(time, end), time <= end


def test_times_and_events_are_compared_by_concordance(people):
    X, time, event = survival(people)
    y = np.array([*zip(event, time, strict=True)], dtype=[("event", bool), ("time", float)])
    folds, model = list(KFold(3).split(X)), FairRidgeSurvival(sensitive="sex")
    models = {
        "cox": model,
        "piped": make_pipeline(FunctionTransformer(), model),
        "no hazards": make_pipeline(numbers_of_people(), LinearRegression()),
    }
    found = compare(X, y, sensitive="sex", unfairness=0.05, models=models, folds=folds)
    assert found.skipped == {"no hazards": "a Pipeline predicts several numbers for a row"}
    assert found.favorable is None
    table = found.to_frame().set_index("model")
    validated = cross_validate(model, X, y, unfairness=[0.05], folds=folds).to_frame()
    for name in ("concordance", "share_of_eta"):
        for row in ("cox", "piped"):
            assert table.loc[row, name] == pytest.approx(validated[name].mean(), rel=1e-9)
    fitted = FairRidgeSurvival(0.05, sensitive="sex").fit(X, y)
    assert table.loc["cox", "train_concordance"] == pytest.approx(fitted.score(X, y))
    assert table.loc["cox", "train_share_of_eta"] == pytest.approx(0.05, abs=1e-9)
    man = X["sex"] == "m"
    expected = np.corrcoef(fitted.predict(X), man)[0, 1]
    assert table.loc["cox", "max_correlation"] == pytest.approx(abs(expected))
    assert np.isnan(table["decision_gap"]).all()
    assert "concordance" in str(found)
    assert found.plot().get_xlabel() == "Share of scores explained by S, held out"


def test_models_without_weights_are_left_out_of_weighted_comparisons(people):
    X, y = people
    found = compare(
        X,
        y,
        sensitive="sex",
        models={"k": make_pipeline(numbers_of_people(), KNeighborsRegressor())},
        sample_weight=np.ones(len(y)),
        cv=2,
    )
    assert found.skipped == {"k": "a KNeighborsRegressor, whose fit takes no sample_weight"}


def test_numbers_have_a_gap_beyond_the_median(people):
    X, y = people
    model = FairRidgeRegressor(0.1, sensitive="sex")
    order = np.random.default_rng(0).permutation(len(y))
    folds = [(order[100:], order[:100]), (order[:100], order[100:])]
    options = {"unfairness": 0.1, "folds": folds}
    row = compare(X, y, sensitive="sex", models={"a": model}, **options).to_frame().iloc[1]

    def gap(train, test):
        chosen = model.fit(X.iloc[train], y[train]).predict(X.iloc[test]) > np.median(y[train])
        rates = [chosen[X["sex"].iloc[test] == sex].mean() for sex in "fm"]
        return abs(rates[0] - rates[1]), min(rates) / max(rates), chosen.mean()

    every = np.arange(len(y))
    gaps = np.array([gap(*fold) for fold in folds])
    for k, name in enumerate(("decision_gap", "adverse_impact_ratio", "selection_rate")):
        assert row[f"train_{name}"] == pytest.approx(gap(every, every)[k]), name
        assert row[name] == pytest.approx(gaps[:, k].mean()), name
        assert row[f"{name}_error"] == pytest.approx(gaps[:, k].std(ddof=1) / np.sqrt(2)), name
    validated = cross_validate(model, X, y, **options | {"unfairness": [0.1]}).to_frame()
    np.testing.assert_allclose(validated["decision_gap"], gaps[:, 0])


def test_low_numbers_may_be_favorable(people):
    X, y = people
    options = {"sensitive": "sex", "models": [], "cv": 2}
    high, low = (
        compare(X, y, favorable=favorable, **options).to_frame().iloc[0]
        for favorable in ("high", "low")
    )
    assert high["train_selection_rate"] == pytest.approx(1 - low["train_selection_rate"])
    assert high["decision_gap"] == pytest.approx(low["decision_gap"])
    assert low["train_adverse_impact_ratio"] == pytest.approx(
        (1 - high["train_highest_selection_rate"]) / (1 - high["train_lowest_selection_rate"])
    )


@pytest.mark.slow
def test_classes_are_compared_by_who_is_selected(people):
    X, wage = people
    y = np.where(wage > np.median(wage), "good", "bad")
    order = np.random.default_rng(1).permutation(len(y))
    folds = [(order[100:], order[:100]), (order[:100], order[100:])]
    models = {"a": FairRidgeClassifier(sensitive="sex"), "b": ReductionsClassifier(sensitive="sex")}
    found = compare(X, y, sensitive="sex", models=models, unfairness=0.1, folds=folds)
    assert found.favorable.label == "good"
    table = found.to_frame().set_index("model")
    for name, model in models.items():
        audits, scores = [], []
        for train, test in folds:
            fitted = model.set_params(unfairness=0.1).fit(X.iloc[train], y[train])
            predicted = fitted.predict(X.iloc[test])
            audits.append(audit(y[test], predicted, sensitive_features=X[["sex"]].iloc[test]))
            p = fitted.predict_proba(X.iloc[test])[:, 1]
            p = np.clip(p, np.finfo(float).eps, 1 - np.finfo(float).eps)
            scores.append(
                [
                    (predicted == y[test]).mean(),
                    roc_auc_score(y[test] == "good", p),
                    log_loss(y[test] == "good", p),
                ]
            )
        row = table.loc[name]
        for measure, values in (
            ("adverse_impact_ratio", [one.demographic_parity_ratio for one in audits]),
            ("opportunity_difference", [one.equal_opportunity_difference for one in audits]),
            ("decision_gap", [one.demographic_parity_difference for one in audits]),
            *zip(("accuracy", "auc", "log_loss"), np.transpose(scores), strict=True),
        ):
            assert row[measure] == pytest.approx(np.mean(values), rel=1e-6), (name, measure)
            error = np.std(values, ddof=1) / np.sqrt(2)
            assert row[f"{measure}_error"] == pytest.approx(error, rel=1e-5, abs=1e-12)


def test_models_may_be_named(people):
    X, y = people
    found = compare(X, y, sensitive="sex", models=["frrm", KomiyamaRegressor(sensitive="sex")])
    assert list(found.to_frame()["model"]) == ["unconstrained", FRRM, "KomiyamaRegressor"]
    one = compare(X, y, sensitive="sex", models=FRRM).to_frame()
    pd.testing.assert_frame_equal(
        one.drop(columns="seconds"), found.to_frame().iloc[:2].drop(columns="seconds")
    )


@pytest.mark.slow
def test_numeric_attributes_become_quarters_for_models_that_need_groups(people):
    X, wage = people
    rng = np.random.default_rng(7)
    X = X.assign(age=np.round(rng.normal(40, 10, len(X)), 2))
    y = np.where(wage + 0.1 * X["age"] > np.median(wage) + 4, "good", "bad")
    options = {"models": ["reductions"], "unfairness": 0.2, "cv": 2}
    found = compare(X, y, sensitive=["sex", "age"], **options)
    assert found.skipped == {}
    (note,) = found.notes
    quarters = audit(None, wage, sensitive_features=X[["age"]])["age"]
    assert note.startswith("age is numeric, and these models need groups: reductions (fairlearn).")
    assert ", ".join(group.group for group in quarters.groups) in note
    # The same as by hand, measured on age itself.
    labels = pd.cut(X["age"], [-np.inf, *np.quantile(X["age"], [0.25, 0.5, 0.75],
                    method="inverted_cdf"), np.inf]).astype(str)  # fmt: skip
    by_hand = ReductionsClassifier(0.2).fit(
        X[["skill", "grade"]], y, sensitive_features=X[["sex"]].assign(age=labels)
    )
    p = by_hand.predict_proba(X[["skill", "grade"]])[:, 1]
    S = np.column_stack([X["sex"] == "m", X["age"]])
    share = LinearRegression().fit(S, p).score(S, p)
    row = found.to_frame().set_index("model").loc["reductions (fairlearn)"]
    assert row["train_share_of_means"] == pytest.approx(share)


def test_warnings_are_kept_and_shown(people):
    X, wage = people
    y = np.where(wage > np.median(wage), "good", "bad")
    models = {"short": FairRidgeClassifier(sensitive="sex", max_iter=1)}
    found = compare(X, y, sensitive="sex", models=models, unfairness=0.01, cv=3)
    assert set(found.warnings) == {"short"}
    assert any("max_iter" in text for text in found.warnings["short"])
    assert "unfairness=0.01 is not-converged in 3 of 3 folds" in found.warnings["short"]
    for shown in (str(found), unescape(found._repr_html_())):
        assert f"short: {found.warnings['short'][0]}" in " ".join(shown.split())


@pytest.mark.slow
def test_it_prints_held_out_measures_with_errors(regression):
    text = str(regression)
    row = regression.to_frame().iloc[1]
    assert f"{row['rmse']:.4g} ±{row['rmse_error']:.4g}" in text
    assert f"{row['share_of_means']:.1%} ±{row['share_of_means_error']:.1%}" in text
    html = regression._repr_html_()
    assert "Held out: fairness" in html
    assert FRRM in html


def test_the_progress_bar_reaches_its_end(people, capfd):
    X, y = people
    models = {
        "FRRM": FairRidgeRegressor(sensitive="sex"),
        "none": FairRidgeRegressor(sensitive="absent"),
        "NCLM": KomiyamaRegressor(sensitive="sex"),
    }
    result = compare(
        X, y, sensitive="sex", unfairness=[0.0, 0.1, 0.5], models=models, cv=3, progress=True
    )
    assert set(result.skipped) == {"none"}
    assert "left out none: " in str(result)
    # Three folds of the reference and of three models, each for all bounds at once.
    assert "12/12" in capfd.readouterr().err


@pytest.mark.slow
def test_classifiers(people):
    X, wage = people
    result = compare(X, np.where(wage > 1, "high", "low"), sensitive="sex", unfairness=0.05, cv=3)
    table = result.to_frame()
    assert result.skipped == {}
    models = [
        "unconstrained",
        FGRRM,
        "Zafar et al. (ZLRM)",
        "reductions (fairlearn)",
        BARYCENTER,
        CONVEX,
    ]
    assert list(table["model"]) == models
    free = table.iloc[0]
    assert (table["train_share_of_means"][1:] < free["train_share_of_means"]).all()
    assert free["individual"] == pytest.approx(1.0)
    y = np.digitize(wage, [0.0, 2.0])
    several = compare(X, y, sensitive="sex", unfairness=0.05, task="classification", cv=2)
    assert list(several.to_frame()["model"]) == ["unconstrained", FGRRM, CONVEX]
    assert "Only binary" in several.skipped["Zafar et al. (ZLRM)"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"task": "ranking"}, "task='ranking' is not known"),
        ({"task": "regression"}, "y holds text such as '(high|low)'"),
        ({"unfairness": 2}, "unfairness=2 is not a bound"),
        ({"models": FairRidgeRegressor(sensitive="sex")}, "models must be a dict name → estimator"),
        ({"models": {"unconstrained": FairRidgeRegressor()}}, "is the name of the reference"),
        ({"models": {"mean": lambda X: X}}, "model 'mean' is a function, and no estimator"),
        ({"models": ["FRRM"]}, "models='FRRM' is not known; use names among FGRRM"),
        ({"models": ["FGRRM", "FGRRM"]}, r"has fair ridge \(FGRRM\) twice"),
    ],
)
def test_what_cannot_be_compared(people, options, message):
    frame, y = people
    labels = np.where(y > np.median(y), "high", "low")
    with pytest.raises((TypeError, ValueError), match=message):
        compare(frame, labels, sensitive="sex", **options)


@pytest.fixture(scope="module")
def beside_plain_models(people):
    X, y = people
    numbers = ["skill", "grade"]
    without = ColumnTransformer([("numbers", "passthrough", numbers)])
    sex = ("sex", OneHotEncoder(drop="first"), ["sex"])
    encoded = ColumnTransformer([sex], remainder="passthrough")
    models = {
        "plain": make_pipeline(encoded, LinearRegression()),
        "without sex": make_pipeline(without, LinearRegression()),
        "fair": make_pipeline(encoded, FairRidgeRegressor(sensitive=[0])),
        "blind": FairRidgeRegressor(sensitive="sex", blind=True),
    }
    options = {"sensitive": "sex", "unfairness": [0.02, 0.1], "cv": 2}
    return compare(X, y, models=models, **options)


def test_the_frontier_is_held_out_with_errors_both_ways(beside_plain_models):
    ax = beside_plain_models.plot()
    assert ax.get_xlabel() == "Share of means explained by S, held out"
    assert ax.get_ylabel() == "RMSE, held out"
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels[:2] == ["unconstrained", "plain"]
    table = beside_plain_models.to_frame()
    own = table[table["model"] == "fair"].sort_values("share_of_means")
    line, _, (across, up) = ax.containers[labels.index("fair")].lines
    np.testing.assert_allclose(line.get_xdata(), own["share_of_means"])
    np.testing.assert_allclose(line.get_ydata(), own["rmse"])
    lengths = [np.ptp(segment[:, 0]) for segment in across.get_segments()]
    np.testing.assert_allclose(lengths, 2 * 1.96 * own["share_of_means_error"])
    heights = [np.ptp(segment[:, 1]) for segment in up.get_segments()]
    np.testing.assert_allclose(heights, 2 * 1.96 * own["rmse_error"])
    assert "low and left" in ax.get_title(loc="left")
    assert "correlation" in beside_plain_models.plot("max_correlation").get_xlabel()
    with pytest.raises(ValueError, match="measure='loss' is not known"):
        beside_plain_models.plot("loss")
    with pytest.raises(ValueError, match="score='auc' is not known"):
        beside_plain_models.plot(score="auc")


def test_models_without_a_bound_are_fitted_once(beside_plain_models):
    table = beside_plain_models.to_frame()
    assert beside_plain_models.skipped == {}
    counts = table["model"].value_counts()
    assert dict(counts) == {"unconstrained": 1, "plain": 1, "without sex": 1, "fair": 2, "blind": 2}
    rows = table.set_index("model")
    assert np.isnan(rows.loc["plain", "unfairness"])
    assert rows.loc["plain", "status"] == "no bound"
    np.testing.assert_allclose(rows.loc["fair", "train_share_of_means"], [0.02, 0.1], atol=1e-8)
    # Least squares is the model without a bound.
    for column in ("train_rmse", "rmse", "train_share_of_means", "share_of_means", "individual"):
        assert rows.loc["plain", column] == pytest.approx(rows.loc["unconstrained", column])


def test_tables_say_which_models_use_s_to_predict(beside_plain_models):
    rows = beside_plain_models.to_frame().set_index("model")["uses_sensitive"]
    uses = {name: bool(np.all(rows[name])) for name in rows.index}
    assert uses == {
        "unconstrained": True,
        "plain": True,
        "without sex": False,
        "fair": True,
        "blind": False,
    }
    fairness = str(beside_plain_models).partition("Held out: fairness")[2]
    head, _, *lines = fairness.split("\n\n")[1].splitlines()
    end = head.index("uses S") + len("uses S")
    shown = {line.split("  ")[0]: line[:end].split()[-1] for line in lines if line}
    assert shown == {name: "yes" if used else "no" for name, used in uses.items()}


def test_s_beside_x_is_given_to_models_that_take_it(people):
    X, y = people
    models = {"plain": LinearRegression(), "fair": FairRidgeRegressor()}
    table = compare(
        pl.from_pandas(X[["skill", "grade"]]), y, sensitive_features=X[["sex"]], models=models, cv=2
    ).to_frame()
    assert isinstance(table, pl.DataFrame)
    uses = dict(zip(table["model"], table["uses_sensitive"], strict=True))
    assert (uses["plain"], uses["fair"]) == (False, True)


def test_classifiers_without_probabilities_are_certain(people):
    X, wage = people
    y = (wage > np.median(wage)).astype(int)
    numbers = X[["skill", "grade"]]
    table = compare(
        numbers, y, sensitive_features=X["sex"].to_frame(), models={"margin": LinearSVC()}, cv=2
    ).to_frame().set_index("model")  # fmt: skip
    truth = LinearSVC().fit(numbers, y).score(numbers, y)
    assert table.loc["margin", "train_accuracy"] == pytest.approx(truth)


def test_every_column_of_the_tables_has_its_footnote():
    from fairridge.validation.comparison_result import LEGEND, TABLES

    known = {"accuracy", "AUC", "log-loss", "RMSE", "R²", "seconds"}
    explained = {
        name.strip()
        for sentence in LEGEND.split(". ")
        for name in sentence.partition(":")[0].split(",")
    }
    headings = {name for columns in TABLES.values() for name, _ in columns.values()}
    assert headings <= known | explained
