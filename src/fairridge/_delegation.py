"""Attributes that an object has from one of its parts."""

from __future__ import annotations

from operator import attrgetter
from typing import Any


def delegated(path: str) -> Any:
    """Return a property that reads an attribute of a part, such as "inner.rank"."""
    return property(attrgetter(path))
