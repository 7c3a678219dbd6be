"""From exceptions to one line and an exit code."""

from __future__ import annotations

import errno
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import numpy as np

from fairridge.cli.exit_codes import ExitCode

# Arguments of the library, as its messages write them: name=…, name='value', name=5, name=.
ARGUMENT = re.compile(
    r"(?<![\w-])([a-z][a-z_]*)=(…|'[^']*'|\"[^\"]*\"|(?:[\w+-]|\.(?=\w))+|(?=[\s.,;:)]))"
)
# Those that commands call otherwise.
RENAMED = {
    "sample_weight": "weight",
    "sensitive_features": "sensitive",
    "random_state": "seed",
    "date": "made_on",
}


class BadInputError(ValueError):
    """Something the user can fix; the message says how."""


def explain(error: Exception) -> tuple[str, int] | None:
    """Return one line and an exit code, or None for an unexpected error."""
    if hasattr(error, "format_message"):  # of the parser
        return _usage(error), ExitCode.BAD_INPUT
    if isinstance(error, ImportError) and not isinstance(error, ModuleNotFoundError):
        # An extra is missing, and the message names it.
        return _one_line(str(error)), ExitCode.FAILED
    if isinstance(error, OSError):
        return _one_line(_of_file(error)), ExitCode.BAD_INPUT
    if isinstance(error, ValueError) and not isinstance(error, np.linalg.LinAlgError):
        return _one_line(str(error)), ExitCode.BAD_INPUT
    return None


@contextmanager
def refusals() -> Iterator[None]:
    """Take as bad input that a call is not for a model, or not for rows that are streamed."""
    try:
        yield
    except TypeError as error:
        raise BadInputError(str(error)) from error


@contextmanager
def naming(name: str) -> Iterator[None]:
    """Name the file in errors of reading; the system names it only in those of opening."""
    try:
        yield
    except OSError as error:
        error.filename = error.filename or name
        raise


def as_options(text: str, options: Mapping[str, str]) -> str:
    """Write arguments of the library as the options of a command, by name: ``--top 5``."""

    def option(found: re.Match[str]) -> str:
        name, value = found.groups()
        flag = options.get(RENAMED.get(name, name), "")
        off = flag.startswith("--no-")
        if not flag or value == ("True" if off else "False"):
            return found.group()
        value = value.strip("'\"")
        return flag if value in ("", "True", "False") else f"{flag} {value}"

    return ARGUMENT.sub(option, text)


@contextmanager
def notes(write: Callable[[str], str] = str) -> Iterator[None]:
    """Show warnings as notes, one line each, once, as `write` words them."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield
        finally:
            found = (write(_one_line(str(warning.message))) for warning in caught)
            for message in dict.fromkeys(found):
                sys.stderr.write(f"note: {message}\n")


def _usage(error: Exception) -> str:
    message: str = error.format_message()  # type: ignore[attr-defined]
    context = getattr(error, "ctx", None)
    command = "fairridge" if context is None else context.command_path
    text = _one_line(message).rstrip(".")
    return f"{text}{'' if text.endswith('?') else '.'} See {command} --help."


def _of_file(error: OSError) -> str:
    name = error.filename
    what = {
        errno.ENOENT: "there is no such file; check the name",
        errno.EACCES: "no permission; check the rights of the file and its folder",
        errno.EPERM: "no permission; check the rights of the file and its folder",
        errno.EISDIR: "this is a folder; name a file in it",
        errno.ENOTDIR: "a part of this path is not a folder; check the name",
        errno.EROFS: "the file system is read-only; choose another place",
        errno.ENOSPC: "no space is left on the device",
    }.get(error.errno or 0, _one_line(error.strerror or str(error)))
    what = what.rstrip(".")
    return f"{name}: {what}." if name else f"{what}."


def _one_line(text: str) -> str:
    return " ".join(text.split())
