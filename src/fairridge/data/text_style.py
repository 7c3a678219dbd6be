"""How columns were written in the file that a model was fitted to."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

DAY_FIRST = re.compile(r"(\d{1,2})([./-])(\d{1,2})\2(\d{4})")
ISO = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}.*)?")


def is_date(value: Any) -> bool:
    """Whether a value is text that looks like a date."""
    return isinstance(value, str) and bool(ISO.fullmatch(value) or DAY_FIRST.fullmatch(value))


@dataclass(frozen=True)
class TextStyle:
    """How the values of one column were written, and so what the same text means elsewhere."""

    name: str  # the column
    kind: Literal["text", "number", "date"]  # what its text meant
    percent: bool = False  # whether numbers end with "%"
    # The decimal mark of numbers; "" if the file does not tell, as of whole numbers.
    decimal: Literal["", ".", ","] = ""
    symbol: str = ""  # a sign of currency beside numbers; "" if there is none

    @property
    def conversion(self) -> str:
        """What a model reads in place of the text; empty if everybody reads it like that."""
        if self.kind == "date":
            return "dates: convert them to days since 1970-01-01"
        ornate = self.percent or self.symbol or self.decimal == ","
        return f"{self.words}: convert them to plain numbers" if ornate else ""

    @property
    def words(self) -> str:
        """The style in words."""
        if self.kind != "number":
            return "dates" if self.kind == "date" else "text"
        mark = {"": "", ".": " with a decimal point", ",": " with a decimal comma"}[self.decimal]
        unit = " of percent" if self.percent else f" in {self.symbol}" if self.symbol else ""
        return f"numbers{unit}{mark}"
