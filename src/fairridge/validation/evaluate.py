"""How well models of any kind predict rows, and means over folds."""

from __future__ import annotations

import warnings
from typing import cast

import numpy as np

from fairridge._typing import Floats, Integers
from fairridge.families import Family
from fairridge.families.base import ClassFamily, with_class_weights
from fairridge.metrics.concordance import area_under_curve, concordance_index
from fairridge.metrics.scored_rows import ScoredRows

NAN = float("nan")

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
    """Measure predictions against responses: the loss, and scores by kind of response.

    Weights of classes are for fits alone, as in scikit-learn: a row counts by its own weight
    here.

    Returns
    -------
    dict of str to float
        `loss`, and `rmse` and `r_squared`, or `accuracy`, `f1`, `precision`,
        `recall` and `auc`, or `concordance`; NaN for what is not defined.
    """
    family, response, weight = with_class_weights(rows.family, None), rows.response, rows.weight
    eta = rows.eta
    by_predictor = family.to_contrasts(eta.T).T
    deviance = float(family.deviance_terms(response, by_predictor, weight, 0).deviance)
    measures = {"loss": loss(family, deviance, size(family, response, weight))}
    if family.reads == "times":
        return measures | {"concordance": concordance(response, eta[:, 0], weight)}
    if family.reads == "numbers":
        mean = family.mean(by_predictor)[:, 0]
        return measures | regression_scores(response[:, 0], mean, weight)
    classes = cast(ClassFamily, family)
    # Of two classes η ranks rows that have the same probability to rounding.
    ranks = eta if eta.shape[1] == 1 else _digits(classes.probabilities(eta))
    return measures | classification_scores(rows.codes, classes.likeliest(eta), ranks, weight)


def _digits(probability: Floats) -> Floats:
    """Return probabilities to 14 digits: those that differ by rounding only are ties."""
    fraction, exponent = np.frexp(probability)
    return np.ldexp(np.round(fraction, 14), exponent)


def regression_scores(y: Floats, mean: Floats, weight: Floats) -> dict[str, float]:
    """Return RMSE and R²; R² is NaN for a single row, and 0 if the response is constant."""
    squares = float(weight @ (y - mean) ** 2)
    total = float(weight @ (y - np.average(y, weights=weight)) ** 2) if np.ptp(y) > 0.0 else 0.0
    rmse = float(np.sqrt(squares / weight.sum()))
    return {"rmse": rmse, "r_squared": r_squared(squares, total, len(y))}


def r_squared(squares: float, total: float, n: int) -> float:
    """1 − RSS/TSS; NaN for a single row, and 0 if the response is constant."""
    if n < 2:
        return NAN
    return 1.0 - squares / total if total > 0.0 else 0.0


def classification_scores(
    codes: Integers, predicted: Integers, ranks: Floats, weight: Floats
) -> dict[str, float]:
    """Return scores of the modeled one of two classes, or means over the classes of several.

    True and predicted classes are codes 0 to K − 1, of which 1 is the modeled one of two.
    `ranks` of shape (n, 1) or (n, K) rank rows by how likely that is, or each of several.
    Classes that are neither true nor predicted anywhere do not count in the
    means of precision, recall and F1; the AUC, one class against the rest,
    needs all of them.
    """
    k = max(ranks.shape[1], 2)
    counts: Floats = np.bincount(k * codes + predicted, weights=weight, minlength=k * k)  # type: ignore[assignment]
    table = counts.reshape(k, k)
    hits, true, assigned = np.diag(table), table.sum(axis=1), table.sum(axis=0)
    wanted = np.array([1]) if k == 2 else np.flatnonzero(true + assigned > 0.0)

    def mean_share(part: Floats, whole: Floats) -> float:
        shares = np.divide(part, whole, out=np.zeros_like(part), where=whole > 0.0)
        return float(shares[wanted].mean())

    positive = [1] if k == 2 else range(k)
    columns = zip(positive, ranks.T, strict=True)
    areas = [area_under_curve(codes == code, column, weight) for code, column in columns]
    return {
        "accuracy": float(hits.sum() / table.sum()),
        "f1": mean_share(2.0 * hits, true + assigned),
        "precision": mean_share(hits, assigned),
        "recall": mean_share(hits, true),
        "auc": float(np.mean(areas)),
    }


def concordance(response: Floats, eta: Floats, weight: Floats) -> float:
    """Return the concordance of times and events with log hazard ratios; NaN without pairs."""
    try:
        return concordance_index(response[:, 0], response[:, 1], eta, weight)
    except ValueError:  # no two rows can be compared
        return NAN


# ------------------------------------------------------------------- summaries


def mean_and_error(values: Floats) -> tuple[Floats, Floats]:
    """Return the mean over folds and its standard error; NaNs are left out.

    Dependence on S is pooled over folds in the same way. Each fold's adjusted
    R² estimates, without bias by chance, how far the model of that fold
    depends on S in the population, and so does their mean. R² over the
    held-out rows of all folds together does not: what the training rows of a
    fold lack of the total is in the fold itself, so that the deviations of the
    folds' models cancel, and R² is as near to 0 at r = 0 as in training.

    Parameters
    ----------
    values : ndarray of shape (folds, …)
        A measure in every fold.
    """
    count = (~np.isnan(values)).sum(axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # defined in no fold, or in one
        mean, spread = np.nanmean(values, axis=0), np.nanstd(values, axis=0, ddof=1)
    error = np.where(count > 1, spread / np.sqrt(np.maximum(count, 1)), 0.0)
    return mean, error
