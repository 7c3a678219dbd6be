"""Files that change while they are used: one error that names the file, never a mixture."""

import os
import shutil

import numpy as np
import pyarrow.parquet as pq
import pytest

from fairridge import FairRidgeRegressor, sources

from .conftest import COLUMNS, ROLES, in_memory, write_files


def replace(path):
    """Put a file of other values at the place of another."""
    table = pq.read_table(path)
    where = table.column_names.index("skill")
    other = table.set_column(where, "skill", [-2.0 * np.asarray(table["skill"])])
    pq.write_table(other, path.with_suffix(".new"))
    os.replace(path.with_suffix(".new"), path)


def replace_keeping_the_time(path):
    before = path.stat()
    replace(path)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def replace_rows_only(path):
    """Change a value without changing the size or the footer."""
    content = bytearray(path.read_bytes())
    content[len(content) // 8] ^= 1
    time = path.stat().st_mtime_ns
    path.write_bytes(content)
    os.utime(path, ns=(time, time + 1000))


CHANGES = {
    "replaced": (replace, "part-1.parquet has changed"),
    "replaced, same time": (replace_keeping_the_time, "part-1.parquet has changed"),
    "same size and footer": (replace_rows_only, "part-1.parquet has changed"),
    "removed": (os.unlink, "part-1.parquet: removed"),
    "added": (lambda path: shutil.copy(path, path.with_name("a.parquet")), "a.parquet: added"),
}


@pytest.fixture
def folder(small, tmp_path):
    return write_files(small, tmp_path / "files", cuts=(0, 200), compression="none")


@pytest.mark.parametrize("name", CHANGES)
def test_a_fit_to_files_that_changed_names_the_file(folder, name):
    change, message = CHANGES[name]
    source = sources.parquet(folder, **ROLES)
    FairRidgeRegressor().fit(source)
    change(folder / "part-1.parquet")
    with pytest.raises(ValueError, match=message):
        FairRidgeRegressor().fit(source)


def test_a_file_that_changes_while_it_is_read(folder):
    source = sources.parquet(folder, **ROLES, batch_rows=50)
    seen = []

    def work(batch):
        if batch.part == 1 and batch.start == 50:  # the last file has no later check than its own
            replace_rows_only(folder / "part-1.parquet")
        seen.append(batch.start)

    with pytest.raises(ValueError, match=r"part-1\.parquet has changed"):
        source.map_batches(work, ("skill",))
    assert seen == [0, 50, 100, 150] * 2


def test_predictions_of_files_that_changed(folder, small, tmp_path):
    predictions = in_memory(small).predict(sources.parquet(folder))
    replace(folder / "part-1.parquet")
    with pytest.raises(ValueError, match=r"part-1\.parquet has changed"):
        predictions.write(tmp_path / "out.parquet", keep=COLUMNS[0])
    with pytest.raises(ValueError, match=r"part-1\.parquet has changed"):
        list(predictions)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["files"]
