"""Which columns of a table that is not in memory play which role."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import narwhals as nw

from fairridge.data.design import sensitive_positions

Kind = Literal["number", "text", "categorical"]


@dataclass(frozen=True)
class ColumnType:
    """What a column holds; `kind` is None for what no model can use."""

    kind: Kind | None
    name: str


def column_types(frame: Any) -> dict[str, ColumnType]:
    """Return the types of a native frame, which may be empty."""
    wrapped = nw.from_native(frame, eager_only=True)
    polars = wrapped.implementation.is_polars()
    return {
        name: ColumnType(_kind(dtype, polars), str(dtype)) for name, dtype in wrapped.schema.items()
    }


def _kind(dtype: Any, polars: bool) -> Kind | None:
    if isinstance(dtype, nw.Enum) or (isinstance(dtype, nw.Categorical) and not polars):
        return "categorical"
    # A polars Categorical declares no order of its levels.
    if isinstance(dtype, nw.String | nw.Categorical | nw.Object):
        return "text"
    return "number" if dtype.is_numeric() or isinstance(dtype, nw.Boolean) else None


@dataclass(frozen=True)
class Roles:
    """The columns of a model."""

    # One column, (time, event), or none if there is nothing to learn from.
    response: tuple[str, ...]
    # S and X.
    sensitive: tuple[str, ...]
    predictors: tuple[str, ...]
    # Columns of numbers.
    weight: str | None
    offset: str | None
    names: tuple[str, ...]  # S and X together, in the order of the data
    # "number", "text" or "categorical", for every column. Rows to predict for may have
    # columns that no model can use; those have no kind.
    kinds: dict[str, Kind]
    exposure: str | None = None  # a column of numbers, whose logarithm is added to the offset
    # Columns of S whose intersections are sensitive, too, by their positions in `sensitive`.
    crossed: tuple[tuple[int, ...], ...] = ()

    @property
    def with_levels(self) -> tuple[str, ...]:
        """Columns of S and X that are not numbers."""
        return tuple(name for name in self.names if self.kinds[name] != "number")

    @property
    def extras(self) -> tuple[str, ...]:
        """Weight, offset and exposure, if there are any."""
        every = (self.weight, self.offset, self.exposure)
        return tuple(name for name in every if name is not None)

    @property
    def offsets(self) -> tuple[str, ...]:
        """Which of the roles "offset" and "exposure" have a column."""
        columns = {"offset": self.offset, "exposure": self.exposure}
        return tuple(role for role, name in columns.items() if name is not None)

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column that has a role."""
        return (*self.names, *self.response, *self.extras)

    def same_columns(self, other: Roles) -> bool:
        """Whether the same columns have the same roles and kinds, in whatever order."""
        ours, theirs = (
            replace(
                roles,
                sensitive=tuple(sorted(roles.sensitive)),
                predictors=tuple(sorted(roles.predictors)),
                names=(),
            )
            for roles in (self, other)
        )
        return ours == theirs

    def require_training(self) -> None:
        """Raise unless a model can be fitted."""
        for role, columns in (("response", self.response), ("sensitive", self.sensitive)):
            if not columns:
                raise ValueError(f"name the {role} column(s): {role}=… in fairridge.sources.")

    def require_sound(self) -> None:
        """Raise unless every column has one role, and a kind."""
        if len(set(self.columns)) != len(self.columns):
            raise ValueError("columns of Roles are named twice.")
        if sorted(self.names) != sorted((*self.sensitive, *self.predictors)):
            raise ValueError("names of Roles are not those of sensitive and predictors.")
        if not {*self.columns} <= self.kinds.keys():
            raise ValueError("kinds of Roles lack a column.")


def assign_roles(
    types: Mapping[str, ColumnType],
    response: Any,
    sensitive: Any,
    predictors: Any,
    weight: str | None,
    offset: str | None,
    exposure: str | None = None,
) -> Roles:
    """Check what the user named, and find the predictors if none were named."""
    roles = ("response", "sensitive", "predictors", "weight", "offset", "exposure")
    sensitive, crossed = _with_intersections(sensitive)
    arguments = (response, sensitive, predictors, weight, offset, exposure)
    named = dict(zip(roles, map(_column_names, arguments), strict=True))
    owner: dict[str, str] = {}
    for role, columns in named.items():
        for name in columns:
            if name not in types:
                raise ValueError(f"{role} names {name!r}; the columns are {', '.join(types)}.")
            if owner.get(name) == role:
                raise ValueError(f"column {name!r} is in {role} more than once.")
            if name in owner:
                raise ValueError(f"column {name!r} is both in {owner[name]} and in {role}.")
            owner[name] = role
    if predictors is None:
        named["predictors"] = tuple(name for name in types if name not in owner)
    chosen = {*named["sensitive"], *named["predictors"]}
    names = tuple(name for name in types if name in chosen)
    extras = (*named["weight"], *named["offset"], *named["exposure"])
    used = (*names, *named["response"], *extras)
    # Without a response or a choice of predictors it is up to the model which columns are needed.
    open_choice = predictors is None and not named["response"]
    idle = {name for name in used if open_choice and name not in owner and not types[name].kind}
    return Roles(
        named["response"],
        named["sensitive"],
        named["predictors"],
        weight,
        offset,
        names,
        {name: _usable(name, types[name]) for name in used if name not in idle},
        exposure,
        crossed,
    )


def _with_intersections(sensitive: Any) -> tuple[Any, tuple[tuple[int, ...], ...]]:
    """Return the names of sensitive columns, and the intersections that tuples among them are."""
    if not isinstance(sensitive, list | tuple):
        return sensitive, ()
    inside = [name for item in sensitive if isinstance(item, tuple) for name in item]
    single = [item for item in sensitive if not isinstance(item, tuple)]
    names = (*single, *(name for name in dict.fromkeys(inside) if name not in single))
    _, crossed = sensitive_positions(sensitive, names, len(names)) if inside else ((), ())
    return names, crossed


def _column_names(names: Any) -> tuple[str, ...]:
    if names is None:
        return ()
    single = isinstance(names, str) or not isinstance(names, Sequence)
    columns = (names,) if single else tuple(names)
    for name in columns:
        if not isinstance(name, str):
            raise TypeError(f"{name!r} is not the name of a column.")
    return columns


def _usable(name: str, column: ColumnType) -> Kind:
    if column.kind is None:
        raise ValueError(
            f"column {name!r} has type {column.name}; convert it to numbers, booleans or strings, "
            "or leave it out with predictors=[…]."
        )
    return column.kind
