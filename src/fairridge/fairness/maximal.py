"""The largest correlation or covariance of a sensitive attribute with the predictions.

Zafar et al. (2019) bound each attribute on its own, whereas statistical parity
in the sense of `StatisticalParity` bounds what all of them explain together.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from fairridge._typing import Floats
from fairridge.engines import Engine, in_memory
from fairridge.fairness.base import Definition
from fairridge.models import Fit
from fairridge.solvers.spectrum import LENGTH_TOLERANCE


class Maximal(Definition):
    """max_j of some association of Sⱼ with the linear predictor η.

    Over classes, if there are several linear predictors, the largest counts.
    """

    measure: str
    needs_only_moments = True
    sees_columns = False

    @abstractmethod
    def associations(
        self, cross: Floats, sensitive: Floats, predicted: Floats, weight: float
    ) -> Floats:
        """Return the association of every attribute, from sums over rows.

        Parameters
        ----------
        cross : ndarray of shape (m, q)
            Σ w (η − η̄)(s − s̄), for m linear predictors and q attributes.
        sensitive, predicted : ndarray of shape (q,) and (m,)
            Σ w (s − s̄)² and Σ w (η − η̄)².
        weight : float
            Σ w.
        """

    def value(self, fit: Fit) -> float:
        """Return the largest association."""
        return float(self._of(fit).max(initial=0.0))

    def held_out(
        self, fit: Fit, engine: Engine, scatter: Floats, q: int, m: int, *, adjusted: bool = True
    ) -> float:
        """Return the largest association on other rows, from their moments."""
        raw = np.atleast_2d(fit.basis.raw_coefficients(fit.alpha, fit.beta))
        n_sensitive = engine.n_sensitive
        if in_memory(engine):
            # Moments of [S, η] suffice, and X may have very many columns.
            engine = engine.with_predictors(engine.scores(raw))
            raw = np.eye(n_sensitive + len(raw))[n_sensitive:]
        moments = engine.moments()
        columns = moments.scatter[: raw.shape[1], : raw.shape[1]]
        products = raw @ columns
        associations = self.associations(
            products[:, :n_sensitive],
            np.diag(columns)[:n_sensitive],
            np.maximum((products * raw).sum(axis=1), 0.0),
            moments.weight,
        )
        return float(associations.max(initial=0.0))

    def components(self, fit: Fit) -> dict[str, float]:
        """Return the association of every encoded sensitive column, by name."""
        return self.by_name(self._of(fit), fit.engine)

    def by_name(self, associations: Floats, engine: Engine) -> dict[str, float]:
        """Return associations by the names of the sensitive columns."""
        names = engine.names[: engine.n_sensitive]
        return {
            f"{self.measure} with {name}": float(value)
            for name, value in zip(names, associations, strict=True)
        }

    def _of(self, fit: Fit) -> Floats:
        """Use S ⟂ U, which gives Sᵀη = SᵀSα."""
        S, U = fit.basis.sensitive, fit.basis.predictors
        alpha, beta = np.atleast_2d(fit.alpha), np.atleast_2d(fit.beta)
        scatter = S.scatter()
        constant = np.linalg.norm(S.vectors, axis=1) <= LENGTH_TOLERANCE
        return self.associations(
            alpha @ np.where(constant, 0.0, scatter),
            np.where(constant, 0.0, np.diag(scatter)),
            S.quadratic(alpha) + U.quadratic(beta),
            fit.basis.weight,
        )


@dataclass(frozen=True)
class MaximalCorrelation(Maximal):
    """max_j |COR(Sⱼ, η)|: what `ZafarRegressor` and `ZafarClassifier` bound.

    See Also
    --------
    MaximalCovariance : In units of S and y.
    fairridge.ZafarRegressor : Bounds it by another model.

    References
    ----------
    .. [1] Zafar et al. (2019), Fairness constraints: a flexible approach for fair
        classification, Journal of Machine Learning Research 20, 75.
    .. [2] "What r means" in docs/model.md.

    Examples
    --------
    >>> import numpy as np
    >>> from fairridge import FairRidgeRegressor
    >>> rng = np.random.default_rng(0)
    >>> S, X, noise = rng.normal(size=(3, 100, 1))
    >>> y = (S + X + noise)[:, 0]
    >>> from fairridge.fairness import MaximalCorrelation
    >>> model = FairRidgeRegressor(0.1, definition=MaximalCorrelation())
    >>> fitted = model.fit(X, y, sensitive_features=S).predict(X, sensitive_features=S)
    >>> print(f"{np.corrcoef(S[:, 0], fitted)[0, 1]:.4f}")
    0.1000
    """

    name = "maximal-correlation"
    measure = "correlation"

    def associations(
        self, cross: Floats, sensitive: Floats, predicted: Floats, weight: float
    ) -> Floats:
        """|COR(Sⱼ, η)|; 0 if one of them does not vary."""
        scale = np.outer(np.sqrt(predicted), np.sqrt(sensitive))
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(scale > 0.0, np.abs(cross) / scale, 0.0).max(axis=0)


@dataclass(frozen=True)
class MaximalCovariance(Maximal):
    """max_j |COV(Sⱼ, η)|, divisor n − 1: what they bound with ``bound="covariance"``.

    It depends on the units of S and y, and is not a share: it can exceed 1.

    See Also
    --------
    MaximalCorrelation : Without units.
    fairridge.ZafarRegressor : Bounds it by another model.

    References
    ----------
    .. [1] Zafar et al. (2019), Fairness constraints: a flexible approach for fair
        classification, Journal of Machine Learning Research 20, 75.

    Examples
    --------
    >>> import numpy as np
    >>> from fairridge import FairRidgeRegressor
    >>> rng = np.random.default_rng(0)
    >>> S, X, noise = rng.normal(size=(3, 100, 1))
    >>> y = (S + X + noise)[:, 0]
    >>> from fairridge.fairness import MaximalCovariance
    >>> model = FairRidgeRegressor(0.1, definition=MaximalCovariance())
    >>> fitted = model.fit(X, y, sensitive_features=S).predict(X, sensitive_features=S)
    >>> print(f"{np.cov(S[:, 0], fitted)[0, 1]:.4f}")
    0.1000
    """

    name = "maximal-covariance"
    measure = "covariance"

    def associations(
        self, cross: Floats, sensitive: Floats, predicted: Floats, weight: float
    ) -> Floats:
        """|COV(Sⱼ, η)|; 0 for a single row."""
        return np.abs(cross).max(axis=0) / (weight - 1.0 if weight > 1.0 else 1.0)
