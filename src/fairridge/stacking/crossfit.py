"""Scores of rows that a learner has not seen, and learners for new rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold, StratifiedKFold, check_cv
from sklearn.utils import _safe_indexing
from sklearn.utils.parallel import Parallel, delayed

from fairridge._progress import Progress
from fairridge._typing import Floats, Integers
from fairridge.arguments import check_count, is_number
from fairridge.data import Table
from fairridge.stacking.learners import Scorer, fit_learner, native

Folds = Sequence[tuple[Integers, Integers]]
Deploy = Literal["refit", "average"]


@dataclass(frozen=True)
class LearnerTask:
    """A learner, and what it is to learn."""

    names: tuple[str, ...]  # of the columns that its scores are
    learner: Any
    target: NDArray[Any]
    scorer: Scorer
    weight: Floats | None = None  # of the rows
    metadata: Mapping[str, Any] = field(default_factory=dict)  # further arguments of its `fit`

    def fitted(self, rows: Any, part: Integers) -> Any:
        """Fit a copy of the learner to some rows."""
        weight = None if self.weight is None else self.weight[part]
        given = {name: _safe_indexing(value, part) for name, value in self.metadata.items()}
        return fit_learner(self.learner, rows, self.target[part], weight, given)


@dataclass(frozen=True)
class Deployed:
    """Fitted learners whose scores are averaged."""

    names: tuple[str, ...]
    learners: tuple[Any, ...]
    scorer: Scorer

    def scores(self, rows: Any) -> Floats:
        """Return scores of new rows, of shape (n, c)."""
        return np.asarray(np.mean([self.scorer(one, rows) for one in self.learners], axis=0))


def folds_of(
    cv: Any, y: NDArray[Any], given: Integers, *, classes: bool, random_state: int
) -> list[tuple[Integers, Integers]]:
    """Return training and validation rows."""
    # `given` are positions of the rows that have weight among those that were passed, which an
    # iterable refers to.
    if is_number(cv):
        n_folds = check_count("cv", cv, minimum=2)
        if n_folds > len(y):
            raise ValueError(f"cv={n_folds} needs as many rows, not n_samples = {len(y)}.")
        kind = StratifiedKFold if classes else KFold
        splitter: Any = kind(n_folds, shuffle=True, random_state=random_state)
    else:
        splitter = check_cv(cv, y, classifier=classes)
    folds = list(splitter.split(np.zeros((len(y), 1)), y))
    if not is_number(cv) and not hasattr(cv, "split"):
        folds = [(_among(given, train), _among(given, test)) for train, test in folds]
    tested = np.concatenate([test for _, test in folds])
    if len(np.unique(tested)) < len(tested):
        raise ValueError("cv tests rows twice; a row has one score, so use disjoint folds.")
    return folds


def _among(given: Integers, rows: Any) -> Integers:
    """Return where rows are among those that have weight; the others are left out."""
    return np.asarray(np.flatnonzero(np.isin(given, rows)))


def cross_fit(
    model: Any, tasks: Sequence[LearnerTask], table: Table, folds: Folds, deploy: Deploy
) -> tuple[Floats, tuple[Deployed, ...]]:
    """Score every row of a fold by learners that were fitted to the rows beside it."""
    # Scores are NaN in rows that no fold tests; learners for new rows are refitted to all rows, or
    # those of the folds.
    parts = [train for train, _ in folds]
    if deploy == "refit":
        parts.append(np.arange(table.shape[0]))
    rows = [native(table.take(part)) for part in parts]
    fitted = []
    with Progress(len(tasks) * len(parts), model.progress, "fit") as bar:
        for learner in Parallel(n_jobs=model.n_jobs, return_as="generator")(
            delayed(task.fitted)(rows[k], part) for task in tasks for k, part in enumerate(parts)
        ):
            fitted.append(learner)
            bar.step()
    scores, deployed = np.full((table.shape[0], sum(len(t.names) for t in tasks)), np.nan), []
    held = [native(table.take(test)) for _, test in folds]
    start = 0
    for j, task in enumerate(tasks):
        learners = fitted[j * len(parts) : (j + 1) * len(parts)]
        columns = slice(start, start + len(task.names))
        for (_, test), learner, new in zip(folds, learners, held, strict=False):
            scores[test, columns] = task.scorer(learner, new)
        used = learners[-1:] if deploy == "refit" else learners
        deployed.append(Deployed(task.names, tuple(used), task.scorer))
        start = columns.stop
    return scores, tuple(deployed)
