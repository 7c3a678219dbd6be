"""Values to JSON and back, exactly and without executing anything.

Numbers, strings, booleans, None and lists are themselves. Everything else is
an object with one key that says its type: ``array``, ``tuple``, ``dict``, ``float`` (for
infinity and NaN), ``object`` (a dataclass from the list of those known) or
``function`` (its name only).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np

from fairridge import fairness, families, penalties
from fairridge.data import Design, Encoding, MappedEncoding
from fairridge.data.annotations import require_annotated
from fairridge.data.columns import CategoricalColumn, FilledColumn, NumericColumn
from fairridge.data.design import ColumnProfile
from fairridge.data.text_style import TextStyle
from fairridge.export.training import ControlledColumns, TrainingColumns
from fairridge.inference import Certificate

# Arrays of these kinds can be saved: booleans, integers and floats; strings, objects like strings.
NUMERIC_KINDS = "biuf"
KINDS = NUMERIC_KINDS + "UO"
# Whole numbers that fit into 64 bits.
WHOLE = range(-(2**63), 2**64)


@dataclass(frozen=True)
class NotSaved:
    """Stands for a callable or a transformer, since a file has only its name."""

    name: str  # where the function was defined

    @property
    def __name__(self) -> str:
        return self.name.rpartition(".")[2]

    def __call__(self, *args: Any) -> Any:
        """Say that the function is missing."""
        raise ValueError(
            f"{self.name!r} was not saved with the model, only its name; the model predicts, but "
            "to fit it again set the parameter to it first."
        )

    def transform(self, columns: Any) -> Any:
        """Say that the transformer is missing, also when it is to be fitted."""
        return self(columns)

    fit = transform

    def __sklearn_clone__(self) -> NotSaved:
        return self


# Dataclasses that a file may contain: those of the design, and all public ones of the axes.
KNOWN: dict[str, type[Any]] = {
    item.__name__: item
    for item in (
        *(Design, Encoding, MappedEncoding, NumericColumn, FilledColumn, CategoricalColumn),
        *(TrainingColumns, ControlledColumns, Certificate, ColumnProfile, TextStyle),
        *(getattr(axis, name) for axis in (families, fairness, penalties) for name in axis.__all__),
    )
    if isinstance(item, type) and is_dataclass(item)
}


def encode(value: Any, where: str) -> Any:
    """Return what JSON can write; `where` says what it is, if it cannot be saved."""
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, np.generic):
        return encode(value.item(), where)
    if isinstance(value, float):
        return value if np.isfinite(value) else {"float": repr(value)}
    if isinstance(value, list):
        return [encode(item, where) for item in value]
    if isinstance(value, tuple):
        return {"tuple": [encode(item, where) for item in value]}
    if isinstance(value, dict):
        if any(isinstance(key, bool | int | float | np.generic) for key in value):  # labels
            return {"pairs": [[encode(key, where), encode(value[key], where)] for key in value]}
        return {"dict": {_key(key, where): encode(item, where) for key, item in value.items()}}
    if isinstance(value, np.ndarray):
        if value.dtype.kind not in KINDS:
            raise TypeError(f"{where} is an array of {value.dtype}, which cannot be saved.")
        kind = "str" if value.dtype.kind == "U" else value.dtype.name
        values = encode(value.tolist(), where)
        return {"array": kind, "shape": list(value.shape), "values": values}
    return _object(value, where)


def decode(value: Any) -> Any:
    """Return the value that `encode` was given; whatever it cannot have written is a ValueError."""
    if isinstance(value, list):
        return [decode(item) for item in value]
    if isinstance(value, int) and value not in WHOLE:
        raise ValueError("it has a whole number of more than 64 bits.")
    if isinstance(value, float) and not np.isfinite(value):  # JSON may say 1e999
        raise ValueError("it has a number that is too large.")
    if not isinstance(value, dict):
        return value
    kind = next(iter(value), "")
    if kind not in DECODERS:
        raise ValueError(f"it has an object of the unknown kind {kind!r}.")
    return DECODERS[kind](value)


def _key(key: Any, where: str) -> str:
    if not isinstance(key, str):
        raise TypeError(f"{where} has the key {key!r}, which is not a string and cannot be saved.")
    return key


def _object(value: Any, where: str) -> dict[str, Any]:
    name = type(value).__name__
    if KNOWN.get(name) is type(value):
        where = f"column {value.name!r}" if isinstance(value, CategoricalColumn) else where
        inside = {
            field.name: encode(getattr(value, field.name), f"{field.name} of {where}")
            for field in fields(value)
            if field.init
        }
        return {"object": name, **inside}
    if isinstance(value, NotSaved):
        return {"function": value.name}
    if hasattr(value, "tolist"):  # a pandas Index and its like
        return encode(value.tolist(), where)
    if callable(value) and not isinstance(value, type):
        module = getattr(value, "__module__", None) or "numpy"
        plain = getattr(value, "__name__", type(value).__name__)
        return {"function": f"{module}.{getattr(value, '__qualname__', None) or plain}"}
    raise TypeError(
        f"{where} is a {type(value).__module__}.{name}, which cannot be saved in a model file; "
        "use numbers, strings, or objects of fairridge."
    )


def _decode_array(value: dict[str, Any]) -> Any:
    items, shape = np.array(decode(value["values"]), dtype=object), tuple(value["shape"])
    if items.size and items.shape != shape:
        raise ValueError("an array has another shape than it says.")
    kind = np.dtype(str(value["array"]))
    if kind.kind not in KINDS or (kind.kind == "U" and kind.itemsize):
        raise ValueError(f"an array cannot be of type {value['array']!r}.")
    types: Any = {"O": str | int | float | None, "U": str}.get(kind.kind, int | float)
    if not all(isinstance(item, types) for item in items.flat):
        raise ValueError(f"an array of type {value['array']!r} holds something else.")
    return items.astype(kind).reshape(shape)


def _decode_object(value: dict[str, Any]) -> Any:
    inside = dict(value)
    name = inside.pop("object")
    if name not in KNOWN:
        raise ValueError(f"it has an object of the unknown class {name!r}.")
    built = KNOWN[name](**{key: decode(item) for key, item in inside.items()})
    require_annotated(built)
    return built


def _decode_float(value: dict[str, Any]) -> float:
    if value["float"] not in ("inf", "-inf", "nan"):
        raise ValueError(f"it has the number {value['float']!r}.")
    return float(value["float"])


DECODERS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "array": _decode_array,
    "tuple": lambda value: tuple(decode(item) for item in value["tuple"]),
    "dict": lambda value: {key: decode(item) for key, item in value["dict"].items()},
    "pairs": lambda value: {decode(key): decode(item) for key, item in value["pairs"]},
    "float": _decode_float,
    "object": _decode_object,
    "function": lambda value: NotSaved(str(value["function"])),
}
