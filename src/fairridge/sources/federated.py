"""Moments of rows that several parties hold, and fit together without showing them.

What a party gives away is the number of its rows, their means and their
covariances: matrices of the size of the columns. A gaussian fair model needs
nothing else.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from io import BytesIO
from os import PathLike
from pathlib import Path
from typing import Any, NoReturn
from zipfile import BadZipFile

import numpy as np

from fairridge.data import Design, require_log_link
from fairridge.data.annotations import require_annotated
from fairridge.engines import Moments
from fairridge.outputs import writing
from fairridge.sources.encoder import BatchEncoder
from fairridge.sources.level_counts import UNREADABLE, LevelCounts, other_summand
from fairridge.sources.responses import Numbers
from fairridge.sources.source import RowSource
from fairridge.sources.stream import StreamEngine

# Sums of products over rows are positive semidefinite but for this, relative to the largest.
ROUNDING_OF_EIGENVALUES = 1e-9


@dataclass(frozen=True)
class RowMoments:
    """Moments of [S, X, y] of some rows, and what their columns are.

    Those of disjoint rows add with ``+``, those of some of the rows subtract
    with ``-``. A gaussian model takes them instead of data.

    Attributes
    ----------
    level_counts : LevelCounts
        The columns and their levels.
    moments : Moments
        Number, weight, means and scatter of the encoded rows.

    See Also
    --------
    moments : Makes it.

    References
    ----------
    .. [1] "Least squares" in docs/algorithms.md.

    Examples
    --------
    >>> from fairridge import sources
    >>> import pandas as pd
    >>> people = pd.DataFrame({"sex": ["f", "m"] * 20, "age": range(40)})
    >>> people["wage"] = people["age"] % 7 + people["age"]
    >>> halves = [people[:20], people[20:]]
    >>> held = [sources.frame(half, response="wage", sensitive=["sex"]) for half in halves]
    >>> levels = sources.count_levels(held[0]) + sources.count_levels(held[1])
    >>> first, second = (sources.moments(rows, level_counts=levels) for rows in held)
    >>> print((first + second).moments.n_rows)
    40
    """

    level_counts: LevelCounts
    moments: Moments

    @property
    def design(self) -> Design:
        """How S and X are encoded."""
        return self.level_counts.design

    def __add__(self, other: RowMoments) -> RowMoments:
        self._require_same_columns(other)
        return replace(self, moments=self.moments + other.moments)

    def __sub__(self, other: RowMoments) -> RowMoments:
        self._require_same_columns(other)
        return replace(self, moments=self.moments - other.moments)

    def __radd__(self, other: Any) -> NoReturn:
        raise TypeError(other_summand("moments", other))

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError(
            "moments hold no rows: fit and path of gaussian models take them. Pass the rows here, "
            "as a frame, an array or a source of fairridge.sources."
        )

    def _require_same_columns(self, other: RowMoments) -> None:
        if not isinstance(other, RowMoments):
            raise TypeError(other_summand("moments", other))
        same = self.level_counts.roles.same_columns(other.level_counts.roles)
        ours, theirs = (
            (moments.design.sensitive, moments.design.predictors) for moments in (self, other)
        )
        if not same or ours != theirs:
            raise ValueError(
                "these moments are of differently encoded columns. Name the same columns in "
                "fairridge.sources; if some have levels, add the level counts of all parties "
                "first, and pass the sum: moments(source, level_counts=total)."
            )

    def save(self, path: str | PathLike[str]) -> None:
        """Write everything to one file (NumPy's npz, without pickles)."""
        counts = json.dumps(self.level_counts.to_dict())
        with writing(path) as file:
            np.savez(file, level_counts=np.array(counts), **asdict(self.moments))

    @classmethod
    def load(cls, path: str | PathLike[str]) -> RowMoments:
        """Read moments that `save` wrote."""
        content = Path(path).read_bytes()
        try:
            with np.load(BytesIO(content), allow_pickle=False) as stored:
                counts = LevelCounts.from_dict(json.loads(str(stored["level_counts"])))
                n_rows, weight = stored["n_rows"].item(), stored["weight"].item()
                loaded = cls(counts, Moments(n_rows, weight, stored["mean"], stored["scatter"]))
                loaded._require_sound()
                return loaded
        except (*UNREADABLE, BadZipFile, EOFError) as error:
            raise ValueError(
                f"{path} does not hold moments; load a file that RowMoments.save wrote: {error}"
            ) from error

    def _require_sound(self) -> None:
        """Raise unless the moments are those of some rows of these columns."""
        m, width = self.moments, len(self.design.encoded_names) + 1
        require_annotated(m)
        if m.n_rows < 1 or m.weight <= 0.0:
            raise ValueError("n_rows and weight of Moments must be positive.")
        if m.mean.shape != (width,) or m.scatter.shape != (width, width):
            raise ValueError(
                f"mean and scatter of Moments must have the shapes ({width},) and "
                f"({width}, {width}), one for each encoded column and the response."
            )
        eigenvalues = np.linalg.eigvalsh(m.scatter)
        rounding = ROUNDING_OF_EIGENVALUES * eigenvalues[-1]
        if (m.scatter != m.scatter.T).any() or eigenvalues[0] < -rounding:
            raise ValueError("scatter of Moments must be symmetric and positive semidefinite.")


def count_levels(source: RowSource) -> LevelCounts:
    """Count the levels of the columns that are not numbers.

    Parameters
    ----------
    source : RowSource
        Rows of `parquet`, `dask`, `spark` or `frame`.

    Returns
    -------
    LevelCounts
        Weights of levels that add up over parties.

    See Also
    --------
    LevelCounts : What it returns.
    moments : The next step.

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
    >>> print(sources.count_levels(rows).levels)
    {'sex': {'f': 20.0, 'm': 20.0}}
    """
    return source.count_levels()


def moments(source: RowSource, *, level_counts: LevelCounts | None = None) -> RowMoments:
    """Compute the moments of [S, X, y], in one pass.

    Parameters
    ----------
    source : RowSource
        Rows of `parquet`, `dask`, `spark` or `frame`.
    level_counts : LevelCounts, optional
        Of all parties together; needed if some columns have levels and
        the moments of several parties are to be added.

    Returns
    -------
    RowMoments
        Small matrices that add up over parties.

    See Also
    --------
    RowMoments : What it returns.
    count_levels : What parties share first.

    References
    ----------
    .. [1] "Least squares" in docs/algorithms.md.
    .. [2] docs/larger-than-memory.md.

    Examples
    --------
    >>> from fairridge import FairRidgeRegressor, sources
    >>> import pandas as pd
    >>> people = pd.DataFrame({"sex": ["f", "m"] * 20, "age": range(40)})
    >>> people["wage"] = people["age"] % 7 + people["age"]
    >>> rows = sources.frame(people, response="wage", sensitive=["sex"])
    >>> print(FairRidgeRegressor(0.05).fit(sources.moments(rows)).status_)
    inactive
    """
    known = source.count_levels() if level_counts is None else level_counts
    return RowMoments(known, rows_of_party(source, known).moments())


def rows_of_party(source: RowSource, known: LevelCounts) -> StreamEngine:
    """Sum over the rows of one party, encoded as all parties agreed."""
    source.roles.require_training()
    if source.roles.exposure is not None:
        require_log_link("identity")  # moments are for gaussian models
    if not known.roles.same_columns(source.roles):
        raise ValueError(
            "the level counts are of other columns, or of other types, than these rows."
        )
    # The counts fix the order of the columns; a party may have another.
    encode = BatchEncoder(known.roles, known.design, Numbers(less_offset=True))
    return StreamEngine(source, encode)
