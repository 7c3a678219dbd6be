"""What a certificate is, and how many rows it takes if data are normal.

A model that is fitted at r′ has R²_S = r′ in training. With odds ω = ρ/(1 − ρ), the
odds in the population are then distributed about as ω ~ c·χ′²_q(ω′/c), a noncentral
χ² with q degrees of freedom and c = 1/(n(1 − ρ)). What rows show of other data is in
`scores`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Literal

import numpy as np
from scipy.optimize import brentq
from scipy.stats import chi2, ncx2, norm

from fairridge.inference.estimates import check_probability
from fairridge.tables import Table

MAX_SAMPLE_SIZE = 1e15


@dataclass(frozen=True)
class Certificate:
    """What a bound in training promises for the population.

    The confidence is over samples of training rows from the same population.

    Attributes
    ----------
    bound : float
        r, which is to hold in the population.
    training_bound : float
        r′ ≤ r, to fit with.
    confidence : float
        1 − δ.
    upper : float
        The value that R²_S in the population exceeds with probability δ at most.
    method : {"draws", "held-out"}
        How it was found ("closed-form" in files of version 0.3).
    n_rows : int
        Number of rows, held-out ones included.
    granted : bool
        Whether `upper` is at most `bound`.
    rows_needed : int or None
        If not granted, the rows that would suffice for the fit at r = 0, and None if
        no number would; else `n_rows`.
    price : float or None
        D² in training (R² of least-squares models) that it costs: what the fit with the bound
        r has more than the one with `training_bound`. None in files of version 0.3.
    warning : str or None
        Why it may not hold although it is granted: an attribute with a heavy tail.

    See Also
    --------
    certify : Finds it.
    fairridge.rows_needed : How many rows certify a bound.

    References
    ----------
    .. [1] "The bound in the population" in docs/inference.md.

    Examples
    --------
    >>> import numpy as np
    >>> from fairridge import FairRidgeRegressor
    >>> rng = np.random.default_rng(0)
    >>> S, X, noise = rng.normal(size=(3, 100, 1))
    >>> y = (S + X + noise)[:, 0]
    >>> model = FairRidgeRegressor(0.2, confidence=0.95).fit(X, y, sensitive_features=S)
    >>> print(model.certificate_.granted, round(model.certificate_.training_bound, 3))
    True 0.105
    """

    bound: float
    training_bound: float
    confidence: float
    upper: float
    method: Literal["closed-form", "draws", "held-out"]
    n_rows: int
    granted: bool
    rows_needed: int | None
    price: float | None = None
    warning: str | None = None

    def _repr_html_(self) -> str:
        enough = "no number suffices" if self.rows_needed is None else f"{self.rows_needed:,}"
        facts = [
            ("Bound in the population", f"{self.bound:.4g}"),
            ("Granted", "yes" if self.granted else "no"),
            ("Confidence", f"{self.confidence:g}"),
            ("Bound in training", f"{self.training_bound:.4g}"),
            *([] if self.price is None else [("Price in D²", f"{self.price:.4g}")]),
            ("Upper limit in the population", f"{self.upper:.4g}"),
            ("Found by", self.method),
            ("Rows", f"{self.n_rows:,}"),
            *([] if self.granted else [("Rows needed at r = 0", enough)]),
            *([] if self.warning is None else [("Warning", self.warning)]),
        ]
        return Table(type(self).__name__, facts=facts).html()


def first_crossing(function: Callable[[float], float], points: Sequence[float]) -> float | None:
    """Return where a function first rises above zero, going from point to point."""
    # None if it is above zero at the first point, the last point if it never is.
    values = [function(point) for point in points]
    above = next((k for k, value in enumerate(values) if value > 0.0), len(points))
    if above == 0:
        return None
    if above == len(points):
        return float(points[-1])
    return float(brentq(function, points[above - 1], points[above], xtol=1e-12))


def rows_needed(
    unfairness: float,
    *,
    sensitive_columns: int,
    confidence: float = 0.95,
    training_bound: float | None = None,
) -> int:
    """Return how many rows certify a bound, for normal data.

    Parameters
    ----------
    unfairness : float
        r, which is to hold in the population.
    sensitive_columns : int
        q, encoded columns of S.
    confidence : float, default=0.95
        1 − δ.
    training_bound : float, optional
        r′ < r, to fit with; by default 0, the fewest rows.

    Returns
    -------
    int
        Number of rows.

    See Also
    --------
    fairridge.inference.Certificate : What is promised.

    References
    ----------
    .. [1] "The bound in the population" in docs/inference.md.

    Examples
    --------
    >>> from fairridge import rows_needed
    >>> rows_needed(0.05, sensitive_columns=1)
    73
    """
    check_certified(unfairness, sensitive_columns, confidence)
    training = 0.0 if training_bound is None else float(training_bound)
    if not 0.0 <= training < unfairness:
        raise ValueError(
            f"training_bound={training_bound!r} must be at least 0 and below unfairness="
            f"{unfairness!r}: no sample size certifies more."
        )

    odds = training / (1.0 - training)

    def excess(log_rows: float) -> float:
        spread = 1.0 / (np.exp(log_rows) * (1.0 - training))
        upper = quantile_of_odds(confidence, odds, columns=sensitive_columns, spread=spread)
        return upper / (1.0 + upper) - unfairness

    most = float(np.log(MAX_SAMPLE_SIZE))
    if excess(most) > 0.0:
        raise ValueError(f"more than {MAX_SAMPLE_SIZE:.0e} rows are needed; lower training_bound.")
    if excess(0.0) <= 0.0:
        return 1
    return ceil(float(np.exp(brentq(excess, 0.0, most, xtol=1e-13))) * (1.0 - 1e-9))


def check_certified(unfairness: float, sensitive_columns: int, confidence: float) -> None:
    """Refuse numbers that no certificate can have."""
    check_probability("unfairness", unfairness)
    check_probability("confidence", confidence)
    if sensitive_columns < 1:
        raise ValueError(f"sensitive_columns={sensitive_columns!r} must be at least 1.")


# Noncentrality at which ncx2 and its normal limit agree to nine digits.
NORMAL_NONCENTRALITY = 1e6


def quantile_of_odds(probability: float, odds: float, *, columns: float, spread: float) -> float:
    """Return the quantile of cχ′²_q(ω′/c)."""
    shift = odds / spread
    if shift == 0.0:
        return float(spread * chi2.ppf(probability, columns))
    if shift < NORMAL_NONCENTRALITY:
        return float(spread * ncx2.ppf(probability, columns, shift))
    # The root is normal.
    return float(spread * ((np.sqrt(shift) + norm.ppf(probability)) ** 2 + (columns - 1)))


def odds_behind(probability: float, odds: float, *, columns: float, spread: float) -> float:
    """Return the ω′ whose quantile is the given ω; 0 if the quantile at 0 is larger."""

    def excess(root: float) -> float:
        return quantile_of_odds(probability, root * root, columns=columns, spread=spread) - odds

    if excess(0.0) >= 0.0:
        return 0.0
    end = np.sqrt(odds) + np.sqrt(spread)
    while excess(end) < 0.0:
        end *= 2.0
    return float(brentq(excess, 0.0, end, xtol=1e-13 * end, rtol=1e-12)) ** 2
