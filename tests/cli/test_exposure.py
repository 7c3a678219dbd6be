"""Exposures and offsets on the command line, in every command that takes them."""

import json

import numpy as np
import pandas as pd
import pytest

import fairridge

FIT = ("fit", "claims.csv", "-y", "claims", "-s", "sex", "--drop", "log_years,w")


@pytest.fixture
def claims(folder):
    rng = np.random.default_rng(3)
    n = 400
    sex, years = rng.choice(["f", "m"], n), rng.uniform(0.1, 1.0, n).round(4)
    age = rng.integers(20, 70, n)
    counts = rng.poisson(2.0 * years * np.exp(0.02 * (age - 45) + 0.4 * (sex == "m")))
    frame = pd.DataFrame(
        {"sex": sex, "age": age, "claims": counts, "years": years, "log_years": np.log(years)}
    ).assign(w=rng.uniform(0.5, 2.0, n).round(3))
    frame.to_csv(folder / "claims.csv", index=False)
    frame.to_parquet(folder / "claims.parquet")
    return frame


@pytest.fixture
def model(claims, run):
    done = run(*FIT, "--exposure", "years", "-o", "model.json")
    assert done.code == 0, done.error
    return fairridge.load("model.json")


def test_predictions_are_rates_or_counts(run, claims, model):
    for arguments, exposure, said in (
        ((), None, "predictions are rates, per unit of exposure"),
        (("--exposure", "years"), claims["years"], "predictions are counts or amounts"),
    ):
        done = run("predict", "claims.csv", "-m", "model.json", *arguments, "--json")
        assert said in done.error
        found = json.loads(done.out)["prediction"]
        expected = model.predict(claims[["sex", "age"]], exposure=exposure)
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    run("predict", "claims.parquet", "--stream", "-m", "model.json", "--exposure", "years",
        "-o", "out.parquet")  # fmt: skip
    np.testing.assert_allclose(
        pd.read_parquet("out.parquet")["prediction"],
        model.predict(claims[["sex", "age"]], exposure=claims["years"]),
        rtol=1e-12,
    )


def test_rows_with_bad_exposures_are_flagged(run, claims, model):
    claims.assign(years=np.where(np.arange(400) < 2, [0.0, -1.0] * 200, claims["years"])).to_csv(
        "bad.csv", index=False
    )
    stopped = run("predict", "bad.csv", "-m", "model.json", "--exposure", "years")
    assert (stopped.code, "must be positive" in stopped.error) == (2, True)
    kept = run("predict", "bad.csv", "-m", "model.json", "--exposure", "years",
               "--on-bad-row", "flag", "--json")  # fmt: skip
    assert kept.code == 0
    reasons = json.loads(kept.out)["reason"]
    assert reasons[:3] == ["the exposure 'years' is not positive"] * 2 + [None]


def test_audits_compare_rates(run, claims, model):
    X = claims[["sex", "age"]]
    expected = fairridge.audit(
        claims["claims"], model.predict(X, exposure=claims["years"]),
        sensitive_features=claims[["sex"]], sample_weight=claims["w"], exposure=claims["years"],
    )  # fmt: skip
    base = ("audit", "claims.csv", "-y", "claims", "--weight", "w", "--json")
    claims.assign(p=model.predict(X, exposure=claims["years"])).to_csv("scored.csv", index=False)
    for shown in (
        run(*base, "-m", "model.json", "--offset", "log_years"),
        run("audit", "scored.csv", *base[2:], "-p", "p", "-s", "sex", "--exposure", "years"),
    ):
        assert shown.code == 0, shown.error
        groups = json.loads(shown.out)["groups"]
        for name in ("mean_prediction", "mean_response"):
            found = [group[name] for group in groups]
            np.testing.assert_allclose(found, expected.to_frame()[name], rtol=1e-9)


def test_monitors_take_exposures(run, claims, model):
    shown = run("monitor", "claims.csv", "-m", "model.json", "-r", "0.05", "--json",
                "--state", "a.json", "--exposure", "years")  # fmt: skip
    assert shown.code == 0, shown.error
    state = fairridge.Monitor(model, 0.05).update(claims[["sex", "age"]], exposure=claims["years"])
    assert json.loads(shown.out)["wealth"] == pytest.approx(state.wealth, rel=1e-9)


@pytest.mark.parametrize(
    "command",
    [
        "audit claims.csv -m model.json -y claims",
        "monitor claims.csv -m model.json --state state.json -r 0.05",
        "report claims.csv -m model.json -y claims",
    ],
)
def test_models_are_not_judged_without_their_exposure(run, model, command):
    done = run(*command.split())
    assert done.code == 2
    assert "was fitted with an exposure" in done.error
    assert "pass --exposure … here, too" in done.error


def test_exports_take_exposures(run, model):
    for to in ("sql", "onnx"):
        done = run("export", "-m", "model.json", "--to", to, "--exposure", "years", "-o", "x.out")
        assert done.code == 0, done.error
    run("export", "-m", "model.json", "--to", "sql", "--exposure", "years", "-o", "x.sql")
    with open("x.sql", encoding="utf-8") as file:
        assert 'LN(CAST("years" AS DOUBLE))' in file.read()
    done = run("export", "-m", "model.json", "--to", "python", "--exposure", "years", "-o", "x.py")
    assert done.code == 2
    assert "--exposure is for --to sql" in done.error


def test_an_offset_of_exposures_is_noticed(run, claims):
    done = run("fit", "claims.csv", "-y", "claims", "-s", "sex", "--drop", "log_years,w",
               "--offset", "years")  # fmt: skip
    assert done.code == 0
    assert "looks like an exposure" in done.error
    assert "--exposure" in done.error
    quiet = run("fit", "claims.csv", "-y", "claims", "-s", "sex", "--drop", "years,w",
                "--offset", "log_years")  # fmt: skip
    assert "exposure" not in quiet.error


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("fit claims.csv -y age -s sex --exposure years", "--exposure years is for counts"),
        ("fit claims.csv -y claims -s sex --exposure nope", "'nope'"),
        ("fit claims.csv -y claims -s sex --weight w --exposure w", "'w' is the weight"),
        ("predict claims.csv -m model.json --exposure age", "an input of the model"),
        ("audit claims.csv -p age -s sex -y claims --offset log_years", "--offset is for --model"),
    ],
)
def test_what_has_no_meaning_is_refused(run, model, command, said):
    done = run(*command.split())
    assert done.code == 2
    assert said in done.error
