"""Every command of the README and of the help pages, from an installed wheel in an empty folder."""

import json
import os
import re
import shlex
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from fairridge.cli.examples import EXAMPLES

ROOT = Path(__file__).parents[2]
RUNNER = """
import contextlib, io, json, shlex, sys
import fairridge
from fairridge.cli import main

found = [fairridge.__file__]
for line in json.load(sys.stdin):
    out, error = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
        code = main(shlex.split(line)[1:])
    found.append([line, code, out.getvalue(), error.getvalue()])
json.dump(found, sys.stdout)
"""


def readme_commands():
    """Lines of the README's shell blocks that call the command line."""
    blocks = re.findall(r"```sh\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    lines = "\n".join(blocks).replace("\\\n", " ").splitlines()
    return [line.split("  #")[0].strip() for line in lines if line.startswith("fairridge ")]


def commands():
    """All of them, in an order in which they find the files they need."""
    examples = [line for lines in EXAMPLES.values() for line in lines]
    return list(dict.fromkeys([*readme_commands(), *examples]))


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A fresh environment with the wheel, beside this one's libraries but not its fairridge."""
    tmp_path = tmp_path_factory.mktemp("wheel")
    wheels = tmp_path / "wheels"
    options = ("--quiet", "--no-deps", "--no-build-isolation", "--disable-pip-version-check")
    pip = [sys.executable, "-m", "pip"]
    subprocess.run([*pip, "wheel", *options, "--wheel-dir", wheels, ROOT], check=True, timeout=120)
    place = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", place], check=True, timeout=60)
    python = place / "bin" / "python"
    (wheel,) = wheels.glob("*.whl")
    install = [*pip, "--python", python, "install", "--quiet", "--no-deps", wheel]
    subprocess.run(install, check=True, timeout=120)
    # Folders named in a .pth file are searched, but their own .pth files (editable installs) not.
    (own,) = place.glob("lib/python*/site-packages")
    (own / "libraries.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    return place / "bin"


def environment():
    hidden = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
    return {k: v for k, v in os.environ.items() if k not in hidden} | {"COLUMNS": "100"}


@pytest.mark.slow
def test_every_command_runs_from_a_wheel_in_an_empty_folder(installed, tmp_path):
    folder = tmp_path / "empty"
    folder.mkdir()
    wanted = commands()
    done = subprocess.run(
        [installed / "python", "-c", RUNNER],
        input=json.dumps(wanted), cwd=folder, env=environment(), capture_output=True, text=True,
        timeout=400, check=True,
    )  # fmt: skip
    place, *found = json.loads(done.stdout)
    assert Path(place).is_relative_to(installed.parent)
    assert [line for line, *_ in found] == wanted
    # A choice that grants nothing, as that of the example, has a code of its own.
    codes = {line: (0, 3) if line.startswith("fairridge choose") else (0,) for line in wanted}
    failed = [
        f"{line}: {code} {error}" for line, code, _, error in found if code not in codes[line]
    ]
    assert not failed
    for line, _, out, _ in found:
        assert out or "--out" in line, line
    made = {item.name for item in folder.iterdir()}
    assert {"credit.csv", "model.json", "scores.csv", "report.html", "demo-output"} <= made
    assert 2e4 < (folder / "later.html").stat().st_size < 3e5  # it has one bound only
    reports = [folder / "report.html", *folder.glob("demo-output/*.html")]
    assert len(reports) == 3
    assert all(1e5 < item.stat().st_size < 3e6 for item in reports)


@pytest.mark.slow
def test_the_script_is_there(installed, tmp_path):
    def call(*arguments):
        command = [installed / "fairridge", *arguments]
        return subprocess.run(
            command, cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=60
        )

    shown = call("--version")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert shown.stdout.startswith("fairridge ")
    missing = call("fit", "nothere.csv", "--response", "y", "--sensitive", "s")
    assert missing.returncode == 2
    assert missing.stderr.count("\n") == 1


def test_readme_shows_every_kind_of_command():
    used = {shlex.split(line)[1] for line in readme_commands()}
    assert {"demo", "datasets", "fit", "path", "predict", "audit", "compare", "report"} <= used


@pytest.mark.parametrize("name", EXAMPLES)
def test_help_shows_its_examples(run, monkeypatch, name):
    monkeypatch.setenv("COLUMNS", "300")
    text = run(name, "--help").out
    for line in EXAMPLES[name]:
        assert line in text
