"""An engine whose moments are known already."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from fairridge._typing import Floats
from fairridge.engines.base import Engine
from fairridge.engines.blocks import Moments


def _of_rows(name: str) -> Any:
    """Return a property that asks the engine of the rows."""
    return property(lambda known: getattr(known._engine, name))


class PrecomputedMoments:
    """Rows with moments that came from elsewhere; the rows are read only if necessary.

    Parameters
    ----------
    moments : Moments
        Of [S, X, y].
    names : tuple of str
        Encoded names of S, then of X.
    n_sensitive : int
        q.
    rows : callable
        Makes an engine for the rows themselves.
    """

    on_device = False
    extent = None

    def __init__(
        self,
        moments: Moments,
        names: tuple[str, ...],
        n_sensitive: int,
        rows: Callable[[], Engine],
    ) -> None:
        self.names = names
        self.n_sensitive = n_sensitive
        self._moments = moments
        self._make = rows

    @cached_property
    def _engine(self) -> Engine:
        return self._make()

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self._moments.n_rows

    @property
    def passes(self) -> int:
        """How often the rows have been read so far."""
        return self._engine.passes if "_engine" in self.__dict__ else 0

    def moments(self) -> Moments:
        """Return the moments that are known."""
        return self._moments

    # All else that an engine can do takes the rows.
    categories = _of_rows("categories")
    dense_columns = _of_rows("dense_columns")
    derivatives = _of_rows("derivatives")
    hessian_cost = _of_rows("hessian_cost")
    initial_intercepts = _of_rows("initial_intercepts")
    loglik = _of_rows("loglik")
    means = _of_rows("means")
    offset = _of_rows("offset")
    outside = _of_rows("outside")
    pairwise = _of_rows("pairwise")
    qr_factor = _of_rows("qr_factor")
    residual_products = _of_rows("residual_products")
    response = _of_rows("response")
    sample = _of_rows("sample")
    sum_of = _of_rows("sum_of")
    sum_over_columns = _of_rows("sum_over_columns")
    sum_over_rows = _of_rows("sum_over_rows")
    weights = _of_rows("weights")


class PrecomputedRoot(PrecomputedMoments):
    """Rows with a known triangular root of the scatter as well.

    Parameters
    ----------
    moments, names, n_sensitive, rows
        As in `PrecomputedMoments`.
    root : ndarray of shape (≤ k, k)
        R with RᵀR the scatter, from orthogonal steps.
    """

    def __init__(
        self,
        moments: Moments,
        names: tuple[str, ...],
        n_sensitive: int,
        root: Floats,
        rows: Callable[[], Engine],
    ) -> None:
        super().__init__(moments, names, n_sensitive, rows)
        self._root = root

    def qr_factor(self, center: Floats, scale: Floats) -> Floats:
        """Return the root in units of `scale`; the center is that of the moments."""
        square = np.zeros((len(scale), len(scale)))
        square[: len(self._root)] = self._root / scale
        return square

    def residual_products(self, coefficients: Floats, center: Floats, intercept: float) -> Floats:
        """Return Σ w z(y − intercept − zᵀb) = R_zᵀ(r_y − R_z b), at the means."""
        k = len(coefficients)
        Z, y = self._root[:, :k], self._root[:, k]
        return (y - Z @ coefficients) @ Z
