import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from reproduction.claims import CLAIMS, judge
from reproduction.linear import PAPER
from reproduction.results import Results
from reproduction.settings import Settings

ROOT = Path(__file__).parents[2]

BOUNDS = (0.0, 0.05, 0.2)
BY_NAME = {one.name: one for one in CLAIMS}


def results(**tables):
    named = {name.replace("_", "-"): pd.DataFrame(rows) for name, rows in tables.items()}
    return Results(Settings(runs=3), named)


def verdict(name, **tables):
    return judge(BY_NAME[name], results(**tables))


def linear(*, cases=PAPER, **models):
    """Rows of the linear experiment; a model is a number, or a function of case and r."""
    base = {"FRRM": 1.0, "NCLM": 1.0, "ZLM": 1.0, "ZLM, |COR|": 1.0, "intercept only": 2.0,
            "ZLM, dropping": 2.0}  # fmt: skip
    for case in cases:
        for name, level in (base | models).items():
            for r in BOUNDS:
                for run in range(3):
                    value = level(case, r) if callable(level) else level
                    value = value * (1 + 1e-3 * run)
                    yield {
                        "case": case, "run": 0, "fold": run, "model": name, "r": r,
                        "rmse": value, "train_rmse": value, "train_dependence": r,
                        "dependence": r, "share": r, "covariance": r, "correlation": r,
                        "active": 1.0,
                    }  # fmt: skip


def matched(frrm=0.9):
    """Rows of the experiment at equal R² on S: ZLM at 1, FRRM as given."""
    models = {"FRRM": frrm, "ZLM, covariance": 1.0, "ZLM, correlation": 1.0}
    return [row for row in linear(**models) if row["model"] in models]


@pytest.fixture(scope="session")
def settings():
    return Settings(runs=2, folds=5)


@pytest.fixture(autouse=True)
def offline(tmp_path, monkeypatch):
    """An environment without fairml's data, and without a way to get them."""
    empty = tmp_path / "empty"
    empty.mkdir()
    monkeypatch.setenv("FAIRRIDGE_DATA", str(empty))
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "")
    return dict(os.environ)


@pytest.fixture
def reproduce(offline, tmp_path):
    """Run the command as a process; return what it said."""
    started = []

    def run(*arguments, out="out", wait=True, jobs="1"):
        command = [sys.executable, "-W", "error", "-m", "reproduction", *arguments]
        command += ["--out", str(tmp_path / out), "--jobs", jobs]
        options = {"env": offline, "cwd": ROOT, "text": True, "stdout": subprocess.PIPE}
        process = subprocess.Popen(command, stderr=subprocess.PIPE, **options)
        started.append(process)
        if not wait:
            return process
        said, warned = process.communicate(timeout=300)
        return process.returncode, said, warned

    yield run
    for process in started:
        if process.poll() is None:
            process.kill()
            process.communicate()
