"""A progress bar that may be absent."""

from __future__ import annotations

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
