"""Ctrl-C: noticed once, whatever becomes of the exception."""

from __future__ import annotations

import _thread
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

# Seconds after which an exception that came at a bad moment is raised again.
RETRY_SECONDS = 0.02


class Interruption:
    """Whether the user has pressed Ctrl-C since a command began.

    An exception alone does not tell: modules in C that are interrupted while they are
    imported raise an ImportError in its place, and Python ignores what is raised while an
    object is taken away.
    """

    def __init__(self) -> None:
        self.seen = False
        self._again: threading.Timer | None = None

    @contextmanager
    def noticed(self) -> Iterator[None]:
        """Notice Ctrl-C meanwhile; Python raises a KeyboardInterrupt as always."""
        if threading.current_thread() is not threading.main_thread():  # no other gets signals
            yield
            return
        self.seen = False
        before, hook = signal.signal(signal.SIGINT, self._handle), sys.unraisablehook
        sys.unraisablehook = partial(self._raise_later, hook)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before or signal.default_int_handler)
            sys.unraisablehook = hook
            if self._again is not None:
                self._again.cancel()

    def _handle(self, number: int, frame: Any) -> None:
        self.seen = True
        signal.default_int_handler(number, frame)

    def _raise_later(self, hook: Callable[[Any], Any], ignored: Any) -> None:
        """Raise a KeyboardInterrupt that Python would ignore once more, when the object is gone."""
        if not isinstance(ignored.exc_value, KeyboardInterrupt):
            hook(ignored)
            return
        self._again = threading.Timer(RETRY_SECONDS, _interrupt)
        self._again.daemon = True
        self._again.start()


def _interrupt() -> None:
    """Interrupt the main thread, and what it waits for where systems can."""
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
    else:
        _thread.interrupt_main()


def ignore_from_now_on() -> None:
    """Ignore Ctrl-C: everything is written, and the exit code is known."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)


INTERRUPTION = Interruption()
