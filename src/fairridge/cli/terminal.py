"""Results out: tables that fit the terminal, JSON for machines, and progress."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text


def say(text: str, style: str | None = None) -> None:
    """Print a paragraph, wrapped to the terminal."""
    Console(file=sys.stdout, highlight=False).print(Text(text, style=style or ""))


def note(text: str) -> None:
    """Print a line beside the results."""
    sys.stderr.write(f"{text}\n")


def show(found: Any) -> None:
    """Print a result as it prints itself."""
    sys.stdout.write(f"{found}\n")


@dataclass(frozen=True)
class Result:
    """What a command found."""

    facts: Callable[[], Any]  # returns it for JSON
    show: Callable[[], None]  # prints it for people
    saved: tuple[str | None, ...] = ()  # files that were written, if any
    notes: Sequence[str] = ()  # lines beside what people read
    code: int = 0  # the exit code of the command

    def report(self, as_json: bool) -> None:
        """Print JSON and nothing else, or what people read."""
        if as_json:
            show_json(self.facts())
            return
        for line in self.notes:
            note(line)
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
    """Show a bar on a terminal meanwhile, with steps if there are any."""
    screen = Console(file=sys.stderr)
    columns = TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()
    with Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal) as bar:
        task = bar.add_task(text, total=None)

        def step(stage: str, done: int, total: int) -> None:
            bar.update(task, description=f"{text}: {stage}", completed=done, total=total)

        yield step
