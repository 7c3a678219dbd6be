"""A bank's messy loan applications, end to end as a new user goes: command line, then Python."""

import io
import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import fairridge
from fairridge import FairRidgeClassifier, audit, compare, proxies
from fairridge.cli import main
from fairridge.export import reasons, to_python, to_sql

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


@pytest.fixture
def run(folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "120")

    def command(*arguments):
        code = main(list(arguments))
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return command


@pytest.fixture
def fitted(run):
    code, out, error = run("fit", "loans.csv", *READY, "--out", "model.json")
    assert code == 0, error
    return out, error


# ------------------------------------------------------------------ command line


def test_gaps_are_named_with_a_remedy(run):
    code, _, error = run("fit", "loans.csv", *ROLES)
    assert code == 2
    assert "Column 'rate' has" in error
    assert "--drop-missing" in error
    assert error.count("\n") == 1


def test_a_key_is_refused_before_any_work(run):
    code, _, error = run("fit", "loans.csv", *ROLES, "--drop-missing")
    assert code == 2
    assert "'application_id'" in error
    assert "--drop" in error


def test_amounts_rates_and_dates_are_read_and_said(fitted):
    out, error = fitted
    shown = out + error
    assert "Column 'income': read '$" in shown
    assert "a number of percent" in shown
    assert "Column 'opened' holds dates" in shown
    assert "encoded columns" in shown
    assert "Column 'zip'" not in shown  # digits that begin with 0 stay text


def test_duplicated_columns_are_named(run):
    arguments = [name.replace("income_copy,", "") for name in SHORT]
    arguments[arguments.index("--predictor-penalty") + 1] = "0"
    code, out, error = run("fit", "loans.csv", *arguments)
    assert code == 0
    assert "'income_copy'" in out + error


def test_gaps_may_be_a_level(run):
    arguments = ["--missing=level" if name == "--drop-missing" else name for name in SHORT]
    code, out, error = run("fit", "loans.csv", *arguments, "--out", "gaps.json")
    assert code == 0, error
    assert "rate[(missing)]" in out
    code, _, error = run("predict", "new.csv", "--model", "gaps.json", "--out", "all.csv")
    assert code == 0, error
    assert pd.read_csv("all.csv")["probability_1"].notna().all()


def test_defaults_may_weigh_more_each_attribute_have_a_bound_and_the_penalty_be_chosen(run):
    roles = ("--response", "default", "--sensitive", "race,sex", "--predictors", "income,rate,age")
    roles = (*roles, "--missing", "level", "--definition", "mean-parity", "--json")
    code, out, error = run("fit", "loans.csv", *roles, "--unfairness", "race=0.001,sex=0.002",
                           "--class-weight", "balanced", "--predictor-penalty", "cv")  # fmt: skip
    assert code == 0, error
    found = json.loads(out)
    assert found["status"]["race"] == "converged"
    assert found["achieved"]["race"] == pytest.approx(0.001, abs=1e-9)
    assert found["predictor_penalty"] > 0.0
    # With weights somebody is predicted to default.
    assert found["decision_gap"] > 0.0


def test_peers_take_gaps_as_well(run):
    code, out, error = run("compare", "loans.csv", *ROLES, "--predictors", "income,rate,age",
                           "--missing", "level", "--cv", "2", "--models", "FGRRM,ZLRM,barycenter",
                           "--json")  # fmt: skip
    assert code == 0, error
    found = json.loads(out)
    assert not found["skipped"]
    assert len(found["models"]) == 4


def test_rows_that_cannot_be_scored_say_why(fitted, run):
    code, _, error = run(
        "predict", "new.csv", "--model", "model.json", "--on-bad-row", "flag", "--out", "flags.csv"
    )
    assert code == 0, error
    found = pd.read_csv("flags.csv")
    assert len(found) == 2000
    bad = found["reason"].notna()
    assert 10 < bad.sum() < 100
    assert found.loc[bad, "reason"].str.contains("rate").any()
    assert found.loc[~bad, "probability_1"].notna().all()


def test_reasons_for_letters(fitted, run, folder):
    frame = pd.read_csv(folder / "new.csv", dtype={"zip": str})
    frame[frame["rate"].notna()].head(20).to_csv(folder / "few.csv", index=False)
    code, out, error = run("reasons", "few.csv", "--model", "model.json", "--top", "2")
    assert code == 0, error
    letters = pd.read_csv(io.StringIO(out))[["reason_1", "reason_2"]].stack()
    assert not letters.str.contains("race|sex").any()
    assert letters.str.contains("rate is").any()
    assert letters.str.contains(r"rate is \d+\.\d+%", regex=True).any()  # as it is written


def test_the_model_is_of_the_class_that_it_says(fitted, folder):
    out, _ = fitted
    assert out.startswith("FairRidgeClassifier: 1, not 0")
    model = fairridge.load(folder / "model.json")
    assert model.classes_.tolist() == [0, 1]
    assert model.unfairness_ == pytest.approx(0.05, abs=1e-9)


def test_new_applications_are_scored_by_class(fitted, run, folder):
    frame = pd.read_csv(folder / "new.csv", dtype={"zip": str})
    frame[frame["rate"].notna()].to_csv(folder / "complete.csv", index=False)
    code, _, error = run("predict", "complete.csv", "--model", "model.json", "--out", "scores.csv")
    assert code == 0, error
    scores = pd.read_csv(folder / "scores.csv")
    assert "probability_1" in scores
    assert scores["probability_1"].corr(scores["default"]) > 0.1


def test_the_audit_knows_that_a_default_is_not_favorable(fitted, run):
    test_new_applications_are_scored_by_class(fitted, run, Path())
    code, out, error = run(
        "audit", "scores.csv", "--prediction", "probability_1", "--response", "default",
        "--sensitive", "race,sex", "--threshold", "0.15", "--json",
    )  # fmt: skip
    assert code == 0, error
    scores = pd.read_csv("scores.csv")
    approved = (scores["probability_1"] <= 0.15).groupby(scores["race"]).mean()
    assert json.loads(out)["favorable"]["outcome"] == 0
    code, out, _ = run(
        "audit", "scores.csv", "--prediction", "probability_1", "--response", "default",
        "--sensitive", "race", "--threshold", "0.15",
    )  # fmt: skip
    assert "favorable outcome: default = 0" in out
    assert f"{approved.min() / approved.max():.4g}"[:5] in out


def test_a_rule_chooses_the_bound(run):
    code, out, error = run(
        "choose", "loans.csv", *SHORT, "--rule", "mean-gap:0.05",
        "--favorable", "0", "--json",
    )  # fmt: skip
    assert code == 0, error
    found = json.loads(out)
    assert found["granted"]
    assert 0.0 <= found["unfairness"] <= 1.0


def test_the_report_is_written(fitted, run, folder):
    code, _, error = run(
        "report", "loans.csv", *SHORT, "--cv", "2", "--bootstrap", "0", "--out", "report.html"
    )
    assert code == 0, error
    page = (folder / "report.html").read_text()
    assert "default" in page
    assert "White" in page


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


@pytest.fixture(scope="module")
def python(rows):
    """A model without ZIP codes."""
    X, y = rows[0].drop(columns="zip"), rows[1]
    model = FairRidgeClassifier(0.02, sensitive=["race", "sex"], definition="mean-parity")
    return model.fit(X, y), X, y


def test_the_bound_means_what_it_says(python):
    model, X, _ = python
    assert list(model.isolated_) == ["purpose[wedding]"]  # nobody defaulted
    X = X[X["purpose"] != "wedding"]
    means = model.predict_proba(X)[:, 1]
    S = np.column_stack([np.ones(len(X)), X["race"] == "White", X["sex"] == "M"])
    left = means - S @ np.linalg.lstsq(S, means, rcond=None)[0]
    assert 1.0 - left.var() / means.var() == pytest.approx(0.02, abs=1e-9)


def test_zip_codes_show_as_proxies(rows):
    X, y = rows
    model = FairRidgeClassifier(
        0.05, sensitive=["race", "sex"], min_frequency=5, predictor_penalty=5.0
    )
    telling = proxies(model.fit(X, y), X, n_folds=3).telling
    table = telling.to_frame().set_index("predictor")["tells race (AUC)"]
    assert table["zip"] > 0.75
    assert table["zip"] > table.drop(["zip", "(all predictors)"]).max()


def test_standard_errors_and_certificates(python):
    model, X, y = python
    frame = model.inference(X, y).to_frame()
    isolated = frame["term"] == "purpose[wedding]"
    assert (np.isfinite(frame["standard_error"]) == ~isolated).all()
    few = (X["purpose"] != "wedding").to_numpy()
    certified = FairRidgeClassifier(
        0.05, sensitive=["race", "sex"], definition="mean-parity", confidence=0.9
    ).fit(X[few], y[few])
    assert certified.certificate_.granted
    assert certified.unfairness_ < 0.05


def test_deployed_scores_are_those_of_the_model(python):
    model, X, _ = python
    rows = X.head(300)
    expected = model.predict_proba(rows)[:, 1]
    with duckdb.connect() as connection:
        connection.register("data", rows)
        found = connection.execute(to_sql(model)).df()
    np.testing.assert_allclose(found["probability_1"], expected, rtol=1e-10)
    module = {}
    exec(to_python(model), module)
    scored = [module["predict"](row)["probability_1"] for row in rows.to_dict("records")]
    np.testing.assert_allclose(scored, expected, rtol=1e-10)


def test_letters_name_no_sensitive_attribute(python):
    model, X, _ = python
    letters = reasons(model, X.head(50), direction="up", top=3).sentences()
    assert all("race" not in line and "sex" not in line for letter in letters for line in letter)
    assert any(letters)


def test_audits_and_comparisons_take_the_same_rows(python):
    model, X, y = python
    found = audit(y, model.predict_proba(X)[:, 1] > 0.15, sensitive_features=X[["race"]],
                  favorable=0)  # fmt: skip
    assert 0.5 < found["race"].demographic_parity_ratio <= 1.0
    small = X.head(1500)
    table = compare(small, y[:1500], sensitive=["race", "sex"], unfairness=0.05, cv=2).to_frame()
    assert {"share_of_means", "train_share_of_means"} <= set(table)
