"""A bound by a rule, and a model in use, from the command line."""

import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from fairridge import FairRidgeClassifier, FairRidgeRegressor, Monitor, choose_bound, load, save
from fairridge.rules import AdverseImpact


def people(n, seed):
    rng = np.random.default_rng(seed)
    s = rng.random(n) < 0.4
    frame = pd.DataFrame({"sex": np.where(s, "m", "f"), "skill": rng.normal(size=n) + 0.7 * s})
    frame["town"] = rng.choice(["x", "y", "z"], n)
    frame["noise"] = rng.normal(size=n)
    good = rng.random(n) < 1 / (1 + np.exp(0.2 - 0.9 * s - 0.8 * frame["skill"]))
    return frame.assign(outcome=np.where(good, "repaid", "default"))


@pytest.fixture
def files(folder):
    people(2500, 0).to_csv(folder / "one.csv", index=False)
    people(2500, 1).to_csv(folder / "other.csv", index=False)


ROLES = ("--response", "outcome", "--sensitive", "sex", "--drop", "noise")


@pytest.mark.slow
def test_a_file_of_held_out_rows_gives_what_python_gives(run, files):
    options = (*ROLES, "--rule", "adverse-impact:0.7", "--top", "0.2", "--minimum-share", "0.02")
    options = (*options, "--held-out", "other.csv", "--bounds", "0,0.01,0.1,0.5", "--json")
    result = run("choose", "one.csv", *options, "--out", "model.json")
    assert result.code == 0, result.error
    found = json.loads(result.out)
    parts = [people(2500, k).drop(columns="noise") for k in (0, 1)]
    expected = choose_bound(
        FairRidgeClassifier(sensitive=["sex"]),
        parts[0].drop(columns="outcome"),
        parts[0]["outcome"],
        parts[1].drop(columns="outcome"),
        parts[1]["outcome"],
        rule=AdverseImpact(0.7, top=0.2, minimum_share=0.02),
        unfairness=[0, 0.01, 0.1, 0.5],
    )
    assert found["granted"]
    assert found["unfairness"] == expected.unfairness
    assert found["held_out_rows"] == 2500
    values = [step["value"] for step in found["tested"]]
    np.testing.assert_allclose(values, expected.tested["value"])
    assert "default" not in found["favorable"].split("(")[0]
    saved = load("model.json")
    np.testing.assert_allclose(saved.coef_, expected.model.coef_)


def test_a_share_of_the_rows_is_held_out_by_class_and_seed(run, files):
    options = (*ROLES, "--rule", "adverse-impact:0.8", "--held-out", "0.4", "--bounds", "0,0.1")
    options = (*options, "--json")
    first, again, other = (
        json.loads(run("choose", "one.csv", *options, "--seed", seed).out) for seed in (0, 0, 1)
    )
    assert first == again
    assert first["tested"] != other["tested"]
    assert first["held_out_rows"] == 1000
    shown = run("choose", "one.csv", *options[:-1])
    assert "Bounds tested on held-out rows" in shown.out
    assert "1,500 rows to fit to, 1,000 to test on." in shown.error


def test_groups_that_are_not_tested_are_named(run, folder):
    for k in (0, 1):
        frame = people(1500, k)
        frame.loc[frame.index[-20:], "sex"] = "x"
        frame.to_csv(f"{k}.csv", index=False)
    options = (*ROLES, "--rule", "adverse-impact:0.5", "--held-out", "1.csv", "--bounds", "0,0.01")
    result = run("choose", "0.csv", *options, "--out", "model.json")
    assert result.code == 3, result.error
    flat = " ".join(result.out.split())
    assert "undecided: groups could not be tested" in flat
    assert "Not tested: sex = x (20 held-out rows, 30 are needed)" in flat
    assert "Nothing is saved: the answer is open." in flat
    assert not (folder / "model.json").exists()
    found = json.loads(run("choose", "0.csv", *options, "--json").out)
    assert (found["granted"], found["undecided"]) == (False, True)
    assert found["untested"][0]["group"] == "x"
    result = run("choose", "0.csv", *options, "--untested", "ignore", "--out", "model.json")
    flat = " ".join(result.out.split())
    assert "for the groups that were tested" in flat
    assert "Not tested: sex = x" in flat
    assert "Nearest to breaking the rule: sex = " in flat
    assert (folder / "model.json").exists()


def test_no_model_is_saved_if_none_passes(run, files, folder):
    options = (*ROLES, "--rule", "adverse-impact:0.999", "--out", "model.json", "--bounds", "0")
    result = run("choose", "one.csv", *options)
    assert result.code == 3
    assert "no bound meets the rule" in result.out
    assert "Failed at r = 0: sex = " in result.out
    assert "Nothing is saved: no model meets the rule" in result.out
    assert not (folder / "model.json").exists()
    assert run("choose", "one.csv", *options, "--json").code == 3
    assert "exit code is 3" in " ".join(run("choose", "--help").out.split())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--rule", "four-fifths"), "--rule four-fifths is not known"),
        (("--rule", "mean-gap:-1"), "greater than 0"),
        (("--rule", "adverse-impact:0.7", "--top", "2.5"), "--top 2.5 must be a share"),
        (("--rule", "mean-gap:0.1", "--top", "10"), "and not for mean-gap"),
        (("--rule", "mean-gap", "--held-out", "1.5"), "share between 0 and 1"),
    ],
)
def test_what_choose_refuses(run, files, options, message):
    result = run("choose", "one.csv", *ROLES, *options)
    assert result.code == 2
    assert message in result.error
    assert result.error.count("\n") <= 3


def test_a_monitor_goes_on_from_its_state(run, folder):
    rng = np.random.default_rng(0)
    train = pd.DataFrame(rng.normal(size=(2000, 3)), columns=["s", "x1", "x2"])
    y = train.sum(axis=1) + rng.normal(size=2000)
    model = FairRidgeRegressor(0.05, sensitive=["s"]).fit(train, y)
    save(model, "model.json")
    expected = Monitor(model, false_alarm=0.05)
    for k in range(3):
        # In these batches x1 follows s, so that S explains much of the predictions.
        batch = pd.DataFrame(rng.normal(size=(1501, 3)), columns=["s", "x1", "x2"])
        batch["x1"] += 2 * batch["s"]
        batch.to_csv("batch.csv", index=False)
        options = ("--model", "model.json", "--state", "state.json", "--json")
        start = ("--false-alarm", "0.05") if k == 0 else ()
        result = run("monitor", "batch.csv", *options, *start)
        assert result.code == 0, result.error
        found, state = json.loads(result.out), expected.update(batch)
        assert found["rows"] == state.n_rows
        assert found["alarm"] == state.alarm
        assert found["wealth"] == pytest.approx(state.wealth, rel=1e-6)
    assert found["alarm"]
    shown = run("monitor", "batch.csv", "--model", "model.json", "--state", "state.json")
    assert "ALARM" in shown.out
    other = run("monitor", "batch.csv", *options[:-1], "--unfairness", "0.2")
    assert other.code == 2
    assert "was begun with --unfairness 0.05" in other.error
    (folder / "state.json").write_text("{}")
    broken = run("monitor", "batch.csv", *options)
    assert broken.code == 2
    assert "is not the state of a fairridge monitor" in broken.error


@pytest.mark.slow
def test_monitors_that_run_at_the_same_time_lose_no_rows(folder):
    rng = np.random.default_rng(1)
    rows = pd.DataFrame(rng.normal(size=(20_000, 3)), columns=["s", "x1", "x2"])
    train = rows.head(500)
    y = train.sum(axis=1) + rng.normal(size=500)
    save(FairRidgeRegressor(0.05, sensitive=["s"]).fit(train, y), "model.json")
    rows.to_csv("batch.csv", index=False)
    command = [sys.executable, "-m", "fairridge", "monitor", "batch.csv", "--model", "model.json"]
    processes = [
        subprocess.Popen([*command, "--state", "state.json", "--json"], stdout=subprocess.PIPE)
        for _ in range(2)
    ]
    seen = [json.loads(process.communicate(timeout=100)[0])["rows"] for process in processes]
    assert sorted(seen) == [20_000, 40_000]
    assert json.loads((folder / "state.json").read_text())["rows"] == 40_000
    assert sorted(os.listdir(folder)) == ["batch.csv", "model.json", "state.json"]


def test_single_rows_are_watched_if_their_order_says_nothing(run, folder):
    frame = people(1500, 0)
    frame.to_csv("all.csv", index=False)
    frame[:1].to_csv("one.csv", index=False)
    options = (*ROLES, "--definition", "mean-parity", "--unfairness", "0.05", "--out", "m.json")
    assert run("fit", "all.csv", *options).code == 0
    watch = ("monitor", "one.csv", "--model", "m.json", "--state", "s.json")
    result = run(*watch)
    assert result.code == 2
    assert "an update of 1 row cannot be shuffled" in " ".join(result.error.split())
    assert not (folder / "s.json").exists()
    assert run(*watch, "--no-shuffle").code == 0
    assert run(*watch).code == 0  # the state remembers it
    assert json.loads((folder / "s.json").read_text())["rows"] == 2
