"""Mean opportunity: predicted probabilities that do not depend on S among those who qualify."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fairridge.fairness._means import MeanShare


@dataclass(frozen=True)
class MeanOpportunity(MeanShare):
    """R² on S of the predicted probability of a class, among the rows of that class.

    For two classes that is R² of P(y = 1) on S among rows with y = 1, the
    positive class. With several classes μ_k is looked at among rows with
    y = k, and numerators and variances are added over k with weights P(y = k):

        Σ_k P(y = k) a_kᵀΣ_k⁻¹a_k / Σ_k P(y = k) VAR(μ_k | y = k),

    a_k and Σ_k the covariance of S with μ_k and the variance of S among rows
    with y = k. The model has the ridge of `MeanParity` on this numerator.

    Parameters
    ----------
    positive : label, optional
        The class whose rows are looked at. By default the second of two
        classes, and all of more.
    """

    positive: Any = None
    name = "mean-opportunity"
    reads = "classes"

    def require(self, family: Any) -> None:
        """Refuse responses that are not classes."""
        if family.reads != "classes":
            raise ValueError(
                f"definition='mean-opportunity' looks at rows of one class, and the response of a "
                f"{family.name} model has none: use FairRidgeClassifier, or "
                "definition='mean-parity'."
            )

    def codes(self, family: Any, classes: Any) -> tuple[int, ...] | None:
        """Return the codes of the classes whose rows are looked at."""
        count = family.n_predictors + 1
        if self.positive is None:
            return (1,) if count == 2 else tuple(range(count))
        labels = np.arange(count) if classes is None else np.asarray(classes)
        found = np.flatnonzero(labels == self.positive)
        if len(found) != 1:
            known = ", ".join(repr(label) for label in labels.tolist())
            raise ValueError(f"positive={self.positive!r} is not a class of y: these are {known}.")
        return (int(found[0]),)
