"""All models that apply to one data set, in one table."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier

from fairridge._typing import ColumnNames, TableLike
from fairridge.arguments import check_bounds, check_option
from fairridge.data import as_table, make_frame, name_of, numeric_vector
from fairridge.estimators.classifier import FairRidgeClassifier
from fairridge.estimators.regressor import FairRidgeRegressor
from fairridge.families import Binomial, Gaussian
from fairridge.metrics import (
    WORDS,
    Audit,
    Dependence,
    Favorable,
    audit,
    dependence,
    favorable_outcome,
    find_label,
)
from fairridge.peers.barycenter.classifier import BarycenterClassifier
from fairridge.peers.barycenter.regressor import BarycenterRegressor
from fairridge.peers.convex.estimators import ConvexFairClassifier, ConvexFairRegressor
from fairridge.peers.komiyama.estimator import KomiyamaRegressor
from fairridge.peers.reductions.estimator import ReductionsClassifier
from fairridge.peers.steinberg.estimator import SteinbergRegressor
from fairridge.peers.zafar.estimators import ZafarClassifier, ZafarRegressor
from fairridge.reports import TradeOff, plot_trade_off
from fairridge.validation.cross_validation import FoldedData, fold_records
from fairridge.validation.evaluate import mean_and_error
from fairridge.validation.folds import check_models
from fairridge.validation.foreign import ForeignData, gap_of_decisions, measures, predictions
from fairridge.validation.progress import Progress

__all__ = ["Comparison", "compare"]


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
UNFAIRNESS = {
    **{name: f"{words}, on held-out rows" for name, words in WORDS.items()},
    **{f"train_{name}": f"{words}, in training" for name, words in WORDS.items()},
    "equality_of_opportunity": "equality of opportunity, in training",
    "individual": "individual unfairness relative to no bound, in training",
    "max_correlation": "largest |correlation| with S, in training",
    "kolmogorov_smirnov": "largest Kolmogorov–Smirnov distance of a group, in training",
    "wasserstein": "largest Wasserstein distance of a group, in training",
}


@dataclass(frozen=True)
class Comparison:
    """What several models reach on the same data, one record per model and bound.

    Attributes
    ----------
    records : tuple of dict
        The measurements.
    skipped : dict of str to str
        Models that do not apply, and why.
    loss_name : str
        What `loss` is.
    favorable : Favorable or None
        The outcome that impact ratios are about; None if none of several
        classes was named.
    """

    records: tuple[dict[str, Any], ...]
    skipped: dict[str, str]
    loss_name: str
    favorable: Favorable | None
    _backend: Any = None

    def to_frame(self) -> Any:
        """Return one row per model and bound.

        Columns: model, unfairness (the bound), status, train_loss, loss and
        its standard error (over the folds); share_of_eta, share_of_means and
        decision_gap, the numbers that every model is described by, means over
        the folds, and the same in training as train_share_of_eta and so on (R²
        on held-out rows is adjusted for chance; models known by their
        predictions only have no η; numbers have a gap in training only, of
        those beyond the median response);
        equality_of_opportunity, individual (relative to the unconstrained
        model), max_correlation, kolmogorov_smirnov, wasserstein (all in the
        training rows, of predicted numbers or probabilities),
        adverse_impact_ratio (lowest share of a group that gets the favorable
        outcome, relative to the highest; numbers beyond the median response,
        the likeliest class), opportunity_difference (of that share among those
        with the favorable outcome; of classes only, both in training, and of
        several classes only if one is named as favorable) and seconds (one
        fit). What a model does not have is NaN.
        """
        names = list(self.records[0])
        return make_frame({name: [r[name] for r in self.records] for name in names}, self._backend)

    def plot(self, measure: str = "train_share_of_means", ax: Any = None) -> Any:
        """Draw the cross-validated loss over a measure of unfairness.

        Parameters
        ----------
        measure : str
            A fairness column of `to_frame()`.
        ax : matplotlib Axes, optional
            Where to draw; by default on a new figure.
        """
        check_option("measure", measure, tuple(UNFAIRNESS))
        curves = []
        for model in dict.fromkeys(record["model"] for record in self.records):
            own = sorted(
                (r for r in self.records if r["model"] == model), key=lambda r: float(r[measure])
            )
            columns = [np.array([r[k] for r in own]) for k in (measure, "loss", "loss_error")]
            curves.append(TradeOff(model, *columns))
        return plot_trade_off(curves, UNFAIRNESS[measure], f"{self.loss_name}, cross-validated", ax)


def compare(
    X: TableLike,
    y: Any,
    *,
    sensitive: ColumnNames | None = None,
    sensitive_features: TableLike | None = None,
    unfairness: Any = 0.05,
    models: Mapping[str, Any] | None = None,
    task: str | None = None,
    favorable: Any = None,
    response: str | None = None,
    cv: Any = 5,
    folds: Any = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
    progress: bool = False,
) -> Comparison:
    """Fit every model that applies to the data, and measure all of them in the same way.

    Parameters
    ----------
    X, y, sensitive_features
        As in `fit`.
    sensitive : str, int or list of these, optional
        Columns of X that are sensitive, as in the constructors.
    unfairness : float or array-like, default=0.05
        The bounds. What a bound means is each model's own affair; the table
        measures all models alike.
    models : dict of str to estimator, optional
        By default all of this library, and the unconstrained model.
    task : {"regression", "classification"}, optional
        Classification by default if y is not numeric or has two values.
    favorable : label, "low" or "high", optional
        The outcome that people want, as in `fairridge.audit`; by default
        guessed from names. `Comparison.favorable` says what was taken.
    response : str, optional
        Name of the response, if y has none.
    cv, folds, random_state, n_jobs
        As in `cross_validate`.
    progress : bool, default=False
        Whether to show a progress bar (needs tqdm).

    Notes
    -----
    A model that refuses the data (continuous S where groups are needed, more
    than two classes, a missing library) is left out, and `skipped` says why.
    """
    task = _task(y) if task is None else task
    check_option("task", task, ("regression", "classification"))
    models = _models(models, task, sensitive)
    wanted = _favorable(favorable, y, response or name_of(y), task)
    if task == "regression":
        y = numeric_vector(y, len(y), "y")
    bounds = check_bounds(unfairness)
    data = ForeignData.of(X, y, sensitive_features, sensitive)
    free = _unconstrained(task, sensitive)
    folded = FoldedData.of(
        X, {"": free}, y=y, sensitive_features=sensitive_features,
        cv=cv, repeats=1, folds=folds, random_state=random_state,
    )  # fmt: skip
    dependence_of, decisions_of = _measure(data, task), _decisions(data, task, wanted)
    base = dependence_of(_fitted(free, data, 1.0)[0]).individual
    records, skipped = [], {}
    n_folds = len(folded.places)
    with Progress((1 + len(models)) * n_folds, progress) as bar:
        for done, (name, model) in enumerate({"unconstrained": free, **models}.items(), start=1):
            own = np.ones(1) if name == "unconstrained" else bounds
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # the status says what they say
                    fits = [_fitted(model, data, float(r)) for r in own]
                    found, _ = fold_records(name, model, folded, own, n_jobs, bar)
                records += [  # the records of a fold have one bound after the other
                    _record(name, float(r), fit, data, dependence_of, base, found[k :: len(own)])
                    | decisions_of(fit[0])
                    | {"seconds": fit[1]}
                    for k, (r, fit) in enumerate(zip(own, fits, strict=True))
                ]
            except (ImportError, TypeError, ValueError) as reason:
                skipped[name] = str(reason)
            bar.reach(done * n_folds)
    loss = "mean deviance" if task == "classification" else "RMSE"
    return Comparison(tuple(records), skipped, loss, wanted, as_table(X).backend)


def _models(models: Mapping[str, Any] | None, task: str, sensitive: Any) -> Mapping[str, Any]:
    """Return the models asked for, or all that there are."""
    if models is None:
        known = CLASSIFIERS if task == "classification" else REGRESSORS
        return {name: model(sensitive=sensitive) for name, model in known.items()}
    if not isinstance(models, Mapping):
        raise TypeError(
            f"models must be a dict name → estimator, not a {type(models).__name__}; pass "
            "models={name: model}."
        )
    if "unconstrained" in models:
        raise ValueError("'unconstrained' is the name of the reference; call the model otherwise.")
    check_models(models)
    return models


def _task(y: Any) -> str:
    values = np.asarray(y)
    if values.dtype.kind in "iuf" and len(np.unique(values)) > 2:
        return "regression"
    return "classification"


def _unconstrained(task: str, sensitive: Any) -> Any:
    model = FairRidgeClassifier if task == "classification" else FairRidgeRegressor
    return model(1.0, sensitive=sensitive)


def _fitted(model: Any, data: ForeignData, r: float) -> tuple[Any, float]:
    """Fit for one bound, and say how long it took."""
    own = clone(model).set_params(unfairness=r)
    start = time.perf_counter()
    own.fit(data.X, data.y, **data.for_fit)
    return own, time.perf_counter() - start


def _measure(data: ForeignData, task: str) -> Callable[[Any], Dependence]:
    """Return a function that measures how a fitted model's predictions depend on S."""
    if task == "regression":
        targets = response = data.y.astype(np.float64)[:, None]
    else:
        classes, codes = np.unique(data.y, return_inverse=True)
        response = codes[:, None].astype(np.float64)
        targets = (codes[:, None] == np.arange(1, len(classes))).astype(np.float64)
    distance = (Gaussian() if task == "regression" else Binomial()).distance

    def of(model: Any) -> Dependence:
        predicted = predictions(model, data)
        predicted = predicted[:, 1:] if predicted.ndim == 2 else predicted
        return dependence(predicted, data.columns, targets, distance, response, data.groupings)

    return of


def _favorable(favorable: Any, y: Any, response: str, task: str) -> Favorable | None:
    """Return the outcome that people want; None if none of several classes was named."""
    if task == "regression":
        return favorable_outcome(favorable, response)
    classes = np.unique(np.asarray(y)).tolist()
    positive = classes[-1]
    if len(classes) > 2:
        if favorable is None:
            return None
        named = find_label(favorable, classes)
        if named is None:
            raise ValueError(
                f"favorable={favorable!r} is not one of the {len(classes)} classes "
                f"{', '.join(map(repr, classes))}; name one of them."
            )
        positive = named
    return favorable_outcome(favorable, response, positive, classes)


def _decisions(
    data: ForeignData, task: str, favorable: Favorable | None
) -> Callable[[Any], dict[str, float]]:
    """Return a function that compares whom a fitted model selects between groups."""

    def of(model: Any) -> dict[str, float]:
        if favorable is None:
            return {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # models know their classes
            found = audited(model)
        ratio = {"adverse_impact_ratio": found.demographic_parity_ratio}
        if task == "regression":
            return {"train_decision_gap": found.demographic_parity_difference} | ratio
        return ratio | {"opportunity_difference": found.equal_opportunity_difference}

    def audited(model: Any) -> Audit:
        assert favorable is not None
        options: dict[str, Any] = {"sensitive_features": data.attributes, "kind": task}
        if task == "regression":
            options |= {"threshold": float(np.median(data.y)), "favorable": favorable.label}
            return audit(data.y, predictions(model, data), **options)
        chosen = predictions(model, data).argmax(axis=1)
        positive = np.asarray(model.classes_)[chosen] == favorable.label
        return audit((data.y == favorable.label).astype(int), positive.astype(int), **options)

    return of


def _record(
    name: str,
    r: float,
    fit: tuple[Any, float],
    data: ForeignData,
    dependence_of: Callable[[Any], Dependence],
    base: float,
    validated: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    """Return the measures of one model at one bound."""
    fitted, _ = fit
    found, nan = dependence_of(fitted), float("nan")
    in_training = measures(fitted, data, adjusted=False)
    in_training |= gap_of_decisions(fitted, data, data.groups)
    # Numbers are decided by a threshold, which the folds do not know.
    known = [name for name in WORDS if is_classifier(fitted) or name != "decision_gap"]
    held_out = np.array([[one.get(name, nan) for name in ("loss", *known)] for one in validated])
    (loss, *numbers), (error, *_) = mean_and_error(held_out)
    return {
        "model": name,
        "unfairness": r,
        "status": getattr(fitted, "status_", "converged"),
        "train_loss": in_training["loss"],
        "loss": float(loss),
        "loss_error": float(error),
        **dict(zip(known, map(float, numbers), strict=True)),
        **{f"train_{name}": in_training.get(name, nan) for name in known},
        "equality_of_opportunity": found.equality_of_opportunity,
        "individual": found.individual / base if base > 0.0 else 0.0,
        "max_correlation": found.correlation,
        "kolmogorov_smirnov": found.kolmogorov_smirnov,
        "wasserstein": found.wasserstein,
    }
