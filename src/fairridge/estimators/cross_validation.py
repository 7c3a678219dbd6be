"""Cross-validation of fair models over many bounds, with the same folds for all.

For gaussian models under statistical parity or equality of opportunity a fold
costs no pass over its rows: moments of the folds are computed once, and those
of a training set are the total less the fold. Everything on the validation
rows, errors and fairness, is a quadratic form in the fold's own moments. Where
the subtraction would lose digits (ill-conditioned training sets) the rows are
read again. All other models go the general way, and generalized linear models
start from the fit to all rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.base import is_classifier

from fairridge.data import as_table, make_frame
from fairridge.engines import one_blas_thread
from fairridge.estimators._any_folds import AnyData, any_fold
from fairridge.estimators._bounded import BoundedModel
from fairridge.estimators._divisions import Fold, check_models, make_folds
from fairridge.estimators._folds import FoldScores, general_fold, moment_folds, uses_moments
from fairridge.estimators._parameters import check_bounds
from fairridge.estimators._progress import Progress
from fairridge.estimators._streamed_folds import cross_validate_rows
from fairridge.estimators._training import Training
from fairridge.exceptions import BoundWarning, DataWarning
from fairridge.reports import ValidationCurve, plot_validation
from fairridge.rows import RowMoments, RowSource

__all__ = ["CrossValidation", "cross_validate", "fold_records"]

Floats = NDArray[np.float64]
PAPER_BOUNDS = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)


@dataclass(frozen=True)
class CrossValidation:
    """What cross-validation measured: one record per model, bound, repeat and fold.

    Attributes
    ----------
    records : tuple of dict
        The measurements.
    loss_name : dict of str to str
        What `loss` is, by model.
    """

    records: tuple[dict[str, Any], ...]
    loss_name: dict[str, str]
    _backend: Any = None

    def to_frame(self) -> Any:
        """Return one row per model, bound, repeat and fold.

        Columns: model, unfairness, repeat, fold, n, train_loss, loss,
        train_unfairness, achieved_unfairness, variance_share, status and the
        further scores. A score that a model does not have is missing.
        """
        names = list(dict.fromkeys(name for record in self.records for name in record))
        return make_frame(
            {name: [record.get(name, np.nan) for record in self.records] for name in names},
            self._backend,
        )

    def curves(self, measure: str = "loss") -> list[ValidationCurve]:
        """Return mean and standard error of a measure over all folds, by model and bound.

        Models and folds that do not have the measure are left out.
        """
        having = [
            r
            for r in self.records
            if isinstance(r.get(measure), float) and not np.isnan(r[measure])
        ]
        if not having:
            known = {name for r in self.records for name in r if isinstance(r[name], float)}
            raise ValueError(
                f"measure={measure!r} is not known; use one of {', '.join(sorted(known))}."
            )
        curves = []
        for model in dict.fromkeys(record["model"] for record in having):
            records = [record for record in having if record["model"] == model]
            bounds = sorted({record["unfairness"] for record in records})
            values = [
                np.array([record[measure] for record in records if record["unfairness"] == r])
                for r in bounds
            ]
            mean = np.array([v.mean() for v in values])
            spread = [v.std(ddof=1) / np.sqrt(len(v)) if len(v) > 1 else 0.0 for v in values]
            name = self.loss_name[model] if measure in ("loss", "train_loss") else measure
            curves.append(ValidationCurve(model, name, np.array(bounds), mean, np.array(spread)))
        return curves

    def plot(self, measure: str = "loss", ax: Any = None) -> Any:
        """Draw a measure over r, one line per model with 95 % confidence intervals.

        Parameters
        ----------
        measure : str
            A column of `to_frame()`.
        ax : matplotlib Axes, optional
            Where to draw; by default on a new figure.
        """
        return plot_validation(self.curves(measure), ax)


def cross_validate(
    models: Any,
    X: Any,
    y: Any = None,
    *,
    sensitive_features: Any = None,
    unfairness: Any = PAPER_BOUNDS,
    cv: Any = 10,
    repeats: int = 1,
    folds: Any = None,
    n_jobs: int | None = None,
    random_state: Any = None,
    progress: bool = False,
) -> CrossValidation:
    """Cross-validate fair models for several bounds, on the same folds.

    Parameters
    ----------
    models : estimator or dict of str to estimator
        Models of this library, or any with a parameter `unfairness`; their
        own value of it is not used.
    X, y, sensitive_features
        As in `fit`. Categorical levels come from all rows. For gaussian models
        X may be rows of `fairridge.rows`, which are divided at random (cv=k).
    unfairness : array-like
        The bounds r; the paper's by default.
    cv : int or scikit-learn splitter, default=10
        Number of folds, or an object with `split` such as `ShuffleSplit` for
        hold-out. Folds are stratified where all models are classifiers.
    repeats : int, default=1
        How often to draw new folds.
    folds : list of (train, test), or list of such lists, optional
        Row positions or Boolean masks, used instead of `cv`; one list per repeat.
    n_jobs : int, optional
        Processes for models that go the general way.
    random_state : int, RandomState or None
        Seed of the folds.
    progress : bool, default=False
        Whether to show a progress bar (needs tqdm).
    """
    named = models if isinstance(models, Mapping) else {type(models).__name__: models}
    if not named:
        raise ValueError("models is empty; pass an estimator or a dict name → estimator.")
    check_models(named)
    bounds = check_bounds(
        unfairness, most=min(getattr(model, "_most_unfair", 1.0) for model in named.values())
    )
    if isinstance(X, RowSource | RowMoments):
        found = cross_validate_rows(
            named,
            X,
            bounds,
            cv=cv,
            repeats=repeats,
            random_state=random_state,
            y=y,
            sensitive_features=sensitive_features,
            folds=folds,
        )
        return CrossValidation(tuple(found), dict.fromkeys(named, "RMSE"))
    repeated = make_folds(folds, cv, repeats, random_state, named, X, y)
    records: list[dict[str, Any]] = []
    loss_name: dict[str, str] = {}
    backend = None
    with Progress(len(named) * sum(map(len, repeated)), progress) as bar:
        for name, model in named.items():
            scores, loss_name[name], backend = fold_records(
                name, model, X, y, sensitive_features, bounds, repeated, n_jobs, bar
            )
            records += scores
    return CrossValidation(tuple(records), loss_name, backend)


def fold_records(
    name: str,
    model: Any,
    X: Any,
    y: Any,
    sensitive_features: Any,
    bounds: Floats,
    repeated: list[list[Fold]],
    n_jobs: int | None,
    bar: Progress,
) -> tuple[list[dict[str, Any]], str, Any]:
    """Return one record per fold and bound of one model, what its loss is, and the frame library.

    All bounds of a fold are found at once, where the model can do that.
    """
    flat = [(r, f, fold) for r, folds in enumerate(repeated) for f, fold in enumerate(folds)]
    with warnings.catch_warnings(), one_blas_thread():  # folds are many, their matrices small
        # A level that a training set lacks is no defect of the data; the status says the rest.
        warnings.simplefilter("ignore", DataWarning)
        warnings.simplefilter("ignore", BoundWarning)
        jobs = Parallel(n_jobs=n_jobs, return_as="generator")
        if isinstance(model, BoundedModel):
            training = model._read(X, y, sensitive_features, None, None)
            gaussian, backend = training.response.family.least_squares, training.backend
            found = _of_bounded(model, training, repeated, bounds, jobs)
        else:
            data = AnyData.of(X, y, sensitive_features, getattr(model, "sensitive", None))
            gaussian, backend = not is_classifier(model), as_table(X).backend
            found = jobs(delayed(any_fold)(model, data, fold, bounds) for _, _, fold in flat)
        records = []
        for (repeat, number, _), scores in zip(flat, found, strict=True):
            records += [
                {"model": name, "unfairness": score.unfairness, "repeat": repeat, "fold": number}
                | score.measures
                for score in scores
            ]
            bar.step()
    return records, "RMSE" if gaussian else "mean deviance", backend


def _of_bounded(
    model: BoundedModel,
    training: Training,
    repeated: list[list[Fold]],
    bounds: Floats,
    jobs: Parallel,
) -> Iterable[list[FoldScores]]:
    if uses_moments(model, training):
        return moment_folds(model, training, repeated, bounds)
    # Features that are fitted to each training set have no coefficients in common.
    seed = model._problem(training).seed() if training.unmapped is None else None
    found: Iterable[list[FoldScores]] = jobs(
        delayed(general_fold)(model, training, fold, bounds, seed)
        for folds in repeated
        for fold in folds
    )
    return found
