"""Bounds per attribute, penalties that are chosen, weights of classes."""

import json
import runpy
import sys

import numpy as np
import pandas as pd
import pytest

from fairridge import FairRidgeClassifier, FairRidgeRegressor, __version__, load

N = 200
ROLES = ("-y", "hired", "-s", "sex,region", "--family", "binomial")
COLUMNS = ["sex", "region", "skill", "job"]


@pytest.fixture
def rows(folder):
    rng = np.random.default_rng(7)
    sex, region = rng.choice(["f", "m"], N), rng.choice(["east", "west"], N)
    skill = rng.normal(size=N) + 0.8 * (sex == "m") + 0.8 * (region == "west")
    job = np.where(np.arange(N) < 2, "z", rng.choice(["a", "b"], N))
    hired = np.where((skill + rng.logistic(size=N) > 0.5) & (job != "z"), "yes", "no")
    frame = pd.DataFrame(
        {"sex": sex, "region": region, "skill": skill, "job": job, "hired": hired, "pay": skill}
    )
    frame["pay"] += rng.normal(size=N)
    frame.to_csv("rows.csv", index=False)
    frame.to_parquet("rows.parquet")
    return frame


def test_every_attribute_may_have_a_bound_of_its_own(run, rows):
    command = ("fit", "rows.csv", *ROLES, "--drop", "pay", "--definition", "mean-parity")
    found = json.loads(run(*command, "-r", "sex=0.01, region=0.05", "--json").out)
    bounds = {"sex": 0.01, "region": 0.05}
    model = FairRidgeClassifier(bounds, sensitive=["sex", "region"], definition="mean-parity")
    model.fit(rows[COLUMNS], rows["hired"])
    assert found["unfairness"] == bounds
    assert found["status"] == {"sex": "converged", "region": "converged"}
    np.testing.assert_allclose([row["raw"] for row in found["coefficients"]][1:], model.coef_[0])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("-r", "sex=0.01"), "use --definition mean-parity"),
        (("-r", "half"), "--unfairness half must be a number, such as 0.05, or names and numbers"),
        (("-r", "sex=0.1,sex=0.2", "--definition", "mean-parity"), "names 'sex' twice"),
        (("-r", "age=0.1", "--definition", "mean-parity"), "'age', which is not a sensitive"),
        (("--predictor-penalty", "gcv"), "--predictor-penalty gcv must be cv or a number"),
        (("--class-weight", "yes"), "--class-weight yes must be balanced or names and numbers"),
        (("--class-weight", "maybe=2"), "'maybe', which is not a class of y: 'no', 'yes'"),
    ],
)
def test_values_that_mean_nothing_are_one_line(run, rows, options, said):
    found = run("fit", "rows.csv", *ROLES, *options)
    assert found.code == 2
    assert said in found.error


def test_the_penalty_on_predictors_may_be_chosen(run, rows):
    roles = ("-y", "pay", "-s", "sex", "--drop", "hired,region")
    command = (*roles, "--predictor-penalty", "cv")
    model = FairRidgeRegressor(0.02, sensitive=["sex"], predictor_penalty="cv")
    model.fit(rows[["sex", "skill", "job"]], rows["pay"])
    shown = run("fit", "rows.csv", *command, "-r", 0.02, "-o", "m.json")
    assert shown.code == 0, shown.error
    assert "by cross-validation" in shown.out
    np.testing.assert_allclose(load("m.json").predictor_penalty_, model.predictor_penalty_)


def test_a_path_says_at_which_bound_the_penalty_was_chosen(run, rows):
    command = ("-y", "pay", "-s", "sex", "--drop", "hired,region", "--predictor-penalty", "cv")
    # A path has one, for the bound that models have unless told otherwise.
    default = FairRidgeRegressor(0.05, sensitive=["sex"], predictor_penalty="cv")
    default.fit(rows[["sex", "skill", "job"]], rows["pay"])
    path = run("path", "rows.csv", *command, "--bounds", "0,1")
    assert f"chosen by cross-validation at r = 0.05: {default.predictor_penalty_:.4g}" in path.error
    refused = run("fit", "rows.parquet", "--stream", *command)
    assert refused.code == 2
    assert "needs the rows in memory" in refused.error


@pytest.mark.parametrize(("given", "meant"), [("yes=5,no=1", {"yes": 5.0}), ("0=3", {0: 3.0})])
def test_classes_have_weights(run, rows, given, meant):
    if given.startswith("0"):
        rows = rows.assign(hired=(rows["hired"] == "yes").astype(int))
        rows.to_csv("rows.csv", index=False)
    command = ("fit", "rows.csv", *ROLES, "--drop", "pay", "--class-weight", given)
    found = json.loads(run(*command, "--json").out)
    model = FairRidgeClassifier(0.05, sensitive=["sex", "region"], class_weight=meant)
    model.fit(rows[COLUMNS], rows["hired"])
    np.testing.assert_allclose([row["raw"] for row in found["coefficients"]][1:], model.coef_[0])


def test_a_path_names_isolated_levels(run, rows):
    command = ("path", "rows.csv", *ROLES, "--drop", "pay", "--bounds", "0.1,1")
    shown = run(*command)
    assert shown.code == 0, shown.error
    assert "the same outcome (rows): job[z] (2)." in shown.error
    found = json.loads(run(*command, "--json").out)
    assert found["isolated"] == {"job[z]": 2}


def test_the_package_is_a_program(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["fairridge", "--version"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_module("fairridge", run_name="__main__")
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"fairridge {__version__}\n"
