"""Modules of plain Python, run in a process without the library."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from fairridge.export import to_python

from .formats import compiled

CALL = """
import json, sys
from score import predict
json.dump([predict(row) for row in json.load(sys.stdin)], sys.stdout)
assert not {"numpy", "fairridge"} & set(sys.modules)
"""


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


def test_what_cannot_be_scored_is_named(fitted, workers):
    predict = compiled(fitted("gaussian"))
    row = workers.X.iloc[0].to_dict()
    for change, message in (
        ({"sex": "x"}, "'sex' has the unknown level 'x'"),
        ({"sex": None}, "'sex' is missing"),
        ({"skill": float("nan")}, "'skill' is missing"),
    ):
        with pytest.raises(ValueError, match=message):
            predict({**row, **change})
