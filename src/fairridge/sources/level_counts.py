"""The levels of columns that are not in memory, and how often each occurs.

The levels are the only thing that must be known before the first sums. They are
counted in a pass over the columns that are not numbers, and counts of disjoint
rows add.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from os import PathLike
from pathlib import Path
from typing import Any, NoReturn

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from fairridge.data import MAX_LEVELS, Design, Encoding, Levels, as_table
from fairridge.data.annotations import conforms, require_annotated
from fairridge.data.columns import (
    Base,
    CategoricalColumn,
    NumericColumn,
    base_of_sensitive,
    missing_message,
    require_levels,
)
from fairridge.outputs import writing
from fairridge.sources.batch import Batch, merged
from fairridge.sources.encoder import kept_rows
from fairridge.sources.responses import labels_of
from fairridge.sources.roles import Roles

# Levels of a column, or values of a response, that are counted.
MAX_COUNTED_LEVELS = 10_000
# What levels can be, by the kind of the column; labels are all strings or all numbers.
SORTED = (str, bool | int | float)
LEVELS: dict[str, tuple[Any, ...]] = {
    "text": (str,),
    "categorical": (str | bool | int | float,),
}
# What goes wrong if a file holds something else.
UNREADABLE = (ValueError, KeyError, TypeError, AttributeError, OverflowError)


def other_summand(ours: str, other: Any) -> str:
    """Say that only objects of one kind add up."""
    return (
        f"{ours} add to {ours} of other rows, not to an object of type {type(other).__name__}; add "
        "up a list of them with sum(parts[1:], start=parts[0])."
    )


@dataclass(frozen=True)
class LevelCounts:
    """Levels of some rows' columns. Counts of disjoint rows add with ``+``.

    Attributes
    ----------
    roles : Roles
        Which columns are what.
    levels : dict of str to dict
        For every column of text or categories: weight of each level.
    labels : dict or None
        Weight of each label of the response, where it was asked for.

    See Also
    --------
    count_levels : Makes it.

    References
    ----------
    .. [1] docs/larger-than-memory.md.

    Examples
    --------
    >>> from fairridge import sources
    >>> import pandas as pd
    >>> people = pd.DataFrame({"sex": ["f", "m"] * 20, "age": range(40)})
    >>> people["wage"] = people["age"] % 7 + people["age"]
    >>> rows = sources.frame(people, response="wage", sensitive=["sex"])
    >>> levels = sources.count_levels(rows)
    >>> print((levels + levels).levels)
    {'sex': {'f': 40.0, 'm': 40.0}}
    """

    roles: Roles
    levels: dict[str, dict[Any, float]]
    labels: dict[Any, float] | None = None

    def __add__(self, other: LevelCounts) -> LevelCounts:
        if not isinstance(other, LevelCounts):
            raise TypeError(other_summand("level counts", other))
        if not self.roles.same_columns(other.roles):
            raise ValueError(
                "these level counts are of different columns; name the same response, sensitive "
                "attributes, predictors, weight and offset, with the same types."
            )
        levels = {
            name: _few(merged(counts, other.levels[name]), name)
            for name, counts in self.levels.items()
        }
        labels = self.labels
        if labels is not None and other.labels is not None:
            labels = _few(merged(labels, other.labels))
        return LevelCounts(self.roles, levels, labels)

    def __radd__(self, other: Any) -> NoReturn:
        raise TypeError(other_summand("level counts", other))

    @property
    def design(self) -> Design:
        """How S and X are encoded."""
        return self.design_with(None)

    def design_with(self, min_frequency: Any, base: Base = None) -> Design:
        """Return how S and X are encoded, with rare levels of predictors merged.

        Parameters
        ----------
        min_frequency : int, float or None
            Count or share below which levels of a predictor are merged.
        base : None, "most-frequent" or mapping of str to level
            Base levels; the most frequent one is that of predictors only.

        Returns
        -------
        Design
            The encoding of both.
        """
        roles, own = self.roles, base_of_sensitive(base)
        sensitive = Encoding(tuple(self._column(name, None, own) for name in roles.sensitive))
        predictors = Encoding(
            tuple(self._column(name, min_frequency, base) for name in roles.predictors)
        )
        require_levels(base, sensitive, predictors)
        return Design(
            sensitive=sensitive.with_intersections(roles.crossed),
            predictors=predictors,
            positions_sensitive=tuple(roles.names.index(name) for name in roles.sensitive),
            positions_predictors=tuple(roles.names.index(name) for name in roles.predictors),
            names=roles.names,
            sensitive_names=None,
            n_columns=len(roles.names),
            separate=False,
        ).with_unique_names()

    def _column(
        self, name: str, min_frequency: Any, base: Base
    ) -> NumericColumn | CategoricalColumn:
        if name not in self.levels:
            return NumericColumn(name)
        counts = self.levels[name]
        if self.roles.kinds[name] == "text":  # no levels were declared
            counts = {level: counts[level] for level in sorted(counts) if counts[level] > 0}
        if not any(weight > 0 for weight in counts.values()):  # none is missing, as was found
            raise ValueError("there are no rows with a positive weight.")
        return CategoricalColumn.learn(name, counts, min_frequency, base=base)

    @property
    def classes(self) -> NDArray[Any]:
        """Labels of the response, sorted."""
        return np.unique(np.array([label for label, w in (self.labels or {}).items() if w > 0]))

    def save(self, path: str | PathLike[str]) -> None:
        """Write the counts as JSON."""
        with writing(path) as file:
            file.write(json.dumps(self.to_dict(), indent=1).encode())

    @classmethod
    def load(cls, path: str | PathLike[str]) -> LevelCounts:
        """Read counts that `save` wrote."""
        content = Path(path).read_bytes()
        try:
            return cls.from_dict(json.loads(content))
        except UNREADABLE as error:
            raise ValueError(
                f"{path} does not hold level counts; load a file that LevelCounts.save wrote: "
                f"{error}"
            ) from error

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists, dicts and values."""
        return {
            "roles": asdict(self.roles),
            "levels": {name: list(counts.items()) for name, counts in self.levels.items()},
            "labels": None if self.labels is None else list(self.labels.items()),
        }

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> LevelCounts:
        """Undo `to_dict`."""
        roles: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value
            for key, value in content["roles"].items()
        }
        labels = content["labels"]
        counts = cls(
            Roles(**roles),
            {name: dict(counts) for name, counts in content["levels"].items()},
            None if labels is None else dict(labels),
        )
        counts._require_sound()
        return counts

    def _require_sound(self) -> None:
        """Raise unless the fields are as annotated, and fit together."""
        require_annotated(self.roles)
        require_annotated(self)
        self.roles.require_sound()
        if self.levels.keys() != {*self.roles.with_levels}:
            raise ValueError("levels of LevelCounts are not of the columns that have levels.")
        for name, counts in (
            *self.levels.items(),
            *([("labels", self.labels)] if self.labels else []),
        ):
            # Text is sorted, labels are, too, and what is sorted is of one kind.
            kinds = SORTED if counts is self.labels else LEVELS[self.roles.kinds[name]]
            if not any(all(conforms(level, kind) for level in counts) for kind in kinds):
                raise ValueError(f"{name!r} has levels that are not strings or not numbers.")
            if not all(weight >= 0.0 for weight in counts.values()):
                raise ValueError(f"{name!r} has a level of negative weight.")


def count_batch(roles: Roles, labels: bool, batch: Batch) -> LevelCounts:
    """Count the levels, and perhaps the labels, of the rows of positive weight."""
    frame: nw.DataFrame[Any] = nw.from_native(batch.frame, eager_only=True)
    keep, weight = kept_rows(frame, roles.weight)
    levels = {}
    if roles.with_levels:
        table = as_table(frame.select(roles.with_levels).to_native())
        for k, name in enumerate(roles.with_levels):
            levels[name] = _few(_counted(name, table.column(k), keep, weight), name)
    if not labels:
        return LevelCounts(roles, levels)
    values, codes = np.unique(labels_of(frame, roles.response[0], keep), return_inverse=True)
    counts = np.bincount(codes.ravel(), weights=weight, minlength=len(values))
    by_label = dict(zip(values.tolist(), counts.tolist(), strict=True))
    return LevelCounts(roles, levels, _few(by_label))


def _counted(name: str, column: Any, keep: Any, weight: Any) -> dict[Any, float]:
    if not isinstance(column, Levels):
        raise ValueError(f"column {name!r} holds numbers here and levels elsewhere.")
    codes = column.codes[keep]
    if (codes < 0).any():
        raise ValueError(missing_message({name: int(np.count_nonzero(codes < 0))}))
    counts = np.bincount(codes, weights=weight, minlength=len(column.levels)).astype(np.float64)
    return dict(zip(column.levels, counts.tolist(), strict=True))


def _few(counts: dict[Any, float], column: str | None = None) -> dict[Any, float]:
    """Return the counts of a column, or of labels; raise if there are too many of them."""
    if column is not None and len(counts) > MAX_COUNTED_LEVELS:
        raise ValueError(
            f"column {column!r} has more than {MAX_COUNTED_LEVELS:,} levels; leave it out with "
            "predictors=[…], or make it numbers."
        )
    if column is None and len(counts) > MAX_LEVELS:
        raise ValueError(
            f"the response has more than {MAX_LEVELS:,} different values; a classifier needs "
            "classes. For numbers use FairRidgeRegressor."
        )
    return counts
