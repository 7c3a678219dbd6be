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
def test_fits_predictions_and_audits_need_less_memory_than_the_file(tmp_path):
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
    assert done.stdout.split() == [str(REPEATS * 131_072)] * 3
