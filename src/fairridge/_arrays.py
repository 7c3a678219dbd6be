"""Arrays of other libraries than NumPy: torch, CuPy, JAX and all that follow the array API.

Code that computes on rows, wherever they are, asks for the namespace of its
arguments; for NumPy arrays that is NumPy itself, at no cost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from functools import cache, cached_property, partial
from importlib import import_module
from inspect import getmembers_static
from typing import Any

import numpy as np
import scipy.special

# e^x beyond this x would be infinite.
LARGEST_EXPONENT = 700.0
# Part of a sum that may be rounding, whatever the order of its terms.
SUM_TOLERANCE = 1e-9
# Special functions of libraries that have some.
SPECIAL = {
    "torch": "torch.special",
    "cupy": "cupyx.scipy.special",
    "jax": "jax.scipy.special",
}
# Functions that a library has with fewer digits than SciPy.
INEXACT = {("jax", "betaln")}


@cache
def compat() -> Any:
    """Return array-api-compat: scikit-learn's copy, or the package itself; None if neither is."""
    for name in ("sklearn.externals.array_api_compat", "array_api_compat"):
        try:
            return import_module(name)
        except ImportError:
            continue
    return None


def namespace(array: Any) -> Any:
    """Return the library of an array, with the names of the array API; NumPy for numbers."""
    if isinstance(array, np.ndarray | np.generic | float):
        return np
    return compat().array_namespace(array)


def device_of(array: Any) -> Any:
    """Return the device that an array of another library is on."""
    return compat().device(array)


class DeviceConstants:
    """Constants of computations on rows, which go where these are; see `placed`."""


def placed(what: Any, put: Callable[[Any], Any], known: dict[int, Any] | None = None) -> Any:
    """Return constants with all arrays of numbers elsewhere; what was one object stays one."""
    # Properties that are computed once are computed before. Integers stay: they are places.
    # `known` has what was moved already, by identity.
    known = {} if known is None else known
    if id(what) in known:
        return known[id(what)]
    if isinstance(what, DeviceConstants):
        for name, of_class in getmembers_static(type(what)):
            if isinstance(of_class, cached_property):
                getattr(what, name)
        found: Any = copy(what)
        known[id(what)] = found
        vars(found).update({k: placed(v, put, known) for k, v in vars(what).items()})
    elif isinstance(what, tuple) and type(what) is tuple:
        found = tuple(placed(one, put, known) for one in what)
    elif isinstance(what, partial):
        found = partial(what.func, *(placed(one, put, known) for one in what.args))
    elif hasattr(what, "dtype") and hasattr(what, "shape") and len(what.shape):
        integers = isinstance(what, np.ndarray) and what.dtype.kind != "f"
        found = what if integers else put(what)
    else:
        found = what.item() if isinstance(what, np.generic) else what
    known[id(what)] = found
    return found


def blank(shape: tuple[int, ...], like: Any, *, by_column: bool = False) -> Any:
    """Return an array of float64 to write into, beside another; in NumPy also column by column."""
    xp = namespace(like)
    if xp is np:
        return np.empty(shape, order="F" if by_column else "C")
    return xp.empty(shape, dtype=xp.float64, device=device_of(like))


def detached(array: Any) -> Any:
    """Return an array that torch records no operations of, which would keep all of them alive."""
    return array.detach() if hasattr(array, "detach") else array


def to_device(values: Any, like: Any) -> Any:
    """Copy numbers to the library and device of another array; integers and bools stay such."""
    values = np.asarray(values)
    xp = namespace(like)
    if xp is np:
        return values
    # torch takes no arrays that are read backward, and warns of those that are read-only.
    values = np.require(values, requirements=["C", "W"])
    return xp.asarray(values, device=device_of(like))


def to_host(array: Any) -> Any:
    """Copy an array to main memory, as a NumPy array."""
    if isinstance(array, np.ndarray | np.generic | float | int):
        return np.asarray(array)
    if hasattr(array, "detach"):  # torch
        return detached(array).cpu().numpy()
    if hasattr(array, "get"):  # CuPy
        return array.get()
    return np.asarray(array)


def as_float64(array: Any) -> Any:
    """Return an array in float64; itself if it is."""
    xp = namespace(array)
    if xp is np:
        return np.asarray(array, dtype=np.float64)
    return xp.astype(array, xp.float64, copy=False)


def at_most(x: Any, limit: float) -> Any:
    """Return min(x, limit)."""
    if isinstance(x, np.ndarray | np.generic | float):
        return np.minimum(x, limit)
    return namespace(x).where(x > limit, limit, x)


def at_least(x: Any, limit: float) -> Any:
    """Return max(x, limit)."""
    if isinstance(x, np.ndarray | np.generic | float):
        return np.maximum(x, limit)
    return namespace(x).where(x < limit, limit, x)


def joined(arrays: Sequence[Any], axis: int) -> Any:
    """Return arrays one after the other; one array alone is not copied."""
    if len(arrays) == 1:
        return arrays[0]
    xp = namespace(arrays[0])
    return np.concatenate(arrays, axis) if xp is np else xp.concat(list(arrays), axis=axis)


def side_by_side(arrays: Sequence[Any]) -> Any:
    """Return columns side by side, each written in one piece: a GPU reads few of them faster."""
    return joined([array.T for array in arrays], axis=0).T


def has_views(array: Any) -> bool:
    """Whether some rows of an array are a view of it; in JAX they are a copy."""
    return not compat().is_jax_array(array)


def taken(array: Any, places: Any, axis: int) -> Any:
    """Return some rows or columns."""
    xp = namespace(array)
    return xp.take(array, to_device(np.asarray(places, dtype=np.int64), array), axis=axis)


# Bytes of a block on a device: with smaller ones a GPU waits for its next operation.
DEVICE_BLOCK_BYTES = 256 << 20


def slices(n_rows: int, size: int) -> list[slice]:
    """Cut rows into blocks; none reaches beyond the end, which the array API does not allow."""
    return [slice(start, min(start + size, n_rows)) for start in range(0, n_rows, size)]


@cache
def special(xp: Any) -> Any:
    """Return the special functions of a namespace, by SciPy's names."""
    if xp is np:
        return scipy.special
    library = library_of(xp)
    return _Special(library, import_module(SPECIAL[library]) if library in SPECIAL else None)


def library_of(xp: Any) -> str:
    """Return the name of the library that a namespace belongs to."""
    name: str = xp.__name__
    return name.rpartition("array_api_compat.")[2].partition(".")[0]


class _Special:
    """Functions of a library; those that it lacks are SciPy's, by way of main memory."""

    def __init__(self, library: str, functions: Any) -> None:
        self._library, self._functions = library, functions

    def __getattr__(self, name: str) -> Callable[..., Any]:
        own: Callable[..., Any] | None = getattr(self._functions, name, None)
        if own is not None and (self._library, name) not in INEXACT:
            return own

        def by_way_of_host(*arrays: Any) -> Any:
            like = next(array for array in arrays if not isinstance(array, float))
            found = getattr(scipy.special, name)(*map(to_host, arrays))
            return to_device(found, like)

        return by_way_of_host


def bounded_exp(eta: Any) -> Any:
    """Return e^η, or a finite number that serves as infinity would, and times 0 is 0."""
    return namespace(eta).exp(at_most(eta, LARGEST_EXPONENT))
