import numpy as np
import pytest

from fairridge.experiments.settings import Settings
from fairridge.experiments.store import FolderError, Part, Store
from fairridge.experiments.table import Table, write_whole

PART = Part("linear", "C&C, all rows", 3)


def test_numbers_come_back_as_they_were(tmp_path):
    store = Store(tmp_path, Settings())
    values = [0.1, 1 / 3, np.float64(2.0) ** 0.5, 1e-300, float("inf"), 7, "λ₂ = 10"]
    store.keep(PART, [{"model": "FRRM", "value": value} for value in values], 1.25)
    table = store.read(PART)
    assert [row["value"] for row in table] == values
    assert table.distinct("case") == ["C&C, all rows"]
    assert table.distinct("run") == [3]
    assert store.seconds(PART) == 1.25
    assert store.has(PART)
    assert not store.has(Part("linear", "C&C", 3))


def test_nan_comes_back(tmp_path):
    store = Store(tmp_path, Settings())
    store.keep(PART, [{"r": np.nan}], 0.0)
    assert np.isnan(store.read(PART).rows[0]["r"])


def lines(path):
    return path.read_bytes().splitlines(keepends=True)


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(path.read_bytes()[:-3]),
        lambda path: path.write_bytes(b"".join(lines(path)[:-1])),  # at the end of a line
        lambda path: path.write_bytes(path.read_bytes().replace(b"FRRM", b"NCLM")),
        lambda path: path.write_bytes(b"\xff\xfe" + path.read_bytes()),
        lambda path: path.write_bytes(b"# 1.000 CPU seconds\nmodel,value\nFRRM\n"),
        lambda path: path.write_bytes(b"# 1.000 CPU seconds\nmodel,value\n"),
        lambda path: (path.unlink(), path.mkdir()),
    ],
)
def test_a_damaged_part_is_not_there(tmp_path, damage):
    Store(tmp_path, Settings()).keep(PART, [{"model": "FRRM", "value": k} for k in range(3)], 1.0)
    assert Store(tmp_path, Settings()).has(PART)
    assert not Store(tmp_path, Settings()).damaged(PART)
    damage(tmp_path / PART.file)
    store = Store(tmp_path, Settings())
    assert not store.has(PART)
    assert store.damaged(PART)
    assert not store.damaged(Part("linear", "C&C", 3))


def test_a_part_that_cannot_be_written_is_named(tmp_path):
    store = Store(tmp_path, Settings())
    (tmp_path / PART.file).mkdir(parents=True)
    with pytest.raises(FolderError, match=r"run-003.csv cannot be written"):
        store.keep(PART, [{"value": 1}], 1.0)


def test_parts_without_a_checksum_are_read(tmp_path):
    store = Store(tmp_path, Settings())
    write_whole(tmp_path / PART.file, "# 1.250 CPU seconds\ncase,run,value\nC&C,3,0.5\n")
    assert store.read(PART).rows == ({"case": "C&C", "run": 3, "value": 0.5},)
    assert store.seconds(PART) == 1.25


@pytest.mark.parametrize("content", [b"", b'{"seed": 20', b"[]", b"\xff"])
def test_a_damaged_manifest_is_refused(tmp_path, content):
    (tmp_path / "manifest.json").write_bytes(content)
    with pytest.raises(FolderError, match=r"manifest.json is damaged.*Choose another"):
        Store(tmp_path, Settings())


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "file").write_text("mine")
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(FolderError, match=r"cannot hold results.*by --out"):
            Store(folder, Settings())
    assert (tmp_path / "file").read_text() == "mine"


def test_runs_may_grow_but_nothing_else(tmp_path):
    Store(tmp_path, Settings(runs=2))
    Store(tmp_path, Settings(runs=50, data_home="elsewhere"))
    for other in (Settings(seed=1), Settings(folds=5), Settings(bounds=(0.1,)), Settings(rows=10)):
        with pytest.raises(FolderError, match="Choose another folder"):
            Store(tmp_path, other)


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "file.csv"
    write_whole(path, "old")
    with pytest.raises(TypeError):
        write_whole(path, None)
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="folder"):
        write_whole(tmp_path / "folder", "new")
    assert path.read_text() == "old"
    assert not list(tmp_path.glob(".*"))


def test_runs_have_their_own_folds_and_numbers():
    settings = Settings(folds=5)
    first, second = settings.cut(23, 0), settings.cut(23, 1)
    assert sorted(np.concatenate([test for _, test in first])) == list(range(23))
    assert all(set(train) | set(test) == set(range(23)) for train, test in first)
    assert not np.array_equal(first[0][1], second[0][1])
    again = Settings(folds=5, runs=3).cut(23, 0)
    assert all(np.array_equal(a[1], b[1]) for a, b in zip(first, again, strict=True))
    assert settings.generator(0).random() != settings.generator(1).random()


def test_rows_are_chosen_and_grouped():
    table = Table.of({"model": m, "r": r, "x": k} for k, (m, r) in enumerate(
        [("a", 0.0), ("b", 0.0), ("a", 0.1), ("b", 0.1)]
    ))  # fmt: skip
    assert table.where(model="a").column("x").tolist() == [0, 2]
    assert table.where(lambda row: row["x"] > 1, model="b").column("x").tolist() == [3]
    assert {key: group.column("x").tolist() for key, group in table.groups("r").items()} == {
        (0.0,): [0, 1],
        (0.1,): [2, 3],
    }
    assert len(table + table) == 8
