"""Predictions of the command line for files that have more columns than the model."""

import json
from pathlib import Path

import pandas as pd
import pytest

ROLES = ("-y", "gaussian", "-s", "sex,age", "--predictors", "income,score")


@pytest.fixture
def model(run, people_csv):
    """Files of new rows, and a model."""
    people_csv[:150].to_parquet("new-1.parquet")
    people_csv[150:].to_parquet("new-2.parquet")
    assert run("fit", "people.csv", *ROLES, "--out", "model.json").code == 0
    return "model.json"


def test_probabilities_are_those_of_rows_in_memory(run, people_csv):
    roles = ("-y", "multinomial", "-s", "sex", "--predictors", "income,score")
    assert run("fit", "people.csv", *roles, "-o", "classes.json").code == 0
    people_csv.to_parquet("people.parquet")
    assert run("predict", "people.parquet", "-m", "classes.json", "-o", "here.parquet").code == 0
    done = run("predict", "people.parquet", "--stream", "-m", "classes.json", "-o", "there.parquet")
    assert done.code == 0, done.error
    here, there = pd.read_parquet("here.parquet"), pd.read_parquet("there.parquet")
    pd.testing.assert_frame_equal(here, there)
    assert sum(name.startswith("probability_") for name in there) == 3


AUDITED = ("-y", "binomial", "-m", "model.json", "--json")


@pytest.fixture
def classifier(run, people_csv):
    """A model, and rows in one file and in two."""
    people_csv.to_parquet("people.parquet")
    people_csv[:150].to_parquet("part-1.parquet")
    people_csv[150:].to_parquet("part-2.parquet")
    roles = ("-y", "binomial", "-s", "sex,age", "--predictors", "income,score,region")
    assert run("fit", "people.csv", *roles, "--out", "model.json").code == 0


def test_an_audit_of_files_is_that_of_rows_in_memory(run, classifier):
    more = ("-s", "region", "--controls", "income", "--small", 5)
    whole = json.loads(run("audit", "people.parquet", *AUDITED, *more).out)
    for source in (("part-*.parquet",), ("people.parquet", "--stream")):
        done = run("audit", *source, *AUDITED, *more)
        assert done.code == 0, done.error
        found = json.loads(done.out)
        for name in ("positive", "kind", "controls", "favorable"):
            assert found[name] == whole[name], name
        for name in ("share_of_means", "decision_gap", "demographic_parity_ratio_high"):
            assert found[name] == pytest.approx(whole[name], rel=1e-8), name
        assert [g["group"] for g in found["groups"]] == [g["group"] for g in whole["groups"]]


def test_a_report_on_files_is_that_of_rows_in_memory(run, classifier):
    base = ("-y", "binomial", "-m", "model.json", "--new-rows", "--json")
    whole = json.loads(run("report", "people.parquet", *base).out)
    done = run("report", "part-*.parquet", *base)
    assert done.code == 0, done.error
    found = json.loads(done.out)
    assert found["rows"] == whole["rows"]
    assert found["measures"][0]["value"] == pytest.approx(whole["measures"][0]["value"], rel=1e-8)
    assert "<!doctype html>" in Path("report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("predict part-*.parquet -m model.json -o out.parquet --json", "--json needs the rows in"),
        ("audit people.parquet --stream -y binomial -p score", "--model FILE"),
        ("audit people.parquet --stream -m model.json", "--response NAME"),
        ("report people.parquet --stream -y binomial -m model.json", "--new-rows"),
        ("report part-*.parquet -y binomial -m model.json --new-rows --top 5", "needs the rows in"),
    ],
)
def test_what_files_cannot_have_is_said_in_one_line(run, classifier, command, said):
    done = run(*command.split())
    assert done.code == 2
    assert said in done.error
    assert done.error.count("\n") == 1
