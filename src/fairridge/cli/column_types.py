"""Text that holds numbers or dates: parsed and reported."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

from fairridge.cli.errors import BadInputError

EPOCH = date(1970, 1, 1)
CURRENCY = "$€£¥"
# Thousands are set apart by commas or spaces before a decimal point, by points or spaces
# before a decimal comma. Digits that begin with a zero are codes, such as ZIP codes.
WHOLE = r"(?:0|[1-9]\d*|[1-9]\d{0,2}(?:[%s]\d{3})+)"
SPACES = " '\u2019\u00a0\u202f"
POINT = re.compile(rf"[+-]?{WHOLE % (',' + SPACES)}(?:\.\d+)?")
COMMA = re.compile(rf"[+-]?{WHOLE % ('.' + SPACES)}(?:,\d+)?")
PLAIN = re.compile(r"[+-]?\d+(?:\.\d+)?")
DAY_FIRST = re.compile(r"(\d{1,2})([./-])(\d{1,2})\2(\d{4})")
ISO = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}.*)?")


@dataclass(frozen=True)
class Kinds:
    """What the user, or a model, says that columns hold.

    Attributes
    ----------
    categorical, numeric, date : tuple of str
        Names of columns.
    """

    categorical: tuple[str, ...] = ()
    numeric: tuple[str, ...] = ()
    date: tuple[str, ...] = ()


# Numbers that texts mean, and a description of how they were read.
Reading = tuple[list[float], str]


def columns_of(design: Any) -> Iterator[tuple[Any, bool]]:
    """Return the columns that a design encodes, and whether each is sensitive."""
    for encoding in (design.sensitive, design.predictors):
        for column in getattr(encoding, "inner", encoding).columns:
            yield column, encoding is design.sensitive


def kinds_of_model(model: Any) -> Kinds:
    """Return the columns that held texts when a model was fitted: they are texts again."""
    from fairridge.data.columns import CategoricalColumn

    columns = (c for c, _ in columns_of(model._fitted.design) if isinstance(c, CategoricalColumn))
    texts = (c.name for c in columns if all(isinstance(level, str) for level in c.levels))
    return Kinds(categorical=tuple(texts))


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
    table: Any, names: Sequence[str], kinds: Kinds, *, dates: bool = True
) -> tuple[Any, tuple[str, ...]]:
    """Read columns as what they hold, and say which text was parsed.

    Parameters
    ----------
    table : pyarrow Table
        All columns.
    names : sequence of str
        The columns in use.
    kinds : Kinds
        What is known of them; other text is a number or a date if every value is.
    dates : bool
        Whether undeclared columns can be dates.

    Returns
    -------
    table : pyarrow Table
        With these columns replaced.
    notes : tuple of str
        What was read as something else.
    """
    notes = []
    for name in names:
        column, note = _column(table.column(name), name, kinds, dates or name in kinds.date)
        table = table.set_column(table.column_names.index(name), name, column)
        notes += [note] if note else []
    return table, tuple(notes)


def _column(column: Any, name: str, kinds: Kinds, dates: bool) -> tuple[Any, str]:
    import pyarrow as pa
    import pyarrow.types as types

    if name in kinds.categorical:
        return (column if is_text(column.type) else column.cast(pa.string())), ""
    if dates and (types.is_date(column.type) or types.is_timestamp(column.type)):
        return _days_of(column), f"Column {name!r} holds dates: read as days since {EPOCH}."
    if not is_text(column.type) or types.is_dictionary(column.type):
        if name in kinds.date:
            raise BadInputError(f"--date {name}: the column holds {column.type}, not dates.")
        if name in kinds.numeric and is_text(column.type):
            return _column(column.cast(column.type.value_type), name, kinds, dates)
        return column, ""
    codes = coded(column)
    texts = [text.strip() for text in codes.dictionary.to_pylist()]
    reading = _read(texts, name, kinds, dates) if texts else None
    if reading is None:
        if name in kinds.numeric or name in kinds.date:
            raise BadInputError(_refusal(texts, name, kinds))
        return column, ""
    numbers, words = reading
    values = pa.array(numbers, pa.float64()).take(codes.indices)
    note = f"Column {name!r}: read {texts[0]!r} as {numbers[0]:.10g}, {words}."
    return pa.chunked_array([values]), note


def _read(texts: list[str], name: str, kinds: Kinds, dates: bool) -> Reading | None:
    """Read texts as numbers or dates; None unless all of them are."""
    if name in kinds.date:
        return _dates(texts)
    if name in kinds.numeric:
        return _numbers(texts) or _numbers([_without_zeros(text) for text in texts])
    # Text that looks like a number without any ornament was meant to be text.
    ornate = not all(PLAIN.fullmatch(text) for text in texts)
    return (_numbers(texts) if ornate else None) or (_dates(texts) if dates else None)


def _numbers(texts: list[str]) -> Reading | None:
    percent = all(text.endswith("%") for text in texts)
    bare = [text[:-1].rstrip() if percent else text for text in texts]
    symbols = {sign for text in bare for sign in text if sign in CURRENCY}
    if len(symbols) > 1:
        return None
    for symbol in symbols:
        bare = [_without_symbol(text, symbol) for text in bare]
    words = "a number of percent" if percent else "a number"
    for style, decimal in ((POINT, "."), (COMMA, ",")):
        if all(style.fullmatch(text) for text in bare):
            kept = f"0123456789+-{decimal}"
            plain = ("".join(sign for sign in text if sign in kept) for text in bare)
            if decimal == "," and any("," in text for text in bare):
                words += " with a decimal comma"
            return [float(text.replace(",", ".")) for text in plain], words
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
                numbers.append(float((date(int(year), int(month), int(day)) - EPOCH).days))
            elif ISO.fullmatch(text):
                numbers.append(_days(datetime.fromisoformat(text)))
            else:
                return None
        except ValueError:
            return None
    return numbers, f"{'day first, ' if day_first else ''}in days since {EPOCH}"


def _days(moment: datetime) -> float:
    if moment.tzinfo is not None:
        moment = moment.astimezone(UTC).replace(tzinfo=None)
    return (moment - datetime(EPOCH.year, EPOCH.month, EPOCH.day)) / timedelta(days=1)


def _days_of(column: Any) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    micro = column.cast(pa.timestamp("us")).cast(pa.int64()).cast(pa.float64(), safe=False)
    return pc.divide(micro, 86_400e6)


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


def readable(column: Any) -> tuple[Any, dict[str, Any]]:
    """Read the numbers or dates among texts.

    Returns
    -------
    column : pyarrow ChunkedArray
        Numbers; null for other texts.
    others : dict of str to ndarray of bool
        Every other text, and its rows.
    """
    import numpy as np
    import pyarrow as pa

    array = coded(column)
    texts = [str(text).strip() for text in array.dictionary.to_pylist()]
    good = [text for text in texts if (_numbers([text]) or _dates([text])) is not None]
    # What is read must be written in one way.
    reading = (_numbers(good) or _dates(good)) if good else None
    known = {} if reading is None else dict(zip(good, reading[0], strict=True))
    numbers = pa.array([known.get(text) for text in texts], pa.float64()).take(array.indices)
    codes = array.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    others = {text: np.equal(codes, k) for k, text in enumerate(texts) if text not in known}
    return pa.chunked_array([numbers]), others
