"""While passes alternate with small matrices, blocks of rows have the cores and BLAS has one."""

import pytest
from threadpoolctl import threadpool_limits

from fairridge.engines import blocks, threads_for_blocks


def blas_threads():
    """Most threads of any BLAS; there may be others that never have more than one."""
    return max(info["num_threads"] for info in blocks._controller().info())


@pytest.fixture(autouse=True)
def several_threads(monkeypatch):
    monkeypatch.setattr(blocks.os, "cpu_count", lambda: 4)
    with threadpool_limits(2, user_api="blas"):
        yield


def test_blocks_keep_the_threads_that_blas_gives_up():
    assert blocks._n_threads() == 2
    with threads_for_blocks(50):
        assert blas_threads() == 1
        assert blocks._n_threads() == 2
        with threads_for_blocks(50):
            assert blocks._n_threads() == 2
    assert blas_threads() == 2
    assert blocks._n_threads() == 2


def test_wide_problems_keep_blas_as_it_is():
    with threads_for_blocks(blocks.ONE_THREAD_COLUMNS + 1):
        assert blas_threads() == 2


def test_a_limit_of_the_user_is_a_limit_on_blocks():
    with threadpool_limits(1, user_api="blas"), threads_for_blocks(50):
        assert blocks._n_threads() == 1


@pytest.mark.parametrize("threads", [1, 2, 16])
def test_long_blocks_leave_several_to_each_thread(monkeypatch, threads):
    """All rows are in one of them; a million make blocks eight times as long as others."""
    monkeypatch.setattr(blocks, "_n_threads", lambda: threads)
    for n in (0, 100, 5_000, 1_000_000):
        cut = blocks.long_slices(n, 105)
        assert [0, *(block.stop for block in cut)] == [*(block.start for block in cut), n]
        assert n < 1_000_000 or len(cut) >= 3 * threads
    usual = blocks.block_slices(1_000_000, 105)[0].stop
    assert blocks.long_slices(1_000_000, 105)[0].stop == 8 * usual
