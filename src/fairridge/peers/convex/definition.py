"""Equal treatment of people from different groups who have the same outcome."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from fairridge._typing import Floats, Integers
from fairridge.data.groups import group_codes
from fairridge.engines import Engine
from fairridge.fairness.base import Definition, share
from fairridge.models import Fit
from fairridge.peers.convex.outcome_pairs import outcome_bins, pair_form

__all__ = ["OutcomePairs"]


@dataclass(frozen=True)
class OutcomePairs(Definition):
    """Squared differences of linear predictors between groups, relative to no penalty.

    P(b)/P(b₀) with P(b) = bᵀMb the mean of (xᵢ·b − xⱼ·b)² over pairs of rows
    from two groups with the same outcome, averaged over pairs of groups and
    outcomes (Do, Putzel, Martin, Smyth and Zhong 2022), b the coefficients of
    the predictors and b₀ those without a penalty. Several classes add up.

    Parameters
    ----------
    bins : int
        Outcomes that a numeric response is cut into.
    """

    bins: int
    _forms: dict[Engine, Floats] = field(default_factory=dict, repr=False, compare=False)
    name = "outcome-pairs"

    def form(self, engine: Engine, numeric: bool, groups: Integers | None = None) -> Floats:
        """Return M on some rows.

        Parameters
        ----------
        engine : Engine
            Where the rows are.
        numeric : bool
            Whether the response is a number, to be cut into bins.
        groups : ndarray of int, optional
            Groups of the rows; by default every combination of values of S is one.
        """
        if engine not in self._forms:
            S, X, response, weight = engine.dense_columns()
            codes = group_codes(S) if groups is None else groups
            y = response[:, 0]
            outcomes = outcome_bins(y, weight, self.bins) if numeric else y.astype(np.intp)
            self._forms[engine] = pair_form(X, codes, outcomes, weight)
        return self._forms[engine]

    def value(self, fit: Fit) -> float:
        """Return P(b)/P(b₀); 0 where there is nothing to compare."""
        return share(*self._pair(fit))

    def components(self, fit: Fit) -> dict[str, float]:
        """Return P(b) and P(b₀)."""
        ours, theirs = self._pair(fit)
        return {"pairwise": ours, "pairwise_unconstrained": theirs}

    def _pair(self, fit: Fit) -> tuple[float, float]:
        M = self.form(fit.engine, fit.family.reads == "numbers")
        both = np.atleast_2d(fit.beta), np.atleast_2d(fit.unconstrained().beta)
        ours, theirs = (_form(b, M) for b in both)
        return ours, theirs


def _form(b: Floats, M: Floats) -> float:
    """Σ bᵀMb over rows of b; zero where it is nothing but rounding."""
    value = float(np.einsum("ki,ij,kj->", b, M, b))
    terms = float(np.einsum("ki,ij,kj->", np.abs(b), np.abs(M), np.abs(b)))
    return value if value > 1e-13 * terms else 0.0
