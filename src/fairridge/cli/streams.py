"""Rows that do not fit into memory: Parquet files, read batch by batch."""

from __future__ import annotations

import sys
from glob import has_magic
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from fairridge.cli.errors import BadInputError
from fairridge.cli.inputs import BUILTIN, Source, check_columns, names, read
from fairridge.cli.option_groups import Columns
from fairridge.cli.response_families import choose_family
from fairridge.cli.training_data import (
    Data,
    check_controls,
    check_frequency,
    check_roles,
    prepare,
)

__all__ = ["is_stream", "read_training", "write_predictions"]

# Rows from which the family is guessed.
FIRST_ROWS = 10_000


def is_stream(name: str, stream: bool) -> bool:
    """Whether to read batch by batch: asked for, or a pattern."""
    if name.startswith(BUILTIN):
        if stream:
            raise BadInputError("data sets that ship are small; leave --stream out.")
        return False
    return stream or (has_magic(name) and not Path(name).exists())


def read_training(name: str, columns: Columns, separator: str | None, stream: bool) -> Data:
    """Read a table, or open a source of rows, and give its columns their roles."""
    if not is_stream(name, stream):
        return prepare(read(name, separator, columns.kinds.categorical), columns)
    from fairridge import sources

    first = _first_rows(name)
    _refuse_what_needs_memory(columns)
    target, attributes = _roles(first, columns)
    family, reason = choose_family(first.table, target, columns.family, first)
    predictors = _predictors(first, columns, target, attributes)
    source = sources.parquet(
        name,
        response=target if len(target) > 1 else target[0],
        sensitive=list(attributes),
        predictors=predictors,
        weight=columns.weight,
        offset=columns.offset,
        progress=sys.stderr.isatty() and find_spec("tqdm") is not None,
    )
    return Data(
        origin=name,
        X=source,
        y=None,
        weight=None,
        offset=None,
        response=target[0],
        sensitive=attributes,
        family=family,
        reason=reason,
        remarks=(f"Read batch by batch: {source.n_rows:,} rows.",),
        streamed=True,
        controls=check_controls(columns.controls, first, source.roles.predictors),
        min_frequency=columns.min_frequency,
        max_levels=columns.max_levels,
        missing=columns.missing,
        unknown=columns.unknown,
    )


def _roles(first: Source, columns: Columns) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the columns of the response and of S, once all roles are checked."""
    target = tuple(name for name in (columns.response, columns.event) if name)
    attributes = names(columns.sensitive, "--sensitive")
    if not columns.response or not attributes:
        raise BadInputError("say which columns are what: --response NAME and --sensitive NAME.")
    check_columns((*target, *attributes), first, "--response or --sensitive")
    others = [name for name in (columns.weight, columns.offset) if name is not None]
    check_columns(others, first, "--weight or --offset")
    check_roles(target, attributes, columns.weight, columns.offset)
    check_frequency(columns.min_frequency)
    return target, attributes


def _refuse_what_needs_memory(columns: Columns) -> None:
    if columns.drop_missing:
        raise BadInputError("--drop-missing needs the rows in memory; drop them in the files.")
    if any((columns.categorical, columns.numeric, columns.date)):
        raise BadInputError(
            "--categorical, --numeric and --date need the rows in memory; give the columns of the "
            "files their types."
        )


def write_predictions(model: Any, name: str, out: str | None, offset: str | None) -> int:
    """Predict for rows in files, and return how many there were."""
    from fairridge import sources
    from fairridge.sources.predictions import BOTH

    if out is None or not out.endswith((".parquet", ".pq")):
        raise BadInputError("predictions for a stream go to a Parquet file: --out FILE.parquet.")
    source = sources.parquet(name, offset=offset)
    source.predictions(model, BOTH).write(out, keep=_first_rows(name).columns)
    return int(source.n_rows)


def _predictors(
    first: Source, columns: Columns, target: tuple[str, ...], attributes: tuple[str, ...]
) -> list[str] | None:
    """Name the predictors where the user chose; None leaves it to the source."""
    wanted = names(columns.predictors, "--predictors")
    unwanted = names(columns.drop, "--drop")
    check_columns(wanted, first, "--predictors")
    check_columns(unwanted, first, "--drop")
    if wanted:
        return [name for name in wanted if name not in unwanted]
    if not unwanted:
        return None
    taken = {*target, *attributes, *unwanted, columns.weight, columns.offset}
    return [name for name in first.columns if name not in taken]


def _first_rows(name: str) -> Source:
    """Return the first rows of the first file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from fairridge.sources._files import find_files

    file = find_files(name)[0]
    try:
        with pq.ParquetFile(file.place, filesystem=file.system) as opened:
            batch = next(opened.iter_batches(FIRST_ROWS), None)
            empty = opened.schema_arrow.empty_table()
    except pa.ArrowException as error:
        raise BadInputError(f"{file.path} is not a sound Parquet file: {error}") from error
    if batch is None:
        return Source(name, empty)
    return Source(name, pa.Table.from_batches([batch]))
