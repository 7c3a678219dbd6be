"""The fair logistic and multinomial models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from sklearn.base import ClassifierMixin

from fairridge.estimators import _labels
from fairridge.estimators._fair_ridge import FairRidge
from fairridge.estimators._responses import Classes


@dataclass(eq=False, repr=False, kw_only=True)
class FairRidgeClassifier(ClassifierMixin, FairRidge):
    """Logistic regression whose unfairness is bounded by a number you choose.

    Binomial for two classes; for K > 2 the symmetric multinomial model, with
    one row of coefficients per class that sum to zero over classes. See
    `FairRidgeRegressor` for the model and the attributes.

    Parameters
    ----------
    link : {"logit", "probit", "cloglog"}, default="logit"
        How the linear predictor η becomes the probability of the modeled one of two
        classes: 1/(1 + e^−η), Φ(η) or 1 − exp(−e^η). With more classes only
        "logit". The predicted class is the likelier one: with "cloglog" the
        modeled one for η > log(log 2), with the others for η > 0.
    positive : label, optional
        The class that is modeled, of two, by default the second of the sorted labels: η,
        its coefficients, summaries, reports and exported scores are about it.
        `classes_`, and with it `predict_proba` and `decision_function`, are sorted
        whichever is modeled, as scikit-learn expects.
    definition : str, object or callable, default="statistical-parity"
        What is bounded: "statistical-parity", as in the paper, what S explains of the
        deviance that the model explains (of numbers and times, of the variance of the
        linear predictor); "mean-parity", R² on S of predicted probabilities or means, right
        for most uses of classes, counts and amounts; "mean-opportunity", the same among the
        rows of the positive class; "mean-odds", among those of every class; or
        "equality-of-opportunity" or "individual", as in the paper, which choose a point on
        the path of the first. These two, with α = 0 at r = 0, do not equalize the rates of
        the positive class.
    predictor_penalty : float or "cv", default=0.0
        Ridge penalty λ₂ on the predictors, in −2 log-likelihood + λ₂‖β‖² for standardized U;
        "cv" chooses it at the bound, by leaving rows out. See `predictor_penalty_` of
        `FairRidgeRegressor`.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes in the deviance that the fit minimizes, by label
        (others have 1), or inversely proportional to their sample weight, as in
        scikit-learn. Decorrelation, and bounds on variances and on predicted
        means, are of the rows as they are; a share of deviance, the default
        for classes, is of the deviance that the fit minimizes, as are
        `deviance_`, `loglik_` and `explained_deviance_`.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        Sorted class labels: the columns of `predict_proba`.
    positive_ : label or None
        The one of two classes that coefficients, summaries, reports and exported
        scores are about: `positive`, or by default `classes_[1]`. None with more.

    See Also
    --------
    FairRidgeRegressor : The same for numbers, counts and amounts.
    FairStackingClassifier : Any learner under the bound.
    ZafarClassifier : Bounds each correlation, and needs S at fit only.

    References
    ----------
    .. [1] Scutari, Panero and Proissl (2022), section 4.4.
    .. [2] "Other responses" and "Bounds on predicted means" in docs/model.md.

    Examples
    --------
    >>> from fairridge import FairRidgeClassifier
    >>> from fairridge.datasets import load_german_credit
    >>> credit = load_german_credit()
    >>> X, y = credit.X[["Age", "Gender", "Duration"]], credit.y
    >>> model = FairRidgeClassifier(0.01, sensitive=["Age", "Gender"], definition="mean-parity")
    >>> model = model.fit(X, y)
    >>> print(f"{model.unfairness_:.4f}, accuracy {model.score(X, y):.3f}")
    0.0100, accuracy 0.710
    """

    link: Literal["logit", "probit", "cloglog"] = "logit"
    positive: Any = None
    class_weight: Mapping[Any, float] | Literal["balanced"] | None = None

    _response_kind = property(Classes.of)

    predict = _labels.predict
    predict_proba = _labels.predict_proba
    decision_function = _labels.decision_function
    score = _labels.score

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # A bound may cost accuracy.
        tags.classifier_tags.poor_score = bool(self.unfairness != 1.0)
        return tags
