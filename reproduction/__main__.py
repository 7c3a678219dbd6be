"""Reproduce the paper: ``python -m reproduction [all | page | NAME…] --out DIR``."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from reproduction.settings import QUICK_ROWS

MISSING = "python -m reproduction needs {}: pip install -e '.[reproduction]'\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the experiments asked for, and write tables, figures and the page."""
    try:
        options = _parser().parse_args(arguments)
        if options.list:  # which needs no extra
            return _list()
        from reproduction.command import execute
    except ModuleNotFoundError as error:
        sys.stderr.write(MISSING.format(error.name))
        return 2
    return execute(options)


def _list() -> int:
    """Print the experiments."""
    from reproduction.experiments import EXPERIMENTS

    for experiment in EXPERIMENTS.values():
        sys.stdout.write(f"{experiment.name:18} {experiment.title}\n")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m reproduction",
        description="Reproduce the figures and check the claims of the paper. Results are kept as "
        "they come: the same command goes on where it was interrupted.",
    )
    parser.add_argument(
        "names", nargs="*", default=["all"], metavar="NAME", type=_name,
        help="experiments, see --list; all by default; page only writes what is there",
    )  # fmt: skip
    parser.add_argument("--out", type=Path, default=Path("reproduce-output"), metavar="DIR",
                        help="folder of the results (default: %(default)s)")  # fmt: skip
    parser.add_argument("--runs", type=_positive, default=50, metavar="N",
                        help="runs of cross-validation (default: 50, as in the paper)")  # fmt: skip
    parser.add_argument("--quick", action="store_true",
                        help=f"two runs, and {QUICK_ROWS} rows at most")  # fmt: skip
    parser.add_argument("--seed", type=int, default=2022, help="of all random numbers")
    parser.add_argument("--data", metavar="DIR", help="folder with fairml's .rda files")
    parser.add_argument("--jobs", type=_positive, default=os.cpu_count() or 1, metavar="N",
                        help="processes (default: one for each core)")  # fmt: skip
    parser.add_argument("--docs", type=Path, metavar="DIR",
                        help="write reproduction.md and its figures into DIR, too")  # fmt: skip
    parser.add_argument("--list", action="store_true", help="list the experiments and stop")
    return parser


def _name(text: str) -> str:
    from reproduction.experiments import EXPERIMENTS

    if text not in ("all", "page", *EXPERIMENTS):
        known = ", ".join(EXPERIMENTS)
        raise argparse.ArgumentTypeError(
            f"no experiment {text!r}; there are {known}, all, and page"
        )
    return text


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a positive number")
    return number


if __name__ == "__main__":
    sys.exit(main())
