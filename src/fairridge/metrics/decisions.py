"""Decisions by group: how many rows of each group are given each class."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import cast

import numpy as np

from fairridge._typing import Floats, Integers
from fairridge.data import Rows
from fairridge.engines import Engine, MemoryEngine
from fairridge.families.base import ClassFamily
from fairridge.metrics.encoded_groups import GroupCodes, codes_of, cuts_of, encoded_groups
from fairridge.models import Fit

__all__ = ["BINS", "SMALL", "Decided", "decided_by"]

# Groups of a numeric attribute, and rows below which a group is left out.
BINS, SMALL = 4, 30


@dataclass(frozen=True)
class Decided:
    """Rows and weights by group; with those of other rows they add.

    Attributes
    ----------
    counts : tuple of ndarray of shape (groups,)
        Rows of each group, one array per attribute.
    weights : tuple of ndarray of shape (groups, classes)
        Weights of the rows of each group that are given each class.
    """

    counts: tuple[Integers, ...]
    weights: tuple[Floats, ...]

    @classmethod
    def of(
        cls, decided: Integers, groups: Sequence[GroupCodes], weight: Floats, n_classes: int
    ) -> Decided:
        """Count rows.

        Parameters
        ----------
        decided : ndarray of shape (n,)
            Class that each row is given, from 0.
        groups : sequence of GroupCodes
            Groups of the rows, by each attribute.
        weight : ndarray of shape (n,)
            Weights.
        n_classes : int
            Number of classes.
        """
        counts, weights = [], []
        for one in groups:
            cells, size = one.codes * n_classes + decided, one.size * n_classes
            counts.append(np.bincount(one.codes, minlength=one.size))
            sums: Floats = np.bincount(cells, weights=weight, minlength=size)  # type: ignore[assignment]
            weights.append(sums.reshape(one.size, n_classes))
        return cls(tuple(counts), tuple(weights))

    def __add__(self, other: Decided) -> Decided:
        return Decided(
            tuple(a + b for a, b in zip(self.counts, other.counts, strict=True)),
            tuple(a + b for a, b in zip(self.weights, other.weights, strict=True)),
        )

    @property
    def _rates(self) -> list[Floats]:
        """Shares of each group's rows that are given each class; attributes of one group aside."""
        found = []
        for count, weight in zip(self.counts, self.weights, strict=True):
            compared = weight[(count >= SMALL) & weight.any(axis=1)]
            if len(compared) > 1:
                found.append(compared / compared.sum(axis=1, keepdims=True))
        return found

    @property
    def gap(self) -> float:
        """Largest difference between groups in the share of rows that are given a class.

        NaN if no attribute has two groups of at least 30 rows.
        """
        gaps = [float(np.ptp(rates, axis=0).max()) for rates in self._rates]
        return max(gaps, default=float("nan"))

    def shares(self, decision: int) -> tuple[Floats, Floats]:
        """Return the lowest and the highest share of a group that is given a class.

        One number for each attribute that has two groups of at least 30 rows.
        """
        rates = [one[:, decision] for one in self._rates]
        return np.array([one.min() for one in rates]), np.array([one.max() for one in rates])

    @property
    def impact_ratios(self) -> Floats:
        """For every class, the lowest share of a group that is given it over the highest.

        The smallest over attributes; NaN if nobody is given the class, or if there is no gap.
        """
        with np.errstate(invalid="ignore", divide="ignore"):
            found = [rates.min(axis=0) / rates.max(axis=0) for rates in self._rates]
        return np.fmin.reduce(found) if found else np.full(self.weights[0].shape[1], np.nan)


@dataclass(frozen=True)
class _Decide:
    """Decides for the likeliest class of some rows; travels to where they are."""

    family: ClassFamily
    raw: Floats
    level: Floats
    n_classes: int
    cuts: tuple[Floats, ...]

    def __call__(self, engine: MemoryEngine) -> Decided:
        return self.by(engine, codes_of(engine.rows.sensitive, self.cuts))

    def by(self, engine: MemoryEngine, groups: Sequence[GroupCodes]) -> Decided:
        """Count rows whose groups are known."""
        eta = engine.scores(self.raw) + self.level
        eta = eta if engine.offset is None else eta + engine.offset[:, None]
        return Decided.of(self.family.likeliest(eta), groups, engine.weights, self.n_classes)


def decided_by(fit: Fit, engine: Engine, n_classes: int, unmapped: Rows | None = None) -> Decided:
    """Decide for the likeliest class of every row, and count by group.

    Parameters
    ----------
    fit : Fit
        A model of classes.
    engine : Engine
        Where the rows are; a pass, and one more to cut numeric attributes.
    n_classes : int
        Number of classes.
    unmapped : Rows, optional
        The rows with S as it was given, if its columns are mapped to features.
    """
    basis = fit.basis
    raw = np.atleast_2d(basis.raw_coefficients(fit.alpha, fit.beta))
    level = np.atleast_1d(fit.intercept + fit.alpha @ basis.center_sensitive) - raw @ basis.center
    decide = _Decide(cast(ClassFamily, fit.family), raw, level, n_classes, ())
    if unmapped is not None:
        groups = encoded_groups(unmapped, bins=BINS)
        work: Callable[[MemoryEngine], Decided] = partial(decide.by, groups=groups)
    else:
        work = replace(decide, cuts=cuts_of(engine, bins=BINS))
    found: Decided = engine.sum_of(work)
    return found
