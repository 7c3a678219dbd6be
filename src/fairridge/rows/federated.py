"""Moments of rows that several parties hold, and fit together without showing them.

What a party gives away is the number of its rows, their means and their
covariances: matrices of the size of the columns. A gaussian fair model needs
nothing else.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from io import BytesIO
from os import PathLike
from pathlib import Path
from typing import Any, NoReturn
from zipfile import BadZipFile

import numpy as np

from fairridge.data import Design
from fairridge.data.annotations import require_annotated
from fairridge.engines import Moments, StreamEngine
from fairridge.outputs import writing
from fairridge.rows.encoder import BatchEncoder
from fairridge.rows.responses import Numbers
from fairridge.rows.source import RowSource
from fairridge.rows.surveys import UNREADABLE, Survey, other_summand

__all__ = ["RowMoments", "moments", "survey"]

# Sums of products over rows are positive semidefinite but for this, relative to the largest.
ROUNDING = 1e-9


@dataclass(frozen=True)
class RowMoments:
    """Moments of [S, X, y] of some rows, and what their columns are.

    Those of disjoint rows add with ``+``, those of some of the rows subtract
    with ``-``. A gaussian model takes them instead of data.

    Attributes
    ----------
    survey : Survey
        The columns and their levels.
    moments : Moments
        Number, weight, means and scatter of the encoded rows.
    """

    survey: Survey
    moments: Moments

    @property
    def design(self) -> Design:
        """How S and X are encoded."""
        return self.survey.design

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
            "as a frame, an array or a source of fairridge.rows."
        )

    def _require_same_columns(self, other: RowMoments) -> None:
        if not isinstance(other, RowMoments):
            raise TypeError(other_summand("moments", other))
        same = self.survey.roles.same_columns(other.survey.roles)
        ours, theirs = ((one.design.sensitive, one.design.predictors) for one in (self, other))
        if not same or ours != theirs:
            raise ValueError(
                "these moments are of differently encoded columns. Name the same columns in "
                "fairridge.rows; where some have levels, add the surveys of all parties first, "
                "and pass the sum: moments(source, survey=total)."
            )

    def save(self, path: str | PathLike[str]) -> None:
        """Write everything to one file (NumPy's npz, without pickles)."""
        m = self.moments
        with writing(path) as file:
            np.savez(
                file,
                survey=np.array(json.dumps(self.survey.to_dict())),
                n_rows=np.array(m.n_rows),
                weight=np.array(m.weight),
                mean=m.mean,
                scatter=m.scatter,
            )

    @classmethod
    def load(cls, path: str | PathLike[str]) -> RowMoments:
        """Read moments that `save` wrote."""
        content = Path(path).read_bytes()
        try:
            with np.load(BytesIO(content), allow_pickle=False) as stored:
                found = cls(
                    Survey.from_dict(json.loads(str(stored["survey"]))),
                    Moments(
                        int(stored["n_rows"]),
                        float(stored["weight"]),
                        stored["mean"],
                        stored["scatter"],
                    ),
                )
                found._require_sound()
                return found
        except (*UNREADABLE, BadZipFile, EOFError) as error:
            raise ValueError(
                f"{path} holds no moments; load a file that RowMoments.save wrote: {error}"
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
        if (m.scatter != m.scatter.T).any() or eigenvalues[0] < -ROUNDING * eigenvalues[-1]:
            raise ValueError("scatter of Moments must be symmetric and positive semidefinite.")


def survey(source: RowSource) -> Survey:
    """Find the levels of the columns that are not numbers.

    Parameters
    ----------
    source : RowSource
        Rows of `parquet`, `dask`, `spark` or `frame`.
    """
    return source.survey()


def moments(source: RowSource, *, survey: Survey | None = None) -> RowMoments:
    """Compute the moments of [S, X, y], in one pass.

    Parameters
    ----------
    source : RowSource
        Rows of `parquet`, `dask`, `spark` or `frame`.
    survey : Survey, optional
        Of all parties together; needed where some columns have levels and
        the moments of several parties are to be added.
    """
    source.roles.require_training()
    known = source.survey() if survey is None else survey
    if not known.roles.same_columns(source.roles):
        raise ValueError("the survey is of other columns, or of other types, than these rows.")
    design = known.design
    # The survey tells the order of the columns; a party may have another.
    encode = BatchEncoder(known.roles, design, Numbers(less_offset=True))
    engine = StreamEngine(source, encode, design.encoded_names, len(design.sensitive.names))
    return RowMoments(known, engine.moments())
