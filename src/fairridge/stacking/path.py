"""All stacked models of a path, from one cross-fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fairridge.estimators.path import FairnessPath


@dataclass(frozen=True, repr=False)
class StackedPath(FairnessPath):
    """Coefficients of the layer and fairness for many bounds; see `FairnessPath`.

    Attributes
    ----------
    unfairness, lambda_, alpha, beta, intercept, achieved, status, deviance, score
        Of the layer, as in `FairnessPath`, and so are all others.

    See Also
    --------
    fairridge.FairnessPath : The path of a fair ridge.
    fairridge.FairStackingRegressor : Its `path` returns this.

    References
    ----------
    .. [1] "Other families" in docs/algorithms.md.

    Examples
    --------
    >>> import numpy as np
    >>> from fairridge import FairRidgeRegressor
    >>> rng = np.random.default_rng(0)
    >>> S, X, noise = rng.normal(size=(3, 100, 1))
    >>> y = (S + X + noise)[:, 0]
    >>> from fairridge import FairStackingRegressor
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> tree = DecisionTreeRegressor(max_depth=3, random_state=0)
    >>> path = FairStackingRegressor(tree, random_state=0).path(X, y, sensitive_features=S)
    >>> model = path.at(0.05)
    >>> print(f"{model.unfairness_:.3f}")
    0.050
    """

    _stack: Any = None  # a fitted stacked model; only its layer depends on the bound

    def at(self, unfairness: float) -> Any:
        """Return the fitted stacked model for one bound, whether it is on the path or not."""
        return self._stack.with_layer(super().at(unfairness))
