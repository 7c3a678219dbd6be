"""Fairness on rows the model was not fitted to.

There S and U = X − SB are no longer orthogonal, so the share of S cannot be
read off α and β: predictions are regressed on S in those rows instead.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairridge.engines import Engine
from fairridge.fairness import (
    Combined,
    Definition,
    EqualityOfOpportunity,
    StatisticalParity,
)
from fairridge.fairness.maximal import Maximal
from fairridge.solvers import Fit

__all__ = ["explained_by_sensitive", "held_out_unfairness", "scatter_of", "sequential_share"]

Floats = NDArray[np.float64]


def scatter_of(columns: Floats, weight: Floats | None = None) -> Floats:
    """Return Σ w (z − z̄)(z − z̄)ᵀ over rows z."""
    centered = columns - np.average(columns, axis=0, weights=weight)
    weighted = centered if weight is None else centered * weight[:, None]
    return weighted.T @ centered


def explained_by_sensitive(scatter: Floats, q: int, m: int) -> float:
    """R² of the linear predictors regressed on S.

    Parameters
    ----------
    scatter : ndarray of shape (q+m+t, q+m+t)
        Centered scatter of [S, η, y]: q, m and t columns.
    q, m : int
        Columns of S and of η.
    """
    explained, total = _explained(scatter, q, m)
    return float(np.trace(explained) / total) if total > 0.0 else 0.0


def sequential_share(scatter: Floats, q: int, m: int) -> float:
    """Share of S in what S and then y explain of η (equality of opportunity)."""
    first, total = _explained(scatter, q, m)
    if total <= 0.0:
        return 0.0
    cross = scatter[:q, q:]
    left = scatter[q:, q:] - cross.T @ _inverse(scatter[:q, :q]) @ cross
    of_y = left[:m, m:] @ _inverse(left[m:, m:]) @ left[m:, :m]
    both = float(np.trace(first) + np.trace(of_y))
    return float(np.trace(first)) / both if both > 0.0 else 0.0


def _explained(scatter: Floats, q: int, m: int) -> tuple[Floats, float]:
    cross = scatter[:q, q : q + m]
    explained = cross.T @ _inverse(scatter[:q, :q]) @ cross
    return explained, float(np.trace(scatter[q : q + m, q : q + m]))


def _inverse(scatter: Floats) -> Floats:
    """Pseudo-inverse in units in which every column has variance one."""
    scale = np.sqrt(np.maximum(np.diag(scatter), 0.0))
    scale = np.where(scale > 0.0, scale, 1.0)
    units = np.outer(scale, scale)
    return np.linalg.pinv(scatter / units, rcond=1e-10, hermitian=True) / units


def held_out_unfairness(
    definition: Definition, fit: Fit, engine: Engine, scatter: Floats, q: int, m: int
) -> float:
    """Return how unfair a fit is on other rows.

    Parameters
    ----------
    definition : Definition
        What unfairness means. Statistical parity, whatever its measure, is the
        R² of η regressed on S; individual fairness compares α with the
        unconstrained α₀ over pairs of these rows; a function of yours sees
        these rows with the training centers.
    fit : Fit
        The model.
    engine : Engine
        Where the other rows are.
    scatter, q, m
        As in `explained_by_sensitive`.
    """
    if isinstance(definition, StatisticalParity):
        return explained_by_sensitive(scatter, q, m)
    if isinstance(definition, EqualityOfOpportunity):
        return sequential_share(scatter, q, m)
    if isinstance(definition, Maximal):
        return _maximal(definition, fit, engine)
    if isinstance(definition, Combined):
        values = [
            held_out_unfairness(part, fit, engine, scatter, q, m) for part in definition.definitions
        ]
        return (
            max(values)
            if definition.is_maximum
            else float(np.average(values, weights=definition.weights))
        )
    return definition.value(fit.on(engine))


def _maximal(definition: Maximal, fit: Fit, engine: Engine) -> float:
    """Return the largest association of S with η, from the moments of the rows."""
    moments, q = engine.moments(), engine.n_sensitive
    raw = np.atleast_2d(fit.basis.raw_coefficients(fit.alpha, fit.beta))
    scatter = moments.scatter[: raw.shape[1], : raw.shape[1]]
    products = raw @ scatter
    found = definition.associations(
        products[:, :q],
        np.diag(scatter)[:q],
        np.maximum((products * raw).sum(axis=1), 0.0),
        moments.weight,
    )
    return float(found.max(initial=0.0))
