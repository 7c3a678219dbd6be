"""All models that apply to one data set, in one table."""

from __future__ import annotations

import time
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from fairridge._progress import Progress
from fairridge._typing import ColumnNames, Floats, MissingValues, TableLike, VectorLike
from fairridge.arguments import check_bounds, check_option
from fairridge.data import (
    Levels,
    Table,
    as_table,
    index_of,
    make_frame,
    name_of,
    numeric_vector,
    warn_of_order,
)
from fairridge.data.groups import MAX_CATEGORIES
from fairridge.data.pipelines import bound_parameter
from fairridge.estimators._fair_ridge import LinearModel
from fairridge.estimators._model import traits_of
from fairridge.estimators._responses import SurvivalTimes
from fairridge.estimators._training import read_inputs
from fairridge.estimators.classifier import FairRidgeClassifier
from fairridge.estimators.regressor import FairRidgeRegressor
from fairridge.estimators.survival import FairRidgeSurvival
from fairridge.metrics.dependence_shares import WORDS
from fairridge.metrics.favorable import Favorable, wanted_outcome
from fairridge.metrics.groups import SensitiveColumns, groupings, numbers_beyond
from fairridge.metrics.measure import dependence, dependence_of
from fairridge.metrics.scored_rows import ScoredRows
from fairridge.peers.barycenter.classifier import BarycenterClassifier
from fairridge.peers.barycenter.regressor import BarycenterRegressor
from fairridge.peers.convex.estimators import ConvexFairClassifier, ConvexFairRegressor
from fairridge.peers.komiyama.estimator import KomiyamaRegressor
from fairridge.peers.reductions.estimator import ReductionsClassifier
from fairridge.peers.steinberg.estimator import SteinbergRegressor
from fairridge.peers.zafar.estimators import ZafarClassifier, ZafarRegressor
from fairridge.search.setup import resolve_regression_family
from fairridge.validation.comparison_result import SCORES, Comparison
from fairridge.validation.cross_validation import FoldedRows, fold_records
from fairridge.validation.evaluate import RATES, Decisions, accuracy, mean_and_error
from fairridge.validation.folds import check_models
from fairridge.validation.one_fold import uses_sensitive
from fairridge.validation.scored_model import PassedRows, ScoredModel, read_rows, scored_model

# Statuses of models that meet their bound.
MET = ("converged", "jumped", "inactive", "no bound")


def compare(
    X: TableLike,
    y: Any,
    *,
    sensitive: ColumnNames | None = None,
    sensitive_features: TableLike | None = None,
    unfairness: Sequence[float] | float | VectorLike = 0.05,
    models: Sequence[Any] | Mapping[str, Any] | None = None,
    task: str | None = None,
    favorable: Any = None,
    response: str | None = None,
    sample_weight: VectorLike | None = None,
    offset: VectorLike | None = None,
    exposure: VectorLike | None = None,
    threshold: float | None = None,
    cv: int | Any = 5,
    folds: Any = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
    progress: bool = False,
    missing: MissingValues = "error",
) -> Comparison:
    """Fit every model that applies to the data, and measure all of them in the same way.

    Parameters
    ----------
    X, y, sensitive_features
        As in `fit`.
    sensitive : str, int or list of these, optional
        Columns of X that are sensitive, as in the constructors.
    unfairness : float or array-like, default=0.05
        The bounds on unfairness, whose meaning depends on the model; the table measures
        all models alike.
    models : list of str and estimators, or dict of str to estimator, optional
        Models by name, by default all: "FRRM", "NCLM", "ZLM", "Steinberg",
        "barycenter" and "convex" for regression; "FGRRM", "ZLRM",
        "reductions" (fairlearn's), "barycenter" and "convex" for
        classification. The unconstrained model is
        always there. Estimators may be any classifiers or regressors of
        scikit-learn's kind, also a `Pipeline`; one without a parameter
        `unfairness` is fitted once. Of times and events these are Cox models, `FairRidgeSurvival`
        ("FGRRM") by default.
    task : {"regression", "classification", "survival"}, optional
        Survival by default if y has times and events, and classification if it is not numeric
        or has two values.
    favorable : label, "low" or "high", optional
        The outcome that people want, as in `fairridge.audit`; by default
        guessed from names. `Comparison.favorable` says what was taken.
    response : str, optional
        Name of the response, if y has none.
    sample_weight : array-like of shape (n,), optional
        Weights, for fits and measures alike, as in `cross_validate`; models whose `fit` takes
        none are left out.
    offset : array-like of shape (n,), optional
        Added to linear predictors, as in `fit`; models without one are left out.
    exposure : array-like of shape (n,), optional
        As in `fit`, for models with the log link, which have to be passed; it counts on
        held-out rows, too. Errors are those of counts, and dependence on S and
        decisions those of rates, weighted by exposure.
    threshold : float, optional
        What predicted numbers are compared with to decide. See `cross_validate`.
    cv : int or splitter of scikit-learn, default=5
        Folds. See `cross_validate`.
    folds, random_state, n_jobs
        As in `cross_validate`.
    progress : bool, default=False
        Whether to show a progress bar (needs tqdm).
    missing : {"error", "level"}, default="error"
        How to handle missing values of S and X, as in the constructors, for the
        unconstrained model and those that are known by name. People whose
        attribute is missing are a group of their own.

    Returns
    -------
    Comparison
        One record per model and bound.

    See Also
    --------
    fairridge.cross_validate : One kind of model, in more detail.
    fairridge.validation.Comparison : What it returns.

    Notes
    -----
    A model that refuses the data (more than two classes, a missing library) is
    left out, and `skipped` says why. Models that need groups get the quarters of
    numeric attributes, and `notes` says so; they are measured on the attributes
    as they are, like the others. A model uses S at prediction if its predictions change once the
    attributes of rows are exchanged. What models warn of is kept in `warnings`.
    Every bound has the result that it has if nothing else is asked for.

    References
    ----------
    .. [1] docs/peers.md.

    Examples
    --------
    >>> from fairridge import FairRidgeClassifier
    >>> from fairridge.datasets import load_german_credit
    >>> credit = load_german_credit()
    >>> X, y = credit.X[["Age", "Gender", "Duration"]], credit.y
    >>> from fairridge import compare
    >>> found = compare(X, y, sensitive="Gender", models=["FGRRM"], unfairness=0.01, cv=2)
    >>> print(found.to_frame()["model"].tolist())
    ['unconstrained', 'fair ridge (FGRRM)']
    """
    rows = PassedRows(X, y, sensitive_features, sample_weight, offset, exposure)
    warn_of_order(**vars(rows))
    backend = as_table(X).backend
    task = _task(y) if task is None else task
    check_option("task", task, tuple(KNOWN))
    options: dict[str, Any] = {"sensitive": sensitive, "missing": missing}
    chosen = chosen_models(models, task, options)
    free = _unconstrained(task, chosen, exposure, options)
    wanted = _favorable(favorable, y, response or name_of(y), task)
    rows, bounds = replace(rows, y=_response(rows, task)), check_bounds(unfairness)
    division = {"cv": cv, "repeats": 1, "folds": folds, "random_state": random_state}
    folded = FoldedRows.of(rows, {"": free}, **division)
    on = SensitiveColumns.of(folded.rows.X, folded.rows.sensitive_features, sensitive)
    folded = replace(folded, favorable=wanted, threshold=threshold, on=on)
    with Progress((1 + len(chosen)) * len(folded.places), progress) as bar:
        found = _Case.of(folded, free).compared({REFERENCE: free, **chosen}, bounds, n_jobs, bar)
    return Comparison(favorable=wanted, _backend=backend, **found)


@dataclass(frozen=True)
class _Case:
    """What every model is fitted to and measured by: all rows, and the same in folds."""

    folded: FoldedRows
    free: float = 0.0  # individual unfairness of the unconstrained model

    @classmethod
    def of(cls, folded: FoldedRows, free: LinearModel) -> _Case:
        """Measure the model without a bound first, which others are relative to."""
        case = cls(folded)
        rows = case.scored(_fitted(free, folded.rows, 1.0)[0])
        return replace(case, free=dependence(rows, case.decisions.groups)["individual"])

    def scored(self, fitted: ScoredModel) -> ScoredRows:
        """Return all rows with the scores of a fitted model."""
        return read_rows(fitted, fitted.inner_rows(self.folded.rows), self.folded.on)[1]

    @cached_property
    def decisions(self) -> Decisions:
        """How decisions are compared."""
        return self.folded.decisions(None, self.folded.rows.exposure)

    def compared(
        self, models: Mapping[str, Any], bounds: Floats, n_jobs: int | None, bar: Progress
    ) -> dict[str, Any]:
        """Judge the models that apply, those that need groups on groups; see `Comparison`."""
        folded, records, flips = self.folded, [], []
        assert folded.on is not None
        by_group, cut = grouped(folded.rows, folded.on)
        skipped: dict[str, str] = {}
        warned: dict[str, tuple[str, ...]] = {}
        for done, (name, model) in enumerate(models.items(), start=1):
            here = self
            if cut and needs_groups(model):
                model = clone(model).set_params(sensitive=None)
                here = replace(self, folded=replace(folded, rows=by_group, grouped=True))
            try:
                new, texts, changed = here.records(name, model, bounds, n_jobs, bar)
            except (ImportError, TypeError, ValueError) as reason:
                skipped[name] = str(reason)
            else:
                records += new
                flips += changed
                warned |= {name: texts} if texts else {}
            bar.reach(done * len(folded.places))
        given = [name for name, model in models.items() if needs_groups(model)]
        return {
            "records": tuple(records),
            "skipped": skipped,
            "notes": _notes(cut, [name for name in given if name not in skipped]),
            "warnings": warned,
            "sign_flips": tuple(flips),
        }

    def records(
        self, name: str, model: Any, bounds: Floats, n_jobs: int | None, bar: Progress
    ) -> tuple[list[dict[str, Any]], tuple[str, ...], list[Any]]:
        """Return one record per bound, what the model warned of, and signs that bounds changed."""
        if name == REFERENCE or not bound_parameter(model):  # they are fitted once
            bounds = np.full(1, 1.0 if name == REFERENCE else np.nan)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            fits = [_fitted(model, self.folded.rows, float(r)) for r in bounds]
            scores, _ = fold_records(name, model, self.folded, bounds, n_jobs, bar)
        texts = [str(warning.message) for warning in caught]
        records = []
        for k, (r, (fitted, seconds)) in enumerate(zip(bounds, fits, strict=True)):
            validated = scores[k :: len(bounds)]  # a fold has one bound after the other
            texts += _unmet(float(r), validated)
            measured = self._of(fitted, validated) | {"seconds": seconds}
            records.append({"model": name, "unfairness": float(r)} | measured)
        flips = [
            (name, float(r), fitted.given.sign_flips_)
            for r, (fitted, _) in zip(bounds, fits, strict=True)
            if getattr(fitted.given, "sign_flips_", {})
        ]
        return records, tuple(dict.fromkeys(texts)), flips

    def _of(self, model: ScoredModel, validated: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """Return the measures of one model at one bound."""
        rows = self.scored(model)
        in_training = dependence_of(rows, adjusted=False) | accuracy(rows)
        decided = self.decisions.decided_in(rows.response[:, 0], rows.weight, rows.exposure)
        in_training |= decided.of(rows)
        for values in (in_training, *validated):
            if "accuracy" in values:
                values["log_loss"] = values["loss"] / 2.0
        names, nan = [*SCORES, *WORDS, *RATES], float("nan")
        places = () if self.folded.on is None else self.folded.on.places
        held_out = np.array([[fold.get(name, nan) for name in names] for fold in validated])
        record: dict[str, Any] = {
            "uses_sensitive": uses_sensitive(model.given, self.folded.rows, places),
            "status": model.status,
        }
        for name, mean, error in zip(names, *mean_and_error(held_out), strict=True):
            train = in_training.get(name, nan)
            if mean == mean or train == train or name in WORDS:
                record[name] = float(mean)
                record[f"{name}_error"] = float(error) if mean == mean else nan
                record[f"train_{name}"] = train
        found = dependence(rows, self.decisions.groups)
        relative = found["individual"] / self.free if self.free > 0.0 else 0.0
        return record | found | {"individual": relative}


def _unmet(r: float, validated: Sequence[dict[str, Any]]) -> list[str]:
    """Say in how many folds a bound is not met, which their own warnings are about."""
    counts = Counter(fold["status"] for fold in validated if fold["status"] not in MET)
    return [
        f"unfairness={r:g} is {status} in {count} of {len(validated)} folds"
        for status, count in counts.items()
    ]


def _notes(cut: dict[str, tuple[str, ...]], models: Iterable[str]) -> tuple[str, ...]:
    """Say which models saw quarters of numeric attributes."""
    names = ", ".join(models)
    if not names:
        return ()
    return tuple(
        f"{attribute} is numeric, and these models need groups: {names}. They get its quarters "
        f"{', '.join(labels)}; all models are measured on {attribute} itself."
        for attribute, labels in cut.items()
    )


def _task(y: Any) -> str:
    named = getattr(getattr(y, "dtype", None), "names", None)  # of a structured array
    if named or (np.ndim(y) == 2 and np.shape(y)[1] == 2):
        return "survival"
    values = np.asarray(y)
    if values.dtype.kind in "iuf" and len(np.unique(values)) > 2:
        return "regression"
    return "classification"


def _response(rows: PassedRows, task: str) -> Any:
    """Return numbers, times and events, or classes as they came."""
    if task == "regression":
        return numeric_vector(rows.y, len(rows.y), "y")
    if task == "survival":
        inputs = read_inputs(rows.X, rows.sensitive_features, None, None)
        return SurvivalTimes.times_and_events(rows.y, inputs)
    return rows.y


def _unconstrained(
    task: str, models: Mapping[str, Any], exposure: Any, options: dict[str, Any]
) -> LinearModel:
    """Return the model without a bound."""
    # It has the family of the first model that has one; one with the log link for an exposure.
    if task == "survival":
        return FairRidgeSurvival(1.0, **options)
    if task == "classification":
        return FairRidgeClassifier(1.0, **options)
    linear = [model for model in map(scored_model, models.values()) if model.kind == "linear"]
    parameters = [model.last.get_params(deep=False) for model in linear]
    families = [known["family"] for known in parameters if "family" in known]
    if exposure is not None:
        families = [each for each in families if resolve_regression_family(each).link == "log"]
        if not families:
            raise ValueError(
                "exposure is for models with the log link, and none is compared; pass them as "
                "models={'poisson': FairRidgeRegressor(family='poisson', "
                "definition='mean-parity')}."
            )
    return FairRidgeRegressor(1.0, family=next(iter(families), "gaussian"), **options)


def _fitted(model: Any, rows: PassedRows, r: float) -> tuple[ScoredModel, float]:
    """Fit for one bound, and say how long it took."""
    start = time.perf_counter()
    fitted = scored_model(model).fitted(rows, r)
    return fitted, time.perf_counter() - start


def _favorable(favorable: Any, y: Any, response: str, task: str) -> Favorable | None:
    """Return the outcome that people want; None of times, and if no class of several was named."""
    if task == "survival":
        return None
    classes = [] if task == "regression" else np.unique(np.asarray(y)).tolist()
    several = len(classes) > 2
    default = classes[-1] if classes and not several else None
    _, wanted = wanted_outcome(favorable, response, classes, default=default)
    if wanted is None and favorable is not None:
        raise ValueError(
            f"favorable={favorable!r} is not one of the {len(classes)} classes "
            f"{', '.join(map(repr, classes))}; name one of them."
        )
    return wanted


# ------------------------------------------------------------------------ models by name


REFERENCE = "unconstrained"
KNOWN: dict[str, dict[str, Any]] = {
    "regression": {
        "FRRM": FairRidgeRegressor,
        "NCLM": KomiyamaRegressor,
        "ZLM": ZafarRegressor,
        "Steinberg": SteinbergRegressor,
        "barycenter": BarycenterRegressor,
        "convex": ConvexFairRegressor,
    },
    "classification": {
        "FGRRM": FairRidgeClassifier,
        "ZLRM": ZafarClassifier,
        "reductions": ReductionsClassifier,
        "barycenter": BarycenterClassifier,
        "convex": ConvexFairClassifier,
    },
    "survival": {"FGRRM": FairRidgeSurvival},
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
    rows: PassedRows, known: SensitiveColumns
) -> tuple[PassedRows, dict[str, tuple[str, ...]]]:
    """Cut numeric attributes into quarters, for models that need groups."""
    # The models see the quarters, which are returned, too, by attribute. What they predict is
    # measured on S as it is.
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
        others = [k for k in range(as_table(X).shape[1]) if k not in known.places]
        X = _safe_indexing(X, others, axis=1)
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
