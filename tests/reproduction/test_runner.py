"""What is kept between two commands, and what each run depends on."""

import numpy as np
import pytest

from reproduction import runner
from reproduction.results import pick
from reproduction.runner import FolderError, compute, open_cache
from reproduction.settings import Settings

PART = ("profiles", "example", 3)


def kept(folder, settings):
    return runner._kept(open_cache(folder), [PART], settings, "left out")


@pytest.fixture(scope="module")
def outcome():
    return compute(PART, {}, Settings())


@pytest.fixture
def part_file(tmp_path):
    """A part in the cache of a folder."""
    settings = Settings()
    open_cache(tmp_path)(PART, settings.identity, settings)
    (found,) = tmp_path.rglob("output.pkl")
    return found


def test_numbers_come_back_as_they_were(tmp_path, part_file, outcome):
    table, seconds = kept(tmp_path, Settings())[PART]
    assert table.equals(outcome[0])  # λ(0) is infinite
    assert np.isinf(table["value"]).any()
    assert set(table["case"]) == {"example"}
    assert set(table["run"]) == {3}
    assert seconds > 0.0
    assert runner._kept(open_cache(tmp_path), [("profiles", "example", 4)], Settings(), "") == {}


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"",
        lambda content: content[:-50],
        lambda content: content[: len(content) // 2],
        lambda content: content[:500] + bytes([content[500] ^ 1]) + content[501:],
        lambda content: b"\xff\xfe" + content,
    ],
)
def test_a_damaged_part_is_not_there(tmp_path, part_file, damage, capsys):
    part_file.write_bytes(damage(part_file.read_bytes()))
    assert kept(tmp_path, Settings()) == {}
    assert capsys.readouterr().err == "profiles, example, 3 cannot be read, and is left out\n"
    assert kept(tmp_path, Settings()) == {}  # and it is removed
    assert capsys.readouterr().err == ""


def test_results_of_other_settings_are_not_taken(tmp_path, part_file):
    assert kept(tmp_path, Settings(runs=2, data_home="elsewhere"))
    for other in (Settings(seed=1), Settings(folds=5), Settings(bounds=(0.1,)), Settings(rows=10)):
        assert not kept(tmp_path, other)


def test_an_interrupt_that_joblib_loses_is_seen_after_the_part(tmp_path, capsys):
    runner.STOPPED.set()
    try:
        with pytest.raises(KeyboardInterrupt):
            runner.run(["definitions"], Settings(runs=2), tmp_path, jobs=1)
    finally:
        runner.STOPPED.clear()
    assert "Interrupted: 1 of 2 parts are kept." in capsys.readouterr().err


@pytest.mark.parametrize("content", [b"", b'{"seed": 20', b"[]", b"\xff"])
def test_a_damaged_manifest_is_refused(tmp_path, content):
    (tmp_path / "manifest.json").write_bytes(content)
    with pytest.raises(FolderError, match=r"manifest.json is damaged.*Choose another"):
        runner._require_same_settings(tmp_path, Settings())


def test_a_file_cannot_hold_results(tmp_path):
    (tmp_path / "file").write_text("mine")
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(FolderError, match=r"cannot hold results.*by --out"):
            runner._require_same_settings(folder, Settings())
    assert (tmp_path / "file").read_text() == "mine"


def test_runs_may_grow_but_nothing_else(tmp_path):
    runner._require_same_settings(tmp_path, Settings(runs=2))
    runner._require_same_settings(tmp_path, Settings(runs=50, data_home="elsewhere"))
    for other in (Settings(seed=1), Settings(folds=5), Settings(bounds=(0.1,)), Settings(rows=10)):
        with pytest.raises(FolderError, match="Choose another folder"):
            runner._require_same_settings(tmp_path, other)


def test_runs_have_their_own_folds_and_numbers():
    settings = Settings(folds=5)
    first, second = settings.cut(23, 0), settings.cut(23, 1)
    assert sorted(np.concatenate([test for _, test in first])) == list(range(23))
    assert all(set(train) | set(test) == set(range(23)) for train, test in first)
    assert not np.array_equal(first[0][1], second[0][1])
    again = Settings(folds=5, runs=3).cut(23, 0)
    assert all(np.array_equal(a[1], b[1]) for a, b in zip(first, again, strict=True))
    assert settings.generator(0).random() != settings.generator(1).random()


def test_rows_are_picked_by_their_values(outcome):
    table = outcome[0]
    found = pick(table, model="NCLM", term="S1")
    assert len(found) == 55
    assert found["r"].is_monotonic_increasing
    assert len(pick(table, model="NCLM", term="S4")) == 0
