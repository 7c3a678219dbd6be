"""The favorable outcome on the command line."""

import json

import numpy as np
import pandas as pd
import pytest


@pytest.fixture
def loans(folder):
    """Loans of two groups, of which b defaults more often."""
    rng = np.random.default_rng(3)
    n = 400
    group = rng.choice(["a", "b"], n)
    income = rng.normal(50, 10, n) - 8 * (group == "b")
    chance = 1 / (1 + np.exp(0.15 * (income - 45)))
    frame = pd.DataFrame(
        {"group": group, "income": income, "default": (rng.random(n) < chance).astype(int)}
    )
    frame.to_csv(folder / "loans.csv", index=False)
    return frame


def test_an_audit_does_not_accuse_the_wrong_group(run, loans):
    roles = ("--response", "default", "--sensitive", "group")
    assert run("fit", "loans.csv", *roles, "-r", 1, "--out", "m.json").code == 0
    guessed = run("audit", "loans.csv", "--model", "m.json", "--response", "default")
    assert "favorable outcome: default = 0 (a guess from the name 'default'" in guessed.out
    assert "below four fifths: group = b" in guessed.out
    said = run("audit", "loans.csv", "--model", "m.json", "--response", "default", "--json",
               "--favorable", "0")  # fmt: skip
    facts = json.loads(said.out)
    assert facts["favorable"] == {"outcome": 0, "means": "default = 0", "reason": "given"}
    assert [g["group"] for g in facts["groups"] if g["adverse_impact"]] == ["b"]
    other = run("audit", "loans.csv", "--model", "m.json", "--response", "default", "--json",
                "--favorable", "1")  # fmt: skip
    assert [g["group"] for g in json.loads(other.out)["groups"] if g["adverse_impact"]] == ["a"]
    # Without responses the classes of the model are known all the same.
    alone = json.loads(run("audit", "loans.csv", "--model", "m.json", "--json").out)
    assert alone["positive"] == "1"


def test_another_class_is_refused_in_one_line(run, loans):
    roles = ("--response", "default", "--sensitive", "group")
    run("fit", "loans.csv", *roles, "--out", "m.json")
    result = run("audit", "loans.csv", "--model", "m.json", "--response", "default",
                 "--favorable", "good")  # fmt: skip
    assert result.code == 2
    assert "--favorable good is not known; use a class (0, 1), 'low' or 'high'." in result.error


@pytest.mark.slow
def test_reports_begin_with_the_favorable_outcome(run, loans):
    roles = ("--response", "default", "--sensitive", "group", "--cv", 0, "--bootstrap", 0)
    guessed = run("report", "loans.csv", *roles, "-r", 1)
    assert guessed.out.startswith("Favorable outcome: default = 0 (a guess from the name 'default'")
    text = " ".join(guessed.out.split())
    assert "(group b;" in text
    said = json.loads(run("report", "loans.csv", *roles, "--favorable", 1, "-r", 1, "--json").out)
    assert said["favorable"] == "favorable outcome: default = 1"
    assert "(group a;" in said["summary"]
    page = " ".join(loans_page().split())
    assert "the probability of 1 is above 0.5" in page


def loans_page():
    with open("report.html", encoding="utf-8") as file:
        return file.read()


@pytest.mark.slow
def test_compare_measures_the_favorable_outcome(run, loans):
    roles = ("--response", "default", "--sensitive", "group", "--models", "FGRRM", "-r", "1")
    shown = run("compare", "loans.csv", *roles)
    favorable = "favorable outcome: default = 0 (a guess from the name 'default'"
    assert favorable in " ".join(shown.out.split())
    ratios = {}
    for favorable in (0, 1):
        found = json.loads(run("compare", "loans.csv", *roles, "--favorable", favorable,
                               "--json").out)  # fmt: skip
        ratios[favorable] = found["models"][0]["train_adverse_impact_ratio"]
        audited = _audited(run, favorable)
        assert ratios[favorable] == pytest.approx(audited["demographic_parity_ratio"])
    assert ratios[0] != ratios[1]


def _audited(run, favorable):
    run("fit", "loans.csv", "--response", "default", "--sensitive", "group", "-r", 1,
        "--out", "m.json")  # fmt: skip
    return json.loads(run("audit", "loans.csv", "--model", "m.json", "--response", "default",
                          "--json", "--favorable", favorable).out)  # fmt: skip
