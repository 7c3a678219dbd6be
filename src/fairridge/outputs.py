"""Files out: complete or not at all, through links to what they name, and never onto an input."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import secrets
import stat
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from os import PathLike
from typing import Any, BinaryIO

Name = str | PathLike[str]

# Errors of writing that the system reports without the name of the file.
NAMELESS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def writing(path: Name) -> Iterator[BinaryIO]:
    """Open a file to write; it appears under its name when the block has ended without an error."""
    # The content goes to a hidden file in the same folder, which then replaces the old file and
    # takes over its permissions. If anything fails, the old file is untouched. A symbolic link
    # stays, and the file that it names is replaced. Devices, pipes and standard output are written
    # to as streams.
    path = os.fspath(path)
    try:
        with _as_stream(path) or _as_replacement(path) as file:
            yield file
    except OSError as error:
        if error.filename is None and error.errno in NAMELESS:
            error.filename = path
        raise


@contextmanager
def updating(path: Name, waiting: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Keep a file that is read, changed and written to one process at a time; others wait."""
    # What is locked is a hidden file beside it, because the file itself is replaced when it is
    # written. The system releases the lock of a process that ends, however it ends.
    # `waiting` is called once if another process has the file.
    if os.path.exists(path) and not os.path.isfile(path):  # a device keeps nothing
        yield
        return
    folder, name = os.path.split(os.path.realpath(path))
    place = os.path.join(folder, f".{name}.lock")
    try:
        # Ctrl-C may come as soon as the lock exists, so it is made in here.
        with _locked(place, waiting):
            yield
    finally:
        # A lock that was interrupted before its end; one that another process has stays.
        with suppress(OSError), open(place, "r+b") as file:
            if _lock(file.fileno()) and _is_at(file.fileno(), place):
                os.unlink(place)


@contextmanager
def _locked(place: str, waiting: Callable[[], None]) -> Iterator[None]:
    """Lock a file, which is made for it and removed in the end; wait for whoever has it."""
    announced = False
    while True:
        with open(place, "ab") as file:
            # Whoever had the lock before has removed the file: then this is not the one to lock.
            if _lock(file.fileno()) and _is_at(file.fileno(), place):
                yield
                with suppress(OSError):  # Windows does not remove files that are open
                    os.unlink(place)
                return
        if not announced:
            waiting()
            announced = True
        time.sleep(0.05)


def _lock(descriptor: int) -> bool:
    """Lock an open file, unless another process has."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in (errno.EAGAIN, errno.EACCES, errno.EDEADLK):
            raise
        return False
    return True


def _is_at(descriptor: int, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False


def refuse_inputs(path: Name, inputs: Iterable[Name]) -> None:
    """Raise if a file to write is one of the files to read, under whatever name."""
    for name in inputs:
        # A pipe or a terminal, as in /dev/stdin and /dev/stdout, has nothing to lose.
        if is_same_file(path, name) and (os.path.isfile(name) or os.path.isdir(name)):
            raise ValueError(
                f"{os.fspath(path)} is an input ({os.fspath(name)}), which would be overwritten; "
                "choose another name for the output."
            )


def is_same_file(one: Name, other: Name) -> bool:
    """Whether two names are of one file, through symbolic and hard links."""
    try:
        return os.path.samefile(one, other)
    except OSError:  # one of them does not exist
        return os.path.realpath(one) == os.path.realpath(other)


def is_writable(path: Name) -> bool:
    """Whether this process may write to a file or a folder that exists."""
    return os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids)


def _as_stream(path: str) -> BinaryIO | None:
    """Open what cannot be replaced: a device, a pipe, or the standard streams."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    for number, stream in ((1, sys.stdout), (2, sys.stderr)):
        # Even if it is a file: what is printed before and after must stay around this.
        with suppress(OSError):
            if os.path.samestat(found, os.fstat(number)):
                stream.flush()
                return open(os.dup(number), "wb")
    if stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode):
        return None
    return open(path, "wb")


@contextmanager
def _as_replacement(path: str) -> Iterator[BinaryIO]:
    """Write beside a regular file, and take its place in the end."""
    target = os.path.realpath(path)
    if os.path.islink(target):
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
    if os.path.isdir(target):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    # To replace a file takes no right to write to it, but it was protected for a reason.
    if os.path.exists(target) and not is_writable(target):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
    # The name neither ends like data nor begins like it, lest someone reads it meanwhile.
    unfinished = os.path.join(os.path.dirname(target), f".fairridge-{secrets.token_hex(8)}")
    try:
        # Ctrl-C may come as soon as the file exists, so it is made in here.
        with _new_file(unfinished, path) as file:
            yield file
        _keep_permissions(target, unfinished)
        os.replace(unfinished, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(unfinished)
        raise


def _new_file(unfinished: str, path: str) -> BinaryIO:
    """Open a file that did not exist; errors name the file that was asked for."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    try:
        return open(os.open(unfinished, flags, 0o666), "wb")
    except OSError as error:
        error.filename = path
        raise


def _keep_permissions(old: str, new: str) -> None:
    try:
        found = os.stat(old)
    except FileNotFoundError:
        return
    if hasattr(os, "chown"):
        with suppress(PermissionError):  # only the superuser gives files away
            os.chown(new, found.st_uid, found.st_gid)
    os.chmod(new, stat.S_IMODE(found.st_mode))


def checksum(document: dict[str, Any]) -> str:
    """Return SHA-256 of a JSON document without its own checksum, however it is laid out."""
    content = {key: value for key, value in document.items() if key != "checksum"}
    text = json.dumps(content, sort_keys=True, allow_nan=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
