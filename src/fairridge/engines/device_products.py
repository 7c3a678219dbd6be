"""Products of many rows with few vectors: one read of the rows, whatever their type.

Libraries multiply arrays of one type, so that rows in float32 would be written as float64
before they are read; and a product with a few vectors reads rows more slowly than a GPU
can. Kernels of our own do neither: of 5·10⁷ rows of 105 columns on an H200 they took a fifth
of the time in float32, and two thirds to three quarters in float64. They need torch, a GPU
that multiplies matrices of float64, and Triton, which comes with such a torch.
"""

from __future__ import annotations

import re
from functools import cache, partial
from importlib import import_module
from typing import Any

from fairridge._arrays import compat

# The first Triton that multiplies matrices of float64 in the GPU's units for that, and the GPUs
# that have such units: A100, H100 and H200, B200.
MIN_TRITON_VERSION, FLOAT64_CAPABILITIES = (3, 6), frozenset({(8, 0), (9, 0), (10, 0)})
# Vectors, and columns, that a kernel has registers for.
MAX_VECTORS, MAX_COLUMNS = 8, 256
# Rows, or columns, that the GPU's units for matrices multiply as one.
MATRIX_TILE = 16
# By bytes of a number: columns up to which libraries read rows as fast, and numbers below which
# starting a kernel takes longer than the library's product.
LIBRARY_LIMITS = {8: (64, 1 << 28), 4: (16, 1 << 22)}
# Numbers that a program reads at once, and programs for each processor of the GPU.
PROGRAM_NUMBERS, PROGRAMS_PER_PROCESSOR = 2048, 16


def times(columns: Any, shift: Any, coefficients: Any) -> Any:
    """Return (columns − shift)·coefficients in float64, of shape (n, m); None without a kernel."""
    if not _reads(columns, coefficients.shape[1]):
        return None
    return _times(columns, shift, coefficients)


def _times(columns: Any, shift: Any, coefficients: Any) -> Any:
    (n, k), m = columns.shape, coefficients.shape[1]
    found = coefficients.new_empty((m, n)).T
    sizes, programs = _sizes(columns)
    with _on(columns):
        _kernels().times_kernel[(programs,)](
            columns, columns.stride(0), shift, coefficients.contiguous(), found, n, k, m,
            **sizes, num_warps=1,
        )  # fmt: skip
    return found


def products(columns: Any, shift: Any, vectors: Any) -> Any:
    """Return vectorsᵀ(columns − shift) in float64, of shape (m, k); None without a kernel."""
    if not _reads(columns, vectors.shape[1]):
        return None
    return _products(columns, shift, vectors)


def _products(columns: Any, shift: Any, vectors: Any) -> Any:
    (n, k), m = columns.shape, vectors.shape[1]
    sizes, programs = _sizes(columns)
    found = vectors.new_empty((programs, MAX_VECTORS, sizes["WIDTH"]))
    with _on(columns):
        _kernels().products_kernel[(programs,)](
            columns, columns.stride(0), shift, vectors, vectors.stride(0), vectors.stride(1),
            found, n, k, m, **sizes, num_warps=4,
        )  # fmt: skip
    return found.sum(0)[:m, :k]


def _reads(columns: Any, n_vectors: int) -> bool:
    """Whether there are kernels for some rows, and whether they pay."""
    if not compat().is_torch_array(columns) or not columns.is_cuda:
        return False
    n, k = columns.shape
    # Triton does not compile float64 products of numbers that were read as float16.
    limits = LIBRARY_LIMITS.get(columns.element_size())
    if limits is None or not columns.is_floating_point():
        return False
    narrow, few = limits
    fits = narrow < k <= MAX_COLUMNS and 0 < n_vectors <= MAX_VECTORS
    readable = columns.stride(1) == 1 and n * k >= few
    return fits and readable and _multiplies(columns.device)


def _sizes(columns: Any) -> tuple[dict[str, int], int]:
    """Return what kernels are compiled for, and the number of programs."""
    n, k = columns.shape
    width = 1 << (k - 1).bit_length()
    rows = max(MATRIX_TILE, PROGRAM_NUMBERS // width)
    sizes = {"WIDTH": width, "VECTORS": MAX_VECTORS, "ROWS": rows}
    processors = _properties(columns.device).multi_processor_count
    return sizes, min(PROGRAMS_PER_PROCESSOR * processors, -(-n // rows))


@cache
def _kernels() -> Any:
    return import_module("fairridge.engines.triton_kernels")


@cache
def _multiplies(device: Any) -> bool:
    """Whether a GPU has units that multiply matrices of float64, and Triton uses them."""
    # Triton also needs a C compiler and a folder to write to, so that both kernels are tried.
    torch = import_module("torch")
    properties = _properties(device)
    if torch.version.hip or (properties.major, properties.minor) not in FLOAT64_CAPABILITIES:
        return False
    ones = partial(torch.ones, dtype=torch.float64, device=device)
    rows = torch.ones((64, 32), dtype=torch.float32, device=device)
    try:
        version = re.match(r"(\d+)\.(\d+)", import_module("triton").__version__)
        if version is None or tuple(map(int, version.groups())) < MIN_TRITON_VERSION:
            return False
        found = _times(rows, None, ones((32, 1))), _products(rows, None, ones((64, 1)))
        return bool((found[0] == 32.0).all() and (found[1] == 64.0).all())
    except Exception:  # whatever fails, the library multiplies
        return False


@cache
def _properties(device: Any) -> Any:
    return import_module("torch").cuda.get_device_properties(device)


def _on(columns: Any) -> Any:
    """Make the GPU of some rows the current one."""
    return import_module("torch").cuda.device(columns.device)
