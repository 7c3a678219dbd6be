"""How databases write names, texts and numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from fairridge.metrics.favorable import plain

# What a backslash begins in a text, if it begins anything.
ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r"}


@dataclass(frozen=True)
class Dialect:
    """How a database writes names, texts and numbers."""

    name: str  # what users call it
    # Names of the types for 64-bit floats and for strings.
    double: str = "DOUBLE"
    text: str = "VARCHAR"
    number_form: str = "{}"  # A literal that is a 64-bit float, written around its digits
    text_form: str = "'{}'"  # A literal that is a string, written around its characters
    # What makes the comparison of a string exact: in some databases 'A' is 'a' by default.
    collation: str = ""
    quote: str = '"'  # what encloses an identifier
    # How the quote itself is written in an identifier; None if it cannot be.
    quote_inside: str | None = '""'
    folds_case: bool = True  # whether names that differ only in case are the same
    escapes: bool = False  # whether a backslash in a text is an escape
    variables: bool = False  # whether ${name} in a query is replaced before the query is parsed
    booleans: bool = True  # whether there are TRUE and FALSE, instead of 1 and 0
    # Whether blanks at the end of a text are compared, or are padding; or whether the empty
    # text is NULL.
    blanks: Literal["differ", "pad", "null"] = "differ"
    strict_exp: bool = False  # whether exp(x) of a very negative x is an error instead of 0
    log: str = "LN"  # name of the natural logarithm

    def identifier(self, name: str) -> str:
        """Quote a name."""
        if not name or "\0" in name or (self.quote in name and self.quote_inside is None):
            raise ValueError(f"{name!r} cannot be the name of a column in {self.name}; rename it.")
        if self.variables and "${" in name:
            raise ValueError(f"{self.name} would replace the variable in {name!r}; rename it.")
        if self.quote_inside == "\\`":
            name = name.replace("\\", "\\\\")
        return self.quote + name.replace(self.quote, self.quote_inside or "") + self.quote

    def number(self, value: float) -> str:
        """Write a 64-bit float exactly; an exponent keeps it from being a decimal."""
        text = repr(float(value))
        return self.number_form.format(text if "e" in text else text + "e0")

    def literal(self, value: Any) -> str:
        """Write a level or a class label."""
        value = plain(value)
        if isinstance(value, bool):
            return str(value).upper() if self.booleans else str(int(value))
        if isinstance(value, int):
            return str(value)
        if isinstance(value, float):
            return self.number(value)
        if not isinstance(value, str):
            kind = type(value).__name__
            raise ValueError(
                f"the level {value!r} is a {kind}, which SQL cannot compare; use strings."
            )
        if "\0" in value:
            raise ValueError(f"the level {value!r} has a NUL character, which SQL cannot hold.")
        if self.escapes:
            escaped = "".join(ESCAPES.get(character, character) for character in value)
            if self.variables:
                escaped = escaped.replace("$", "\\u0024")
            return self.text_form.format(escaped)
        doubled = value.replace("'", "''")
        if self.name == "postgres" and "\\" in value:
            # Right whatever standard_conforming_strings is.
            return "E'" + doubled.replace("\\", "\\\\") + "'"
        return self.text_form.format(doubled)

    def require_distinct(self, column: str, levels: Sequence[str]) -> None:
        """Raise for levels that the database cannot distinguish from each other, or from NULL."""
        if self.blanks == "null" and "" in levels:
            raise ValueError(
                f"column {column!r} has an empty text as a level, which is NULL in {self.name}; "
                "give it a name."
            )
        if self.blanks == "pad" and len({level.rstrip(" ") for level in levels}) < len(levels):
            raise ValueError(
                f"levels of column {column!r} differ only in blanks at their end, which "
                f"{self.name} does not compare; rename one of them."
            )

    def exp(self, x: str) -> str:
        """e^x, and 0 where a strict database would complain of underflow."""
        if not self.strict_exp:
            return f"EXP({x})"
        return f"CASE WHEN {x} < {self.number(-708)} THEN {self.number(0)} ELSE EXP({x}) END"


DIALECTS = {
    dialect.name: dialect
    for dialect in (
        Dialect(
            "bigquery",
            double="FLOAT64",
            text="STRING",
            quote="`",
            quote_inside="\\`",
            escapes=True,
        ),
        Dialect("duckdb"),
        Dialect(
            "mysql",
            text="CHAR CHARACTER SET utf8mb4",
            collation=" COLLATE utf8mb4_0900_bin",
            quote="`",
            quote_inside="``",
            escapes=True,
        ),
        Dialect(
            "oracle",
            double="BINARY_DOUBLE",
            text="VARCHAR2(4000)",
            number_form="{}d",
            quote_inside=None,
            folds_case=False,
            booleans=False,
            blanks="null",
        ),
        Dialect(
            "postgres",
            double="DOUBLE PRECISION",
            text="TEXT",
            number_form="{}::float8",
            folds_case=False,
            strict_exp=True,
        ),
        # Its literals are decimals with 37 places, a text is read as a float.
        Dialect("snowflake", number_form="'{}'::DOUBLE", folds_case=False, escapes=True),
        Dialect(
            "spark",
            text="STRING",
            number_form="{}D",
            quote="`",
            quote_inside="``",
            escapes=True,
            variables=True,
        ),
        Dialect(
            "sqlserver",
            double="DOUBLE PRECISION",
            text="NVARCHAR(4000)",
            text_form="N'{}'",
            collation=" COLLATE Latin1_General_100_BIN2",
            booleans=False,
            blanks="pad",
            log="LOG",
        ),
    )
}
