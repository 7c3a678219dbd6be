"""What every command does, and that it is what the library does."""

import hashlib
import io
import json
import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.csv
import pytest

import fairridge
from fairridge import FairRidgeRegressor
from fairridge.cli import terminal
from fairridge.metrics import audit

ROLES = ("--response", "gaussian", "--sensitive", "sex,age", "--predictors", "income,score,region")


def test_version_and_help(run):
    assert run("--version").out == f"fairridge {fairridge.__version__}\n"
    for arguments in ((), ("--help",)):
        shown = run(*arguments)
        assert shown.code == 0
        for name in ("fit", "path", "predict", "audit", "compare", "report"):
            assert f" {name} " in shown.out


def test_fit_is_the_library(run, people_csv):
    found = json.loads(run("fit", "people.csv", *ROLES, "-r", 0.1, "--json").out)
    columns = ["age", "sex", "income", "score", "region"]
    model = FairRidgeRegressor(0.1, sensitive=["sex", "age"])
    model.fit(people_csv[columns], people_csv["gaussian"])
    assert found["family"] == "gaussian"
    assert found["achieved"] == pytest.approx(0.1, abs=1e-9)
    got = {row["term"]: row["coefficient"] for row in found["coefficients"]}
    wanted = {row.term: row.coefficient for row in model.summary().coefficients}
    assert got == pytest.approx(wanted, rel=1e-9)


def test_fit_prints_what_it_guessed_and_found(run, people_csv):
    shown = run("fit", "people.csv", *ROLES)
    assert shown.code == 0
    assert shown.error.splitlines() == [
        "note: 5 columns become 6 encoded columns; 400 rows.",
        "Family: gaussian, because gaussian is a number.",
    ]
    assert "region[" in shown.out
    shown = re.sub(" +", " ", shown.out)
    assert "S explains of the predictions 5.00 % 5.00 %" in shown
    everything = re.sub(" +", " ", run("fit", "people.csv", *ROLES, "--all").out)
    assert "Achieved: 0.05" in everything
    assert "Share of scores explained by S: 0.05" in everything


@pytest.mark.parametrize(
    ("response", "family"),
    [
        ("spent", "gaussian"),
        ("came", "binomial"),
        ("sex", "binomial"),
        ("color", "multinomial"),
        ("visits", "poisson"),
    ],
)
def test_family_is_guessed_and_said(run, shop, response, family):
    predictors = ",".join(name for name in ("left", "came", "visits") if name != response)
    base = ("fit", "shop.csv", "-y", response, "-s", "age", "--predictors", predictors)
    shown = run(*base)
    assert f"\nFamily: {family}, because {response} " in shown.error
    assert json.loads(run(*base, "--json").out)["family"] == family


def test_missing_values_are_dropped_when_asked(run, shop):
    frame = shop.astype({"age": float})
    frame.loc[[3, 7], "age"] = np.nan
    frame.loc[9, "sex"] = None
    frame.to_csv("holes.csv", index=False)
    base = ("fit", "holes.csv", "-y", "spent", "-s", "sex", "--predictors", "age,income")
    shown = run(*base, "--drop-missing")
    assert "Left out 3 rows" in shown.error
    assert json.loads(run(*base, "--drop-missing", "--json").out)["rows"] == 57


def test_a_key_among_the_predictors_is_refused(run, shop):
    base = ("fit", "shop.csv", "-y", "spent", "-s", "sex", "--predictors", "id,age")
    shown = run(*base)
    assert shown.code == 2
    assert "column 'id' is text with 60 different values in 60 rows, such as 'c0'" in shown.error
    assert "--drop id" in shown.error
    assert "--max-levels 60" in shown.error
    allowed = run(*base, "--max-levels", 60, "--json")
    assert allowed.code == 0
    assert json.loads(allowed.out)["encoded_columns"] == 61


def test_other_separators_and_parquet(run, people_csv):
    people_csv.to_csv("semicolon.csv", index=False, sep=";")
    people_csv.to_csv("tab.tsv", index=False, sep="\t")
    people_csv.to_parquet("people.parquet")
    names = ("people.csv", "semicolon.csv", "tab.tsv", "people.parquet")
    answers = {run("fit", name, *ROLES, "--json").out for name in names}
    assert len(answers) == 1


def test_predictions_to_the_screen_keep_all_columns_and_digits(run, people_csv):
    run("fit", "people.csv", *ROLES, "--out", "model.json")
    shown = run("predict", "people.csv", "--model", "model.json")
    (lines := shown.out.splitlines()).pop(0)
    assert len(lines) == len(people_csv)
    assert shown.out.startswith('"')
    found = json.loads(run("predict", "people.csv", "-m", "model.json", "--json").out)
    assert list(found) == ["prediction"]
    # A column of that name is not overwritten.
    people_csv.assign(prediction=1).to_csv("named.csv", index=False)
    run("predict", "named.csv", "-m", "model.json", "-o", "out.csv")
    out = pd.read_csv("out.csv", dtype={"prediction_": str})
    assert (out["prediction"] == 1).all()
    assert [float(text) for text in out["prediction_"]] == found["prediction"]  # to the last bit


def test_a_model_from_python_with_separate_attributes(run, people_csv):
    model = FairRidgeRegressor()
    model.fit(people_csv[["income", "score"]], people_csv["gaussian"],
              sensitive_features=people_csv[["sex"]])  # fmt: skip
    fairridge.save(model, "separate.json")
    found = json.loads(run("predict", "people.csv", "-m", "separate.json", "--json").out)
    table = pyarrow.csv.read_csv("people.csv")  # other layouts in memory, other rounding errors
    X, S = table.select(["income", "score"]), table.select(["sex"])
    wanted = model.predict(X, sensitive_features=S)
    assert found["prediction"] == wanted.tolist()


@pytest.mark.slow
def test_path(run, people_csv):
    found = json.loads(run("path", "people.csv", *ROLES, "--bounds", "0,0.05,1", "--json").out)
    columns = ["age", "sex", "income", "score", "region"]
    path = FairRidgeRegressor(sensitive=["sex", "age"]).path(
        people_csv[columns], people_csv["gaussian"], unfairness=[0, 0.05, 1]
    )
    assert found["unfairness"] == [0, 0.05, 1]
    assert found["lambda_"][0] == "infinity"
    assert found["achieved"] == pytest.approx(path.achieved)
    assert found["income"] == pytest.approx(path.beta[:, 0])
    shown = run("path", "people.csv", *ROLES, "--out", "path.csv", "--plot", "path.png")
    assert len(pd.read_csv("path.csv")) == 101
    assert Path("path.png").read_bytes()[:4] == b"\x89PNG"
    assert len(shown.out.splitlines()) < 22


def test_audit_of_any_predictions(run, people_csv):
    frame = people_csv.assign(guess=np.linspace(1, 0, len(people_csv)))
    frame.to_csv("guess.csv", index=False)
    base = ("audit", "guess.csv", "-p", "guess", "-y", "binomial", "-s", "sex,age")
    found = json.loads(run(*base, "--threshold", 0.6, "--json").out)
    wanted = audit(
        frame["binomial"], frame["guess"], sensitive_features=frame[["sex", "age"]], threshold=0.6
    )
    assert found["demographic_parity_ratio"] == pytest.approx(wanted.demographic_parity_ratio)
    groups = {(row["attribute"], row["group"]): row for row in found["groups"]}
    for part in wanted.attributes:
        for group in part.groups:
            row = groups[part.attribute, group.group]
            assert row["selection_rate"] == pytest.approx(group.selection_rate.value)
            assert row["wasserstein"] == pytest.approx(group.distances.wasserstein)
    top = json.loads(run(*base, "--top", 40, "--json").out)
    assert (top["top"], top["groups"][-1]["selection_rate"]) == (40, pytest.approx(0.1))
    shown = run(*base, "--out", "groups.csv", "--intersections", "--reference", "sex=female")
    assert "sex" in shown.out
    assert "obs − pred" in shown.out
    assert max(map(len, shown.out.splitlines())) <= 80
    assert {"sex", "age", "sex × age"} <= set(pd.read_csv("groups.csv")["attribute"].dropna())


def test_datasets(run):
    shown = run("datasets")
    assert "german_credit" in shown.out
    assert max(map(len, shown.out.splitlines())) <= 80
    names = [info["name"] for info in json.loads(run("datasets", "--json").out)]
    assert "rossi" in names
    assert "Source:" in run("datasets", "rossi").out
    assert json.loads(run("datasets", "rossi", "--json").out)["response"] == ["week", "arrest"]
    assert run("datasets", "rossi", "--out", "rossi.csv").code == 0
    assert len(pd.read_csv("rossi.csv")) == 432


def test_built_in_data_know_their_roles(run):
    found = json.loads(run("fit", "builtin:rossi", "--json").out)
    assert found["family"] == "cox"
    assert found["sensitive"] == ["race", "age"]
    other = json.loads(run("fit", "builtin:rossi", "-y", "prio", "-s", "race", "--json").out)
    assert other["family"] == "poisson"


@pytest.mark.parametrize("width", [80, 200])
def test_tables_fit_the_terminal(run, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    for command in (("fit", "builtin:german_credit"), ("datasets",)):
        shown = run(*command)
        assert max(map(len, shown.out.splitlines())) <= width


def test_streams(run, people_csv):
    more = people_csv.assign(when=pd.Timestamp("2020-01-01"))
    more[:150].to_parquet("part-1.parquet")
    more[150:].to_parquet("part-2.parquet")
    whole = json.loads(run("fit", "people.csv", *ROLES, "--json").out)
    for source, extra in (("part-*.parquet", ()), (".", ("--stream",))):
        shown = run("fit", source, *ROLES, "--json", "--out", "model.json", *extra)
        found = json.loads(shown.out)
        assert found["rows"] == len(people_csv)
        assert found["lambda"] == pytest.approx(whole["lambda"], rel=1e-8)
    done = run("predict", "part-*.parquet", "-m", "model.json", "-o", "scores.parquet")
    assert done.code == 0
    scores = pd.read_parquet("scores.parquet")
    assert (scores["income"].to_numpy() == people_csv["income"].to_numpy()).all()
    assert (scores["when"] == pd.Timestamp("2020-01-01")).all()


def test_compare(run, people_csv):
    base = ("compare", "people.csv", *ROLES, "-r", "0.02,0.1", "--models", "FRRM,NCLM", "--cv", 3)
    found = json.loads(run(*base, "--json").out)
    rows = {(row["model"], row["unfairness"]): row for row in found["models"]}
    ridge, exact = "fair ridge (FRRM)", "Komiyama et al. (NCLM)"
    assert set(rows) == {
        ("unconstrained", 1.0), (ridge, 0.02), (ridge, 0.1), (exact, 0.02), (exact, 0.1),
    }  # fmt: skip
    assert rows[ridge, 0.1]["train_share_of_means"] == pytest.approx(0.1)
    assert rows[ridge, 0.1]["decision_gap_error"] > 0.0
    shown = run(*base, "--out", "compared.csv")
    assert "NCLM" in shown.out
    assert f"{rows[ridge, 0.1]['rmse']:.4g} ±{rows[ridge, 0.1]['rmse_error']:.4g}" in shown.out
    fairness = shown.out.partition("Held out: fairness")[2].partition("Not shown")[0]
    assert all(heading in fairness for heading in ("means", "gap", "ratio"))
    assert len(pd.read_csv("compared.csv")) == 5


def test_compare_says_what_it_did_to_numbers_and_what_models_warn_of(run, people_csv):
    base = ("compare", "people.csv", *ROLES, "--models", "FRRM,barycenter", "--cv", 2)
    shown = run(*base)
    text = " ".join(shown.out.split())
    assert "age is numeric, and these models need groups: Wasserstein bary" in text
    found = json.loads(run(*base, "--json").out)
    assert found["notes"][0].startswith("age is numeric")


def test_compare_takes_times_and_events(run, shop):
    base = ("compare", "shop.csv", "-y", "days", "--event", "left", "-s", "sex",
            "--predictors", "age,visits", "--cv", 2, "--json")  # fmt: skip
    found = json.loads(run(*base).out)["models"]
    assert [row["model"] for row in found] == ["unconstrained", "fair ridge (FGRRM)"]
    assert found[1]["train_share_of_eta"] <= 0.05 + 1e-9
    assert 0.0 < found[1]["concordance"] < 1.0
    assert "rmse" not in found[1]
    refused = run(*base, "--models", "NCLM")
    assert refused.code == 2
    assert "not known for cox responses; there are FGRRM" in refused.error


@pytest.mark.slow
def test_compare_takes_counts_and_exposures(run, people_csv):
    frame = pd.read_csv("people.csv")
    frame["years"] = np.where(frame["sex"] == frame["sex"].iloc[0], 0.5, 2.0)
    frame.to_csv("people.csv", index=False)
    base = ("compare", "people.csv", "-y", "poisson", "-s", "sex", "--predictors", "income",
            "--family", "poisson", "--exposure", "years", "--cv", 2, "--json")  # fmt: skip
    found = json.loads(run(*base).out)
    models = {row["model"]: row for row in found["models"]}
    assert set(models) == {"unconstrained", "fair ridge (FRRM)", "fair ridge, mean parity"}
    parity = models["fair ridge, mean parity"]
    assert parity["train_share_of_means"] == pytest.approx(0.05)
    assert "decision_gap" not in parity or parity["decision_gap"] is None  # nobody is selected
    decided = json.loads(run(*base, "--threshold", "1").out)
    assert decided["models"][0]["decision_gap"] is not None


@pytest.mark.slow
def test_report(run, people_csv):
    base = ("report", "people.csv", *ROLES, "--cv", 2, "--bootstrap", 3)
    found = json.loads(run(*base, "--json", "--out", "a.html", "--title", "T < U").out)
    assert found["achieved"] == pytest.approx(0.05)
    assert found["report"].endswith("a.html")
    page = Path("a.html").read_text(encoding="utf-8")
    assert "T &lt; U" in page
    assert hashlib.sha256(Path("people.csv").read_bytes()).hexdigest() in page
    shown = run(*base)
    assert "Report: " in shown.out
    assert Path("report.html").exists()
    run("fit", "people.csv", *ROLES, "-r", 0.1, "--out", "model.json")
    again = json.loads(run("report", "people.csv", "-y", "gaussian", "-m", "model.json", "--cv", 0,
                           "--bootstrap", 0, "--json").out)  # fmt: skip
    assert again["unfairness"] == 0.1
    assert again["dependence"]["held_out"] is None
    assert 0.1 < again["inference"]["population"]["upper"] < 1.0


def test_report_on_new_rows(run, people_csv):
    run("fit", "people.csv", *ROLES, "-r", 0.1, "--out", "model.json")
    people = pd.read_csv("people.csv")
    people.assign(income=people["income"] + 50.0).to_csv("later.csv", index=False)
    base = ("report", "later.csv", "-y", "gaussian", "-m", "model.json", "--new-rows")
    found = json.loads(run(*base, "--json").out)
    assert (found["unfairness"], found["bound_is_on"]) == (0.1, "share_of_eta")
    assert found["rows"] == len(people)
    assert found["drift"][0]["name"] == "income"
    assert found["drift"][0]["psi"] > 0.25
    # R² on S takes no notice of a shift of everybody.
    assert found["measures"][0]["value"] == pytest.approx(0.1, abs=0.01)
    shown = run(*base, "--out", "later.html")
    assert "have shifted" in shown.out
    assert "Have the columns changed?" in Path("later.html").read_text(encoding="utf-8")
    missing = run("report", "later.csv", *ROLES, "--new-rows")
    assert missing.code == 2
    assert "--new-rows validates a model file: name it with --model FILE." in missing.error


def test_a_bar_shows_on_a_terminal_and_nowhere_else(monkeypatch):
    class Screen(io.StringIO):
        def isatty(self):
            return self.terminal

    monkeypatch.setenv("TERM", "xterm")
    for seen in (True, False):
        screen = Screen()
        screen.terminal = seen
        monkeypatch.setattr(sys, "stderr", screen)
        with terminal.progress("work") as step:
            step("stage", 1, 2)
        assert ("work: stage" in screen.getvalue()) == seen
        assert seen or not screen.getvalue()


def test_the_modeled_class_is_chosen_and_named(run):
    run("datasets", "german_credit", "--out", "credit.csv")
    base = ("fit", "credit.csv", "-y", "Credit_risk", "-s", "Gender")
    facts = json.loads(run(*base, "--positive", "BAD", "--out", "m.json", "--json").out)
    assert facts["classes"] == ["BAD", "GOOD"]
    assert facts["positive"] == "BAD"
    assert "FairRidgeClassifier: GOOD, not BAD" in run(*base).out
    run("predict", "credit.csv", "--model", "m.json", "--out", "scores.csv")
    scores = pd.read_csv("scores.csv")
    bad = scores.groupby("Credit_risk")["probability_BAD"].mean()
    assert bad["BAD"] > bad["GOOD"]
    audited = run("audit", "credit.csv", "-m", "m.json", "-y", "Credit_risk", "--json")
    found = json.loads(audited.out)
    assert found["positive"] == "BAD"
    assert found["favorable"]["outcome"] == "GOOD"
    wrong = run(*base, "--positive", "GREAT")
    assert wrong.code == 2
    assert "--positive GREAT is not a class of y: 'BAD', 'GOOD'." in wrong.error


@pytest.mark.slow
def test_audits_of_survival_models_have_the_brier_score(run):
    run("datasets", "rossi", "--out", "rossi.csv")
    run("fit", "builtin:rossi", "-o", "m.json")
    shown = run("audit", "builtin:rossi", "-m", "m.json", "--out", "of_name.csv")
    assert shown.code == 0
    assert "Brier" in shown.out
    columns = ("-y", "week", "--event", "arrest", "--out", "of_file.csv")
    assert run("audit", "rossi.csv", "-m", "m.json", *columns).code == 0
    tables = [pd.read_csv(f"{name}.csv") for name in ("of_name", "of_file")]
    found = [table.set_index("group")["brier"].sort_index() for table in tables]
    pd.testing.assert_series_equal(*found)
    assert found[0].dropna().between(0.01, 0.25).all()
    refused = run("audit", "rossi.csv", "-m", "m.json", "-y", "week")
    assert "--event NAME" in refused.error
    refused = run("audit", "rossi.csv", "-m", "m.json", "--event", "arrest")
    assert "--response NAME" in refused.error
