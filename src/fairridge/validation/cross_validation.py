"""Cross-validation of fair models over many bounds, with the same folds for all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import is_classifier

from fairridge._progress import Progress
from fairridge._typing import Floats, TableLike, VectorLike
from fairridge.arguments import check_bounds
from fairridge.data import as_table, columns_of, exposure_of, make_frame, warn_of_order, weights
from fairridge.engines import in_memory
from fairridge.estimators._choosing import quiet_fits
from fairridge.estimators._model import traits_of
from fairridge.estimators._training import read_training
from fairridge.families import Family
from fairridge.metrics.favorable import Favorable
from fairridge.metrics.groups import SensitiveColumns, groupings, sensitive_attributes
from fairridge.reports import ModelCurve, plot_curves
from fairridge.reports.sketch import sketch
from fairridge.search.setup import resolve_regression_family
from fairridge.sources import RowMoments, RowSource
from fairridge.tables import Table, Tabular
from fairridge.validation.evaluate import Decisions, mean_and_error
from fairridge.validation.folds import Fold, check_models, make_folds
from fairridge.validation.one_fold import Scores, WholeModel, any_fold, chosen_fold, row_fold
from fairridge.validation.scored_model import PassedRows, ScoredModel, scored_model
from fairridge.validation.streamed_folds import StreamedData

PAPER_BOUNDS = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)


@dataclass(frozen=True, repr=False)
class CrossValidation(Tabular):
    """What cross-validation measured: one record per model, bound, repeat and fold.

    Attributes
    ----------
    records : tuple of dict
        The measurements.
    loss_name : dict of str to str
        What `loss` is, by model.

    See Also
    --------
    fairridge.cross_validate : Makes it.

    References
    ----------
    .. [1] Scutari, Panero and Proissl (2022), section 5.

    Examples
    --------
    >>> import numpy as np
    >>> from fairridge import FairRidgeRegressor
    >>> rng = np.random.default_rng(0)
    >>> S, X, noise = rng.normal(size=(3, 100, 1))
    >>> y = (S + X + noise)[:, 0]
    >>> from fairridge import cross_validate
    >>> found = cross_validate(
    ...     FairRidgeRegressor(), X, y, sensitive_features=S, unfairness=[0.1], cv=2, random_state=0
    ... )
    >>> print(len(found.records), found.loss_name)
    2 {'FairRidgeRegressor': 'RMSE'}
    """

    records: tuple[dict[str, Any], ...]
    loss_name: dict[str, str]
    _backend: Any = None

    def to_frame(self) -> Any:
        """Return one row per model, bound, repeat and fold.

        Columns: model, unfairness, repeat, fold, n, train_loss, loss,
        train_achieved, achieved, share_of_eta, share_of_means, decision_gap,
        variance_share, status and the further scores. A score
        that a model does not have is missing.
        """
        return make_frame(columns_of(self.records), self._backend)

    def curves(self, measure: str = "loss") -> list[ModelCurve]:
        """Return mean and standard error of a measure over all folds, by model and bound.

        Models and folds that do not have the measure are left out. Dependence
        on S is pooled in the same way: the mean of the folds' adjusted R²
        estimates the dependence in the population without bias by chance,
        which R² of the held-out rows of all folds together does not.
        """
        by_model: dict[str, dict[float, list[float]]] = {}
        for record in self.records:
            value = record.get(measure)
            if isinstance(value, float) and not np.isnan(value):
                by_bound = by_model.setdefault(record["model"], {})
                by_bound.setdefault(record["unfairness"], []).append(value)
        if not by_model:
            known = {name for r in self.records for name in r if isinstance(r[name], float)}
            raise ValueError(
                f"measure={measure!r} is not known; use one of {', '.join(sorted(known))}."
            )
        curves = []
        for model, by_bound in by_model.items():
            bounds = sorted(by_bound)
            means, errors = np.array([mean_and_error(np.array(by_bound[r])) for r in bounds]).T
            name = self.loss_name[model] if measure in ("loss", "train_loss") else measure
            curves.append(ModelCurve(model, name, np.array(bounds), means, errors))
        return curves

    def _tables(self) -> list[Table]:
        rows = [
            {"model": c.model, "unfairness": r, c.measure: mean, "standard error": error}
            for c in self.curves("loss")
            for r, mean, error in zip(c.unfairness, c.mean, c.standard_error, strict=True)
        ]
        return [Table.of(columns_of(rows), "Cross-validation, mean over folds", brief=True)]

    def _repr_html_(self) -> str:
        curves, table = self.curves("loss"), super()._repr_html_()
        grids = {tuple(c.unfairness) for c in curves}
        if len(grids) > 1 or len(curves) > 3:  # a small picture has room for three lines
            return table
        lines = {c.model: c.mean for c in curves}
        return table + sketch(curves[0].unfairness, lines, "bound on unfairness, r")

    def plot(self, measure: str = "loss", ax: Any = None) -> Any:
        """Draw a measure over r, one line per model with 95 % confidence intervals.

        Parameters
        ----------
        measure : str
            A column of `to_frame()`.
        ax : matplotlib Axes, optional
            Where to draw; by default on a new figure.

        Returns
        -------
        matplotlib.axes.Axes
            What was drawn on.
        """
        curves = self.curves(measure)
        measures = ", ".join(sorted({curve.measure for curve in curves}))
        title = "Cross-validation, mean and 95 % interval over folds"
        return plot_curves(curves, "bound on unfairness, r", measures, title, ax)


def cross_validate(
    models: Any,
    X: TableLike,
    y: VectorLike | None = None,
    *,
    sensitive_features: TableLike | None = None,
    unfairness: VectorLike = PAPER_BOUNDS,
    cv: Any = 10,
    repeats: int = 1,
    folds: Any = None,
    n_jobs: int | None = None,
    random_state: Any = None,
    sample_weight: VectorLike | None = None,
    offset: VectorLike | None = None,
    exposure: VectorLike | None = None,
    threshold: float | None = None,
    progress: bool | None = False,
) -> CrossValidation:
    """Cross-validate fair models for several bounds, on the same folds.

    Parameters
    ----------
    models : estimator or dict of str to estimator
        Models of this library, or any with a parameter `unfairness`; their
        own value of it is not used.
    X, y, sensitive_features
        As in `fit`. Categorical levels come from all rows. For gaussian models
        X may be rows of `fairridge.sources`, which are divided at random (cv=k).
    unfairness : array-like
        The bounds r; the paper's by default. Of models with a bound per attribute these are the
        largest bound, and the others are in proportion.
    cv : int, scikit-learn splitter or iterable of (train, test), default=10
        Number of folds, an object with `split` such as `ShuffleSplit` for
        hold-out, or positions as in `folds`. Folds are stratified if all models are classifiers.
    repeats : int, default=1
        How often to draw new folds.
    folds : list of (train, test), or list of such lists, optional
        Row positions or Boolean masks, used instead of `cv`; one list per repeat.
    n_jobs : int, optional
        Processes for models that are refitted in every fold.
    random_state : int, RandomState or None
        Seed of the folds.
    sample_weight : array-like of shape (n,), optional
        Weights, for fits and scores alike; a row of weight zero is absent.
        Models that are not of this library must take them in `fit`.
    offset : array-like of shape (n,), optional
        Added to the linear predictor, as in `fit`; only for linear models of
        this library. It counts in losses and scores, and not in `share_of_eta`.
        R² of gaussian models is that of the response less its offset.
    exposure : array-like of shape (n,), optional
        As in `fit`, for models with the log link.
    threshold : float, optional
        What predicted numbers (of models with an exposure: rates) are compared with
        to decide.
    progress : bool or None, default=False
        Whether to show a progress bar (needs tqdm). With None there is one on terminals after two
        seconds, if tqdm is installed.

    Returns
    -------
    CrossValidation
        One record per model, bound, repeat and fold.

    See Also
    --------
    fairridge.compare : Many kinds of models at once.
    fairridge.choose_bound : A bound by a rule on held-out rows.

    Notes
    -----
    A `class_weight` of a model counts in its fits alone, as in scikit-learn: losses and scores
    are those of rows with their sample weights. "balanced" counts the training rows of a fold.

    `achieved` is what the model bounds, measured on the validation rows: for
    statistical parity R² of the linear predictor on S, adjusted for chance.
    Attributes with bounds of their own have `achieved[name]` each, and `achieved` is what
    they explain together. Beside it every model is measured in the same way. `share_of_eta` and
    `share_of_means` are R² on S of the linear predictor, without the offset, and
    of the predicted means, with it (of models with the log link: of rates, weighted
    by exposure), adjusted for chance,

        1 − (1 − R²)(n − 1)/(n − q − 1),

    with n the rows of the fold, whatever their weights, and q the rank of S
    there; they are missing if n ≤ q + 1. Models known by their predictions only
    have no η, and Cox models no means. `decision_gap` is the largest difference
    between two groups of an attribute in the share of rows that are given a
    class, or of numbers in the share that is predicted to lie above `threshold`, by
    default the median response of the training rows; numeric attributes are cut into
    quarters, and groups of fewer than 30 validation rows are left out. Survival models,
    rows in files, and counts and amounts (responses that are nowhere negative)
    without a threshold have none.

    References
    ----------
    .. [1] Scutari, Panero and Proissl (2022), section 5.1: 50 runs of ten folds.

    Examples
    --------
    >>> import numpy as np
    >>> from fairridge import FairRidgeRegressor
    >>> rng = np.random.default_rng(0)
    >>> S, X, noise = rng.normal(size=(3, 100, 1))
    >>> y = (S + X + noise)[:, 0]
    >>> from fairridge import cross_validate
    >>> from sklearn.model_selection import KFold
    >>> found = cross_validate(
    ...     FairRidgeRegressor(), X, y, sensitive_features=S, unfairness=[0, 1], cv=KFold(5)
    ... )
    >>> means = found.to_frame().groupby("unfairness")["r_squared"].mean()
    >>> print(means.round(2).to_dict())
    {0.0: 0.2, 1.0: 0.54}
    """
    named = models if isinstance(models, Mapping) else {type(models).__name__: models}
    if not named:
        raise ValueError("models is empty; pass an estimator or a dict name → estimator.")
    check_models(named)
    bounds = check_bounds(
        unfairness, maximum=min(traits_of(model).largest_bound for model in named.values())
    )
    rows = PassedRows(X, y, sensitive_features, sample_weight, offset, exposure)
    division = {"cv": cv, "repeats": repeats, "folds": folds, "random_state": random_state}
    data: FoldedRows | StreamedData
    if isinstance(X, RowSource | RowMoments):
        data = StreamedData.of(rows, named, **division)
    else:
        data = replace(FoldedRows.of(rows, named, **division), threshold=threshold)
    records: list[dict[str, Any]] = []
    loss_name: dict[str, str] = {}
    with Progress(len(named) * len(data.places), progress) as bar:
        for name, model in named.items():
            scores, loss_name[name] = fold_records(name, model, data, bounds, n_jobs, bar)
            records += scores
    return CrossValidation(tuple(records), loss_name, data.backend)


def fold_records(
    name: str,
    model: Any,
    data: FoldedRows | StreamedData,
    bounds: Floats,
    n_jobs: int | None,
    bar: Progress,
) -> tuple[list[dict[str, Any]], str]:
    """Return one record per fold and bound of one model, and what its loss is."""
    # All bounds of a fold are found at once, if the model can do that.
    records = []
    with quiet_fits():
        by_fold, loss_name = data.scores(name, model, bounds, n_jobs)
        for (repeat, number), scores in zip(data.places, by_fold, strict=True):
            records += [
                {"model": name, "unfairness": float(r), "repeat": repeat, "fold": number} | measures
                for r, measures in zip(bounds, scores, strict=True)
            ]
            bar.step()
    return records, loss_name


@dataclass(frozen=True)
class FoldedRows:
    """Rows in memory, divided into folds."""

    rows: PassedRows  # those with a positive weight
    repeated: list[list[Fold]]  # positions among these, one list per repeat
    # The outcome that people want: then selection rates are compared, too.
    favorable: Favorable | None = None
    threshold: float | None = None  # what predicted numbers are compared with
    on: SensitiveColumns | None = None  # what all models are measured on; else what they read
    grouped: bool = False  # whether models read groups of S instead

    @classmethod
    def of(cls, rows: PassedRows, models: Mapping[str, Any], **division: Any) -> FoldedRows:
        """Divide the rows, for models that are validated on the same folds."""
        warn_of_order(**vars(rows))
        n = rows.X.shape[0] if hasattr(rows.X, "shape") else as_table(rows.X).shape[0]
        weight = weights(rows.sample_weight, n)
        rows = replace(rows, sample_weight=weight)
        kept = None if weight is None or weight.all() else np.flatnonzero(weight)
        repeated = make_folds(models=models, n=n, y=rows.y, kept=kept, **division)
        return cls(rows if kept is None else rows.take(kept), repeated)

    @property
    def places(self) -> list[tuple[int, int]]:
        """Numbers of repeat and fold."""
        return [(r, f) for r, folds in enumerate(self.repeated) for f in range(len(folds))]

    @property
    def backend(self) -> Any:
        """The frame library of X; None for arrays."""
        return as_table(self.rows.X, sparse=True).backend

    def scores(
        self, name: str, model: Any, bounds: Floats, n_jobs: int | None
    ) -> tuple[Iterable[list[Scores]], str]:
        """Return the scores of a model in every fold, one dict per bound, and what the loss is."""
        jobs, rows = Parallel(n_jobs=n_jobs, return_as="generator"), self.rows
        folds = [fold for repeat in self.repeated for fold in repeat]
        judged = scored_model(model)
        if judged.kind == "linear" and judged.bare and not self.grouped:
            offset = model._shift(rows.offset, rows.exposure)
            given = rows.sensitive_features, rows.sample_weight, offset
            training = read_training(model, rows.X, rows.y, *given)
            decisions, engine = None, training.engine
            if in_memory(engine):
                exposed = exposure_of(training.response.family.link, engine.offset)
                decisions = self.decisions(model, exposed)
            if model._traits.chooses_penalty:
                of_fold = partial(chosen_fold, model, training)
            else:
                of_fold = partial(row_fold, WholeModel.of(model, training))
            by_fold = jobs(delayed(of_fold)(fold, bounds, decisions) for fold in folds)
            return by_fold, loss_name(training.response.family)
        lacking = judged.lacking(rows)
        if lacking is not None:
            argument, words = lacking
            raise TypeError(f"model {name!r} is {words}; leave out the {argument} or the model.")
        decisions = self.decisions(judged.last, rows.exposure)
        how = bounds, decisions, self.on
        by_fold = jobs(delayed(any_fold)(model, rows, fold, *how) for fold in folds)
        return by_fold, _loss_name_of(judged, rows.y)

    def decisions(self, model: Any, exposure: Any) -> Decisions:
        """Return how decisions are compared, between groups of the rows as they were passed."""
        # Numbers are cut at quantiles of weights, times the exposure that makes rates of them.
        if self.on is None:
            given = self.rows.X, self.rows.sensitive_features
            attributes, *_ = sensitive_attributes(*given, getattr(model, "sensitive", None))
        else:
            attributes = self.on.attributes
        y, weight = np.asarray(self.rows.y), np.ones(attributes.shape[0])
        for factor in (self.rows.sample_weight, exposure):
            weight = weight if factor is None else weight * np.asarray(factor, np.float64)
        groups = groupings(attributes, weight)
        amounts = y.dtype.kind in "iuf" and float(y.min()) >= 0.0
        return Decisions(groups, self.favorable, self.threshold, amounts)


def loss_name(family: Family) -> str:
    """Say what the loss of a family is."""
    return "RMSE" if family.least_squares else "mean deviance"


def _loss_name_of(model: ScoredModel, y: Any) -> str:
    """Say what the loss of any model is, before it is fitted."""
    if is_classifier(model.given) or np.ndim(y) == 2:
        return "mean deviance"
    family = getattr(model.last, "family", "gaussian") if model.fair else "gaussian"
    return loss_name(resolve_regression_family(family))
