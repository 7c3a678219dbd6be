"""All models on one data set, measured alike."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import ks_2samp, wasserstein_distance
from sklearn.linear_model import LinearRegression

from fairridge import (
    FairRidgeClassifier,
    FairRidgeRegressor,
    KomiyamaRegressor,
    ReductionsClassifier,
    compare,
    cross_validate,
)

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


@pytest.fixture(scope="module")
def regression(people):
    return compare(*people, sensitive="sex", unfairness=[0.02, 0.1])


def test_every_regression_model_is_there(regression):
    table = regression.to_frame()
    assert regression.skipped == {}
    assert list(dict.fromkeys(table["model"])) == [
        "unconstrained",
        "FRRM",
        "NCLM",
        "ZLM",
        "Steinberg",
        "barycenter",
        "convex",
    ]
    assert len(table) == 1 + 6 * 2
    only_linear = ["share_of_eta", "train_share_of_eta"]
    numbers = table.select_dtypes("number")
    assert np.isfinite(numbers.drop(columns=only_linear).to_numpy()).all()
    assert set(table["model"][numbers[only_linear].isna().any(axis=1)]) == {"barycenter"}
    assert (table["seconds"] > 0).all()


def test_models_that_bound_the_share_of_s_meet_the_bound(regression):
    table = regression.to_frame().set_index("model")
    for name in ("FRRM", "NCLM"):
        np.testing.assert_allclose(
            table.loc[name, "train_share_of_means"], table.loc[name, "unfairness"], atol=1e-8
        )
    np.testing.assert_allclose(
        table.loc["ZLM", "max_correlation"], table.loc["ZLM", "unfairness"], atol=1e-8
    )
    # The exact optimum among models of S and X at a bound.
    exact, ridge = (table.loc[name, "train_loss"].to_numpy() for name in ("NCLM", "FRRM"))
    assert (exact <= ridge + 1e-10).all()
    assert table.loc["unconstrained", "train_loss"] <= table["train_loss"].min() + 1e-10


def test_measures_are_those_written_out(people):
    X, y = people
    model = FairRidgeRegressor(0.1, sensitive="sex")
    table = compare(X, y, sensitive="sex", unfairness=0.1, models={"ours": model}).to_frame()
    ours = table[table["model"] == "ours"].iloc[0]
    fitted = model.fit(X, y)
    prediction = fitted.predict(X)
    man = (X["sex"] == "m").to_numpy()
    s = man[:, None].astype(float)
    assert ours["train_loss"] == pytest.approx(np.sqrt(np.mean((prediction - y) ** 2)))
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


def test_losses_are_those_of_cross_validation_on_the_same_folds(people):
    X, y = people
    order = np.random.default_rng(0).permutation(len(y))
    folds = [(order[60:], order[:60]), (order[:180], order[180:])]
    models = {"a": FairRidgeRegressor(sensitive="sex"), "b": KomiyamaRegressor(sensitive="sex")}
    table = compare(X, y, sensitive="sex", unfairness=0.05, models=models, folds=folds).to_frame()
    for name, model in models.items():
        validated = cross_validate(model, X, y, unfairness=[0.05], folds=folds).to_frame()
        losses = validated["loss"]
        row = table[table["model"] == name].iloc[0]
        assert row["loss"] == pytest.approx(losses.mean())
        assert row["loss_error"] == pytest.approx(losses.std() / np.sqrt(2))
        assert row["share_of_means"] == pytest.approx(validated["share_of_means"].mean())


def test_every_model_is_described_by_the_same_three_numbers(people):
    X, wage = people
    y = np.where(wage > np.median(wage), "high", "low")
    models = {
        "a": FairRidgeClassifier(sensitive="sex"),
        "b": ReductionsClassifier(sensitive="sex"),
    }
    options = {"cv": 3, "random_state": 0, "unfairness": [0.05]}
    table = compare(X, y, sensitive="sex", models=models, **options).to_frame().set_index("model")
    fitted = FairRidgeClassifier(0.05, sensitive="sex").fit(X, y)
    validated = cross_validate(models, X, y, **options).to_frame().groupby("model")
    for name, value in fitted.dependence_.items():
        assert table.loc["a", f"train_{name}"] == pytest.approx(value, rel=1e-8), name
        for model in models:
            wanted = validated.get_group(model)[name].mean()
            assert table.loc[model, name] == pytest.approx(wanted, nan_ok=True)
    assert table.loc["b", ["share_of_eta", "train_share_of_eta"]].isna().all()
    assert table.loc["b", ["share_of_means", "train_decision_gap"]].notna().all()


def test_numbers_have_a_gap_beyond_the_median(regression, people):
    X, y = people
    table = regression.to_frame()
    assert "decision_gap" not in table
    chosen = FairRidgeRegressor(0.1, sensitive="sex").fit(X, y).predict(X) > np.median(y)
    rates = [chosen[X["sex"] == sex].mean() for sex in "fm"]
    row = table[(table["model"] == "FRRM") & (table["unfairness"] == 0.1)].iloc[0]
    assert row["train_decision_gap"] == pytest.approx(abs(rates[0] - rates[1]))


def test_several_bounds_are_those_one_by_one(people):
    X, y = people
    models = {"FRRM": FairRidgeRegressor(sensitive="sex")}
    options = {"sensitive": "sex", "models": models, "cv": 3}
    bounds = [0.2, 0.01, 0.2]
    table = compare(X, y, unfairness=bounds, **options).to_frame().drop(columns="seconds")
    single = [
        compare(X, y, unfairness=r, **options).to_frame().drop(columns="seconds") for r in bounds
    ]
    expected = pd.concat([single[0].iloc[:1], *(one.iloc[1:] for one in single)])
    pd.testing.assert_frame_equal(table, expected.reset_index(drop=True), rtol=1e-10)


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
    # Three folds of the reference and of three models, each for all bounds at once.
    assert "12/12" in capfd.readouterr().err


def test_models_must_be_named(people):
    with pytest.raises(TypeError, match="models must be a dict name → estimator"):
        compare(*people, sensitive="sex", models=FairRidgeRegressor(sensitive="sex"))


def test_classifiers(people):
    X, wage = people
    result = compare(X, np.where(wage > 1, "high", "low"), sensitive="sex", unfairness=0.05, cv=3)
    table = result.to_frame()
    assert result.skipped == {}
    assert result.loss_name == "mean deviance"
    models = ["unconstrained", "FGRRM", "ZLRM", "reductions", "barycenter", "convex"]
    assert list(table["model"]) == models
    free = table.iloc[0]
    assert (table["train_share_of_means"][1:] < free["train_share_of_means"]).all()
    assert free["individual"] == pytest.approx(1.0)


def test_models_that_do_not_apply_say_why():
    rng = np.random.default_rng(2)
    age = rng.normal(40, 10, 200)
    X = np.column_stack([age, rng.normal(size=(200, 2)) + 0.05 * age[:, None]])
    result = compare(X, X.sum(axis=1) + rng.normal(size=200), sensitive=[0])
    assert set(result.skipped) == {"Steinberg", "barycenter", "convex"}
    assert all("200 distinct" in reason for reason in result.skipped.values())
    assert list(result.to_frame()["model"]) == ["unconstrained", "FRRM", "NCLM", "ZLM"]


def test_more_than_two_classes(people):
    X, wage = people
    y = np.digitize(wage, [0.0, 2.0])
    result = compare(X, y, sensitive="sex", unfairness=0.05, task="classification", cv=3)
    assert list(result.to_frame()["model"]) == ["unconstrained", "FGRRM", "convex"]
    assert "Only binary" in result.skipped["ZLRM"]


def test_sensitive_features_apart_and_other_frames(people):
    X, y = people
    one = compare(X, y, sensitive="sex", unfairness=0.05, models={}).to_frame()
    frame = pl.from_pandas(X)
    other = compare(
        frame.drop("sex"), y, sensitive_features=frame.select("sex"), unfairness=0.05, models={}
    ).to_frame()
    assert isinstance(other, pl.DataFrame)
    for name in FAIRNESS:
        assert other[name][0] == pytest.approx(one[name][0])


def test_plot(regression):
    ax = regression.plot("max_correlation")
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels[:3] == ["unconstrained", "FRRM", "NCLM"]
    assert "correlation" in ax.get_xlabel()
    with pytest.raises(ValueError, match="measure='loss' is not known"):
        regression.plot("loss")


def test_bad_task_and_bounds(people):
    with pytest.raises(ValueError, match="task='ranking' is not known"):
        compare(*people, sensitive="sex", task="ranking")
    with pytest.raises(ValueError, match="unfairness=2 is not a bound"):
        compare(*people, sensitive="sex", unfairness=2)


def test_the_reference_keeps_its_name(people):
    frame, y = people
    with pytest.raises(ValueError, match="'unconstrained' is the name of the reference"):
        compare(frame, y, sensitive="sex", models={"unconstrained": FairRidgeRegressor()})


def test_a_regression_of_text_is_refused(people):
    frame, y = people
    labels = np.where(np.asarray(y) > np.median(y), "high", "low")
    with pytest.raises(ValueError, match=r"y must hold numbers, not values such as '(high|low)'"):
        compare(frame, labels, sensitive="sex", task="regression")
