"""Regressors under a bound, whatever they are."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

from sklearn.base import RegressorMixin

from fairridge.estimators._parameters import FamilyLike
from fairridge.estimators.regressor import FairRidgeRegressor
from fairridge.search.setup import resolve_regression_family
from fairridge.stacking._stacking import FairStacking


@dataclass(eq=False, repr=False)
class FairStackingRegressor(RegressorMixin, FairStacking):
    """Any regressor under a bound that you choose: its scores are the predictors of a fair ridge.

    As `FairStackingClassifier`, for numbers, counts and amounts. Predicted means enter the
    layer, a `FairRidgeRegressor`, on the scale of its linear predictor: as they are for
    gaussian models, their logarithms for models with a log link.

    Parameters
    ----------
    family : str or object, default="gaussian"
        Distribution of the response, as in `FairRidgeRegressor`. The default learner
        minimizes the poisson deviance for families with a log link, and squares otherwise.

    Attributes
    ----------
    layer_ : FairRidgeRegressor
        The fitted layer; `layer_inputs` gives rows as it reads them.
    learners_, scores_, layer_rows_ : object
        As in `FairStackingClassifier`.
    unfairness_, dependence_, status_, converged_, certificate_, family_ : object
        Those of the layer.

    See Also
    --------
    FairStackingClassifier : The same for classes.
    FairRidgeRegressor : The layer.

    References
    ----------
    .. [1] Wolpert (1992), Stacked generalization, Neural Networks 5, 241–259.
    .. [2] "The model" in docs/model.md.

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
    >>> model = FairStackingRegressor(tree, 0.05, random_state=0).fit(X, y, sensitive_features=S)
    >>> print(f"{model.unfairness_:.3f}")
    0.050
    """

    _: KW_ONLY
    family: FamilyLike = "gaussian"

    score = FairStacking.score  # not that of scikit-learn, which knows neither S nor exposure

    def _layer(self) -> FairRidgeRegressor:
        return FairRidgeRegressor(**self._layer_options(), family=self.family)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = bool(self.unfairness != 1.0)
        try:
            family = resolve_regression_family(self.family)
        except ValueError:  # fit says what is wrong with it
            return tags
        tags.target_tags.positive_only = family.link == "log"
        return tags
