"""Large problems: write Parquet files of any size.

``python -m fairridge.sources.generate --rows 20_000_000 --columns 30 out_dir``
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np

from fairridge._typing import Floats
from fairridge.outputs import writing

ROW_GROUP = 1 << 17


def generate(
    folder: str | Path,
    *,
    rows: int,
    columns: int = 30,
    sensitive: int = 3,
    levels: int = 0,
    rows_per_file: int = 1_000_000,
    seed: int = 0,
) -> list[Path]:
    """Write rows of correlated S and X with three responses, in memory that does not grow."""
    # Columns are s1, …, x1, …, then "y" (gaussian), "label" (0 or 1, logistic) and "count"
    # (poisson). File k depends on the seed and k alone. Files of an earlier run are overwritten; if
    # some would be left over, nothing is written and an error names one of them.
    # If `levels` is positive, s1 is text of so many levels instead of a number.
    if not 0 < sensitive < columns:
        raise ValueError(f"sensitive={sensitive} must lie between 1 and columns - 1.")
    if levels < 0:
        raise ValueError(f"levels={levels} must be 0 or a positive number.")
    target = Path(folder)
    starts = range(0, rows, rows_per_file)
    paths = [target / f"part-{number:05d}.parquet" for number in range(len(starts))]
    _make_folder(target, paths)
    weights = np.random.default_rng(seed).standard_normal(columns) / np.sqrt(columns)
    for number, (path, start) in enumerate(zip(paths, starts, strict=True)):
        n = min(rows_per_file, rows - start)
        _write(path, n, sensitive, levels, weights, np.random.default_rng([seed, number]))
    return paths


def _make_folder(target: Path, paths: list[Path]) -> None:
    """Raise if the folder has other parts, which would be read with the new ones."""
    if target.exists() and not target.is_dir():
        raise NotADirectoryError(f"{target} is a file; name a folder to write to.")
    target.mkdir(parents=True, exist_ok=True)
    others = sorted({*target.glob("part-*.parquet")} - {*paths})
    if others:
        raise FileExistsError(
            f"{target} has {len(others)} other part file(s), such as {others[0].name}, which would "
            "be read together with the new ones; remove them, or name another folder."
        )


def _write(
    path: Path, n: int, q: int, levels: int, weights: Floats, rng: np.random.Generator
) -> None:
    import pyarrow.parquet as pq

    sizes = [min(ROW_GROUP, n - start) for start in range(0, n, ROW_GROUP)]
    first = _table(sizes[0], q, levels, weights, rng)
    # Random numbers neither repeat nor compress; trying to would cost time at every read.
    options: Any = {"compression": "none", "use_dictionary": ["s1"] if levels else False}
    with writing(path) as file, pq.ParquetWriter(file, first.schema, **options) as writer:
        writer.write_table(first)
        for size in sizes[1:]:
            writer.write_table(_table(size, q, levels, weights, rng))


def _table(n: int, q: int, levels: int, weights: Floats, rng: np.random.Generator) -> Any:
    import pyarrow as pa

    Z = rng.standard_normal((n, len(weights)))
    for j in range(q, len(weights)):
        Z[:, j] += 0.3 * Z[:, j % q]
    eta = Z @ weights
    names = [f"s{j + 1}" for j in range(q)] + [f"x{j + 1}" for j in range(len(weights) - q)]
    data: dict[str, Any] = {name: Z[:, j].copy() for j, name in enumerate(names)}
    if levels:
        codes = np.clip(np.floor((Z[:, 0] + 3.0) / 6.0 * levels), 0, levels - 1).astype(np.int32)
        text = pa.array([f"level {k:04d}" for k in range(levels)])
        data["s1"] = pa.DictionaryArray.from_arrays(codes, text).cast(pa.string())
    data["y"] = eta + rng.standard_normal(n)
    data["label"] = (rng.random(n) < 1.0 / (1.0 + np.exp(-eta))).astype(np.int8)
    data["count"] = rng.poisson(np.exp(0.5 * eta)).astype(np.int32)
    return pa.table(data)


def main(arguments: list[str] | None = None) -> int:
    """Read the command line, and write."""
    parser = argparse.ArgumentParser(
        prog="python -m fairridge.sources.generate", description="Write Parquet files of any size."
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=_count, required=True)
    parser.add_argument("--columns", type=_count, default=30)
    parser.add_argument("--sensitive", type=_count, default=3)
    parser.add_argument("--levels", type=int, default=0)
    parser.add_argument("--rows-per-file", type=_count, default=1_000_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    try:
        written = generate(**vars(options))
    except (ValueError, ImportError, OSError) as error:
        parser.exit(2, f"{parser.prog}: error: {error}\n")
    size = sum(path.stat().st_size for path in written) / 1e9
    sys.stdout.write(f"{options.rows:,} rows, {size:.2f} GB in {len(written)} file(s)\n")
    return 0


def _count(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a positive number")
    return value


if __name__ == "__main__":
    raise SystemExit(main())
