"""Confidence bands for all models of a path at once.

The estimates θ̂(r) of one coefficient at all bounds have the covariance
C(r, r′) = Σ w²φ(r)φ(r′)/W², with φ(r) the influence of a row on the model with
bound r. Multiplying the influences of the rows by independent normal numbers,
the same for all r, gives normal processes with just this covariance, so they
are drawn from it. The band θ̂(r) ± c·se(r) has for c the quantile of the largest
|process|/se over r: it holds for all bounds at once with the given confidence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from fairridge._typing import Floats
from fairridge.inference.analysis import Analysis
from fairridge.inference.estimates import quantile
from fairridge.inference.passes import Pass, Weighing
from fairridge.inference.rows import FairRows
from fairridge.tables import Table, Tabular

BAND_DRAWS = 20_000
# Influences that are in memory at a time.
MAX_INFLUENCES = 4_000_000


@dataclass(frozen=True, repr=False)
class PathBands(Tabular):
    """Bands for the coefficients of a path; each holds for all bounds at once.

    Attributes
    ----------
    names : tuple of str
        Names of the coefficients: intercept, α and β, class by class.
    unfairness : ndarray of shape (m,)
        The bounds r.
    estimate, standard_errors : ndarray of shape (m, k)
        Coefficients, and their standard errors at each bound.
    critical : ndarray of shape (k,)
        How many standard errors a band is away from the coefficient.
    confidence : float
        Confidence of each band.
    backend : object
        The frame library of the input.

    See Also
    --------
    fairridge.FairnessPath : Its `bands` returns this.
    Inference : Intervals for one bound.

    References
    ----------
    .. [1] "Bands over a path" in docs/inference.md.

    Examples
    --------
    >>> import numpy as np
    >>> from fairridge import FairRidgeRegressor
    >>> rng = np.random.default_rng(0)
    >>> S, X, noise = rng.normal(size=(3, 100, 1))
    >>> y = (S + X + noise)[:, 0]
    >>> path = FairRidgeRegressor().path(X, y, sensitive_features=S, unfairness=[0, 0.1, 1])
    >>> bands = path.bands()
    >>> print(bands.estimate.shape, bands.confidence)
    (3, 3) 0.95
    """

    names: tuple[str, ...]
    unfairness: Floats
    estimate: Floats
    standard_errors: Floats
    critical: Floats
    confidence: float
    backend: Any = None

    @property
    def lower(self) -> Floats:
        """Lower ends, of shape (m, k)."""
        return self.estimate - self.critical * self.standard_errors

    @property
    def upper(self) -> Floats:
        """Upper ends, of shape (m, k)."""
        return self.estimate + self.critical * self.standard_errors

    def _tables(self) -> list[Table]:
        count, parts = len(self.unfairness), (self.estimate, self.standard_errors)
        estimate, errors, lower, upper = (
            part.T.ravel() for part in (*parts, self.lower, self.upper)
        )
        columns = {
            "term": [name for name in self.names for _ in range(count)],
            "unfairness": np.tile(self.unfairness, len(self.names)),
            "coefficient": estimate,
            "standard_error": errors,
            "lower": lower,
            "upper": upper,
        }
        title = f"Bands for all bounds, confidence {self.confidence:g}"
        return [Table.of(columns, title, backend=self.backend, brief=True)]


# A pass, what its terms are multiplied with, and how rows count: the model at one bound.
_Part = tuple[Pass, Floats, Weighing]


def _joint(
    family: Any,
    parts: tuple[_Part, ...],
    y: Floats,
    Z: Floats,
    weight: Floats,
    offset: Floats | None,
) -> Floats:
    """Return Σ φ(r)φ(r′) over some rows, for every coefficient, of shape (k, m, m)."""
    n, k, basis = len(y), parts[0][1].shape[1], parts[0][0].branch.basis
    # The rows of a Cox model belong together.
    step = max(1, MAX_INFLUENCES // (len(parts) * k)) if family.separable else n
    total: Any = 0.0
    for start in range(0, n, step):
        here = slice(start, start + step)
        part = None if offset is None else offset[here]
        rows = FairRows.of(family, basis, y[here], Z[here], weight[here], part)
        influences = np.empty((k, len(parts), rows.n_rows))
        for place, (what, onto, weighing) in enumerate(parts):
            at = what.branch.seen(rows)
            each = what.terms(at).array() * weighing.factors(at)[:, None]
            influences[:, place] = onto.T @ each.T
        total = total + influences @ influences.transpose(0, 2, 1)
    return np.asarray(total)


def bands_of(
    analyses: Sequence[Analysis],
    *,
    confidence: float,
    names: tuple[str, ...],
    backend: Any = None,
) -> PathBands:
    """Return bands for the models of a path."""
    first = analyses[0]
    factor, df = first.finite_sample
    parts = []
    for analysis in analyses:
        what = Pass(analysis.branch)
        onto = what.completion() @ analysis.maps(what.branch)[1]
        parts.append((what, onto, analysis.weighing))
    first.require_rows()
    over_rows = partial(_joint, first.family, tuple(parts))
    sums: Floats = first.fit.engine.sum_over_columns(over_rows, first.basis.center)
    joint = factor * sums / first.basis.weight**2
    errors = np.sqrt(np.maximum(np.einsum("kmm->mk", joint), 0.0))
    # Wider by as much as intervals at one bound are.
    student = quantile(confidence, df) / quantile(confidence, None)
    critical = student * np.array([_critical(part, confidence) for part in joint])
    largest = _with_kink(analyses, factor / first.basis.weight**2, errors)
    estimate = np.array([analysis.fair_values() for analysis in analyses])
    bounds = np.array([analysis.solution.unfairness for analysis in analyses])
    return PathBands(names, bounds, estimate, largest, critical, confidence, backend)


def _critical(covariance: Floats, confidence: float) -> float:
    """Return the quantile of the largest |process|/se; that of one point if none varies."""
    errors = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    varies = errors > 0.0
    if not varies.any():
        return quantile(confidence, None)
    correlation = covariance[np.ix_(varies, varies)] / np.outer(errors[varies], errors[varies])
    sizes, vectors = np.linalg.eigh(correlation)
    # Models of a path have few directions in common.
    few = sizes > 1e-10 * sizes[-1]
    root = vectors[:, few] * np.sqrt(sizes[few])
    normal = np.random.default_rng(0).standard_normal((BAND_DRAWS, root.shape[1]))
    drawn = float(np.quantile(np.abs(normal @ root.T).max(axis=1), confidence))
    return max(drawn, quantile(confidence, None))


def _with_kink(analyses: Sequence[Analysis], factor: float, errors: Floats) -> Floats:
    """Take the larger of two errors at bounds that may or may not bind."""
    first, out = analyses[0], errors.copy()
    named = first.quantities()
    if "unconstrained" not in named:
        return out
    sums = first.sums(first.branch, (named["unconstrained"],))
    error = np.sqrt(factor * max(float(sums[-2, -2]), 0.0))
    for k, analysis in enumerate(analyses):
        near = analysis.near_kink(first.unconstrained, error)
        other = analysis.other_branch if near else None
        if other is not None:
            _, weights, _ = analysis.maps(other)
            products = analysis.sums(other)[:-1, :-1]
            variances = factor * ((weights.T @ products) * weights.T).sum(axis=1)
            out[k] = np.maximum(out[k], np.sqrt(np.maximum(variances, 0.0)))
    return out
