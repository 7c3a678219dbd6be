"""How one column of a frame is encoded: numbers as they are, levels as treatment contrasts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fairridge._typing import Floats, Integers
from fairridge.arguments import listed
from fairridge.data.levels import Levels
from fairridge.data.rows import Indicators, Piece, Slab

Unknown = Literal["error", "base", "mean"]
Missing = Literal["error", "level"]

# The level of rows whose own levels are rare.
OTHER = "(other)"
# The level of rows without a value.
MISSING = "(missing)"


def for_sensitive(unknown: Unknown) -> Unknown:
    """Return what an unseen level of S does: it is never mapped to the base level."""
    return "mean" if unknown == "base" else unknown


@dataclass(frozen=True)
class NumericColumn:
    """A number, boolean or integer: itself."""

    name: str

    @property
    def encoded_names(self) -> tuple[str, ...]:
        """Names of the encoded columns."""
        return (self.name,)


@dataclass(frozen=True)
class FilledColumn:
    """A number that is missing in some rows: its mean there, and a 0/1 column that marks them."""

    name: str  # the input column
    mean: float  # weighted mean of the values that were there at fit

    @property
    def encoded_names(self) -> tuple[str, ...]:
        """Names of the encoded columns, ``column`` and ``column[(missing)]``."""
        return (self.name, f"{self.name}[{MISSING}]")

    def filled(self, values: NDArray[Any]) -> Slab:
        """Write both columns out."""
        numbers = values.astype(np.float64)
        gone = np.isnan(numbers)
        return Slab(np.column_stack([np.where(gone, self.mean, numbers), gone]))


@dataclass(frozen=True)
class CategoricalColumn:
    """A categorical: one 0/1 column per level but the base.

    The base is the first level that has rows, so that declared but empty
    levels never make the columns collinear; an empty level has a column of
    zeros and hence the coefficient 0.
    """

    name: str  # the input column
    levels: tuple[Any, ...]  # in order (tuple)
    base: int  # position of the base level
    empty: tuple[int, ...] = ()  # positions of levels without rows
    # Whether the base level is "(other)", which rows of all other levels have: those that
    # were rare at fit, and those that were not there.
    merges: bool = False
    shares: tuple[float, ...] = ()  # share of each level in the weight of the training rows
    # Whether a missing value has the level "(missing)". If no value was missing at fit, that
    # level was not there at fit.
    takes_missing: bool = False

    @classmethod
    def learn(
        cls,
        name: str,
        weights: dict[Any, float],
        min_frequency: Any,
        missing: float | None = None,
    ) -> CategoricalColumn:
        """Choose the base, and merge rare levels.

        Parameters
        ----------
        name : str
            The input column.
        weights : dict
            Weight of each level, in order; some level has rows.
        min_frequency : int, float or None
            Levels of less weight are merged, or, below 1, of a smaller share.
        missing : float or None
            Weight of missing values, which are a level; None if they are not.
        """
        if missing:
            weights = weights | {MISSING: weights.get(MISSING, 0.0) + missing}
        total = sum(weights.values())
        least = 0.0 if min_frequency is None else float(min_frequency)
        least *= total if 0.0 < least < 1.0 else 1.0
        takes = missing is not None
        if not any(0.0 < weight < least for weight in weights.values()):
            present = [weight > 0.0 for weight in weights.values()]
            empty = tuple(k for k, here in enumerate(present) if not here)
            shares = tuple(weight / total for weight in weights.values())
            return cls(name, tuple(weights), present.index(True), empty, False, shares, takes)
        kept = {
            level: weight / total
            for level, weight in weights.items()
            if weight >= least and level != OTHER
        }
        shares = (max(1.0 - sum(kept.values()), 0.0), *kept.values())
        return cls(name, (OTHER, *kept), 0, (), True, shares, takes)

    def unknown(self, otherwise: Unknown) -> Unknown:
        """Return what a level does that is not one of these."""
        return "base" if self.merges else otherwise

    def unseen(self, unknown: Unknown) -> Floats | None:
        """Return the encoded columns of a level that is not one of these; None is an error."""
        rule = self.unknown(unknown)
        if rule == "error":
            return None
        return np.delete(self.shares, self.base) if rule == "mean" else np.zeros(self.width)

    @property
    def width(self) -> int:
        """Number of encoded columns."""
        return len(self.levels) - 1

    @property
    def encoded_names(self) -> tuple[str, ...]:
        """Names of the encoded columns, ``column[level]``."""
        others = (level for k, level in enumerate(self.levels) if k != self.base)
        return tuple(f"{self.name}[{level}]" for level in others)

    def codes(self, column: Levels) -> Integers:
        """Return positions of the rows' levels: -1 if missing, -2 if not there at fit."""
        codes = column.recode(self.levels).codes
        if not self.takes_missing:
            return codes
        missing = self.levels.index(MISSING) if MISSING in self.levels else -2
        return np.where(codes == -1, missing, codes)

    def piece(self, column: Levels, unknown: Unknown) -> Piece:
        """Code rows by the levels seen at fit."""
        codes = self.codes(column)
        if (codes == -1).any():
            raise ValueError(missing_message(self.name))
        unseen, stands = codes == -2, self.unseen(unknown)
        if unseen.any():
            if stands is None:
                raise ValueError(self.unseen_message(column, int(np.argmax(unseen))))
            codes = np.where(unseen, self.base, codes)
        # Levels after the base move down by one; the base itself becomes -1.
        shifted = np.where(codes > self.base, codes - 1, codes)
        indicators = Indicators(np.where(codes == self.base, -1, shifted), self.width)
        if stands is None or not (unseen.any() and stands.any()):
            return indicators
        return Slab(np.where(unseen[:, None], stands, indicators.dense()))

    def unseen_message(self, column: Levels, row: int) -> str:
        """Say that a row has a level that was not there at fit."""
        code = column.codes[row]
        level = MISSING if code < 0 else column.levels[code]
        return (
            f"column {self.name!r} has the level {level!r}, which was not there at fit "
            f"(levels: {listed(self.levels, 8)}). Use unknown='base' to treat such rows as the "
            f"base level {self.levels[self.base]!r}, or as the average of a sensitive attribute."
        )


ColumnEncoding = NumericColumn | FilledColumn | CategoricalColumn


def encoded_piece(
    encoding: ColumnEncoding, column: NDArray[Any] | Levels, unknown: Unknown
) -> Piece:
    """Encode one column of new rows.

    Parameters
    ----------
    encoding : ColumnEncoding
        What was learned of the column.
    column : ndarray or Levels
        Its values.
    unknown : {"error", "base", "mean"}
        What an unseen level does.
    """
    if isinstance(encoding, CategoricalColumn):
        if not isinstance(column, Levels):
            raise ValueError(
                f"column {encoding.name!r} held the levels {listed(encoding.levels, 8)} at fit but "
                "now holds numbers; convert it to the same levels."
            )
        return encoding.piece(column, unknown)
    if isinstance(column, Levels):
        raise ValueError(
            f"column {encoding.name!r} held numbers at fit but now holds "
            f"levels such as {column.levels[0]!r}; convert it to numbers."
        )
    if isinstance(encoding, FilledColumn):
        return encoding.filled(column)
    return Slab(column.reshape(-1, 1))


def missing_message(name: str) -> str:
    """Say that a column has missing values."""
    return (
        f"column {name!r} contains NaN or missing values; "
        "drop those rows or impute them before fitting."
    )
