"""How well models of any kind predict rows, how they decide, and means over folds."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

import numpy as np

from fairridge._typing import Floats, Integers
from fairridge.estimators._means import explained_deviance
from fairridge.families import Family
from fairridge.families.base import ClassFamily
from fairridge.metrics.batches import Batches
from fairridge.metrics.brier import integrated_brier_score
from fairridge.metrics.favorable import Favorable
from fairridge.metrics.group_table import (
    compared_shares,
    decision_gap,
    decision_table,
    impact_ratios,
)
from fairridge.metrics.groups import Grouping, weighted_quantiles
from fairridge.metrics.scored_rows import ScoredRows
from fairridge.metrics.share_interval import moments_of_columns
from fairridge.metrics.sorted_scores import area_under_curve, concordance_index
from fairridge.sources.batch import Sums

NAN = float("nan")
# Measures of accuracy, the most informative one first, by what the family reads: key, name, and
# whether more is better.
MEASURES: dict[str, tuple[tuple[str, str, bool], ...]] = {
    "numbers": (("d_squared", "D²", True),),
    "classes": (("auc", "AUC", True), ("accuracy", "Accuracy", True)),
    "several classes": (
        ("accuracy", "Accuracy", True),
        ("auc", "AUC (one against the rest)", True),
    ),
    "times": (
        ("concordance", "Concordance", True),
        ("brier", "Integrated Brier score", False),
    ),
}
R_SQUARED = ("r_squared", "R²", True)
RMSE = ("rmse", "RMSE", False)
LOSS = ("loss", "Mean deviance", False)

# ---------------------------------------------------------------------- losses


def loss(family: Family, deviance: float, rows: float) -> float:
    """Return the RMSE of gaussian models, the mean deviance of others; NaN without any events."""
    mean = deviance / rows if rows > 0.0 else NAN
    return float(np.sqrt(mean)) if family.least_squares else float(mean)


def size(family: Family, response: Floats, weight: Floats) -> float:
    """Return what a deviance is divided by: the weight of all rows, or of the events (Cox)."""
    return float(weight @ response[:, 1]) if family.reads == "times" else float(weight.sum())


# -------------------------------------------------------------------- accuracy


def accuracy(rows: ScoredRows) -> dict[str, float]:
    """Measure predictions against responses: the loss, and scores by kind of response."""
    # These are `rmse` and `r_squared`, or `accuracy`, `f1`, `precision`, `recall` and `auc`, or
    # `concordance`; NaN for what is not defined.
    family, response, weight = rows.family, rows.response, rows.weight
    found = accuracy_of_sums(family, accuracy_sums(rows))
    if family.reads == "times":
        return found | {"concordance": concordance(response, rows.eta[:, 0], weight)}
    if family.reads == "numbers":
        return found
    # Of two classes η ranks rows that have the same probability to rounding; of several classes
    # the AUC is the mean over all, one against the rest.
    eta = rows.eta
    two = eta.shape[1] == 1
    ranks = eta if two else _digits(cast(ClassFamily, family).probabilities(eta))
    columns = zip([1] if two else range(ranks.shape[1]), ranks.T, strict=True)
    areas = [area_under_curve(rows.codes == code, column, weight) for code, column in columns]
    return found | {"auc": float(np.mean(areas))}


def measures_of(family: Family) -> tuple[tuple[str, str, bool], ...]:
    """Return key, name and whether more is better of the measures of accuracy of a family."""
    if family.least_squares:
        return R_SQUARED, RMSE
    kind = "several classes" if family.n_predictors > 1 else family.reads
    return (*MEASURES[kind], LOSS)


def accuracy_of(
    rows: ScoredRows, baseline: tuple[Floats, Floats] | None = None
) -> dict[str, float]:
    """Return loss and scores, D² of counts and amounts, and the Brier score of times."""
    # `baseline` are event times and log H₀ there, of a model of times.
    family, response, weight = rows.family, rows.response, rows.weight
    found = accuracy(rows)
    if family.reads == "times" and baseline is not None:
        time, event = response.T
        brier = integrated_brier_score(time, event, rows.eta[:, 0], weight, baseline)
        return found | {"brier": brier}
    if family.reads != "numbers" or family.least_squares:
        return found
    explained = explained_deviance(family, response, rows.eta, weight, rows.added)
    return found | {"d_squared": explained}


# ---------------------------------------------------------------------- sums of batches


def accuracy_sums(rows: ScoredRows) -> Sums:
    """Sum deviances, and squares of errors or classes; those of other rows add."""
    family, y, weight, eta = rows.family, rows.response, rows.weight, rows.eta
    contrasts = family.to_contrasts(eta.T).T
    sums: dict[str, Any] = {
        "deviance": float(family.deviance_terms(y, contrasts, weight, 0).deviance),
        "size": size(family, y, weight),
    }
    if family.reads == "classes":
        k = max(eta.shape[1], 2)
        cells = k * rows.codes + cast(ClassFamily, family).likeliest(eta)
        sums["confusion"] = np.bincount(cells, weight, k * k).reshape(k, k)
    if family.reads == "numbers":
        sums["squares"] = float(weight @ (y[:, 0] - family.mean(contrasts)[:, 0]) ** 2)
        sums["response"] = moments_of_columns(y[:, :1], weight)
    return Sums(sums)


def accuracy_of_sums(family: Family, sums: Sums) -> dict[str, float]:
    """Return what `accuracy` does, but what ranks rows."""
    found = {"loss": loss(family, sums["deviance"], sums["size"])}
    if family.reads == "classes":
        return found | confusion_scores(sums["confusion"])
    if family.reads == "times":
        return found
    y, squares = sums["response"], sums["squares"]
    share = r_squared(squares, float(y.scatter[0, 0]), y.n_rows)
    return found | {"rmse": float(np.sqrt(squares / y.weight)), "r_squared": share}


@dataclass(frozen=True)
class _Logs:
    """Logarithms of sums, which those of other rows add to."""

    values: Floats

    def __add__(self, other: _Logs) -> _Logs:
        return _Logs(np.logaddexp(self.values, other.values))


def accuracy_in(batches: Batches, family: Any) -> dict[str, float]:
    """Measure predictions in batches of rows, with D², but without what ranks rows."""
    sums = batches.sum(_sums_and_null)
    found = accuracy_of_sums(family, sums)
    if family.reads == "classes" or family.least_squares:
        return found
    if sums["offset"] and sums["logs"] is None:  # which hides the intercept of the null model
        return found
    if not sums["response"].scatter[0, 0] > 0.0:
        return found
    if sums["logs"] is None:
        level = float(family.to_eta(np.asarray(sums["response"].mean[0])))
    else:
        level = float(np.subtract(*sums["logs"].values))
    null = float(batches.sum(partial(_null_deviance, level)))
    return found | {"d_squared": 1.0 - float(sums["deviance"]) / null} if null > 0.0 else found


def _sums_and_null(rows: ScoredRows) -> Sums:
    """Sum a batch, and what tells the null model."""
    logs = getattr(rows.family, "log_sums", None)
    known = None if logs is None else _Logs(logs(rows.response, rows.weight, rows.added))
    null = {"logs": known, "offset": int(rows.added is not None)}
    return Sums(accuracy_sums(rows).parts | null)


def _null_deviance(level: float, rows: ScoredRows) -> float:
    """Return the deviance of the model of an intercept, which keeps the offset."""
    shift = np.zeros(len(rows.weight)) if rows.added is None else rows.added
    eta = (level + shift)[:, None]
    return float(rows.family.deviance_terms(rows.response, eta, rows.weight, 0).deviance)


def _digits(probability: Floats) -> Floats:
    """Return probabilities to 14 digits: those that differ by rounding only are ties."""
    fraction, exponent = np.frexp(probability)
    return np.ldexp(np.round(fraction, 14), exponent)


def r_squared(squares: float, total: float, n: int) -> float:
    """1 − RSS/TSS; NaN for a single row, and 0 if the response is constant."""
    if n < 2:
        return NAN
    return 1.0 - squares / total if total > 0.0 else 0.0


def confusion_scores(table: Floats) -> dict[str, float]:
    """Return scores of the modeled one of two classes, or means over the classes of several."""
    # `table` has the weights of rows by true and predicted class, of which 1 is the modeled one of
    # two. Classes that are neither anywhere do not count in the means of precision, recall and F1.
    hits, true, assigned = np.diag(table), table.sum(axis=1), table.sum(axis=0)
    wanted = np.array([1]) if len(table) == 2 else np.flatnonzero(true + assigned > 0.0)

    def mean_share(part: Floats, whole: Floats) -> float:
        shares = np.divide(part, whole, out=np.zeros_like(part), where=whole > 0.0)
        return float(shares[wanted].mean())

    return {
        "accuracy": float(hits.sum() / table.sum()),
        "f1": mean_share(2.0 * hits, true + assigned),
        "precision": mean_share(hits, assigned),
        "recall": mean_share(hits, true),
    }


def concordance(response: Floats, eta: Floats, weight: Floats) -> float:
    """Return the concordance of times and events with log hazard ratios; NaN without pairs."""
    try:
        return concordance_index(response[:, 0], response[:, 1], eta, weight)
    except ValueError:  # no two rows can be compared
        return NAN


# ------------------------------------------------------------------- summaries


def mean_and_error(values: Floats) -> tuple[Floats, Floats]:
    """Return the mean over folds and its standard error; NaNs are left out."""
    # Dependence on S is pooled over folds in the same way. Each fold's adjusted R² estimates,
    # without bias by chance, how far the model of that fold depends on S in the population, and so
    # does their mean. R² over the held-out rows of all folds together does not: what the training
    # rows of a fold lack of the total is in the fold itself, so that the deviations of the folds'
    # models cancel, and R² is as near to 0 at r = 0 as in training.
    count = (~np.isnan(values)).sum(axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # defined in no fold, or in one
        mean, spread = np.nanmean(values, axis=0), np.nanstd(values, axis=0, ddof=1)
    error = np.where(count > 1, spread / np.sqrt(np.maximum(count, 1)), 0.0)
    return mean, error


# ------------------------------------------------------------------------ decisions


# Measures of decisions beside their gap if an outcome is favorable.
RATES = {
    "selection_rate": "Share selected",
    "lowest_selection_rate": "Lowest share selected of a group",
    "highest_selection_rate": "Highest share selected of a group",
    "adverse_impact_ratio": "Lowest adverse impact ratio",
    "opportunity_difference": "Difference of true positive rates",
}


@dataclass(frozen=True)
class Decisions:
    """How rows are decided by what is predicted of them, and compared between groups."""

    groups: tuple[Grouping, ...]  # groups of the rows, by each attribute
    # The outcome that people want; without it decisions have a gap only.
    favorable: Favorable | None = None
    threshold: float | None = None  # what predicted numbers are compared with
    # Whether responses are nonnegative numbers: counts and amounts, which
    # select nobody unless a threshold is given.
    amounts: bool = False

    def take(self, rows: Integers) -> Decisions:
        """Return these rows only."""
        return replace(self, groups=tuple(group.take(rows) for group in self.groups))

    def decided_in(
        self, response: Floats, weight: Floats, exposure: Floats | None = None
    ) -> Decisions:
        """Return the threshold that training rows give, by default a median."""
        # Counts and amounts have none unless it is given.
        if self.threshold is not None or self.amounts:
            return self
        if exposure is not None:
            response, weight = response / exposure, weight * exposure
        if np.ptp(weight) == 0.0:
            return replace(self, threshold=float(np.median(response)))
        return replace(self, threshold=float(weighted_quantiles(response, weight, [0.5])[0]))

    def of(self, rows: ScoredRows) -> dict[str, float]:
        """Compare decisions: the likeliest class, or numbers above the threshold, if any."""
        # Times are not decided by.
        if rows.classes is not None:
            decided = cast(ClassFamily, rows.family).likeliest(rows.eta)
            classes, favorable = rows.classes.tolist(), self.favorable
            code = None if favorable is None else classes.index(favorable.label)
            return self._compared(decided, rows.weight, len(rows.classes), code, rows.codes)
        if rows.means is None or self.threshold is None:
            return {}
        above = (rows.means[:, 0] > self.threshold).astype(np.intp)
        code = None if self.favorable is None else int(self.favorable.high)
        return self._compared(above, rows.mean_weight, 2, code)

    def _compared(
        self,
        decided: Integers,
        weight: Floats,
        n_classes: int,
        favorable: int | None,
        truth: Integers | None = None,
    ) -> dict[str, float]:
        """Compare decisions by code, of which one is favorable, and true classes, if any."""
        table = decision_table(self.groups, weight, decided, n_classes)
        rates = {"decision_gap": decision_gap(table)}
        if favorable is None:
            return rates
        shares = [share[favorable] for share in compared_shares(table)]
        rates |= {
            "selection_rate": float(np.average(decided == favorable, weights=weight)),
            "lowest_selection_rate": -_largest([-share.min() for share in shares]),
            "highest_selection_rate": _largest([share.max() for share in shares]),
            "adverse_impact_ratio": float(impact_ratios(table)[favorable]),
        }
        if truth is None:
            return rates
        true = decision_table(self.groups, weight * (truth == favorable), decided, n_classes)
        # As in audits, a group is small by all of its rows.
        shares = compared_shares(replace(true, counts=table.counts))
        gaps = [np.ptp(share[favorable]) for share in shares]
        return rates | {"opportunity_difference": _largest(gaps)}


def _largest(values: Sequence[float]) -> float:
    return float(max(values, default=float("nan")))
