"""What a comparison of models found: its table, how it prints, and its figure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from fairridge._typing import Floats
from fairridge.arguments import check_option
from fairridge.data import columns_of, make_frame
from fairridge.estimators._flips import flips_text
from fairridge.metrics.dependence_shares import WORDS
from fairridge.metrics.favorable import Favorable
from fairridge.reports import ModelCurve, plot_curves
from fairridge.tables import Column, Table, Tabular
from fairridge.validation.evaluate import RATES

# Measures of accuracy: words, and whether more of it is better.
SCORES = {
    "accuracy": ("Accuracy", True),
    "auc": ("AUC", True),
    "log_loss": ("Log-loss", False),
    "rmse": ("RMSE", False),
    "r_squared": ("R²", True),
    "concordance": ("Concordance", True),
}
UNFAIRNESS = {
    **WORDS,
    "opportunity_difference": RATES["opportunity_difference"],
    **{f"train_{name}": f"{words}, in training" for name, words in WORDS.items()},
    "equality_of_opportunity": "Equality of opportunity, in training",
    "individual": "Individual unfairness relative to no bound, in training",
    "max_correlation": "Largest |correlation| with S, in training",
    "kolmogorov_smirnov": "Largest Kolmogorov–Smirnov distance of a group, in training",
    "wasserstein": "Largest Wasserstein distance of a group, in training",
}

# Columns of printed tables, those that matter most first: heading and format.
_BOUND = {"unfairness": ("r", ".4g")}
_USES = {"uses_sensitive": ("uses S", "")}
_ACCURACY = {
    "accuracy": ("accuracy", ".1%"),
    "auc": ("AUC", ".3f"),
    "log_loss": ("log-loss", ".3f"),
    "rmse": ("RMSE", ".4g"),
    "r_squared": ("R²", ".3f"),
    "concordance": ("concordance", ".3f"),
}
_FAIRNESS = {
    "share_of_means": ("means", ".1%"),
    "decision_gap": ("gap", ".1%"),
    "adverse_impact_ratio": ("ratio", ".2f"),
    "opportunity_difference": ("TPR gap", ".1%"),
    "share_of_eta": ("scores", ".1%"),
}
_TRAINING = {
    **{f"train_{name}": words for name, words in {**_ACCURACY, **_FAIRNESS}.items()},
    "max_correlation": ("max corr.", ".3f"),
    "kolmogorov_smirnov": ("KS", ".3f"),
    "seconds": ("seconds", ".2f"),
}
TABLES = {
    "Held out: accuracy": _BOUND | _ACCURACY,
    "Held out: fairness": _BOUND | _USES | _FAIRNESS,
    "In training": _BOUND | _TRAINING,
}
LEGEND = (
    "r: the bound. concordance: share of pairs whose hazards are in the order of their events. "
    "means, scores: shares of predicted means and of scores that S explains. "
    "gap: largest difference of decisions between groups. ratio: lowest adverse impact "
    "ratio. TPR gap: largest difference of true positive rates between groups. max corr.: largest "
    "|correlation| "
    "of predictions with a column of S. KS: largest Kolmogorov–Smirnov distance of a group from "
    "the others. uses S: whether predictions change with it. ±: standard error over the folds."
)


@dataclass(frozen=True, repr=False)
class Comparison(Tabular):
    """What several models reach on the same data, one record per model and bound.

    Attributes
    ----------
    records : tuple of dict
        The measurements.
    skipped : dict of str to str
        Models that do not apply, and why.
    favorable : Favorable or None
        The outcome that impact ratios are about; None if none of several
        classes was named.
    notes : tuple of str
        What was done to the data for some of the models.
    warnings : dict of str to tuple of str
        What models warned of, and bounds that were not met in some folds.
    sign_flips : tuple of (str, float, dict)
        For blind models, whose bound has changed signs of predictors: model, bound, and
        both coefficients of each predictor with their standard errors, as in
        `sign_flips_` of the model.

    See Also
    --------
    fairridge.compare : Makes it.

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
    >>> print(found.favorable.label, len(found.records))
    GOOD 2
    """

    records: tuple[dict[str, Any], ...]
    skipped: dict[str, str]
    favorable: Favorable | None
    notes: tuple[str, ...] = ()
    warnings: dict[str, tuple[str, ...]] = field(default_factory=dict)
    sign_flips: tuple[tuple[str, float, dict[str, dict[str, float]]], ...] = ()
    _backend: Any = None

    def to_frame(self) -> Any:
        """Return one row per model and bound.

        Columns: model, unfairness (the bound; NaN if a model has none),
        uses_sensitive (whether predictions need S) and status. Then on held-out
        rows, each the mean over the folds, followed by its standard error
        (`…_error`) and by the same in training (`train_…`): accuracy, auc
        and log_loss of classes, rmse and r_squared of numbers, concordance of times; share_of_eta,
        share_of_means (R² on S, on held-out rows adjusted for chance; models
        known by their predictions only have no η) and decision_gap;
        selection_rate, lowest_selection_rate and highest_selection_rate of a
        group, adverse_impact_ratio (the lowest of an attribute, relative to its
        highest) and, of classes, opportunity_difference (of true positive
        rates). Selected are those who are given the favorable class, or whose
        prediction lies beyond the median response of the training rows; several
        classes have selection rates only if one is named as favorable. Then, in
        training, of predicted numbers or probabilities:
        equality_of_opportunity, individual (relative to the unconstrained
        model), max_correlation, kolmogorov_smirnov and wasserstein; and
        seconds (one fit). What a model does not have is NaN.
        """
        return make_frame(columns_of(self.records), self._backend)

    def _tables(self) -> list[Table]:
        tables = [Table(title, self._columns(of)) for title, of in TABLES.items()]
        return [*tables[:-1], replace(tables[-1], notes=[LEGEND, *self._remarks()])]

    def _columns(self, written: dict[str, tuple[str, str]]) -> dict[str, Column]:
        """Return those columns that some model has, with errors beside the numbers."""
        columns = {"model": Column([record["model"] for record in self.records], "model")}
        for name, (head, style) in written.items():
            values = [record.get(name, np.nan) for record in self.records]
            texts = [_cell(record, name, style) for record in self.records]
            if any(_known(record, name) for record in self.records):
                columns[name] = Column(values, head, texts=texts)
        return columns

    def _remarks(self) -> list[str]:
        """Return what one must know to read the table."""
        return [
            *([] if self.favorable is None else [str(self.favorable)]),
            *self.notes,
            *(f"{name}, r = {r:g}: {flips_text(flips)}" for name, r, flips in self.sign_flips),
            *(f"{name}: {text}" for name, texts in self.warnings.items() for text in texts),
            *(f"left out {name}: {reason}" for name, reason in self.skipped.items()),
        ]

    def plot(self, measure: str | None = None, score: str | None = None, ax: Any = None) -> Any:
        """Draw the frontier: accuracy over unfairness, on held-out rows, with 95 % intervals.

        Parameters
        ----------
        measure : str, optional
            A fairness column of `to_frame()`; those in training have no intervals. By default
            share_of_means, and of times share_of_eta.
        score : str, optional
            A column of accuracy: by default accuracy of classes, rmse of numbers, concordance
            of times.
        ax : matplotlib Axes, optional
            Where to draw; by default on a new figure.

        Returns
        -------
        matplotlib.axes.Axes
            What was drawn on.
        """
        if measure is None:
            known = _known(self.records[0], "share_of_means")
            measure = "share_of_means" if known else "share_of_eta"
        check_option("measure", measure, tuple(UNFAIRNESS))
        scores = tuple(name for name in SCORES if _known(self.records[0], name))
        score = scores[0] if score is None else score
        check_option("score", score, scores)
        curves = []
        for model in dict.fromkeys(record["model"] for record in self.records):
            points = [r for r in self.records if r["model"] == model and _known(r, measure)]
            points.sort(key=lambda record: float(record[measure]))
            x, y = (_column(points, name) for name in (measure, score))
            errors = [_column(points, f"{name}_error", 0.0) for name in (score, measure)]
            curves.append(ModelCurve(model, score, x, y, *errors))
        words, high = SCORES[score]
        in_training = measure not in (*WORDS, "opportunity_difference")
        where = UNFAIRNESS[measure] + ("" if in_training else ", held out")
        title = f"Accuracy against fairness: {'high' if high else 'low'} and left is better"
        return plot_curves(curves, where, f"{words}, held out", title, ax)


def _known(record: dict[str, Any], name: str) -> bool:
    value = record.get(name, float("nan"))
    return bool(value == value)


def _column(records: Iterable[dict[str, Any]], name: str, missing: float = np.nan) -> Floats:
    return np.array([record.get(name, missing) for record in records], dtype=np.float64)


def _cell(record: dict[str, Any], name: str, style: str) -> str:
    if not _known(record, name):
        return "–"
    if isinstance(record[name], bool):
        return "yes" if record[name] else "no"
    error = f" ±{record[f'{name}_error']:{style}}" if _known(record, f"{name}_error") else ""
    return f"{record[name]:{style}}{error}"
