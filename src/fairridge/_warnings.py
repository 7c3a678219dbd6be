"""Warnings that point at the user's line."""

from __future__ import annotations

import sys
import warnings
from traceback import walk_stack

PACKAGE = __name__.partition(".")[0]


def warn_user(message: str | Warning, category: type[Warning] = UserWarning) -> None:
    """Warn at the line by which the user's program entered this package."""
    # That is the caller of the outermost frame of this package, however many frames of it, or of
    # libraries that it calls and that call it back, are in between.
    frames = [frame for frame, _ in walk_stack(sys._getframe())]
    ours = [frame.f_globals.get("__name__", "").partition(".")[0] == PACKAGE for frame in frames]
    outermost = len(ours) - ours[::-1].index(True)  # counted from this function, which is 1
    warnings.warn(message, category, stacklevel=outermost + 1)
