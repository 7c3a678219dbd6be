"""The measured parts of benchmarks/tables.md, between comments that name them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from benchmarks import growth
from benchmarks.figures import Figure, Part
from benchmarks.recorded import Record, figures_of

ROOT = Path(__file__).parents[1]
TABLES = Path("benchmarks", "tables.md")
PICTURE = Path("docs", "img", "benchmarks-rows.svg")
# What is left out of long tables, by problem (what grows, in "growth") and case; the record has
# all of it. Of stacked paths there is the model at about 0.01.
LEFT_OUT = {
    "fairml": re.compile(r"NCLM"),
    "gaussian": re.compile(r"^n = 1,000, |equality-of-opportunity|statsmodels"),
    "growth": re.compile(r"^(?!rows)|statsmodels|ExponentiatedGradient"),
    "logistic": re.compile(r"Zafar"),
    "means": re.compile(r"r = 0\.01$"),
    "small": re.compile(r"glum|statsmodels"),
    "sparse": re.compile(r"^100,000"),
    "stacking": re.compile(r"AIF360|FairGBM|, (?!0\.(01|0104|02)$)[\d.]+$|opportunity"),
    "streaming": re.compile(r"^(250,000|1,000,000)"),
    "validation": re.compile(r"NCLM|ZLM|ZLRM"),
    "wide": re.compile(r"^40 ×|^400 ×"),
}
COLUMNS_LEFT_OUT = {
    "stacking": (
        "splits",
        "fits",
        "log loss",
        "accuracy",
        "gap",
        "stack − this, log loss at equal R²",
    ),
    "validation": ("CPU",),
}


def rewrite(root: Path, parts: Mapping[str, Part], record: Record) -> None:
    """Put the tables and the picture of a record into the file of tables.

    A part stands between ``<!-- measured: NAME -->`` and ``<!-- end -->``. What
    stands outside of them is written by hand. The machine of most parts is named once,
    in the place ``machine``; others name theirs.
    """
    page = root / TABLES
    text = page.read_text()
    machine, _ = Counter(found["machine"] for found in record.values()).most_common(1)[0]
    text = _replaced(text, "machine", f"Measured on {machine}, unless stated otherwise.")
    for name, found in record.items():
        lines = parts[name].render(parts[name], _shown(name, figures_of(found)))
        if name == "growth":
            growth.draw(figures_of(found), root / PICTURE)
            lines = [f"![Time against rows](../{PICTURE.as_posix()})", "", *lines]
        if found["machine"] != machine:
            lines += ["", f"Measured on {found['machine']}."]
        text = _replaced(text, name, "\n".join(lines))
    page.write_text(text)


def _shown(name: str, figures: list[Figure]) -> list[Figure]:
    """Leave out what the tables do not show of a part."""
    left_out, columns = LEFT_OUT.get(name), COLUMNS_LEFT_OUT.get(name, ())
    return [
        replace(one, extra={key: value for key, value in one.extra.items() if key not in columns})
        for one in figures
        if left_out is None or not left_out.search(f"{one.axis or one.problem}: {one.case}")
    ]


def _replaced(text: str, name: str, content: str) -> str:
    block = re.compile(rf"(<!-- measured: {re.escape(name)} -->\n).*?(<!-- end -->)", re.DOTALL)
    if not block.search(text):
        raise ValueError(f"the file has no place for {name!r}: <!-- measured: {name} -->")
    return block.sub(lambda found: f"{found[1]}\n{content}\n\n{found[2]}", text, count=1)
