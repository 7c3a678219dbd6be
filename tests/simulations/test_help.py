"""The commands beside the library say what they do without the libraries that they need."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# What the library does not need.
EXTRAS = ("pandas", "matplotlib", "tqdm", "latex2mathml", "markdown_it", "pooch", "rdata")
PLAIN = """
import runpy, sys
sys.modules.update(dict.fromkeys({extras}))
sys.argv = ["x", *{arguments}]
runpy.run_module("{module}", run_name="__main__")
"""


def plainly(module, *arguments):
    code = PLAIN.format(extras=EXTRAS, arguments=list(arguments), module=module)
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False
    )


@pytest.mark.slow
@pytest.mark.parametrize("module", ["reproduction", "simulations"])
def test_help_needs_no_extra(module):
    found = plainly(module, "--help")
    assert found.returncode == 0, found.stderr
    assert f"usage: python -m {module}" in found.stdout


@pytest.mark.slow
@pytest.mark.parametrize("module", ["reproduction", "simulations"])
def test_the_work_names_the_extra_that_it_needs(module, tmp_path):
    found = plainly(module, "--quick", "--out", str(tmp_path / "out"))
    assert found.returncode == 2
    assert f"python -m {module} needs " in found.stderr
    assert "pip install -e '.[reproduction]'" in found.stderr
    assert "Traceback" not in found.stderr
