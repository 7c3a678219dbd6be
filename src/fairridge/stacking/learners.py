"""Learners as they come: what they are called, how they are fitted, what they score."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from traceback import walk_tb
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin, clone, is_classifier
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils.validation import has_fit_parameter

from fairridge._typing import Floats, Integers
from fairridge.arguments import listed
from fairridge.data import Levels, Table, as_table
from fairridge.families import Family, Gaussian

# Probabilities are kept this far from 0 and 1, and means above this share of their average.
PROBABILITY_MARGIN = 1e-5
# Categories that boosted trees of scikit-learn tell apart; the rarest beyond these are missing.
MAX_TREE_CATEGORIES = 254
# Trees that suffice for most regressions of S; scikit-learn's have 31 leaves and are 100.
SMALL_TREES = {"max_iter": 50, "max_leaf_nodes": 15}


def native(table: Table) -> Any:
    """Return rows as learners take them: a frame of the user's library, or an array."""
    return table.source.to_native() if isinstance(table.source, nw.DataFrame) else table.source


class Categories(TransformerMixin, BaseEstimator):
    """Numbers for boosted trees: levels become codes, missing and unseen levels NaN."""

    def fit(self, X: Any, y: Any = None) -> Categories:
        """Learn the levels of every column that is not numeric."""
        table = as_table(X)
        self.levels_: dict[int, dict[str, int]] = {}
        for k in range(table.shape[1]):
            column = table.column(k)
            if isinstance(column, Levels):
                sizes = np.bincount(column.codes[column.codes >= 0], minlength=len(column.levels))
                common = np.argsort(-sizes, kind="stable")[:MAX_TREE_CATEGORIES]
                kept = [column.levels[j] for j in sorted(common) if sizes[j]]
                self.levels_[k] = {level: code for code, level in enumerate(kept)}
        return self

    def transform(self, X: Any) -> Floats:
        """Return one column of numbers for each column of X."""
        table = as_table(X)
        values = np.empty(table.shape)
        for k in range(table.shape[1]):
            column = table.column(k)
            if isinstance(column, Levels):
                known = self.levels_.get(k, {})
                # The code of a missing value, -1, picks the last entry.
                codes = [*(known.get(level, np.nan) for level in column.levels), np.nan]
                values[:, k] = np.array(codes)[column.codes]
            else:
                values[:, k] = column
        return values


def boosted_trees(table: Table, family: Family | None, random_state: int, **size: int) -> Any:
    """Return the default learner, of classes or of means."""
    # The rows that it will see tell which of their columns are categorical.
    # Beyond 10,000 rows scikit-learn would set a tenth of them aside, chosen by the seed, to
    # know when to stop: scores would be of fewer rows, and vary more.
    options: dict[str, Any] = {
        "categorical_features": _categorical(table), "early_stopping": False,
        "random_state": random_state, **size,
    }  # fmt: skip
    if family is None:
        return make_pipeline(Categories(), HistGradientBoostingClassifier(**options))
    # The mean that minimizes the poisson deviance is right for every family with this link.
    loss = "poisson" if family.link == "log" else "squared_error"
    return make_pipeline(Categories(), HistGradientBoostingRegressor(loss=loss, **options))


def _categorical(table: Table) -> list[bool]:
    """Return which columns have levels."""
    return [isinstance(table.column(k), Levels) for k in range(table.shape[1])]


def trees_for(
    table: Table, targets: Floats, weight: Floats | None, fold: tuple[Integers, Integers], seed: int
) -> Any:
    """Return small boosted trees, or larger ones if these predict the targets of a fold better."""
    train, test = fold
    seen, new = native(table.take(train)), native(table.take(test))
    of_train, of_test = (None if weight is None else weight[rows] for rows in fold)

    def loss(learner: Any) -> float:
        total = 0.0
        for y in targets.T:
            fitted = fit_learner(learner, seen, y[train], of_train, {})
            missed = np.average((y[test] - fitted.predict(new)) ** 2, weights=of_test)
            total += float(missed) / max(float(np.var(y[test])), np.finfo(float).tiny)
        return total

    sizes: tuple[dict[str, int], ...] = (SMALL_TREES, {})
    return min((boosted_trees(table, Gaussian(), seed, **size) for size in sizes), key=loss)


def last_step(learner: Any) -> Any:
    """Return the last step of a pipeline, or another learner as it is."""
    return learner[-1] if isinstance(learner, Pipeline) else learner


def name_of(learner: Any) -> str:
    """Return what a learner is called in tables: the class of its last step."""
    return type(last_step(learner)).__name__


def fit_learner(
    learner: Any, X: Any, y: NDArray[Any], weight: Floats | None, metadata: Mapping[str, Any]
) -> Any:
    """Fit a copy of a learner, with weights if there are any, and with what it asked for."""
    # An error names the learner, its step that failed, and columns of text.
    try:
        model = clone(learner)
    except RuntimeError:  # CatBoost changes its parameters, which scikit-learn refuses
        model = deepcopy(learner)
    given = dict(metadata)
    if weight is not None and "sample_weight" not in given:
        if not has_fit_parameter(last_step(model), "sample_weight"):
            raise ValueError(
                f"Learner {name_of(learner)} takes no sample_weight. Exposure is passed to "
                "learners as a weight, so leave out both, or choose a learner that takes "
                "sample_weight."
            )
        prefix = f"{model.steps[-1][0]}__" if isinstance(model, Pipeline) else ""
        given[f"{prefix}sample_weight"] = weight
    try:
        return model.fit(X, y, **given)
    except Exception as error:  # learners raise errors of any kind
        reason = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".:")
        text = text_columns(as_table(X)) if "string" in str(error) else []
        hint = (
            f" Text is in {listed(text)}: put an encoder before a learner of numbers, as in "
            "make_pipeline(OneHotEncoder(), …)."
        )
        raise ValueError(
            f"learner {described(model)} cannot be fitted{where_failed(model, error)}: {reason}."
            f"{hint if text else ''}"
        ) from error


def where_failed(learner: Any, error: Exception) -> str:
    """Say in which step of a learner an error arose, in a fit or in what skl2onnx makes of it."""
    for frame, _ in walk_tb(error.__traceback__):
        known = frame.f_locals
        step = getattr(known.get("operator"), "raw_operator", known.get("self"))
        if isinstance(step, BaseEstimator) and not isinstance(step, Pipeline | ColumnTransformer):
            name = type(step).__name__
            return f", in its step {name}" if name != name_of(learner) else ""
    return ""


def described(learner: Any) -> str:
    """Return the classes of a learner's steps."""
    steps = [step for _, step in learner.steps] if isinstance(learner, Pipeline) else [learner]
    return " → ".join(type(step).__name__ for step in steps)


def text_columns(table: Table) -> list[str]:
    """Return names of columns that hold text, and have no type of categories."""
    if not isinstance(table.source, nw.DataFrame):
        return []
    types = table.source.schema.dtypes()
    return [table.label(k) for k, kind in enumerate(types) if kind in (nw.String, nw.Object)]


def with_categories(learner: Any, table: Table) -> Any:
    """Return trees that find categories by type with columns of text as categories."""
    trees = isinstance(learner, HistGradientBoostingClassifier | HistGradientBoostingRegressor)
    finds = trees and isinstance(learner.categorical_features, str)  # "from_dtype"
    if not finds or not text_columns(table):
        return learner
    encoded = clone(learner).set_params(categorical_features=_categorical(table))
    return make_pipeline(Categories(), encoded)


@dataclass(frozen=True)
class ClassScores:
    """Log-odds of every class against the first, of shape (n, K − 1)."""

    classes: NDArray[Any]

    def check(self, learner: Any) -> None:
        """Refuse what does not tell how likely classes are."""
        if not is_classifier(learner):
            raise TypeError(
                f"learner {name_of(learner)} is not a classifier; pass classifiers, or use "
                "FairStackingRegressor."
            )
        if not hasattr(learner, "predict_proba") and not hasattr(learner, "decision_function"):
            raise TypeError(
                f"learner {name_of(learner)} has neither predict_proba nor decision_function; "
                "wrap it in scikit-learn's CalibratedClassifierCV."
            )

    def places(self, learner: Any) -> Integers:
        """Return which classes a fitted learner knows: the rows of a fold may lack some."""
        # One that comes fitted may know labels, or their numbers 0, 1, …, as learners of another
        # stack do.
        known = np.asarray(learner.classes_)
        if np.array_equal(known, np.arange(len(self.classes))):
            return np.arange(len(self.classes))
        same = known[:, None] == self.classes
        if not same.any(axis=1).all():
            raise ValueError(
                f"learner {name_of(learner)} knows classes that y does not have; pass it fitted "
                "to the same labels."
            )
        return np.asarray(same.argmax(axis=1))

    def __call__(self, learner: Any, X: Any) -> Floats:
        """Return logits of clipped probabilities, or the decision function if there are none."""
        if not hasattr(learner, "predict_proba"):
            scores = np.asarray(learner.decision_function(X), dtype=np.float64)
            return scores[:, None] if scores.ndim == 1 else scores[:, 1:] - scores[:, :1]
        known = np.asarray(learner.predict_proba(X), dtype=np.float64)
        likely = np.zeros((len(known), len(self.classes)))
        likely[:, self.places(learner)] = known
        logs = np.log(np.clip(likely, PROBABILITY_MARGIN, 1.0 - PROBABILITY_MARGIN))
        return np.asarray(logs[:, 1:] - logs[:, :1])


@dataclass(frozen=True)
class MeanScores:
    """Predicted means on the scale of the linear predictor, of shape (n, 1)."""

    link: str
    least: float = PROBABILITY_MARGIN  # the least mean, for a link that takes logarithms

    def check(self, learner: Any) -> None:
        """Refuse learners of classes."""
        if is_classifier(learner):
            raise TypeError(
                f"learner {name_of(learner)} is a classifier; pass regressors, or use "
                "FairStackingClassifier."
            )

    def __call__(self, learner: Any, X: Any) -> Floats:
        """Return link(mean)."""
        mean = np.asarray(learner.predict(X), dtype=np.float64).reshape(-1, 1)
        if self.link == "log":
            return np.asarray(np.log(np.maximum(mean, self.least)))
        if self.link == "logit":
            mean = np.clip(mean, PROBABILITY_MARGIN, 1.0 - PROBABILITY_MARGIN)
            return np.asarray(np.log(mean / (1.0 - mean)))
        return mean


# How predictions of a fitted learner become predictors of the layer.
Scorer = ClassScores | MeanScores
