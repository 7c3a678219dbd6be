"""Batches that are read ahead, and keys of their rows."""

import threading

from fairridge.sources.batch import prefetched


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
