"""The pages on audits and exports run as they stand, and print what they say they print."""

import re
from pathlib import Path

import pytest
from threadpoolctl import threadpool_limits

DOCS = Path(__file__).resolve().parents[2] / "docs"
# A block of code, and the block of text that follows it with its output.
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.DOTALL | re.MULTILINE)


def lines(text):
    return [line.rstrip() for line in text.splitlines()]


@pytest.mark.parametrize("page", ["audit.md", "export.md"])
def test_every_example_runs(page, tmp_path, monkeypatch, capsys):
    blocks = BLOCK.findall((DOCS / page).read_text(encoding="utf-8"))
    assert len(blocks) >= 5
    monkeypatch.chdir(tmp_path)
    reader = {"__name__": "__main__"}  # who reads a page from its beginning
    with threadpool_limits(1, "blas"):
        for code, output in blocks:
            exec(compile(code, page, "exec"), reader)
            assert lines(capsys.readouterr().out) == lines(output), code
