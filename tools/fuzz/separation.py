"""Whether the deviance has a minimum, by linear programs.

It has none if the columns separate the responses: along some direction of the coefficients
no row of the likelihood gets worse, and one gets better without end.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import csr_matrix, hstack, vstack

Floats = NDArray[np.float64]
# What rows gain along a direction, of columns in standard deviations, that is not rounding.
GAINED = 1e-4
COUNTS = ("poisson", "quasi-poisson", "negative-binomial", "tweedie")


def is_separated(family: str, Z: Floats, y: NDArray[Any]) -> bool:
    """Whether some direction of the coefficients has no end.

    Parameters
    ----------
    family : str
        Of the response.
    Z : ndarray of shape (n, k)
        Columns in standard deviations, without the intercept.
    y : ndarray
        Codes of classes, shares, numbers, or (time, event).
    """
    return endless_change(family, Z, y) is not None


def endless_change(family: str, Z: Floats, y: NDArray[Any]) -> Floats | None:
    """Return the linear predictors of a direction without end, None if there is no such direction.

    One column for each class, of more than two.
    """
    if family in ("gaussian", "gamma"):  # whose rows get worse both ways
        return None
    if family == "cox":
        gain, b = _best(_of_risk_sets(Z, y))
        return Z @ b[: Z.shape[1]] if gain > GAINED else None
    Z = np.hstack([np.ones((len(Z), 1)), Z])
    if family == "multinomial":
        gain, b = _best(_of_classes(Z, y))
        return Z @ b.reshape(-1, Z.shape[1]).T if gain > GAINED else None
    # Rows may move toward an extreme response; others may not move.
    toward = np.where(y == 0.0, -1.0, 0.0)
    if family not in COUNTS:
        toward = np.where(y == 1.0, 1.0, toward)
    inner = Z[toward == 0.0]
    rows = np.vstack([toward[toward != 0.0, None] * Z[toward != 0.0], inner, -inner])
    gain, b = _best(csr_matrix(rows))
    return Z @ b if gain > GAINED else None


def _of_classes(Z: Floats, y: NDArray[Any]) -> csr_matrix:
    """Return differences between the scores of the observed class and of every other one."""
    classes, (n, p) = int(y.max()) + 1, Z.shape
    blocks = []
    for k in range(1, classes):  # the k-th class after the observed one
        block = np.zeros((n, classes, p))
        block[np.arange(n), y], block[np.arange(n), (y + k) % classes] = Z, -Z
        blocks.append(csr_matrix(block.reshape(n, -1)))
    return vstack(blocks)


def _of_risk_sets(Z: Floats, y: Floats) -> csr_matrix:
    """Return that events have the largest scores of all at risk: one maximum per event time."""
    time, event = y[:, 0], y[:, 1] > 0
    times = np.unique(time[event])
    before = np.searchsorted(times, time, side="right") - 1  # the last event time so far
    at, counted = np.eye(len(times)), before >= 0
    at_risk = hstack([csr_matrix(-Z[counted]), csr_matrix(at[before[counted]])])
    events = hstack([csr_matrix(Z[event]), csr_matrix(-at[before[event]])])
    falling = hstack([csr_matrix((len(times) - 1, Z.shape[1])), csr_matrix(at[:-1] - at[1:])])
    return vstack([at_risk, events, falling])


def _best(A: csr_matrix) -> tuple[float, Floats]:
    """Return max Σ Ab over directions with 0 ≤ Ab ≤ 1 and |b| ≤ 1, and b."""
    found = linprog(
        -np.asarray(A.sum(axis=0)).ravel(),
        A_ub=vstack([-A, A]),
        b_ub=np.concatenate([np.zeros(A.shape[0]), np.ones(A.shape[0])]),
        bounds=(-1.0, 1.0),
        method="highs",
    )
    return (0.0, np.zeros(A.shape[1])) if found.fun is None else (-float(found.fun), found.x)
