"""Show "See Also" and "References" of docstrings as lists with links.

An extension of griffe, which reads the sources for the API reference and takes the lines of
these sections for one paragraph.
"""

import re
from pathlib import Path
from typing import Any

import griffe

API = Path(__file__).resolve().parents[1] / "docs" / "api.md"
SECTION = re.compile(r"^(See Also|References)\n-+\n((?:.+\n?)+)", re.MULTILINE)
# "name : text", or ".. [1] text", with lines of text that follow.
ENTRY = re.compile(r"^(?:(?P<name>\S+) :|\.\. \[(?P<number>\d+)\])(?P<text>.*(?:\n .*)*)", re.M)
PAGE = re.compile(r"docs/([\w/-]+)\.md")


def public_name(near: str, path: str, known: list[str]) -> str:
    """Return the public name that "See Also" of an object means, of those with its ending."""
    ends = [name for name in known if f".{name}".endswith(f".{near}")]
    beside = [name for name in ends if path.startswith(name.removesuffix(near))]
    return max(beside or ends or [near], key=len)


def with_lists(doc: str, path: str, known: list[str]) -> str:
    """Return a docstring with lists in Markdown.

    Parameters
    ----------
    doc : str
        Docstring in numpydoc's style.
    path : str
        Where the object is defined.
    known : list of str
        Public names; each has a page beside that of the object.

    Returns
    -------
    str
        The same sections, as lists.
    """

    def line(entry: re.Match[str]) -> str:
        text = PAGE.sub(r'<a href="../\1.html">\g<0></a>', " ".join(entry["text"].split()))
        if entry["number"]:
            return f"{entry['number']}. {text}"
        page = public_name(entry["name"], path, known).removeprefix("fairridge.")
        return f'- <a href="{page}.html"><code>{entry["name"]}</code></a>: {text}'

    def listed(section: re.Match[str]) -> str:
        lines = [line(entry) for entry in ENTRY.finditer(section[2])]
        return f"{section[1]}\n{'-' * len(section[1])}\n" + "\n".join(lines) + "\n"

    return SECTION.sub(listed, doc)


class DocstringLists(griffe.Extension):
    """Rewrites the docstrings of classes and functions."""

    def __init__(self) -> None:
        self.known = re.findall(r"^::: (\S+)$", API.read_text(encoding="utf-8"), re.MULTILINE)

    def on_class(self, *, cls: griffe.Class, **_: Any) -> None:
        """Look at a class whose members have been read."""
        self._rewrite(cls)

    def on_function(self, *, func: griffe.Function, **_: Any) -> None:
        """Look at a function that has been read."""
        self._rewrite(func)

    def _rewrite(self, found: griffe.Object) -> None:
        if found.docstring is not None:
            text = with_lists(found.docstring.value, found.path, self.known)
            # griffe reads a hyphen as a minus: "array - like".
            found.docstring.value = text.replace("array-like", "array\N{NON-BREAKING HYPHEN}like")
