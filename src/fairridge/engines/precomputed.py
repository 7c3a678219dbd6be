"""An engine whose moments are known already."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

from fairridge._delegation import delegated
from fairridge._typing import Floats
from fairridge.engines.base import Engine
from fairridge.engines.blocks import Moments, Triangle


class PrecomputedMoments:
    """Rows with moments that came from elsewhere; the rows are read only if necessary."""

    # So may a triangular `root` of the scatter: R with RᵀR the scatter, from orthogonal steps.

    on_device = False
    extent = None

    def __init__(
        self,
        moments: Moments,
        names: tuple[str, ...],
        n_sensitive: int,
        rows: Callable[[], Engine],
        root: Floats | None = None,
    ) -> None:
        self.names = names
        self.n_sensitive = n_sensitive
        self._moments = moments
        self._make = rows
        self._root = root

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
    categories = delegated("_engine.categories")
    dense_columns = delegated("_engine.dense_columns")
    derivatives = delegated("_engine.derivatives")
    hessian_cost = delegated("_engine.hessian_cost")
    initial_intercepts = delegated("_engine.initial_intercepts")
    loglik = delegated("_engine.loglik")
    means = delegated("_engine.means")
    offset = delegated("_engine.offset")
    outside = delegated("_engine.outside")
    pairwise = delegated("_engine.pairwise")
    response = delegated("_engine.response")
    sample = delegated("_engine.sample")
    sum_of = delegated("_engine.sum_of")
    sum_over_columns = delegated("_engine.sum_over_columns")
    sum_over_rows = delegated("_engine.sum_over_rows")
    weights = delegated("_engine.weights")

    def qr_factor(self, center: Floats, scale: Floats) -> Floats:
        """Return the root in units of `scale`; the center is that of the moments."""
        if self._root is None:
            return self._engine.qr_factor(center, scale)
        return Triangle(self._root / scale).square

    def residual_products(self, coefficients: Floats, center: Floats, intercept: float) -> Floats:
        """Return Σ w z(y − intercept − zᵀb), at the means R_zᵀ(r_y − R_z b)."""
        if self._root is None:
            return self._engine.residual_products(coefficients, center, intercept)
        k = len(coefficients)
        Z, y = self._root[:, :k], self._root[:, k]
        return (y - Z @ coefficients) @ Z
