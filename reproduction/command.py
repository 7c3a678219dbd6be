"""What the command does, with libraries that its help does not need."""

from __future__ import annotations

import signal
import sys
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from fairridge.outputs import is_same_file
from reproduction import stamp
from reproduction.experiments import EXPERIMENTS
from reproduction.output import write_all
from reproduction.runner import STOPPED, FolderError, run, skipped
from reproduction.settings import QUICK_ROWS, Settings


def execute(options: Namespace) -> int:
    """Run the experiments that were asked for, and write tables, figures and the page."""
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
        asked = _asked(names, settings, options.docs)
        if stamp.is_written(stamp.digest_of(asked, options.out), options.out):
            sys.stdout.write(f"Nothing has changed. page: {options.out / 'index.html'}\n")
            return 0
        with _terminable():
            results = run(names, settings, options.out, options.jobs)
            lines, files = write_all(results, options.out, options.docs)
            stamp.keep(stamp.digest_of(asked, options.out), files, options.out)
    except FolderError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    except KeyboardInterrupt:
        sys.stderr.write("The same command goes on from here.\n")
        return 130
    sys.stdout.writelines(f"{line}\n" for line in lines)
    return 0


def _asked(names: list[str], settings: Settings, docs: Path | None) -> dict[str, Any]:
    """Return what decides what is computed and written, with what cannot be computed."""
    left_out = skipped([EXPERIMENTS[name] for name in names], settings)
    return {
        "names": names,
        "settings": settings.identity,
        "docs": docs,
        "skipped": sorted(map(str, left_out.items())),
    }


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
