"""Ctrl-C in the middle of every command: exit code 130, no traceback, no half of a file."""

import operator
import os
import signal
import subprocess
import sys
import time

import pandas as pd
import pytest

from fairridge import outputs

ROLES = ("--response", "came", "--sensitive", "sex", "--drop", "id")
MODEL = ("--model", "m.json")
COMMANDS = {
    "fit": ("fit", "shop.csv", *ROLES, "--out", "o.json"),
    "stream": ("fit", "shop.parquet", "--stream", *ROLES, "--out", "o.json"),
    "predict": ("predict", "shop.csv", *MODEL, "--out", "o.csv"),
    "export": ("export", *MODEL, "--to", "sql", "--out", "o.sql"),
    "monitor": ("monitor", "shop.csv", *MODEL, "--state", "o.json"),
    "report": ("report", "shop.csv", *ROLES, "--cv", "2", "--bootstrap", "2", "--out", "o.html"),
    "new rows": ("report", "shop.csv", *MODEL, "-y", "came", "--new-rows", "--out", "o.html"),
}  # fmt: skip


@pytest.fixture
def files(run, shop):
    shop = pd.concat([shop] * 5)
    shop.to_csv("shop.csv", index=False)
    shop.to_parquet("shop.parquet", index=False)
    options = ("--definition", "mean-parity", "--unfairness", "0.05", "--out", "m.json")
    assert run("fit", "shop.csv", *ROLES, *options).code == 0
    return sorted(os.listdir())


def interrupted_after(seconds, command):
    """Run a command, and press Ctrl-C after some time; also say whether it came too late."""
    before = signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGINT))
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        return command()
    except KeyboardInterrupt:  # the command had ended
        return None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["fit", "stream", "monitor", "report"])
def test_an_interrupted_command_leaves_nothing(run, files, name):
    for _ in range(2):  # the first run imports
        start = time.perf_counter()
        done = run(*COMMANDS[name])
        assert done.code == 0, done.error
        took, hits = time.perf_counter() - start, 0
        (path,) = set(os.listdir()) - set(files)
        size = os.path.getsize(path)
        os.remove(path)
    for share in (0.1, 0.6):
        result = interrupted_after(share * took, lambda: run(*COMMANDS[name]))
        if result is not None and result.code != done.code:
            hits += 1
            assert_interrupted(result)
        if set(os.listdir()) != set(files):  # it was complete before
            assert set(os.listdir()) - set(files) == {path}
            assert os.path.getsize(path) == pytest.approx(size, rel=0.01)
            os.remove(path)
    assert hits > 0


def assert_interrupted(result):
    assert result.code == 130
    assert result.error.splitlines()[-1] == "fairridge: interrupted."
    assert "Traceback" not in result.error


def interrupt(*_):
    os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.slow
def test_an_interrupted_demonstration_leaves_no_hidden_files(run, folder, monkeypatch):
    monkeypatch.setattr("fairridge.outputs._keep_permissions", interrupt)
    assert_interrupted(run("demo", "--out", "o"))
    assert not [path for path in folder.rglob("*") if path.name.startswith(".")]


@pytest.mark.parametrize("name", ["fit", "predict", "monitor", "new rows", "export"])
def test_interrupted_while_it_writes(run, files, name, monkeypatch):
    monkeypatch.setattr("fairridge.outputs._keep_permissions", interrupt)
    assert run(*COMMANDS[name]).code == 130
    assert sorted(os.listdir()) == files


@pytest.mark.parametrize("name", ["fit", "predict"])
def test_interrupted_as_soon_as_the_file_exists(run, files, name, monkeypatch):
    make = os.open

    def interrupt(path, *rest):
        descriptor = make(path, *rest)
        if ".fairridge-" in os.fspath(path):
            os.kill(os.getpid(), signal.SIGINT)
        return descriptor

    monkeypatch.setattr("fairridge.outputs.os.open", interrupt)
    assert run(*COMMANDS[name]).code == 130
    assert sorted(os.listdir()) == files


def test_an_error_that_hides_an_interruption_is_one(run, files, monkeypatch):
    def interrupt(*_):
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt as pressed:  # as NumPy does where it reads buffers
            raise ValueError("not a valid PEP 3118 buffer format string") from pressed

    monkeypatch.setattr("fairridge.outputs._keep_permissions", interrupt)
    result = run(*COMMANDS["fit"])
    assert (result.code, sorted(os.listdir())) == (130, files)


@pytest.mark.parametrize("step", ["_lock", "_is_at", "os.unlink"])
def test_interrupted_while_it_locks(run, files, step, monkeypatch):
    name, presses = f"fairridge.outputs.{step}", [True]
    do = operator.attrgetter(step)(outputs)

    def interrupt(*arguments):
        if presses:
            presses.pop()
            os.kill(os.getpid(), signal.SIGINT)
        return do(*arguments)

    monkeypatch.setattr(name, interrupt)
    result = run(*COMMANDS["monitor"])
    assert result.code == 130
    assert not presses
    assert not [path for path in os.listdir() if path.endswith(".lock")]


LATE = """
import os, signal, sys
from fairridge.cli import main
sys.argv = ["fairridge", "--version"]
code = main()
os.kill(os.getpid(), signal.SIGINT)
sys.exit(code)
"""


@pytest.mark.slow
def test_an_interruption_that_comes_too_late_changes_no_exit_code(folder):
    found = subprocess.run([sys.executable, "-c", LATE], capture_output=True, text=True, timeout=60)
    assert (found.returncode, found.stderr) == (0, "")
