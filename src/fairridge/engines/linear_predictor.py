"""Linear predictors of encoded columns, and what to say of those that are not finite."""

from __future__ import annotations

import numpy as np

from fairridge._typing import Floats
from fairridge.data import Indicators, Piece, Slab
from fairridge.engines.blocks import write_block

__all__ = ["dense", "linear_predictor", "not_finite_message"]


def linear_predictor(
    pieces: tuple[Piece, ...], names: tuple[str, ...], coefficients: Floats, intercept: Floats
) -> Floats:
    """Return η = intercept + Z·coefficients for encoded columns Z.

    Parameters
    ----------
    pieces : tuple of Slab or Indicators
        The encoded columns of S, then of X.
    names : tuple of str
        Their names, for messages.
    coefficients : ndarray of shape (k, m)
        One column per linear predictor.
    intercept : ndarray of shape (m,)
        Their intercepts.
    """
    n_rows = _length(pieces[0])
    eta = np.tile(intercept, (n_rows, 1))
    start = 0
    with np.errstate(over="ignore", invalid="ignore"):
        for piece in pieces:
            part = coefficients[start : start + piece.width]
            if isinstance(piece, Slab):
                eta += piece.values @ part
            else:
                # Code -1, the base level, picks the last row: zero.
                eta += np.vstack([part, np.zeros((1, part.shape[1]))])[piece.codes]
            start += piece.width
    if not np.isfinite(eta).all():
        _raise_not_finite(pieces, names, n_rows)
    return eta


def _raise_not_finite(pieces: tuple[Piece, ...], names: tuple[str, ...], n_rows: int) -> None:
    for k, name in enumerate(names):
        values = dense(pieces, n_rows, only=k)
        if not np.isfinite(values).all():
            raise ValueError(not_finite_message(name, values))
    raise ValueError("predictions overflow: the columns hold numbers far from those of the fit.")


def not_finite_message(name: str, values: Floats) -> str:
    """Say what is wrong with a column whose sum of squares is not finite."""
    if np.isnan(values).any():
        return (
            f"Input column {name!r} contains NaN or missing values; "
            "drop those rows or impute them first."
        )
    if np.isinf(values).any():
        return f"Input column {name!r} contains infinity; replace it by finite numbers."
    return f"Input column {name!r} holds numbers too large to square; rescale it."


def _length(piece: Piece) -> int:
    return len(piece.codes) if isinstance(piece, Indicators) else int(piece.values.shape[0])


def dense(pieces: tuple[Piece, ...], n_rows: int, only: int | None = None) -> Floats:
    """Expand pieces to a dense array, or one column of it."""
    if only is not None:
        for piece in pieces:
            if only < piece.width:
                return dense((piece.columns(only, only + 1),), n_rows)[:, 0]
            only -= piece.width
    width = sum(piece.width for piece in pieces)
    out = np.empty((n_rows, width))
    with np.errstate(invalid="ignore"):
        write_block(pieces, slice(0, n_rows), np.zeros(width), out)
    return out
