"""Parquet files: finding them, checking before the first pass that they belong together.

Files must stay as they are from the first look at them to the end of the last pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from glob import glob, has_magic
from hashlib import blake2b
from os import fspath
from os.path import abspath, dirname, realpath
from pathlib import Path, PurePath, PurePosixPath
from typing import Any

from fairridge.outputs import refuse_inputs
from fairridge.sources.roles import ColumnType, column_types

SUFFIXES = (".parquet", ".pq", ".parq")
# Largest number of files named in one message.
NAMED_FILES = 5
ADVICE = (
    "Rows of two versions must not be mixed: leave the files alone while they are used, and call "
    "fairridge.sources.parquet again to use what is there now."
)


@dataclass(frozen=True)
class DataFile:
    """One file, and what its footer says."""

    path: str  # its name, for messages
    place: str  # its name within the file system
    system: Any  # where it is (pyarrow FileSystem)
    n_rows: int = 0  # rows in it
    types: dict[str, ColumnType] | None = None  # its columns
    problem: str | None = None  # why it cannot be read
    state: tuple[Any, ...] = ()  # identifies this version of it; see `_state`


def wanted_paths(path_or_glob: Any) -> tuple[str, ...]:
    """Return what was asked for, a path or a list of them, as a tuple of its own."""
    many = isinstance(path_or_glob, Sequence) and not isinstance(path_or_glob, str)
    return tuple(fspath(item) for item in (path_or_glob if many else [path_or_glob]))


def find_files(path_or_glob: Any) -> list[DataFile]:
    """Find files by path, folder, pattern, URI, or a list of these, each file once."""
    files = _once(wanted_paths(path_or_glob))
    if not files:
        raise FileNotFoundError(f"no Parquet files at {path_or_glob!r}.")
    return files


def require_same_files(paths: tuple[str, ...], files: list[DataFile]) -> None:
    """Raise, naming a file, if files have been added or removed."""
    now = _once(paths)
    known, present = ({file.path for file in some} for some in (files, now))
    for what, names in (("removed", known - present), ("added", present - known)):
        if names:
            more = f" and {len(names) - 1} more" if len(names) > 1 else ""
            raise ValueError(
                f"{min(names)}{more}: {what} since the files were first read. {ADVICE}"
            )


def require_unchanged(file: DataFile, opened: Any) -> None:
    """Raise, naming the file, if what is open now is not the file whose footer was read."""
    if _state(file, opened) != file.state:
        raise ValueError(f"{file.path} has changed since it was first read. {ADVICE}")


def _state(file: DataFile, opened: Any) -> tuple[Any, ...]:
    """Return what identifies a version of an open file without reading its rows."""
    # That is its size, the time of the last change, if the file system knows it, and a digest of
    # the footer, which holds the places, sizes and extremes of all column chunks.
    size = int(opened.size())
    # A Parquet file ends with its footer, four bytes of the footer's length, and "PAR1".
    length = int.from_bytes(opened.read_at(4, max(size - 8, 0)), "little") + 8
    footer = opened.read_at(min(length, size), max(size - length, 0))
    # A file that took this name after the opening shows in the time of the change.
    info = file.system.get_file_info(file.place)
    return size, info.mtime_ns, blake2b(footer, digest_size=16).digest()


def refuse_sources(path: Any, path_or_glob: Any) -> None:
    """Raise if a file to write is among those to read, or would be read with them later."""
    # Elsewhere than on this machine there is nothing that could be overwritten.
    local = [
        item for item in wanted_paths(path_or_glob) if "://" not in item or item[:5] == "file:"
    ]
    refuse_inputs(path, [file.place for item in local for file in _found(item)])
    named = Path(realpath(dirname(abspath(path))), Path(path).name)
    for folder in (Path(realpath(item)) for item in local if Path(item).is_dir()):
        for place in (named, Path(realpath(path))):
            if place.is_relative_to(folder) and _is_data(place, fspath(folder)):
                raise ValueError(
                    f"{fspath(path)} would be in a folder of inputs ({folder}), and be read with "
                    "them the next time; choose another folder for the output."
                )


def _once(paths: tuple[str, ...]) -> list[DataFile]:
    """Find files, each of them once, under whatever names."""
    systems: list[Any] = []
    seen: dict[tuple[int, str], DataFile] = {}
    for file in (file for path in paths for file in _found(path)):
        same = (k for k, system in enumerate(systems) if system.equals(file.system))
        number = next(same, len(systems))
        if number == len(systems):
            systems.append(file.system)
        local = file.system.type_name == "local"
        seen.setdefault((number, realpath(file.place) if local else file.place), file)
    return list(seen.values())


def _found(path: str) -> list[DataFile]:
    from pyarrow import fs

    if "://" in path:
        system, place = fs.FileSystem.from_uri(path)
        info = system.get_file_info(place)
        if info.type != fs.FileType.Directory:
            return [DataFile(path, place, system)]
        inside = system.get_file_info(fs.FileSelector(place, recursive=True))
        places = sorted(
            item.path
            for item in inside
            if item.type == fs.FileType.File and _is_data(PurePosixPath(item.path), place)
        )
        return [DataFile(place, place, system) for place in places]
    system = fs.LocalFileSystem()
    pattern = has_magic(path) and not Path(path).exists()
    matches = sorted(glob(path, recursive=True)) if pattern else [path]
    return [DataFile(place, place, system) for match in matches for place in _inside(match)]


def _inside(path: str) -> list[str]:
    """Return the data files in a folder, and anything else as it is."""
    if not Path(path).is_dir():
        return [path]
    inside = Path(path).rglob("*")
    return sorted(fspath(item) for item in inside if item.is_file() and _is_data(item, path))


def _is_data(path: PurePath, folder: str) -> bool:
    """Whether a file in a folder holds rows; names with _ or . in front do not."""
    # Of the folder itself any name will do: it was asked for.
    parts = path.relative_to(folder).parts
    return path.name.endswith(SUFFIXES) and not any(part.startswith(("_", ".")) for part in parts)


def read_footers(files: list[DataFile]) -> list[DataFile]:
    """Read what the end of every file says about it."""
    seen: dict[Any, dict[str, ColumnType]] = {}
    read = []
    with ThreadPoolExecutor(8) as pool:
        for file in pool.map(_with_footer, files):
            if file.types is not None:  # kept once, however many files have them
                file = replace(file, types=seen.setdefault(tuple(file.types.items()), file.types))
            read.append(file)
    return read


def _with_footer(file: DataFile) -> DataFile:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with (
            file.system.open_input_file(file.place) as handle,
            pq.ParquetFile(handle) as opened,
        ):
            schema, n_rows = opened.schema_arrow, opened.metadata.num_rows
            state = _state(file, handle)
    except FileNotFoundError:
        return replace(file, problem="there is no such file")
    except (pa.ArrowException, OSError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        return replace(file, problem=f"truncated, or not a Parquet file ({reason})")
    kinds = {name: column.kind for name, column in column_types(schema.empty_table()).items()}
    if not n_rows:  # pandas 2 writes text without rows as nulls
        kinds |= {field.name: "text" for field in schema if pa.types.is_null(field.type)}
    types = {name: ColumnType(kind, str(schema.field(name).type)) for name, kind in kinds.items()}
    return replace(file, n_rows=n_rows, types=types, state=state)


def known_types(files: list[DataFile]) -> dict[str, ColumnType]:
    """Return the columns of all files together; the first that can be used decides."""
    # Files without rows are asked last: their columns may have other types.
    _raise_for({file.path: file.problem for file in files if file.problem}, len(files))
    types: dict[str, ColumnType] = {}
    for file in sorted(files, key=lambda file: not file.n_rows):
        for name, column in (file.types or {}).items():
            if name not in types or types[name].kind is None:
                types[name] = column
    return types


def check_files(
    files: list[DataFile], types: dict[str, ColumnType], columns: Sequence[str]
) -> None:
    """Raise, naming the files, unless all have these columns, of the same kinds."""
    # Files without rows need only have the columns.
    problems = {}
    for file in files:
        here = file.types or {}
        for name in columns:
            if name not in here:
                problems[file.path] = f"has no column {name!r}"
            elif file.n_rows and here[name].kind != types[name].kind:
                problems[file.path] = (
                    f"column {name!r} has type {here[name].name}, but {types[name].name} in others"
                )
    _raise_for(problems, len(files))


def _raise_for(problems: dict[str, Any], n_files: int) -> None:
    if not problems:
        return
    shown = [f"{path}: {problem}" for path, problem in list(problems.items())[:NAMED_FILES]]
    more = len(problems) - len(shown)
    raise ValueError(
        f"{len(problems)} of {n_files} Parquet file(s) cannot be used. "
        + "; ".join(shown)
        + (f"; and {more} more." if more else ".")
    )
