"""The least any method that reads all rows must do: the product of the matrix with itself."""

from benchmarks.problems import Problem


def gram(problem: Problem) -> object:
    Z, _ = problem.data
    return Z.T @ Z


CASES = {"bare NumPy product ZᵀZ": gram}
