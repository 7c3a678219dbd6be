"""The convex fair generalized linear model (Do et al. 2022), for every strength λ.

    min D(b)/n + λ bᵀMb,   η = intercept + Xb,

with D the deviance and bᵀMb the mean squared difference of linear predictors
between groups within outcomes. The model uses X alone, S only defines M.

Both parts are simple in coordinates c with b = Tc, in which the columns XT are
orthonormal and TᵀMT is the diagonal matrix of ν. As λ grows bᵀMb falls, so
the bound on bᵀMb/b₀ᵀMb₀ is met by one λ.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairridge._typing import Floats, Integers
from fairridge.engines import Engine
from fairridge.fairness import Definition
from fairridge.families import Family
from fairridge.models import Fit
from fairridge.models.spaces import BlindSpace, blind_space
from fairridge.peers.convex.definition import OutcomePairs
from fairridge.penalties import Radial
from fairridge.penalties.ridge import shrinking_length
from fairridge.search.gaussian import GaussianProblem, RidgeOnExplained, secular_choices
from fairridge.search.glm import GLMProblem
from fairridge.search.problem import Choice, ModelSettings, PenalizedProblem
from fairridge.search.setup import penalized_glm


@dataclass(frozen=True)
class PairSpace(BlindSpace):
    """Directions of X that are orthonormal, and in which M is diagonal."""

    # `explained` is n·ν: what λ multiplies is n·bᵀMb, in place of what S explains of Xb.

    def floor(self, gradient: Floats) -> float:
        """Return 0: bᵀMb vanishes with its directions."""
        return 0.0


def pair_space(blind: BlindSpace, M: Floats) -> PairSpace:
    """Turn the directions of X to those of M, of shape (p, p); what M sees comes first."""
    nu, V = np.linalg.eigh(blind.directions.T @ M @ blind.directions)
    nu, V = nu[::-1], V[:, ::-1]
    seen = nu > 1e-12 * nu.max(initial=0.0)
    fields = vars(blind) | {
        "explained": blind.basis.weight * nu[seen],
        "directions": blind.directions @ V,
        "projection": V.T @ blind.projection,
    }
    return PairSpace(**fields)


class _PairRidge(RidgeOnExplained):
    """min RSS + λn·bᵀMb in closed form."""

    def secular(
        self, definition: Definition, bounds: Floats, free: Fit, max_iter: int
    ) -> list[Choice]:
        """Solve bᵀMb = r·b₀ᵀMb₀ for every bound at once."""
        nu = self.directions.explained
        z = self.directions.projection[: len(nu), 0]
        if definition.value(free) == 0.0:
            return [Choice.UNCONSTRAINED for _ in bounds]

        def length(lambda_: Floats) -> tuple[Floats, Floats]:
            shrunk = 1.0 / (1.0 + lambda_[:, None] * nu)
            return shrinking_length(np.sqrt(nu) * z * shrunk, nu * shrunk)

        return secular_choices(length, np.sqrt(bounds) * length(np.zeros(1))[0], max_iter)


class ConvexGLMProblem(GLMProblem):
    """The model of classes, by Newton's method at every λ."""

    def separating_columns(self, fits: object) -> dict[str, float]:
        """Return nothing: what M sees of a column stays bounded."""
        return {}


def convex_problem(
    engine: Engine,
    family: Family,
    *,
    groups: Integers,
    bins: int,
    n_targets: int = 1,
    tol: float = 1e-10,
    max_iter: int = 100,
) -> PenalizedProblem:
    """Read the rows once, and decompose X and M."""
    # The moments of the rows show whether all of them are numbers: they come first.
    blind = blind_space(engine, standardize=True, n_targets=n_targets)
    definition = OutcomePairs(bins)
    space = pair_space(blind, definition.form(engine, family.reads == "numbers", groups))
    settings = ModelSettings(Radial(), tol=tol, max_iter=max_iter, n_targets=n_targets, blind=True)
    if family.least_squares:
        return GaussianProblem(space, definition, settings, _PairRidge(space, 0.0))
    return ConvexGLMProblem(penalized_glm(space, family, settings), definition)
