"""A progress bar that may be absent."""

from __future__ import annotations

from typing import Any, Self

from fairridge.arguments import check_flag

# Seconds of work before a bar appears that nobody has asked for.
DELAY = 2.0


class Progress:
    """Count steps, shown with tqdm where asked for."""

    # With `shown=None` there is a bar on terminals after a moment, if tqdm is installed.

    def __init__(
        self, total: int | None, shown: bool | None, unit: str = "fold", **looks: Any
    ) -> None:
        self._bar: Any = None
        if shown is not None and not check_flag("progress", shown):
            return
        try:
            from tqdm.auto import tqdm
        except ImportError as error:
            if shown:
                raise ImportError("progress=True needs tqdm: pip install tqdm") from error
            return
        late = {} if shown else {"delay": DELAY, "leave": False, "disable": None}
        self._bar = tqdm(total=total, unit=unit, **late, **looks)

    def step(self, count: int = 1) -> None:
        """So many more are done."""
        if self._bar is not None:
            self._bar.update(count)

    def reach(self, count: int) -> None:
        """So many are done; what was left out counts as done."""
        if self._bar is not None:
            self._bar.update(count - self._bar.n)

    def stage(self, name: str, done: int, total: int) -> None:
        """So many steps of a stage are done."""
        if self._bar is not None:
            self._bar.total = total
            self._bar.set_description(name, refresh=False)
            self.reach(done)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()
