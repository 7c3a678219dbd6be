"""Rows in Parquet files, read batch by batch while the batch before is summed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import Any

from fairridge._progress import Progress
from fairridge.arguments import check_flag
from fairridge.outputs import writing
from fairridge.sources._files import (
    DataFile,
    check_files,
    find_files,
    known_types,
    read_footers,
    refuse_sources,
    require_same_files,
    require_unchanged,
    wanted_paths,
)
from fairridge.sources.batch import Batch, add, located, prefetched, rows_per_batch
from fairridge.sources.predictions import BatchPredictor, PredictedRows, other_predictions
from fairridge.sources.roles import assign_roles
from fairridge.sources.source import RowSource

# A column chunk is read through a buffer of this size, however large it is.
BUFFER_BYTES = 1 << 20


class ParquetRows(RowSource):
    """Rows in Parquet files; see `parquet`.

    Attributes
    ----------
    roles : Roles
        Which columns are what.
    ordered : bool
        True: files are read one after the other.

    See Also
    --------
    parquet : Makes it.
    ParquetPredictions : What its predictions are.

    References
    ----------
    .. [1] docs/larger-than-memory.md.

    Examples
    --------
    >>> import tempfile
    >>> from fairridge import sources
    >>> import pandas as pd
    >>> people = pd.DataFrame({"sex": ["f", "m"] * 20, "age": range(40)})
    >>> people["wage"] = people["age"] % 7 + people["age"]
    >>> folder = tempfile.mkdtemp()
    >>> people.to_parquet(f"{folder}/people.parquet")
    >>> rows = sources.parquet(folder, response="wage", sensitive=["sex"])
    >>> print(rows.roles.sensitive, rows.ordered)
    ('sex',) True
    """

    ordered = True

    def __init__(
        self, path_or_glob: Any, progress: bool, batch_rows: int | None, *roles: Any
    ) -> None:
        self.paths = wanted_paths(path_or_glob)
        self._files = read_footers(find_files(path_or_glob))
        self._types = known_types(self._files)
        self.roles = assign_roles(self._types, *roles)
        if self.roles.response:  # of rows to predict for, the model says which columns it needs
            self.require(self.roles.columns)
        self._progress = progress
        self._batch_rows = batch_rows
        self._passes = 0

    def __repr__(self) -> str:
        return f"ParquetRows({self.n_rows:,} rows in {len(self._files)} file(s))"

    @property
    def n_rows(self) -> int:
        """Rows in all files, whatever their weights."""
        return sum(file.n_rows for file in self._files)

    def map_batches(self, work: Callable[[Batch], Any], columns: tuple[str, ...]) -> Any:
        """Add up a function of the batches in order; the next ones are read meanwhile."""
        self._passes += 1
        batches = prefetched(self.batches(columns))
        if check_flag("progress", self._progress):
            batches = _shown(batches, self.n_rows, f"pass {self._passes}")
        return reduce(add, (located(work, batch) for batch in batches), None)

    def batches(self, columns: Sequence[str], *, as_codes: bool = True) -> Iterator[Batch]:
        """Yield the rows of all files as pyarrow tables of bounded size.

        Every file must be the one whose footer was read at first, before and
        after its rows are read: what a pass adds up is one version of the rows.

        Parameters
        ----------
        columns : sequence of str
            The columns to read.
        as_codes : bool
            Whether text is read as codes into levels, which saves memory and time.

        Returns
        -------
        iterator of pyarrow.Table
            The batches, in the order of the rows.
        """
        text = [name for name in columns if as_codes and self.roles.kinds[name] == "text"]
        size = self._batch_rows or rows_per_batch(len(columns))
        require_same_files(self.paths, self._files)
        for part, file in enumerate(self._files):
            yield from _batches_of(file, part, columns, text, size)

    def require(self, columns: Sequence[str]) -> None:
        """Raise unless all files have these columns, of the same kinds."""
        for name in columns:
            if name not in self._types:
                raise ValueError(
                    f"the files have no column {name!r}; they have {', '.join(self._types)}."
                )
        check_files(self._files, self._types, columns)

    def no_rows(self, columns: Sequence[str]) -> dict[str, Any]:
        """Return empty columns, of the types in the first file."""
        import pyarrow.parquet as pq

        with pq.ParquetFile(self._files[0].place, filesystem=self._files[0].system) as opened:
            table = opened.schema_arrow.empty_table()
        return {name: table.column(name) for name in columns}

    def predictions(self, model: Any, method: str) -> ParquetPredictions:
        """Return predictions that are made when they are written or iterated over."""
        predictor = BatchPredictor.of(model, method, self.roles)
        self.require(predictor.columns)
        return ParquetPredictions(self, predictor)

    def beside(self, predictions: Any) -> PredictedRows:
        """Return the rows with predictions for them."""
        if not isinstance(predictions, ParquetPredictions) or predictions._source is not self:
            raise other_predictions(self, predictions)
        return PredictedRows(self, (), predictions._predictor)


def _shown(batches: Iterable[Batch], n_rows: int, label: str) -> Iterator[Batch]:
    """Show a bar with rows per second while batches pass by."""
    with Progress(n_rows, True, " rows", unit_scale=True, desc=label) as bar:
        for batch in batches:
            yield batch
            bar.step(batch.frame.num_rows)


def _batches_of(
    file: DataFile, part: int, columns: Sequence[str], text: list[str], size: int
) -> Iterator[Batch]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    start = 0
    options: Any = {"buffer_size": BUFFER_BYTES, "pre_buffer": False, "read_dictionary": text}
    try:
        with file.system.open_input_file(file.place) as handle:
            require_unchanged(file, handle)
            with pq.ParquetFile(handle, **options) as opened:
                for records in filter(len, opened.iter_batches(size, columns=list(columns))):
                    stop = start + records.num_rows
                    where = f"{file.path}, rows {start} to {stop - 1}"
                    yield Batch(pa.Table.from_batches([records]), part, start, where)
                    start = stop
            require_unchanged(file, handle)
    except pa.ArrowMemoryError:
        raise
    except (pa.ArrowException, OSError) as error:
        raise ValueError(
            f"{file.path} cannot be read from row {start} on: it is damaged, or has changed since "
            f"the pass began ({error})."
        ) from error


class ParquetPredictions:
    """Predictions for rows in Parquet files: iterate over tables, or write them to a file.

    Parameters
    ----------
    source : ParquetRows
        The rows.
    predictor : BatchPredictor
        The model.

    See Also
    --------
    ParquetRows : The rows.

    References
    ----------
    .. [1] docs/larger-than-memory.md.

    Examples
    --------
    >>> import tempfile
    >>> from fairridge import FairRidgeRegressor, sources
    >>> import pandas as pd
    >>> people = pd.DataFrame({"sex": ["f", "m"] * 20, "age": range(40)})
    >>> people["wage"] = people["age"] % 7 + people["age"]
    >>> folder = tempfile.mkdtemp()
    >>> people.to_parquet(f"{folder}/people.parquet")
    >>> rows = sources.parquet(folder, response="wage", sensitive=["sex"])
    >>> model = FairRidgeRegressor(0.05).fit(rows)
    >>> print(sum(len(table) for table in model.predict(rows)))
    40
    """

    def __init__(self, source: ParquetRows, predictor: BatchPredictor) -> None:
        self._source = source
        self._predictor = predictor

    def __iter__(self) -> Iterator[Any]:
        return self._tables(())

    def _tables(self, keep: Sequence[str]) -> Iterator[Any]:
        import pyarrow as pa

        wanted = tuple(dict.fromkeys((*self._predictor.columns, *keep)))
        for batch in prefetched(self._source.batches(wanted, as_codes=False)):
            predicted = located(lambda batch: self._predictor(batch.frame), batch)
            kept = {name: batch.frame.column(name) for name in keep}
            yield pa.table(kept | predicted)

    def _kept(self, keep: str | Sequence[str]) -> tuple[str, ...]:
        """Check the names of columns to write beside the predictions."""
        kept = (keep,) if isinstance(keep, str) else tuple(keep)
        for name in self._predictor.example():
            if name in kept:
                raise ValueError(
                    f"column {name!r} cannot be kept, because predictions are written under that "
                    "name; rename it in the files, or leave it out of keep."
                )
        self._source.require(kept)
        return kept

    def write(self, path: str | PathLike[str], *, keep: str | Sequence[str] = ()) -> Path:
        """Write all predictions to one Parquet file, in the order of the rows.

        The file appears under its name when it is complete. None of the files that the rows
        come from is overwritten: such a name is a ValueError.

        Parameters
        ----------
        path : str or path
            The file.
        keep : str or sequence of str
            Columns of the input to write beside the predictions, such as a key.

        Returns
        -------
        Path
            The file.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        refuse_sources(path, self._source.paths)
        kept = self._kept(keep)
        tables = self._tables(kept)
        first = next(tables, None)
        if first is None:
            first = pa.table(self._source.no_rows(kept) | self._predictor.example())
        schema = first.schema
        # Numbers hardly repeat: a dictionary of them would take memory for nothing.
        repeating = [field.name for field in schema if not pa.types.is_floating(field.type)]
        options: Any = {"use_dictionary": repeating or False}
        with writing(path) as file, pq.ParquetWriter(file, schema, **options) as writer:
            for table in chain([first], tables):
                writer.write_table(table.cast(schema))
        return Path(path)


def parquet(
    path_or_glob: Any,
    *,
    response: Any = None,
    sensitive: Any = None,
    predictors: Any = None,
    weight: str | None = None,
    offset: str | None = None,
    exposure: str | None = None,
    progress: bool = False,
    batch_rows: int | None = None,
) -> ParquetRows:
    """Take rows from Parquet files, in memory that does not grow with them.

    The footers of all files are read at once: files that are truncated, or
    that disagree about a column, are named before the first pass.

    Parameters
    ----------
    path_or_glob : str, path, or list of these
        A file, a folder (with the folders in it), a pattern such as
        ``"data/*.parquet"``, or a URI that pyarrow knows.
    response : str, or (time, event)
        The response; leave it out for rows to predict for.
    sensitive : str or list of str and of tuples of str
        Sensitive attributes; a tuple is an intersection.
    predictors : list of str, optional
        Predictors; by default all columns without another role.
    weight : str, optional
        Column of sample weights; a row of weight zero is absent.
    offset : str, optional
        Column that is added to the linear predictor.
    exposure : str, optional
        Column of positive numbers that expected responses are proportional to, for
        families with the log link. Predictions for rows with an exposure are counts
        or amounts, those for others rates.
    progress : bool, default=False
        Whether to show a bar with rows per second (needs tqdm).
    batch_rows : int, optional
        Rows per batch; by default as many as take about 16 MB.

    Returns
    -------
    ParquetRows
        What `fit`, `path` and `predict` take instead of (X, y).

    See Also
    --------
    dask : Rows on a Dask cluster.
    spark : Rows on a Spark cluster.
    moments : What parties share instead of rows.

    References
    ----------
    .. [1] docs/larger-than-memory.md.

    Examples
    --------
    >>> import tempfile
    >>> from fairridge import FairRidgeRegressor, sources
    >>> import pandas as pd
    >>> people = pd.DataFrame({"sex": ["f", "m"] * 20, "age": range(40)})
    >>> people["wage"] = people["age"] % 7 + people["age"]
    >>> folder = tempfile.mkdtemp()
    >>> people.to_parquet(f"{folder}/people.parquet")
    >>> rows = sources.parquet(f"{folder}/*.parquet", response="wage", sensitive=["sex"])
    >>> print(FairRidgeRegressor(unfairness=0.05).fit(rows).status_)
    inactive
    """
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError as error:
        raise ImportError(
            "fairridge.sources.parquet needs pyarrow: pip install 'fairridge[parquet]'"
        ) from error
    return ParquetRows(
        path_or_glob,
        progress,
        batch_rows,
        response,
        sensitive,
        predictors,
        weight,
        offset,
        exposure,
    )
