"""Bad input: exit code 2, and one line that says what to do."""

import contextlib
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline

import fairridge
from fairridge import FairRidgeClassifier, FairRidgeRegressor
from fairridge.cli.errors import explain

# A command, and what the line must say.
COMMANDS = {
    "fit nothere.csv -y y -s s": ("nothere.csv", "no such file"),
    "fit folder -y y -s s": ("folder", "name a file"),
    "fit empty.csv -y y -s s": ("empty.csv is empty", "first line"),
    "fit head.csv -y y -s s": ("no rows",),
    "fit ragged.csv -y a -s b": ("ragged.csv", "Expected 2 columns"),
    "fit binary.csv -y a -s b": ("neither text nor Parquet",),
    "fit latin.csv -y y -s s": ("'s'", "UTF-8"),
    "fit twice.csv -y y -s x": ("'y'", "rename"),
    "fit fake.parquet -y y -s x": ("fake.parquet", "Parquet"),
    "fit builtin:nope": ("nope", "german_credit"),
    "fit 'none-*.parquet' -y y -s s": ("none-*.parquet",),
    "fit builtin:rossi --stream": ("--stream",),
    "fit ok.csv -y yy -s s": ("'yy'", "Did you mean 'y'"),
    "fit ok.csv -s s": ("--response NAME",),
    "fit ok.csv -y y": ("--sensitive NAME",),
    "fit ok.csv -y y -s y": ("'y' is the response",),
    "fit ok.csv -y y -s s --predictors s": ("'s' is sensitive",),
    "fit ok.csv -y y -s s --drop x": ("no predictors are left",),
    "fit ok.csv -y y -s s -r 2": ("--unfairness 2.0", "to 1 (unconstrained)"),
    "fit ok.csv -y y -s s --family poison": ("Did you mean 'poisson'?",),
    "fit ok.csv -y y -s s --family binomial": ("two classes", "6 different values"),
    "fit ok.csv -y y -s s --family cox": ("--event",),
    "fit ok.csv -y s -s x --family gaussian": ("'s' holds 'a'", "--family binomial"),
    "fit negative.csv -y y -s s --family poisson": ("zero or positive", "-1"),
    "fit more.csv -y y -s s --event e --family poisson": ("survival",),
    "fit ok.csv -y y -s s --link probit": ("--link probit is for classifiers", "gaussian"),
    "fit ok.csv -y y -s s --min-frequency few": ("--min-frequency", "--help"),
    "fit ok.csv -y y -s s --controls s": ("'s' is not a predictor",),
    "fit ok.csv -y y -s s --nope": ("--nope", "fairridge fit --help"),
    "fit ok.csv -y y -s s --out no/where/model.json": ("no/where", "make it first"),
    "fit missing.csv -y y -s s": ("'x' has 1 missing value", "--missing level", "--drop x"),
    "fit hollow.csv -y y -s s": ("'x' is empty", "--drop x"),
    "fit names.csv -y name -s s": ("'name' is text with 50 different values",),
    "fit dates.csv -y day -s s": ("'day'", "a number or classes"),
    "fit dates.csv -y x -s s --numeric s": ("--numeric s", "'a' is not a number"),
    "fit dates.csv -y x -s s --date x": ("--date x", "not dates"),
    "fit dates.csv -y x -s s --date nope": ("no column 'nope'", "--date"),
    "fit dates.csv -y x -s s --numeric s --categorical s": ("'s'", "choose one"),
    "fit": ("DATA", "fairridge fit --help"),
    "nope": ("'nope'", "fairridge --help"),
    "predict ok.csv": ("--model",),
    "predict ok.csv -m cut.json": ("cut.json", "damaged"),
    "predict ok.csv -m changed.json": ("changed.json", "checksum"),
    "predict ok.csv -m steps.json": ("steps.json", "has a Pipeline", "in Python"),
    "predict ok.csv -m other.json": ("other.json", "not a fairridge model file"),
    "predict few.csv -m model.json": ("no column 'x'", "the model needs it"),
    "predict unseen.csv -m model.json": ("'s'", "'zzz'"),
    "predict 'ok*.parquet' -m model.json": ("--out FILE.parquet",),
    "audit ok.csv -s s": ("--prediction NAME", "--model FILE"),
    "audit ok.csv -s s -p nope": ("'nope'", "--prediction"),
    "audit ok.csv -s s -p x -y y --reference s": ("--reference s must be", "NAME=VALUE"),
    "path ok.csv -y y -s s --bounds a,b": ("--bounds a,b", "such as"),
    "report ok.csv -y y -s s --positive q": ("--positive q", "the response is a number"),
    "report other.csv -y y -m model.json": ("not the data that the model was fitted to",),
    "report '*.parquet' -y y -s s": ("a pattern",),
    "compare ok.csv -y y -s s --models nope": ("nope", "FRRM"),
    "datasets nope": ("nope", "german_credit"),
    "datasets --out all.csv": ("--out", "the name of a data set"),
    # One column, two roles.
    "fit ok.csv -y y -s s --weight s": ("'s' is sensitive", "the weight"),
    "fit ok.parquet --stream -y y -s s --weight s": ("'s' is sensitive", "the weight"),
    "predict ok.csv -m model.json --offset x": ("--offset x", "an input of the model"),
    # Values that options cannot have.
    "fit ok.csv -y y -s s,s": ("--sensitive names 's' more than once",),
    "fit ok.csv -y y -s s --separator ab": ("--separator 'ab'", "one ASCII character"),
    "fit ok.csv -y y -s s --ties efron": ("--ties efron", "survival", "gaussian"),
    "report ok.csv -y y -s s --seed -1": ("Invalid value for '--seed'", " 0"),
    "report ok.csv -y y -s s --cv 1": ("--cv 1", "0 for none"),
    # Files that are not what they say, or not files.
    "fit fake.csv.gz -y y -s s": ("fake.csv.gz is not a sound gzip file",),
    "fit /dev/null -y y -s s": ("/dev/null is a device or a pipe",),
    "fit '' -y y -s s": ("empty",),
    "demo --out ok.csv": ("ok.csv", "not a folder"),
    "fit 'two\nlines.csv' -y y -s s": ("two lines.csv", "no such file"),
    "audit ok.csv -m classes.json -y x": (
        "is not a class of 'x': 1.0, 2.0, 2.5, 3.0, 4.0 and 1 more",
    ),
    "audit ok.csv -p y -s s -y x --positive 2.0": ("'y' ranges from", "'x' has two classes"),
}


@pytest.fixture(scope="module")
def bad_files(tmp_path_factory):
    """Files with every defect."""
    folder = tmp_path_factory.mktemp("bad_files")
    (folder / "folder").mkdir()
    texts = {
        "empty.csv": "",
        "head.csv": "y,s,x\n",
        "ragged.csv": "a,b\n1,2\n3\n",
        "twice.csv": "y,y,x\n1,2,3\n",
        "missing.csv": "y,s,x\n1,a,\n2,b,1\n3,a,4\n",
        "hollow.csv": "y,s,x\n1,a,\n2,b,\n",
        "names.csv": "name,s,x\n" + "".join(f"n{k},{'ab'[k % 2]},{k % 7}\n" for k in range(50)),
        "dates.csv": "day,s,x\n2020-01-01,a,1\n2020-01-02,b,2\n2020-01-03,a,4\n",
        "other.json": "{}",
        "fake.parquet": "PAR1 and nothing else",
        "fake.csv.gz": "y,s,x\n1,a,2\n",
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    (folder / "latin.csv").write_bytes(b"y,s,x\n1,\xe9,2\n2,b,1\n")
    (folder / "binary.csv").write_bytes(np.random.default_rng(0).bytes(500) + b"\0")
    ok = pd.DataFrame({"y": [1, 2, 3, 4, 5, 0.5], "s": list("ababab"),
                       "x": [2, 1, 4, 3, 7, 2.5]})  # fmt: skip
    ok.to_csv(folder / "ok.csv", index=False)
    ok.to_parquet(folder / "ok.parquet")
    ok.assign(y=-ok["y"]).to_csv(folder / "negative.csv", index=False)
    ok.assign(x=ok["x"] ** 2).to_csv(folder / "other.csv", index=False)
    ok.assign(e=[0, 1, 1, 0, 1, 1]).to_csv(folder / "more.csv", index=False)
    ok.drop(columns="x").to_csv(folder / "few.csv", index=False)
    ok.assign(s="zzz").to_csv(folder / "unseen.csv", index=False)
    model = FairRidgeRegressor(sensitive=["s"]).fit(ok[["s", "x"]], ok["y"])
    fairridge.save(model, folder / "model.json")
    fairridge.save(make_pipeline(model), folder / "steps.json")
    classes = FairRidgeClassifier(sensitive=["s"]).fit(ok[["s", "x"]], list("abbaab"))
    fairridge.save(classes, folder / "classes.json")
    text = (folder / "model.json").read_text()
    (folder / "cut.json").write_text(text[:300])
    document = json.loads(text)
    document["parameters"]["unfairness"] = 0.5
    (folder / "changed.json").write_text(json.dumps(document))
    return folder


@pytest.fixture
def files(bad_files, folder):
    """A copy of them for one test."""
    shutil.copytree(bad_files, folder, dirs_exist_ok=True)
    return folder


@pytest.mark.parametrize("command", COMMANDS)
def test_one_line_that_says_what_to_do(run, files, command):
    shown = run(*shlex.split(command))
    assert shown.code == 2
    assert shown.out == ""
    lines = [line for line in shown.error.splitlines() if not line.startswith("note: ")]
    assert len(lines) == 1
    assert lines[0].startswith("fairridge: ")
    for words in COMMANDS[command]:
        assert words in lines[0]


@contextlib.contextmanager
def no_superuser():
    """Without the rights of the superuser, who may do anything.

    Only around a command: between the steps of a test, coverage writes into its own file.
    """
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(user)


@pytest.mark.parametrize(
    "command",
    [
        "fit secret.csv -y y -s s",
        "fit ok.csv -y y -s s --out locked/model.json",
    ],
)
def test_no_permission(run, files, command):
    run("fit", "ok.csv", "-y", "y", "-s", "s")  # everything is imported before rights are given up
    (files / "secret.csv").write_text("y,s,x\n1,a,2\n")
    (files / "locked").mkdir(mode=0o555)
    for place in (files, *files.parents):
        if place.owner() == files.owner() and place.name.startswith(("pytest", "test_")):
            place.chmod(place.stat().st_mode | 0o055)
    (files / "secret.csv").chmod(0)
    with no_superuser():
        shown = run(*shlex.split(command))
    assert shown.code == 2
    assert "no permission" in shown.error
    assert len(shown.error.splitlines()) == 1


def test_what_nobody_foresaw_is_not_hidden(run, files, monkeypatch):
    monkeypatch.setattr(FairRidgeRegressor, "fit", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        run("fit", "ok.csv", "-y", "y", "-s", "s")
    assert explain(np.linalg.LinAlgError("singular")) is None
    assert explain(ImportError("plots need matplotlib")) == ("plots need matplotlib", 1)


def shell(command):
    """Run a line in a shell, in which `fairridge` is the command line with buffered output."""
    start = f'set -o pipefail; fairridge() {{ {sys.executable} -m fairridge "$@"; }}; '
    own = {key: value for key, value in os.environ.items() if key != "PYTHONUNBUFFERED"}
    return subprocess.run(
        ["bash", "-c", start + command], capture_output=True, text=True, timeout=60, env=own
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "code", "error"),
    [
        ("fairridge --version > /dev/full", 2, "fairridge: no space is left on the device.\n"),
        ("fairridge --version | true", 1, ""),
        ("fairridge --version >&-", 0, ""),
    ],
)
def test_streams_that_take_nothing(folder, command, code, error):
    done = shell(command)
    assert (done.returncode, done.stderr) == (code, error)


def test_interrupted_while_it_starts(folder):
    process = subprocess.Popen(
        [sys.executable, "-X", "importtime", "-m", "fairridge", "datasets"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    seen = ""
    for line in process.stderr:  # libraries are being imported
        seen += line
        if "numpy" in line:
            process.send_signal(signal.SIGINT)
            break
    out, error = process.communicate(timeout=60)
    said = [line for line in (seen + error).splitlines() if not line.startswith("import time:")]
    assert (process.returncode, out, said) == (130, "", ["fairridge: interrupted."])


@pytest.mark.parametrize(
    ("arguments", "code", "shown"),
    [
        ([], 0, "fairridge fit"),
        (["path", "--help"], 0, "--bounds"),
        (["datasets"], 1, ""),
    ],
)
def test_without_the_extra(monkeypatch, capsys, arguments, code, shown):
    from fairridge.cli import main

    for name in [name for name in sys.modules if name.startswith("fairridge.cli.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "typer", None)
    assert main(arguments) == code
    said = capsys.readouterr()
    assert shown in said.out
    assert "pip install 'fairridge[cli]'" in (said.err if code else said.out)


OPTIONS = {"top": "--top", "new_rows": "--new-rows", "missing": "--missing", "weight": "--weight"}


@pytest.mark.parametrize(
    ("python", "command"),
    [
        ("set missing='level', or top=0.5.", "set --missing level, or --top 0.5."),
        ("with new_rows=True.", "with --new-rows."),
        ("new_rows=False is no option", "new_rows=False is no option"),
        ("top= needs one score; give top=…", "--top needs one score; give --top …"),
        ("sample_weight=… is missing", "--weight … is missing"),
        ("--top=5 and desktop=5 stay", "--top=5 and desktop=5 stay"),
    ],
)
def test_messages_of_the_library_are_written_as_options(python, command):
    from fairridge.cli.errors import as_options

    assert as_options(python, OPTIONS) == command


@pytest.mark.parametrize(
    ("line", "words"),
    [("fairridge mo", {"monitor"}), ("fairridge fit --def", {"--definition"})],
)
def test_shells_complete_commands_and_options(monkeypatch, capsys, line, words):
    from fairridge.cli import main

    monkeypatch.setenv("_FAIRRIDGE_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(len(line.split()) - 1))
    with pytest.raises(SystemExit) as ended:
        main([])
    assert ended.value.code == 0
    assert {*capsys.readouterr().out.split()} == words
