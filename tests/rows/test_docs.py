"""The page about data larger than memory runs as it stands, and prints what it says it prints."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "larger-than-memory.md"
# A block of code, and the block of text that follows it with its output.
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.DOTALL | re.MULTILINE)


def lines(text):
    return [line.rstrip() for line in text.splitlines()]


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # of Dask, to pandas
def test_every_example_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    reader = {"__name__": "__main__"}  # who reads the page from its beginning
    blocks = BLOCK.findall(PAGE.read_text(encoding="utf-8"))
    assert len(blocks) == 7
    for code, output in blocks:
        exec(compile(code, PAGE.name, "exec"), reader)
        assert lines(capsys.readouterr().out) == lines(output), code


@pytest.mark.spark
def test_the_spark_example_compiles():
    (code,) = re.findall(r"^```py\n(.*?)^```\n", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    compile(code, PAGE.name, "exec")
