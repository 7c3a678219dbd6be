"""Small problems for every family, and the derivative of a whole fit in the weight of one row."""

import numpy as np

from fairridge.data import Rows, Slab
from fairridge.engines import MemoryEngine
from fairridge.fairness import StatisticalParity
from fairridge.inference import Analysis, Scheme, inference_of
from fairridge.inference.kinds import penalty_unit
from fairridge.inference.passes import Pass, row_terms
from fairridge.penalties import Ridge
from fairridge.search import ModelSettings, set_up

NAMES = ("group", "age", "x1", "x2", "x3")
STEP = 1e-4


def draw(family, n=60, seed=0, p=3):
    """Return S, X, response and targets that suit a family."""
    rng = np.random.default_rng(seed)
    S = np.column_stack([rng.random(n) < 0.4, rng.normal(size=n)]).astype(float)
    X = 0.5 * S @ rng.normal(size=(2, p)) + rng.exponential(size=(n, p))
    eta = 0.4 * (S @ [1.0, 0.6] + X[:, :3] @ [0.5, -0.3, 0.4] - 0.8)
    if family.reads == "times":
        times = np.round(4 * rng.exponential(size=n) * np.exp(-eta)) / 4 + 0.25  # with ties
        events = (rng.random(n) < 0.7).astype(float)
        return S, X, np.column_stack([times, events]), -np.log(times[:, None])
    if family.n_predictors > 1:
        scores = eta[:, None] * [2.0, 0.0, -1.0] + rng.gumbel(size=(n, 3))
        codes = scores.argmax(axis=1)
        return S, X, codes[:, None].astype(float), np.eye(3)[codes]
    y = {
        "gaussian": lambda: eta + 0.5 * rng.normal(size=n),
        "binomial": lambda: (rng.random(n) < 1 / (1 + np.exp(-2 * eta))).astype(float),
        "quasi-binomial": lambda: rng.beta(2 * np.exp(eta), 2),
        "gamma": lambda: rng.gamma(2.0, size=n) * np.exp(eta),
    }.get(family.name, lambda: rng.poisson(np.exp(eta + 0.5)).astype(float))()
    return S, X, y[:, None], y[:, None]


def problem_of(family, data, weight=None, offset=None, **options):
    S, X, y, targets = data
    rows = Rows(
        (Slab(S),),
        (Slab(X),),
        (*NAMES, "x4")[: S.shape[1] + X.shape[1]],
        y,
        targets,
        weight,
        offset,
    )
    engine = MemoryEngine(rows, separable=family.separable)
    kind, definition = options.pop("kind", ""), options.pop("definition", StatisticalParity())
    if penalizes_means(kind):
        options["penalty"] = Ridge()
    settings = ModelSettings(
        n_targets=targets.shape[1],
        tol=1e-13,
        max_iter=200,
        blind="blind" in kind,
        controls=(1,) if "controls" in kind else (),
        **options,
    )
    return set_up(engine, family, definition, settings)


def penalizes_means(kind):
    """Whether a kind of model has a ridge on what S explains of its predictions."""
    return "blind" in kind or "means" in kind


def solution_of(problem, definition, r):
    return problem.solve(np.array([r]))[0]


def numbers(solution, unit):
    """Return raw and fair coefficients and λ̄, one after the other."""
    fit, basis = solution.fit, solution.fit.basis
    raw = np.atleast_2d(basis.raw_coefficients(fit.alpha, fit.beta))
    level = np.atleast_1d(fit.intercept + fit.alpha @ basis.center_sensitive)
    intercept = np.atleast_1d(fit.intercept)[:, None]
    fair = np.hstack([intercept, np.atleast_2d(fit.alpha), np.atleast_2d(fit.beta)])
    lambda_ = 0.0 if np.isinf(fit.lambda_) else fit.lambda_ / unit
    raw = np.hstack([(level - raw @ basis.center)[:, None], raw])
    return np.concatenate([raw.ravel(), fair.ravel(), [lambda_]])


def by_class(family, influences):
    """Return the same numbers' influences, one row per row."""
    C = family.to_class_coefficients(np.eye(family.n_predictors))
    *of_theta, lambda_ = influences
    raw, fair = (np.einsum("nmk,cm->nck", part, C).reshape(len(part), -1) for part in of_theta)
    return np.column_stack([raw, fair, lambda_])


def analyzed(family, data, definition, r, weight=None, offset=None, **options):
    problem = problem_of(family, data, weight, offset, definition=definition, **options)
    return Analysis(problem, solution_of(problem, definition, r), Scheme())


def influences_of(analysis, branch=None):
    """Return the influence of every row."""
    branch = branch or analysis.branch
    return branch.influences(row_terms(analysis.fit.engine, analysis.family, Pass(branch)))


def derivative(family, data, definition, r, row, weight, offset, **options):
    """Return the derivative of the numbers in ε, with weights (1 − ε)w + εWδ of one row."""
    problem = problem_of(family, data, weight, offset, definition=definition, **options)
    unit = penalty_unit(problem)
    change = -weight.copy()
    change[row] += weight.sum()

    def refit(k):
        changed = weight + k * STEP * change
        problem = problem_of(family, data, changed, offset, definition=definition, **options)
        return numbers(solution_of(problem, definition, r), unit)

    return (8 * (refit(0.25) - refit(-0.25)) - (refit(0.5) - refit(-0.5))) / (3 * STEP)


def inferred(family, data, definition, r, weight=None, offset=None, **options):
    """Return the inference of a model; options of the covariance are told from its own by name."""
    own = {
        "penalty": options.pop("penalty", Ridge()),
        "predictor_penalty": options.pop("predictor_penalty", 0.0),
        "standardize": options.pop("standardize", True),
    }
    own |= {"kind": options.pop("kind", "")}
    problem = problem_of(family, data, weight, offset, definition=definition, **own)
    solution = solution_of(problem, definition, r)
    return inference_of(problem, solution, **options)
