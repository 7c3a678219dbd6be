"""Which models a comparison fits, what they are called, and on which form of S."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from fairridge.data import Levels, Table, as_table, index_of, learn_design, make_frame
from fairridge.data.groups import MAX_CATEGORIES
from fairridge.estimators._model import traits_of
from fairridge.estimators.classifier import FairRidgeClassifier
from fairridge.estimators.regressor import FairRidgeRegressor
from fairridge.estimators.survival import FairRidgeSurvival
from fairridge.metrics.groups import SensitiveColumns, groupings, numbers_beyond
from fairridge.peers.barycenter.classifier import BarycenterClassifier
from fairridge.peers.barycenter.regressor import BarycenterRegressor
from fairridge.peers.convex.estimators import ConvexFairClassifier, ConvexFairRegressor
from fairridge.peers.komiyama.estimator import KomiyamaRegressor
from fairridge.peers.reductions.estimator import ReductionsClassifier
from fairridge.peers.steinberg.estimator import SteinbergRegressor
from fairridge.peers.zafar.estimators import ZafarClassifier, ZafarRegressor
from fairridge.validation.folds import check_models
from fairridge.validation.scored_model import PassedRows

REFERENCE = "unconstrained"
REGRESSORS = {
    "FRRM": FairRidgeRegressor,
    "NCLM": KomiyamaRegressor,
    "ZLM": ZafarRegressor,
    "Steinberg": SteinbergRegressor,
    "barycenter": BarycenterRegressor,
    "convex": ConvexFairRegressor,
}
CLASSIFIERS = {
    "FGRRM": FairRidgeClassifier,
    "ZLRM": ZafarClassifier,
    "reductions": ReductionsClassifier,
    "barycenter": BarycenterClassifier,
    "convex": ConvexFairClassifier,
}
SURVIVAL = {"FGRRM": FairRidgeSurvival}
KNOWN: dict[str, dict[str, Any]] = {
    "regression": REGRESSORS,
    "classification": CLASSIFIERS,
    "survival": SURVIVAL,
}
NAMES = {
    "FRRM": "fair ridge (FRRM)",
    "FGRRM": "fair ridge (FGRRM)",
    "NCLM": "Komiyama et al. (NCLM)",
    "ZLM": "Zafar et al. (ZLM)",
    "ZLRM": "Zafar et al. (ZLRM)",
    "Steinberg": "Steinberg et al.",
    "barycenter": "Wasserstein barycenter",
    "convex": "convex (Berk et al.)",
    "reductions": "reductions (fairlearn)",
}


def in_words(name: str) -> str:
    """Return what a model of this library is called in tables."""
    return NAMES.get(name, name)


def chosen_models(models: Any, task: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the models asked for by the names that tables show, or all that there are."""
    # `task` says which models names are looked up among, and `options` are the parameters of those,
    # such as sensitive columns.
    known = dict(KNOWN[task])
    if models is None or isinstance(models, str):
        models = known if models is None else [models]
    elif isinstance(models, Mapping):
        if REFERENCE in models:
            raise ValueError(f"{REFERENCE!r} is the name of the reference; choose another name.")
        check_models(models, bounded=False)
        return dict(models)
    elif hasattr(models, "get_params") or not isinstance(models, Iterable):
        raise TypeError(
            "models must be a dict name → estimator, or a list of names and estimators, not a "
            f"{type(models).__name__}; pass models={{name: model}}."
        )
    chosen: dict[str, Any] = {}
    for model in models:
        by_name = isinstance(model, str)
        name = in_words(_known_name(model, known)) if by_name else type(model).__name__
        if name in chosen:
            raise ValueError(f"models has {name} twice; name them in a dict name → estimator.")
        chosen[name] = known[_known_name(model, known)](**options) if by_name else model
    check_models(chosen, bounded=False)
    return chosen


def _known_name(name: str, known: Mapping[str, Any]) -> str:
    """Find the model that a name means, as it is written in tables or short."""
    for short in known:
        if name.lower() in (short.lower(), in_words(short).lower()):
            return short
    raise ValueError(f"models={name!r} is not known; use names among {', '.join(known)}.")


def needs_groups(model: Any) -> bool:
    """Whether a model of this library can only be fitted to groups."""
    return traits_of(model).needs_groups


def grouped(
    rows: PassedRows, known: SensitiveColumns, sensitive: Any
) -> tuple[PassedRows, dict[str, tuple[str, ...]]]:
    """Cut numeric attributes into quarters, for models that need groups."""
    # The models see the quarters. What they predict is measured on S as it is. `sensitive` names
    # the columns of X that are sensitive, if S is there.
    # The quarters are returned, too, by attribute.
    table = known.attributes
    columns = [table.column(k) for k in range(table.shape[1])]
    many = numbers_beyond(table, MAX_CATEGORIES)
    if not any(many):
        return rows, {}
    weight = np.ones(table.shape[0]) if rows.sample_weight is None else rows.sample_weight
    partitions = groupings(table, weight)
    cut = {
        partition.attribute: partition.labels
        for numeric, partition in zip(many, partitions, strict=True)
        if numeric
    }
    X = rows.X
    if rows.sensitive_features is None:
        design = learn_design(as_table(X), None, sensitive, missing="level")  # for positions only
        X = _safe_indexing(X, list(design.positions_predictors), axis=1)
    values = [
        column.astype(str).astype(object)
        if not isinstance(column, Levels) and not numeric
        else np.array(partition.labels, dtype=object)[partition.codes]
        for column, numeric, partition in zip(columns, many, partitions, strict=True)
    ]
    return replace(rows, X=X, sensitive_features=_like(table, values)), cut


def _like(table: Table, columns: Sequence[NDArray[Any]]) -> Any:
    """Return columns in a frame of the same library and with the same names, or in an array."""
    if table.backend is None:
        return np.column_stack(columns)
    names = table.labels
    return make_frame(dict(zip(names, columns, strict=True)), table.backend, index_of(table))
