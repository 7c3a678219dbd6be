"""How well the models of a report predict: measures, and what each family has of them."""

from __future__ import annotations

from fairridge._typing import Floats
from fairridge.estimators._means import explained_deviance
from fairridge.families import Family
from fairridge.metrics.brier import integrated_brier_score
from fairridge.metrics.scored_rows import ScoredRows
from fairridge.validation.evaluate import accuracy

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


def measures_of(family: Family) -> tuple[tuple[str, str, bool], ...]:
    """Return key, name and whether more is better of the measures of accuracy of a family."""
    if family.least_squares:
        return R_SQUARED, RMSE
    kind = "several classes" if family.n_predictors > 1 else family.reads
    return (*MEASURES[kind], LOSS)


def accuracy_of(
    rows: ScoredRows, baseline: tuple[Floats, Floats] | None = None
) -> dict[str, float]:
    """Return loss and scores, D² of counts and amounts, and the Brier score of times.

    `baseline` are event times and log H₀ there, of a model of times.
    """
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
