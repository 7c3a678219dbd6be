"""Commands, run as a user runs them."""

from dataclasses import dataclass
from functools import cache

import pandas as pd
import pytest
import typer.main

from fairridge.cli import main


@dataclass
class Result:
    code: int
    out: str
    error: str


@pytest.fixture(scope="session", autouse=True)
def commands_built_once():
    """Typer builds all commands at each call: a user's process does it once, these tests often."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typer.main, "get_command", cache(typer.main.get_command))
        yield


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder, which the command runs in; 80 columns wide."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


@pytest.fixture
def run(folder, capsys):
    def command(*arguments):
        code = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Result(code, captured.out, captured.err)

    return command


@pytest.fixture
def people_csv(folder, people):
    people.to_csv(folder / "people.csv", index=False)
    return people


@pytest.fixture
def shop(folder):
    """A small table with every kind of response."""
    rows = range(60)
    frame = pd.DataFrame(
        {
            "id": [f"c{k}" for k in rows],
            "sex": ["f" if k % 3 else "m" for k in rows],
            "age": [20 + (7 * k) % 41 for k in rows],
            "visits": [(k * k) % 5 for k in rows],
            "spent": [round(3.5 + (k * 37 % 23) + 0.2 * (k % 3), 2) for k in rows],
            "came": [k % 2 for k in rows],
            "color": [("red", "green", "blue")[k % 3 if k % 7 else 0] for k in rows],
            "member": [k % 5 < 2 for k in rows],
            "days": [1 + (k * 13) % 31 for k in rows],
            "left": [int(k % 4 > 0) for k in rows],
            "income": [1000 + 31 * ((k * 29) % 53) for k in rows],
        }
    )
    frame.to_csv(folder / "shop.csv", index=False)
    return frame
