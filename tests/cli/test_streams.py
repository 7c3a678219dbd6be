"""Predictions of the command line for files that have more columns than the model."""

import pandas as pd
import pytest

ROLES = ("-y", "gaussian", "-s", "sex,age", "--predictors", "income,score")


@pytest.fixture
def model(run, people_csv):
    """Files of new rows with a date, and a model that does not know it."""
    new = people_csv.drop(columns="gaussian").assign(when=pd.Timestamp("2020-01-01"))
    new[:150].to_parquet("new-1.parquet")
    new[150:].to_parquet("new-2.parquet")
    assert run("fit", "people.csv", *ROLES, "--out", "model.json").code == 0
    return "model.json"


def test_columns_of_any_type_are_kept(run, model, people_csv):
    done = run("predict", "new-*.parquet", "-m", model, "-o", "scores.parquet")
    assert done.code == 0, done.error
    scores = pd.read_parquet("scores.parquet")
    assert len(scores) == len(people_csv)
    assert (scores["when"] == pd.Timestamp("2020-01-01")).all()


def test_a_column_with_the_name_of_the_predictions(run, model):
    pd.read_parquet("new-1.parquet").assign(prediction=1.0).to_parquet("old.parquet")
    done = run("predict", "old.parquet", "--stream", "-m", model, "-o", "scores.parquet")
    assert done.code == 2
    assert "column 'prediction' cannot be kept" in done.error
    assert done.error.count("\n") == 1


@pytest.mark.parametrize(("response", "count"), [("binomial", 1), ("multinomial", 3)])
def test_probabilities_are_those_of_rows_in_memory(run, people_csv, response, count):
    roles = ("-y", response, "-s", "sex", "--predictors", "income,score")
    assert run("fit", "people.csv", *roles, "-o", "classes.json").code == 0
    people_csv.to_parquet("people.parquet")
    assert run("predict", "people.parquet", "-m", "classes.json", "-o", "here.parquet").code == 0
    done = run("predict", "people.parquet", "--stream", "-m", "classes.json", "-o", "there.parquet")
    assert done.code == 0, done.error
    here, there = pd.read_parquet("here.parquet"), pd.read_parquet("there.parquet")
    pd.testing.assert_frame_equal(here, there)
    assert sum(name.startswith("probability_") for name in there) == count


def test_a_stream_is_not_printed(run, model):
    done = run("predict", "new-*.parquet", "-m", model, "-o", "scores.parquet", "--json")
    assert done.code == 2
    assert "--json needs the rows in memory" in done.error
