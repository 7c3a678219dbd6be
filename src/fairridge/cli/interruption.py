"""Ctrl-C: noticed once, whatever becomes of the exception."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Interruption:
    """Whether the user has pressed Ctrl-C since a command began.

    An exception alone does not tell: modules in C that are interrupted while they are
    imported raise an ImportError in its place.
    """

    def __init__(self) -> None:
        self.seen = False

    @contextmanager
    def noticed(self) -> Iterator[None]:
        """Notice Ctrl-C meanwhile; Python raises a KeyboardInterrupt as always."""
        if threading.current_thread() is not threading.main_thread():  # no other gets signals
            yield
            return
        self.seen = False
        before = signal.signal(signal.SIGINT, self._handle)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before or signal.default_int_handler)

    def _handle(self, number: int, frame: Any) -> None:
        self.seen = True
        signal.default_int_handler(number, frame)


def ignore_from_now_on() -> None:
    """Ignore Ctrl-C: everything is written, and the exit code is known."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)


INTERRUPTION = Interruption()
