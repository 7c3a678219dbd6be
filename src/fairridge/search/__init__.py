"""λ(r): the one number that a search finds, for one bound or for many."""

from fairridge.search.contract import Usage, of_parts, require_inputs
from fairridge.search.means import worst_status
from fairridge.search.penalized_glm import SEPARATION_RIDGE
from fairridge.search.problem import (
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
    "SEPARATION_RIDGE",
    "Choice",
    "LeastSquares",
    "ModelSettings",
    "PenalizedProblem",
    "Problem",
    "Solution",
    "Status",
    "Usage",
    "may_separate",
    "of_parts",
    "require_inputs",
    "set_up",
    "worst_status",
]
