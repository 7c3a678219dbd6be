"""Which models are validated, and on which divisions of the rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.utils import _safe_indexing, check_random_state

from fairridge._typing import Integers
from fairridge.arguments import check_count
from fairridge.data.pipelines import bound_parameter

Fold = tuple[Integers, Integers]

HOW = "pass pairs (train, test) of row positions or Boolean masks, or one list of pairs per repeat"


def check_models(models: Mapping[str, Any], *, bounded: bool = True) -> None:
    """Raise, naming the model, unless all are estimators, and have a bound if they must."""
    for name, model in models.items():
        if isinstance(model, type):
            raise TypeError(
                f"model {name!r} is the class {model.__name__}; pass an estimator, "
                f"{model.__name__}(…)."
            )
        if not hasattr(model, "get_params") or not hasattr(model, "fit"):
            raise TypeError(
                f"model {name!r} is a {type(model).__name__}, and no estimator with fit and "
                "predict."
            )
        if bounded and bound_parameter(model) is None:
            raise TypeError(
                f"model {name!r} is a {type(model).__name__}, which has no parameter unfairness."
            )


def make_folds(
    folds: Any,
    cv: Any,
    repeats: Any,
    random_state: Any,
    models: Mapping[str, Any],
    n: int,
    y: Any,
    kept: Any = None,
) -> list[list[Fold]]:
    """Return lists of (train, test) positions among n rows, one list per repeat."""
    # The arguments are those of `cross_validate`; folds are stratified if all models are
    # classifiers. Rows that are not `kept`, since they have no weight, are absent, and the
    # positions are those among the rows kept.
    if folds is None and isinstance(cv, Iterable) and not isinstance(cv, str):
        folds = [list(cv)]  # splits as scikit-learn takes them
    if folds is not None:
        lists = _given_folds(folds, n)
        return lists if kept is None else [_among(kept, n, each) for each in lists]
    if kept is not None:
        n, y = len(kept), None if y is None else _safe_indexing(y, kept)
    repeats, rows = check_count("repeats", repeats), np.zeros((n, 1))
    if hasattr(cv, "split") and not isinstance(cv, str):
        return [_checked(list(cv.split(rows, y)), n) for _ in range(repeats)]
    if not isinstance(cv, int | np.integer) or isinstance(cv, bool) or not 2 <= cv <= n:
        raise ValueError(
            f"cv={_shortened(cv)} must be a number of folds from 2 to the number of rows, {n}, an "
            "object with split(), or a list of pairs (train, test)."
        )
    # Without a response the models say what they miss.
    stratified = y is not None and all(is_classifier(model) for model in models.values())
    splitter = StratifiedKFold if stratified else KFold
    seeds = check_random_state(random_state).randint(np.iinfo(np.int32).max, size=repeats)
    drawn = [splitter(int(cv), shuffle=True, random_state=int(seed)) for seed in seeds]
    return [list(each.split(rows, y if stratified else None)) for each in drawn]


def _given_folds(folds: Any, n: int) -> list[list[Fold]]:
    try:
        lists = [each if hasattr(each, "__len__") else list(each) for each in folds]
        first = lists[0] if lists else ()
        # A pair (train, test), and no list of pairs.
        pair = len(first) == 2 and all(len(rows) == 0 or np.ndim(rows[0]) == 0 for rows in first)
    except TypeError as error:
        raise ValueError(f"folds={_shortened(folds)}: {HOW}.") from error
    if not lists:
        raise ValueError(f"folds is empty; {HOW}.")
    return [_checked(list(each), n) for each in ([lists] if pair else lists)]


def _among(kept: Integers, n: int, folds: list[Fold]) -> list[Fold]:
    """Return the positions of folds of n rows among the rows kept."""
    places = np.full(n, -1)
    places[kept] = np.arange(len(kept))
    pairs = []
    for number, fold in enumerate(folds):
        train, test = (places[part][places[part] >= 0] for part in fold)
        if not len(train) or not len(test):
            raise ValueError(
                f"fold {number} has no training or no validation rows with a positive weight; "
                "leave it out, or choose other folds."
            )
        pairs.append((train, test))
    return pairs


def _checked(pairs: Sequence[Any], n: int) -> list[Fold]:
    """Return pairs of positions of n rows."""
    folds = []
    for number, pair in enumerate(pairs):
        if not hasattr(pair, "__len__") or isinstance(pair, str) or len(pair) != 2:
            raise ValueError(f"fold {number} is {_shortened(pair)}: {HOW}.")
        train = _positions(pair[0], f"the training rows of fold {number}", n)
        test = _positions(pair[1], f"the validation rows of fold {number}", n)
        folds.append((train, test))
    return folds


def _positions(rows: Any, what: str, n: int) -> Integers:
    """Return positions among n rows, which may come as a mask."""
    array = np.asarray(rows)
    if array.ndim == 1 and array.dtype.kind == "b":
        if len(array) != n:
            raise ValueError(f"{what} are a mask of length {len(array)}, but X has {n} rows.")
        array = np.flatnonzero(array)
    if not array.size:
        raise ValueError(f"{what} are none at all; leave the fold out, or choose other folds.")
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise ValueError(f"{what} are {_shortened(rows)}: {HOW}.")
    outside = array[(array < 0) | (array >= n)]
    if outside.size:
        raise ValueError(
            f"{what} contain position {outside[0]}, but X has {n} rows: positions go from 0 to "
            f"{n - 1}."
        )
    return array.astype(np.intp)


def _shortened(value: Any, maximum: int = 60) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= maximum else f"{text[:maximum]}…"
