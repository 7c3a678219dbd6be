"""Batches that are read ahead, and keys of their rows."""

import threading

import numpy as np

from fairridge.sources.batch import prefetched, row_keys


def test_keys_depend_on_the_place_alone():
    keys = row_keys(3, 5, np.arange(10_000))
    np.testing.assert_array_equal(keys[77:99], row_keys(3, 5, np.arange(77, 99)))
    assert len(np.unique(keys)) == 10_000
    share = keys.astype(np.float64) / 2.0**64
    # Uniform: the largest gap between ranks and values is that of 10,000 random numbers.
    assert np.abs(np.sort(share) - (np.arange(10_000) + 0.5) / 10_000).max() < 0.02
    bits = np.unpackbits(keys.view(np.uint8)).reshape(10_000, 64).mean(axis=0)
    assert np.abs(bits - 0.5).max() < 0.025


def test_whoever_abandons_batches_does_not_wait_for_the_next_one():
    """The garbage collector may end them in a thread that cannot wait for others."""
    read = threading.Event()

    def batches():
        yield 1
        read.wait(30)
        yield 2

    coming = prefetched(batches())
    assert next(coming) == 1
    ended = threading.Thread(target=coming.close)
    ended.start()
    ended.join(10)
    waited = ended.is_alive()
    read.set()
    assert not waited
