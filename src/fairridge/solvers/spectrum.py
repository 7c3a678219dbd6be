"""One block of columns in its singular basis, where every ridge is a division.

And small factors and triangular systems: LAPACK's routine for several right-hand
sides wakes all threads whatever the size, which on a busy machine took 20 ms for a
system of 5 equations, against 2 µs here; and numpy's QR of five columns takes 33 µs,
LAPACK's 7.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import blas, lapack

from fairridge._typing import Floats

EPS = float(np.finfo(np.float64).eps)
TINY = float(np.finfo(np.float64).tiny)
# Condition number of a matrix of squares up to which they keep ten digits.
CONDITION_LIMIT = 1e5
# Length of a column, relative to the longest in units of their spread, that is rounding.
LENGTH_TOLERANCE = 1e-12
# What others may leave of a dependent column, relative to its length: half of the digits.
COLLINEARITY_TOLERANCE = 1e-7
# Smallest eigenvalue of a correlation matrix, relative to the largest, that counts for its rank:
# below are squares of lengths that have lost ten digits.
RANK_TOLERANCE = 1e-10
# Curvature, relative to the largest, that rounding of a Hessian can take away; and eigenvalue of
# equations that repeat each other, as the probabilities of classes sum to one.
CURVATURE_TOLERANCE = 1e-13
# Columns from which the time of a singular value decomposition counts.
LARGE_WIDTH = 200
# Columns that are compared at once with all directions found before.
PANEL = 64


@dataclass(frozen=True)
class Spectrum:
    """Columns Z, divided by their scale: Z/scale = P diag(√l) Aᵀ.

    A response enters through its projection c = Pᵀy, so that

    - the ridge estimate is A diag(√l/(l+λ)) c on the scaled columns,
    - the fitted values are P diag(l/(l+λ)) c.

    Directions of zero variance are left out, which makes every estimate the
    minimum-norm one. A penalty gets the columns of S, centered.

    Attributes
    ----------
    eigenvalues : ndarray of shape (rank,)
        l, the nonzero eigenvalues of the scaled ZᵀZ, largest first.
    vectors : ndarray of shape (k, rank)
        A, in the scaled columns.
    scale : ndarray of shape (k,)
        What the columns were divided by.
    dependent : tuple of int
        Columns that are constant, or linear combinations of the others.

    See Also
    --------
    Penalty : Its methods get a spectrum and a projection c.

    References
    ----------
    .. [1] "Penalties on α" in docs/model.md.

    Examples
    --------
    The scaled ZᵀZ is A diag(l) Aᵀ, and Zᵀy is A diag(√l) c:

    >>> import numpy as np
    >>> from fairridge.penalties import Ridge, Spectrum
    >>> spectrum = Spectrum(np.array([4.0, 1.0]), np.eye(2), np.ones(2), ())
    >>> c = np.array([2.0, 3.0])
    >>> A, l = spectrum.vectors, spectrum.eigenvalues
    >>> gram, products = A * l @ A.T, A @ (np.sqrt(l) * c)
    >>> print(np.linalg.solve(gram + 1.0 * np.eye(2), products))
    [0.8 1.5]
    >>> print(Ridge().coefficients(spectrum, c, np.array([1.0])))
    [[0.8 1.5]]
    """

    eigenvalues: Floats
    vectors: Floats
    scale: Floats
    dependent: tuple[int, ...]

    @cached_property
    def rank(self) -> int:
        """Number of directions with variance."""
        return len(self.eigenvalues)

    @cached_property
    def to_orthonormal(self) -> Floats:
        """T with ZT = P, for original columns Z, of shape (k, rank)."""
        return self.vectors / np.sqrt(self.eigenvalues) / self.scale[:, None]

    def original(self, standardized: Floats) -> Floats:
        """Bring coefficients (last axis) from scaled columns to the original ones."""
        return standardized / self.scale

    def ridge(self, projection: Floats, penalty: float | Floats) -> Floats:
        """Ridge coefficients on the scaled columns, for one penalty or for several."""
        weights = np.sqrt(self.eigenvalues) / (self.eigenvalues + np.asarray(penalty)[..., None])
        return (weights * projection) @ self.vectors.T

    def scatter(self) -> Floats:
        """ZᵀZ of the original columns."""
        root = self._root
        return root @ root.T

    def squares(self) -> Floats:
        """‖z‖² of every original column z: the diagonal of ZᵀZ."""
        return (self._root**2).sum(axis=1)

    def inverse_diagonal(self) -> Floats | None:
        """Diagonal of (ZᵀZ)⁻¹ of the original columns; of its pseudo-inverse if collinear."""
        return np.asarray((self.to_orthonormal**2).sum(axis=1))

    def products(self, projection: Floats) -> Floats:
        """Zᵀy of the original columns, for a projection Pᵀy of shape (rank,) or (rank, m)."""
        return self._root @ projection

    @cached_property
    def _root(self) -> Floats:
        """R with RRᵀ = ZᵀZ."""
        return self.vectors * np.sqrt(self.eigenvalues) * self.scale[:, None]

    def rotate(self, coefficients: Floats) -> Floats:
        """Fitted values PᵀZb for original-scale coefficients b (last axis)."""
        return (coefficients * self.scale) @ self.vectors * np.sqrt(self.eigenvalues)

    def quadratic(self, coefficients: Floats) -> Floats:
        """‖Zb‖² for original-scale coefficients b (last axis)."""
        return (self.rotate(coefficients) ** 2).sum(axis=-1)


def spectrum_of(
    root: Floats,
    scale: Floats,
    noise: float | Floats,
    unit: Floats | None = None,
    *,
    of_scatter: bool = False,
) -> tuple[Spectrum, Floats, Floats]:
    """Decompose a square root of ZᵀZ."""
    # Which directions have variance is decided on columns in units of their own spread, so that it
    # does not depend on what a penalty divides them by.
    # `noise` is what rounding can contribute to each column, relative to its unit, by default its
    # scale: a singular value below what it contributes to its direction, relative to the largest,
    # is zero. A root that was computed from ZᵀZ (`of_scatter`) has no more digits than that. Also
    # returned are the left singular vectors of the directions kept, and an orthonormal basis of
    # what they leave.
    unit = scale if unit is None else unit
    scaled = root / unit
    m, k = scaled.shape
    if not scaled.size or not np.any(scaled):
        empty = Spectrum(np.zeros(0), np.zeros((k, 0)), scale, tuple(range(k)))
        return empty, np.zeros((m, 0)), np.eye(m)
    decomposed = _from_squares(scaled) if of_scatter else None
    P, values, At = decomposed or np.linalg.svd(scaled, full_matrices=True)
    of_direction = lengths((At[: len(values)] * noise).T)
    kept = values > of_direction * values[0]
    rank = int(np.count_nonzero(kept))
    if not kept[:rank].all():  # a direction of noisy columns, before one of exact columns
        order = np.argsort(~kept, kind="stable")
        values, P[:, : len(order)], At[: len(order)] = values[order], P[:, order], At[order]
    P, N, values, A = P[:, :rank], P[:, rank:], values[:rank], At[:rank].T
    if not np.array_equal(unit, scale):
        P, values, A = _rescaled(P, scaled, At[rank:].T, unit / scale)
    size = lengths(scaled)
    A[size <= LENGTH_TOLERANCE * size.max()] = 0.0  # else they have rounding errors of the others
    return Spectrum(values**2, A, scale, dependent_columns([scaled], k, rank)), P, N


def _from_squares(root: Floats) -> tuple[Floats, Floats, Floats] | None:
    """Return the singular value decomposition of a large root by the eigenvectors of its square."""
    # In half of the time. None for roots of few columns, or if the square has lost digits; rows
    # below the columns must be zero, as those of a triangle are.
    m, k = root.shape
    if k < LARGE_WIDTH or m < k or root[k:].any():
        return None
    squares, A = np.linalg.eigh(root.T @ root)
    if not squares[0] * CONDITION_LIMIT > squares[-1]:
        return None
    values, A = np.sqrt(squares[::-1]), np.ascontiguousarray(A[:, ::-1])
    P = np.eye(m)
    P[:k, :k] = root[:k] @ A / values
    return P, values, A.T


def _rescaled(
    P: Floats, root: Floats, null: Floats, factors: Floats
) -> tuple[Floats, Floats, Floats]:
    """Decompose root·diag(factors), given P of the root and the null space of its columns."""
    # Two equal columns differ by rounding, which beside a third one in smaller units would look
    # like an effect of that column: what is in the null space is taken out.
    turn, values, At = np.linalg.svd(P.T @ root * factors, full_matrices=False)
    null = np.where(np.abs(null) <= LENGTH_TOLERANCE, 0.0, null)
    null = np.linalg.qr(null / factors[:, None])[0]
    return P @ turn, values, At.T - null @ (null.T @ At.T)


def dependent_columns(blocks: Iterable[Floats], width: int, rank: int) -> tuple[int, ...]:
    """Name columns that could be left out, the last of each dependent set."""
    # Greedy from the left: a column is dependent if those kept before it explain it.
    # Blocks are read until `rank` columns are found independent.
    if rank == width:
        return ()
    panels = (block[:, k : k + PANEL] for block in blocks for k in range(0, block.shape[1], PANEL))
    kept: list[int] = []
    directions: Floats | None = None
    start = 0
    for panel in panels:
        if directions is None:
            directions = np.empty((len(panel), rank))
        kept += [start + k for k in _independent(panel, directions, len(kept))]
        start += panel.shape[1]
        if len(kept) == rank:
            break
    return tuple(sorted(set(range(width)) - set(kept)))


def _independent(panel: Floats, directions: Floats, count: int) -> list[int]:
    """Return the columns that the first directions do not explain, and add theirs to them."""
    rest, old = panel.copy(), directions[:, :count]
    for _ in range(2):  # twice is enough for orthogonality
        rest -= old @ (old.T @ rest)
    size = lengths(panel)
    independent: list[int] = []
    for j in range(panel.shape[1]):
        if count == directions.shape[1]:
            break
        column, new = rest[:, j], directions[:, count - len(independent) : count]
        for _ in range(2):
            column -= new @ (new.T @ column)
        length = float(np.linalg.norm(column))
        if length > COLLINEARITY_TOLERANCE * max(float(size[j]), TINY):
            directions[:, count] = column / length
            count += 1
            independent.append(j)
    return independent


def small_qr(Y: Floats) -> tuple[Floats, Floats]:
    """Return Q with orthonormal columns, and R with Y = QR in its upper triangle."""
    # Below the diagonal R holds other numbers, which `solve_upper` does not read.
    k = min(Y.shape)
    if not k:
        return np.zeros((Y.shape[0], 0)), np.zeros((0, Y.shape[1]))
    packed, tau, _, _ = lapack.dgeqrf(Y)
    return lapack.dorgqr(packed[:, :k], tau)[0], packed[:k]


def solve_upper(R: Floats, right: Floats, *, transposed: bool = False) -> Floats:
    """Solve Rx = right, or Rᵀx = right, for an upper triangular R."""
    if not R.size:
        return np.zeros(right.shape)
    if not np.diag(R).all():
        raise np.linalg.LinAlgError("a triangular matrix is singular.")
    if right.ndim == 1:
        x: Floats = blas.dtrsv(R, right, trans=int(transposed))
    else:
        x = blas.dtrsm(1.0, R, right, trans_a=int(transposed))
    return x


def lengths(columns: Floats) -> Floats:
    """Return the length of every column."""
    return np.sqrt((columns * columns).sum(axis=0))


def curvature_scale(H: Floats) -> Floats:
    """Return roots of the diagonal; 1 for a coordinate without curvature, which has no scale."""
    diagonal = H.diagonal()
    return np.sqrt(np.where(diagonal > TINY, diagonal, 1.0))


def solve_definite(H: Floats, b: Floats) -> Floats:
    """Solve a positive definite system, which rounding may have left indefinite."""
    scale = curvature_scale(H)
    # Rounded alike on both sides of the diagonal: of a singular matrix, other errors leave a
    # direction of negative curvature.
    scaled = H / (scale * scale[:, None])
    if not len(H):  # which LAPACK refuses
        return np.zeros_like(b)
    _, solved, failed = lapack.dposv(scaled, b / scale)
    if not failed:
        return np.asarray(solved / scale)
    values, vectors = np.linalg.eigh(scaled)
    values = np.maximum(values, CURVATURE_TOLERANCE * max(float(values[-1]), 1.0))
    return vectors @ ((vectors.T @ (b / scale)) / values) / scale


def is_definite(H: Floats) -> bool:
    """Whether a matrix has a Cholesky factor, which costs much less than its eigenvalues."""
    return not lapack.dpotrf(H)[1]


def whitening(scatter: Floats) -> Floats:
    """Return R of shape (rank, q) with RᵀR = Σ⁺, so that Rs has a scatter of one."""
    # The rank is decided in units in which every column has variance one.
    scale = np.sqrt(np.maximum(np.diag(scatter), 0.0))
    scale = np.where(scale > 0.0, scale, 1.0)
    values, vectors = np.linalg.eigh(scatter / np.outer(scale, scale))
    used = values > RANK_TOLERANCE * values.max(initial=0.0)
    return (vectors[:, used] / scale[:, None] / np.sqrt(values[used])).T


def block_diagonal(blocks: Sequence[Floats]) -> Floats:
    """Return a matrix with some blocks on its diagonal, and zeros elsewhere."""
    # SciPy's `block_diag` takes a quarter of a millisecond, and makes a row of no blocks.
    if len(blocks) == 1:
        return blocks[0]
    ends = np.cumsum([(0, 0), *(block.shape for block in blocks)], axis=0)
    whole = np.zeros(ends[-1])
    for block, (row, column), (below, right) in zip(blocks, ends[:-1], ends[1:], strict=True):
        whole[row:below, column:right] = block
    return whole
