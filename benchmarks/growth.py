"""Time against the number of rows, of columns and of bounds, with slopes and a picture."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
from sklearn.linear_model import LinearRegression, LogisticRegression

from benchmarks.figures import Figure, Part, measured, show_seconds, slope
from benchmarks.problems import Problem
from benchmarks.rivals import glum_glm, statsmodels_ols
from fairridge import FairRidgeClassifier, FairRidgeRegressor

P, Q = 50, 5
ROWS = (1_000, 10_000, 100_000, 1_000_000)
COLUMNS, ROWS_OF_COLUMNS = (25, 50, 100, 200, 400), 20_000
BOUNDS, ROWS_OF_BOUNDS = (1, 10, 100, 1_000), 10_000
# fairlearn fits a model in each of its steps, and statsmodels decomposes the whole matrix.
MOST_ROWS_OF_FAIRLEARN, MOST_ROWS_OF_STATSMODELS = 10_000, 100_000
MOST_LOGISTIC_BOUNDS = 100
BARE, PATH = "NumPy product ZᵀZ", "fairridge, gaussian, 101-point path"
FIT, LOGISTIC = "fairridge, gaussian, fit", "fairridge, logistic, fit"
Cases = dict[str, Callable[[], object]]


def measure(quick: bool) -> Iterator[Figure]:
    budget = 0.05 if quick else 1.5
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for n in ROWS[:-1] if quick else ROWS:
            cases = _cases(Problem("rows", n, P, Q))
            yield from measured(f"{n:,} rows", cases, budget, axis="rows", size=n)
        for p in COLUMNS[:3] if quick else COLUMNS:
            every = _cases(Problem("columns", ROWS_OF_COLUMNS, p, Q))
            cases = {name: every[name] for name in (BARE, FIT, PATH, LOGISTIC)}
            yield from measured(f"{p:,} columns", cases, budget, axis="columns", size=p)
        problem = Problem("bounds", ROWS_OF_BOUNDS, P, Q)
        for m in BOUNDS[:2] if quick else BOUNDS:
            yield from measured(f"{m:,} bounds", _paths(problem, m), budget, axis="bounds", size=m)


def _cases(problem: Problem) -> Cases:
    (Z, y), sensitive, n = problem.data, problem.sensitive, problem.n
    labels = (y > np.random.default_rng(3).logistic(size=n) * 3.0).astype(int)
    cases: Cases = {
        BARE: lambda: Z.T @ Z,
        FIT: lambda: FairRidgeRegressor(0.05, sensitive=sensitive).fit(Z, y),
        PATH: lambda: FairRidgeRegressor(sensitive=sensitive).path(Z, y),
        "scikit-learn LinearRegression": lambda: LinearRegression().fit(Z, y),
        "statsmodels OLS": lambda: statsmodels_ols.least_squares(problem),
        LOGISTIC: lambda: FairRidgeClassifier(0.05, sensitive=sensitive).fit(Z, labels),
        "scikit-learn LogisticRegression": lambda: _unconstrained().fit(Z, labels),
        "glum, binomial": lambda: glum_glm.fit(Z, labels, "binomial"),
        "fairlearn ExponentiatedGradient": lambda: _reductions(Z, labels),
    }
    if n > MOST_ROWS_OF_FAIRLEARN:
        del cases["fairlearn ExponentiatedGradient"]
    if n > MOST_ROWS_OF_STATSMODELS:
        del cases["statsmodels OLS"]
    return cases


def _unconstrained() -> LogisticRegression:
    return LogisticRegression(C=np.inf, solver="newton-cholesky")


def _reductions(Z: np.ndarray, labels: np.ndarray) -> object:
    from fairlearn.reductions import DemographicParity, ExponentiatedGradient

    model = ExponentiatedGradient(LogisticRegression(solver="newton-cholesky"), DemographicParity())
    return model.fit(Z, labels, sensitive_features=(Z[:, 0] > 0.0).astype(int))


def _paths(problem: Problem, m: int) -> Cases:
    (Z, y), bounds = problem.data, np.linspace(0.0, 0.5, m)
    sensitive, labels = problem.sensitive, (problem.data[1] > 0.0).astype(int)
    cases: Cases = {
        "fairridge, gaussian, path": lambda: FairRidgeRegressor(sensitive=sensitive).path(
            Z, y, unfairness=bounds
        ),
        "fairridge, logistic, path": lambda: FairRidgeClassifier(sensitive=sensitive).path(
            Z, labels, unfairness=bounds
        ),
    }
    if m > MOST_LOGISTIC_BOUNDS:
        del cases["fairridge, logistic, path"]
    return cases


def render(part: Part, figures: Sequence[Figure]) -> list[str]:
    """Write one table per axis: a row per case, a column per size, and the slope."""
    lines: list[str] = []
    for axis in dict.fromkeys(one.axis for one in figures):
        some = [one for one in figures if one.axis == axis]
        sizes = sorted({one.size for one in some})
        lines += ["", f"| {axis} | " + " | ".join(f"{size:,}" for size in sizes) + " | slope |"]
        lines.append("|---|" + "---:|" * (len(sizes) + 1))
        for case, times in series(some).items():
            cells = [show_seconds(times[size]) if size in times else "" for size in sizes]
            steep = f"{slope(list(times), list(times.values())):.2f}" if len(times) > 2 else ""
            lines.append(f"| {case} | " + " | ".join(cells) + f" | {steep} |")
    return lines[1:]


def series(figures: Sequence[Figure]) -> dict[str, dict[int, float]]:
    """Return seconds by case and size."""
    found: dict[str, dict[int, float]] = {}
    for one in figures:
        if one.seconds is not None:
            found.setdefault(one.case, {})[one.size] = one.seconds
    return found


def draw(figures: Sequence[Figure], path: Path) -> None:
    """Draw time against rows, on logarithmic axes."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    with pyplot.rc_context({"svg.hashsalt": "fairridge", "font.size": 9}):
        figure, axes = pyplot.subplots(figsize=(7.5, 4.5), layout="constrained")
        for case, times in series([one for one in figures if one.axis == "rows"]).items():
            ours = case.startswith("fairridge")
            style = {"linewidth": 2.0 if ours else 1.0, "linestyle": "-" if ours else "--"}
            axes.loglog(list(times), list(times.values()), marker="o", label=case, **style)
        axes.set_xlabel(f"rows, {P + Q} columns")
        axes.set_ylabel("seconds")
        axes.grid(visible=True, which="major", alpha=0.3)
        figure.legend(loc="outside right upper", frameon=False)
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
        pyplot.close(figure)


PART = Part("Growth", "", measure, render)
