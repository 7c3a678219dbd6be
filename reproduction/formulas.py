"""More of the paper's formulas: solutions of its quadratic equations, and what section 4 prints."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from fairridge import FairRidgeRegressor
from reproduction.bias import ridge
from reproduction.checks import BOUNDS, COLUMNS, PROBLEMS, Problem, Value, random_problem
from reproduction.examples import SENSITIVE, Example, decorrelated, sample_example
from reproduction.settings import Floats, Settings

CASES = ("random", "example")
# From least squares to no effect of S: SᵀS has eigenvalues of about 700 and 1600.
PENALTIES = np.logspace(-2.0, 8.0, 101)
RIDGE = 10.0


def formulas_part(case: str, run: int, settings: Settings) -> pd.DataFrame:
    """Count solutions on random problems, or try what section 4 prints on the example."""
    if case == "random":
        rng = settings.generator(run, purpose=4)
        problems = [random_problem(rng, 200, int(rng.integers(2, 6)), 4) for _ in range(PROBLEMS)]
        values = [value for problem in problems for value in _solutions(problem)]
    else:
        sample = sample_example(settings, run)
        values = [
            *_conditional_covariances(sample),
            *_opportunity_is_parity(sample),
            *_printed_double_ridge(sample),
            *_weights_of_pairs(sample),
        ]
    return pd.DataFrame(values, columns=COLUMNS)


def positive_solutions(size: float, c: float, d: float) -> int:
    """Count the λ > 0 with (l + 2λ)/(l + λ)²·c = d for l = size.

    That is dλ² + 2(ld − c)λ + l(ld − c) = 0. The product of its roots is
    l(ld − c)/d: one is positive if c > ld. Else none is real and positive,
    because the discriminant is 4c(c − ld).
    """
    roots = np.roots([d, 2 * (size * d - c), size * (size * d - c)])
    return int((np.isreal(roots) & (roots.real > 0)).sum())


def _solutions(problem: Problem) -> Iterator[Value]:
    """Positive solutions of both equations: as printed, and with c and d exchanged."""
    n = len(problem.y)
    sizes = np.linalg.eigvalsh(problem.S.T @ problem.S / n)
    d = float(((problem.S.T @ problem.y) ** 2).sum())
    for r in BOUNDS:
        c = r / (1 - r) * problem.predicted
        for size in (float(sizes[0]), float(sizes[-1])):
            yield "solutions", "printed", r, positive_solutions(size, c, d)
            yield "solutions", "exchanged", r, positive_solutions(size, d, c)


def conditional_covariance(S: Floats, y: Floats, fitted: Floats) -> Floats:
    """COV(ŷ, S_j | y) of centered columns: what y does not account for, linearly."""
    return S.T @ (fitted - y * float(y @ fitted) / float(y @ y)) / len(y)


def _conditional_covariances(sample: Example) -> Iterator[Value]:
    """Follow |COV(ŷ, S_j | y)| of FRRM over λ, relative to its value at the smallest λ."""
    S, X, y = sample.centered()
    U = decorrelated(X, S)
    of_U = U @ np.linalg.lstsq(U, y, rcond=None)[0]
    fits = [S @ ridge(S, y, penalty) + of_U for penalty in PENALTIES]
    curves = np.abs([conditional_covariance(S, y, fitted) for fitted in fits])
    for curve in (curves / curves[0]).T:
        yield "conditional", "rises", np.nan, float((np.diff(curve) > 1e-12).any())
        yield "conditional", "smallest", np.nan, float(curve.min())
        yield "conditional", "last", np.nan, float(curve[-1])


def _opportunity_is_parity(sample: Example) -> Iterator[Value]:
    """Compare FRRM under the sequential R²_EO ≤ r with FRRM under R²_S ≤ s, s/(1−s) = ρ²r/(1−r).

    ρ² is the partial R² of y on U given S. Without a ridge on β,
    COV(Uβ, y) = VAR(Uβ), so that the sequential share is
    VAR(Sα)/(VAR(Sα) + ρ²VAR(Uβ)).
    """
    S, X, y = sample.centered()
    U, rest = decorrelated(X, S), decorrelated(y[:, None], S)[:, 0]
    of_U = U @ np.linalg.lstsq(U, y, rcond=None)[0]
    partial = float(of_U @ of_U) / float(rest @ rest)
    yield "opportunity", "partial R²", np.nan, partial
    bounds = np.array(BOUNDS)
    odds = partial * bounds / (1.0 - bounds)
    paths = [
        FairRidgeRegressor(sensitive=SENSITIVE, definition=name).path(
            sample.Z, sample.y, unfairness=limits
        )
        for name, limits in (
            ("equality-of-opportunity", bounds),
            ("statistical-parity", odds / (1.0 + odds)),
        )
    ]
    apart = np.abs(paths[0].alpha - paths[1].alpha).max(axis=1)
    for r, off in zip(bounds, apart / np.abs(paths[1].alpha).max(axis=1), strict=True):
        yield "opportunity", "distance", r, float(off)


def _printed_double_ridge(sample: Example) -> Iterator[Value]:
    """How far the minimum of section 4.2's objective, with Xβ, is from equation (15)."""
    S, X, y = sample.centered()
    U = decorrelated(X, S)
    expected = ridge(U, y, RIDGE)
    path = FairRidgeRegressor(sensitive=SENSITIVE, predictor_penalty=RIDGE).path(
        sample.Z, sample.y, unfairness=BOUNDS
    )
    Z = np.column_stack([S, X])
    for r, penalty in zip(BOUNDS, path.lambda_, strict=True):
        penalties = np.diag(np.repeat([penalty, RIDGE], [3, 3]))
        beta = np.linalg.solve(Z.T @ Z + penalties, Z.T @ y)[3:]
        off = np.linalg.norm(beta - expected) / np.linalg.norm(expected)
        yield "double ridge", "distance", r, float(off)


def _weights_of_pairs(sample: Example) -> Iterator[Value]:
    """Share of the weight d(yᵢ, yⱼ) that the tenth of pairs with the closest outcomes has.

    As printed d = |yᵢ − yⱼ|; Berk et al. have exp(−(yᵢ − yⱼ)²), here of standardized y.
    """
    y = sample.y / sample.y.std()
    apart = np.sort(np.abs(y[:, None] - y)[np.triu_indices(len(y), 1)])
    closest = len(apart) // 10
    for name, weight in (("printed", apart), ("Berk", np.exp(-(apart**2)))):
        yield "pairs", name, np.nan, float(weight[:closest].sum() / weight.sum())
