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


def cells(cases, models):
    """Values of models, which are numbers or functions of case and r; runs hardly differ."""
    for case in cases:
        for name, level in models.items():
            for r in BOUNDS:
                for run in range(3):
                    value = (level(case, r) if callable(level) else level) * (1 + 1e-3 * run)
                    yield {"case": case, "run": 0, "fold": run, "model": name, "r": r}, value


def linear(**models):
    """Rows of the linear experiment."""
    base = {"FRRM": 1.0, "NCLM": 1.0, "ZLM": 1.0, "ZLM, |COR|": 1.0, "intercept only": 2.0,
            "ZLM, dropping": 2.0}  # fmt: skip
    for cell, value in cells(PAPER, base | models):
        reached = dict.fromkeys(
            ("train_dependence", "dependence", "share", "covariance", "correlation"), cell["r"]
        )
        yield cell | reached | {"rmse": value, "train_rmse": value, "active": 1.0}


def matched(frrm=0.9):
    """Rows of the experiment at equal R² on S: ZLM at 1, FRRM as given."""
    models = {"FRRM": frrm, "ZLM, covariance": 1.0, "ZLM, correlation": 1.0}
    return [row for row in linear(**models) if row["model"] in models]


def logistic(fgrrm, zlrm):
    """Rows of the logistic experiment."""
    models = {"FGRRM": fgrrm, "ZLRM": zlrm, "ZLRM, |COR|": zlrm, "ZLRM, dropping": 0.0,
              "ZLRM, matched": zlrm}  # fmt: skip
    for cell, value in cells(("ADULT", "ADULT, isolated", "BANK", "COMPAS, classes"), models):
        reached = dict.fromkeys(("train_dependence", "dependence", "gap"), cell["r"])
        scores = {"f1": value, "train_f1": value + 0.01, "deviance": 1.0 - value, "active": 0.0}
        yield cell | reached | scores


def fairml(nclm):
    return [
        {"case": "vu.test", "run": 0, "model": name, "r": 0.01, "rss": rss, "exact_rss": exact,
         "share": 0.01}
        for name, rss, exact in (("FRRM", 10.0, 10.0), ("NCLM", nclm, 9.0))
    ]  # fmt: skip


@pytest.fixture(scope="session")
def settings():
    return Settings(runs=2, folds=5)


@pytest.fixture
def reproduce(tmp_path, monkeypatch):
    """Start the command as a process, without fairml's data and a way to get them."""
    monkeypatch.setenv("FAIRRIDGE_DATA", str(tmp_path))
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "")
    started = []

    def start(*arguments, out="out", jobs="1"):
        command = [sys.executable, "-W", "error", "-m", "reproduction", *arguments]
        command += ["--out", str(tmp_path / out), "--jobs", jobs]
        options = {"env": dict(os.environ), "cwd": ROOT, "text": True, "stdout": subprocess.PIPE}
        started.append(subprocess.Popen(command, stderr=subprocess.PIPE, **options))
        return started[-1]

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
            process.communicate()
