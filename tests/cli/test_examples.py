"""Every command of the README and of the help pages, in an empty folder."""

import re
import shlex
from pathlib import Path

import pytest

from fairridge.cli.examples import EXAMPLES

ROOT = Path(__file__).parents[2]


def readme_commands():
    """Lines of the README's shell blocks that call the command line."""
    blocks = re.findall(r"```sh\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    lines = "\n".join(blocks).replace("\\\n", " ").splitlines()
    return [line.split("  #")[0].strip() for line in lines if line.startswith("fairridge ")]


def commands():
    """All of them, in an order in which they find the files they need."""
    examples = [line for lines in EXAMPLES.values() for line in lines]
    found = dict.fromkeys([*readme_commands(), *examples])
    return [line for line in found if line != "fairridge demo"]  # run by tests/test_dist.py


@pytest.mark.slow
def test_every_command_runs_in_an_empty_folder(run, folder):
    for line in commands():
        shown = run(*shlex.split(line)[1:])
        # A choice that grants nothing, as that of the example, has a code of its own.
        allowed = (0, 3) if line.startswith("fairridge choose") else (0,)
        assert shown.code in allowed, f"{line}: {shown.error}"
        assert shown.out or "--out" in line, line
    made = {item.name for item in folder.iterdir()}
    assert {"credit.csv", "model.json", "scores.csv", "report.html"} <= made
    assert 2e4 < (folder / "later.html").stat().st_size < 3e5  # it has one bound only
    assert 1e5 < (folder / "report.html").stat().st_size < 3e6


def test_readme_shows_every_kind_of_command():
    used = {shlex.split(line)[1] for line in readme_commands()}
    assert {"demo", "datasets", "fit", "path", "predict", "audit", "compare", "report"} <= used


@pytest.mark.parametrize("name", EXAMPLES)
def test_help_shows_its_examples(run, monkeypatch, name):
    monkeypatch.setenv("COLUMNS", "300")
    text = run(name, "--help").out
    for line in EXAMPLES[name]:
        assert line in text
