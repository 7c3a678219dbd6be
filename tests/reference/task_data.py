"""The reference tasks as arrays: encoded columns, rows without separated levels, and separation."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from fairridge import FairRidgeClassifier, FairRidgeRegressor, FairRidgeSurvival
from tools.fuzz.separation import is_separated

BOUNDS = (0.0, 0.001, 0.005, 0.02, 0.1, 0.5)
# Real data of more than a second or two for all bounds.
LARGE = ("adult", "adult.sexage", "bank", "obesity", "drug.meth", "drug.heroin3", "lsac")
CLASSES = ("binomial", "multinomial")
ON_MEANS = ("mean-parity", "mean-opportunity", "mean-odds")
# Share of the rows that separated levels may take with them.
MOST_ISOLATED = 0.01
# Size of the ridge on separated data, per row.
SEPARATION_RIDGE = 1e-6


@dataclass(frozen=True)
class Task:
    """A task as users fit it.

    Attributes
    ----------
    name, kind : str
        Of the task, and of its response.
    frame : DataFrame
        Sensitive attributes and predictors.
    y : ndarray
        Codes of classes, numbers, or (time, event).
    sensitive : list of str
        Names of the sensitive attributes.
    """

    name: str
    kind: str
    frame: pd.DataFrame
    y: np.ndarray
    sensitive: list

    def estimator(self, r, definition):
        options = {"sensitive": self.sensitive, "definition": definition}
        if self.kind in CLASSES:
            return FairRidgeClassifier(r, **options)
        if self.kind == "cox":
            return FairRidgeSurvival(r, **options)
        return FairRidgeRegressor(r, family=self.kind, **options)


@dataclass(frozen=True)
class Columns:
    """Rows that a model is fitted to: S and U in standard deviations, and the response."""

    S: np.ndarray
    U: np.ndarray
    y: np.ndarray
    kept: np.ndarray  # which rows of the task these are
    deviations: tuple  # of the columns of S and of U


def definitions_of(kind):
    """Return definitions that a kind of response has."""
    means = {"cox": (), "binomial": ON_MEANS, "multinomial": ON_MEANS}.get(kind, ON_MEANS[:1])
    return ("statistical-parity", "equality-of-opportunity", *means)


def read_task(reference, name):
    """Return a task of the reference data."""
    task, frame = reference.task(name)
    for column in frame.select_dtypes("category"):
        frame[column] = frame[column].cat.remove_unused_categories()
    y = frame[task["response"]]
    y = y.cat.codes.to_numpy() if task["kind"] in CLASSES else y.to_numpy(float)
    used = frame[task["sensitive"] + task["predictors"]]
    return Task(name, task["kind"], used, y, task["sensitive"])


def columns_of(task):
    """Encode a task, leave out the rows of separated levels, and regress X on S."""
    kept = undecided(task)
    frame = task.frame[kept]
    predictors = [name for name in frame if name not in task.sensitive]
    S, X = (encoded(frame[names]) for names in (task.sensitive, predictors))
    S, X = S - S.mean(0), X - X.mean(0)
    scaled, sd_S = standardized(S)
    U = X - scaled @ np.linalg.lstsq(scaled, X, rcond=None)[0]
    # A column that S explains leaves rounding errors.
    U[:, np.linalg.norm(U, axis=0) <= 1e-9 * np.linalg.norm(X, axis=0)] = 0.0
    U, sd_U = standardized(U)
    return Columns(scaled, U, task.y[kept], kept, (sd_S, sd_U))


def encoded(frame):
    """Return numbers and 0/1 columns of levels, without the base level."""
    # Column by column, in the order of the frame.
    parts = [pd.get_dummies(frame[[name]], drop_first=True) for name in frame]
    return pd.concat(parts, axis=1).to_numpy(float)


def standardized(Z):
    """Return columns in standard deviations, and these; constant columns stay zero."""
    deviations = Z.std(0)
    return Z / np.where(deviations > 0.0, deviations, 1.0), deviations


def undecided(task):
    """Return which rows are left once levels of predictors with a single outcome are gone."""
    kept = np.ones(len(task.y), bool)
    if task.kind == "gaussian":
        return kept
    outcome = task.y[:, 1] > 0.0 if task.kind == "cox" else task.y
    # Counts and times are separated by their zeros only.
    outcome = outcome if task.kind in CLASSES else np.where(outcome > 0, np.nan, 0.0)
    while (decided := kept & _in_decided_level(task, kept, outcome)).any():
        kept = kept & ~decided
    few = (~kept).sum() <= MOST_ISOLATED * len(kept)
    stays = task.kind not in CLASSES or set(outcome[kept]) == set(outcome)
    return kept if few and stays else np.ones(len(kept), bool)


def _in_decided_level(task, kept, outcome):
    found = np.zeros(len(kept), bool)
    for name in task.frame.columns.difference(task.sensitive):
        column = task.frame[name]
        categorical = isinstance(column.dtype, pd.CategoricalDtype)
        if not (categorical or set(column[kept]) == {0, 1}):
            continue
        for level in column[kept].unique():
            members = kept & (column == level).to_numpy()
            if len(np.unique(outcome[members])) == 1 and not np.isnan(outcome[members]).any():
                found |= members
    return found


def has_no_minimum(task, *, bounded=False):
    """Whether columns separate the responses; those of U alone if a penalty holds those of S."""
    columns = columns_of(task)
    Z = columns.U if bounded else np.hstack([columns.S, columns.U])
    return is_separated(task.kind, Z, columns.y)
