"""Every parameter of a model is described, once, and classes inherit descriptions."""

import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import fairridge

ROOT = Path(__file__).resolve().parents[2]
MODELS = [
    name
    for name in fairridge.__all__
    if isinstance(getattr(fairridge, name), type) and hasattr(getattr(fairridge, name), "fit")
]


def described(doc):
    """Names in the section "Parameters" of a docstring, as numpydoc reads it."""
    section = doc.partition("Parameters\n----------\n")[2]
    section = re.split(r"^[A-Z][\w ]*\n-{3,}\n", section, flags=re.MULTILINE)[0]
    headers = re.findall(r"^(\S.*?) : \S", section, re.MULTILINE)
    return [name for header in headers for name in header.split(", ")]


@pytest.mark.parametrize("name", MODELS)
def test_every_parameter_is_described_once(name):
    model = getattr(fairridge, name)
    names = list(inspect.signature(model).parameters)
    found = described(inspect.getdoc(model))
    assert sorted(found) == sorted(names)
    # Stacked models begin with their learners, as scikit-learn's do.
    first = [name for name in names if name != "estimators"][:2]
    assert found[:2] == first == ["unfairness", "sensitive"]


@pytest.mark.parametrize("name", MODELS)
def test_the_source_repeats_no_description(name):
    """What a class describes differs from what it would inherit."""
    model = getattr(fairridge, name)
    base = next(cls for cls in model.__mro__[1:] if cls.__module__.startswith("fairridge"))
    own = inspect.cleandoc(re.search(r'"""(.*?)"""', inspect.getsource(model), re.DOTALL)[1])
    entries = [re.escape(entry) for entry in described(own)]
    for entry in entries:
        pattern = rf"^{entry} : .*\n(?: .*\n)*"
        there = re.search(pattern, inspect.getdoc(base) + "\n", re.MULTILINE)
        here = re.search(pattern, own + "\n", re.MULTILINE)
        assert there is None or here is None or there[0] != here[0], entry


@pytest.mark.slow  # compiles all packages anew
def test_it_works_without_docstrings():
    code = "from fairridge import ZafarRegressor as Z; print(Z.__doc__, Z(0.1).unfairness)"
    env = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    found = subprocess.run(
        [sys.executable, "-OO", "-c", code], env=env, capture_output=True, text=True, check=True
    )
    assert found.stdout.split() == ["None", "0.1"]


@pytest.mark.slow
def test_the_api_reference_shows_the_same():
    griffe = pytest.importorskip("griffe", reason="griffe is not installed")
    names = ("assigned_methods", "runtime_docstrings")
    extensions = griffe.load_extensions(*(str(ROOT / f"tools/{name}.py") for name in names))
    package = griffe.load(
        "fairridge", search_paths=[ROOT / "src"], extensions=extensions, docstring_parser="numpy"
    )
    for name in MODELS:
        model = getattr(fairridge, name)
        read = package[f"{model.__module__.removeprefix('fairridge.')}.{name}"]
        assert read.docstring.value == inspect.getdoc(model)
        parameters = [parameter.name for parameter in read.parameters][1:]
        assert parameters == list(inspect.signature(model).parameters)
