"""Individual fairness: how differently S makes a model treat pairs of people."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairridge._typing import Floats
from fairridge.engines.blocks import SMALLEST_SQUARES
from fairridge.fairness.base import ROUNDING_OF_VARIANCE, Definition
from fairridge.families.distances import (
    AbsoluteDifference,
    ChangedColumns,
    ClassDifference,
    Distance,
    PairwiseDistance,
    SquaredDifference,
)
from fairridge.models import Fit

# Forms that are nothing but rounding, of matrices and vectors whose largest entries are one.
ROUNDING_OF_FORMS = 1e-14

NAMED: dict[str, Distance] = {
    "absolute": AbsoluteDifference(),
    "squared": SquaredDifference(),
    "class": ClassDifference(),
}


@dataclass(frozen=True)
class IndividualFairness(Definition):
    """Different treatment of pairs, relative to the unconstrained model.

    D_IF = f(α)/f(α₀) with f(α) = Σᵢⱼ d(yᵢ, yⱼ)(sᵢα − sⱼα)² = αᵀMα (paper,
    section 4.3) and α₀ the coefficients at λ = 0.

    d is the weight of a pair, and decides only which λ meets a bound: the model
    is on the same path α(λ) as under statistical parity.

    Parameters
    ----------
    distance : {"absolute", "squared", "class"}, Distance or callable, optional
        d. By default the family's own: |yᵢ − yⱼ| for numbers, 1[yᵢ ≠ yⱼ] for
        classes. ``AbsoluteDifference(transform=g)`` is |g(yᵢ) − g(yⱼ)|. These
        weigh pairs with *different* outcomes, as the paper prints it and R's
        fairml computes it. ``SameOutcome()``, for responses with ties, and
        ``Closeness(scale=None)`` weigh pairs with *similar* outcomes, as Berk
        et al. (2017) define individual fairness. A callable d(a, b) on arrays
        is evaluated for all pairs of rows.

    See Also
    --------
    SameOutcome : Weights of pairs with the same outcome.
    Closeness : Weights of pairs with similar outcomes.

    References
    ----------
    .. [1] Scutari, Panero and Proissl (2022), section 4.3.
    .. [2] Berk et al. (2017), A convex framework for fair regression.

    Examples
    --------
    >>> import numpy as np
    >>> from fairridge import FairRidgeRegressor
    >>> rng = np.random.default_rng(0)
    >>> S, X, noise = rng.normal(size=(3, 100, 1))
    >>> y = (S + X + noise)[:, 0]
    >>> from fairridge.fairness import Closeness, IndividualFairness
    >>> model = FairRidgeRegressor(0.05, definition=IndividualFairness(Closeness()))
    >>> print(f"{model.fit(X, y, sensitive_features=S).unfairness_:.4f}")
    0.0500
    """

    distance: str | Distance | Callable[[Any, Any], Any] | None = None
    name = "individual"
    sees_columns = False

    def __post_init__(self) -> None:
        if isinstance(self.distance, str) and self.distance not in NAMED:
            raise ValueError(
                f"distance={self.distance!r} is not known; use one of "
                f"{', '.join(map(repr, NAMED))}, a Distance or a callable d(a, b)."
            )

    def value(self, fit: Fit) -> float:
        """Return αᵀMα / α₀ᵀMα₀; 0 if the unconstrained model treats all pairs the same."""
        if not fit.alpha.any():
            return 0.0
        constrained, unconstrained, _ = self._forms(fit)
        free = fit.unconstrained()
        if _is_rounding(free):
            return 0.0
        return constrained / unconstrained if unconstrained > ROUNDING_OF_FORMS else 0.0

    def components(self, fit: Fit) -> dict[str, float]:
        """Return f(α) and f(α₀)."""
        ours, theirs, unit = self._forms(fit)
        return {"pairwise": ours * unit, "pairwise_unconstrained": theirs * unit}

    def _forms(self, fit: Fit) -> tuple[float, float, float]:
        """Return f(α) and f(α₀) in a unit, and that unit."""
        # Forms are cubes of the response: in units of their own they overflow no earlier than the
        # response does.
        S = fit.basis.sensitive
        M = self._form(fit, S.to_orthonormal)
        ours_at, free = (S.rotate(np.atleast_2d(a)) for a in (fit.alpha, fit.unconstrained().alpha))
        size, unit = _power_of_two(free), _power_of_two(M)
        # Over classes, if there are several, the forms add.
        ours, theirs = (
            float(np.einsum("ki,ij,kj->", a, M / unit, a)) for a in (ours_at / size, free / size)
        )
        return ours, theirs, size * size * unit

    def _form(self, fit: Fit, change: Floats) -> Floats:
        """Return M of changed columns, which must consist of numbers."""
        if not change.shape[1]:  # no column varies
            return np.zeros((0, 0))
        columns = ChangedColumns(fit.basis.center_sensitive, change)
        with np.errstate(over="ignore", invalid="ignore"):
            M, weight = fit.engine.pairwise(self.resolved(fit), columns), fit.basis.weight
        sizes = np.array([weight * weight, np.abs(M).max(initial=0.0)])
        if not (
            np.isfinite(sizes).all()
            and ((sizes == 0.0) | (sizes > SMALLEST_SQUARES)).all()
            and sizes[0]
        ):
            raise ValueError(
                "individual fairness multiplies weights, distances and squares of sensitive "
                "columns, and the products leave the range of numbers; divide the weights by "
                "their mean, or rescale the columns."
            )
        return M

    def resolved(self, fit: Fit) -> Distance:
        """Return the distance meant, which may be that of the family."""
        if self.distance is None:
            chosen: Distance = fit.family.distance
        elif isinstance(self.distance, str):
            chosen = NAMED[self.distance]
        elif hasattr(self.distance, "form"):
            chosen = self.distance
        else:
            chosen = PairwiseDistance(self.distance)
        return chosen


def _is_rounding(free: Fit) -> bool:
    """Whether S moves the linear predictor of an unconstrained fit by rounding errors only."""
    unit = 1.0  # of η, unless it has the unit of the response
    if free.family.least_squares:
        unit = float(np.trace(free.basis.target_scatter)) / free.basis.weight
    size = max(unit, float(np.sum(free.predictor_variance)))
    return float(np.sum(free.sensitive_variance)) <= ROUNDING_OF_VARIANCE * size


def _power_of_two(values: Floats) -> float:
    """Return a power of two of the size of the largest value; dividing by it loses no digits."""
    return float(np.ldexp(1.0, np.frexp(np.abs(values).max(initial=0.0))[1]))
