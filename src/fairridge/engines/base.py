"""What an engine must be able to do: sums over rows, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from fairridge._typing import Floats
from fairridge.data import RowLevel
from fairridge.engines.blocks import Moments
from fairridge.engines.extent import Extent
from fairridge.engines.sums import MeanSums
from fairridge.families import Family
from fairridge.families.distances import ChangedColumns, Distance
from fairridge.families.sums import ColumnFunction, GLMSums, Place, PredictedMeans, RowFunction


class Engine(Protocol):
    """Rows [S, X, y] somewhere, known only through sums over them."""

    @property
    def names(self) -> tuple[str, ...]:
        """Encoded names of S, then of X."""

    @property
    def n_sensitive(self) -> int:
        """Number of encoded sensitive columns, q."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""

    @property
    def on_device(self) -> bool:
        """Whether the rows are in arrays on another device."""

    @property
    def hessian_cost(self) -> float:
        """About what a pass with the Hessian costs, in passes with the gradient alone."""

    @property
    def passes(self) -> int:
        """How often the rows have been read so far."""

    @property
    def extent(self) -> Extent | None:
        """Ranges of response, offset and weights; None if only moments are known."""

    def moments(self) -> Moments:
        """Return the weighted moments of [S, X, y]."""

    def qr_factor(self, center: Floats, scale: Floats) -> Floats:
        """Return R with RᵀR = Σ w zzᵀ for z = ([S, X, y] − center) / scale, by orthogonal steps."""

    def residual_products(self, coefficients: Floats, center: Floats, intercept: float) -> Floats:
        """Return Σ w z(y − intercept − zᵀb) for z = [S, X] − center."""

    def pairwise(self, distance: Distance, columns: ChangedColumns) -> Floats:
        """Return M with cᵀMc = Σᵢⱼ vᵢvⱼ d(yᵢ, yⱼ)(zᵢc − zⱼc)² for columns z made of S."""

    def sum_over_rows(
        self, function: RowFunction, center: Floats, intercept: Floats, raw: Floats
    ) -> Floats:
        """Return Σ function over blocks of rows."""
        # They are at η = intercept + ([S, X] − center)rawᵀ + offset.

    def sum_over_columns(self, function: ColumnFunction, center: Floats) -> Any:
        """Return Σ function over blocks of rows, given their columns [S, X] − center."""

    def derivatives(
        self,
        family: Family,
        center: Floats,
        intercept: Floats,
        raw: Floats,
        order: int,
        others: Sequence[Place] = (),
    ) -> GLMSums:
        """Return the deviance and its derivatives at the same η; order 2 includes the Hessian."""
        # Deviances and gradients at `others`, further intercepts and coefficients, come with it;
        # only families whose rows are independent may be asked for them. If all coefficients are
        # zero, only the slope of the intercept is valid.

    def means(
        self,
        family: Family,
        means: PredictedMeans,
        center: Floats,
        intercept: Floats,
        raw: Floats,
        multipliers: Floats | None = None,
        beside: int | None = None,
        order: int = 2,
    ) -> MeanSums:
        """Return sums of the predicted means at the same η; with multipliers, derivatives too."""
        # The Hessian of the deviance then has the second derivatives of Σ multipliers·Σ w μ[1, s −
        # center] in it; at order 1 there is no Hessian, and the gradient has their first
        # derivatives in it. `beside` is the number of leading columns of [S, X] that take the place
        # of s; those of S by default.

    def sample(self, count: int) -> Engine | None:
        """Return about `count` rows, spread over all and weighted to stand for them."""
        # None if these are too large a part of all rows to be worth it.

    def initial_intercepts(self, family: Family) -> Floats:
        """Return the intercepts from which a family starts."""

    def loglik(self, family: Family, deviance: float, dispersion: float) -> float:
        """Return the log-likelihood of a model with this deviance."""

    @property
    def categories(self) -> tuple[range, ...]:
        """Positions of each categorical predictor's columns among those of X."""

    def outside(self, levels: tuple[RowLevel, ...]) -> Engine:
        """Return an engine for the rows that have none of some levels."""

    def sum_of(self, function: Callable[[Any], Any], *, only_sensitive: bool = False) -> Any:
        """Add up a function of `MemoryEngine`s that hold the rows between them."""
        # Those it sees may lack X if it looks at S alone.

    @property
    def response(self) -> Floats:
        """What the family reads, of shape (n, c)."""

    @property
    def weights(self) -> Floats:
        """Sample weights, ones if none were given."""

    @property
    def offset(self) -> Floats | None:
        """Added to the linear predictor."""

    def dense_columns(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Return S, X, y and the weights as dense arrays, for a definition that needs rows."""
