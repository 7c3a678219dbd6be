"""Missing values and unseen levels on the command line, at fit and at predict."""

import json

import numpy as np
import pandas as pd
import pytest

from fairridge import load

ROLES = ("-y", "paid", "-s", "race")


@pytest.fixture
def loans(folder):
    rng = np.random.default_rng(3)
    n = 200
    frame = pd.DataFrame(
        {
            "key": [f"k{k}" for k in range(n)],
            "race": rng.choice(["p", "q"], n),
            "income": rng.normal(50.0, 9.0, n).round(2),
            "job": rng.choice(["clerk", "cook"], n),
        }
    )
    frame["paid"] = (frame["income"] + rng.normal(0.0, 9.0, n)).round(3)
    frame.to_csv("loans.csv", index=False)
    return frame


@pytest.fixture
def messy(loans):
    rows = loans.head(8).astype(object)
    rows.loc[1, "income"] = None
    rows.loc[2, "income"] = "n.a."
    rows.loc[3, "job"] = "astronaut"
    rows.loc[4, "race"] = "stranger"
    rows.loc[5, ["income", "job"]] = [None, "astronaut"]
    rows.to_csv("new.csv", index=False)
    return rows


REASONS = [
    None,
    "'income' is missing",
    "'income' is 'n.a.', not a number",
    "'job' is 'astronaut', not a level at fit",
    "'race' is 'stranger', not a level at fit",
    "'income' is missing; 'job' is 'astronaut', not a level at fit",
    None,
    None,
]


def fit(run, *options):
    done = run("fit", "loans.csv", *ROLES, "--drop", "key", "--out", "model.json", *options)
    assert done.code == 0, done.error


def test_rows_that_cannot_be_predicted_are_flagged_with_the_reason(run, messy, loans):
    fit(run)
    done = run("predict", "new.csv", "-m", "model.json", "--on-bad-row", "flag", "--out", "out.csv")
    assert done.code == 0, done.error
    assert "5 of 8 rows without predictions: 'income' is missing (1)" in done.error
    out = pd.read_csv("out.csv", keep_default_na=False)
    assert out["key"].tolist() == messy["key"].tolist()
    assert out["income"][2] == "n.a."
    assert [reason or None for reason in out["reason"]] == REASONS
    good = [0, 6, 7]
    inputs = loans.loc[good, ["race", "income", "job"]]
    np.testing.assert_array_equal(
        out["prediction"][good].astype(float), load("model.json").predict(inputs)
    )
    assert (out["prediction"].drop(good) == "").all()


def test_bad_rows_are_left_out_or_stop_the_command(run, messy):
    fit(run)
    done = run("predict", "new.csv", "-m", "model.json", "--on-bad-row", "skip", "--json")
    assert len(json.loads(done.out)["prediction"]) == 3
    assert "5 of 8 rows left out" in done.error
    done = run("predict", "new.csv", "-m", "model.json")
    assert (done.code, done.out) == (2, "")
    assert "'income'" in done.error
    messy.loc[[1, 2]].to_csv("new.csv", index=False)
    done = run("predict", "new.csv", "-m", "model.json", "--on-bad-row", "skip")
    assert done.code == 2
    assert "no row of new.csv can be predicted" in done.error
    done = run("predict", "new.csv", "-m", "model.json", "--on-bad-row", "drop")
    assert done.code == 2
    assert "--on-bad-row drop is not known" in done.error


def test_unseen_levels_are_chosen_at_predict(run, messy):
    fit(run)
    done = run(
        "predict", "new.csv", "-m", "model.json", "--unknown", "base", "--on-bad-row", "flag",
        "--json",
    )  # fmt: skip
    found = json.loads(done.out)
    assert found["reason"] == [
        None, "'income' is missing", "'income' is 'n.a.', not a number", None, None,
        "'income' is missing", None, None,
    ]  # fmt: skip
    assert found["prediction"][4] is not None


def test_missing_values_are_learned_from(run, loans, messy):
    loans.loc[::9, "income"] = np.nan
    loans.loc[4::9, "job"] = None
    loans.to_csv("loans.csv", index=False)
    fit(run, "--missing", "level", "--unknown", "mean")
    model = load("model.json")
    assert (model.missing, model.unknown) == ("level", "mean")
    assert model.predictor_names_.tolist() == [
        "income", "income[(missing)]", "job[cook]", "job[(missing)]",
    ]  # fmt: skip
    done = run("predict", "new.csv", "-m", "model.json", "--on-bad-row", "flag", "--json")
    reasons = [None] * 8
    reasons[2] = REASONS[2]
    assert json.loads(done.out)["reason"] == reasons
