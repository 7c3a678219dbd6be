"""Simulate what the inference promises: ``python -m simulations [NAME…] --out DIR``."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from simulations import NAMES

MISSING = "python -m simulations needs {}: pip install -e '.[reproduction]'\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw the samples asked for, and write tables, plots and the page."""
    options = _parser().parse_args(arguments)
    for place in (options.out, options.docs):
        if place is not None and place.exists() and not place.is_dir():
            sys.stderr.write(f"{place} is a file; name a folder.\n")
            return 2
    try:
        import matplotlib

        from simulations.page import write_page
        from simulations.runner import run
    except ModuleNotFoundError as error:
        sys.stderr.write(MISSING.format(error.name))
        return 2
    matplotlib.use("Agg")
    names = list(dict.fromkeys(options.names)) or list(NAMES)
    samples = options.out / ("quick" if options.quick else "samples")
    try:
        frames = run(names, samples, quick=options.quick, jobs=options.jobs)
    except KeyboardInterrupt:
        sys.stderr.write("The same command goes on from here.\n")
        return 130
    written = write_page(frames, options.docs or options.out, "img/simulations")
    sys.stdout.writelines(f"{options.docs or options.out}/{name}\n" for name in written)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m simulations", description=__doc__)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", choices=[[], *NAMES],
        help=f"{', '.join(NAMES)}; all by default",
    )  # fmt: skip
    parser.add_argument("--out", type=Path, default=Path("simulate-output"), help="samples")
    parser.add_argument("--docs", type=Path, help="where to write the page; --out by default")
    parser.add_argument("--quick", action="store_true", help="a few samples of each")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    return parser


if __name__ == "__main__":
    sys.exit(main())
