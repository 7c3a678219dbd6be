"""Files must stay as they are from the first look at them to the end of the last pass."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

__all__ = ["FileState", "require_same_names", "require_same_state", "state_of"]

ADVICE = (
    "Rows of two versions must not be mixed: leave the files alone while they are used, and call "
    "fairridge.sources.parquet again to use what is there now."
)


@dataclass(frozen=True)
class FileState:
    """What tells one version of a Parquet file from another without reading its rows.

    Attributes
    ----------
    size : int
        Bytes.
    modified : int or None
        Time of the last change, in nanoseconds; None if the file system does not know it.
    footer : bytes
        Digest of the footer, which holds the places, sizes and extremes of all column chunks.
    """

    size: int
    modified: int | None
    footer: bytes


def state_of(system: Any, place: str, opened: Any) -> FileState:
    """Return the state of an open file.

    Parameters
    ----------
    system : pyarrow FileSystem
        Where the file is.
    place : str
        Its name there. A file that took this name after the opening shows in
        the time of the change.
    opened : pyarrow NativeFile
        The file, open for reading.
    """
    size = int(opened.size())
    # A Parquet file ends with its footer, four bytes of the footer's length, and "PAR1".
    length = int.from_bytes(opened.read_at(4, max(size - 8, 0)), "little") + 8
    footer = opened.read_at(min(length, size), max(size - length, 0))
    info = system.get_file_info(place)
    return FileState(size, info.mtime_ns, blake2b(footer, digest_size=16).digest())


def require_same_state(path: str, before: FileState | None, now: FileState) -> None:
    """Raise, naming the file, if it is not the one whose footer was read at first."""
    if now != before:
        raise ValueError(f"{path} has changed since it was first read. {ADVICE}")


def require_same_names(before: Iterable[str], now: Iterable[str]) -> None:
    """Raise, naming a file, if files have been added or removed."""
    known, found = set(before), set(now)
    for what, names in (("removed", known - found), ("added", found - known)):
        if names:
            more = f" and {len(names) - 1} more" if len(names) > 1 else ""
            raise ValueError(
                f"{min(names)}{more}: {what} since the files were first read. {ADVICE}"
            )
