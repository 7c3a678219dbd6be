"""Rows in files: time against bare reading and multiplying, memory, and growth with the rows.

``python -m benchmarks.streaming [--rows 200_000 1_000_000 …] [--columns 30] [--folder DIR]``
"""

from __future__ import annotations

import argparse
import multiprocessing
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.figures import Figure, Part, slope, table
from benchmarks.measure import peak_megabytes
from fairridge import FairRidgeClassifier, FairRidgeRegressor, sources
from fairridge.estimators._training import read_training
from fairridge.sources.generate import generate

# More rows take long to write: python -m benchmarks.streaming --rows 20_000_000.
SIZES = (250_000, 1_000_000, 4_000_000)
COLUMNS = 30
SENSITIVE = 3
Measured = tuple[float, float, int]  # seconds, peak megabytes, passes


def names(columns: int) -> list[str]:
    S = [f"s{k + 1}" for k in range(SENSITIVE)]
    return S + [f"x{k + 1}" for k in range(columns - SENSITIVE)]


def source(folder: Path, columns: int, response: str) -> sources.ParquetRows:
    chosen = names(columns)
    return sources.parquet(
        folder,
        response=response,
        sensitive=chosen[:SENSITIVE],
        predictors=chosen[SENSITIVE:],
    )


def bare(folder: Path, columns: int) -> int:
    """What any method must do: read the columns, multiply the matrix by itself."""
    import pyarrow.parquet as pq

    total: Any = 0.0
    for path in sorted(folder.glob("*.parquet")):
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(1 << 17, columns=[*names(columns), "y"]):
                Z = np.column_stack([column.to_numpy() for column in batch.columns])
                total = total + Z.T @ Z
    return 1


def gaussian(folder: Path, columns: int) -> int:
    """A 101-point path."""
    path = FairRidgeRegressor().path(source(folder, columns, "y"))
    return int(path.at(0.05).n_iter_)


def logistic(folder: Path, columns: int) -> int:
    """One fit at r = 0.05."""
    model = FairRidgeClassifier(0.05).fit(source(folder, columns, "label"))
    return int(model.n_iter_)


CASES: dict[str, tuple[Callable[[Path, int], int], int]] = {
    "pyarrow and NumPy: read, form ZᵀZ": (bare, 3),
    "fairridge, gaussian path, 101 bounds": (gaussian, 3),
    "fairridge, logistic fit, r = 0.05": (logistic, 1),
}


def measure(case: str, folder: Path, columns: int) -> Measured:
    """Measure in a fresh process, best of several calls."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_measured, (case, folder, columns))


def _measured(case: str, folder: Path, columns: int) -> Measured:
    function, calls = CASES[case]
    best, passes = float("inf"), 0
    for _ in range(calls):
        start = time.perf_counter()
        passes = function(folder, columns)
        best = min(best, time.perf_counter() - start)
    return best, peak_megabytes(), passes


def files(sizes: Sequence[int], columns: int, folder: Path) -> Iterator[Figure]:
    """Measure every case on files of every size."""
    for size in sizes:
        place, floor = _files(folder, size, columns), float("nan")
        for case in CASES:
            seconds, peak, passes = measure(case, place, columns)
            floor = seconds if case == next(iter(CASES)) else floor
            ratio = seconds / floor
            extra = {
                "passes": str(passes),
                "× per pass": f"{ratio / passes:.2f}",
                "peak MB": f"{peak:.0f}",
            }
            yield Figure(f"{size:,} rows", case, seconds, ratio, extra, "rows", size)


def _files(folder: Path, size: int, columns: int) -> Path:
    """Files of this size, made once."""
    target = folder / f"{size}x{columns}"
    if not (target / "done").exists():
        generate(target, rows=size, columns=columns, sensitive=SENSITIVE)
        (target / "done").touch()
    return target


def dask(size: int, columns: int, folder: Path) -> Iterator[Figure]:
    """Time one pass with gradient and Hessian, by number of workers."""
    place = _files(folder, size, columns)
    for workers in (1, 2):
        case = f"fairridge, one logistic pass, workers: {workers}"
        try:
            seconds, extra = _dask_pass(place, columns, workers), {"passes": "1"}
        except (ImportError, TimeoutError) as reason:
            seconds, extra = None, {"why": str(reason) or "workers did not answer"}
        yield Figure(f"{size:,} rows on Dask", case, seconds, None, extra)


def _dask_pass(folder: Path, columns: int, workers: int, calls: int = 3) -> float:
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    # A worker has one thread, and BLAS in it has one, too.
    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster),
    ):
        chosen = names(columns)
        collection = sources.dask(
            dd.read_parquet(f"{folder}/*.parquet", split_row_groups=2),
            response="label",
            sensitive=chosen[:SENSITIVE],
            predictors=chosen[SENSITIVE:],
        )
        training = read_training(FairRidgeClassifier(), collection, *[None] * 4)
        engine, family = training.engine, training.response.family
        center = engine.moments().mean[:columns]
        best = float("inf")
        for _ in range(calls):
            start = time.perf_counter()
            engine.derivatives(family, center, np.zeros(1), np.full((1, columns), 0.01), 2)
            best = min(best, time.perf_counter() - start)
    return best


def streamed(
    quick: bool, sizes: Sequence[int] = SIZES, columns: int = COLUMNS, folder: Path | None = None
) -> Iterator[Figure]:
    """Write files, or use those that are there, and measure."""
    sizes = (20_000, 100_000) if quick else sizes
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary) if folder is None else folder
        yield from files(sizes, columns, place)
        if not quick:
            yield from dask(sizes[-1], columns, place)


def render(part: Part, figures: Sequence[Figure]) -> list[str]:
    """Write the table, and slopes in rows."""
    lines, found = table(part, figures), {}
    for case in CASES:
        times = {one.size: one.seconds for one in figures if one.case == case and one.seconds}
        if len(times) > 1:
            found[case] = slope(list(times), list(times.values()))
    shown = "; ".join(f"{case}: {steep:.2f}" for case, steep in found.items())
    return [*lines, "", f"Slope of log seconds over log rows (1 is linear): {shown}."]


PART = Part("Rows in files", "bare", streamed, render)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.streaming", description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--columns", type=int, default=COLUMNS)
    parser.add_argument("--folder", type=Path, help="where files are kept; by default nowhere")
    arguments = parser.parse_args()
    figures = []
    for figure in streamed(False, sorted(arguments.rows), arguments.columns, arguments.folder):
        print(figure, flush=True)
        figures.append(figure)
    print("\n".join(render(PART, figures)))


if __name__ == "__main__":
    main()
