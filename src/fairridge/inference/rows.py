"""What the influence functions of a model read of each row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from fairridge._arrays import (
    DeviceConstants,
    as_float64,
    blank,
    joined,
    namespace,
    slices,
    to_device,
)
from fairridge._typing import Floats
from fairridge.families.risk_sets import CoxTerms
from fairridge.inference.cox import score_rows

# Multiplications up to which OpenBLAS does not copy matrices before it multiplies them, which takes
# as long as a product with few columns; and rows that are worth a call of their own.
UNPACKED_PRODUCT_SIZE, MIN_PRODUCT_ROWS = 1_000_000, 500


@dataclass(frozen=True)
class Stack:
    """Numbers of some rows; with those of other rows they form one list, in order."""

    parts: tuple[Floats, ...]

    def __add__(self, other: Stack) -> Stack:
        return Stack(self.parts + other.parts)

    def array(self) -> Floats:
        """Return one row for each row."""
        return np.vstack(self.parts)


@dataclass(frozen=True)
class FairRows:
    """Some rows in the fair basis."""

    family: Any  # the family of the response (Family)
    basis: tuple[Floats, Floats]  # B, the coefficients of X on S, and Σ_S⁻¹
    y: Floats  # what the family reads, of shape (n, c)
    sx: Floats  # centered sensitive attributes s and predictors x, of shape (n, q+p)
    weight: Floats  # sample weights, of shape (n,)
    offset: Floats | None  # added to the linear predictor, of shape (n,)
    beside: Floats  # columns after those of X, of shape (n, c)
    _products: dict[bytes, Floats] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(
        cls,
        family: Any,
        basis: tuple[Floats, Floats],
        y: Floats,
        Z: Floats,
        weight: Floats,
        offset: Floats | None,
    ) -> FairRows:
        """Read centered columns [S, X], and what follows them."""
        k = sum(basis[0].shape)
        return cls(family, basis, y, Z[:, :k], weight, offset, Z[:, k:])

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.sx.shape[0])

    @property
    def q(self) -> int:
        """Number of sensitive columns."""
        return int(self.basis[0].shape[0])

    @cached_property
    def s(self) -> Floats:
        """Centered sensitive attributes, column after column: functions of few columns are fast."""
        s = self.sx[:, : self.q]
        return np.asfortranarray(s) if namespace(s) is np else s

    @property
    def x(self) -> Floats:
        """Centered predictors."""
        return self.sx[:, self.q :]

    @cached_property
    def v(self) -> Floats:
        """Σ_S⁻¹s, of shape (n, q)."""
        return (self.basis[1].T @ self.s.T).T

    @cached_property
    def z(self) -> Floats:
        """Ones, s and u, of shape (n, 1+q+p)."""
        # Terms that are multiples of u do without: writing z takes as long as the rest of a pass.
        z = blank((self.n_rows, 1 + self.sx.shape[1]), self.sx)
        z[:, 0], z[:, 1 : 1 + self.q] = 1.0, self.s
        z[:, 1 + self.q :] = self.x - self.s @ self.basis[0]
        return z

    @property
    def u(self) -> Floats:
        """Decorrelated predictors x − Bᵀs."""
        return self.z[:, 1 + self.q :]

    def times(self, weights: Floats) -> Floats:
        """Return zᵀweights, for weights of shape (1+q+p, c)."""
        return (
            weights[0, :]
            + self.s @ weights[1 : 1 + self.q, :]
            + self.onto(weights[1 + self.q :, :])
        )

    @cached_property
    def targets(self) -> Floats:
        """The response as numbers: itself, 0/1 columns of its classes, or −log time."""
        if self.family.reads == "times":
            return -np.log(self.y[:, :1])
        if self.family.n_predictors > 1:
            codes = np.arange(self.family.n_predictors + 1.0)[None, :]
            return as_float64(self.y == to_device(codes, self.y))
        return self.y

    def onto(self, beta: Floats) -> Floats:
        """Return u·β for β of shape (p, m); models with the same β share it."""
        if namespace(beta) is not np:
            return self._onto(beta)
        key = beta.tobytes()
        if key not in self._products:
            self._products[key] = self._onto(beta)
        return self._products[key]

    def _onto(self, beta: Floats) -> Floats:
        return times_few(self.sx, joined([-(self.basis[0] @ beta), beta], axis=0))

    def with_offset(self, eta: Floats) -> Floats:
        """Add the offset to linear predictors."""
        return eta if self.offset is None else eta + self.offset[:, None]

    def deviance(self, eta: Floats) -> Floats:
        """Return the deviance of each row, of weight 1, at η less the offset."""
        eta = self.with_offset(eta)
        if self.family.n_predictors > 1:
            xp = namespace(eta)
            return -2.0 * xp.log(xp.sum(self.family.mean(eta) * self.targets, axis=1))
        deviance: Floats = self.family.unit_deviance(self.y[:, 0], eta[:, 0])
        return deviance


@dataclass(frozen=True)
class RowsOfModel:
    """Some rows as one model sees them, with coefficients of m linear predictors."""

    rows: FairRows  # the rows
    theta: Floats  # intercept at the means, α and β, of shape (m, 1+q+p)

    @cached_property
    def h(self) -> Floats:
        """Sα, of shape (n, m)."""
        return self.rows.s @ self.theta[:, 1 : 1 + self.rows.q].T

    @cached_property
    def t(self) -> Floats:
        """Uβ, of shape (n, m)."""
        return self.rows.onto(self.theta[:, 1 + self.rows.q :].T)

    @property
    def without_offset(self) -> Floats:
        """The linear predictors less the offset, of shape (n, m)."""
        return self.theta[:, 0] + self.h + self.t

    @cached_property
    def eta(self) -> Floats:
        """The linear predictors, of shape (n, m)."""
        return self.rows.with_offset(self.without_offset)

    @cached_property
    def moved(self) -> Floats:
        """What each row moves α by at fixed coefficients of columns: v t, of shape (n, m, q)."""
        return self.t[:, :, None] * self.rows.v[:, None, :]

    def _terms(self, order: int) -> Any:
        ones = namespace(self.eta).ones_like(self.eta[:, 0])
        return self.rows.family.deviance_terms(self.rows.y, self.eta, ones, order)

    @cached_property
    def score(self) -> Floats:
        """−½ ∂d/∂η of each row, of shape (n, m); for independent rows only."""
        gradient: Floats = self._terms(1).gradient
        return -0.5 * gradient

    @property
    def curvature(self) -> Floats:
        """½ ∂²d/∂η² of each row, for families with one linear predictor."""
        curvature: Floats = self._terms(2).curvature
        return 0.5 * curvature[:, 0, 0]

    def write_score_columns(self, out: Floats) -> None:
        """Write the derivative of the total score of z in the weight of each row."""
        # `out` has the shape (n, m, 1+q+p).
        rows = self.rows
        if rows.family.separable:
            write_multiples(self.score, rows.z, out)
            return
        eta = self.eta[:, 0]
        terms = CoxTerms.of(rows.family.ties, rows.y, eta, rows.weight, sets=rows.family.sets)
        # The partial likelihood has no intercept; what stands for one is 0 at the column means.
        out[:, 0, 0] = -(self.h + self.t)[:, 0]
        out[:, 0, 1:] = score_rows(terms, rows.z[:, 1:])


def times_few(columns: Floats, weights: Floats) -> Floats:
    """Return columns·weights, for weights of shape (k, c), c small."""
    (n, k), c = columns.shape, weights.shape[1]
    size = UNPACKED_PRODUCT_SIZE // max(k * c, 1)
    if namespace(columns) is not np or c == 1 or not MIN_PRODUCT_ROWS <= size < n:
        return columns @ weights
    out = np.empty((n, c))
    for rows in slices(n, size):
        np.matmul(columns[rows], weights, out=out[rows])
    return out


def write_multiples(factors: Floats, columns: Floats, out: Floats) -> None:
    """Write factors of shape (n, m) times columns of shape (n, k) into `out`, (n, m, k)."""
    if namespace(out) is np:
        np.multiply(factors[:, :, None], columns[:, None, :], out=out)
    else:
        out[...] = factors[:, :, None] * columns[:, None, :]


def over_predictors(each: Floats) -> Floats:
    """Sum over linear predictors, for numbers of shape (n, m)."""
    total: Floats = each[:, 0] if each.shape[1] == 1 else namespace(each).sum(each, axis=1)
    return total


@dataclass(frozen=True)
class OfRows(DeviceConstants):
    """A function of rows as a model sees them, to be summed over centered columns."""

    family: Any  # the family of the response (Family)
    theta: Floats  # intercept at the means, α and β, of shape (m, 1+q+p)
    basis: tuple[Floats, Floats]  # B and Σ_S⁻¹
    function: Callable[[RowsOfModel], Any]  # what is summed

    @property
    def any_arrays(self) -> bool:
        """Whether the function takes rows that are elsewhere."""
        return getattr(getattr(self.function, "func", self.function), "any_arrays", False)

    def __call__(self, y: Floats, Z: Floats, weight: Floats, offset: Floats | None) -> Any:
        """Return the function's value for some rows."""
        rows = FairRows.of(self.family, self.basis, y, Z, weight, offset)
        return self.function(RowsOfModel(rows, self.theta))
