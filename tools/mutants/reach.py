"""Which tests run a line."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from coverage import CoverageData

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Reach:
    """The fast tests: which lines each one runs, and how long it takes."""

    data: CoverageData
    seconds: dict[str, float]

    def tests_of(self, path: Path, line: int) -> list[str]:
        """Return the tests that run a line, the quickest first."""
        contexts = self.data.contexts_by_lineno(str(path)).get(line, [])
        found = {context.rpartition("|")[0] for context in contexts} - {""}
        return sorted(found, key=lambda name: self.seconds.get(name, 0.0))


def reach_of(paths: Iterable[Path], folder: Path, jobs: int) -> Reach:
    """Run the fast tests once, and note which of them run which lines of some modules."""
    config = folder / "settings.ini"  # coverage removes files that begin like its data
    listed = "".join(f"\n    {path}" for path in sorted(set(paths)))
    config.write_text(f"[run]\ndata_file = {folder / 'coverage'}\ninclude ={listed}\n")
    command = [
        *(sys.executable, "-m", "pytest", "-n", str(jobs), "--dist", "worksteal"),
        *("-m", "not slow", "--junitxml", str(folder / "times.xml"), "-o", "junit_family=xunit1"),
        *("--cov", "--cov-config", str(config), "--cov-context", "test", "--cov-report=", "tests"),
    ]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if run.returncode:
        raise SystemExit(f"{run.stdout[-3000:]}\nThe tests fail without a mutant.")
    data = CoverageData(str(folder / "coverage"))
    data.read()
    return Reach(data, _seconds(folder / "times.xml"))


def _seconds(path: Path) -> dict[str, float]:
    """Return how long each test took, with its set-up."""
    cases = ElementTree.parse(path).getroot().iter("testcase")
    return {
        f"{one.get('file')}::{_name(one)}": float(one.get("time", 0.0))
        for one in cases
        if one.get("file")
    }


def _name(case: ElementTree.Element) -> str:
    """Return the name of a test, with that of its class."""
    module = re.sub(r"\.py$", "", case.get("file", "")).replace("/", ".")
    inner = case.get("classname", "").removeprefix(module).lstrip(".")
    return "::".join(filter(None, [*inner.split("."), case.get("name")]))
