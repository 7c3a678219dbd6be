"""The recorded table: what became slower, and how the page shows it."""

import shutil
from dataclasses import asdict

import pytest

from benchmarks import page, recorded
from benchmarks.__main__ import PARTS, main
from benchmarks.figures import Figure


def record(**seconds):
    """Return a table of one part, whose yardstick takes as long as `bare`."""
    bare = seconds["bare"]
    figures = [
        Figure("n = 10", name if name == "bare" else f"fairridge, {name}", taken, taken / bare)
        for name, taken in seconds.items()
    ]
    return {"gaussian": {"machine": "one", "figures": [asdict(one) for one in figures]}}


def test_what_became_slower_is_named_whatever_the_machine():
    then = record(bare=1.0, fit=2.0, path=3.0, other=1.0)
    # A machine half as fast, on which one case became worse and one better.
    now = record(bare=2.0, fit=4.0, path=9.0, other=1.0)
    text, slower = recorded.report(then, now)
    assert slower
    assert "1 became slower:\n   1.50  gaussian, n = 10, fairridge, path: 3.00× then, 4.50×" in text
    assert "1 became faster:\n   0.50  gaussian, n = 10, fairridge, other" in text
    assert "fairridge, fit" not in text
    assert "bare" not in text  # nobody else's times are ours to judge


@pytest.mark.slow
def test_the_page_shows_what_is_recorded(tmp_path):
    for name in (page.TABLES, page.PICTURE):
        (tmp_path / name).parent.mkdir(parents=True)
        shutil.copy(page.ROOT / name, tmp_path / name)
    page.rewrite(tmp_path, PARTS, recorded.read(recorded.RECORDED))
    written = (page.ROOT / page.TABLES).read_text()
    assert (tmp_path / page.TABLES).read_text() == written


@pytest.mark.slow
def test_the_command_measures_and_compares(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(recorded, "RECORDED", tmp_path / "recorded.json")
    assert main(["small", "--quick", "--out", str(tmp_path)]) == 0
    assert "nothing was compared" in capsys.readouterr().out
    shutil.copy(tmp_path / "measured.json", tmp_path / "recorded.json")
    assert main(["compare", "--out", str(tmp_path)]) == 0
    assert "0 became slower." in capsys.readouterr().out
