"""A bank's messy loan applications, end to end as a new user goes: command line, then Python."""

import io
import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pandas as pd
import pytest

from fairridge import FairRidgeClassifier, proxies
from fairridge.cli import main

sys.path.insert(0, str(Path(__file__).parent))
from loans import loans

from tests.zoo import LateModule

duckdb = LateModule("duckdb")

pytestmark = pytest.mark.slow

ROLES = ("--response", "default", "--sensitive", "race,sex")
READY = (*ROLES, "--drop", "application_id,income_copy,closed", "--drop-missing",
         "--min-frequency", "5", "--predictor-penalty", "5")  # fmt: skip
# Without 900 columns of ZIP codes, for commands that fit many models.
SHORT = tuple(name.replace("closed", "closed,zip") for name in READY)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("bank")
    loans(6000, 0).to_csv(place / "loans.csv", index=False)
    loans(2000, 1).to_csv(place / "new.csv", index=False)
    return place


@pytest.fixture(scope="module")
def run(folder):
    def command(*arguments):
        with (
            pytest.MonkeyPatch.context() as patch,
            redirect_stdout(io.StringIO()) as out,
            redirect_stderr(io.StringIO()) as error,
        ):
            patch.chdir(folder)
            patch.setenv("COLUMNS", "120")
            code = main(list(arguments))
        return code, out.getvalue(), error.getvalue()

    return command


@pytest.fixture(scope="module")
def fitted(run):
    code, out, error = run("fit", "loans.csv", *READY, "--out", "model.json")
    assert code == 0, error
    return out, error


@pytest.fixture(scope="module")
def scores(fitted, run, folder):
    frame = pd.read_csv(folder / "new.csv", dtype={"zip": str})
    frame[frame["rate"].notna()].to_csv(folder / "complete.csv", index=False)
    code, _, error = run("predict", "complete.csv", "--model", "model.json", "--out", "scores.csv")
    assert code == 0, error
    return pd.read_csv(folder / "scores.csv")


# ------------------------------------------------------------------ command line


def test_gaps_are_named_with_a_remedy(run):
    code, _, error = run("fit", "loans.csv", *ROLES)
    assert code == 2
    assert "Column 'rate' has" in error
    assert "--drop-missing" in error
    assert error.count("\n") == 1


def test_amounts_rates_and_dates_are_read_and_said(fitted):
    out, error = fitted
    shown = out + error
    assert "Column 'income': read '$" in shown
    assert "a number of percent" in shown
    assert "Column 'opened' holds dates" in shown
    assert "encoded columns" in shown
    assert "Column 'zip'" not in shown  # digits that begin with 0 stay text
    assert out.startswith("FairRidgeClassifier: 1, not 0")


def test_the_audit_knows_that_a_default_is_not_favorable(scores, run):
    assert scores["probability_1"].corr(scores["default"]) > 0.1
    code, out, error = run(
        "audit", "scores.csv", "--prediction", "probability_1", "--response", "default",
        "--sensitive", "race,sex", "--threshold", "0.15", "--json",
    )  # fmt: skip
    assert code == 0, error
    approved = (scores["probability_1"] <= 0.15).groupby(scores["race"]).mean()
    assert json.loads(out)["favorable"]["outcome"] == 0
    code, out, _ = run(
        "audit", "scores.csv", "--prediction", "probability_1", "--response", "default",
        "--sensitive", "race", "--threshold", "0.15",
    )  # fmt: skip
    assert "favorable outcome: default = 0" in out
    assert f"{approved.min() / approved.max():.4g}"[:5] in out


# ------------------------------------------------------------------------ Python


@pytest.fixture(scope="module")
def rows():
    """The same rows as a careful user reads them."""
    frame = loans(6000, 0)
    frame = frame[frame["rate"] != "N/A"].drop(columns=["application_id", "income_copy", "closed"])
    frame["sex"] = frame["sex"].replace("Male", "M")
    frame["income"] = frame["income"].str.replace("[$,]", "", regex=True).astype(float)
    frame["rate"] = frame["rate"].str.rstrip("%").astype(float)
    frame["opened"] = (pd.to_datetime(frame["opened"]) - pd.Timestamp(0)).dt.days
    return frame.drop(columns="default").reset_index(drop=True), frame["default"].to_numpy()


def test_zip_codes_show_as_proxies(rows):
    X, y = rows
    model = FairRidgeClassifier(
        0.05, sensitive=["race", "sex"], min_frequency=5, predictor_penalty=5.0
    )
    telling = proxies(model.fit(X, y), X, n_folds=3).telling
    table = telling.to_frame().set_index("predictor")["tells race (AUC)"]
    assert table["zip"] > 0.75
    assert table["zip"] > table.drop(["zip", "(all predictors)"]).max()
