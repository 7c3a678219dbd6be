"""An interval for the share of predictions that S explains in the population.

The odds of R² in the rows, ω̂ = R²/(1 − R²), in units of c = VAR(ω̂)/(4ω̂) are
noncentral χ² with q degrees of freedom and noncentrality ω/c (see
`inference.scores`): normal in √ω̂ where S explains much, and the test of no
dependence where it explains nothing. The interval holds the ω whose tails do
not exclude ω̂. Its lower end is 0 if the rows do not contradict that S explains
nothing. VAR(ω̂) is the sandwich estimate: predictions need not be normal, nor
equally spread in all groups, and rows may have weights.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq
from scipy.stats import chi2, ncx2, norm

from fairridge._typing import Floats
from fairridge.inference.scores import ExplainedScores
from fairridge.metrics.intervals import Estimate

# Beyond this noncentrality the root is normal to all digits that matter.
NORMAL_NONCENTRALITY = 1e4


def share_interval(predicted: Floats, span: Floats, weight: Floats, confidence: float) -> Estimate:
    """Return R² of predictions on S with its interval, over several columns together.

    R² itself is that of the rows, not adjusted for chance. It has no interval
    if S explains everything or has as many columns as there are rows. `span` has
    independent columns with the span of S, as `sensitive_span` returns them.
    """
    (n, q), total = span.shape, float(weight.sum())
    shifted = predicted - predicted[:1]  # constant columns come out as exactly zero
    centered = shifted - np.average(shifted, axis=0, weights=weight)
    s = span * np.sqrt(total)
    b = s.T @ (weight[:, None] * centered) / total
    explained = s @ b
    rest = centered - explained
    N, T = (float((weight @ part**2).sum()) / total for part in (explained, rest))
    if q == 0 or N + T == 0.0:
        return Estimate(0.0)
    value = N / (N + T)
    if n <= q + 1 or T <= 1e-12 * (N + T):
        return Estimate(value)
    influence = np.hstack(
        [s * column[:, None] for column in rest.T]
        + [(explained**2).sum(axis=1, keepdims=True) - N, (rest**2).sum(axis=1, keepdims=True) - T]
    )
    influence *= weight[:, None]
    covariance = influence.T @ influence / total**2 * n / (n - q - 1)
    scores = ExplainedScores(b.T.ravel(), T, covariance)
    low, high = (odds / (1.0 + odds) for odds in _odds(scores, confidence))
    return Estimate(value, low, high)


def _odds(scores: ExplainedScores, confidence: float) -> tuple[float, float]:
    """Return the ends of the interval of ω."""
    unit, q, tail = scores.spread, len(scores.coefficients), 0.5 - confidence / 2.0
    seen = scores.odds / unit
    if seen > NORMAL_NONCENTRALITY:
        root, half = np.sqrt(seen - (q - 1)), norm.isf(tail)
        return float(max(root - half, 0.0) ** 2 * unit), float((root + half) ** 2 * unit)
    largest = (np.sqrt(seen) + norm.isf(tail) + 2.0) ** 2 + 1.0

    def end(probability: float) -> float:
        """Find the noncentrality at which what was seen has this distribution function."""
        if chi2.cdf(seen, q) <= probability:
            return 0.0
        return float(brentq(lambda nc: ncx2.cdf(seen, q, nc) - probability, 1e-12, largest))

    return end(1.0 - tail) * unit, end(tail) * unit
