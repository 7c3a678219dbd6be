"""The measured parts of docs/benchmarks.md, between comments that name them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from benchmarks import growth
from benchmarks.figures import Part
from benchmarks.recorded import Record, figures_of

DOCS = Path(__file__).parents[1] / "docs"
PICTURE = Path("img", "benchmarks-rows.svg")


def rewrite(docs: Path, parts: Mapping[str, Part], record: Record) -> None:
    """Put the tables and the picture of a record into the page.

    A part stands between ``<!-- measured: NAME -->`` and ``<!-- end -->``. What
    stands outside of them is written by hand.
    """
    page = docs / "benchmarks.md"
    text = page.read_text()
    for name, found in record.items():
        figures = figures_of(found)
        lines = [*parts[name].render(parts[name], figures), "", f"Measured on {found['machine']}."]
        if name == "growth":
            growth.draw(figures, docs / PICTURE)
            lines = [f"![Time against rows]({PICTURE.as_posix()})", "", *lines]
        text = _replaced(text, name, "\n".join(lines))
    page.write_text(text)


def _replaced(text: str, name: str, content: str) -> str:
    block = re.compile(rf"(<!-- measured: {re.escape(name)} -->\n).*?(<!-- end -->)", re.DOTALL)
    if not block.search(text):
        raise ValueError(f"the page has no place for {name!r}: <!-- measured: {name} -->")
    return block.sub(lambda found: f"{found[1]}\n{content}\n\n{found[2]}", text, count=1)
