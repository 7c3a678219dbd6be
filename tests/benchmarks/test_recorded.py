"""The recorded table: what became slower, and how the page shows it."""

import shutil

import pytest

from benchmarks import page, recorded
from benchmarks.__main__ import PARTS, main


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
