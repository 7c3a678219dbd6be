"""From arrays of torch, CuPy, JAX and others to an engine that sums over them where they are."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairridge._arrays import (
    DEVICE_BLOCK_BYTES,
    as_float64,
    detached,
    device_of,
    library_of,
    namespace,
    slices,
    to_device,
    to_host,
)
from fairridge._typing import Integers
from fairridge.data import MAX_LEVELS, Design, Table, as_table, learn_design
from fairridge.data.offsets import Offsets
from fairridge.data.table import in_place, require_usual_size
from fairridge.engines import DeviceEngine, DeviceRows
from fairridge.estimators._model import FairModel
from fairridge.estimators._responses import Response


def read_device(
    model: FairModel, X: Any, y: Any, sensitive_features: Any, sample_weight: Any, offset: Any
) -> tuple[Design, DeviceEngine, Response]:
    """Learn the columns of rows on a device, and put an engine over them."""
    kind = model._response_kind
    _require_plain(model, X)
    if y is None:
        raise ValueError(
            f"{type(model).__name__} requires y to be passed, but the target y is None."
        )
    table = as_table(X, devices=True)
    X, n = table.source, table.shape[0]
    _require_float64(X)
    attributes = None
    if sensitive_features is not None:
        moved = _moved(sensitive_features, X, "sensitive_features")
        attributes = as_table(moved, argument="sensitive_features", devices=True)
    design = learn_design(
        table, attributes, model.sensitive, getattr(model, "max_levels", MAX_LEVELS)
    )
    values = _vector(y, X, n, "y")
    weight, shift = _weights(sample_weight, X, n), _shift(offset, X, n)
    classes = _labels(values) if kind.has_labels else np.empty(0)
    response, reader = kind.streamed(classes)
    family = response.family
    rows = DeviceRows(
        (X,) if attributes is None else (attributes.source, X),
        _places(design),
        len(design.sensitive.names),
        design.encoded_names,
        values,
        response.classes,
        weight,
        shift if family.n_predictors == 1 else None,
        less_offset=getattr(reader, "less_offset", False),
    )
    engine = DeviceEngine(rows, family)
    if hasattr(family, "check") and response.classes is None and not family.least_squares:
        family.check(np.concatenate([engine.extent.low, engine.extent.high]))
    return design, engine, response


def _require_plain(model: FairModel, X: Any) -> None:
    """Raise for what needs the rows in main memory."""
    if not model._sums_on_devices:
        raise ValueError(
            f"{type(model).__name__} needs rows in main memory: pass NumPy arrays or a frame "
            f"instead of {type(X).__name__} on {device_of(X)}."
        )
    maps = ("predictor_map", "sensitive_map")
    refused = [name for name in maps if getattr(model, name, None) is not None]
    named = model.sensitive if isinstance(model.sensitive, list | tuple) else ()
    if refused:
        raise ValueError(f"{refused[0]} needs rows in main memory: pass NumPy arrays or a frame.")
    if any(isinstance(item, tuple) for item in named):
        raise ValueError("intersections need rows in main memory: pass NumPy arrays or a frame.")


def _places(design: Design) -> tuple[Integers, ...]:
    """Return where the columns of each array stand in [S, X]."""
    q, k = len(design.sensitive.names), len(design.encoded_names)
    if design.separate:
        return np.arange(q), np.arange(q, k)
    places = np.empty(k, dtype=np.intp)
    places[list(design.positions_sensitive + design.positions_predictors)] = np.arange(k)
    return (places,)


def _require_float64(X: Any) -> None:
    xp = namespace(X)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            has_float64 = as_float64(X[:1, :]).dtype == xp.float64
    except (TypeError, RuntimeError):
        has_float64 = False
    if not has_float64:
        raise ValueError(
            f"sums need float64, which {library_of(xp)} does not have on "
            f"{device_of(X)}; for JAX call jax.config.update('jax_enable_x64', True), or pass "
            "NumPy arrays."
        )


def _moved(values: Any, X: Any, argument: str) -> Any:
    """Return an array in the library and on the device of X; copied there from NumPy."""
    if not in_place(values):
        if isinstance(values, Table):
            values = values.source
        host = np.asarray(values)
        if host.dtype.kind not in "biuf":
            raise ValueError(
                f"{argument} must hold numbers if X is an array on {device_of(X)}; encode levels "
                "as numbers, or pass frames."
            )
        return to_device(host, X)
    if namespace(values) is not namespace(X) or device_of(values) != device_of(X):
        raise ValueError(
            f"X is {type(X).__name__} on {device_of(X)}, but {argument} is "
            f"{type(values).__name__} on {device_of(values)}; move one to the other."
        )
    return detached(values)


def _vector(values: Any, X: Any, n_rows: int, argument: str) -> Any:
    """Read one entry per row of X."""
    array = _moved(values, X, argument)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(f"{argument} has shape {tuple(array.shape)}; pass one value per row of X.")
    if array.shape[0] != n_rows:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: X has {n_rows} rows "
            f"but {argument} has {array.shape[0]}."
        )
    return array


def _finite(array: Any, argument: str) -> Any:
    xp = namespace(array)
    parts = (as_float64(array[rows]) for rows in slices(array.shape[0], DEVICE_BLOCK_BYTES // 8))
    if not all(bool(xp.all(xp.isfinite(part))) for part in parts):
        raise ValueError(f"Input {argument} contains NaN or infinity; drop those rows first.")
    return array


def _shift(offset: Any, X: Any, n_rows: int) -> Any:
    """Read what is added to η: offset + log(exposure). None stays None."""
    if not isinstance(offset, Offsets):
        return None if offset is None else _finite(_vector(offset, X, n_rows, "offset"), "offset")
    exposure = offset.exposure
    if isinstance(exposure, int | float):
        exposure = np.full(n_rows, float(exposure))
    exposure = as_float64(_finite(_vector(exposure, X, n_rows, "exposure"), "exposure"))
    xp = namespace(exposure)
    if not float(xp.min(exposure)) > 0.0:
        raise ValueError(f"exposure must be positive; it has {float(xp.min(exposure)):g}.")
    first = _shift(offset.offset, X, n_rows)
    return xp.log(exposure) if first is None else xp.log(exposure) + as_float64(first)


def _weights(sample_weight: Any, X: Any, n_rows: int) -> Any:
    """Read sample weights: non-negative, not all zero. None stays None."""
    if sample_weight is None:
        return None
    if isinstance(sample_weight, int | float):
        sample_weight = np.full(n_rows, float(sample_weight))
    weight = _finite(_vector(sample_weight, X, n_rows, "sample_weight"), "sample_weight")
    xp = namespace(weight)
    low, high = float(xp.min(weight)), float(xp.max(weight))
    if low < 0.0:
        raise ValueError(
            f"sample_weight has the negative value {low:g}; weights must be zero or positive."
        )
    if high == 0.0:
        raise ValueError("sample_weight is zero in every row; at least one must be positive.")
    require_usual_size(np.array([high]), "sample_weight")
    return weight


def _labels(y: Any) -> NDArray[Any]:
    """Return the distinct labels, in order."""
    xp = namespace(y)
    parts = [
        to_host(xp.unique_values(y[rows])) for rows in slices(y.shape[0], DEVICE_BLOCK_BYTES // 8)
    ]
    labels: NDArray[Any] = np.unique(np.concatenate(parts))
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise ValueError("Input y contains NaN, missing values or infinity; drop those rows first.")
    return labels
