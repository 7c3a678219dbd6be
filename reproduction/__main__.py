"""Reproduce the paper: ``python -m reproduction [all | page | NAME…] --out DIR``."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from fairridge.outputs import is_same_file
from reproduction.experiments import EXPERIMENTS
from reproduction.output import write_all
from reproduction.runner import STOPPED, FolderError, run
from reproduction.settings import Settings

QUICK_ROWS = 2000


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the experiments asked for, and write tables, figures and the page."""
    options = _parser().parse_args(arguments)
    if options.list:
        for experiment in EXPERIMENTS.values():
            sys.stdout.write(f"{experiment.name:18} {experiment.title}\n")
        return 0
    names = list(EXPERIMENTS) if "all" in options.names else options.names
    names = [name for name in names if name != "page"]
    settings = Settings(
        runs=2 if options.quick else options.runs,
        seed=options.seed,
        rows=QUICK_ROWS if options.quick else None,
        data_home=options.data,
    )
    try:
        _require_folder(options.docs)
        _require_apart(options.data, options.out, options.docs)
        with _terminable():
            results = run(names, settings, options.out, options.jobs)
            lines = write_all(results, options.out, options.docs)
    except FolderError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    except KeyboardInterrupt:
        sys.stderr.write("The same command goes on from here.\n")
        return 130
    sys.stdout.writelines(f"{line}\n" for line in lines)
    return 0


def _require_folder(docs: Path | None) -> None:
    """Refuse a file before the work, and not after it."""
    if docs is not None and docs.exists() and not docs.is_dir():
        raise FolderError(f"{docs} is a file. Name a folder by --docs.")


def _require_apart(data: str | None, *outputs: Path | None) -> None:
    """Refuse to write into the folder that is read."""
    for folder in outputs:
        if data is not None and folder is not None and is_same_file(folder, data):
            raise FolderError(f"{folder} is the folder of the data. Choose another folder.")


@contextmanager
def _terminable() -> Iterator[None]:
    """End by SIGTERM as by Ctrl-C: with a word about what is kept, and without workers."""

    def stop(*_: object) -> NoReturn:
        STOPPED.set()
        raise KeyboardInterrupt

    STOPPED.clear()
    signals = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, stop) for number in signals]
    report = sys.unraisablehook

    def quietly(lost: Any) -> None:
        # What a finalizer loses is not lost: the run ends after this part. A file that was being
        # opened is warned of as one that nobody has closed.
        if not (
            STOPPED.is_set() and issubclass(lost.exc_type, KeyboardInterrupt | ResourceWarning)
        ):
            report(lost)

    sys.unraisablehook = quietly
    try:
        yield
    finally:
        sys.unraisablehook = report
        for number, handler in zip(signals, before, strict=True):
            signal.signal(number, handler)


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
