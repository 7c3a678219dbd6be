"""Options of models: levels that are rare or decide the response, blind models, penalties."""

import json

import numpy as np
import pandas as pd
import pytest

from fairridge import FairRidgeClassifier, FairRidgeRegressor, load

N, RARE = 600, 5
ROLES = ("-y", "hired", "-s", "sex")
COLUMNS = ["sex", "skill", "town", "job"]


@pytest.fixture
def rows(folder):
    """People; none of the five in trade z are hired, and of nine towns six are small."""
    rng = np.random.default_rng(7)
    rare = np.arange(N) < RARE
    sex = np.where(rare, "m", rng.choice(["f", "m"], N))
    skill = rng.normal(size=N) + 0.8 * (sex == "m")
    town = np.where(np.arange(N) % 20 == 0, [f"t{k // 20 % 6}" for k in range(N)], "big")
    job = np.where(rare, "z", rng.choice(["a", "b"], N))
    hired = np.where((skill + rng.logistic(size=N) > 0) & ~rare, "yes", "no")
    frame = pd.DataFrame({"sex": sex, "skill": skill, "town": town, "job": job, "hired": hired})
    frame.to_csv("rows.csv", index=False)
    frame.to_parquet("rows.parquet")
    return frame


@pytest.mark.slow
def test_isolated_levels_are_shown(run, rows):
    shown = run("fit", "rows.csv", *ROLES)
    assert shown.code == 0, shown.error
    assert "isolated, since all their rows have the same outcome: 'job[z]'." in shown.out
    found = json.loads(run("fit", "rows.csv", *ROLES, "--json").out)
    assert found["isolated"] == {"job[z]": RARE}
    assert run("report", "rows.csv", *ROLES, "--cv", 0, "--bootstrap", 0).out.count(
        "5 rows of job[z] are isolated"
    ) == 1  # fmt: skip


def test_a_bound_that_levels_void_is_said(run, rows):
    rows.assign(town="big", sex=np.where(np.arange(N) % 2, "m", "f")).to_csv(
        "rows.csv", index=False
    )
    shown = run("fit", "rows.csv", *ROLES, "--drop", "town", "--separation", "warn", "-r", 0.05)
    assert shown.code == 0, shown.error
    assert "note: " in shown.error
    assert "separate the responses" in shown.error
    assert "separated" in shown.out
    assert "separated: the bound is nominally met" in shown.out


@pytest.mark.parametrize(
    ("base", "message"),
    [
        (["job"], "--base job must be most-frequent or a name and a value"),
        (["job=nobody"], "base names the level 'nobody' of column 'job'"),
    ],
)
def test_base_levels_that_are_not_there(run, rows, base, message):
    options = [part for one in base for part in ("--base", one)]
    shown = run("fit", "rows.csv", *ROLES, *options)
    assert shown.code == 2
    assert message in shown.error


def test_too_many_levels_may_be_merged(run, rows):
    names = np.where(np.arange(N) < 500, "many", [f"n{k}" for k in range(N)])
    rows.assign(name=names).to_csv("rows.csv", index=False)
    refused = run("fit", "rows.csv", *ROLES, "--max-levels", 50)
    assert refused.code == 2
    assert "'name' is text with 101 different values" in refused.error
    assert "--min-frequency" in refused.error
    done = run("fit", "rows.csv", *ROLES, "--max-levels", 50, "--min-frequency", 10)
    assert done.code == 0, done.error


def test_blind_models_predict_without_sensitive_columns(run, rows):
    base = ("fit", "rows.csv", *ROLES, "-r", 0.005, "--blind", "--drop", "job")
    found = json.loads(run(*base, "--out", "m.json", "--json").out)
    assert (found["blind"], found["share_of_eta"]) == (True, pytest.approx(0.005))
    rows.drop(columns=["sex", "hired"]).to_csv("new.csv", index=False)
    done = run("predict", "new.csv", "-m", "m.json", "-o", "scores.csv")
    assert done.code == 0, done.error
    wanted = load("m.json").predict_proba(rows[COLUMNS[:-1]])[:, 1]
    found = pd.read_csv("scores.csv")["probability_yes"]
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_a_saved_model_has_its_own_options(run, rows):
    run("fit", "rows.csv", *ROLES, "--out", "m.json")
    shown = run("report", "rows.csv", "-y", "hired", "-m", "m.json", "--blind")
    assert shown.code == 2
    assert "is for a new model; --model has its own: leave one out." in shown.error


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("-r", "sex=0.01"), "use --definition mean-parity"),
        (("-r", "half"), "--unfairness half must be a number, such as 0.05, or names and numbers"),
        (("-r", "sex=0.1,sex=0.2", "--definition", "mean-parity"), "names 'sex' twice"),
        (("-r", "age=0.1", "--definition", "mean-parity"), "'age', which is not a sensitive"),
        (("--predictor-penalty", "gcv"), "gcv must be cv or a number, such as 0.05: Ridge"),
        (("--class-weight", "yes"), "--class-weight yes must be balanced or names and numbers"),
        (("--class-weight", "maybe=2"), "'maybe', which is not a class of y: 'no', 'yes'"),
    ],
)
def test_values_that_mean_nothing_are_one_line(run, rows, options, said):
    found = run("fit", "rows.csv", *ROLES, *options)
    assert found.code == 2
    assert said in found.error


def test_a_path_says_at_which_bound_the_penalty_was_chosen(run, rows):
    command = ("-y", "skill", "-s", "sex", "--drop", "hired", "--predictor-penalty", "cv")
    # A path has one, for the bound that models have unless told otherwise.
    default = FairRidgeRegressor(0.05, sensitive=["sex"], predictor_penalty="cv")
    default.fit(rows[["sex", "town", "job"]], rows["skill"])
    path = run("path", "rows.csv", *command, "--bounds", "0,1")
    assert f"chosen by cross-validation at r = 0.05: {default.predictor_penalty_:.4g}" in path.error
    refused = run("fit", "rows.parquet", "--stream", *command)
    assert refused.code == 2
    assert "needs the rows in memory" in refused.error


def test_classes_that_are_numbers_have_weights(run, rows):
    y = (rows["hired"] == "yes").astype(int)
    rows.assign(hired=y).to_csv("rows.csv", index=False)
    found = json.loads(run("fit", "rows.csv", *ROLES, "--class-weight", "0=3", "--json").out)
    model = FairRidgeClassifier(0.05, sensitive=["sex"], class_weight={0: 3.0})
    model.fit(rows[COLUMNS], y)
    np.testing.assert_allclose([row["raw"] for row in found["coefficients"]][1:], model.coef_[0])


def test_a_path_names_isolated_levels(run, rows):
    command = ("path", "rows.csv", *ROLES, "--bounds", "0.1,1")
    shown = run(*command)
    assert f"the same outcome (rows): job[z] ({RARE})." in shown.error
    assert json.loads(run(*command, "--json").out)["isolated"] == {"job[z]": RARE}
