"""fairridge: a 101-point path for each definition."""

from functools import partial

from benchmarks.problems import Problem
from fairridge import FairRidgeRegressor


def path(problem: Problem, definition: str) -> object:
    model = FairRidgeRegressor(sensitive=problem.sensitive, definition=definition)
    return model.path(*problem.data)


CASES = {
    f"fairridge, 101-point path, {definition}": partial(path, definition=definition)
    for definition in ("statistical-parity", "equality-of-opportunity", "individual")
}
