"""Columns that separate the responses, by name: their coefficients have no limit."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from fairridge.models import FairBasis, Fit, Separation
from fairridge.search.penalized_glm import MOVES, PenalizedGLM, largest_of
from fairridge.solvers import Point

# Coefficient of a level that makes odds of three million to one.
DECIDED = 15.0


def separation_of(minima: PenalizedGLM, point: Point) -> Separation | None:
    """Name the columns whose coefficients grow without bound at a point, if there are any."""
    if point.separated is None:
        return None
    names, basis, q = minima.engine.names, minima.basis, minima.engine.n_sensitive
    # The part of θ that has gone far is the part along those directions.
    gone = minima.coordinates.raw(point.separated.T @ (point.separated @ point.theta))[:, 1:]
    if minima.compression is not None:  # users know columns, not features
        names, basis = minima.compression.names, minima.compression.original
        gone = minima.compression.raw(gone)
    sensitive = np.zeros(q)
    for direction in point.separated:
        _, alpha, beta = minima.coordinates.split(minima.coordinates.by_predictor(direction))
        moved = float(np.sum(minima.basis.sensitive_variance(alpha)))
        if moved > MOVES * (moved + float(np.sum(minima.basis.predictor_variance(beta)))):
            sensitive = np.maximum(sensitive, np.abs(alpha).max(axis=0))
    deviations = basis.deviations
    columns = largest_of(np.abs(gone).max(axis=0) * deviations)
    return Separation(
        tuple(names[k] for k in columns),
        tuple(names[k] for k in largest_of(sensitive * deviations[:q])),
    )


def separating_columns(
    basis: FairBasis, names: tuple[str, ...], fits: Iterable[Fit]
) -> dict[str, float]:
    """Return columns that separate the responses, each with its largest coefficient.

    These are the columns whose coefficients grow without bound, and the
    0/1 predictors whose coefficients are so large that only a penalty can
    have ended their growth: a level without events costs nothing however
    far its coefficient runs.
    """
    q, binary = len(basis.center_sensitive), basis.binary_predictors
    largest: dict[str, float] = {}
    for fit in fits:
        raw = np.atleast_2d(basis.raw_coefficients(fit.alpha, fit.beta))
        raw = raw[np.abs(raw).argmax(axis=0), np.arange(len(names))]
        levels = q + np.flatnonzero(binary & (np.abs(raw[q:]) > DECIDED))
        found = {names[k] for k in levels}
        found |= set(fit.separation.columns if fit.separation else ())
        here = {name: float(raw[names.index(name)]) for name in found}
        largest |= {k: b for k, b in here.items() if abs(b) >= abs(largest.get(k, 0.0))}
    return {name: largest[name] for name in names if name in largest}
