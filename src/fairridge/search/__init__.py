"""λ(r): the one number that a search finds, for one bound or for many."""

from fairridge.search.closed_form import OrthogonalSolution, orthogonal_solution
from fairridge.search.fold_starts import FoldStart
from fairridge.search.gaussian import GaussianProblem
from fairridge.search.glm import GLMProblem
from fairridge.search.leave_one_out import leave_one_out
from fairridge.search.means import MeanProblem
from fairridge.search.problem import (
    AttributeShare,
    Choice,
    LeastSquares,
    ModelSettings,
    PenalizedProblem,
    Problem,
    Solution,
    Status,
)
from fairridge.search.setup import may_separate, set_up

__all__ = [
    "AttributeShare",
    "Choice",
    "FoldStart",
    "GLMProblem",
    "GaussianProblem",
    "LeastSquares",
    "MeanProblem",
    "ModelSettings",
    "OrthogonalSolution",
    "PenalizedProblem",
    "Problem",
    "Solution",
    "Status",
    "leave_one_out",
    "may_separate",
    "orthogonal_solution",
    "set_up",
]
