"""A progress bar that may be absent."""

from __future__ import annotations

from threading import Lock, Timer
from typing import Any, Self

from fairridge.arguments import check_flag


class Progress:
    """Count steps, shown with tqdm where asked for."""

    def __init__(self, total: int, shown: bool, unit: str = "fold") -> None:
        self._bar: Any = None
        if check_flag("progress", shown):
            try:
                from tqdm.auto import tqdm
            except ImportError as error:
                raise ImportError("progress=True needs tqdm: pip install tqdm") from error
            self._bar = tqdm(total=total, unit=unit)

    def step(self) -> None:
        """One more is done."""
        if self._bar is not None:
            self._bar.update()

    def reach(self, count: int) -> None:
        """So many are done; what was left out counts as done."""
        if self._bar is not None:
            self._bar.update(count - self._bar.n)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()


class DelayedBar:
    """A bar on a terminal for work that takes longer than a moment, if tqdm is installed.

    It is called with the stage, the steps done and the number of steps. A clock makes it appear:
    the first step may take long.
    """

    def __init__(self, delay: float = 2.0) -> None:
        self._bar: Any = None
        self._state: tuple[str, int, int | None] = ("fitting", 0, None)
        self._open, self._turn = True, Lock()
        self._clock = Timer(delay, self._appear)
        self._clock.daemon = True

    def __call__(self, stage: str, done: int, total: int) -> None:
        """One more step is done."""
        with self._turn:
            self._state = stage, done, total
            self._show()

    def __enter__(self) -> Self:
        self._clock.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._clock.cancel()
        with self._turn:
            self._open = False
            if self._bar is not None:
                self._bar.close()

    def _appear(self) -> None:
        try:
            from tqdm.auto import tqdm
        except ImportError:
            return
        with self._turn:
            if self._open:
                # None: no bar in logs and pipes.
                self._bar = tqdm(unit="step", leave=False, disable=None)
                self._show()

    def _show(self) -> None:
        if self._bar is not None:
            stage, done, self._bar.total = self._state
            self._bar.set_description(stage, refresh=done == 0)
            self._bar.update(done - self._bar.n)
