"""Any learner under a bound: stacked models beside reductions, thresholds and barycenters.

Models are judged on rows held out, at equal R² of their scores on S and at equal differences of
selection rates: a path of stacked models has a model for whatever a rival reaches. Every split
of every method is kept in a file, so that a run goes on where it stopped.
"""

from __future__ import annotations

import json
import os
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.metrics import log_loss, r2_score, roc_auc_score
from sklearn.model_selection import train_test_split

from benchmarks.figures import Figure, Part
from fairridge import (
    BarycenterClassifier,
    FairRidgeClassifier,
    FairRidgeRegressor,
    FairStackingClassifier,
    FairStackingRegressor,
)
from fairridge._typing import Floats
from fairridge.data import as_table
from fairridge.datasets import DataUnavailableError, fetch_fairml, load
from fairridge.outputs import writing
from fairridge.stacking.learners import Categories, boosted_trees

FOLDER = Path(os.environ.get("FAIRRIDGE_STACKING", "bench-output/stacking"))
SPLITS, HELD_OUT = 5, 0.3
BOUNDS = np.array([0.0, *np.geomspace(1e-4, 0.3, 32), 1.0])
# Reductions fit learners by the dozen; elsewhere than on ADULT they get one split.
REDUCTION_SPLITS = {"ADULT": SPLITS}
# Bounds on odds take longer to search. They are about two classes, which one score and S cannot
# both adjust: products of the two can.
ODDS_BOUNDS = np.array([0.0, 0.002, 0.01, 0.02, 0.05, 1.0])
GAP = 0.02  # difference of selection rates that reductions are given
Score = dict[str, Any]


@dataclass(frozen=True)
class Task:
    """One data set with a sensitive attribute."""

    name: str
    sensitive: tuple[str, ...]
    load: Callable[[], Any]
    classes: bool = True

    @property
    def data(self) -> tuple[Any, Any]:
        """X and y; classes as 0 and 1."""
        found = _loaded(self)
        y = np.asarray(found.y)
        return found.X, (y == np.unique(y)[1]).astype(int) if self.classes else y


@cache
def _loaded(task: Task) -> Any:
    return task.load()


TASKS = (
    Task("German credit", ("Gender",), lambda: load("german_credit", backend="pandas")),
    Task("COMPAS", ("race",), lambda: _two_races(_fairml("compas", "binomial"))),
    Task(
        "communities & crime",
        ("racepctblack", "PctForeignBorn"),
        lambda: load("communities_crime", backend="pandas"),
        classes=False,
    ),
    Task("ADULT", ("sex",), lambda: load("adult", backend="pandas")),
    Task("law school", ("race1",), lambda: _passed(_fairml("law.school.admissions", "gaussian"))),
)


def _fairml(name: str, family: str) -> Any:
    return fetch_fairml(name, family=family, progress=False)


@dataclass(frozen=True)
class _Frame:
    X: Any
    y: Any


def _two_races(found: Any) -> _Frame:
    """People who are African-American or Caucasian, as most comparisons on COMPAS have them."""
    keep = found.X["race"].isin(["African-American", "Caucasian"]).to_numpy()
    return _Frame(_used_levels(found.X[keep]), found.y[keep])


def _passed(found: Any) -> _Frame:
    """Whether the bar was passed, of people who are Black or white."""
    keep = found.X["race1"].isin(["black", "white"]).to_numpy()
    X = found.X[keep].assign(gpa=np.asarray(found.y)[keep])
    return _Frame(_used_levels(X.drop(columns="bar")), X["bar"])


def _used_levels(X: Any) -> Any:
    categories = X.select_dtypes("category")
    return X.assign(**{name: X[name].cat.remove_unused_categories() for name in categories})


# ---------------------------------------------------------------------------- methods


@dataclass(frozen=True)
class Rows:
    """Training rows and rows held out."""

    task: Task
    X: Any
    y: Any
    new: Any
    y_new: Any

    @classmethod
    def of(cls, task: Task, split: int) -> Rows:
        X, y = task.data
        strata = y if task.classes else None
        X, new, y, y_new = train_test_split(
            X, y, test_size=HELD_OUT, random_state=split, stratify=strata
        )
        return cls(task, X, y, new, y_new)

    def judged(self, score: Floats, selected: Floats | None = None) -> Score:
        """Measure scores on the rows held out, and expected decisions."""
        codes = _codes(self.new, self.task.sensitive)
        found: Score = {"share": _share(score, codes)}
        if not self.task.classes:
            return found | {"R²": float(r2_score(self.y_new, score))}
        decided = (score > 0.5).astype(float) if selected is None else selected
        group = codes[:, 0] > 0.5
        right = np.where(self.y_new == 1, decided, 1.0 - decided)
        found |= {
            "AUC": float(roc_auc_score(self.y_new, score)),
            "log loss": float(log_loss(self.y_new, np.clip(score, 1e-6, 1 - 1e-6))),
            "accuracy": float(right.mean()),
            "gap": float(abs(decided[group].mean() - decided[~group].mean())),
        }
        odds = [
            abs(decided[group & rows].mean() - decided[~group & rows].mean())
            for rows in (self.y_new == 1, self.y_new == 0)
        ]
        return found | {"odds": float(max(odds))}


def _codes(X: Any, sensitive: tuple[str, ...]) -> Floats:
    """Return S as numbers: one 0/1 column of two groups, or numbers as they are."""
    columns = [X[name] for name in sensitive]
    return np.column_stack(
        [c.cat.codes.to_numpy() if hasattr(c, "cat") else c.to_numpy() for c in columns]
    ).astype(float)


def _share(score: Floats, S: Floats) -> float:
    Z = np.column_stack([np.ones(len(S)), S])
    left = score - Z @ np.linalg.lstsq(Z, score, rcond=None)[0]
    spread = float(np.sum((score - score.mean()) ** 2))
    return 0.0 if spread <= 0.0 else float(1.0 - left @ left / spread)


def _path(model: Any, rows: Rows, bounds: Floats = BOUNDS) -> list[Score]:
    """Judge all models of a path."""
    path = model.path(rows.X, rows.y, unfairness=bounds)
    found, new = [], {"X": rows.new}
    for bound in bounds:
        one = path.at(float(bound))
        if hasattr(one, "layer_"):  # learners score the rows once for all bounds
            new = new if "sensitive_features" in new else one.layer_inputs(rows.new)
            one = one.layer_
        score = one.predict_proba(**new)[:, 1] if rows.task.classes else one.predict(**new)
        found.append({"bound": float(bound)} | rows.judged(score))
    return found


def stack(rows: Rows, bounds: Floats = BOUNDS, **options: Any) -> list[Score]:
    kind = FairStackingClassifier if rows.task.classes else FairStackingRegressor
    model = kind(sensitive=list(rows.task.sensitive), random_state=0, **options)
    return _path(model, rows, bounds)


def linear(rows: Rows) -> list[Score]:
    options: dict[str, Any] = {"sensitive": list(rows.task.sensitive), "predictor_penalty": 1.0}
    options |= {"min_frequency": 20, "definition": "mean-parity"}
    if rows.task.classes:
        return _path(FairRidgeClassifier(**options), rows)
    return _path(FairRidgeRegressor(**options), rows)


def barycenter(rows: Rows) -> list[Score]:
    found = []
    for bound in (0.0, 0.01, 0.05, 0.2):
        model = BarycenterClassifier(
            bound, sensitive=list(rows.task.sensitive), unknown="base"
        ).fit(rows.X, rows.y)
        score = model.predict_proba(rows.new)[:, 1]
        found.append({"bound": bound} | rows.judged(score))
    return found


class Weighted(BaseEstimator):
    """The default learner with the interface that fairlearn asks for; it counts its fits."""

    fits = 0

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Weighted:
        type(self).fits += 1
        self.classes_ = np.array([0, 1])
        weight = None if sample_weight is None else np.asarray(sample_weight, dtype=float)
        pipeline = boosted_trees(as_table(X), None, 0)
        name = pipeline.steps[-1][0]
        given = {} if weight is None else {f"{name}__sample_weight": weight}
        self.model_ = pipeline.fit(X, np.asarray(y).astype(int), **given)
        return self

    def predict_proba(self, X: Any) -> Floats:
        if len(self.model_.classes_) == 1:  # reductions ask for one class alone at times
            return np.tile(np.eye(2)[int(self.model_.classes_[0])], (len(X), 1))
        return self.model_.predict_proba(X)

    def predict(self, X: Any) -> Any:
        return (self.predict_proba(X)[:, 1] > 0.5).astype(int)


def boosting(rows: Rows) -> list[Score]:
    model = Weighted().fit(rows.X, rows.y)
    return [{"bound": None} | rows.judged(model.predict_proba(rows.new)[:, 1])]


def reductions(rows: Rows, constraint: str) -> list[Score]:
    """Average the probabilities of its learners for scores; decisions are its own, randomized."""
    from fairlearn import reductions as fairlearn

    Weighted.fits = 0
    given = getattr(fairlearn, constraint)(difference_bound=GAP)
    model = fairlearn.ExponentiatedGradient(Weighted(), given)
    model.fit(rows.X, rows.y, sensitive_features=rows.X[list(rows.task.sensitive)])
    chances = [
        weight * learner.predict_proba(rows.new)[:, 1]
        for learner, weight in zip(model.predictors_, model.weights_, strict=False)
        if weight > 0.0
    ]
    judged = rows.judged(np.sum(chances, axis=0), model._pmf_predict(rows.new)[:, 1])
    return [{"bound": GAP, "fits": Weighted.fits} | judged]


def thresholds(rows: Rows) -> list[Score]:
    """Scores are those of the learner; it changes decisions only."""
    from fairlearn.postprocessing import ThresholdOptimizer

    model = ThresholdOptimizer(
        estimator=Weighted(), constraints="demographic_parity", predict_method="predict_proba"
    )
    S, S_new = (frame[list(rows.task.sensitive)] for frame in (rows.X, rows.new))
    model.fit(rows.X, rows.y, sensitive_features=S)
    chosen = model._pmf_predict(rows.new, sensitive_features=S_new)[:, 1]
    score = model.estimator_.predict_proba(rows.new)[:, 1]
    return [{"bound": None} | rows.judged(score, chosen)]


def reweighing(rows: Rows) -> list[Score]:
    """Fit the learner with AIF360's weights, which make groups and classes independent."""
    from aif360.sklearn.preprocessing import Reweighing

    names = list(rows.task.sensitive)
    _, weight = Reweighing(names).fit_transform(rows.X.set_index(names, drop=False), rows.y)
    model = Weighted().fit(rows.X, rows.y, weight)
    return [{"bound": None} | rows.judged(model.predict_proba(rows.new)[:, 1])]


def fair_gbm(rows: Rows) -> list[Score]:
    """Boost under equal rates of false positives and negatives, for equalized odds."""
    from fairgbm import FairGBMClassifier

    codes = _codes(rows.X, rows.task.sensitive)[:, 0].astype(int)
    read = Categories().fit(rows.X)
    model = FairGBMClassifier(constraint_type="FNR,FPR", random_state=0)
    model.fit(read.transform(rows.X), rows.y, constraint_group=codes)
    return [{"bound": None} | rows.judged(model.predict_proba(read.transform(rows.new))[:, 1])]


METHODS: dict[str, Callable[[Rows], list[Score]]] = {
    "boosting without a bound": boosting,
    "fairridge, stack": stack,
    "fairridge, stack, passthrough": lambda rows: stack(rows, passthrough=True),
    "fairridge, stack, blind": lambda rows: stack(rows, blind=True),
    "fairridge, linear": linear,
    "BarycenterClassifier": barycenter,
    "ThresholdOptimizer": thresholds,
    "ExponentiatedGradient": lambda rows: reductions(rows, "DemographicParity"),
    "Reweighing (AIF360)": reweighing,
    "fairridge, stack, mean-odds": lambda rows: stack(
        rows, ODDS_BOUNDS, definition="mean-odds", interactions=True
    ),
    "fairridge, stack, mean-opportunity": lambda rows: stack(rows, definition="mean-opportunity"),
    "ExponentiatedGradient, equalized odds": lambda rows: reductions(rows, "EqualizedOdds"),
    "FairGBM": fair_gbm,
}
NUMBERS = tuple(name for name in list(METHODS)[1:5] if "blind" not in name)
ODDS = tuple(METHODS)[-4:]


def methods_of(task: Task) -> tuple[str, ...]:
    """Return the methods that apply to a data set."""
    if not task.classes:
        return NUMBERS
    own = [name for name in METHODS if name != "fairridge, stack, passthrough"]
    return tuple(name for name in own if task.name == "ADULT" or name not in ODDS)


def splits_of(task: Task, method: str) -> range:
    """Return the splits that a method is judged on."""
    return range(REDUCTION_SPLITS.get(task.name, 1) if "Gradient" in method else SPLITS)


def results(task: Task, split: int, method: str) -> dict[str, Any]:
    """Read what a method reaches on a split, or compute and keep it."""
    name = "".join(c if c.isalnum() else "_" for c in f"{task.name}-{method}")
    path = FOLDER / f"{name}-{split}.json"
    if path.exists():
        return json.loads(path.read_text())
    rows = Rows.of(task, split)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wall, cpu = time.perf_counter(), time.process_time()
        scores = METHODS[method](rows)
        found = {"seconds": time.perf_counter() - wall, "CPU": time.process_time() - cpu}
    found["scores"] = scores
    path.parent.mkdir(parents=True, exist_ok=True)
    with writing(path) as file:
        file.write(json.dumps(found).encode())
    return found


# ----------------------------------------------------------------------------- figures


def measure(quick: bool) -> Iterator[Figure]:
    """Yield a row for every method: what it reaches, and the stack at the same R² and gap."""
    for task in TASKS[:1] if quick else TASKS:
        for method in methods_of(task):
            if quick and "Gradient" in method:
                continue
            try:
                found = [results(task, k, method) for k in splits_of(task, method)]
                own = [results(task, k, _own(task, method))["scores"] for k in range(len(found))]
            except (ImportError, DataUnavailableError) as reason:
                why = str(reason).split(". ")[0]
                yield Figure(_title(task), method, None, extra={"why": why})
                continue
            yield from _figures(task, method, found, own)


def _own(task: Task, method: str) -> str:
    """Name the path that a method is compared with."""
    if not task.classes:
        return "fairridge, stack"
    return ODDS[0] if method in ODDS else "fairridge, stack"


def _title(task: Task) -> str:
    return f"{task.name}, {' and '.join(task.sensitive)}"


def _figures(task: Task, method: str, found: list[Any], own: list[Any]) -> Iterator[Figure]:
    # CPU time: other work on the machine does not count.
    cpu = float(np.median([one["CPU"] for one in found]))
    for k, start in enumerate(found[0]["scores"]):
        if method.startswith("fairridge") and start["bound"] not in _shown():
            continue
        points = [one["scores"][k] for one in found]
        good = "AUC" if task.classes else "R²"
        extra = {
            "splits": str(len(found)),
            "fits": f"{points[0]['fits']}" if "fits" in points[0] else "",
            "R² on S": _mean(points, "share"),
            good: _mean(points, good),
            "log loss": _mean(points, "log loss"),
            "accuracy": _mean(points, "accuracy"),
            "gap": _mean(points, "gap"),
            "stack − this, at equal R²": _against(points, own, "share", good),
            "stack − this, log loss at equal R²": _against(points, own, "share", "log loss"),
            "stack − this, accuracy at equal gap": _against(points, own, "gap", "accuracy"),
        }
        if method in ODDS or start["bound"] is None:
            extra["odds"] = _mean(points, "odds")
        if method in ODDS:
            del extra["stack − this, accuracy at equal gap"]
            reached = _against(points, own, "odds", "accuracy")
            extra["stack − this, accuracy at equal odds"] = reached
        if _own(task, method) == method:
            extra = {name: value for name, value in extra.items() if "this" not in name}
        title = method if start["bound"] is None else f"{method}, {start['bound']:.3g}"
        yield Figure(_title(task), title, cpu, None, {k: v for k, v in extra.items() if v})


def _shown() -> set[float]:
    """Return which bounds the table has: of a path those next to 0, 0.002, 0.01, 0.02, 0.05, 1."""
    near = [int(np.abs(BOUNDS - r).argmin()) for r in (0.0, 0.002, 0.01, 0.02, 0.05, 1.0)]
    return {*BOUNDS[near], *ODDS_BOUNDS}


def _mean(points: list[Score], key: str) -> str:
    if key not in points[0]:
        return ""
    values = np.array([one[key] for one in points])
    if len(values) == 1:
        return f"{values[0]:.4f}"
    return f"{values.mean():.4f} ± {values.std(ddof=1) / np.sqrt(len(values)):.4f}"


def _against(points: list[Score], own: list[Any], at: str, key: str) -> str:
    """Write how much better the stacked path is at what a method reaches, over splits."""
    if key not in points[0] or at not in points[0]:
        return ""
    gains = []
    for point, path in zip(points, own, strict=True):
        reached = np.array([one[at] for one in path])
        order = np.argsort(reached, kind="stable")
        if not reached.min() <= point[at] <= reached.max():
            continue
        theirs = np.array([one[key] for one in path])
        gains.append(np.interp(point[at], reached[order], theirs[order]) - point[key])
    if len(gains) < 2:
        return "not reached" if not gains else f"{gains[0]:+.4f} (one split)"
    error = float(np.std(gains, ddof=1) / np.sqrt(len(gains)))
    word = " (tie)" if abs(np.mean(gains)) <= 2.0 * error else ""
    return f"{np.mean(gains):+.4f} ± {error:.4f}{word}"


PART = Part("Boosted trees under a bound", "", measure)
