"""Blocks of columns are the columns, wherever they are cut."""

import numpy as np
import pytest

from fairridge.data import Indicators, Slab
from fairridge.engines import column_blocks, columns

N = 6


@pytest.fixture
def pieces():
    rng = np.random.default_rng(0)
    codes = rng.integers(-1, 7, N)
    return (
        Slab(rng.normal(size=(N, 3))),
        Indicators(codes, 7),
        *(Slab(rng.integers(0, 9, (N, 1))) for _ in range(4)),
        Slab(rng.normal(size=(N, 8)).astype(np.float32)),
    )


@pytest.fixture
def dense(pieces):
    return np.hstack(
        [piece.dense() if isinstance(piece, Indicators) else piece.values for piece in pieces]
    )


@pytest.mark.parametrize("size", [1, 5, 50])
def test_blocks_join_to_all_columns(pieces, dense, size, monkeypatch):
    monkeypatch.setattr(columns, "BATCH_BYTES", 8 * N * size)
    shift = np.arange(22.0)
    found = list(column_blocks(pieces, N, shift, fewest=1))
    assert max(block.shape[1] for _, block in found) == min(size, 22)
    assert [place.start for place, _ in found] == list(range(0, 22, size))
    np.testing.assert_array_equal(np.hstack([block for _, block in found]), dense - shift)
