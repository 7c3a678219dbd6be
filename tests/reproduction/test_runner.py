"""What is kept between two commands, and what each run depends on."""

import pytest

from reproduction import runner
from reproduction.runner import FolderError, open_cache
from reproduction.settings import Settings

PART = ("profiles", "example", 3)


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content[:-50],
        lambda content: content[:500] + bytes([content[500] ^ 1]) + content[501:],
    ],
)
def test_a_damaged_part_is_not_there(tmp_path, damage, capsys):
    settings = Settings()
    open_cache(tmp_path)(PART, settings.identity, settings)
    (found,) = tmp_path.rglob("output.pkl")
    found.write_bytes(damage(found.read_bytes()))
    for said in ("profiles, example, 3 cannot be read, and is left out\n", ""):  # it is removed
        assert runner._kept(open_cache(tmp_path), [PART], settings, "left out") == {}
        assert capsys.readouterr().err == said


def test_runs_may_grow_but_nothing_else(tmp_path):
    runner._require_same_settings(tmp_path, Settings(runs=2))
    runner._require_same_settings(tmp_path, Settings(runs=50, data_home="elsewhere"))
    for other in (Settings(seed=1), Settings(folds=5), Settings(bounds=(0.1,)), Settings(rows=10)):
        with pytest.raises(FolderError, match="Choose another folder"):
            runner._require_same_settings(tmp_path, other)
