"""An engine whose moments are known already."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from fairridge._typing import Floats
from fairridge.data import RowLevel
from fairridge.engines.base import Engine
from fairridge.engines.means import MeanSums
from fairridge.engines.moments import Moments
from fairridge.families import Family
from fairridge.families.distances import ChangedColumns, Distance
from fairridge.families.means import MeansOfRows
from fairridge.families.sums import ColumnFunction, GLMSums, Place, RowFunction


class PrecomputedMoments:
    """Rows of which the moments came from elsewhere; they are read only if they must be.

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

    def qr_factor(self, center: Floats, scale: Floats) -> Floats:
        """Return R of a QR decomposition of the rows."""
        return self._engine.qr_factor(center, scale)

    def residual_products(self, coefficients: Floats, center: Floats, level: float) -> Floats:
        """Return Σ w z(y − level − zᵀb) over the rows."""
        return self._engine.residual_products(coefficients, center, level)

    def pairwise(self, distance: Distance, columns: ChangedColumns) -> Floats:
        """Return M of pairs of rows."""
        return self._engine.pairwise(distance, columns)

    def sum_over_rows(
        self, function: RowFunction, center: Floats, level: Floats, raw: Floats
    ) -> Floats:
        """Return Σ function over the rows."""
        return self._engine.sum_over_rows(function, center, level, raw)

    def sum_over_columns(self, function: ColumnFunction, center: Floats) -> Any:
        """Return Σ function over the rows, shown their columns."""
        return self._engine.sum_over_columns(function, center)

    def derivatives(
        self,
        family: Family,
        center: Floats,
        level: Floats,
        raw: Floats,
        order: int,
        others: Sequence[Place] = (),
    ) -> GLMSums:
        """Return the deviance of the rows and its derivatives."""
        return self._engine.derivatives(family, center, level, raw, order, others)

    def means(
        self,
        family: Family,
        means: MeansOfRows,
        center: Floats,
        level: Floats,
        raw: Floats,
        multipliers: Floats | None = None,
        beside: int | None = None,
    ) -> MeanSums:
        """Return sums of the means that a model predicts for the rows."""
        return self._engine.means(family, means, center, level, raw, multipliers, beside)

    def initial_intercepts(self, family: Family) -> Floats:
        """Return the intercepts from which a family starts."""
        return self._engine.initial_intercepts(family)

    def loglik(self, family: Family, deviance: float, dispersion: float) -> float:
        """Return the log-likelihood of a model with this deviance."""
        return self._engine.loglik(family, deviance, dispersion)

    def dense_columns(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Return S, X, y and the weights of the rows."""
        return self._engine.dense_columns()

    @property
    def categories(self) -> tuple[range, ...]:
        """Positions of each categorical predictor's columns."""
        return self._engine.categories

    def outside(self, levels: tuple[RowLevel, ...]) -> Engine:
        """Return an engine for the rows that have none of some levels."""
        return self._engine.outside(levels)

    def sum_of(self, function: Callable[[Any], Any], *, only_sensitive: bool = False) -> Any:
        """Add up a function of the rows."""
        return self._engine.sum_of(function, only_sensitive=only_sensitive)

    @property
    def response(self) -> Floats:
        """What the family reads."""
        return self._engine.response

    @property
    def weights(self) -> Floats:
        """Sample weights."""
        return self._engine.weights

    @property
    def offset(self) -> Floats | None:
        """Added to the linear predictor."""
        return self._engine.offset


class PrecomputedRoot(PrecomputedMoments):
    """Rows of which a triangular root of the scatter is known as well.

    Parameters
    ----------
    moments : Moments
        Of [S, X, y].
    names : tuple of str
        Encoded names of S, then of X.
    n_sensitive : int
        q.
    root : ndarray of shape (≤ k, k)
        R with RᵀR the scatter, from orthogonal steps.
    rows : callable
        Makes an engine for the rows themselves.
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

    def residual_products(self, coefficients: Floats, center: Floats, level: float) -> Floats:
        """Return Σ w z(y − level − zᵀb) = R_zᵀ(r_y − R_z b), at the means."""
        k = len(coefficients)
        Z, y = self._root[:, :k], self._root[:, k]
        return (y - Z @ coefficients) @ Z
