"""The package itself: its names, and what an import brings."""

import subprocess
import sys

import pytest

import fairridge
from fairridge import export, metrics

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
