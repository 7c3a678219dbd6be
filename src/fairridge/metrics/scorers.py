"""Unfairness as a scorer of scikit-learn, so that its searches can choose a model by it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils.metadata_routing import UNUSED

from fairridge._typing import Floats
from fairridge._warnings import warn_user
from fairridge.arguments import check_bound, check_option
from fairridge.data import (
    joined_offsets,
    read_offset,
    require_offsets,
    warn_of_order,
    weights,
)
from fairridge.data.classes import labels_by_code
from fairridge.data.pipelines import predicted, split_pipeline, takes_sensitive
from fairridge.data.table import known_codes, labels
from fairridge.exceptions import BoundWarning
from fairridge.fairness import MeanOdds, MeanOpportunity
from fairridge.metrics.favorable import find_label
from fairridge.metrics.groups import SensitiveColumns
from fairridge.metrics.intervals import CONFIDENCE
from fairridge.metrics.measure import among_classes
from fairridge.metrics.scored_rows import family_of_predictions
from fairridge.metrics.share_interval import Judged, explained_share

# Definitions that are about rows of classes, and all.
OF_CLASSES = ("mean-opportunity", "mean-odds")
DEFINITIONS = ("mean-parity", "statistical-parity", *OF_CLASSES)


class FairnessScorer(BaseEstimator):
    """Minus what S explains of the predictions of a model; see `make_fairness_scorer`."""

    # What `score` is asked for, if metadata are routed: S, weights and exposures, and no others.
    __metadata_request__score: ClassVar[dict[str, str]] = {"estimator": UNUSED}

    def __init__(
        self,
        definition: str = "mean-parity",
        sensitive: Any = None,
        positive: Any = None,
        adjusted: bool = True,
    ) -> None:
        self.definition = definition
        self.sensitive = sensitive
        self.positive = positive
        self.adjusted = adjusted

    def score(
        self,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        sensitive_features: Any = None,
        sample_weight: Any = None,
        exposure: Any = None,
    ) -> float:
        """Return minus the unfairness of a fitted model on rows."""
        given = {"sensitive_features": sensitive_features, "sample_weight": sample_weight}
        warn_of_order(X=X, y=y, exposure=exposure, **given)
        if sensitive_features is None and self.sensitive is None:
            raise ValueError(
                "the scorer does not know S: name columns of X as make_fairness_scorer("
                "sensitive=…), or route sensitive_features to it with "
                "set_score_request(sensitive_features=True)."
            )
        S = SensitiveColumns.of(X, sensitive_features, self.sensitive).columns
        weight = weights(sample_weight, len(S))
        weight = np.ones(len(S)) if weight is None else weight
        weight = weight * self._exposed(estimator, exposure, len(weight))
        scores = self._scores(estimator, X, sensitive_features)
        parts = self._judged(estimator, scores, weight, y)
        if sum(int((weight > 0.0).sum()) for _, weight in parts) < 2:
            raise ValueError(f"{self.definition} needs two rows at least, and there are fewer.")
        found, adjusted = explained_share(parts, S, S[:, :0], CONFIDENCE)
        return -(adjusted if self.adjusted else found.value)

    def __call__(self, estimator: Any, X: Any, y: Any = None, **given: Any) -> float:
        """Return minus the unfairness of a fitted model on rows, as `score` does."""
        return self.score(estimator, X, y, **given)

    def _exposed(self, estimator: Any, exposure: Any, n: int) -> Floats:
        """Return what weights of rows are multiplied by: rates count by their exposure."""
        last = split_pipeline(estimator)[1]
        link = getattr(getattr(last, "family_", None), "link", "log")
        joined = joined_offsets(link, None, exposure)
        if link == "log":
            known = getattr(getattr(last, "_fitted", None), "offsets", ())
            require_offsets(known[-1:], joined, type(last).__name__)
        of_rates = self.definition != "statistical-parity"
        shift = read_offset(joined, n) if of_rates else None
        return np.ones(n) if shift is None else np.exp(shift)

    def _judged(self, estimator: Any, scores: Floats, weight: Floats, y: Any) -> list[Judged]:
        """Return scores, and the weights of the rows among which they count."""
        if self.definition not in OF_CLASSES:
            return [(scores, weight)]
        if not is_classifier(estimator) or y is None:
            raise TypeError(f"{self.definition} is about rows of a class: it needs classes as y.")
        classes, positive = labels_by_code(estimator), self.positive
        codes = known_codes(labels(y, len(weight), "y"), classes.tolist())
        if positive is not None:
            positive = find_label(positive, classes.tolist())
            if positive is None:
                raise ValueError(
                    f"positive={self.positive!r} is not a class of the model; the classes are "
                    f"{', '.join(map(repr, classes.tolist()))}."
                )
        of_odds = self.definition == "mean-odds"
        definition = MeanOdds() if of_odds else MeanOpportunity(positive)
        among = definition.among(family_of_predictions(classes), classes)
        return among_classes(scores, weight, codes, among or ())

    def _scores(self, estimator: Any, X: Any, S: Any) -> Floats:
        """Return what S may explain: means and probabilities, or linear predictors."""
        scores = self._linear_predictor(estimator, X, S)
        if scores is not None:
            return scores.reshape(len(scores), -1)
        scores = predicted(estimator, X, S)
        columns = scores.reshape(len(scores), -1)
        # Probabilities of two classes say the same twice.
        return columns[:, 1:] if columns.shape[1] == 2 else columns

    def _linear_predictor(self, estimator: Any, X: Any, S: Any) -> Floats | None:
        """Return linear predictors if these are asked for, and the model has any."""
        if self.definition != "statistical-parity":
            return None
        S = S if takes_sensitive(estimator) else None
        steps, last = split_pipeline(estimator)
        if hasattr(last, "layer_inputs"):  # a stack is its layer on what the learners predict
            X, steps = X if steps is None else steps.transform(X), None
            inputs, last = last.layer_inputs(X, sensitive_features=S), last.layer_
            X, S = inputs["X"], inputs.get("sensitive_features")
        if hasattr(last, "_linear_predictor"):
            found = last._linear_predictor(X if steps is None else steps.transform(X), S, None)
        elif hasattr(estimator, "decision_function"):
            given = {} if S is None else {"sensitive_features": S}
            found = estimator.decision_function(X, **given)
        else:
            return None
        return np.asarray(found, dtype=np.float64)


def make_fairness_scorer(
    definition: str = "mean-parity",
    *,
    sensitive: Any = None,
    positive: Any = None,
    adjusted: bool = True,
) -> FairnessScorer:
    """Make a scorer for `GridSearchCV`, `cross_val_score` and their like: minus unfairness.

    Parameters
    ----------
    definition : {"mean-parity", "statistical-parity", "mean-opportunity", "mean-odds"}
        R² on S of the predicted means or probabilities; of the linear predictor (of other
        libraries `decision_function`, or predicted numbers); of the probability of a class among
        its rows; or of all probabilities among the rows of each class. Any model will do.
    sensitive : str, int or list of these and of tuples, optional
        Columns of X that are sensitive, with tuples for intersections, as in the models.
        Without it `sensitive_features` must reach the scorer:
        with metadata routing, after ``set_score_request(sensitive_features=True)``. Models that
        were fitted with an exposure need it in the same way: ``set_score_request(exposure=True)``;
        then means are rates, weighted by exposure, as in `unfairness_`.
    positive : label, optional
        For "mean-opportunity": by default `positive_` of the model, or its last class; of more
        than two classes all, as the models bound it.
    adjusted : bool, default=True
        Whether R² is adjusted for chance, as `cross_validate` does: without that, validation
        rows show the more unfairness the fewer they are. Fair models may score a little above 0.

    Returns
    -------
    FairnessScorer
        Called with a fitted estimator, X and y; more is better, and 0 is perfectly fair.

    See Also
    --------
    refit_within : Choose the most accurate model within a bound.

    References
    ----------
    .. [1] docs/guides/pipelines.md.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from fairridge.metrics import make_fairness_scorer
    >>> X, y = [[0, 1.0], [1, 3.0], [0, 2.0], [1, 4.0]], [1.0, 2.0, 2.0, 3.0]
    >>> scorer = make_fairness_scorer(sensitive=0, adjusted=False)
    >>> round(scorer(LinearRegression().fit(X, y), X, y), 2)
    -0.5
    """
    check_option("definition", definition, DEFINITIONS)
    return FairnessScorer(definition, sensitive, positive, adjusted)


def refit_within(
    unfairness: float, *, score: str = "score", fairness: str = "unfairness"
) -> Callable[[Mapping[str, Any]], int]:
    """Let a search of scikit-learn refit its most accurate candidate within a bound.

    Parameters
    ----------
    unfairness : float
        r: the mean unfairness over the folds is at most this.
    score, fairness : str
        Names of the two scorers in ``scoring={…}``.

    Returns
    -------
    callable
        For ``GridSearchCV(…, refit=refit_within(0.05))``. If no candidate is within the bound,
        the fairest is taken, with a `BoundWarning`.

    See Also
    --------
    make_fairness_scorer : The scorer that it reads.

    References
    ----------
    .. [1] docs/guides/pipelines.md.

    Examples
    --------
    >>> import numpy as np
    >>> from fairridge.metrics import refit_within
    >>> results = {
    ...     "mean_test_score": np.array([0.8, 0.7, 0.6]),
    ...     "mean_test_unfairness": np.array([-0.2, -0.04, -0.01]),
    ... }
    >>> refit_within(0.05)(results)
    1
    """
    r = float(check_bound(unfairness)[0])

    def best(results: Mapping[str, Any]) -> int:
        accuracy, share = (_means(results, name) for name in (score, fairness))
        share = -share
        within = share <= r
        if not within.any():
            fairest = int(np.nanargmin(share))
            warn_user(
                f"no candidate has unfairness of at most {r:g}; the fairest one, which has "
                f"{share[fairest]:.4g}, is taken.",
                BoundWarning,
            )
            return fairest
        ranked = np.where(within & ~np.isnan(accuracy), accuracy, -np.inf)
        ties = np.flatnonzero(ranked == ranked.max())
        return int(ties[np.argmin(share[ties])])

    return best


def _means(results: Mapping[str, Any], name: str) -> Floats:
    key = f"mean_test_{name}"
    if key not in results:
        known = [k.removeprefix("mean_test_") for k in results if k.startswith("mean_test_")]
        raise ValueError(
            f"the search has no scorer {name!r}, only {', '.join(map(repr, known))}; pass "
            "scoring={…} with two scorers, and their names to refit_within."
        )
    found: Floats = np.asarray(results[key], dtype=np.float64)
    if np.isnan(found).all():
        raise ValueError(f"all candidates have NaN for {name!r}; look at cv_results_.")
    return found
