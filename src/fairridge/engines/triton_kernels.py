"""Kernels that read rows once and convert them on the way, for torch on a GPU.

Triton compiles them; it comes with torch. Only `device_products` imports this module, and
does without it where Triton is missing.
"""

import triton
import triton.language as tl


@triton.jit(do_not_specialize=["n_rows", "n_columns", "n_vectors"])
def times_kernel(
    columns,
    row_stride,
    shift,
    coefficients,
    found,
    n_rows,
    n_columns,
    n_vectors,
    WIDTH: tl.constexpr,
    VECTORS: tl.constexpr,
    ROWS: tl.constexpr,
):
    """Write (z − shift)·b for every row z and every vector b of coefficients."""
    # Rows lie one after the other, `row_stride` numbers apart. Coefficients are written row by row,
    # and what is found vector by vector. WIDTH and VECTORS are what columns and vectors are filled
    # up to with zeros. Programs take rows in turn: what they read at the same time lies together.
    at, which = tl.arange(0, WIDTH), tl.arange(0, VECTORS)
    real, asked = at < n_columns, which < n_vectors
    of_b = coefficients + at[:, None] * n_vectors + which[None, :]
    b = tl.load(of_b, mask=real[:, None] & asked[None, :], other=0.0)
    first = tl.program_id(0).to(tl.int64) * ROWS
    for start in range(first, n_rows, tl.num_programs(0) * ROWS):
        rows = start + tl.arange(0, ROWS)
        inside = rows < n_rows
        of_z = columns + rows[:, None] * row_stride + at[None, :]
        z = tl.load(of_z, mask=inside[:, None] & real[None, :], other=0.0).to(tl.float64)
        if shift is not None:
            z -= tl.load(shift + at, mask=real, other=0.0)[None, :]
        eta = tl.dot(z, b, out_dtype=tl.float64)
        of_eta = found + rows[:, None] + which[None, :] * n_rows.to(tl.int64)
        tl.store(of_eta, eta, mask=inside[:, None] & asked[None, :])


@triton.jit(do_not_specialize=["n_rows", "n_columns", "n_vectors"])
def products_kernel(
    columns,
    row_stride,
    shift,
    vectors,
    vector_stride,
    vectors_apart,
    found,
    n_rows,
    n_columns,
    n_vectors,
    WIDTH: tl.constexpr,
    VECTORS: tl.constexpr,
    ROWS: tl.constexpr,
):
    """Write Σ v(z − shift) over the rows z of each program, for every vector v."""
    # Each program adds up its own rows, always the same, so that sums do not depend on chance.
    at, which = tl.arange(0, WIDTH), tl.arange(0, VECTORS)
    real, asked = at < n_columns, which < n_vectors
    sums = tl.zeros((VECTORS, WIDTH), tl.float64)
    program = tl.program_id(0)
    for start in range(program.to(tl.int64) * ROWS, n_rows, tl.num_programs(0) * ROWS):
        rows = start + tl.arange(0, ROWS)
        inside = rows < n_rows
        of_z = columns + rows[:, None] * row_stride + at[None, :]
        z = tl.load(of_z, mask=inside[:, None] & real[None, :], other=0.0).to(tl.float64)
        if shift is not None:
            z -= tl.load(shift + at, mask=real, other=0.0)[None, :]
        of_v = vectors + rows[None, :] * vector_stride + which[:, None] * vectors_apart
        v = tl.load(of_v, mask=inside[None, :] & asked[:, None], other=0.0)
        sums = tl.dot(v, z, sums, out_dtype=tl.float64)
    tl.store(found + (program * VECTORS + which[:, None]) * WIDTH + at[None, :], sums)
