"""Docstrings in which every parameter is described once: where it is declared.

A class describes the parameters that it adds, and those that mean something else in it.
The section "Parameters" of its docstring then gets the entries of its base class, so that
`help()` shows all of them. The API reference does the same (`tools/runtime_docstrings.py`).
"""

from __future__ import annotations

import inspect
import re

HEADER = "Parameters\n----------\n"
# The headline of any section.
SECTION = re.compile(r"^[A-Z][\w ]*\n-{3,}\n", re.MULTILINE)
# What readers look for first.
FIRST = ("unfairness", "sensitive")


def inherit_parameters(cls: type, base: type) -> None:
    """Add the parameters of a base class to the docstring of a class."""
    if not cls.__doc__ or not base.__doc__ or cls.__doc__ is base.__doc__:
        return  # without docstrings (python -OO)
    before, declared, after = _divided(cls.__doc__)
    _, inherited, _ = _divided(base.__doc__)
    described = {name for names in declared for name in names}
    entries = declared | {k: v for k, v in inherited.items() if not described.intersection(k)}
    first = [names for name in FIRST for names in entries if name in names]
    ordered = [*first, *(names for names in entries if names not in first)]
    section = HEADER + "".join(entries[names] for names in ordered)
    cls.__doc__ = (before + section + after).rstrip()


def parameter_entries(doc: str) -> dict[tuple[str, ...], str]:
    """Return the entries of the section "Parameters", by the names that each describes."""
    return _divided(doc)[1]


def _divided(doc: str) -> tuple[str, dict[tuple[str, ...], str], str]:
    """Return what is before the parameters, their entries by name, and what is after them."""
    text = inspect.cleandoc(doc) + "\n"
    start = text.find(HEADER)
    if start < 0:
        section = SECTION.search(text)
        start = len(text) if section is None else section.start()
        return text[:start].rstrip() + "\n\n", {}, "\n" + text[start:]
    rest = text[start + len(HEADER) :]
    section = SECTION.search(rest)
    end = len(rest) if section is None else section.start()
    entries = re.findall(r"^\S.*\n(?:^(?: .*)?\n)*", rest[:end], re.MULTILINE)
    by_name = {tuple(e.partition(" : ")[0].split(", ")): e.rstrip() + "\n" for e in entries}
    return text[:start], by_name, "\n" + rest[end:]
