"""The fair logistic and multinomial models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from sklearn.base import ClassifierMixin

from fairridge._typing import ColumnNames, MissingValues, Unfairness, UnknownLevels
from fairridge.data import MAX_LEVELS
from fairridge.estimators import _labels
from fairridge.estimators._fair_ridge import FairRidge
from fairridge.estimators._parameters import DefinitionLike, FeatureMap, PenaltyLike
from fairridge.estimators._responses import Classes
from fairridge.inference import Certification


class FairRidgeClassifier(ClassifierMixin, FairRidge):
    """Logistic regression whose unfairness is bounded by a number you choose.

    Binomial for two classes; for K > 2 the symmetric multinomial model, with
    one row of coefficients per class that sum to zero over classes. See
    `FairRidgeRegressor` for the model and the attributes.

    Parameters
    ----------
    unfairness : float or dict of str to float, default=0.05
        r in [0, 1]: 0 leaves no linear dependence on S, 1 is unconstrained.
        ``{"sex": 0.01, "age": 0.1}`` bounds, with definition="mean-parity", what
        each of these attributes alone explains of the predicted means.
    sensitive : str, int or list of these, optional
        Columns of X that are sensitive, by name or position. Alternatively
        pass `sensitive_features` to `fit`, `predict` and `score`.
    link : {"logit", "probit", "cloglog"}, default="logit"
        How the linear predictor η becomes the probability of the second of two
        classes: 1/(1 + e^−η), Φ(η) or 1 − exp(−e^η). With more classes only
        "logit". The predicted class is the likelier one: with "cloglog" the
        second for η > log(log 2), with the others for η > 0.
    positive : label, optional
        The class that is modeled, of two: it is the second of `classes_`, whose
        probability is `predict_proba(X)[:, 1]`. By default the second of the
        sorted labels. (Scorers of scikit-learn that rank, such as "roc_auc",
        take the second of the sorted labels whatever a model says.)
    definition : str, object or callable, default="statistical-parity"
        What is bounded; by default the share of the explained deviance that the
        sensitive attributes explain. "equality-of-opportunity" and "individual"
        choose a point on the same path of models α(λ), with α = 0 at r = 0, and
        do not equalize the rates of the positive class. "mean-opportunity" is
        about these: it bounds R² on S of the predicted probabilities among rows
        of the positive class, "mean-parity" the same among all rows.
    penalty : {"ridge", "radial", "lasso", "elastic-net"} or object, default="ridge"
        Penalty on α.
    predictor_penalty : float or "cv", default=0.0
        λ₂ in −2 log-likelihood + λ₂‖β‖², for standardized U. "cv" chooses it
        at the bound, by leaving rows out: see `predictor_penalty_` of `FairRidgeRegressor`.
    standardize : bool, default=True
        Whether the penalties see standardized columns.
    unknown : {"error", "base", "mean"}, default="error"
        How to handle a category at prediction time that was absent when fitting:
        raise an error, treat it as the base level, or take the average of its
        0/1 columns in training. A sensitive attribute has no base level that
        strangers belong to: with "base" as with "mean" it takes its average.
    predictor_map, sensitive_map : scikit-learn transformer, optional
        Maps the encoded columns of X, or of S, to features.
    tol : float, default=1e-10
        How closely an active bound is met.
    max_iter : int, default=100
        Maximum number of search steps for λ(r), and of passes over the data per λ.
    separation : {"isolate", "warn", "error"}, default="isolate"
        What happens to levels of predictors whose rows all have the same outcome,
        if `predictor_penalty` is 0. "isolate" leaves these rows out of the fit
        and the bound, if they have at most 1 % of the weight, and gives each
        level a finite coefficient; "warn" keeps them; "error" refuses them.
    min_frequency : int or float, optional
        Levels of a predictor with less weight (rows, if there are no weights),
        or, below 1, with a smaller share of it, become "(other)": the base
        level of such a column, which also takes levels that were not there at
        fit, whatever `unknown` says.
    max_levels : int or None, default=1000
        The most levels that a categorical column may have; more than ten, and
        more than half as many as rows, are refused as well. Keys, amounts and
        dates that were read as text would become thousands of columns. None
        allows any number.
    blind : bool, default=False
        Whether S is used at fit only. The model then is one of X alone,
        min D(b) + λ‖P_S Xb‖² + λ₂‖b‖², and "statistical-parity" is R² of its
        linear predictor on S for every family; "mean-parity" works as well.
    controls : str, int or list of these, optional
        Columns of X, by name or position, that may explain differences: the
        bound on "statistical-parity" or "mean-parity" is on what S explains
        beyond them.
        `unfairness_components_` has the share without them beside it.
    confidence : float, optional
        1 − δ: the bound then holds for the population that the rows came from,
        with that confidence over samples of rows. The model is fitted with a
        smaller bound, which `certificate_` has. If no bound is certified, the
        model is the fit at r = 0, with a warning that says how many rows would
        do. For R² on S of the linear predictor or of the predicted means;
        shares of deviance and other definitions are refused.
    certification : {"auto", "closed-form", "draws", "held-out"}, default="auto"
        How a bound is certified: by a noncentral F ("auto" for gaussian
        models), by draws of what the rows leave open about the population
        ("auto" for others), or by tests on half of the rows, which the model
        is then not fitted to.
    missing : {"error", "level"}, default="error"
        How to handle missing values of S and X: raise an error, or learn from
        them. Then a missing category is the level "(missing)", and a missing
        number is the mean of the others, beside a 0/1 column
        ``name[(missing)]`` if values were missing when fitting.
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
        Class labels, sorted unless `positive` puts the first of two last. With
        two classes, coefficients refer to `classes_[1]`.
    """

    def __init__(
        self,
        unfairness: Unfairness = 0.05,
        *,
        sensitive: ColumnNames | None = None,
        link: Literal["logit", "probit", "cloglog"] = "logit",
        positive: Any = None,
        definition: DefinitionLike = "statistical-parity",
        penalty: PenaltyLike = "ridge",
        predictor_penalty: float | Literal["cv"] = 0.0,
        standardize: bool = True,
        unknown: UnknownLevels = "error",
        predictor_map: FeatureMap = None,
        sensitive_map: FeatureMap = None,
        tol: float = 1e-10,
        max_iter: int = 100,
        separation: Literal["isolate", "warn", "error"] = "isolate",
        min_frequency: float | None = None,
        max_levels: int | None = MAX_LEVELS,
        blind: bool = False,
        controls: ColumnNames | None = None,
        confidence: float | None = None,
        certification: Certification = "auto",
        missing: MissingValues = "error",
        class_weight: Mapping[Any, float] | Literal["balanced"] | None = None,
    ) -> None:
        super().__init__(
            unfairness,
            sensitive=sensitive,
            definition=definition,
            penalty=penalty,
            predictor_penalty=predictor_penalty,
            standardize=standardize,
            unknown=unknown,
            predictor_map=predictor_map,
            sensitive_map=sensitive_map,
            tol=tol,
            max_iter=max_iter,
            separation=separation,
            min_frequency=min_frequency,
            max_levels=max_levels,
            blind=blind,
            controls=controls,
            confidence=confidence,
            certification=certification,
            missing=missing,
        )
        self.link = link
        self.positive = positive
        self.class_weight = class_weight

    predict = _labels.predict
    predict_proba = _labels.predict_proba
    decision_function = _labels.decision_function
    score = _labels.score

    @property
    def _response_kind(self) -> Classes:
        return Classes(self.link, positive=self.positive, class_weight=self.class_weight)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # A bound may cost accuracy.
        tags.classifier_tags.poor_score = bool(self.unfairness != 1.0)
        return tags
