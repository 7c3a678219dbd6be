"""Checks of constructor parameters, made at fit as scikit-learn does."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairridge.arguments import is_number
from fairridge.data import Design, MappedEncoding
from fairridge.solvers import FairBasis

__all__ = [
    "FEWER_FEATURES",
    "PENALTY_OR_FEWER",
    "check_bound",
    "check_bounds",
    "check_count",
    "check_features",
    "check_number",
    "check_option",
    "check_ranks",
]


def check_bounds(unfairness: Any, most: float = 1.0) -> NDArray[np.float64]:
    """Return bounds r as an array; each must lie in [0, most]."""
    if np.ndim(unfairness) > 1 or np.size(unfairness) == 0:
        raise ValueError("unfairness must be one number, or a list of at least one.")
    for r in np.ravel(np.asarray(unfairness, dtype=object)):
        if not is_number(r) or not 0.0 <= r <= most:
            raise ValueError(
                f"unfairness={r!r} is not a bound: use numbers from 0 (fair) "
                + (f"to {most:g} (unconstrained)." if np.isfinite(most) else "on.")
            )
    return np.atleast_1d(np.asarray(unfairness, dtype=np.float64))


def check_bound(unfairness: Any, most: float = 1.0) -> NDArray[np.float64]:
    """Return one bound r as an array of length 1."""
    if np.ndim(unfairness) != 0:
        raise ValueError("unfairness must be one number; use path() for several.")
    return check_bounds(unfairness, most)


def check_number(name: str, value: Any, *, least: float, strict: bool = False) -> float:
    """Return a finite number that is at least (or more than) `least`."""
    if (
        not is_number(value)
        or not np.isfinite(value)
        or value < least
        or (strict and value == least)
    ):
        relation = "greater than" if strict else "at least"
        raise ValueError(f"{name}={value!r} must be a number {relation} {least:g}.")
    return float(value)


def check_count(name: str, value: Any, *, least: int = 1) -> int:
    """Return a whole number that is at least `least`."""
    if not is_number(value) or not np.isfinite(value) or value < least or value != int(value):
        raise ValueError(f"{name}={value!r} must be a whole number, at least {least}.")
    return int(value)


def check_option(name: str, value: Any, options: tuple[str, ...]) -> None:
    """Raise unless the value is one of the options."""
    if value not in options:
        raise ValueError(f"{name}={value!r} is not known; use {' or '.join(map(repr, options))}.")


FEWER_FEATURES = "Use a map with fewer features."
PENALTY_OR_FEWER = "Set predictor_penalty, or use a map with fewer features."


def check_ranks(basis: FairBasis, design: Design, n_rows: int, *, advice: str | None) -> None:
    """Raise where features are so many that they explain anything.

    Parameters
    ----------
    basis : FairBasis
        S and U in small matrices.
    design : Design
        How columns become features.
    n_rows : int
        Number of rows.
    advice : str or None
        What to do about features that fit any response; None where a penalty
        keeps them from it.
    """
    q, p = basis.sensitive.rank, basis.predictors.rank
    if isinstance(design.sensitive, MappedEncoding) and 2 * q > n_rows:
        raise ValueError(
            f"sensitive_map makes {q} independent features of S for {n_rows} rows: they would "
            "explain every predictor. Use a map with far fewer features than rows."
        )
    if isinstance(design.predictors, MappedEncoding) and advice and 1 + q + p >= n_rows:
        _refuse_features(p, n_rows, advice)


def check_features(Z: NDArray[np.float64], design: Design, advice: str) -> None:
    """Raise where the features of a matrix are so many that they fit any response."""
    if not isinstance(design.predictors, MappedEncoding) or Z.shape[1] + 1 < len(Z):
        return
    rank = int(np.linalg.matrix_rank(Z - Z.mean(axis=0)))
    if 1 + rank >= len(Z):
        _refuse_features(rank, len(Z), advice)


def _refuse_features(features: int, n_rows: int, advice: str) -> None:
    raise ValueError(
        f"predictor_map makes {features} independent features of X for {n_rows} rows: without a "
        f"penalty they fit any response. {advice}"
    )
