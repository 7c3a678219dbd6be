"""What S explains of predicted means, and their totals, at any θ: one pass over the rows.

With W the weight of all rows, a(θ) is √W times what S explains of the means (see
`MeanForm`), so that λ‖a‖² is the ridge on it, and c(θ) what totals of the means exceed
those of the response by. Both are linear in sums over the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from fairridge._typing import Floats, Integers
from fairridge.engines import MeanSums
from fairridge.fairness.means import MeanForm, mean_form
from fairridge.search.penalized_glm import PenalizedGLM
from fairridge.solvers import Point

# Excess of a total over that of the response, relative to it, that is rounding.
BALANCE_TOLERANCE = 1e-11


@dataclass(frozen=True)
class Multipliers:
    """Multipliers of what S explains, and of totals."""

    of_explained: Floats  # π
    of_totals: Floats  # ν


@dataclass(frozen=True)
class MeansAt:
    """Means at one θ."""

    explained: Floats  # a, of all forms, of shape (s,)
    jacobian: Floats  # its derivative, of shape (s, N)
    excess: Floats  # c, of shape (t,)
    of_excess: Floats  # its derivative, of shape (t, N)
    variance: float  # W times the variance of the means
    slope: Floats  # its derivative, of shape (N,)
    multipliers: Multipliers  # whose second derivatives are in the Hessian


@dataclass(frozen=True)
class BoundedMeans:
    """Which means are bounded, in which forms, and what their totals must be."""

    glm: PenalizedGLM
    means: Any  # which means are looked at (MeansOfRows)
    forms: Sequence[MeanForm]  # what the columns of S, or some of them, explain of the means
    totals: Floats  # maps Σ w μ[1, s] of all means to totals, of shape (t, K·(1+q))
    target: Floats  # what these are to be, of shape (t,)
    size: float  # weight of all rows times the size of the means, to compare an excess with
    shape: tuple[int, int]  # of Σ w μ[1, s], (K, 1+q)

    def on(self, glm: PenalizedGLM) -> BoundedMeans:
        """Return the same on other rows."""
        return replace(self, glm=glm)

    def of(self, groups: Sequence[Integers], gram: MeanSums) -> BoundedMeans:
        """Return the same with one form for each of some groups of columns of S."""
        basis, count = self.glm.basis, self.means.n_bounded
        return replace(self, forms=[mean_form(gram, basis, count, group) for group in groups])

    @cached_property
    def rows_of(self) -> list[slice]:
        """Which of a belong to each form."""
        ends = np.cumsum([0, *(len(form.map) for form in self.forms)])
        return [slice(a, b) for a, b in pairwise(ends.tolist())]

    @cached_property
    def _maps(self) -> tuple[Floats, Floats]:
        """Maps from sums to a, and to c without its target."""
        root = np.sqrt(self.glm.basis.weight)
        return root * np.vstack([form.map for form in self.forms]), self.totals / root

    def no_multipliers(self) -> Multipliers:
        """Return multipliers of zero."""
        return Multipliers(*(np.zeros(len(part)) for part in self._maps))

    def sums(self, theta: Floats, multipliers: Floats | None = None, order: int = 2) -> MeanSums:
        """Pass over the rows."""
        glm = self.glm
        raw = glm.coordinates.raw(theta)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            return glm.engine.means(
                glm.family,
                self.means,
                glm.basis.center,
                raw[:, 0],
                raw[:, 1:],
                multipliers,
                raw.shape[1] - 1 if len(glm.basis.given_columns) else None,
                order,
            )

    def is_balanced_at(self, means: MeansAt) -> bool:
        """Whether means have the totals of the response."""
        excess = np.sqrt(self.glm.basis.weight) * np.abs(means.excess).max(initial=0.0)
        return bool(excess <= BALANCE_TOLERANCE * self.size)

    def at(self, theta: Floats, multipliers: Multipliers, like: Point | None = None) -> Point:
        """Return deviance and means at θ, with the second derivatives of given multipliers.

        With `like`, a point next to θ, derivatives of the means and the Hessian are those of
        that one, and the gradient is such that g + Jᵀπ + Gᵀν is right: a pass for half the time.
        """
        explained, totals = self._maps
        combined = multipliers.of_explained @ explained + multipliers.of_totals @ totals
        sums = self.sums(theta, combined.reshape(self.shape), 2 if like is None else 1)
        with np.errstate(over="ignore", invalid="ignore"):
            if like is None:
                return self._with_derivatives(theta, multipliers, sums)
            return self._like(like, theta, multipliers, sums)

    def _measured(self, sums: MeanSums) -> dict[str, Any]:
        """Return what needs no derivatives."""
        explained, totals = self._maps
        products, weight = sums.products.ravel(), self.glm.basis.weight
        return {
            "explained": explained @ products,
            "excess": totals @ products - self.target / np.sqrt(weight),
            "variance": weight * self.forms[0].variance(sums),
        }

    def _with_derivatives(self, theta: Floats, multipliers: Multipliers, sums: MeanSums) -> Point:
        slopes, (explained, totals) = sums.slopes, self._maps
        assert slopes is not None
        assert slopes.jacobian is not None
        assert slopes.squares is not None
        gradient, hessian = self.glm.coordinates.derivatives(slopes.glm)
        assert hessian is not None
        M = self.glm.coordinates.to_raw
        jacobian = (slopes.jacobian @ M).reshape(sums.products.size, -1)
        squares = (slopes.squares @ M).reshape(len(sums.weights), -1)
        slope = self.forms[0].variance_slope(sums, squares, jacobian)
        means = MeansAt(
            jacobian=explained @ jacobian,
            of_excess=totals @ jacobian,
            slope=self.glm.basis.weight * slope,
            multipliers=multipliers,
            **self._measured(sums),
        )
        return Point(theta, sums.deviance, gradient, hessian, beside=means)

    def _like(self, like: Point, theta: Floats, multipliers: Multipliers, sums: MeanSums) -> Point:
        assert sums.slopes is not None
        known: MeansAt = like.beside
        total, _ = self.glm.coordinates.derivatives(sums.slopes.glm)
        own = multipliers.of_explained @ known.jacobian + multipliers.of_totals @ known.of_excess
        return replace(
            like,
            theta=theta,
            deviance=sums.deviance,
            gradient=total - own,
            fresh=False,
            beside=replace(known, **self._measured(sums)),
        )


def bounded_means(glm: PenalizedGLM, means: Any, elsewhere: Floats, sums: MeanSums) -> BoundedMeans:
    """Say which means are bounded, given sums at any model.

    `elsewhere` is what totals of other rows exceed those observed by, for which these make up.
    """
    (K, head), n, basis = sums.products.shape, means.n_means, glm.basis
    assert sums.gram is not None
    family: Any = glm.family
    contrasts = np.eye(1) if n == 1 else family.contrasts.T
    # Indicators of all classes, of two only that of the second: its weight is that of its rows.
    weights = np.ones(n) if means.class_weights is None else np.array(means.class_weights)[-n:]
    observed = basis.weight * weights * basis.center_targets - elsewhere
    total = observed - means.references * sums.gram[K - n :, 0, 0]
    totals = np.zeros((len(contrasts), K, head))
    totals[:, K - n :, 0] = contrasts
    size = float(np.abs(total).max() + np.abs(means.references).max() * sums.gram[-1, 0, 0])
    form = mean_form(sums, basis, means.n_bounded)
    to_totals = totals.reshape(len(contrasts), -1)
    return BoundedMeans(glm, means, [form], to_totals, contrasts @ total, size, (K, head))
