"""Linear predictors of encoded columns, and what to say of those that are not finite."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fairridge._arrays import as_float64, joined, namespace, slices, to_device, to_host
from fairridge._typing import Floats
from fairridge.data import Indicators, Piece, Slab
from fairridge.engines.blocks import write_block

__all__ = ["dense", "linear_predictor", "not_finite_message", "require_squares"]

# A sum of squares below this has lost digits to the end of the range of numbers.
LEAST_SQUARES = 1e-290


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
    if not all(map(_on_host, pieces)):
        return _on_device(pieces, names, coefficients, intercept)
    n_rows = _length(pieces[0])
    eta = np.tile(intercept, (n_rows, 1))
    start = 0
    with np.errstate(over="ignore", invalid="ignore"):
        for piece in pieces:
            part = coefficients[start : start + piece.width]
            if not isinstance(piece, Indicators):
                eta += piece.values @ part
            else:
                # Code -1, the base level, picks the last row: zero.
                eta += np.vstack([part, np.zeros((1, part.shape[1]))])[piece.codes]
            start += piece.width
    if not np.isfinite(eta).all():
        _raise_not_finite(pieces, names, n_rows)
    return eta


def _on_host(piece: Piece) -> bool:
    return not isinstance(piece, Slab) or isinstance(piece.values, np.ndarray)


# Rows of an array of another library that are converted at a time.
SOME_ROWS = 1 << 20


def _on_device(
    pieces: tuple[Piece, ...], names: tuple[str, ...], coefficients: Floats, intercept: Floats
) -> Any:
    """Return η in the library, and on the device, that columns are in."""
    arrays = [piece.values for piece in pieces if isinstance(piece, Slab)]
    ends = np.cumsum([array.shape[1] for array in arrays])[:-1]
    parts = [to_device(part, arrays[0]) for part in np.split(coefficients, ends)]
    found, n_rows = [], arrays[0].shape[0]
    whole = all(array.dtype == namespace(array).float64 for array in arrays)
    for rows in slices(n_rows, n_rows if whole else SOME_ROWS):
        eta = to_device(intercept[None, :], arrays[0])
        for array, part in zip(arrays, parts, strict=True):
            eta = eta + as_float64(array[rows, :]) @ part
        found.append(eta)
    eta = joined(found, axis=0)
    xp = namespace(eta)
    if not bool(xp.all(xp.isfinite(eta))):
        hosted = tuple(Slab(to_host(array)) for array in arrays)
        _raise_not_finite(hosted, names, n_rows)
    return eta


def _raise_not_finite(pieces: tuple[Piece, ...], names: tuple[str, ...], n_rows: int) -> None:
    for k, name in enumerate(names):
        values = dense(pieces, n_rows, only=k)
        if not np.isfinite(values).all():
            raise ValueError(not_finite_message(name, values))
    raise ValueError("predictions overflow: the columns hold numbers far from those of the fit.")


def require_squares(squares: Floats, names: Sequence[str], column: Callable[[int], Floats]) -> None:
    """Raise for a column with NaN, infinity, or differences too large or small to square.

    Parameters
    ----------
    squares : ndarray of shape (k,)
        Sums of squares of the shifted columns.
    names : sequence of str
        Their names.
    column : callable
        Returns the numbers of one of them.
    """
    for k in np.flatnonzero(~np.isfinite(squares) | (squares < LEAST_SQUARES)).tolist():
        values = column(k)
        if not np.isfinite(squares[k]):
            raise ValueError(not_finite_message(names[k], values))
        if np.ptp(values) > 0.0:
            raise ValueError(
                f"Input column {names[k]!r} holds numbers too small to square; rescale it."
            )


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
