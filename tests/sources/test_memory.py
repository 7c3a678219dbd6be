"""Peak memory does not grow with the files."""

import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from fairridge.sources.generate import generate

SCRIPT = Path(__file__).with_name("bounded_memory.py")
MEGABYTE = 1 << 20
REPEATS = 16


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of Linux")
def test_a_fit_needs_less_memory_than_the_file(tmp_path):
    (small,) = generate(tmp_path / "small", rows=131_072, columns=26, sensitive=2)
    table, large = pq.read_table(small), tmp_path / "large.parquet"
    with pq.ParquetWriter(large, table.schema, compression="none", use_dictionary=False) as writer:
        for _ in range(REPEATS):
            writer.write_table(table)
    assert large.stat().st_size > 440 * MEGABYTE
    # The script gives itself this much more than its libraries need, and fails beyond.
    allowed = 300 * MEGABYTE
    command = [sys.executable, SCRIPT, small, large, tmp_path / "out.parquet", str(allowed)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [str(REPEATS * 131_072)] * 2


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of Linux")
def test_an_audit_of_ten_million_rows_needs_less_memory_than_the_files(tmp_path):
    rows, chosen = 10_000_000, {"columns": 5, "sensitive": 2, "levels": 3}
    (small,) = generate(tmp_path / "small", rows=100_000, **chosen)
    files = generate(tmp_path / "large", rows=rows, **chosen)
    assert sum(file.stat().st_size for file in files) > 400 * MEGABYTE
    script = SCRIPT.with_name("audit_in_bounded_memory.py")
    command = [sys.executable, script, small, tmp_path / "large", str(200 * MEGABYTE)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    count, groups, auc, error = map(float, done.stdout.split())
    assert (count, groups) == (rows, 12)
    assert 0.5 < auc < 1.0
    assert 0.0 < error < 0.001
