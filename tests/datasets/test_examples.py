"""The examples in the documentation run as they stand, and print what they say they print."""

import re
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import pytest
from threadpoolctl import threadpool_limits

from fairridge import datasets

matplotlib.use("Agg")

DOCS = Path(__file__).resolve().parents[2] / "docs"
# A block of code, and the block of text that follows it with its output.
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.DOTALL | re.MULTILINE)


def blocks_of(page):
    return BLOCK.findall((DOCS / page).read_text(encoding="utf-8"))


def lines(text):
    return [line.rstrip() for line in text.splitlines()]


@pytest.mark.parametrize("page", ["datasets.md", "cross-validation.md", "features.md", "peers.md"])
def test_every_example_runs(page, request, tmp_path, monkeypatch, capsys):
    blocks = blocks_of(page)
    if any("fetch_fairml" in code for code, _ in blocks):
        # Without a network: the folder of the environment variable, and the one the page names.
        folder = request.getfixturevalue("rda")
        monkeypatch.setenv("FAIRRIDGE_DATA", str(folder))
        (tmp_path / "fairml-data").symlink_to(folder)
    monkeypatch.chdir(tmp_path)
    reader = {"__name__": "__main__"}  # who reads a page from its beginning
    with threadpool_limits(1, "blas"):
        for code, output in blocks:
            exec(compile(code, page, "exec"), reader)
            assert lines(capsys.readouterr().out) == lines(output), code
    plt.close("all")


@pytest.mark.parametrize("name", [info.name for info in datasets.available()])
def test_every_data_set_has_a_fit_that_stands_alone(name):
    code = [code for code, _ in blocks_of("datasets.md") if f"load_{name}()" in code][-1]
    assert code.startswith("from fairridge import FairRidge")
    assert f"from fairridge.datasets import load_{name}\n" in code
    assert ".fit(" in code or ".path(" in code
