"""Results out: tables that fit the terminal, JSON for machines, and progress."""

from __future__ import annotations

import json
import math
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

# Seconds before a bar shows up; what is faster needs none.
BAR_DELAY = 0.7
# Seconds before a line says that something is under way, if no bar can be shown.
NOTE_DELAY = 2.0


def _console() -> Console:
    # Made anew, so that it writes to whatever stdout is now.
    return Console(file=sys.stdout, highlight=False, soft_wrap=False)


def say(text: str, style: str | None = None) -> None:
    """Print a paragraph, wrapped to the terminal."""
    _console().print(Text(text, style=style or ""))


def note(text: str) -> None:
    """Print a line beside the results."""
    sys.stderr.write(f"{text}\n")


def facts(title: str, pairs: Sequence[tuple[str, str]]) -> None:
    """Print labels and values."""
    grid = Table(title=escape(title), title_justify="left", show_header=False, box=None)
    grid.add_column(style="dim")
    grid.add_column(overflow="fold")
    for label, value in pairs:
        grid.add_row(escape(label), escape(value))
    _console().print(grid)


def show(found: Any) -> None:
    """Print a result as it prints itself."""
    sys.stdout.write(f"{found}\n")


def table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> None:
    """Print a table; the first columns are text, the others are numbers.

    If the terminal is too narrow for all columns, the last ones are left out,
    and a line names them.
    """
    console = _console()
    widths = [max(len(name), *(len(row[k]) for row in rows), 1) for k, name in enumerate(head)]
    room, shown = console.width, len(head)
    widths[0] = min(widths[0], max(16, room // 3))
    while shown > left + 1 and sum(widths[:shown]) + 2 * shown > room:
        shown -= 1
    grid = Table(title=escape(title), title_justify="left", box=None, pad_edge=False)
    for k, name in enumerate(head[:shown]):
        grid.add_column(
            escape(name),
            justify="left" if k < left else "right",
            overflow="ellipsis",
            no_wrap=True,
            max_width=None if k else widths[0],
        )
    for row in rows:
        grid.add_row(*(escape(cell) for cell in row[:shown]))
    console.print(grid)
    if shown < len(head):
        say(f"Not shown in this narrow terminal: {', '.join(head[shown:])}.", style="dim")


@dataclass(frozen=True)
class Result:
    """What a command found.

    Attributes
    ----------
    facts, show : callable
        Return it for JSON, or print it for people.
    saved : tuple of (str or None)
        Files that were written, if any.
    code : int
        The exit code of the command.
    """

    facts: Callable[[], Any]
    show: Callable[[], None]
    saved: tuple[str | None, ...] = ()
    code: int = 0

    def report(self, as_json: bool) -> None:
        """Print JSON and nothing else, or what people read."""
        if as_json:
            show_json(self.facts())
            return
        self.show()
        for place in self.saved:
            if place is not None:
                say(f"Saved: {place}")


def show_json(value: Any) -> None:
    """Print JSON, and nothing else."""
    sys.stdout.write(json.dumps(as_json(value), indent=2, ensure_ascii=False) + "\n")


def as_json(value: Any) -> Any:
    """Turn results into what JSON can hold: NaN becomes null, infinity the text "infinity"."""
    if isinstance(value, Mapping):
        return {str(key): as_json(item) for key, item in value.items()}
    if isinstance(value, np.ndarray | list | tuple):
        return [as_json(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else ("infinity" if value > 0 else "-infinity")
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return str(value)


@contextmanager
def progress(text: str) -> Iterator[Callable[[str, int, int], None]]:
    """Show a moving bar, with steps if there are any, once it takes longer than a moment."""
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TimeElapsedColumn(),
        console=Console(file=sys.stderr),
        transient=True,
    )
    task = bar.add_task(text, total=None)

    def step(stage: str, done: int, total: int) -> None:
        bar.update(task, description=f"{text}: {stage}", completed=done, total=total)

    late = (
        threading.Timer(BAR_DELAY, bar.start)
        if sys.stderr.isatty()
        else threading.Timer(
            NOTE_DELAY, note, [f"… {text}, which takes more than {NOTE_DELAY:g} seconds"]
        )
    )
    late.daemon = True
    late.start()
    try:
        yield step
    finally:
        late.cancel()
        if bar.live.is_started:
            bar.stop()
