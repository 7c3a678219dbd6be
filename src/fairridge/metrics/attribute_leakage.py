"""How well predictors predict the sensitive attributes: the other direction of a proxy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairridge._typing import Floats, Integers
from fairridge.data import Levels
from fairridge.tables import Column, Table, Tabular

# The row of all predictors together.
ALL = "(all predictors)"
Values = Floats | Levels


@dataclass(frozen=True, repr=False)
class AttributeLeakage(Tabular):
    """How well each predictor predicts each sensitive attribute, on held-out rows."""

    predictors: tuple[str, ...]  # names, with "(all predictors)" as the last
    attributes: tuple[str, ...]  # names of the sensitive attributes
    # What is measured of each attribute: "AUC" of its levels, each against the others and weighted
    # by their rows; "R²" of a number.
    measures: tuple[str, ...]
    # AUC is 0.5 and R² 0 or less if the predictor is uninformative; 1 if it determines the
    # attribute. NaN if the attribute does not vary. Of shape (k+1, a).
    values: Floats
    _backend: Any = None

    @property
    def columns(self) -> dict[str, Floats]:
        """The values of each attribute, by what a table calls them."""
        names = zip(self.attributes, self.measures, strict=True)
        return {
            f"tells {name} ({measure})": self.values[:, k]
            for k, (name, measure) in enumerate(names)
        }

    def _tables(self) -> list[Table]:
        """Return one row per predictor, all of them together last."""
        columns = {name: Column(values, name, ".3f") for name, values in self.columns.items()}
        columns = {"predictor": Column(list(self.predictors), "predictor")} | columns
        note = "On held-out rows; an AUC of 0.5 and an R² of 0 are those of chance."
        return [Table("How well predictors predict S", columns, (), [note], self._backend)]


def attribute_leakage(
    predictors: Mapping[str, Values],
    attributes: Mapping[str, Values],
    *,
    weight: Floats | None = None,
    n_folds: int = 5,
    backend: Any = None,
) -> AttributeLeakage:
    """Predict every attribute from each predictor alone, and from all of them, across folds."""
    # Numbers enter linearly. A categorical enters by the mean of the attribute in each level,
    # shrunk towards the mean of all rows and found on other rows than those the model is fitted to
    # (scikit-learn's ``TargetEncoder``), so that 900 ZIP codes can be informative without repeating
    # each row's own attribute. A missing category is a level; a missing number of a predictor is
    # the mean of the others beside a 0/1 column, and rows without the number of an attribute do not
    # count for that attribute. There are fewer folds if a level of the attribute has fewer rows.
    groups = [[name] for name in predictors] + [list(predictors)]
    values = np.empty((len(groups), len(attributes)))
    for k, column in enumerate(attributes.values()):
        for j, names in enumerate(groups):
            values[j, k] = _held_out([predictors[name] for name in names], column, weight, n_folds)
    measures = ["AUC" if isinstance(c, Levels) else "R²" for c in attributes.values()]
    return AttributeLeakage((*predictors, ALL), tuple(attributes), tuple(measures), values, backend)


def _held_out(
    columns: Sequence[Values], target: Values, weight: Floats | None, n_folds: int
) -> float:
    """Return AUC or R² of predictions of an attribute, each from the other folds."""
    codes, Z = _written(columns)
    # Their mean is 1, so that the penalties of the models are those of rows without weights.
    weight = np.ones(len(Z)) if weight is None else weight / weight.mean()
    measured: Any = _area
    if isinstance(target, Levels):
        rows, y = _levels_of_several_rows(target)
    else:
        rows, measured = np.flatnonzero(~np.isnan(target)), _r_squared
        y = target[rows]
    varies = bool((y != y[:1]).any())
    return measured(codes, Z[rows], y, weight[rows], n_folds) if varies else float("nan")


def _written(columns: Sequence[Values]) -> tuple[list[bool], Floats]:
    """Return which columns of a matrix are codes, and the matrix, without missing numbers."""
    codes, found = [], []
    for column in columns:
        values = column.codes if isinstance(column, Levels) else column
        codes.append(isinstance(column, Levels))
        lost = np.isnan(values)
        if lost.any():
            mean = 0.0 if lost.all() else float(values[~lost].mean())
            found.append(np.where(lost, mean, values))
            codes.append(False)
            values = lost
        found.append(values)
    return codes, np.column_stack(found).astype(float)


def _area(codes: Sequence[bool], Z: Floats, y: Integers, weight: Floats, n_folds: int) -> float:
    # These modules take longer to import than all of this library.
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    folds = StratifiedKFold(min(n_folds, int(np.bincount(y).min())), shuffle=True, random_state=0)
    several = y.max() > 1
    kind = "multiclass" if several else "binary"
    model = _pipeline(codes, LogisticRegression(max_iter=1000), kind)
    given = {"logisticregression__sample_weight": weight}
    probabilities = cross_val_predict(model, Z, y, cv=folds, method="predict_proba", params=given)
    how: dict[str, Any] = {"multi_class": "ovr", "average": "weighted"} if several else {}
    shown = probabilities if several else probabilities[:, 1]
    return float(roc_auc_score(y, shown, sample_weight=weight, **how))


def _r_squared(codes: Sequence[bool], Z: Floats, y: Floats, weight: Floats, n_folds: int) -> float:
    from sklearn.linear_model import Ridge
    from sklearn.metrics import r2_score
    from sklearn.model_selection import KFold, cross_val_predict

    folds = KFold(min(n_folds, len(y)), shuffle=True, random_state=0)
    model = _pipeline(codes, Ridge(1.0), "continuous")
    predicted = cross_val_predict(model, Z, y, cv=folds, params={"ridge__sample_weight": weight})
    return float(r2_score(y, predicted, sample_weight=weight))


def _levels_of_several_rows(column: Levels) -> tuple[Integers, NDArray[Any]]:
    """Return the rows of levels that have at least two, and their levels from 0."""
    _, codes, counts = np.unique(column.codes, return_inverse=True, return_counts=True)
    rows = np.flatnonzero(counts[codes] > 1)
    return rows, np.unique(codes[rows], return_inverse=True)[1]


def _pipeline(codes: Sequence[bool], model: Any, target: str) -> Any:
    """Standardize numbers, encode categoricals by the target, and predict linearly."""
    from sklearn.compose import make_column_transformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler, TargetEncoder

    categorical = np.flatnonzero(codes)
    numeric = np.flatnonzero(~np.asarray(codes))
    encoder = TargetEncoder(target_type=target, **_shuffled_folds(target))
    return make_pipeline(
        make_column_transformer(
            (make_pipeline(encoder, StandardScaler()), categorical), (StandardScaler(), numeric)
        ),
        model,
    )


def _shuffled_folds(target: str) -> dict[str, Any]:
    """Make the folds of a TargetEncoder the same each time, in any version of scikit-learn."""
    import sklearn
    from sklearn.model_selection import KFold, StratifiedKFold
    from sklearn.utils.fixes import parse_version

    if parse_version(sklearn.__version__) < parse_version("1.9"):
        return {"cv": 3, "random_state": 0}
    kind = KFold if target == "continuous" else StratifiedKFold
    return {"cv": kind(3, shuffle=True, random_state=0)}
