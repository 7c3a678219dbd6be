"""Say how far the work is, on a terminal and in a log."""

from __future__ import annotations

import sys
import time
from typing import TextIO

__all__ = ["Progress"]


class Progress:
    """A line that is rewritten on a terminal, or repeated now and then elsewhere.

    Parameters
    ----------
    total : int
        Parts to do.
    stream : file, optional
        Where to write; standard error by default.
    every : float
        Seconds between lines where the stream is no terminal.
    """

    def __init__(self, total: int, stream: TextIO | None = None, every: float = 10.0) -> None:
        self.total = total
        self.done = 0
        self._stream = sys.stderr if stream is None else stream
        self._terminal = self._stream.isatty()
        self._every = 0.2 if self._terminal else every
        self._start = self._last = time.monotonic()
        self._width = 0

    def step(self, what: str) -> None:
        """One more part is done."""
        self.done += 1
        now = time.monotonic()
        if self.done == self.total or now - self._last >= self._every:
            self._last = now
            self._show(f"{self._bar()} {self.done}/{self.total}  {self._left(now)}  {what}")

    def say(self, text: str) -> None:
        """Write a line that stays."""
        if self._terminal and self._width:
            self._stream.write("\r" + " " * self._width + "\r")
            self._width = 0
        self._stream.write(text + "\n")
        self._stream.flush()

    def close(self) -> None:
        """Leave the last line where it is."""
        if self._terminal and self._width:
            self._stream.write("\n")
            self._stream.flush()

    def _bar(self, width: int = 20) -> str:
        full = width * self.done // max(self.total, 1)
        return "[" + "#" * full + "." * (width - full) + "]"

    def _left(self, now: float) -> str:
        taken = now - self._start
        left = taken / self.done * (self.total - self.done)
        return f"{taken:.0f} s, about {left:.0f} s left" if left >= 1.0 else f"{taken:.0f} s"

    def _show(self, line: str) -> None:
        if self._terminal:
            self._stream.write("\r" + line.ljust(self._width))
            self._width = len(line)
        else:
            self._stream.write(line + "\n")
        self._stream.flush()
