"""What S explains of a blind model on other rows, beyond errors that average to nothing.

The covariance A of S and the predictions is estimated on the rows that the model is
fitted to. A model without S can only meet its bound by lowering the coefficients of
columns that go with S, and lowers them most where these rows overstate that: on others
S explains more. With φ_θ the influence of a row on the coefficients, t what S leaves of
its predictions and h what it explains,

    E[A] − Â ≈ −E[s (∂t/∂θ·φ_θ)]/(n − p),   so that √Q grows by κ = −E[h (∂t/∂θ·φ_θ)]/((n − p)Q)

of its value: the covariance of the error of Â in a direction and of the model's own
move in it, p being its degrees of freedom, as residuals of fitted rows are small by p/n.
Models with S have coefficients α that take care of that by themselves.

The expansion fails where next to nothing is left of a model: moves of its size are then most of
what rows add, and no error of Â follows them. In each of k directions that the coefficients are
free in, the error goes along with one standard normal number at most, so that κ√Q is at most √k
standard errors of Â.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from fairridge._arrays import namespace
from fairridge._typing import Floats
from fairridge.families.sums import any_arrays
from fairridge.inference.explained import Explained
from fairridge.inference.given import SensitiveRidge
from fairridge.inference.influence import Branch, branch_of
from fairridge.inference.kinds import state_of
from fairridge.inference.linearize import linearize
from fairridge.inference.rows import RowsOfModel
from fairridge.inference.scores import ExplainedScores
from fairridge.models import Fit
from fairridge.search import PenalizedProblem

# Least share of residuals that is taken to be left of rows which a model fits closely.
MIN_LEFT = 0.05


@any_arrays
def _own_moves(branch: Branch, explained: Explained | SensitiveRidge, at: RowsOfModel) -> Floats:
    """Return −Σ w²h (∂t/∂θ·φ_θ) and Σ w² over some rows, of means or of linear predictors."""
    moves = branch.moves(at)
    xp = namespace(moves)
    slopes = xp.zeros_like(moves)
    explained.subtract_left(at, slopes)
    squares = at.rows.weight**2
    sums: Floats = xp.stack(
        [xp.sum(squares * xp.sum(slopes * moves, axis=(1, 2))), xp.sum(squares)]
    )
    return sums


def optimism(problem: PenalizedProblem, fit: Fit, scores: ExplainedScores) -> Floats:
    """Return κ times the coefficients of the scores of a blind model; zero if κ is negative."""
    nothing = 0.0 * scores.coefficients
    if not 0.0 < fit.lambda_ < np.inf:
        return nothing
    state = state_of(problem, fit, "bound")
    explained: Any = state.ridge
    if not explained.value > 0.0:
        return nothing
    branch = branch_of(state, linearize(problem.definition, state, None))
    total, squares = (
        state.sum_over_rows(partial(_own_moves, branch, explained)) / fit.basis.weight**2
    )
    size, m = state.theta.size, len(state.theta)
    used = float((branch.inverse[:size, :size] * state.hessian).sum())
    left = max(1.0 - used / m * float(squares), MIN_LEFT)
    moved = float(total) / (left * np.sqrt(explained.value))
    error = np.sqrt(float(scores.direction @ scores.covariance[:-2, :-2] @ scores.direction))
    return min(max(moved, 0.0), error * np.sqrt(max(used - m, 1.0))) * scores.direction
