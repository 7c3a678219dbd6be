"""What the influence functions of a model read of each row."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from fairridge._typing import Floats
from fairridge.families.risk_sets import CoxTerms
from fairridge.inference.cox import score_rows

__all__ = ["FairRows", "RowsOfModel", "Stack"]


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
    """Some rows in the fair basis.

    Attributes
    ----------
    family : Family
        The family of the response.
    y : ndarray of shape (n, c)
        What the family reads.
    s, x : ndarray of shape (n, q) and (n, p)
        Centered sensitive attributes and predictors.
    v : ndarray of shape (n, q)
        Σ_S⁻¹s.
    mixing : ndarray of shape (q, p)
        A with u = x − Aᵀs.
    offset : ndarray of shape (n,) or None
        Added to the linear predictor.
    weight : ndarray of shape (n,)
        Sample weights.
    """

    family: Any
    y: Floats
    s: Floats
    x: Floats
    v: Floats
    mixing: Floats
    offset: Floats | None
    weight: Floats
    _products: dict[bytes, Floats] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def u(self) -> Floats:
        """Decorrelated predictors."""
        return self.x - self.s @ self.mixing if self.mixing.any() else self.x

    @cached_property
    def targets(self) -> Floats:
        """The response as numbers: itself, 0/1 columns of its classes, or −log time."""
        if self.family.reads == "times":
            return -np.log(self.y[:, :1])
        if self.family.n_predictors > 1:
            return np.eye(self.family.n_predictors + 1)[self.y[:, 0].astype(np.intp)]
        return self.y

    def onto(self, beta: Floats) -> Floats:
        """Return u·β for β of shape (p, m); models with the same β share it."""
        key = beta.tobytes()
        if key not in self._products:
            self._products[key] = self.x @ beta - self.s @ (self.mixing @ beta)
        return self._products[key]

    def with_offset(self, eta: Floats) -> Floats:
        """Add the offset to linear predictors."""
        return eta if self.offset is None else eta + self.offset[:, None]

    def deviance(self, eta: Floats) -> Floats:
        """Return the deviance of each row, of weight 1, at η less the offset."""
        eta = self.with_offset(eta)
        if self.family.n_predictors > 1:
            chosen = np.arange(len(self.y)), self.y[:, 0].astype(np.intp)
            return -2.0 * np.log(self.family.mean(eta)[chosen])
        return np.asarray(self.family.unit_deviance(self.y[:, 0], eta[:, 0]), dtype=np.float64)


@dataclass(frozen=True)
class RowsOfModel:
    """Some rows as one model sees them, with coefficients of m linear predictors.

    Attributes
    ----------
    rows : FairRows
        The rows.
    theta : ndarray of shape (m, 1+q+p)
        Level, α and β.
    """

    rows: FairRows
    theta: Floats

    @cached_property
    def h(self) -> Floats:
        """Sα, of shape (n, m)."""
        return self.rows.s @ self.theta[:, 1 : 1 + self.rows.s.shape[1]].T

    @cached_property
    def t(self) -> Floats:
        """Uβ, of shape (n, m)."""
        return self.rows.onto(self.theta[:, 1 + self.rows.s.shape[1] :].T)

    @property
    def level(self) -> Floats:
        """The level, of shape (m,)."""
        return self.theta[:, 0]

    @cached_property
    def eta(self) -> Floats:
        """The linear predictors, of shape (n, m)."""
        return self.rows.with_offset(self.level + self.h + self.t)

    def _terms(self, order: int) -> Any:
        return self.rows.family.deviance_terms(self.rows.y, self.eta, np.ones(len(self.eta)), order)

    @cached_property
    def score(self) -> Floats:
        """−½ ∂d/∂η of each row, of shape (n, m); for independent rows only."""
        return -0.5 * np.asarray(self._terms(1).gradient)

    @property
    def curvature(self) -> Floats:
        """½ ∂²d/∂η² of each row, for families with one linear predictor."""
        return 0.5 * np.asarray(self._terms(2).curvature)[:, 0, 0]

    def write_score_columns(self, out: Floats, lost: Floats) -> None:
        """Write the derivative of the total score of (1, s, x) in the weight of each row.

        Parameters
        ----------
        out : ndarray of shape (n, m, 1+q+p)
            Where to.
        lost : ndarray of shape (n, m)
            vᵀE[g s], which is taken off the score of s and x.
        """
        rows, q = self.rows, self.rows.s.shape[1]
        if rows.family.separable:
            out[:, :, 0] = self.score
            left = (self.score - lost)[:, :, None]
            np.multiply(left, rows.s[:, None, :], out=out[:, :, 1 : 1 + q])
            np.multiply(left, rows.x[:, None, :], out=out[:, :, 1 + q :])
            return
        eta = self.eta[:, 0]
        terms = CoxTerms.of(rows.family.ties, rows.y, eta, rows.weight, sets=rows.family.sets)
        columns = np.hstack([rows.s, rows.x])
        out[:, 0, 0] = 0.0  # the partial likelihood has no level
        out[:, 0, 1:] = score_rows(terms, columns) - lost * columns
