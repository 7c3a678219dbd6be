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
    wrong = run("audit", "loans.csv", "--model", "m.json", "--response", "default",
                "--favorable", "good")  # fmt: skip
    assert wrong.code == 2
    assert "--favorable good is not known; use a class (0, 1), 'low' or 'high'." in wrong.error
    # Without responses the classes of the model are known all the same.
    alone = json.loads(run("audit", "loans.csv", "--model", "m.json", "--json").out)
    assert alone["positive"] == "1"


@pytest.mark.slow
def test_compare_measures_the_favorable_outcome(run, loans):
    roles = ("--response", "default", "--sensitive", "group", "--models", "FGRRM", "-r", "1")
    shown = run("compare", "loans.csv", *roles)
    favorable = "favorable outcome: default = 0 (a guess from the name 'default'"
    assert favorable in " ".join(shown.out.split())
    run("fit", "loans.csv", *roles[:4], "-r", 1, "--out", "m.json")
    asked = ("--favorable", 1, "--json")
    found = json.loads(run("compare", "loans.csv", *roles, *asked).out)["models"][0]
    audited = json.loads(run("audit", "loans.csv", "-m", "m.json", *roles[:2], *asked).out)
    expected = audited["demographic_parity_ratio"]
    assert found["train_adverse_impact_ratio"] == pytest.approx(expected)
