"""A bar that shows rows per second, if asked for."""

from __future__ import annotations

from typing import Any, Self

from fairridge.arguments import check_flag

__all__ = ["RowProgress"]


class RowProgress:
    """Count the rows of one pass, shown with tqdm if asked for."""

    def __init__(self, total: int, shown: bool, label: str) -> None:
        self._bar: Any = None
        if check_flag("progress", shown):
            try:
                from tqdm.auto import tqdm
            except ImportError as error:
                raise ImportError("progress=True needs tqdm: pip install tqdm") from error
            self._bar = tqdm(total=total, unit=" rows", unit_scale=True, desc=label)

    def step(self, n_rows: int) -> None:
        """So many more are done."""
        if self._bar is not None:
            self._bar.update(n_rows)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()
