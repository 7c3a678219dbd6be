"""Problems to fitted models: in memory, from files, from moments, and twins that must agree."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import FunctionTransformer

import fairridge
from fairridge import (
    FairRidgeClassifier,
    FairRidgeRegressor,
    FairRidgeSurvival,
    KomiyamaRegressor,
    ZafarClassifier,
    ZafarRegressor,
    sources,
)
from fairridge.fairness import (
    Closeness,
    Combined,
    EqualityOfOpportunity,
    IndividualFairness,
    SameOutcome,
    StatisticalParity,
)
from tools.fuzz.problems import LOG_LINKS, Problem, with_squares

OBJECTS = {
    "uncentered": StatisticalParity(center=False),
    "nagelkerke": StatisticalParity(measure="nagelkerke"),
    "combined": Combined([StatisticalParity(), EqualityOfOpportunity()], how="max"),
    "same-outcome": IndividualFairness(SameOutcome()),
    "closeness": IndividualFairness(Closeness()),
}
# Bounds of a path besides the problem's own.
OTHER_BOUNDS = (0.0, 0.01, 0.03, 0.1, 0.15, 0.4)
PEERS = {
    ("komiyama", "gaussian"): KomiyamaRegressor,
    ("zafar", "gaussian"): ZafarRegressor,
    ("zafar", "binomial"): ZafarClassifier,
}


@dataclass(frozen=True)
class Answer:
    """A fitted model, and the warnings on the way."""

    model: Any
    warnings: tuple[tuple[str, str], ...]

    def warned_of(self, words: str) -> bool:
        """Whether a warning has these words."""
        return any(words in message for _, message in self.warnings)


def estimator(problem: Problem, *, separate: bool = True) -> Any:
    """Return the estimator of a problem; S is separate, or the first columns of X."""
    sensitive = None if separate else [f"s{k}" for k in range(problem.S.shape[1])]
    if problem.model != "ridge":
        return PEERS[problem.model, problem.family](problem.unfairness, sensitive=sensitive)
    options: dict[str, Any] = {
        "sensitive": sensitive,
        "definition": OBJECTS.get(problem.definition, problem.definition),
        "penalty": problem.penalty,
        "predictor_penalty": problem.predictor_penalty,
        "standardize": problem.standardize,
        # The judge knows the minimum over all rows, and a column in other units is not 0/1.
        "separation": "warn",
        "blind": problem.blind,
    }
    if problem.controls:
        places = range(problem.controls)
        options["controls"] = list(places) if separate else [f"x{k}" for k in places]
    if problem.maps != "none":
        name = "sensitive_map" if problem.maps == "sensitive" else "predictor_map"
        # By itself a map leaves out numbers of two values.
        squares = FunctionTransformer(with_squares)
        options[name] = ColumnTransformer([("all", squares, slice(0, None))])
    if problem.family in ("binomial", "multinomial"):
        return FairRidgeClassifier(problem.unfairness, **options)
    if problem.family == "cox":
        return FairRidgeSurvival(problem.unfairness, ties=problem.ties, **options)
    return FairRidgeRegressor(problem.unfairness, family=problem.family, **options)


def answer(problem: Problem) -> Answer:
    """Fit a problem in memory, and collect the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = estimator(problem).fit(problem.X, problem.y, **_row_arguments(problem))
    return Answer(model, _listed(caught))


def second_answer(problem: Problem, first: Answer) -> dict[str, Answer]:
    """Fit the same problem from its source, and its twin."""
    with warnings.catch_warnings(record=True) as caught, TemporaryDirectory() as folder:
        warnings.simplefilter("always")
        found = {}
        if problem.source != "memory":
            found[problem.source] = _from_source(problem, Path(folder))
        if problem.twin == "saved":
            fairridge.save(first.model, Path(folder) / "model.json")
            found["saved"] = fairridge.load(Path(folder) / "model.json")
        elif problem.twin == "path":
            bounds = sorted({problem.unfairness, *OTHER_BOUNDS})
            path = estimator(problem).path(
                problem.X, problem.y, unfairness=bounds, **_row_arguments(problem)
            )
            found["path"] = path.at(problem.unfairness)
        elif problem.twin != "none":
            twin = _twin(problem)
            found[problem.twin] = estimator(twin).fit(twin.X, twin.y, **_row_arguments(twin))
    return {name: Answer(model, _listed(caught)) for name, model in found.items()}


def _row_arguments(problem: Problem) -> dict[str, Any]:
    arguments = {"sensitive_features": problem.S}
    if problem.weight is not None:
        arguments["sample_weight"] = problem.weight
    if problem.offset is not None:
        arguments["offset"] = problem.offset
    # The logarithm of an exposure is an offset.
    if problem.offset is not None and problem.family in LOG_LINKS and problem.seed % 2:
        arguments["exposure"] = np.exp(arguments.pop("offset"))
    return arguments


def _twin(problem: Problem) -> Problem:
    rng = np.random.default_rng(problem.seed + 1)
    if problem.twin == "scaled":
        units = [2.0 ** rng.integers(-20, 20, Z.shape[1]) for Z in (problem.S, problem.X)]
        return replace(problem, S=problem.S * units[0], X=problem.X * units[1])
    order = rng.permutation(len(problem.X))
    return replace(
        problem,
        S=problem.S[order],
        X=problem.X[order],
        y=problem.y[order],
        weight=None if problem.weight is None else problem.weight[order],
        offset=None if problem.offset is None else problem.offset[order],
    )


def _frame(problem: Problem) -> pd.DataFrame:
    columns = {f"s{k}": column for k, column in enumerate(problem.S.T)}
    columns |= {f"x{k}": column for k, column in enumerate(problem.X.T)}
    if problem.family == "cox":
        columns |= {"time": problem.y[:, 0], "event": problem.y[:, 1] == 1.0}
    else:
        columns["y"] = problem.y
    if problem.weight is not None:
        columns["weight"] = problem.weight
    if problem.offset is not None:
        columns["offset"] = problem.offset
    return pd.DataFrame(columns)


def _from_source(problem: Problem, folder: Path) -> Any:
    frame = _frame(problem)
    if problem.family == "cox":
        frame = frame.sort_values("time", ascending=False, kind="stable")
    roles = {
        "response": ["time", "event"] if problem.family == "cox" else "y",
        "sensitive": [name for name in frame if name.startswith("s")],
        "predictors": [name for name in frame if name.startswith("x")],
        "weight": "weight" if problem.weight is not None else None,
        "offset": "offset" if problem.offset is not None else None,
    }
    model = estimator(problem, separate=False).set_params(sensitive=None)
    # Each part has rows that count: a party without any has no moments.
    counted = np.flatnonzero(np.ones(len(frame)) if problem.weight is None else frame["weight"])
    half = counted[len(counted) // 2]
    parts = [frame.iloc[:half], frame.iloc[half:]]
    if problem.source == "moments":
        found = [sources.moments(sources.frame(part, **roles)) for part in parts]
        return model.fit(found[0] + found[1])
    for k, part in enumerate(parts):
        part.to_parquet(folder / f"part-{k}.parquet")
    return model.fit(sources.parquet(str(folder / "*.parquet"), **roles))


def _listed(caught: list[warnings.WarningMessage]) -> tuple[tuple[str, str], ...]:
    return tuple((item.category.__name__, str(item.message)) for item in caught)
