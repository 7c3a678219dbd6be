"""No circle of files, and no question after a family's name or type."""

from __future__ import annotations

import ast
import re
import sys
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import numpy as np
import pytest

import fairridge

ROOT = Path(fairridge.__file__).parent


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(path): path for path in sorted(ROOT.rglob("*.py"))}


@cache
def imports_of(name: str) -> set[str]:
    """Modules of the library that a file names anywhere: in functions and for types as well."""
    found = set()
    for node in ast.walk(ast.parse(MODULES[name].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{name} has a relative import"
            members = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {member if member in MODULES else str(node.module) for member in members}
    return found & MODULES.keys() - {name}


def test_no_circle_of_files():
    graph = {name: imports_of(name) for name in MODULES}
    assert "fairridge.engines.blocks" in graph["fairridge.engines.base"]
    TopologicalSorter(graph).prepare()
    graph["fairridge.engines.blocks"] = {"fairridge.engines.base"}
    with pytest.raises(CycleError):
        TopologicalSorter(graph).prepare()


def test_no_caller_asks_which_family_it_is():
    asked = re.compile(r"isinstance\(.*Gaussian\)|family\.name ==|family\.name in")
    found = [
        f"{name}: {line.strip()}"
        for name, path in MODULES.items()
        for line in path.read_text(encoding="utf-8").splitlines()
        if asked.search(line)
    ]
    assert found == []


# What code outside of the packages of models may read of one beside its public attributes.
MEMBERS = {
    "_traits", "_problem_on", "_set_up", "_solve", "_finish",
    "_fitted", "_description", "_linear_predictor", "_shift",
}  # fmt: skip


def members_read_in(text: str) -> set[str]:
    """Private members of what is called a model: by a dot, or by their names."""
    read = re.findall(r"\b(?:\w*model|estimator|fresh|\w*fitted|clone\(\w+\))\.(_[a-z]\w*)", text)
    return {*read, *re.findall(r"attr\((?:self\.)?\w*(?:model|estimator), \"(_[a-z]\w*)", text)}


def test_models_are_read_through_few_named_members():
    read = {
        name: members_read_in(path.read_text(encoding="utf-8")) - MEMBERS
        for name, path in MODULES.items()
        if not name.startswith(("fairridge.estimators", "fairridge.peers", "fairridge.stacking"))
    }
    # A loaded model is as it was fitted; `model_file` says so.
    assert {name: members for name, members in read.items() if members} == {
        "fairridge.export.model_file": {"_settings"}
    }


def test_the_named_members_are_documented_and_used():
    guide = (ROOT.parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert [member for member in MEMBERS if f"`{member}`" not in guide] == []
    text = "".join(path.read_text(encoding="utf-8") for path in MODULES.values())
    assert members_read_in(text) > MEMBERS
    assert members_read_in('getattr(self.model, "_design", None)') == {"_design"}


FITS = {
    "gaussian": fairridge.FairRidgeRegressor(0.05, sensitive=[0, 1]),
    "gaussian, certified": fairridge.FairRidgeRegressor(0.2, sensitive=[0, 1], confidence=0.9),
    "logistic": fairridge.FairRidgeClassifier(0.05, sensitive=[0, 1]),
    "logistic, mean parity": fairridge.FairRidgeClassifier(
        0.05, sensitive=[0, 1], definition="mean-parity"
    ),
}


@pytest.mark.parametrize("kind", FITS)
def test_a_fit_enters_few_files(kind):
    """Read, look at the columns, warn, store: one can follow a fit from call to call."""
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(300, 6))
    y = Z.sum(axis=1) + rng.normal(size=300)
    y = y > 0.0 if kind.startswith("logistic") else y
    model = FITS[kind]
    room, crossed, entered = str(ROOT / "estimators"), [], set()
    model.fit(Z, y)  # whatever is imported on first use is imported now

    def watch(frame, event, argument):
        here = frame.f_code.co_filename
        if event == "call" and here.startswith(str(ROOT)):
            entered.add(here)
        there = frame.f_back.f_code.co_filename if frame.f_back else ""
        if event == "call" and here != there and here.startswith(room) and there.startswith(room):
            crossed.append((there, here))

    sys.setprofile(watch)
    try:
        model.fit(Z, y)
    finally:
        sys.setprofile(None)
    page = (ROOT.parents[1] / "ARCHITECTURE.md").read_text(encoding="utf-8")
    assert f"| {kind} | {len(entered)} |" in page
    if kind == "gaussian":
        assert f"from one file of `estimators/` into another {len(crossed)} times" in page
        assert len(crossed) <= 6
