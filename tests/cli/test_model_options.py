"""Options of models: rare levels, levels that decide the response, blind models, controls."""

import json

import numpy as np
import pandas as pd
import pytest

from fairridge import FairRidgeClassifier, load

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


def test_levels_are_refused_on_demand(run, rows):
    shown = run("path", "rows.csv", *ROLES, "--separation", "error")
    assert shown.code == 2
    assert "all rows of 'job[z]' have the same outcome" in shown.error


def test_rare_levels_are_merged(run, rows):
    shown = run("fit", "rows.csv", *ROLES, "--min-frequency", 20, "--json")
    model = FairRidgeClassifier(sensitive=["sex"], min_frequency=20)
    model.fit(rows[COLUMNS], rows["hired"])
    found = json.loads(shown.out)
    assert found["log_likelihood"] == pytest.approx(model.loglik_, rel=1e-9)
    terms = [row["term"] for row in found["coefficients"]]
    assert {"town[(other)]", "job[b]", "job[(other)]"} <= set(terms)
    assert not any("[t0]" in term or "[z]" in term for term in terms)
    # What is said before the fit is what it has.
    assert f"4 columns become {len(terms) - 1} encoded columns" in shown.error


def test_base_levels_are_chosen(run, rows):
    shown = run("fit", "rows.csv", *ROLES, "--min-frequency", 20, "--base", "job=b", "--json")
    terms = [row["term"] for row in json.loads(shown.out)["coefficients"]]
    assert {"town[(other)]", "job[a]", "job[(other)]"} <= set(terms)
    assert "job[b]" not in terms
    frequent = run("fit", "rows.csv", *ROLES, "--base", "most-frequent", "--json")
    model = FairRidgeClassifier(sensitive=["sex"], base="most-frequent")
    model.fit(rows[COLUMNS], rows["hired"])
    terms = [row["term"] for row in json.loads(frequent.out)["coefficients"]]
    assert set(model.predictor_names_) < set(terms)


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
