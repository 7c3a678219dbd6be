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

from collections.abc import Sequence

import numpy as np
from scipy.optimize import brentq
from scipy.stats import chi2, ncx2, norm

from fairridge._typing import Floats
from fairridge.inference.scores import ExplainedScores
from fairridge.metrics.dependence_shares import sensitive_span
from fairridge.metrics.intervals import Estimate, mean_interval
from fairridge.solvers.spectrum import COLLINEARITY_TOLERANCE

# Beyond this noncentrality the root is normal to all digits that matter.
NORMAL_NONCENTRALITY = 1e4


# Scores, and the weights of the rows among which they count, of shapes (n, k) and (n,).
Judged = tuple[Floats, Floats]


def share_interval(predicted: Floats, span: Floats, weight: Floats, confidence: float) -> Estimate:
    """Return R² of predictions on S with its interval, over several columns together.

    R² itself is that of the rows, not adjusted for chance. It has no interval
    if S explains everything or has as many columns as there are rows. `span` has
    independent columns with the span of S, as `sensitive_span` returns them.
    """
    shifted = predicted - predicted[:1]  # constant columns come out as exactly zero
    centered = shifted - np.average(shifted, axis=0, weights=weight)
    total = float(weight.sum())
    return _estimated([(span * np.sqrt(total), centered, weight / total)], 1, confidence)[0]


def explained_share(
    judged: Sequence[Judged], S: Floats, C: Floats, confidence: float
) -> tuple[Estimate, float]:
    """Return R² of scores on S given C, with its interval, and the same adjusted for chance.

    Scores count among rows of positive weight, which differ between the entries: explained and
    whole variances are added over these. Given C, scores and S are residuals on [1, C], whose
    estimation moves the share by squares of errors only.
    """
    total = sum(float(weight.sum()) for _, weight in judged)
    parts = []
    for values, weight in judged:
        used = weight > 0.0
        part = weight[used] / total
        both = np.hstack([S[used], values[used] - values[used][:1]])
        both = left_by(C[used], both, part)
        q = S.shape[1]
        parts.append((sensitive_span(both[:, :q], part), both[:, q:], part))
    return _estimated(parts, 1 + C.shape[1], confidence)


def loss_share(losses: Floats, weight: Floats, confidence: float) -> Estimate:
    """Return which part of what a model explains S adds, with Student's interval of the ratio.

    `losses` are those of the model, without what S adds, and without predictors, of shape (n, 3).
    On other rows than those of the fit the share may be negative.
    """
    added, explained = losses[:, 1] - losses[:, 0], losses[:, 2] - losses[:, 0]
    total = float(weight @ explained)
    if not total > 0.0:
        return Estimate()
    share = float(weight @ added) / total
    error = mean_interval((added - share * explained) * weight.sum() / total, weight, confidence)
    return Estimate(share, share + error.low - error.value, share + error.high - error.value)


def left_by(C: Floats, columns: Floats, weight: Floats) -> Floats:
    """Return what a constant and C leave of columns, under weights."""
    centered = columns - np.average(columns, axis=0, weights=weight)
    if not C.shape[1]:
        return centered
    span = sensitive_span(C, weight)
    left = centered - span @ (span.T @ (weight[:, None] * centered))
    # What is left of a combination of controls is rounding.
    size = np.sqrt(weight @ centered**2)
    gone = np.sqrt(weight @ left**2) <= COLLINEARITY_TOLERANCE * size
    return np.where(gone, 0.0, left)


def _estimated(
    parts: Sequence[tuple[Floats, Floats, Floats]], lost: int, confidence: float
) -> tuple[Estimate, float]:
    """Return a share, with its interval, from orthonormal S, scores and weights of parts."""
    slopes = [s.T @ (w[:, None] * f) for s, f, w in parts]
    explained = [s @ b for (s, _, _), b in zip(parts, slopes, strict=True)]
    rest = [f - h for (_, f, _), h in zip(parts, explained, strict=True)]
    weights = [w for _, _, w in parts]
    N = sum(float((w @ h**2).sum()) for w, h in zip(weights, explained, strict=True))
    T = sum(float((w @ e**2).sum()) for w, e in zip(weights, rest, strict=True))
    n, columns = sum(map(len, weights)), sum(s.shape[1] for s, _, _ in parts)
    if columns == 0 or N + T == 0.0:
        return Estimate(0.0), 0.0
    value, free = N / (N + T), n - lost * len(parts) - columns
    if free <= 0 or T <= 1e-12 * (N + T):
        return Estimate(value), value if free > 0 else np.nan
    influence = [
        np.hstack([*(s * e[:, [k]] for k in range(e.shape[1])), _squares(h, N), _squares(e, T)])
        * w[:, None]
        for (s, _, w), h, e in zip(parts, explained, rest, strict=True)
    ]
    covariance = _covariance(influence) * n / free
    scores = ExplainedScores(np.concatenate([b.T.ravel() for b in slopes]), T, covariance)
    low, high = (odds / (1.0 + odds) for odds in _odds(scores, confidence))
    return Estimate(value, low, high), 1.0 - (1.0 - value) * (n - lost * len(parts)) / free


def _squares(scores: Floats, mean: float) -> Floats:
    """Return squares, summed over columns, less their mean."""
    return np.asarray((scores**2).sum(axis=1, keepdims=True) - mean)


def _covariance(influence: Sequence[Floats]) -> Floats:
    """Sum products of influences: slopes of other parts move apart, the last two together."""
    widths = [part.shape[1] - 2 for part in influence]
    size = sum(widths)
    total, start = np.zeros((size + 2, size + 2)), 0
    for part, width in zip(influence, widths, strict=True):
        places = np.append(np.arange(start, start + width), [size, size + 1])
        total[np.ix_(places, places)] += part.T @ part
        start += width
    return total


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
