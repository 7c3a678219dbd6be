"""Modules of plain Python, run in a process without the library."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from fairridge import FairRidgeClassifier, FairRidgeRegressor
from fairridge.export import to_python

CALL = """
import json, sys
from score import predict
json.dump([predict(row) for row in json.load(sys.stdin)], sys.stdout)
assert not {"numpy", "fairridge"} & set(sys.modules)
"""


def compiled(model):
    module = {}
    exec(compile(to_python(model), "score", "exec"), module)
    return module


def rows_of(frame):
    return json.loads(frame.to_json(orient="records", double_precision=15))


def test_rows_are_scored_without_any_library(fitted, workers, tmp_path):
    model, rows = fitted("binomial"), workers.X.head(20)
    (tmp_path / "score.py").write_text(to_python(model), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-S", "-c", CALL],
        input=rows.to_json(orient="records", double_precision=15),
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=True,
    )
    found = pd.DataFrame(json.loads(done.stdout))
    assert found["prediction"].tolist() == model.predict(rows).tolist()
    np.testing.assert_allclose(found["probability_yes"], model.predict_proba(rows)[:, 1], rtol=1e-9)


def test_scores_are_those_of_the_model(model, workers, expected_of, assert_same_numbers):
    expected = expected_of(model, workers.X)
    predict = compiled(model)["predict"]
    found = pd.DataFrame([predict(row) for row in workers.X.to_dict("records")])
    if expected["prediction"].dtype.kind == "f":
        assert_same_numbers(found["prediction"], expected["prediction"])
    else:
        assert found["prediction"].tolist() == expected["prediction"].tolist()
    etas = [name for name in found if name.startswith("linear_predictor")]
    assert_same_numbers(found[etas], expected["linear_predictor"].reshape(len(workers.X), -1))
    if "probabilities" in expected:
        columns = [name for name in found if name.startswith("probability_")]
        assert_same_numbers(found[columns], expected["probabilities"][:, -len(columns) :])


@pytest.mark.parametrize("link", ["probit", "cloglog"])
def test_every_link_is_written(link, workers, assert_same_numbers):
    X, y = workers.X[["sex", "skill"]], workers.y["binomial"]
    model = FairRidgeClassifier(0.1, sensitive=["sex"], link=link).fit(X, y)
    predict = compiled(model)["predict"]
    found = [predict(row, offset=0.3) for row in X.to_dict("records")]
    offset = np.full(len(X), 0.3)
    assert_same_numbers(
        [row["probability_yes"] for row in found], model.predict_proba(X, offset=offset)[:, 1]
    )
    assert [row["prediction"] for row in found] == model.predict(X, offset=offset).tolist()


def test_names_and_levels_cannot_break_out(nasty):
    model = FairRidgeClassifier(0.1, sensitive=nasty.sensitive).fit(nasty.X, nasty.y)
    predict = compiled(model)["predict"]
    found = [predict(row)["prediction"] for row in nasty.X.to_dict("records")]
    assert found == model.predict(nasty.X).tolist()


def test_what_cannot_be_scored_is_named(fitted, workers):
    predict = compiled(fitted("gaussian"))["predict"]
    row = workers.X.iloc[0].to_dict()
    for change, message in (
        ({"sex": "x"}, "'sex' has the unknown level 'x'"),
        ({"sex": None}, "'sex' is missing"),
        ({"skill": float("nan")}, "'skill' is missing"),
    ):
        with pytest.raises(ValueError, match=message):
            predict({**row, **change})


def test_rare_and_unknown_levels_are_the_base(workers):
    X = workers.X[["sex", "skill", "region"]].astype({"region": str})
    X.loc[:2, "region"] = ["a", "b", "c"]
    model = FairRidgeRegressor(0.1, sensitive=["sex"], min_frequency=5)
    model.fit(X, workers.y["gaussian"])
    predict = compiled(model)["predict"]
    rows = X.head(6).assign(region=["a", "new", "c", "(other)", "west", "east"])
    found = [predict(row)["prediction"] for row in rows.to_dict("records")]
    np.testing.assert_allclose(found, model.predict(rows), rtol=1e-12)
