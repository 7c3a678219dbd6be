"""Decisions by group: how many rows of each group are given each class."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from fairridge._typing import Floats, Integers
from fairridge.data import Rows
from fairridge.engines import Engine, MemoryEngine
from fairridge.families.base import ClassFamily
from fairridge.metrics.encoded_groups import GroupCodes, codes_of, cuts_of, encoded_groups
from fairridge.models import Fit

# Rows below which a group is left out.
SMALL = 30


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
        """Count rows by the class that each is given, from 0, and by group."""
        counts, weights = [], []
        for group in groups:
            cells, size = group.codes * n_classes + decided, group.size * n_classes
            counts.append(np.bincount(group.codes, minlength=group.size))
            sums: Floats = np.bincount(cells, weights=weight, minlength=size)  # type: ignore[assignment]
            weights.append(sums.reshape(group.size, n_classes))
        return cls(tuple(counts), tuple(weights))

    def __add__(self, other: Decided) -> Decided:
        return Decided(
            tuple(map(operator.add, self.counts, other.counts)),
            tuple(map(operator.add, self.weights, other.weights)),
        )

    @property
    def _rates(self) -> list[Floats]:
        """Shares of each group's rows that are given each class; attributes of one group aside."""
        rates = []
        for count, weight in zip(self.counts, self.weights, strict=True):
            compared = weight[(count >= SMALL) & weight.any(axis=1)]
            if len(compared) > 1:
                rates.append(compared / compared.sum(axis=1, keepdims=True))
        return rates

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
        rates = [rate[:, decision] for rate in self._rates]
        return np.array([rate.min() for rate in rates]), np.array([rate.max() for rate in rates])

    @property
    def impact_ratios(self) -> Floats:
        """For every class, the lowest share of a group that is given it over the highest.

        The smallest over attributes; NaN if no row is given the class, or if there is no gap.
        """
        with np.errstate(invalid="ignore", divide="ignore"):
            ratios = [rates.min(axis=0) / rates.max(axis=0) for rates in self._rates]
        return np.fmin.reduce(ratios) if ratios else np.full(self.weights[0].shape[1], np.nan)


@dataclass(frozen=True)
class _Decide:
    """Decides for the likeliest class of some rows; travels to where they are."""

    family: ClassFamily
    raw: Floats
    intercept: Floats
    n_classes: int
    cuts: tuple[Floats, ...] = ()
    groups: Sequence[GroupCodes] | None = None  # if the rows do not show them

    def __call__(self, engine: MemoryEngine) -> Decided:
        known = self.groups
        groups = codes_of(engine.rows.sensitive, self.cuts) if known is None else known
        eta = engine.scores(self.raw) + self.intercept
        eta = eta if engine.offset is None else eta + engine.offset[:, None]
        return Decided.of(self.family.likeliest(eta), groups, engine.weights, self.n_classes)


def decided_by(fit: Fit, engine: Engine, n_classes: int, unmapped: Rows | None = None) -> Decided:
    """Decide for the likeliest class of every row, and count by group.

    This takes one pass over the rows, and one more to cut numeric attributes.
    `unmapped` are the rows with S as it was given, if its columns are mapped to features.
    """
    basis = fit.basis
    raw = np.atleast_2d(basis.raw_coefficients(fit.alpha, fit.beta))
    intercept = (
        np.atleast_1d(fit.intercept + fit.alpha @ basis.center_sensitive) - raw @ basis.center
    )
    groups = None if unmapped is None else encoded_groups(unmapped)
    cuts = cuts_of(engine) if groups is None else ()
    family = cast(ClassFamily, fit.family)
    return engine.sum_of(_Decide(family, raw, intercept, n_classes, cuts, groups))
