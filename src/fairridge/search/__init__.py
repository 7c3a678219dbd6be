"""λ(r): the one number that a search finds, for one bound or for many."""

from fairridge.search.closed_form import OrthogonalSolution, orthogonal_solution
from fairridge.search.gaussian import GaussianProblem, gaussian_problem, solve_gaussian
from fairridge.search.solution import Choice, Solution, Status

__all__ = [
    "Choice",
    "GaussianProblem",
    "OrthogonalSolution",
    "Solution",
    "Status",
    "gaussian_problem",
    "orthogonal_solution",
    "solve_gaussian",
]
