"""Tables in: CSV and Parquet files, and data sets that ship."""

from __future__ import annotations

import errno
import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from glob import has_magic
from hashlib import sha256
from pathlib import Path
from typing import Any

from fairridge.arguments import meant
from fairridge.cli.errors import BadInputError, naming

BUILTIN = "builtin:"
SEPARATORS = ",;\t|"
# The names by which pyarrow knows that a CSV file is compressed, and how.
COMPRESSED = {".gz": "gzip", ".bz2": "bz2", ".lz4": "lz4", ".zst": "zstd"}


@dataclass(frozen=True)
class Source:
    """A table, and what is known of its columns."""

    name: str  # as the user calls it
    table: Any  # all columns (pyarrow Table)
    # The response of a data set that ships; (time, event) for survival.
    response: tuple[str, ...] = ()
    sensitive: tuple[str, ...] = ()  # its sensitive attributes
    family: str | None = None  # its family
    is_csv: bool = False  # whether it was text, where numbers are written in some way

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of all columns."""
        return tuple(self.table.column_names)

    @property
    def fingerprint(self) -> str:
        """Name, and for a file the SHA-256 of its bytes."""
        if self.name.startswith(BUILTIN):
            return f"{self.name} (ships with fairridge)"
        return f"{Path(self.name).name}, SHA-256 {sha256(Path(self.name).read_bytes()).hexdigest()}"


def read(name: str, separator: str | None = None, text: Sequence[str] = ()) -> Source:
    """Read a file, or a data set that ships; `text` are columns that are text in a CSV file."""
    if name.startswith(BUILTIN):
        from fairridge.datasets import load

        data = load(name.removeprefix(BUILTIN), backend="pyarrow")
        response = (data.response,) if isinstance(data.response, str) else tuple(data.response)
        return Source(name, data.frame, response, tuple(data.sensitive), data.family)
    if not name:
        raise BadInputError("the name of the data is empty; name a file.")
    path = Path(name)
    if has_magic(name) and not path.exists():
        raise BadInputError(f"{name} is a pattern; this command takes one file.")
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "", name)
    if path.exists() and not path.is_file():
        raise BadInputError(f"{name} is a device or a pipe, which is read only once; name a file.")
    delimiter = _delimiter(separator)
    start = _start(path)
    is_csv = start[:4] != b"PAR1"
    table = _read_csv(path, start, delimiter, text) if is_csv else _read_parquet(path)
    if table.num_rows == 0:
        raise BadInputError(f"{name} has no rows; add some below the names of the columns.")
    return Source(name, _checked(table, name), is_csv=is_csv)


def names(values: Sequence[str] | None, option: str) -> tuple[str, ...]:
    """Read names that were given by repeating an option, or with commas; each once."""
    parts = (part.strip() for value in values or () for part in value.split(","))
    columns = tuple(part for part in parts if part)
    twice = repeated(columns)
    if twice is not None:
        raise BadInputError(f"{option} names {twice!r} more than once; name it once.")
    return columns


def repeated(columns: Sequence[str]) -> str | None:
    """Return the first name that occurs more than once, if any."""
    return next((name for name, count in Counter(columns).items() if count > 1), None)


def check_columns(wanted: Sequence[str], source: Source, option: str) -> None:
    """Raise unless the table has these columns."""
    for name in wanted:
        if name not in source.columns:
            hint = meant(name, source.columns)
            raise BadInputError(f"{source.name} has no column {name!r} ({option}). {hint}")


def _delimiter(separator: str | None) -> str | None:
    """Check what separates columns; a tab may be written as in other languages."""
    if separator is None or separator == "\\t":
        return separator and "\t"
    if len(separator) != 1 or not separator.isascii() or separator in '"\r\n\0':
        raise BadInputError(
            f"--separator {separator!r} must be one ASCII character, such as ',' or ';', or '\\t' "
            "for a tab."
        )
    return separator


def _start(path: Path) -> bytes:
    """Return the first bytes, decompressed if the name ends like that; raise if that fails."""
    import pyarrow

    # Python says at once what is wrong with a file, if anything is.
    with naming(os.fspath(path)), path.open("rb") as file:
        start = file.read(1 << 16)
    compression = COMPRESSED.get(path.suffix)
    if compression is None:
        return start
    try:
        with pyarrow.input_stream(os.fspath(path), compression=compression) as stream:
            return bytes(stream.read(1 << 16))
    except OSError as error:
        raise BadInputError(
            f"{path} is not a sound {compression} file, although its name ends in {path.suffix}; "
            "rename it if it is not compressed, or make it again."
        ) from error


def _read_parquet(path: Path) -> Any:
    import pyarrow
    import pyarrow.parquet as pq

    try:
        return pq.read_table(os.fspath(path))
    except pyarrow.ArrowException as error:
        raise BadInputError(f"{path} is not a sound Parquet file: {error}") from error


def _read_csv(path: Path, start: bytes, separator: str | None, text: Sequence[str]) -> Any:
    import pyarrow
    import pyarrow.csv as csv

    if not start.strip():
        raise BadInputError(f"{path} is empty; the first line must name the columns.")
    if b"\0" in start:
        raise BadInputError(f"{path} is neither text nor Parquet; pass a CSV or a Parquet file.")
    # The line of the names tells what separates columns.
    lines = start.decode("utf-8-sig", "replace").splitlines()
    blank = next(k for k, line in enumerate(lines) if line.strip())

    def table(text: Sequence[str], **options: Any) -> Any:
        return csv.read_csv(
            os.fspath(path),
            read_options=csv.ReadOptions(skip_rows=blank),
            parse_options=csv.ParseOptions(
                delimiter=separator or max(SEPARATORS, key=lines[blank].count),
                newlines_in_values=True,
            ),
            convert_options=csv.ConvertOptions(
                strings_can_be_null=True,
                column_types=dict.fromkeys(text, pyarrow.string()),
                **options,
            ),
        )

    try:
        return _with_codes(table(text), table)
    except pyarrow.ArrowException as error:
        raise BadInputError(f"{path} is not a sound CSV file: {error}") from error


def _with_codes(table: Any, read_again: Callable[..., Any]) -> Any:
    """Keep digits that begin with a zero, such as ZIP codes, as the text that they are."""
    import pyarrow.compute as pc
    import pyarrow.types as types

    whole = [field.name for field in table.schema if types.is_integer(field.type)]
    if not whole or repeated(table.column_names) is not None:
        return table
    texts = read_again(whole, include_columns=whole)
    for name in whole:
        column = texts.column(name)
        if pc.any(pc.match_substring_regex(column, r"^\s*[+-]?0[0-9]")).as_py():
            table = table.set_column(table.column_names.index(name), name, column)
    return table


def _checked(table: Any, name: str) -> Any:
    import pyarrow.types as types

    twice = repeated(table.column_names)
    if twice is not None:
        raise BadInputError(f"{name} has more than one column named {twice!r}; rename them.")
    for column in table.schema:
        if types.is_binary(column.type) or types.is_large_binary(column.type):
            raise BadInputError(
                f"column {column.name!r} of {name} is not UTF-8 text; save the file as UTF-8."
            )
    return table
