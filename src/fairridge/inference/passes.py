"""One more pass over the rows: sums of products of influence terms."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from fairridge._arrays import DeviceConstants, at_most, blank, joined, namespace, slices
from fairridge._typing import Floats, Integers
from fairridge.data import Slab
from fairridge.engines import Engine, MemoryEngine, in_memory
from fairridge.families.sums import any_arrays
from fairridge.inference.influence import Branch, Part
from fairridge.inference.rows import RowsOfModel, Stack, write_multiples

# Bytes of terms that are written out before they are multiplied, so that they stay in the cache.
PIECE_BYTES = 1 << 20
# What leverage leaves of a residual, below which the row shows nothing of its level.
LEAST_LEFT = 1e-8

# A sum of influences on branches.
Quantity = tuple[Part, ...]


@dataclass(frozen=True)
class Terms:
    """Terms of some rows: multiples of columns, which are not written out, then others."""

    factors: Floats  # of shape (n, m)
    columns: Floats  # what they multiply, of shape (n, k)
    others: Floats  # of shape (n, c)

    def array(self) -> Floats:
        """Write them out, of shape (n, m·k + c)."""
        if not self.factors.shape[1]:
            return self.others
        (n, k), m = self.columns.shape, self.factors.shape[1]
        multiples = blank((n, m, k), self.columns)
        write_multiples(self.factors, self.columns, multiples)
        return joined([namespace(multiples).reshape(multiples, (n, m * k)), self.others], axis=1)

    def gram(self) -> Floats:
        """Return the sum of products of all terms."""
        (n, k), m = self.columns.shape, self.factors.shape[1]
        if not m or namespace(self.columns) is not np:
            whole = self.array()
            return whole.T @ whole
        own, cross = np.zeros((m * k, m * k)), np.zeros((self.others.shape[1], m * k))
        size = max(256, PIECE_BYTES // (8 * max(m * k, 1)))
        buffer = np.empty((min(size, n), m, k))
        for rows in slices(n, size):
            multiples = buffer[: rows.stop - rows.start]
            write_multiples(self.factors[rows], self.columns[rows], multiples)
            piece = multiples.reshape(-1, m * k)
            # SciPy's dsyrk lets no other thread run, nor does the operator @ for a small product.
            own += np.dot(piece.T, piece)
            cross += np.dot(self.others[rows].T, piece)
        return np.block([[own, cross.T], [cross, np.dot(self.others.T, self.others)]])


@dataclass(frozen=True)
class Pass(DeviceConstants):
    """What to compute of each row: the terms of a branch, and its influence on some quantities."""

    branch: Branch  # its terms come first
    quantities: tuple[Quantity, ...] = ()  # one column each

    def terms(self, seen: RowsOfModel, more: int = 0) -> Terms:
        """Return all terms of each row, and some columns of zeros for the caller to fill."""
        # What quantities have of the branch's own terms is left out; see `completion`.
        rows, width = seen.rows, self.branch.width - self.branch.n_multiples
        last = width + len(self.quantities)
        out = blank((rows.n_rows, last + more), rows.sx, by_column=self.branch.apart)
        if self.branch.apart:
            factors = self.branch.write_apart(seen, out[:, :width])
        else:
            factors = out[:, :0]
            self.branch.write_terms(seen, out[:, :width])
        out[:, width:] = 0.0
        # Each branch is evaluated once.
        known = {id(self.branch): seen}
        for k, parts in enumerate(self.quantities):
            for factor, branch, weights, measure in parts:
                if id(branch) not in known:
                    known[id(branch)] = branch.seen(rows)
                at = known[id(branch)]
                moved = measure.direct(at)
                if weights is not None and branch is not self.branch:
                    moved = moved + branch.weighted(at, weights)
                out[:, width + k] += factor * moved
        return Terms(factors, rows.sx, out)

    def completed(self, sums: Floats, more: int = 0) -> Floats:
        """Complete sums of products of terms, and of others after them; see `completion`."""
        full = self.completion(more)
        completed = full.T @ sums @ full
        return np.asarray(completed + completed.T) / 2.0  # symmetric to the last digit

    def completion(self, more: int = 0) -> Floats:
        """Return what `terms` are to be multiplied with."""
        # That puts terms in their order, with f u in the place of f s and f x if they are apart,
        # and adds what is linear in the branch's own terms to quantities and to equations.
        width = self.branch.width
        full = np.eye(width + len(self.quantities) + more)
        for j, parts in enumerate(self.quantities):
            for factor, branch, weights, _ in parts:
                if branch is self.branch and weights is not None:
                    full[: len(weights), width + j] += factor * weights
        if not self.branch.apart:
            return full
        (m, k), B = self.branch.theta.shape, self.branch.basis[0]
        _, alpha, beta = np.split(np.arange(m * k).reshape(m, k), [1, 1 + len(B)], axis=1)
        moved = len(self.branch.inverse) + np.arange(alpha.size).reshape(alpha.shape)
        full[moved] -= self.branch.follows @ full[alpha]
        of_columns = np.concatenate([-B @ full[beta], full[beta]], axis=1)
        others = np.delete(full, beta.ravel(), axis=0)
        return np.vstack([of_columns.reshape(-1, full.shape[1]), others])


@dataclass(frozen=True)
class Weighing(DeviceConstants):
    """How much each row counts in a sum of products."""

    # Whether a row of weight w stands for w identical rows, rather than counting w times.
    frequency: bool = False
    leverage: tuple[Floats, float] | None = None  # root of H⁻¹ and sum of the weights, for HC3

    def factors(self, at: RowsOfModel) -> Floats:
        """Return what to multiply the terms of each row with."""
        weight, left = at.rows.weight, self.left(at)
        xp = namespace(weight)
        factors: Floats = xp.sqrt(weight) if self.frequency else weight
        # The residual of a row of leverage 1 is zero, and lacks nothing that could be added.
        return factors if left is None else factors / xp.where(left < LEAST_LEFT, 1.0, left)

    def left(self, at: RowsOfModel) -> Any:
        """Return what the leverage of each row, or of one of those it stands for, leaves of 1."""
        if self.leverage is None:
            return None
        root, total = self.leverage
        weight = at.rows.weight
        found = at.curvature / total * namespace(weight).sum(at.rows.times(root) ** 2, axis=1)
        return 1.0 - at_most(found if self.frequency else weight * found, 1.0 - 1e-10)


def _weighted(what: Pass, weighing: Weighing, at: RowsOfModel) -> Terms:
    """Return the weighted terms ζ of some rows; the last is 1, times the weight that a row has."""
    factors, terms = weighing.factors(at), what.terms(at, 1)
    if bool(namespace(factors).any(factors != 1.0)):
        each = factors[:, None]
        terms = Terms(terms.factors * each, terms.columns, terms.others * each)
    terms.others[:, -1] = at.rows.weight / factors
    return terms


@any_arrays
def _products(what: Pass, weighing: Weighing, at: RowsOfModel) -> Floats:
    """Return Σ ζζᵀ over some rows."""
    return _weighted(what, weighing, at).gram()


def _cluster_sums(what: Pass, weighing: Weighing, at: RowsOfModel) -> Stack:
    """Return Σ ζ over the rows of each cluster, after its code, the column after those of X."""
    terms = _weighted(what, weighing, at).array()
    return Stack((_by_cluster(np.column_stack([at.rows.beside, terms])),))


def _by_cluster(coded: Floats) -> Floats:
    """Sum rows with the same code, which comes first."""
    values, places = np.unique(coded[:, 0], return_inverse=True)
    order = np.argsort(places.ravel(), kind="stable")
    starts = np.searchsorted(places.ravel()[order], np.arange(len(values)))
    return np.column_stack([values, np.add.reduceat(coded[order, 1:], starts, axis=0)])


def products(
    engine: Engine,
    family: Any,
    what: Pass,
    weighing: Weighing,
    clusters: Integers | None = None,
) -> Floats:
    """Return Σ ζζᵀ over all rows, or over clusters of them, in one pass."""
    # One more row and column has the sums of the terms, times their weights once, if there are no
    # clusters.
    branch = what.branch
    if clusters is None:
        each = branch.of_rows(family, partial(_products, what, weighing))
        return what.completed(engine.sum_over_columns(each, branch.center), 1)
    if not in_memory(engine):
        raise ValueError("clusters need the rows in memory: pass a frame or an array.")
    rows, codes = engine.rows, Slab(clusters.astype(np.float64)[:, None])
    columns, names = (*rows.predictors, codes), (*rows.names, "cluster")
    marked = MemoryEngine(
        rows.with_columns(rows.sensitive, columns, names), separable=engine.separable
    )
    each = branch.of_rows(family, partial(_cluster_sums, what, weighing))
    stack: Stack = marked.sum_over_columns(each, np.append(branch.center, 0.0))
    sums = _by_cluster(stack.array())[:, 1:]
    return what.completed(sums.T @ sums, 1)


def _written(what: Pass, at: RowsOfModel) -> Stack:
    """Return the terms of some rows, unweighted."""
    return Stack((what.terms(at).array(),))


def row_terms(engine: Engine, family: Any, what: Pass) -> Floats:
    """Return the terms of every row, in their order; for rows that fit into memory."""
    each = what.branch.of_rows(family, partial(_written, what))
    stack: Stack = engine.sum_over_columns(each, what.branch.center)
    return stack.array() @ what.completion()
