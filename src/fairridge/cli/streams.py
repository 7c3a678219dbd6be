"""Rows that do not fit into memory: Parquet files, read batch by batch."""

from __future__ import annotations

import sys
from glob import has_magic
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from fairridge.cli.column_types import NOTHING, Kinds, is_text, typed
from fairridge.cli.errors import BadInputError
from fairridge.cli.inputs import BUILTIN, Source, check_columns
from fairridge.cli.options import Columns
from fairridge.cli.outputs import PARQUET
from fairridge.cli.parameters import Settings
from fairridge.cli.response_families import check_exposure, choose_family
from fairridge.cli.training_data import ColumnRoles, Data, kinds_of, read_data, roles_of

# Rows from which the family is guessed.
GUESSED_ROWS = 10_000


def is_stream(name: str, stream: bool) -> bool:
    """Whether to read batch by batch: asked for, or a pattern."""
    if name.startswith(BUILTIN):
        if stream:
            raise BadInputError("data sets that ship are small; leave --stream out.")
        return False
    return stream or (has_magic(name) and not Path(name).exists())


def read_training(
    name: str,
    columns: Columns,
    settings: Settings,
    separator: str | None,
    stream: bool,
    known: Kinds = NOTHING,
) -> Data:
    """Read a table, or open a source of rows, and give its columns their roles."""
    if not is_stream(name, stream):
        return read_data(name, columns, settings, separator, known)
    from fairridge import sources

    first = _first_rows(name)
    roles = _plain_roles(first, columns, known)
    family, reason = choose_family(first.table, roles.target, columns.family, first)
    check_exposure(columns.exposure, family)
    source = sources.parquet(
        name,
        response=roles.target if len(roles.target) > 1 else roles.target[0],
        sensitive=list(roles.sensitive),
        predictors=list(roles.predictors),
        weight=columns.weight,
        offset=columns.offset,
        exposure=columns.exposure,
        progress=sys.stderr.isatty() and find_spec("tqdm") is not None,
    )
    return Data(
        origin=name,
        X=source,
        roles=roles,
        family=family,
        reason=reason,
        columns=columns,
        remarks=(f"Read batch by batch: {source.n_rows:,} rows.",),
    )


def _plain_roles(first: Source, columns: Columns, known: Kinds) -> ColumnRoles:
    """Return roles; raise for columns that would be read otherwise if the rows were in memory."""
    if columns.drop_missing:
        raise BadInputError("--drop-missing needs the rows in memory; drop them in the files.")
    if columns.numeric or columns.date:
        raise BadInputError(
            "--numeric and --date need the rows in memory; give the columns of the files their "
            "types."
        )
    roles, kinds = roles_of(first, columns), kinds_of(columns)
    check_columns(kinds.categorical, first, "--categorical")
    kinds = kinds.like(known)
    # Text that means numbers or dates in the first rows may mean that in all of them, and then the
    # same file would give two models.
    for name in (*roles.sensitive, *roles.predictors, *roles.target):
        column = first.table.column(name)
        if name in kinds.categorical and not is_text(column.type):
            raise BadInputError(
                f"--categorical {name}: the column holds {column.type}, and a stream is read as it "
                "is; make it text in the files."
            )
        if typed(first.table, [name], kinds).notes:
            example = next((v for v in column.to_pylist() if v is not None), "")
            raise BadInputError(
                f"column {name!r} holds text or dates that mean numbers, such as '{example}', and "
                "a stream is read as it is; turn them into numbers in the files, or, if they are "
                f"categories, make them text and say --categorical {name}."
            )
    return roles


def write_predictions(
    model: Any, name: str, out: str | None, offset: str | None, exposure: str | None
) -> int:
    """Predict for rows in files, and return how many there were."""
    from fairridge import sources
    from fairridge.sources.predictions import BOTH

    if out is None or not out.endswith(PARQUET):
        raise BadInputError("predictions for a stream go to a Parquet file: --out FILE.parquet.")
    source = sources.parquet(name, offset=offset, exposure=exposure)
    source.predictions(model, BOTH).write(out, keep=_first_rows(name).columns)
    return int(source.n_rows)


def _first_rows(name: str) -> Source:
    """Return the first rows of the first file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from fairridge.sources._files import find_files

    file = find_files(name)[0]
    try:
        with pq.ParquetFile(file.place, filesystem=file.system) as opened:
            batch = next(opened.iter_batches(GUESSED_ROWS), None)
            empty = opened.schema_arrow.empty_table()
    except pa.ArrowException as error:
        raise BadInputError(f"{file.path} is not a sound Parquet file: {error}") from error
    return Source(name, empty if batch is None else pa.Table.from_batches([batch]))
