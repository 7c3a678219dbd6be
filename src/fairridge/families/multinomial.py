"""The multinomial family: symmetric softmax."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import helmert

from fairridge._arrays import as_float64, namespace, to_device
from fairridge._typing import Floats, Integers
from fairridge.families.base import ClassFamily, ClassWeights, check_class_weights
from fairridge.families.distances import ClassDifference
from fairridge.families.sums import RowSums, weighted_outer


@dataclass(frozen=True)
class Multinomial(ClassFamily):
    """P(y = c) ∝ e^{η_c} for K classes, coefficients summing to 0 over classes.

    glmnet's parametrization: every class has coefficients, and the penalty
    (or, without one, the minimum norm) makes them sum to zero. Inside, K − 1
    contrasts with orthonormal columns C carry the model, η = φCᵀ, which keeps
    norms and leaves no singular direction.

    Parameters
    ----------
    n_classes : int
        K; the response holds codes 0 to K − 1.
    class_weights : tuple of float, optional
        Weights of the classes in the deviance, beside those of the rows.

    See Also
    --------
    Binomial : For two classes.
    fairridge.FairRidgeClassifier : Fits it.

    References
    ----------
    .. [1] Friedman, Hastie and Tibshirani (2010), Regularization paths for generalized
        linear models via coordinate descent, Journal of Statistical Software 33, 1.
    .. [2] "Other responses" in docs/model.md.

    Examples
    --------
    >>> import numpy as np
    >>> from fairridge.families import Multinomial
    >>> print(Multinomial(3).name, Multinomial(3).n_classes)
    multinomial 3
    """

    n_classes: int
    class_weights: ClassWeights = None
    name = "multinomial"
    reads = "classes"
    link = "softmax"
    distance = ClassDifference()

    def __post_init__(self) -> None:
        check_class_weights(self.class_weights, self.n_classes)

    @property
    def n_predictors(self) -> int:
        """K − 1."""
        return self.n_classes - 1

    @cached_property
    def contrasts(self) -> Floats:
        """C of shape (K, K − 1): orthonormal columns, each summing to zero."""
        return np.asarray(helmert(self.n_classes).T, dtype=np.float64)

    def initial_intercepts(self, y: Floats, weight: Floats, offset: Floats | None) -> Floats:
        """Return log frequencies of the classes, as contrasts."""
        counts = np.bincount(y[:, 0].astype(np.intp), weights=weight, minlength=self.n_classes)
        counts = counts * np.array(self.class_weights or 1.0)
        return np.log(counts / counts.sum()) @ self.contrasts

    def deviance_terms(self, y: Floats, eta: Floats, weight: Floats, order: int) -> RowSums:
        """Return −2 log-likelihood and its derivatives in the contrasts."""
        xp, C = namespace(eta), to_device(self.contrasts, eta)
        chosen = self.chosen(y)
        if self.class_weights is not None:
            weight = weight * (chosen @ to_device(np.array(self.class_weights), eta))
        scores = eta @ C.T
        highest = xp.max(scores, axis=1, keepdims=True)
        odds = xp.exp(scores - highest)
        total = xp.sum(odds, axis=1)
        missed = xp.sum(chosen * (highest - scores), axis=1)
        deviance = 2.0 * (weight @ (xp.log(total) + missed))
        if order == 0:
            return RowSums(deviance)
        P = odds / total[:, None]
        gradient = 2.0 * weight[:, None] * ((P - chosen) @ C)
        if order == 1:
            return RowSums(deviance, gradient)
        PC = P @ C
        curvature = weighted_outer(P, C) - PC[:, :, None] * PC[:, None, :]
        return RowSums(deviance, gradient, 2.0 * weight[:, None, None] * curvature)

    def chosen(self, y: Floats) -> Floats:
        """Return 0/1 columns of the classes, for codes of shape (n, 1)."""
        return as_float64(y == to_device(np.arange(float(self.n_classes)), y))

    def to_class_coefficients(self, coordinates: Floats) -> Floats:
        """Map contrasts (rows) to classes."""
        return self.contrasts @ coordinates

    def to_contrasts(self, coefficients: Floats) -> Floats:
        """Map classes (rows) to contrasts."""
        return self.contrasts.T @ coefficients

    def probabilities(self, eta: Floats) -> Floats:
        """Return class probabilities for η of shape (n, K), one per class."""
        xp = namespace(eta)
        odds = xp.exp(eta - xp.max(eta, axis=1, keepdims=True))
        return odds / xp.sum(odds, axis=1, keepdims=True)

    def likeliest(self, eta: Floats) -> Integers:
        """Return the code of the likeliest class for η of shape (n, K)."""
        return namespace(eta).argmax(eta, axis=1)

    def mean(self, eta: Floats) -> Floats:
        """Return class probabilities for contrasts of shape (n, K − 1)."""
        return self.probabilities(eta @ to_device(self.contrasts.T, eta))
