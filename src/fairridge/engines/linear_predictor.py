"""Linear predictors of encoded columns, and what to say of those that are not finite."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairridge._arrays import as_float64, joined, namespace, slices, to_device, to_host
from fairridge._typing import Floats
from fairridge.data import Indicators, Piece, Slab
from fairridge.engines.blocks import dense, not_finite_message


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
    blocks, n_rows = [], arrays[0].shape[0]
    whole = all(array.dtype == namespace(array).float64 for array in arrays)
    for rows in slices(n_rows, n_rows if whole else SOME_ROWS):
        eta = to_device(intercept[None, :], arrays[0])
        for array, part in zip(arrays, parts, strict=True):
            eta = eta + as_float64(array[rows, :]) @ part
        blocks.append(eta)
    eta = joined(blocks, axis=0)
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


def _length(piece: Piece) -> int:
    return len(piece.codes) if isinstance(piece, Indicators) else int(piece.values.shape[0])
