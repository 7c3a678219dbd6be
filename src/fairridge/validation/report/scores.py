"""Scores of an audit report: few, and fast enough for hundreds of models."""

from __future__ import annotations

from typing import cast

import numpy as np
from numpy.typing import NDArray

from fairridge.families import Family
from fairridge.families.base import ClassFamily
from fairridge.metrics import concordance_index

__all__ = ["area_under_curve", "scores"]

Floats = NDArray[np.float64]


def scores(family: Family, response: Floats, eta: Floats, weight: Floats) -> dict[str, float]:
    """Measure linear predictors against responses.

    Parameters
    ----------
    family : Family
        The family of the response.
    response : ndarray of shape (n, c)
        What the family reads.
    eta : ndarray of shape (n, K)
        Linear predictors, one per class where there are several.
    weight : ndarray of shape (n,)
        Weights.
    """
    if family.reads == "times":
        return _of_times(family, response, eta, weight)
    by_predictor = family.by_predictor(eta.T).T
    found: dict[str, float] = {}
    if family.reads == "classes":
        found |= _of_classes(response[:, 0], eta, cast(ClassFamily, family), weight)
    else:
        found |= _of_numbers(response[:, 0], family.mean(by_predictor)[:, 0], weight)
    if not family.least_squares:
        deviance = family.rows(response, by_predictor, weight, 0).deviance
        found["loss"] = float(deviance / weight.sum())
    return found


def area_under_curve(positive: NDArray[np.bool_], score: Floats, weight: Floats) -> float:
    """Share of pairs in which the positive row has the higher score; ties count one half.

    NaN where all rows are positive, or none is.
    """
    order = np.argsort(score, kind="stable")
    _, first = np.unique(score[order], return_index=True)
    of_positive = np.add.reduceat((weight * positive)[order], first)
    of_negative = np.add.reduceat((weight * ~positive)[order], first)
    pairs = float(of_positive.sum() * of_negative.sum())
    below = np.cumsum(of_negative) - 0.5 * of_negative
    return float(of_positive @ below) / pairs if pairs > 0.0 else float("nan")


def _of_classes(
    codes: Floats, eta: Floats, family: ClassFamily, weight: Floats
) -> dict[str, float]:
    right = family.likeliest(eta) == codes
    if eta.shape[1] == 1:
        area = area_under_curve(codes > 0, eta[:, 0], weight)
    else:
        mean = family.probabilities(eta)
        # The mean over classes of one against the rest, as scikit-learn has it.
        area = float(
            np.mean([area_under_curve(codes == k, mean[:, k], weight) for k in range(eta.shape[1])])
        )
    return {"accuracy": float(np.average(right, weights=weight)), "auc": area}


def _of_numbers(y: Floats, mean: Floats, weight: Floats) -> dict[str, float]:
    squares = float(weight @ (y - mean) ** 2)
    total = float(weight @ (y - np.average(y, weights=weight)) ** 2)
    rmse = float(np.sqrt(squares / weight.sum()))
    return {"rmse": rmse, "r_squared": 1.0 - squares / total if total > 0.0 else float("nan")}


def _of_times(family: Family, response: Floats, eta: Floats, weight: Floats) -> dict[str, float]:
    events = float(weight @ response[:, 1])
    deviance = family.rows(response, eta, weight, 0).deviance
    try:
        found = concordance_index(response[:, 0], response[:, 1], eta[:, 0], weight)
    except ValueError:  # no two rows can be compared
        found = float("nan")
    return {"concordance": found, "loss": deviance / events if events > 0.0 else float("nan")}
