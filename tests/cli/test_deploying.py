"""Reasons and exports from the command line, and what fit shows of standard errors and bounds."""

import json
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fairridge import load
from fairridge.export import reasons, scorecard, to_onnx, to_python, to_sql

COLUMNS = ["sex", "skill", "town"]


@pytest.fixture
def people(run):
    rng = np.random.default_rng(6)
    n = 400
    sex = rng.choice(["f", "m"], n)
    frame = pd.DataFrame(
        {"key": np.arange(n), "sex": sex, "skill": rng.normal(size=n) + 0.6 * (sex == "m")}
    )
    frame["town"] = rng.choice(["x", "y", "z"], n)
    good = frame["skill"] + (frame["town"] == "z") + rng.logistic(size=n) > 0.0
    frame["loan"] = np.where(good, "repaid", "default")
    frame.to_csv("people.csv", index=False)
    done = run("fit", "people.csv", "-y", "loan", "-s", "sex", "--drop", "key", "-o", "m.json")
    assert done.code == 0, done.error
    return frame


def test_reasons_are_sentences_beside_the_rows(run, people):
    done = run(
        "reasons", "people.csv", "-m", "m.json", "--top", 1, "--direction", "down", "--label",
        "repaid", "--names", "skill=what you can do", "--template", "{rank}. {attribute}: {value}",
        "-o", "letters.csv",
    )  # fmt: skip
    assert done.code == 0, done.error
    found = pd.read_csv("letters.csv", keep_default_na=False)
    assert found["key"].tolist() == people["key"].tolist()
    expected = reasons(
        load("m.json"), people[COLUMNS], top=1, direction="down", label="repaid"
    ).sentences("{rank}. {attribute}: {value}", names={"skill": "what you can do"})
    assert found["reason_1"].tolist() == [row[0] if row else "" for row in expected]
    assert any(text.startswith("1. what you can do: ") for text in found["reason_1"])
    shown = json.loads(run("reasons", "people.csv", "-m", "m.json", "--json").out)["reasons"]
    assert shown == reasons(load("m.json"), people[COLUMNS]).sentences()


def test_letters_quote_amounts_and_dates_as_they_are_written(run, people):
    rng = np.random.default_rng(1)
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, len(people)), "D")
    people["opened"] = days.strftime("%d/%m/%Y")
    people["closed"] = days.strftime("%Y-%m-%d")
    people["income"] = [f"${1000 + 50 * x:,.2f}" for x in rng.normal(size=len(people))]
    people.to_csv("people.csv", index=False)
    roles = ("-y", "loan", "-s", "sex", "--predictors", "opened,closed,income,skill")
    roles = (*roles, "--predictor-penalty", 1)
    assert run("fit", "people.csv", *roles, "-o", "m.json").code == 0
    command = ("reasons", "people.csv", "-m", "m.json", "--template", "{attribute}={value}")
    for row, found in enumerate(json.loads(run(*command, "--json").out)["reasons"]):
        quoted = dict(text.split("=") for text in found)
        for name in ("opened", "closed", "income"):
            assert quoted[name] == people[name][row]


def test_exports_are_those_of_python(run, people):
    model, X = load("m.json"), people[COLUMNS]
    for to, *options in (
        ("sql", "--keep", "key", "--table", "people"), ("python",), ("onnx",), ("sklearn",),
    ):  # fmt: skip
        done = run("export", "-m", "m.json", "--to", to, *options, "-o", f"out.{to}")
        assert done.code == 0, done.error
    found = {path.suffix: path.read_bytes() for path in Path().glob("out.*")}
    query = to_sql(model, keep=["key"], table="people")
    assert found[".sql"].decode().strip() == query.strip()
    assert found[".python"].decode().strip() == to_python(model).strip()
    assert found[".onnx"] == to_onnx(model).SerializeToString()
    pipeline = pickle.loads(found[".sklearn"])
    np.testing.assert_allclose(pipeline.predict_proba(X), model.predict_proba(X), rtol=1e-9)


def test_exports_say_which_text_to_convert(run, people):
    rng = np.random.default_rng(1)
    days = rng.integers(19000, 19300, len(people))
    people["opened"] = (pd.Timestamp("1970-01-01") + pd.to_timedelta(days, "D")).strftime(
        "%Y-%m-%d"
    )
    people["income */"] = [f"€{1000 + x:.2f}".replace(".", ",") for x in 50.0 * people["skill"]]
    people.to_csv("dated.csv", index=False, sep=";")
    done = run("fit", "dated.csv", "-y", "loan", "-s", "sex", "--drop", "key", "-o", "d.json")
    assert done.code == 0, done.error
    done = run("export", "-m", "d.json", "--to", "sql", "--table", "dated", "-o", "out.sql")
    told = [
        "column 'opened' has dates: convert them to days since 1970-01-01",
        "column 'income */' has numbers in € with a decimal comma: convert them to plain numbers",
    ]
    assert [line for line in done.error.splitlines() if "column" in line] == [
        f"note: {line}." for line in told
    ]
    with open("out.sql", encoding="utf-8") as file:
        query = file.read()
    comment = "\n   ".join(told).replace("*/", "* /")
    assert query.startswith(f"/* {comment} */\nSELECT")
    assert run("export", "-m", "d.json", "--to", "python", "-o", "out.py").code == 0
    with open("out.py", encoding="utf-8") as file:
        assert f"# {told[0]}\n# {told[1]}\n" in file.read()


def test_scorecards_are_tables_and_have_a_scale(run, people):
    done = run("export", "-m", "m.json", "--to", "scorecard", "-o", "card.csv",
               "--points-to-double-odds", 40, "--base-score", 500, "--base-odds", 10)  # fmt: skip
    assert done.code == 0, done.error
    card = scorecard(load("m.json"), points_to_double_odds=40, base_score=500, base_odds=10)
    found, expected = pd.read_csv("card.csv", keep_default_na=False), pd.DataFrame(card.to_frame())
    assert found["level"].tolist() == expected["level"].tolist()
    np.testing.assert_allclose(found["points"], expected["points"])


def test_relativities_are_tables_that_spreadsheets_can_open(run):
    rng, n = np.random.default_rng(5), 300
    frame = pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], n),
            "car": rng.choice(["=1+1", "small"], n),
            "age": rng.uniform(18, 80, n).round(1),
            "years": rng.uniform(0.2, 1.0, n).round(3),
        }
    )
    frame["log_years"] = np.log(frame["years"])
    frame["claims"] = rng.poisson(0.5 * frame["years"])
    frame.to_csv("cars.csv", index=False)
    roles = ("-y", "claims", "-s", "sex", "--family", "poisson", "--offset", "log_years")
    fitted = run("fit", "cars.csv", *roles, "--drop", "years", "-r", 0.05, "-o", "cars.json")
    assert fitted.code == 0, fitted.error
    asked = ("export", "-m", "cars.json", "--to", "relativities", "-o", "factors.csv")
    rows = ("--data", "cars.csv", "-y", "claims", "--exposure", "years")
    done = run(*asked, *rows, "--bands", "age=18,25,40,65")
    assert done.code == 0, done.error
    found = pd.read_csv("factors.csv", keep_default_na=False)
    assert found["level"].tolist()[:5] == ["", "f", "m", "'=1+1", "small"]
    base = found.iloc[0]
    assert float(base["exposure"]) == pytest.approx(frame["years"].sum())
    assert float(base["observed"]) == frame["claims"].sum()
    assert float(base["lower"]) < base["relativity"] < float(base["upper"])
    for bad, message in (
        (("--exposure", "years"), "--exposure is a column of rows"),
        (("--bands", "age"), "--bands age must be a name and numbers"),
        (("--base-score", 500), "--base-score is for --to scorecard"),
    ):
        wrong = run(*asked, *bad)
        assert (wrong.code, wrong.error.count("\n")) == (2, 1), wrong.error
        assert message in wrong.error


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("reasons people.csv --names skill", "--names skill must be a name and a value"),
        ("reasons people.csv --names wage=pay", "names has 'wage', which is not a reason"),
        ("reasons people.csv --template {color}", "the template '{color}' cannot be filled in"),
        ("export --to excel", "--to excel is not known; use one of sql, python"),
        ("export --to onnx --dialect mysql", "--dialect is for --to sql"),
    ],
)
def test_what_has_no_meaning_is_one_line(run, people, options, message):
    done = run(*options.split(), "-m", "m.json", "-o", "out")
    assert (done.code, done.out) == (2, "")
    assert message in done.error
    assert done.error.count("\n") == 1


def test_standard_errors_are_shown(run, people):
    roles = ("people.csv", "-y", "loan", "-s", "sex", "--drop", "key", "--inference")
    shown = run("fit", *roles)
    assert shown.code == 0, shown.error
    assert "town[z]" in shown.out.partition("std err")[2]
    rows = json.loads(run("fit", *roles, "--json").out)["inference"]
    model = load("m.json")
    expected = model.inference(people[COLUMNS], people["loan"])
    assert [row["term"] for row in rows] == list(expected.names)
    np.testing.assert_allclose([row["standard_error"] for row in rows], expected.standard_errors)


def test_certified_bounds_are_shown(run, people):
    roles = ("people.csv", "-y", "skill", "-s", "sex", "--drop", "key", "-r", 0.1)
    shown = run("fit", *roles, "--confidence", 0.9)
    assert "Certificate: unfairness in the population is at most 0.1 with 0.9" in shown.out
    found = json.loads(run("fit", *roles, "--confidence", 0.9, "--json").out)["certificate"]
    assert found["granted"]
    assert f"which lowers D² in training by {found['price']:.4g}" in " ".join(shown.out.split())
    assert found["training_bound"] < 0.1 == found["bound"]
