"""Sums of influence products of rows that several parties hold.

All that standard errors need of the rows, besides their moments, is one matrix
Σ ζζᵀ of the size of the coefficients, which adds up over parties. If the bound may or
may not bind there are two, one for each case.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from io import BytesIO
from os import PathLike
from pathlib import Path
from typing import Any, NoReturn
from zipfile import BadZipFile

import numpy as np

from fairridge._typing import Floats
from fairridge.inference.analysis import Analysis, Scheme
from fairridge.outputs import writing
from fairridge.search import PenalizedProblem, Solution


@dataclass(frozen=True)
class RowProducts:
    """What the standard errors of one model need of some rows.

    Those of disjoint rows add with ``+``; `model.inference(moments, products=total)` takes the sum
    over all parties.

    Attributes
    ----------
    model : str
        Digest of the model and of the estimator of the covariance.
    n_rows : int
        Number of rows.
    own, other : ndarray of shape (w, w)
        Sums of products of terms, with the bound as it is and, if it may be otherwise, in the
        other case; the latter is empty if there is none.

    See Also
    --------
    fairridge.row_products : Makes it.

    References
    ----------
    .. [1] "How it is computed" in docs/inference.md.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"sex": ["f", "m"] * 20, "age": range(40)})
    >>> people["wage"] = people["age"] % 7 + people["age"]
    >>> from fairridge import FairRidgeRegressor, row_products, sources
    >>> rows = sources.frame(people, response="wage", sensitive=["sex"])
    >>> moments = sources.moments(rows)
    >>> model = FairRidgeRegressor(0.05).fit(moments)
    >>> print(row_products(model, moments, rows).n_rows)
    40
    """

    model: str
    n_rows: int
    own: Floats
    other: Floats

    def __add__(self, other: RowProducts) -> RowProducts:
        if not isinstance(other, RowProducts):
            raise TypeError(_other_summand(other))
        if self.model != other.model:
            raise ValueError(
                "these products are of different models, or for different covariances; each party "
                "must compute them for the same model, moments, covariance and weights."
            )
        return replace(
            self,
            n_rows=self.n_rows + other.n_rows,
            own=self.own + other.own,
            other=self.other + other.other,
        )

    def __radd__(self, other: Any) -> NoReturn:
        raise TypeError(_other_summand(other))

    def save(self, path: str | PathLike[str]) -> None:
        """Write everything to one file (NumPy's npz, without pickles)."""
        with writing(path) as file:
            np.savez(
                file,
                model=np.array(self.model),
                n_rows=np.array(self.n_rows),
                own=self.own,
                other=self.other,
            )

    @classmethod
    def load(cls, path: str | PathLike[str]) -> RowProducts:
        """Read products that `save` wrote."""
        content = Path(path).read_bytes()
        try:
            with np.load(BytesIO(content), allow_pickle=False) as stored:
                own, other = (np.asarray(stored[k], dtype=np.float64) for k in ("own", "other"))
                products = cls(str(stored["model"]), int(stored["n_rows"]), own, other)
        except (ValueError, KeyError, TypeError, OverflowError, BadZipFile, EOFError) as error:
            raise ValueError(
                f"{path} does not hold products; load a file that RowProducts.save wrote: {error}"
            ) from error
        for matrix in (own, other):
            if matrix.ndim != 2 or (matrix != matrix.T).any() or not np.isfinite(matrix).all():
                raise ValueError(f"{path} does not hold symmetric matrices of numbers.")
        return products


def _other_summand(other: Any) -> str:
    return (
        f"products of rows add to products of rows, not to {type(other).__name__}; "
        "write first + second + …, or sum(others, start=first)."
    )


def products_of(
    problem: PenalizedProblem,
    solution: Solution,
    scheme: Scheme,
    *,
    model: str,
    n_rows: int,
) -> RowProducts:
    """Sum over the rows of one party, with the moments of all."""
    # `model` is a digest of all that must be the same for all parties.
    analysis = Analysis(problem, solution, scheme)
    named = analysis.quantities() | analysis.of_population()
    own = analysis.sums(analysis.branch, tuple(named.values()))
    other = np.zeros((0, 0))
    if analysis.bounded and analysis.other_branch is not None:
        other = analysis.sums(analysis.other_branch)
    return RowProducts(model, n_rows, own, other)
