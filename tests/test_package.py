"""The package itself: its names, and what an import brings."""

import importlib.metadata
import subprocess
import sys
from pathlib import Path

import pytest

import fairridge
from fairridge import export, metrics

ROOT = Path(__file__).resolve().parents[1]
FUNCTIONS = ("attribution", "audit", "choose_bound", "compare", "cross_validate", "load",
             "proxies", "report", "row_products", "rows_needed", "save")  # fmt: skip


def test_the_import_alone_brings_no_other_library():
    code = (
        "import sys, fairridge; "
        "print([name for name in ('numpy', 'scipy', 'sklearn') if name in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


@pytest.mark.parametrize("name", fairridge.__all__)
def test_every_public_name_is_found(name):
    found = getattr(fairridge, name)
    assert name == "__version__" or found.__name__ == name
    assert (name in FUNCTIONS) == (callable(found) and not isinstance(found, type))


def test_one_function_has_one_meaning_wherever_it_is_imported_from():
    assert fairridge.audit is metrics.audit
    assert fairridge.attribution is export.attribution
    assert fairridge.proxies is export.proxies


@pytest.mark.skipif(Path(sys.prefix).name != ".venv", reason="not the environment of the Makefile")
def test_every_pinned_version_is_the_installed_one():
    """A version that no index has would break every new environment, and no old one."""
    pins = dict(line.split("==") for line in (ROOT / "constraints.txt").read_text().split())
    pins = {name.lower().replace("_", "-"): version for name, version in pins.items()}
    found = {
        d.name.lower().replace("_", "-"): d.version for d in importlib.metadata.distributions()
    }
    assert {n: v for n, v in found.items() if n in pins} == {n: pins[n] for n in found if n in pins}
