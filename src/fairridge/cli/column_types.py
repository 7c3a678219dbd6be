"""Text that holds numbers or dates: parsed and reported."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from typing import Any, Literal, NamedTuple

from fairridge.cli.errors import BadInputError
from fairridge.data.text_style import DAY_FIRST, ISO, TextStyle

EPOCH = date(1970, 1, 1)
PER_SECOND = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}
CURRENCY = "$€£¥"
# Thousands are set apart by commas or spaces before a decimal point, by points or spaces
# before a decimal comma. Digits that begin with a zero are codes, such as ZIP codes.
WHOLE = r"(?:0|[1-9]\d*|[1-9]\d{0,2}(?:[%s]\d{3})+)"
SPACES = " '\u2019\u00a0\u202f"
POINT = re.compile(rf"[+-]?{WHOLE % (',' + SPACES)}(?:\.\d+)?")
COMMA = re.compile(rf"[+-]?{WHOLE % ('.' + SPACES)}(?:,\d+)?")
DECIMALS: tuple[tuple[re.Pattern[str], Literal[".", ","]], ...] = ((POINT, "."), (COMMA, ","))
PLAIN = re.compile(r"[+-]?\d+(?:\.\d+)?")


@dataclass(frozen=True)
class Kinds:
    """What the user, or a model, says that columns hold."""

    categorical: tuple[str, ...] = ()
    numeric: tuple[str, ...] = ()
    date: tuple[str, ...] = ()
    # Columns that were numbers when a model was fitted, however they were written.
    numbers: tuple[str, ...] = ()
    # How columns were written then: text that is written in another way is refused.
    styles: Mapping[str, TextStyle] = field(default_factory=dict)
    strict: bool = True  # whether to refuse it at once; else it stays text

    @property
    def as_text(self) -> tuple[str, ...]:
        """Columns that are text in a CSV file, though they may look like numbers."""
        # 6.096 is six thousand with a decimal comma.
        styles = (s for s in self.styles.values() if s.kind == "text" or s.decimal == ",")
        return (*self.categorical, *(style.name for style in styles))

    def like(self, known: Kinds) -> Kinds:
        """Return what the user says, and what a model, or another file, says of the rest."""
        said = {*self.categorical, *self.numeric, *self.date}
        return replace(
            self,
            categorical=(*self.categorical, *(n for n in known.categorical if n not in said)),
            numbers=known.numbers,
            styles={name: style for name, style in known.styles.items() if name not in said},
        )


NOTHING = Kinds()


class Typed(NamedTuple):
    """A table with columns read as what they hold, what to say of it, and how it was written."""

    table: Any
    notes: tuple[str, ...]
    styles: tuple[TextStyle, ...]


# Numbers that texts mean, a description of how they were read, and how the texts are written.
Reading = tuple[list[float], str, TextStyle]


def columns_of(design: Any) -> Iterator[tuple[Any, bool]]:
    """Return the columns that a design encodes, and whether each is sensitive."""
    for encoding in (design.sensitive, design.predictors):
        for column in getattr(encoding, "inner", encoding).columns:
            yield column, encoding is design.sensitive


def kinds_of_model(model: Any) -> Kinds:
    """Return what columns held when a model, if any, was fitted, and how that was written."""
    if model is None:
        return NOTHING
    from fairridge.data.columns import CategoricalColumn

    facts = model._fitted
    columns = [column for column, _ in columns_of(facts.design)]
    levels = {c.name: c.levels for c in columns if isinstance(c, CategoricalColumn)}
    texts = [name for name, own in levels.items() if all(isinstance(item, str) for item in own)]
    return Kinds(
        categorical=tuple(texts),
        numbers=tuple(column.name for column in columns if column.name not in levels),
        styles={style.name: style for style in facts.text_styles},
    )


def sensitive_of(model: Any) -> list[str] | None:
    """Return the names of the sensitive attributes of a model, if they have names."""
    design = model._fitted.design
    known = design.sensitive_names if design.separate else design.names
    return None if known is None else [known[k] for k in design.positions_sensitive]


def is_text(kind: Any) -> bool:
    """Whether a type of pyarrow holds text or categories."""
    import pyarrow.types as types

    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_dictionary(kind))


def coded(column: Any) -> Any:
    """Return a column of text as codes and a dictionary of its values."""
    array = column.combine_chunks()
    return array if hasattr(array, "dictionary") else array.dictionary_encode()


def typed(
    table: Any, names: Sequence[str], kinds: Kinds, *, dates: bool = True, csv: bool = False
) -> Typed:
    """Read columns as what they hold: text is a number or a date if every value is."""
    # `dates` says whether undeclared columns can be dates, and `csv` whether the table comes from
    # text, where numbers are written in some way.
    notes, styles = [], []
    for name in names:
        whether = dates or name in kinds.date
        column, note, style = _column(table.column(name), name, kinds, whether, csv)
        table = table.set_column(table.column_names.index(name), name, column)
        notes += [note] if note else []
        styles += [style] if style else []
    return Typed(table, tuple(notes), tuple(styles))


def _column(
    column: Any, name: str, kinds: Kinds, dates: bool, csv: bool
) -> tuple[Any, str, TextStyle | None]:
    import pyarrow as pa
    import pyarrow.types as types

    known, text = kinds.styles.get(name), TextStyle(name, "text")
    if name in kinds.categorical or known == text:
        return (column if is_text(column.type) else column.cast(pa.string())), "", text
    if dates and (types.is_date(column.type) or types.is_timestamp(column.type)):
        if known is not None and known.kind != "date":
            raise BadInputError(f"column {name!r} holds dates; {_unlike(known)}")
        note = f"Column {name!r} holds dates: read as days since {EPOCH}."
        return _days_of(column), note, TextStyle(name, "date")
    if not is_text(column.type):
        return column, "", _style_of_numbers(column.type, name, kinds, csv)
    if types.is_dictionary(column.type):  # somebody made categories of it
        if name in kinds.date:
            raise BadInputError(f"--date {name}: the column holds {column.type}, not dates.")
        if name not in (*kinds.numeric, *kinds.numbers):
            return column, "", text
        column = column.cast(column.type.value_type)
    codes = coded(column)
    texts = [text.strip() for text in codes.dictionary.to_pylist()]
    if not texts and known is not None:
        return column.cast(pa.float64()), "", known
    reading = _read(texts, name, kinds, dates) if texts else None
    if reading is None:
        if name in kinds.numeric or name in kinds.date:
            raise BadInputError(_refusal(texts, name, kinds))
        if known is not None and kinds.strict:
            bad = next((one for one in texts if _read([one], name, kinds, dates) is None), texts[0])
            raise BadInputError(f"column {name!r} has {bad!r}; {_unlike(known)}")
        return column, "", text
    numbers, words, style = reading
    values = pa.array(numbers, pa.float64()).take(codes.indices)
    note = f"Column {name!r}: read {texts[0]!r} as {numbers[0]:.10g}, {words}."
    return pa.chunked_array([values]), note, replace(style, name=name)


def _style_of_numbers(kind: Any, name: str, kinds: Kinds, csv: bool) -> TextStyle | None:
    """Return how a column was written that a file has numbers in; raise if a model knows better."""
    import pyarrow.types as types

    if name in kinds.date:
        raise BadInputError(f"--date {name}: the column holds {kind}, not dates.")
    if not csv or not (types.is_integer(kind) or types.is_floating(kind)):
        return None
    known = kinds.styles.get(name)
    if known is not None and (known.kind == "date" or known.percent):
        sign = "" if known.kind == "date" else ' without "%"'
        raise BadInputError(f"column {name!r} has numbers{sign}; {_unlike(known)}")
    return TextStyle(name, "number", decimal="." if types.is_floating(kind) else "")


def _unlike(known: TextStyle) -> str:
    return (
        f"the file that the model was fitted to has {known.words} there: write the column in "
        "the same way."
    )


def _read(texts: list[str], name: str, kinds: Kinds, dates: bool) -> Reading | None:
    """Read texts as numbers or dates; None unless all of them are, in the style that is known."""
    known = kinds.styles.get(name)
    if name in kinds.date or (known is not None and known.kind == "date"):
        return _dates(texts)
    if known is not None or name in (*kinds.numeric, *kinds.numbers):
        found = _numbers(texts, known) or _numbers([_without_zeros(t) for t in texts], known)
        # A model that remembers no style may have been fitted to dates.
        free = dates and known is None and name in kinds.numbers
        return found or (_dates(texts) if free else None)
    # Text that looks like a number without any ornament was meant to be text.
    ornate = not all(PLAIN.fullmatch(text) for text in texts)
    return (_numbers(texts) if ornate else None) or (_dates(texts) if dates else None)


def _numbers(texts: list[str], known: TextStyle | None = None) -> Reading | None:
    """Read texts as numbers that are all written in one style: any, or the one that is known."""
    percent = all(text.endswith("%") for text in texts)
    bare = [text[:-1].rstrip() if percent else text for text in texts]
    symbols = {sign for text in bare for sign in text if sign in CURRENCY}
    if len(symbols) > 1:
        return None
    symbol = next(iter(symbols), "")
    if symbol:
        bare = [_without_symbol(text, symbol) for text in bare]
    if known is not None:
        # A sign of currency says nothing if it is new or missing, but two are two currencies.
        currencies = {symbol, known.symbol} - {""}
        if percent != known.percent or len(currencies) > 1:
            return None
    words = "a number of percent" if percent else "a number"
    for pattern, decimal in DECIMALS:
        other = known is not None and known.decimal not in ("", decimal)
        if other or not all(pattern.fullmatch(text) for text in bare):
            continue
        kept = f"0123456789+-{decimal}"
        plain = ("".join(sign for sign in text if sign in kept) for text in bare)
        if decimal == "," and (known is not None or any("," in text for text in bare)):
            words += " with a decimal comma"
        marked = any(mark in text for text in bare for mark in ".,")
        style = TextStyle("", "number", percent, decimal if marked else "", symbol)
        return [float(text.replace(",", ".")) for text in plain], words, style
    return None


def _without_symbol(text: str, symbol: str) -> str:
    """Remove a sign of currency from one end; anywhere else the text is not a number."""
    sign = text[:1] if text[:1] in "+-" else ""
    body = text[len(sign) :].strip()
    body = body.removeprefix(symbol) if body.startswith(symbol) else body.removesuffix(symbol)
    return sign + body.strip()


def _without_zeros(text: str) -> str:
    return re.sub(r"^([+-]?)0+(?=\d)", r"\1", text)


def _dates(texts: list[str]) -> Reading | None:
    numbers, day_first = [], False
    for text in texts:
        match = DAY_FIRST.fullmatch(text)
        day_first = day_first or match is not None
        try:
            if match:
                day, _, month, year = match.groups()
                moment = datetime(int(year), int(month), int(day))
            elif ISO.fullmatch(text):
                moment = datetime.fromisoformat(text)
            else:
                return None
            if moment.tzinfo is not None:
                moment = moment.astimezone(UTC).replace(tzinfo=None)
            numbers.append((moment - datetime(*EPOCH.timetuple()[:3])) / timedelta(days=1))
        except ValueError:
            return None
    words = f"{'day first, ' if day_first else ''}in days since {EPOCH}"
    return numbers, words, TextStyle("", "date")


def _days_of(column: Any) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_date(column.type):
        column = column.cast(pa.timestamp("s"))
    # Nanoseconds since 1970 are more digits than a float has; a day has enough of them.
    count = column.cast(pa.int64()).cast(pa.float64(), safe=False)
    return pc.divide(count, 86_400.0 * PER_SECOND[column.type.unit])


def _refusal(texts: list[str], name: str, kinds: Kinds) -> str:
    """Name the first text that is not what it should be."""
    if name in kinds.date:
        other = next(text for text in texts if _dates([text]) is None)
        return (
            f"--date {name}: {other!r} is not a date; write dates as 2024-12-31, or with the day "
            "first as 31/12/2024."
        )
    bad = next((text for text in texts if _numbers([_without_zeros(text)]) is None), None)
    if bad is None:
        return (
            f"--numeric {name}: its numbers are written in different ways, such as {texts[0]!r} "
            f"and {texts[-1]!r}; write all of them in one."
        )
    return f"--numeric {name}: {bad!r} is not a number; correct it, or leave the column out."


def readable(column: Any, name: str, kinds: Kinds) -> tuple[Any, dict[str, Any]]:
    """Read the numbers or dates among texts; also return every other text, and its rows."""
    import numpy as np
    import pyarrow as pa

    array = coded(column)
    texts = [str(text).strip() for text in array.dictionary.to_pylist()]
    good = [text for text in texts if _read([text], name, kinds, True) is not None]
    # What is read must be written in one way.
    reading = _read(good, name, kinds, True) if good else None
    known = {} if reading is None else dict(zip(good, reading[0], strict=True))
    numbers = pa.array([known.get(text) for text in texts], pa.float64()).take(array.indices)
    codes = array.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    others = {text: np.equal(codes, k) for k, text in enumerate(texts) if text not in known}
    return pa.chunked_array([numbers]), others
