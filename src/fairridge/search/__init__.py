"""λ(r): the one number that a search finds, for one bound or for many."""

from fairridge.search.blind import BlindGLMProblem, BlindMeanProblem, blind_problem
from fairridge.search.blind_gaussian import BlindGaussianProblem, BlindLeastSquares
from fairridge.search.closed_form import OrthogonalSolution, orthogonal_solution
from fairridge.search.compressed import CompressedProblem, compressed_problem
from fairridge.search.conditional import ConditionalProblem, conditional_problem
from fairridge.search.gaussian import GaussianProblem, gaussian_problem
from fairridge.search.glm import GLMProblem, glm_problem
from fairridge.search.leave_one_out import leave_one_out
from fairridge.search.mean_parity import MeanProblem, mean_problem
from fairridge.search.problem import ModelSettings, PenalizedProblem, Problem, solve
from fairridge.search.seed import Seed, SeededProblem
from fairridge.search.solution import AttributeShare, Choice, Solution, Status
from fairridge.search.sparse import SparseProblem, sparse_problem

__all__ = [
    "AttributeShare",
    "BlindGLMProblem",
    "BlindGaussianProblem",
    "BlindLeastSquares",
    "BlindMeanProblem",
    "Choice",
    "CompressedProblem",
    "ConditionalProblem",
    "GLMProblem",
    "GaussianProblem",
    "MeanProblem",
    "ModelSettings",
    "OrthogonalSolution",
    "PenalizedProblem",
    "Problem",
    "Seed",
    "SeededProblem",
    "Solution",
    "SparseProblem",
    "Status",
    "blind_problem",
    "compressed_problem",
    "conditional_problem",
    "gaussian_problem",
    "glm_problem",
    "leave_one_out",
    "mean_problem",
    "orthogonal_solution",
    "solve",
    "sparse_problem",
]
