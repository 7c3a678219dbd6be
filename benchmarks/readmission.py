"""Equal true-positive rates without S: a blind stack beside fairlearn, on patients made here.

``python -m benchmarks.readmission [SEEDS]`` fits every method to 4,000 patients per seed and
judges it on 20,000 others: balanced accuracy, and the difference of true-positive rates. Paths
of models have a gap for any accuracy, so gaps are compared at the accuracy of the reductions.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier

from fairridge import FairRidgeClassifier, FairStackingClassifier
from fairridge._typing import Floats

FIT, NEW, SEEDS = 4000, 20000, 20
BOUNDS = (0.0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
GAPS = (0.01, 0.05, 0.1)  # what the reductions are allowed
Decide = Callable[[pd.DataFrame, pd.Series, pd.DataFrame], dict[str, Floats]]


def patients(n: int, seed: int) -> tuple[pd.DataFrame, pd.Series, pd.Series]:
    """Return what is known of patients, their group, and who was readmitted (a fifth)."""
    rng = np.random.default_rng(seed)
    minority = rng.random(n) < 0.3
    age = rng.uniform(20, 90, n).round()
    public = rng.random(n) < np.where(minority, 0.6, 0.25)
    visits = rng.poisson(np.where(minority, 2.0, 1.0))
    stay = rng.gamma(2.0, np.where(public, 2.5, 2.0)).round(1)
    diagnoses = rng.poisson(2.0 + 0.03 * (age - 20))
    distance = rng.lognormal(np.where(minority, 1.2, 1.8), 0.6).round(1)
    score = -3.4 + 0.45 * visits + 0.09 * stay + 0.15 * diagnoses
    score += 0.5 * public + 0.6 * ((age > 70) & (visits > 1)) - 0.03 * distance
    readmitted = rng.random(n) < 1.0 / (1.0 + np.exp(-score))
    X = pd.DataFrame({"age": age, "visits": visits, "stay": stay, "diagnoses": diagnoses})
    X = X.assign(public=public.astype(float), distance=distance)
    return X, pd.Series(np.where(minority, "b", "a"), name="group"), pd.Series(readmitted * 1)


def learner() -> HistGradientBoostingClassifier:
    return HistGradientBoostingClassifier(max_iter=40, max_leaf_nodes=15, random_state=0)


def judged(y: pd.Series, group: pd.Series, selected: Floats) -> tuple[float, float]:
    """Return the balanced accuracy of chances of selection, and the gap of true-positive rates."""
    ill = y == 1
    rates = [float(selected[ill & (group == one)].mean()) for one in ("a", "b")]
    accuracy = 0.5 * (selected[ill].mean() + 1.0 - selected[~ill].mean())
    return float(accuracy), abs(rates[0] - rates[1])


def path(kind: str, rows: tuple, new: tuple) -> list[tuple[float, float]]:
    """Judge the blind models of all bounds; who is above the base rate is selected."""
    (X, group, y), (X_new, group_new, y_new) = rows, new
    options = {"sensitive": ["group"], "definition": "mean-opportunity", "blind": True}
    if kind == "stack":
        model = FairStackingClassifier(learner(), random_state=0, **options)
    else:
        model = FairRidgeClassifier(**options)
    found = model.path(X.assign(group=group), y, unfairness=BOUNDS)
    chances = (found.at(bound).predict_proba(X_new)[:, 1] for bound in BOUNDS)
    return [judged(y_new, group_new, (p > y.mean()) * 1.0) for p in chances]


def reductions(rows: tuple, new: tuple) -> list[tuple[float, float]]:
    """Judge ExponentiatedGradient; errors cost what makes the base rate the threshold."""
    from fairlearn.reductions import ErrorRate, ExponentiatedGradient, TruePositiveRateParity

    (X, group, y), (X_new, group_new, y_new) = rows, new
    found = []
    for gap in GAPS:
        costs = {"fp": float(y.mean()), "fn": float(1.0 - y.mean())}
        model = ExponentiatedGradient(
            learner(),
            TruePositiveRateParity(difference_bound=gap),
            objective=ErrorRate(costs=costs),
        )
        model.fit(X, y, sensitive_features=group)
        found.append(judged(y_new, group_new, model._pmf_predict(X_new)[:, 1]))
    return found


def thresholds(rows: tuple, new: tuple) -> list[tuple[float, float]]:
    """Judge ThresholdOptimizer, which needs the group of everyone whom it decides about."""
    from fairlearn.postprocessing import ThresholdOptimizer

    (X, group, y), (X_new, group_new, y_new) = rows, new
    model = ThresholdOptimizer(
        estimator=learner(),
        constraints="true_positive_rate_parity",
        objective="balanced_accuracy_score",
        predict_method="predict_proba",
    )
    model.fit(X, y, sensitive_features=group)
    selected = model._pmf_predict(X_new, sensitive_features=group_new)[:, 1]
    return [judged(y_new, group_new, selected)]


def gap_at(points: list[tuple[float, float]], accuracy: float) -> float:
    """Interpolate the gap of a path at an accuracy, between mixtures of neighboring models."""
    best: dict[float, float] = {}
    for one, gap in points:
        best[one] = min(gap, best.get(one, np.inf))
    order = sorted(best)
    return float(np.interp(accuracy, order, [best[one] for one in order]))


def one_seed(seed: int) -> dict[str, Floats]:
    rows, new = patients(FIT, seed), patients(NEW, 10_000 + seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {
            "ExponentiatedGradient": np.array(reductions(rows, new)),
            "ThresholdOptimizer, with S": np.array(thresholds(rows, new)),
            "blind stack": np.array(path("stack", rows, new)),
            "blind linear": np.array(path("linear", rows, new)),
        }


def main(seeds: int = SEEDS) -> None:
    found = [one_seed(seed) for seed in range(seeds)]
    labels = {"ExponentiatedGradient": GAPS, "ThresholdOptimizer, with S": ("",)}
    for name in found[0]:
        for at, label in enumerate(labels.get(name, BOUNDS)):
            values = np.array([one[name][at] for one in found])
            accuracy, gap = values.mean(axis=0)
            error = values[:, 1].std(ddof=1) / np.sqrt(seeds)
            print(f"{name} {label}: accuracy {accuracy:.3f}, gap {gap:.3f} ± {error:.3f}")
    for kind in ("blind stack", "blind linear"):
        for at, allowed in enumerate(GAPS):
            less = []
            for one in found:
                accuracy, gap = one["ExponentiatedGradient"][at]
                less.append(gap_at([(a, g) for a, g in one[kind]], accuracy) - gap)
            error = np.std(less, ddof=1) / np.sqrt(seeds)
            print(f"{kind} less reductions ±{allowed}: {np.mean(less):+.3f} ± {error:.3f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
