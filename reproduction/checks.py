"""The paper's formulas, tried on random problems (sections 3 and 4).

Every check returns rows of (check, quantity, r, value); the claims judge them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.optimize import minimize_scalar
from sklearn.kernel_approximation import RBFSampler

from fairridge import FairRidgeRegressor, KomiyamaRegressor
from fairridge.fairness import (
    Combined,
    EqualityOfOpportunity,
    IndividualFairness,
    StatisticalParity,
)
from reproduction.bias import nclm_coefficients, ridge
from reproduction.closed_form import OrthogonalSolution, orthogonal_solution
from reproduction.examples import SENSITIVE, Example, decorrelated, sample_example
from reproduction.settings import Floats, Settings

Value = tuple[str, str, float, float]

COLUMNS = ["check", "quantity", "r", "value"]
BOUNDS = (0.01, 0.05, 0.2, 0.5)
PROBLEMS = 20
SMALL_PROBLEMS = 80


class Problem(NamedTuple):
    """Centered S (standardized), U and y, and `predicted`, which is VAR(Uβ)."""

    S: Floats
    U: Floats
    y: Floats
    predicted: float

    @property
    def model(self) -> Any:
        """FRRM on [S, U], which leaves U as it is."""
        return FairRidgeRegressor(sensitive=list(range(self.S.shape[1])))

    @property
    def Z(self) -> Floats:
        """[S, U]."""
        return np.column_stack([self.S, self.U])


def random_problem(
    rng: np.random.Generator, n: int, q: int, p: int, orthogonal: bool = False
) -> Problem:
    """Draw correlated S and X and a response that depends on both; decorrelate."""
    S, X, y = random_columns(rng, n, q, p, orthogonal)
    U = decorrelated(X, S)
    fitted = U @ np.linalg.lstsq(U, y, rcond=None)[0]
    return Problem(S, U, y, float(np.var(fitted)))


def random_columns(
    rng: np.random.Generator, n: int, q: int, p: int, orthogonal: bool = False
) -> tuple[Floats, Floats, Floats]:
    """Draw centered columns S (standardized) and X, and a response."""
    S = rng.normal(size=(n, q)) @ (np.eye(q) + 0.5 * rng.normal(size=(q, q)))
    S -= S.mean(axis=0)
    S = np.linalg.qr(S)[0] * np.sqrt(n) if orthogonal else S / S.std(axis=0)
    X = S @ rng.normal(size=(q, p)) + rng.normal(size=(n, p))
    y = S @ rng.normal(size=q) + X @ rng.normal(size=p) + rng.normal(size=n)
    return S, X - X.mean(axis=0), y - y.mean()


def checks_part(case: str, run: int, settings: Settings) -> pd.DataFrame:
    """Run all checks on the random problems of one run."""
    rng = settings.generator(run, purpose=3)
    values: list[Value] = []
    for _ in range(PROBLEMS):
        problem = random_problem(rng, 200, int(rng.integers(2, 6)), 4)
        values += [*one_root(problem), *bracket(problem)]
    for _ in range(SMALL_PROBLEMS):
        values += individual(random_problem(rng, 20, 2, 2))
    values += independent(random_problem(rng, 200, 3, 4, orthogonal=True))
    values += quartic(random_problem(rng, 200, 2, 4))
    values += feature_space(random_problem(rng, 500, 2, 3), run)
    values += other_bounds(random_problem(rng, 300, 3, 4))
    values += equal_penalties(random_problem(rng, 300, 3, 4))
    values += covariance_signs(rng)
    for p in (3, 30, 100):
        values += nclm_optimum(random_problem(rng, 400, 3, p))
    values += deviance_share(sample_example(settings, run))
    return pd.DataFrame(values, columns=COLUMNS)


def one_root(problem: Problem) -> Iterator[Value]:
    """VAR(Sα) falls in λ, so that it meets each bound once; at r = 0 α is zero."""
    size, z = _spectrum(problem)
    n = len(problem.y)
    grid = np.logspace(-4, 8, 400)[:, None]
    explained = (size * z**2 / (size + grid) ** 2).sum(axis=1) / n
    yield "root", "increases", np.nan, float((np.diff(explained) >= 0).sum())
    norms = (z**2 / (size + grid) ** 2).sum(axis=1)
    yield "root", "norm increases", np.nan, float((np.diff(norms) >= 0).sum())
    path = problem.model.path(problem.Z, problem.y, unfairness=[0.0, *BOUNDS])
    yield "root", "alpha at zero", 0.0, float(np.abs(path.alpha[0]).max())
    for r, lambda_ in zip(BOUNDS, path.lambda_[1:], strict=True):
        if lambda_ > 0:
            crossings = np.diff(np.sign(explained / (explained + problem.predicted) - r)) != 0
            yield "root", "crossings", r, float(crossings.sum())


def bracket(problem: Problem) -> Iterator[Value]:
    """Whether λ(r) lies between the two roots of section 3.1.

    As printed, the roots solve (l + 2λ)/(l + λ)²·c = d for the smallest and the
    largest eigenvalue l of VAR(S), with c = r/(1−r)·VAR(Uβ) and d = ‖Sᵀy‖²;
    c and d are exchanged there. And (l + 2λ)/(l + λ)² is not VAR(Sα), which is
    Σ(l/(l + λ))²w/n with w the squared projections of y. Since l/(l + λ) grows
    in l, λ lies between l(√(Σw/(nc)) − 1) for the two eigenvalues.
    """
    size, z = _spectrum(problem)
    n = len(problem.y)
    path = problem.model.path(problem.Z, problem.y, unfairness=BOUNDS)
    for r, lambda_ in zip(BOUNDS, path.lambda_, strict=True):
        if lambda_ == 0.0:
            continue
        c, d = r / (1 - r) * problem.predicted, float(z @ z)
        ends = [size.min() / n, size.max() / n]  # eigenvalues of VAR(S), as printed
        limit = np.sqrt((z**2 / size).sum() / (n * c)) - 1.0
        for name, found in (
            ("printed", [_positive_root(end, c, d) for end in ends]),
            ("exchanged", [_positive_root(end, d, c) for end in ends]),
            ("corrected", [size.min() * limit, size.max() * limit]),
        ):
            inside = min(found) * (1 - 1e-9) <= lambda_ <= max(found) * (1 + 1e-9)
            yield "bracket", name, r, float(inside)  # False where a root does not exist


def _positive_root(size: float, c: float, d: float) -> float:
    """Return the positive solution of (l + 2λ)/(l + λ)²·c = d for l = size, or NaN."""
    roots = np.roots([d, 2 * d * size - 2 * c, d * size * size - c * size])
    real = roots[np.isreal(roots)].real
    return float(real.max()) if real.size and real.max() > 0 else float("nan")


def independent(problem: Problem) -> Iterator[Value]:
    """λ(r), α and COR(ŷ, S) in closed form, relative to the model's (section 3.2)."""
    products = problem.S.T @ problem.y
    n, square, c = len(problem.y), float(products @ products), np.sqrt(problem.predicted)
    path = problem.model.path(problem.Z, problem.y, unfairness=BOUNDS)
    for r, lambda_, alpha, beta in zip(BOUNDS, path.lambda_, path.alpha, path.beta, strict=True):
        if lambda_ == 0.0:
            continue
        allowed = c * np.sqrt(r / (1 - r))
        printed = OrthogonalSolution(square / allowed - n, allowed * products / square)
        corrected = orthogonal_solution(problem.S, problem.y, problem.predicted, r)
        for name, found in (("printed", printed), ("corrected", corrected)):
            yield "independent", f"λ {name}", r, abs(found.lambda_ / lambda_ - 1.0)
            yield "independent", f"α {name}", r, float(np.abs(found.alpha / alpha - 1.0).max())
        fitted = problem.S @ alpha + problem.U @ beta
        correlation = float(np.corrcoef(fitted, problem.S[:, 0])[0, 1])
        yield "independent", "COR/√(r/(1−r))", r, abs(correlation) / np.sqrt(r / (1 - r))
        yield "independent", "COR/√r", r, abs(correlation) / np.sqrt(r)


def quartic(problem: Problem) -> Iterator[Value]:
    """Compare λ(r) with the largest root of the 4th-degree polynomial for two attributes."""
    n = len(problem.y)
    (a, b), c = problem.S.T @ problem.y, float(problem.S[:, 0] @ problem.S[:, 1])
    path = problem.model.path(problem.Z, problem.y, unfairness=BOUNDS)
    for r, lambda_ in zip(BOUNDS, path.lambda_, strict=True):
        if lambda_ == 0.0:
            continue
        square = a * a + b * b + 2 * a * b * c / n
        mixed = 2 * c * (2 * a * b + c * (a * a + b * b) / n)
        target = r / (1 - r) * problem.predicted
        # In t = n + λ: target (t² − c²)² = square t² − mixed t + c² square.
        polynomial = target * np.array([1.0, 0.0, -2 * c * c, 0.0, c**4])
        polynomial -= [0.0, 0.0, square, -mixed, c * c * square]
        roots = np.roots(polynomial)
        real = roots[np.abs(roots.imag) < 1e-6 * np.abs(roots)].real
        yield "quartic", "λ", r, abs((real.max() - n) / lambda_ - 1.0)


def individual(problem: Problem) -> Iterator[Value]:
    """Largest f(α(λ)) over λ, relative to f at λ = 0."""
    M = pairwise_form(problem.S, problem.y)
    values, vectors = np.linalg.eigh(problem.S.T @ problem.S)
    weights = vectors.T @ problem.S.T @ problem.y / (values + np.logspace(-3, 5, 200)[:, None])
    alphas = weights @ vectors.T
    free = np.linalg.lstsq(problem.S, problem.y, rcond=None)[0]
    largest = np.einsum("ki,ij,kj->k", alphas, M, alphas).max() / float(free @ M @ free)
    yield "individual", "largest", np.nan, float(largest)


def pairwise_form(S: Floats, y: Floats) -> Floats:
    """Return M with Σᵢⱼ |yᵢ − yⱼ| (sᵢα − sⱼα)² = 2αᵀMα (individual fairness)."""
    distance = np.abs(y[:, None] - y)
    return (S * distance.sum(axis=1)[:, None] - distance @ S).T @ S


def deviance_share(sample: Example) -> Iterator[Value]:
    """Share of deviance (section 4.4) of the gaussian model that meets R²_S = r."""
    S, X, y = sample.centered()
    U = decorrelated(X, S)
    model = FairRidgeRegressor(sensitive=SENSITIVE)
    path = model.path(np.column_stack([S, X]), y, unfairness=BOUNDS)
    for r, alpha, beta in zip(BOUNDS, path.alpha, path.beta, strict=True):
        full, without, null = (
            float(((y - fitted) ** 2).sum()) for fitted in (S @ alpha + U @ beta, U @ beta, 0.0 * y)
        )
        yield "deviance", "share", r, (full - without) / (full - null)


def feature_space(problem: Problem, run: int) -> Iterator[Value]:
    """R² of kernel features on S: of Z(U) as printed, and decorrelated after the map."""
    features = RBFSampler(gamma=0.2, n_components=50, random_state=run)
    Z = features.fit_transform(problem.U)
    Z -= Z.mean(axis=0)
    after = decorrelated(Z, problem.S)
    for name, columns in (("mapped after", Z), ("decorrelated after", after)):
        fitted = columns - decorrelated(columns, problem.S)
        explained = (fitted.var(axis=0) / columns.var(axis=0)).max()
        yield "features", name, np.nan, float(explained)


def other_bounds(problem: Problem) -> Iterator[Value]:
    """How far other penalties and combined definitions are from the bound they are given."""
    both = [StatisticalParity(), EqualityOfOpportunity()]
    options: dict[str, dict[str, Any]] = {
        "lasso": {"penalty": "lasso"},
        "elastic net": {"penalty": "elastic-net"},
        "maximum": {"definition": Combined(both, how="max")},
        "mean": {"definition": Combined(both, weights=[0.5, 0.5])},
        "with D_IF": {"definition": Combined([*both, IndividualFairness()], weights=[1 / 3] * 3)},
    }
    for name, option in options.items():
        model = FairRidgeRegressor(sensitive=SENSITIVE, **option)
        path = model.path(problem.Z, problem.y, unfairness=BOUNDS)
        for r, achieved, lambda_ in zip(BOUNDS, path.achieved, path.lambda_, strict=True):
            if lambda_ > 0.0:
                yield "bounds", name, r, abs(achieved - r)


def nclm_optimum(problem: Problem) -> Iterator[Value]:
    """NCLM: the bound, stationarity, and the training error relative to FRRM's.

    At the optimum the gradient of the squared error is a multiple μ of that of
    (1−r)VAR(Sα) − rVAR(Uβ), with one μ for all coefficients.
    """
    sensitive = list(range(problem.S.shape[1]))
    bounds = (1e-8, *BOUNDS)
    exact = KomiyamaRegressor(sensitive=sensitive).path(problem.Z, problem.y, unfairness=bounds)
    ridge = problem.model.path(problem.Z, problem.y, unfairness=bounds)
    name = f"p = {problem.U.shape[1]}"
    for k, r in enumerate(bounds):
        alpha, beta = exact.alpha[k], exact.beta[k]
        of_S, of_U = problem.S @ alpha, problem.U @ beta
        residual = problem.y - of_S - of_U
        if ridge.lambda_[k] == 0.0:
            continue
        share = float(np.var(of_S) / (np.var(of_S) + np.var(of_U)))
        yield "nclm bound", name, r, abs(share - r)
        left = np.concatenate([problem.S.T @ residual, problem.U.T @ residual])
        right = np.concatenate([(1 - r) * problem.S.T @ of_S, -r * problem.U.T @ of_U])
        mu = float(left @ right / (right @ right))
        off = np.linalg.norm(left - mu * right) / np.linalg.norm(problem.Z.T @ problem.y)
        yield "nclm gradient", name, r, float(off)
        yield "nclm error", name, r, float(exact.deviance[k] / ridge.deviance[k])
        reached = float(np.var(residual) - np.var(problem.y))
        lower = relaxed_optimum(problem, r)
        yield "nclm relaxation", name, r, abs(reached - lower) / abs(lower)


def relaxed_optimum(problem: Problem, r: float) -> float:
    """Return the optimal γ of the paper's problem (7), by its dual.

    Mixing its two constraints with weights 1 − w and w and minimizing over
    (α, β) gives −A/((1 − w) + w/r) − B/(1 − w), where A and B are VAR(Sα) and
    VAR(Uβ) of least squares. No γ is below the largest of these; (7) is convex,
    so that is its optimum.
    """
    S, y = problem.S, problem.y
    free = float(np.var(S @ np.linalg.lstsq(S, y, rcond=None)[0]))

    def bound(weight: float) -> float:
        return free / ((1.0 - weight) + weight / r) + problem.predicted / (1.0 - weight)

    options = {"xatol": 1e-14}
    best = minimize_scalar(bound, bounds=(0.0, 1.0 - 1e-12), method="bounded", options=options)
    return -float(min(best.fun, bound(0.0)))


def equal_penalties(problem: Problem) -> Iterator[Value]:
    """Condition numbers of the two blocks of equation (15) if S has a column twice, and λ₂ = 10.

    The first block has no penalty where the bound is inactive.
    """
    S = np.column_stack([problem.S, problem.S[:, 0]])
    yield "collinear", "S, λ₁ = 0", 1.0, float(np.linalg.cond(S.T @ S))
    U = np.column_stack([problem.U, problem.U[:, 0]])
    ridged = U.T @ U + 10.0 * np.eye(U.shape[1])
    yield "collinear", "U, λ₂ = 10", np.nan, float(np.linalg.cond(ridged))


def covariance_signs(rng: np.random.Generator) -> Iterator[Value]:
    """Sign of COV(Sα, Ũβ) with a ridge in the auxiliary model, on random problems."""
    for _ in range(PROBLEMS):
        S, X, y = random_columns(rng, 200, 3, 4)
        U = X - S @ ridge(S, X, 50.0)
        alpha, beta = nclm_coefficients(S, U, y, 0.1)
        yield "sign", "positive", 0.1, float((S @ alpha) @ (U @ beta) > 0.0)


def _spectrum(problem: Problem) -> tuple[Floats, Floats]:
    """Eigenvalues of SᵀS, and AᵀSᵀy."""
    values, vectors = np.linalg.eigh(problem.S.T @ problem.S)
    return values, vectors.T @ problem.S.T @ problem.y
