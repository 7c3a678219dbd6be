"""The generator of large problems, small."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from fairridge import FairRidgeRegressor, sources
from fairridge.sources.generate import generate, main


@pytest.mark.slow
def test_the_command_writes_rows_that_fit(tmp_path):
    command = [sys.executable, "-m", "fairridge.sources.generate"]
    options = ["--rows", "5_000", "--columns", "6", "--rows-per-file", "2000"]
    done = subprocess.run(
        [*command, *options, tmp_path / "out"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("5,000 rows, ")
    assert done.stdout.endswith("in 3 file(s)\n")
    assert done.stderr == ""
    names = ["s1", "s2", "s3", "x1", "x2", "x3"]
    source = sources.parquet(
        tmp_path / "out", response="y", sensitive=names[:3], predictors=names[3:]
    )
    assert source.n_rows == 5000
    model = FairRidgeRegressor(1.0).fit(source)
    assert model.dispersion_ == pytest.approx(1.0, abs=0.1)  # y = Zb + N(0, 1)


def test_files_depend_on_the_seed_alone(tmp_path):
    first = generate(tmp_path / "a", rows=900, columns=4, sensitive=1, rows_per_file=400)
    longer = generate(tmp_path / "b", rows=1900, columns=4, sensitive=1, rows_per_file=400)
    assert [len(pd.read_parquet(path)) for path in first] == [400, 400, 100]
    pd.testing.assert_frame_equal(pd.read_parquet(first[1]), pd.read_parquet(longer[1]))
    other = generate(tmp_path / "c", rows=400, columns=4, sensitive=1, seed=1)
    assert not np.allclose(pd.read_parquet(first[0])["y"], pd.read_parquet(other[0])["y"])


def test_parts_of_an_earlier_run_are_not_mixed_with_new_ones(tmp_path):
    sizes = {"columns": 4, "sensitive": 1, "rows_per_file": 100}
    generate(tmp_path, rows=300, **sizes)
    (tmp_path / "notes.txt").write_text("mine")
    old = (tmp_path / "part-00000.parquet").read_bytes()
    with pytest.raises(
        FileExistsError, match=r"1 other part file\(s\), such as part-00002\.parquet"
    ):
        generate(tmp_path, rows=200, **sizes, seed=1)
    assert (tmp_path / "part-00000.parquet").read_bytes() == old
    assert len(generate(tmp_path, rows=400, **sizes, seed=1)) == 4
    assert (tmp_path / "part-00000.parquet").read_bytes() != old


def test_the_command_says_what_is_wrong_in_one_line(tmp_path, capsys):
    generate(tmp_path / "old", rows=20, columns=4, sensitive=1, rows_per_file=10)
    (tmp_path / "file").touch()
    size = ["--rows", "10", "--columns", "4"]
    for arguments, message in (
        ([str(tmp_path / "new"), "--levels", "-2"], "levels=-2 must be 0 or a positive number"),
        ([str(tmp_path / "new"), "--sensitive", "4"], "sensitive=4 must lie between"),
        ([str(tmp_path / "file")], "is a file; name a folder"),
        ([str(tmp_path / "old")], "1 other part file(s)"),
    ):
        with pytest.raises(SystemExit) as stopped:
            main([*size, *arguments])
        assert stopped.value.code == 2
        said = capsys.readouterr().err
        assert message in said
        assert said.count("\n") == 1
    assert not (tmp_path / "new").exists()
